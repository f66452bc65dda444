//! Added tokens with conditions: what Hugging Face's `AddedVocabulary` does with a text.
//!
//! Those that are not `normalized` are cut out of the text as it came, the others out of what the normalizer makes
//! of the parts between. In both passes the longest literal wins at each place, whatever its flags say, and only then is it asked for:
//! a match that is no `single_word` where it has to be, or that the caller wants as text, is text, and so is a
//! shorter literal in it. `lstrip` and `rstrip` take the whitespace beside a match along, as far as no match has.

use hashbrown::HashMap;
use std::ops::Range;

use super::normalize::{Normalizer, normalized};
use super::spec;
use super::traced::Traced;
use super::unicode::is_word;
use crate::error::{Error, Result, quote};
use crate::interrupt::{Interrupt, Never};
use crate::special::{Beginnings, Finder, Special};

pub struct AddedTokens {
    tokens: Vec<spec::Added>,
    raw: Finder,
    normalized: Finder,
    /// Of both, if both have literals and all text is normal: most texts have none, which one search then tells.
    any: Option<Beginnings>,
}

/// A part of a text: a token, or what lies between two.
pub struct Part<'a> {
    pub token: Option<&'a spec::Added>,
    pub range: Range<usize>,
}

impl AddedTokens {
    pub fn new(tokens: Vec<spec::Added>, normalizers: &[Normalizer], interrupt: &dyn Interrupt) -> Result<Self> {
        let (mut literals, mut normal_literals) = (Vec::new(), Vec::new());
        let mut of_literal: HashMap<String, String> = HashMap::new();
        for (token, number) in tokens.iter().zip(0u32..) {
            if token.content.is_empty() {
                return Err(Error::file("the added token \"\" is empty"));
            }
            if !token.normalized {
                literals.push((token.content.clone(), number));
                continue;
            }
            let content = quote(&token.content);
            let literal = normalized(normalizers, Traced::untraced(&token.content), interrupt);
            let literal = literal.map_err(|error| match error {
                Error::InvalidText(fault) => Error::file(format!("the added token {content}: {fault}")),
                error => error,
            })?;
            if literal.text.is_empty() {
                return Err(Error::file(format!("the normalizer leaves nothing of the added token {content}")));
            }
            if let Some(other) = of_literal.insert(literal.text.to_string(), token.content.clone()) {
                let other = quote(&other);
                let message = format!("the normalizer makes the same of the added tokens {other} and {content}");
                return Err(Error::file(message));
            }
            normal_literals.push((literal.text.into_owned(), number));
        }
        let finder = |literals: &[(String, u32)]| {
            Finder::new(literals.iter().map(|(literal, number)| (literal.as_str(), *number)).collect())
        };
        let (raw, normalized) = (finder(&literals)?, finder(&normal_literals)?);
        let in_both = !literals.is_empty() && !normal_literals.is_empty() && normalizers.is_empty();
        let all = literals.iter().chain(&normal_literals).map(|(literal, _)| literal.as_bytes());
        Ok(AddedTokens { raw, normalized, any: in_both.then(|| Beginnings::new(all.collect())), tokens })
    }

    /// Whether it is certain that a text has no literal, and all of it is normal.
    pub fn has_none(&self, text: &str) -> bool {
        self.any.as_ref().is_some_and(|any| any.find(text.as_bytes(), 0..text.len()).is_none())
    }

    /// The parts of a text of which nothing is normalized yet.
    pub fn cut_raw(&self, text: &str, special: &Special, interrupt: &dyn Interrupt) -> Result<Vec<Part<'_>>> {
        self.cut(&self.raw, text, special, interrupt)
    }

    /// The parts of a part that has been normalized.
    pub fn cut_normalized(&self, text: &str, special: &Special) -> Result<Vec<Part<'_>>> {
        self.cut(&self.normalized, text, special, &Never)
    }

    fn cut(&self, finder: &Finder, text: &str, special: &Special, interrupt: &dyn Interrupt) -> Result<Vec<Part<'_>>> {
        let (mut parts, mut end, mut from) = (Vec::new(), 0, 0);
        while let Some((found, number)) = finder.find(text, from, interrupt)? {
            from = found.end;
            let token = &self.tokens[number as usize];
            let (before, after) = (&text[..found.start], &text[found.end..]);
            if (token.special && !special.parses(&token.content)) || (token.single_word && is_in_word(before, after)) {
                continue;
            }
            let Range { mut start, end: mut stop } = found;
            if token.lstrip {
                start = before.trim_end().len().max(end);
            }
            if token.rstrip {
                stop += after.len() - after.trim_start().len();
            }
            if end < start {
                parts.push(Part { token: None, range: end..start });
            }
            // What `rstrip` took along may have been the start of this one; or all of it, and then it is none.
            if start < stop {
                parts.push(Part { token: Some(token), range: start..stop });
            }
            end = stop;
        }
        if end < text.len() {
            parts.push(Part { token: None, range: end..text.len() });
        }
        Ok(parts)
    }
}

fn is_in_word(before: &str, after: &str) -> bool {
    before.chars().next_back().is_some_and(is_word) || after.chars().next().is_some_and(is_word)
}
