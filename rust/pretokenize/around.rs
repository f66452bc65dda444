//! What is beyond a block: a look at the text itself, for the few blocks whose masks do not tell.

use super::block::BLOCK;
use super::classes::{Alphabet, Class};

/// What is beyond the block that begins at byte `at`.
#[derive(Clone, Copy)]
pub struct Around<'t> {
    pub text: &'t str,
    pub at: usize,
}

impl Around<'_> {
    pub fn rest(&self, offset: usize) -> &[u8] {
        self.text.as_bytes().get(self.at + offset..).unwrap_or_default()
    }

    /// Whether whitespace in front of the character at that byte of the block gives nothing back.
    pub fn is_quiet(&self, alphabet: Alphabet, offset: usize) -> bool {
        alphabet.at(self.text, self.at + offset).is_none_or(|(class, _)| is_quiet(alphabet, class))
    }

    /// Of the character that begins at that byte.
    pub fn length(&self, offset: usize) -> usize {
        self.text[self.at + offset..].chars().next().map_or(0, char::len_utf8)
    }

    /// What is behind the character at the end of the block.
    fn behind(&self) -> &str {
        let end = (self.at + BLOCK..).take(4).find_map(|end| self.text.get(end..));
        end.unwrap_or_default()
    }

    /// What follows the whitespace behind the block, newlines not counted as such.
    #[cold]
    pub fn behind_space(&self) -> Behind {
        let rest = self.behind();
        let is_space = |c: &char| !matches!(c, '\r' | '\n') && Alphabet::Plain.of(*c as u32) == Class::Space;
        match rest.chars().find(|c| !is_space(c)) {
            None => Behind::End,
            Some('\r' | '\n') => Behind::Newline,
            Some(_) => Behind::Text,
        }
    }

    /// Whether the upper-case letters behind the block, if any, are followed by letters or marks of another kind.
    #[cold]
    pub fn upper_goes_on(&self) -> bool {
        let mut classes = self.behind().chars().map(|c| Alphabet::Cased.of(c as u32));
        classes
            .find(|&class| class != Class::Upper)
            .is_some_and(|class| matches!(class, Class::Lower | Class::Letter | Class::Mark))
    }
}

#[derive(PartialEq, Eq)]
pub enum Behind {
    End,
    Newline,
    Text,
}

/// Whether whitespace in front of such a character gives nothing back.
pub const fn is_quiet(alphabet: Alphabet, class: Class) -> bool {
    match class {
        Class::Space => true,
        Class::Number | Class::ApartLetter | Class::ApartOther | Class::ApartControl => {
            matches!(alphabet, Alphabet::Apart)
        }
        _ => false,
    }
}
