//! Stage 1: the text is cut at the literals of special tokens.
//!
//! At each place the longest literal wins, whatever order they were given in; a match ends before
//! the next one is sought. Where a literal may start, by its first byte, a trie of all literals is walked
//! for as long as the text follows it: no slower than the text times the longest literal, and in practice
//! a search for `<`. (An Aho-Corasick automaton would be linear, but the one at hand takes minutes to
//! build for the 400,000 literals that some people add.)

use std::ops::Range;

use hashbrown::HashMap;

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
    /// The bytes that a literal may start with.
    starts: Vec<u8>,
    may_start: [bool; 256],
    /// (node, byte) -> node, from node 0.
    children: HashMap<(u32, u8), u32>,
    /// The token whose literal ends at a node.
    ids: Vec<Option<TokenId>>,
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
    Some(Box<Chosen>),
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
                return Err(Error::file(format!("special token {literal} has the id {id}, expected 0 to {MAX_ID}")));
            }
        }
        let all = Finder::new(tokens.iter().map(|(literal, id)| (literal.as_str(), *id)));
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
        Ok(Chosen(Finder::new(chosen.into_iter())))
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
            Special::Some(chosen) => Some(&chosen.0),
        };
        let mut start = 0;
        while let Some((found, id)) = finder.and_then(|finder| finder.find(text, start)) {
            let literal = &text[found.clone()];
            if matches!(special, Special::Error) {
                return Err(Error::SpecialToken { token: literal.to_owned(), at: Position::Byte(found.start) });
            }
            if start < found.start {
                visit(Segment::Ordinary(&text[start..found.start]))?;
            }
            visit(Segment::Special(id, literal))?;
            start = found.end;
        }
        if start < text.len() {
            visit(Segment::Ordinary(&text[start..]))?;
        }
        Ok(())
    }
}

impl Finder {
    fn new<'l>(tokens: impl Iterator<Item = (&'l str, TokenId)>) -> Self {
        let mut finder =
            Finder { starts: Vec::new(), may_start: [false; 256], children: HashMap::new(), ids: vec![None] };
        for (literal, id) in tokens {
            let mut node = 0;
            for &byte in literal.as_bytes() {
                let new = finder.ids.len() as u32;
                node = *finder.children.entry((node, byte)).or_insert(new);
                if node == new {
                    finder.ids.push(None);
                }
            }
            finder.ids[node as usize] = Some(id);
            finder.may_start[literal.as_bytes()[0] as usize] = true;
        }
        finder.starts = (0..=255u8).filter(|&byte| finder.may_start[byte as usize]).collect();
        finder
    }

    /// The leftmost literal from byte `from` on, the longest of those that start there, and its token.
    fn find(&self, text: &str, from: usize) -> Option<(Range<usize>, TokenId)> {
        let bytes = text.as_bytes();
        let mut start = from;
        loop {
            start += self.next_start(&bytes[start..])?;
            let (mut node, mut longest) = (0, None);
            for (end, &byte) in (start + 1..).zip(&bytes[start..]) {
                let Some(&child) = self.children.get(&(node, byte)) else { break };
                node = child;
                longest = self.ids[node as usize].map(|id| (start..end, id)).or(longest);
            }
            if longest.is_some() {
                return longest;
            }
            start += 1;
        }
    }

    fn next_start(&self, bytes: &[u8]) -> Option<usize> {
        match *self.starts {
            [] => None,
            [a] => memchr::memchr(a, bytes),
            [a, b] => memchr::memchr2(a, b, bytes),
            [a, b, c] => memchr::memchr3(a, b, c, bytes),
            _ => bytes.iter().position(|&byte| self.may_start[byte as usize]),
        }
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
