//! Patterns without a scanner: an automaton for what is regular, fancy-regex for the rest.
//!
//! With `\s+(?!\S)` in it, fancy-regex runs its backtracking engine, whose stack a million spaces
//! exhaust. Nearly every published pattern ends in `|\s+(?!\S)|\s+` and has no other look-around. There
//! the look-ahead only gives one character back, so the ending is compiled as `|(\s+)` and the character
//! given back here; what is left is usually regular, and [`Automaton`] finds its matches where the one before ended.
//! Where nothing matches there, fancy-regex searches on, in linear time. A look-ahead
//! elsewhere stays with fancy-regex, and its limits are errors, never wrong pieces.

use fancy_regex::Regex;

use super::Boundaries;
use super::automaton::{Automaton, Walk};
use super::regular::regular;
use super::transducer::{Place, Transducer};
use crate::error::{Error, Result, quote};
use crate::interrupt::TEXT_BETWEEN_CHECKS;

/// Endings that give a whitespace character back, longest first.
const ENDINGS: [&str; 2] = [r"|\s+(?!\S)|\s+", r"|\s+(?!\S)|\s"];

/// See [`Pattern::is_settled`](super::Pattern::is_settled). Nothing is known of the pattern, but the ones in use take runs of a
/// class after a short front.
pub fn is_settled(front: &str) -> bool {
    front.len() >= 64
}

/// What finding one piece may cost, in bytes of ordinary work.
pub const WORK_OF_A_PIECE: usize = 1 << 12;

pub struct Engine {
    regex: Regex,
    /// The number of the group that holds the ending's whitespace.
    ending: Option<usize>,
    automaton: Option<Automaton>,
}

impl Engine {
    pub fn new(pattern: &str) -> Result<Self> {
        let compile = |pattern: &str| Regex::new(pattern);
        // The whole must compile, or what is cut from it may not be what it seems (`(a|\s+(?!\S)|\s+`).
        let whole = compile(pattern)
            .map_err(|error| Error::file(format!("pattern {} cannot be used: {error}", quote(pattern))))?;
        let automaton = regular(pattern).as_ref().and_then(Automaton::new);
        for ending in ENDINGS {
            if let Some(front) = pattern.strip_suffix(ending)
                && let (Ok(regex), Ok(front)) = (compile(&format!(r"{front}|(\s+)")), compile(front))
                && regex.captures_len() == front.captures_len() + 1
            {
                let ending = front.captures_len();
                return Ok(Engine { regex, ending: Some(ending), automaton });
            }
        }
        Ok(Engine { regex: whole, ending: None, automaton })
    }

    /// The same by what every processor has.
    #[must_use]
    pub fn portable(mut self) -> Self {
        self.automaton = self.automaton.map(Automaton::portable);
        self
    }

    /// The pieces of `text` from byte `start` on.
    pub fn matches<'t>(&'t self, text: &'t str, start: usize) -> Matches<'t> {
        let walk = self.automaton.as_ref().map(Automaton::walk);
        let transducer = self.automaton.as_ref().and_then(Automaton::transducer);
        let reading = transducer.map(|transducer| (transducer, Place::at_start(start)));
        Matches { engine: self, text, walk, reading, start, from: start, found: None }
    }

    /// See [`Pattern::safe_cut`](super::Pattern::safe_cut).
    pub fn safe_cut(&self, text: &str, near: usize) -> Option<usize> {
        self.automaton.as_ref()?.transducer()?.safe_cut(text, near)
    }

    /// Whether a match that is not empty begins at byte `at`.
    pub fn matches_at(&self, text: &str, at: usize) -> Result<bool> {
        Ok(self.next_match(text, at)?.is_some_and(|(start, end)| start == at && start < end))
    }

