//! Stage 1: the text is cut at the literals of special tokens.
//!
//! At each place the longest literal wins, whatever order they were given in; a match ends before
//! the next one is sought. An Aho-Corasick automaton finds them in one pass; for a single literal
//! (GPT-2) that is a substring search.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::encoding::{MAX_ID, TokenId};
use crate::error::{Error, Position, Result, quote};

pub struct SpecialTokens {
    /// Sorted by (id, literal).
    tokens: Vec<(String, TokenId)>,
    by_literal: HashMap<String, TokenId>,
    all: Finder,
}

/// Finds the literals of some special tokens.
struct Finder {
    automaton: Option<AhoCorasick>,
    ids: Vec<TokenId>,
}

/// What to do with the literals of special tokens in a text.
pub enum Special {
    /// They become their ids.
    Parse,
    /// They are ordinary text.
    Text,
    /// One is an error.
    Error,
    /// Some become their ids, the others are ordinary text.
    Some(Chosen),
}

/// Special tokens chosen by [`SpecialTokens::choose`].
pub struct Chosen(Finder);

/// A part of a text: special tokens and what lies between them.
#[derive(Debug, PartialEq, Eq)]
pub enum Segment<'t> {
    Ordinary(&'t str),
    Special(TokenId, &'t str),
}

impl SpecialTokens {
    pub fn new(mut tokens: Vec<(String, TokenId)>) -> Result<Self> {
        tokens.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        let mut by_literal = HashMap::with_capacity(tokens.len());
        for (literal, id) in &tokens {
            if by_literal.insert(literal.clone(), *id).is_some() {
                return Err(Error::file(format!("special token {} is repeated", quote(literal))));
            }
            if literal.is_empty() {
                return Err(Error::file("special token \"\" is empty"));
            }
            if *id > MAX_ID {
                let literal = quote(literal);
                return Err(Error::file(format!(
                    "special token {literal} has the id {id}, expected 0 to {MAX_ID}"
                )));
            }
        }
        let all = Finder::new(tokens.iter().map(|(literal, id)| (literal.as_str(), *id)))?;
        Ok(SpecialTokens { tokens, by_literal, all })
    }

    /// In (id, literal) order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, TokenId)> {
        self.tokens.iter().map(|(literal, id)| (literal.as_str(), *id))
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub fn to_vec(&self) -> Vec<(String, TokenId)> {
        self.tokens.clone()
    }

    pub fn id(&self, literal: &str) -> Option<TokenId> {
        self.by_literal.get(literal).copied()
    }

    /// Those of `literals`; the first that is no special token is the error.
    pub fn choose<'l>(&self, literals: &[&'l str]) -> Result<Chosen, &'l str> {
        let mut chosen = Vec::with_capacity(literals.len());
        for literal in literals {
            chosen.push((*literal, self.id(literal).ok_or(*literal)?));
        }
        // Literals that built one automaton build a smaller one.
        Finder::new(chosen.into_iter()).map(Chosen).map_err(|_| literals[0])
    }

    /// Calls `visit` with each segment in order; empty ordinary segments are left out.
    pub fn cut<'t>(
        &self,
        text: &'t str,
        special: &Special,
        mut visit: impl FnMut(Segment<'t>) -> Result<()>,
    ) -> Result<()> {
        let finder = match special {
            Special::Parse | Special::Error => Some(&self.all),
            Special::Text => None,
            Special::Some(Chosen(finder)) => Some(finder),
        };
        let mut start = 0;
        if let Some(Finder { automaton: Some(automaton), ids }) = finder {
            for found in automaton.find_iter(text) {
                let literal = &text[found.range()];
                if matches!(special, Special::Error) {
                    return Err(Error::SpecialToken {
                        token: literal.to_owned(),
                        at: Position::Byte(found.start()),
                    });
                }
                if start < found.start() {
                    visit(Segment::Ordinary(&text[start..found.start()]))?;
                }
                visit(Segment::Special(ids[found.pattern().as_usize()], literal))?;
                start = found.end();
            }
        }
        if start < text.len() {
            visit(Segment::Ordinary(&text[start..]))?;
        }
        Ok(())
    }
}

impl Finder {
    fn new<'l>(tokens: impl Iterator<Item = (&'l str, TokenId)>) -> Result<Self> {
        let (literals, ids): (Vec<&str>, Vec<TokenId>) = tokens.unzip();
        let automaton = if literals.is_empty() {
            None
        } else {
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&literals);
            Some(built.map_err(|error| Error::file(format!("special tokens: {error}")))?)
        };
        Ok(Finder { automaton, ids })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(tokens: &[(&str, TokenId)], text: &'static str, special: Special) -> Vec<Segment<'static>> {
        let tokens = SpecialTokens::new(tokens.iter().map(|(l, id)| (l.to_string(), *id)).collect()).unwrap();
        let mut segments = Vec::new();
        tokens
            .cut(text, &special, |segment| {
                segments.push(segment);
                Ok(())
            })
            .unwrap();
        segments
    }

    #[test]
    fn the_longest_literal_wins_in_any_order() {
        use Segment::*;
        let expected = vec![Ordinary("x"), Special(2, "<a><b>"), Special(1, "<a>"), Ordinary("<b")];
        assert_eq!(cut(&[("<a>", 1), ("<a><b>", 2)], "x<a><b><a><b", super::Special::Parse), expected);
        assert_eq!(cut(&[("<a><b>", 2), ("<a>", 1)], "x<a><b><a><b", super::Special::Parse), expected);
        assert_eq!(cut(&[("<a>", 1)], "x<a>", super::Special::Text), vec![Ordinary("x<a>")]);
        assert_eq!(cut(&[("<a>", 1)], "", super::Special::Parse), vec![]);
    }

    #[test]
    fn error_names_the_first() {
        let tokens = SpecialTokens::new(vec![("<a>".into(), 1)]).unwrap();
        let error = tokens.cut("é<a><a>", &Special::Error, |_| Ok(())).unwrap_err();
        assert_eq!(error, Error::SpecialToken { token: "<a>".into(), at: Position::Byte(2) });
    }
}
