//! Several patterns in turn: each splits the pieces of the one before, as if each piece were a text of its own.
//!
//! The pieces of a pattern are sought only as the next one wants them, so a text takes no memory but for its batch.

use super::names::IN_TURN;
use super::{Boundaries, regex};
use crate::error::Result;

pub struct Engine {
    patterns: Vec<regex::Engine>,
}

impl Engine {
    /// `text` holds the patterns with [`IN_TURN`] between them.
    pub fn new(text: &str) -> Result<Self> {
        Ok(Engine { patterns: text.split(IN_TURN).map(regex::Engine::new).collect::<Result<_>>()? })
    }

    /// The pieces of `text` from the one that starts at byte `start` on.
    pub fn matches<'t>(&'t self, text: &'t str, start: usize) -> Matches<'t> {
        let levels = self.patterns.first().map(|first| (0, first.matches(text, 0))).into_iter().collect();
        Matches { patterns: &self.patterns, text, levels, start, at: 0 }
    }
}

pub struct Matches<'t> {
    patterns: &'t [regex::Engine],
    text: &'t str,
    /// For each pattern but those whose turn it is not: where in the text it splits, and what it finds there.
    levels: Vec<(usize, regex::Matches<'t>)>,
    /// Where the first piece begins that is wanted. Where a piece of an earlier pattern began is not known, so all are made.
    start: usize,
    /// Of the text that is in no piece yet.
    at: usize,
}

impl Matches<'_> {
    /// The next pieces. False at the end of the text.
    pub fn next(&mut self, boundaries: &mut Boundaries) -> Result<bool> {
        boundaries.begin(self.at.max(self.start));
        for _ in 0..regex::PIECES_AT_ONCE {
            let Some(end) = self.next_end()? else { break };
            if end > self.start {
                boundaries.push(end);
            }
        }
        Ok(boundaries.count() > 0 || self.at < self.text.len())
    }

    /// The end of the next piece.
    fn next_end(&mut self) -> Result<Option<usize>> {
        while let Some((base, matches)) = self.levels.last_mut() {
            let Some(end) = matches.next_end()?.map(|end| *base + end) else {
                self.levels.pop();
                continue;
            };
            let Some(pattern) = self.patterns.get(self.levels.len()) else {
                self.at = end;
                return Ok(Some(end));
            };
            self.levels.push((self.at, pattern.matches(&self.text[self.at..end], 0)));
        }
        Ok(None)
    }
}