    fn next_match(&self, text: &str, from: usize) -> Result<Option<(usize, usize)>> {
        let gave_up = |error| Error::InvalidText(format!("the pattern's engine gave up after byte {from}: {error}"));
        let Some(found) = self.regex.find_from_pos(text, from).map_err(gave_up)? else {
            return Ok(None);
        };
        let (start, end) = (found.start(), found.end());
        let Some(ending) = self.ending else {
            return Ok(Some((start, end)));
        };
        if end == text.len() || !found.as_str().starts_with(char::is_whitespace) {
            return Ok(Some((start, end)));
        }
        let captures = self.regex.captures_from_pos(text, start).map_err(gave_up)?;
        let by_ending = captures.is_some_and(|captures| captures.get(ending).is_some());
        let last = text[start..end].chars().next_back().map_or(0, char::len_utf8);
        let keeps_all = !by_ending || last == end - start;
        Ok(Some((start, if keeps_all { end } else { end - last })))
    }
}

pub struct Matches<'t> {
    engine: &'t Engine,
    text: &'t str,
    walk: Option<Walk<'t>>,
    reading: Option<(&'t Transducer, Place)>,
    /// Of the text that is in no piece yet.
    start: usize,
    /// Where the next match is sought.
    from: usize,
    /// The end of a match in front of which there is a piece that nothing matches.
    found: Option<usize>,
}

/// Pieces between two looks for an interrupt: each may cost as much as looking at all of the text.
pub const PIECES_AT_ONCE: usize = TEXT_BETWEEN_CHECKS / WORK_OF_A_PIECE;

impl Matches<'_> {
    /// The next pieces, unmatched text between matches among them; there may be none yet where one is long. False at the end
    /// of the text.
    pub fn next(&mut self, boundaries: &mut Boundaries) -> Result<bool> {
        boundaries.begin(self.start);
        if self.start == self.text.len() {
            return Ok(false);
        }
        if self.reading.is_some() {
            self.read(boundaries)?;
            return Ok(true);
        }
        let most = if self.walk.is_some() { Boundaries::ENOUGH } else { PIECES_AT_ONCE };
        while boundaries.count() < most
            && let Some(end) = self.next_end()?
        {
            boundaries.push(end);
        }
        Ok(true)
    }

    /// The next pieces by the transducer; one by other means wherever it is stuck, as it is at the end of the text.
    fn read(&mut self, boundaries: &mut Boundaries) -> Result<()> {
        let last = self.reading.as_ref().map_or(0, |(_, place)| place.at + TEXT_BETWEEN_CHECKS);
        while !boundaries.is_enough()
            && boundaries.last() < self.text.len()
            && let Some((transducer, place)) = &mut self.reading
            && place.at < last
        {
            if place.at == self.text.len() || !transducer.read(self.text, place, last, boundaries) {
                (self.start, self.from, self.found) = (boundaries.last(), boundaries.last(), None);
                if let Some(end) = self.next_end()? {
                    boundaries.push(end);
                }
                if let Some((_, place)) = &mut self.reading {
                    *place = Place::at_start(self.start);
                }
            }
        }
        self.start = boundaries.last();
        Ok(())
    }

    /// The end of the next piece.
    pub fn next_end(&mut self) -> Result<Option<usize>> {
        if self.start == self.text.len() {
            return Ok(None);
        }
        let end = match self.found.take() {
            Some(end) => end,
            None => self.piece()?,
        };
        self.start = end;
        Ok(Some(end))
    }

    /// The end of the next match, or of what is in front of it.
    fn piece(&mut self) -> Result<usize> {
        if self.from == self.start
            && let Some(walk) = &mut self.walk
            && let Some(end) = walk.match_end(self.text, self.start).filter(|&end| end > self.start)
        {
            self.from = end;
            return Ok(end);
        }
        while let Some((start, end)) = self.engine.next_match(self.text, self.from)? {
            if start < end {
                self.from = end;
                if self.start < start {
                    self.found = Some(end);
                    return Ok(start);
                }
                return Ok(end);
            }
            // An empty match is no piece: look on from the next character.
            match self.text[end..].chars().next() {
                Some(next) => self.from = end + next.len_utf8(),
                None => break,
            }
        }
        Ok(self.text.len())
    }
}
