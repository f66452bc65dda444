//! Normalizers: what a file changes in a text before it is cut into pieces.
//!
//! The four Unicode forms come from `unicode-normalization-alignments`, the crate (and so the Unicode version, 9) of
//! Hugging Face tokenizers; lower-casing goes character by character, as there. All are linear in the text and in what
//! they make of it, which is bounded: forty `Replace` in a row that each double a text would fill any memory.

use std::sync::OnceLock;

use hashbrown::HashSet;
use unicode_normalization_alignments::UnicodeNormalization;
use unicode_normalization_alignments::char::{canonical_combining_class, decompose_canonical, decompose_compatible};

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
            Normalizer::Form(form) if text.origins().is_none() => {
                let mut normal = text.edit();
                normal.put(&form.of(&text.text), 0..text.text.len());
                normal.done()
            }
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
    /// The form of a text. ASCII has none of its own, but for the character before others, which may compose with it.
    fn of(self, text: &str) -> String {
        let mut form = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(other) = rest.bytes().position(|byte| !byte.is_ascii()) {
            let (ascii, from) = rest.split_at(other.saturating_sub(1));
            let (before, others) = from.split_at(other - ascii.len());
            let end = before.len() + others.bytes().position(|byte| byte.is_ascii()).unwrap_or(others.len());
            form.push_str(ascii);
            self.push(&from[..end], &mut form);
            rest = &from[end..];
        }
        form.push_str(rest);
        form
    }

    fn push(self, text: &str, form: &mut String) {
        match self {
            Form::Nfc => form.extend(text.nfc().map(|(character, _)| character)),
            Form::Nfd => form.extend(text.nfd().map(|(character, _)| character)),
            Form::Nfkc => form.extend(text.nfkc().map(|(character, _)| character)),
            Form::Nfkd => form.extend(text.nfkd().map(|(character, _)| character)),
        }
    }

    /// Passage by passage: none has to do with another, so the form of the whole is theirs in a row. All that comes
    /// of a passage stands for all of it.
    fn traced(self, text: &Traced) -> Traced<'static> {
        let all: &str = &text.text;
        let mut normal = text.edit();
        let mut start = 0;
        for (at, character) in all.char_indices().skip(1) {
            if self.begins_passage(character) {
                normal.put(&self.of(&all[start..at]), start..at);
                start = at;
            }
        }
        if start < all.len() {
            normal.put(&self.of(&all[start..]), start..all.len());
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
                proptest::prop_assert_eq!(form.of(&text), &*whole);
                let traced = form.traced(&Traced::document(&text));
                proptest::prop_assert_eq!(&*traced.text, whole);
                proptest::prop_assert_eq!(traced.origins().map(<[_]>::len), Some(traced.text.len()));
            }
        }
    }
}
