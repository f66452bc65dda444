//! Normalizers: what a file changes in a text before it is cut into pieces.
//!
//! The four Unicode forms come from `unicode-normalization-alignments`, the crate (and so the Unicode version, 9) of
//! Hugging Face tokenizers; lower-casing goes character by character, as there. All are linear in the text and in what
//! they make of it, which is bounded: forty `Replace` in a row that each double a text would fill any memory.

use std::borrow::Cow;
use std::sync::OnceLock;

use hashbrown::HashSet;
use unicode_normalization_alignments::char::{canonical_combining_class, decompose_canonical, decompose_compatible};
use unicode_normalization_alignments::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick,
};

use super::spec;
use super::stages::{compile, find};
use super::traced::Traced;
use super::unicode::push_lower;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;

pub enum Normalizer {
    Form(Form),
    Lowercase,
    Strip { left: bool, right: bool },
    Replace { regex: fancy_regex::Regex, content: String },
    Prepend(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

/// What normalizers make of a text, one after the other.
pub fn normalized<'t>(normalizers: &[Normalizer], text: Traced<'t>, interrupt: &dyn Interrupt) -> Result<Traced<'t>> {
    let given = text.text.len();
    let mut normal = text;
    for normalizer in normalizers {
        interrupt.check()?;
        normal = normalizer.apply(normal, given, interrupt)?;
    }
    Ok(normal)
}

/// The bytes from which on no more is put in for what `Replace` finds, of a text of `given` bytes.
fn most_bytes(given: usize) -> usize {
    (1 << 20) + 1000 * given
}

impl Normalizer {
    pub fn new(spec: &spec::Normalizer) -> Result<Self> {
        Ok(match spec {
            spec::Normalizer::NFC => Normalizer::Form(Form::Nfc),
            spec::Normalizer::NFD => Normalizer::Form(Form::Nfd),
            spec::Normalizer::NFKC => Normalizer::Form(Form::Nfkc),
            spec::Normalizer::NFKD => Normalizer::Form(Form::Nfkd),
            spec::Normalizer::Lowercase => Normalizer::Lowercase,
            &spec::Normalizer::Strip { left, right } => Normalizer::Strip { left, right },
            spec::Normalizer::Replace { regex, content } => {
                Normalizer::Replace { regex: compile(regex)?, content: content.clone() }
            }
            spec::Normalizer::Prepend { text } => Normalizer::Prepend(text.clone()),
        })
    }

    /// `given` are the bytes of the text before any normalizer.
    fn apply<'t>(&self, text: Traced<'t>, given: usize, interrupt: &dyn Interrupt) -> Result<Traced<'t>> {
        Ok(match self {
            Normalizer::Form(_) if text.text.is_ascii() => text,
            Normalizer::Form(form) if text.origins().is_none() => form.of(&text.text).map_or(text, Traced::made),
            Normalizer::Form(form) => form.traced(&text),
            Normalizer::Lowercase => {
                let mut lower = text.edit();
                let mut form = String::new();
                for (at, character) in text.text.char_indices() {
                    form.clear();
                    push_lower(character, &mut form);
                    lower.put(&form, at..at + character.len_utf8());
                }
                lower.done()
            }
            &Normalizer::Strip { left, right } => {
                let all: &str = &text.text;
                let start = if left { all.len() - all.trim_start().len() } else { 0 };
                let end = if right { all.trim_end().len().max(start) } else { all.len() };
                let mut stripped = text.edit();
                stripped.copy(start..end);
                stripped.done()
            }
            Normalizer::Replace { regex, content } => {
                let (mut replaced, mut end) = (text.edit(), 0);
                while let Some(found) = find(regex, &text.text, end)? {
                    interrupt.check()?;
                    replaced.copy(end..found.start);
                    replaced.put(content, found.clone());
                    end = found.end;
                    if replaced.bytes() > most_bytes(given) {
                        let most = most_bytes(given);
                        let message = format!("the normalizer makes more than {most} bytes of {given}");
                        return Err(Error::InvalidText(message));
                    }
                }
                replaced.copy(end..text.text.len());
                replaced.done()
            }
            Normalizer::Prepend(front) => text.prepended(front),
        })
    }
}

impl Form {
    /// The form of a text; `None` if it is that already.
    ///
    /// Nothing but characters outside ASCII changes, with the one before them, which may compose with them.
    fn of(self, text: &str) -> Option<String> {
        let (mut form, mut done, mut at) = (String::new(), 0, 0);
        while let Some(ascii) = first_other(&text.as_bytes()[at..]) {
            let others = &text[at + ascii..];
            let length = others.bytes().position(|byte| byte.is_ascii()).unwrap_or(others.len());
            let (start, end) = (at + ascii, at + ascii + length);
            if !others[..length].chars().all(|character| self.keeps(character)) {
                let start = start.saturating_sub(1);
                if done == 0 {
                    form.reserve(text.len());
                }
                form.push_str(&text[done..start]);
                self.push(&text[start..end], &mut form);
                done = end;
            }
            at = end;
        }
        if done == 0 {
            return None;
        }
        form.push_str(&text[done..]);
        Some(form)
    }

