//! Where a text can be cut without changing its pieces, for the families of [`rules`](super::rules).
//!
//! **Claim.** *Between characters a and b every text has a piece boundary, and the pieces of its two parts are its own,
//! whatever lies around, if*
//! 1. *a is a letter or a number, and b is whitespace, or one of the others and no apostrophe that may be a suffix; or*
//! 2. *a is one of the others, and b is whitespace (but no newline if others take newlines along).*
//!
//! Marks and controls, where an alphabet has them, are neither letters nor others here.
//!
//! - No piece holds both. Words, numbers and contractions end with letters and numbers, but for suffixes, which begin with an
//!   apostrophe: so none goes on from a letter or number to b. (As a front a is followed by a letter, and b is none.)
//!   A run of others holds whitespace only in front, and newlines only behind. Whitespace pieces hold
//!   nothing else, and what no expression matches are controls.
//! - The pieces up to a are those of the part that ends there. A match that ends at or before a sees beyond a, at most, that a
//!   run does not go on there: of letters, in search of a lower-case one, and so on. Neither b nor the end of the text lets a run of a's
//!   class go on, completes a contraction, or is a letter behind a front. The look-ahead of whitespace, and the end of the text that
//!   it may ask for, are asked for behind whitespace, which a is not; so they see no further than a.
//! - The pieces from b on are those of the part that begins there: no pattern looks at what is in front of a match. Nor
//!   do patterns in turn: where scripts are set apart, b begins a stretch of its own or goes on with that of a, and in both
//!   cases the pieces behind the boundary are those of the rest of the stretch. ∎

use super::classes::Class;
use super::rules::{Contractions, Rules, Tail};

impl Rules {
    /// The first such place at or after byte `near`.
    pub fn safe_cut(&self, text: &str, near: usize) -> Option<usize> {
        let mut at = (near.max(1)..text.len()).find(|&at| text.is_char_boundary(at))?;
        let mut before = self.alphabet.of(text[..at].chars().next_back()? as u32);
        while let Some((class, length)) = self.alphabet.at(text, at) {
            if self.may_cut(before, class, text.as_bytes()[at]) {
                return Some(at);
            }
            (before, at) = (class, at + length);
        }
        None
    }

    /// `byte` is the first of the second character.
    fn may_cut(&self, before: Class, class: Class, byte: u8) -> bool {
        match before {
            Class::Letter | Class::Upper | Class::Lower | Class::ApartLetter | Class::Number => match class {
                Class::Space => true,
                Class::Other | Class::ApartOther => byte != b'\'' || self.contractions != Contractions::Suffix,
                _ => false,
            },
            Class::Other | Class::ApartOther => {
                class == Class::Space && (self.tail == Tail::None || !matches!(byte, b'\r' | b'\n'))
            }
            _ => false,
        }
    }

    /// Whether what is left of a piece, from byte `start` on, of a text that is cut off inside the piece and at a whole
    /// character, is one piece, and all pieces before it are the same. Sometimes it says no where it is. In time that does not
    /// grow with the text.
    ///
    /// A front, a contraction and a letter are seven bytes at most. Behind that, the front of a run is a run. What can
    /// change is whitespace with a newline in front of other whitespace, which may come to be two pieces or, at the end of the
    /// text, one; and words by case that end in upper case behind what is both. A suffix begins with an apostrophe.
    pub fn is_settled(&self, text: &str, start: usize, end: usize, cut: usize) -> bool {
        let (before, front) = (&text[..start], &text[start..cut]);
        let Some(last) = front.chars().next_back().filter(|_| front.len() > 7) else {
            return false;
        };
        let newline = |c| matches!(c, '\r' | '\n');
        match self.alphabet.of(last as u32) {
            Class::Space if self.space_to_end => !before.ends_with(newline),
            // A piece that has a newline ends with one.
            Class::Space => !self.newlines || newline(last) || !text[..end].ends_with(newline),
            Class::Upper => front.len() < 1 << 12 && front.is_ascii() && !self.may_be_in_suffix(front),
            _ => !self.may_be_in_suffix(front),
        }
    }

    fn may_be_in_suffix(&self, front: &str) -> bool {
        self.contractions == Contractions::Suffix && front.as_bytes()[front.len() - 3..].contains(&b'\'')
    }
}