    /// Whether this character stays as it is and where it is, whatever comes before it.
    fn keeps(self, character: char) -> bool {
        /// The characters up to U+FFFF, a bit each, by form.
        static KEPT: [OnceLock<Box<[u64]>>; 4] = [const { OnceLock::new() }; 4];
        let kept = || {
            KEPT[self as usize].get_or_init(|| {
                let keeps = |code: u32| char::from_u32(code).is_some_and(|character| self.is_kept(character));
                (0..1 << 10)
                    .map(|word| (0..64).fold(0, |bits, bit| bits | (keeps(word * 64 + bit) as u64) << bit))
                    .collect()
            })
        };
        match kept().get(character as usize / 64) {
            Some(word) => word >> (character as u32 % 64) & 1 != 0,
            None => self.is_kept(character),
        }
    }

    fn is_kept(self, character: char) -> bool {
        let one = std::iter::once(character);
        let is_normal = match self {
            Form::Nfc => is_nfc_quick(one),
            Form::Nfd => is_nfd_quick(one),
            Form::Nfkc => is_nfkc_quick(one),
            Form::Nfkd => is_nfkd_quick(one),
        };
        is_normal == IsNormalized::Yes && canonical_combining_class(character) == 0
    }

    fn push(self, text: &str, form: &mut String) {
        match self {
            Form::Nfc => form.extend(text.nfc().map(|(character, _)| character)),
            Form::Nfd => form.extend(text.nfd().map(|(character, _)| character)),
            Form::Nfkc => form.extend(text.nfkc().map(|(character, _)| character)),
            Form::Nfkd => form.extend(text.nfkd().map(|(character, _)| character)),
        }
    }

    fn of_passage(self, passage: &str) -> Cow<'_, str> {
        self.of(passage).map_or(Cow::Borrowed(passage), Cow::Owned)
    }

    /// Passage by passage: none has to do with another, so the form of the whole is theirs in a row. All that comes
    /// of a passage stands for all of it.
    fn traced(self, text: &Traced) -> Traced<'static> {
        let all: &str = &text.text;
        let mut normal = text.edit();
        let mut start = 0;
        for (at, character) in all.char_indices().skip(1) {
            if self.begins_passage(character) {
                normal.put(&self.of_passage(&all[start..at]), start..at);
                start = at;
            }
        }
        if start < all.len() {
            normal.put(&self.of_passage(&all[start..]), start..all.len());
        }
        normal.done()
    }

    /// Whether no character before this one can have to do with it: it stays where it is and nothing composes with it.
    fn begins_passage(self, character: char) -> bool {
        let mut first = None;
        let note = |part| {
            first.get_or_insert(part);
        };
        match self {
            Form::Nfc | Form::Nfd => decompose_canonical(character, note),
            Form::Nfkc | Form::Nfkd => decompose_compatible(character, note),
        }
        let first = first.unwrap_or(character);
        canonical_combining_class(first) == 0 && !composed_backwards().contains(&first)
    }
}

/// The first byte that is not ASCII.
fn first_other(bytes: &[u8]) -> Option<usize> {
    const HIGH: u128 = u128::from_ne_bytes([0x80; 16]);
    let (chunks, rest) = bytes.as_chunks();
    for (chunk, at) in chunks.iter().zip((0..).step_by(16)) {
        let high = u128::from_le_bytes(*chunk) & HIGH;
        if high != 0 {
            return Some(at + high.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|byte| !byte.is_ascii()).map(|at| bytes.len() - rest.len() + at)
}

/// Characters that stay where they are but may compose with the one before: vowel signs, and the later letters of a Hangul syllable.
fn composed_backwards() -> &'static HashSet<char> {
    static FOUND: OnceLock<HashSet<char>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found = HashSet::new();
        for character in '\0'..=char::MAX {
            let mut number = 0;
            decompose_canonical(character, |part| {
                if number > 0 && canonical_combining_class(part) == 0 {
                    found.insert(part);
                }
                number += 1;
            });
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn passages_have_nothing_to_do_with_each_other(
            text in "[a-z\u{300}-\u{345}\u{1100}-\u{11ff}\u{ac00}-\u{ac40}\u{9be}\u{9c7}\u{9d7}\u{fb00}-\u{fb06}éßㅏ㈀ﷺẛ̣]{0,12}|\\PC{0,12}",
        ) {
            for form in [Form::Nfc, Form::Nfd, Form::Nfkc, Form::Nfkd] {
                let mut whole = String::new();
                form.push(&text, &mut whole);
                proptest::prop_assert_eq!(&*form.of_passage(&text), &*whole);
                let traced = form.traced(&Traced::document(&text));
                proptest::prop_assert_eq!(&*traced.text, whole);
                proptest::prop_assert_eq!(traced.origins().map(<[_]>::len), Some(traced.text.len()));
            }
        }
    }
}
