//! Stage 2: text -> pieces. Merges never cross a piece.
//!
//! A [`Pattern`] is recognised by its text: the families in use have a [`scanner`], by [`rules`] that are data. Any other
//! goes through a regular-expression engine ([`regex`]), several one after the other ([`in_turn`]). Pieces are
//! consecutive and cover the text: what a pattern does not match is a piece too, so that nothing is lost.

mod around;
mod automaton;
#[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
mod avx512;
mod block;
pub mod classes;
pub mod cuts;
pub mod in_turn;
pub mod instructions;
pub mod names;
pub mod regex;
pub mod regular;
pub mod rules;
pub mod scalar;
pub mod scanner;
mod starts;
mod transducer;
mod words;

use crate::error::{Error, Result, quote};
use rules::{Cl100k, DeepSeekV3, Gpt2, Known, Llama3, O200k, Qwen2, Tekken};
use scanner::Scanner;

pub use names::{GPT2 as GPT2_PATTERN, IN_TURN};

pub struct Pattern {
    text: String,
    engine: Engine,
}

enum Engine {
    Known(Known),
    Regex(Box<regex::Engine>),
    InTurn(in_turn::Engine),
}

/// The pieces of a text, some at a time.
pub enum Batches<'t> {
    Gpt2(Scanner<'t, Gpt2>),
    Llama3(Scanner<'t, Llama3>),
    Cl100k(Scanner<'t, Cl100k>),
    Qwen2(Scanner<'t, Qwen2>),
    O200k(Scanner<'t, O200k>),
    Tekken(Scanner<'t, Tekken>),
    DeepSeekV3(Scanner<'t, DeepSeekV3>),
    Regex(regex::Matches<'t>),
    InTurn(in_turn::Matches<'t>),
}

impl<'t> Batches<'t> {
    /// What lies in front of a piece does not matter to it.
    fn known(known: Known, text: &'t str, start: usize) -> Self {
        match known {
            Known::Gpt2 => Batches::Gpt2(Scanner::new(text, start)),
            Known::Llama3 => Batches::Llama3(Scanner::new(text, start)),
            Known::Cl100k => Batches::Cl100k(Scanner::new(text, start)),
            Known::Qwen2 => Batches::Qwen2(Scanner::new(text, start)),
            Known::O200k => Batches::O200k(Scanner::new(text, start)),
            Known::Tekken => Batches::Tekken(Scanner::new(text, start)),
            Known::DeepSeekV3 => Batches::DeepSeekV3(Scanner::new(text, start)),
        }
    }

    /// The next pieces, of which there may be none yet where one is long; false at the end of the text.
    #[inline]
    pub fn next(&mut self, boundaries: &mut Boundaries) -> Result<bool> {
        match self {
            Batches::Gpt2(scanner) => Ok(scanner.next(boundaries)),
            Batches::Llama3(scanner) => Ok(scanner.next(boundaries)),
            Batches::Cl100k(scanner) => Ok(scanner.next(boundaries)),
            Batches::Qwen2(scanner) => Ok(scanner.next(boundaries)),
            Batches::O200k(scanner) => Ok(scanner.next(boundaries)),
            Batches::Tekken(scanner) => Ok(scanner.next(boundaries)),
            Batches::DeepSeekV3(scanner) => Ok(scanner.next(boundaries)),
            Batches::Regex(matches) => matches.next(boundaries),
            Batches::InTurn(matches) => matches.next(boundaries),
        }
    }
}

/// Where consecutive pieces begin and end, in bytes of their text: each begins where the one before it ends.
#[derive(Clone)]
pub struct Boundaries {
    at: [usize; Boundaries::MOST_PIECES + 1],
    length: usize,
}

impl Boundaries {
    /// A batch is about this many pieces: enough to cover the trip to memory, few enough that what was fetched
    /// is still there.
    const ENOUGH: usize = 192;

    /// A block of text adds up to 64 to what is not yet enough, and two that begin in front of it.
    pub const MOST_PIECES: usize = Boundaries::ENOUGH + 66;

    #[inline]
    pub fn count(&self) -> usize {
        self.length.saturating_sub(1)
    }

    /// One piece, which begins at 0.
    pub fn set_one(&mut self, length: usize) {
        self.begin(0);
        self.push(length);
    }

    /// The start and the end of each piece.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut start = self.at[0];
        self.at[1..self.length.max(1)].iter().map(move |&end| (std::mem::replace(&mut start, end), end))
    }

    #[inline]
    pub fn piece(&self, number: usize) -> (usize, usize) {
        (self.at[number], self.at[number + 1])
    }

    /// Of all pieces.
    #[inline]
    pub fn bytes(&self) -> usize {
        if self.length == 0 { 0 } else { self.last() - self.at[0] }
    }

    /// Forgets all pieces; the next begin at byte `start`.
    #[inline]
    fn begin(&mut self, start: usize) {
        self.at[0] = start;
        self.length = 1;
    }

    #[inline]
    fn last(&self) -> usize {
        self.at[self.length - 1]
    }

    #[inline]
    fn is_enough(&self) -> bool {
        self.length > Self::ENOUGH
    }

    #[inline]
    fn push(&mut self, end: usize) {
        self.at[self.length] = end;
        self.length += 1;
    }

    /// An end at each bit of `mask`, the lowest bit at byte `first`. There must be room for 64.
    #[inline(always)]
    fn push_mask(&mut self, first: usize, mask: u64) {
        self.push_ends(mask, |room| ends(first, mask, room));
    }

    /// As many ends as `mask` has bits, which `write` writes to the front of the room.
    #[inline(always)]
    fn push_ends(&mut self, mask: u64, write: impl FnOnce(&mut [usize; 64])) {
        let room = self.at[self.length..].first_chunk_mut();
        debug_assert!(room.is_some());
        if let Some(room) = room {
            write(room);
        }
        self.length += mask.count_ones() as usize;
    }
}

/// The number of each bit of `mask`, the lowest being `first`; behind them something.
#[inline(always)]
fn ends(first: usize, mut mask: u64, room: &mut [usize; 64]) {
    // Eight at a time without asking for the end: what is too much is overwritten.
    for eight in room.as_chunks_mut::<8>().0 {
        for place in eight {
            *place = first + mask.trailing_zeros() as usize;
            mask &= mask.wrapping_sub(1);
        }
        if mask == 0 {
            break;
        }
    }
}

impl Default for Boundaries {
    fn default() -> Self {
        Boundaries { at: [0; Boundaries::MOST_PIECES + 1], length: 0 }
    }
}

impl Pattern {
    /// `text` is a regular expression, several with [`IN_TURN`] between them, or the name of one (`names.rs`).
    pub fn new(text: &str) -> Result<Self> {
        let text = names::named(text).unwrap_or(text);
        if names::is_like_a_name(text) {
            let message = format!(
                "pattern {} is no known name ({}), and as a regular expression it would match only itself",
                quote(text),
                names::list()
            );
            return Err(Error::file(message));
        }
        let engine = match Known::of(text) {
            Some(known) => Engine::Known(known),
            _ if text.contains(IN_TURN) => Engine::InTurn(in_turn::Engine::new(text)?),
            _ => Engine::Regex(Box::new(regex::Engine::new(text)?)),
        };
        Ok(Pattern { text: text.to_owned(), engine })
    }

    /// Of several regular expressions, each splits the pieces of the one before; what it does not match stays a piece.
    pub fn in_turn(texts: &[impl AsRef<str>]) -> Result<Self> {
        Pattern::new(&texts.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(IN_TURN))
    }

    /// The regular expression, or several with [`IN_TURN`] between them.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The pieces of `text` from the one that starts at byte `start` on, in batches.
    #[inline]
    pub fn batches<'t>(&'t self, text: &'t str, start: usize) -> Batches<'t> {
        match &self.engine {
            Engine::Known(known) => Batches::known(*known, text, start),
            Engine::Regex(engine) => Batches::Regex(engine.matches(text, start)),
            Engine::InTurn(engine) => Batches::InTurn(engine.matches(text, start)),
        }
    }

    /// Calls `visit` with each piece of `text`, in order.
    pub fn pieces<'t>(&self, text: &'t str, visit: impl FnMut(&'t str) -> Result<()>) -> Result<()> {
        self.pieces_from(text, 0, visit)
    }

    /// The pieces of `text` from the one that starts at byte `start` on.
    pub fn pieces_from<'t>(
        &self,
        text: &'t str,
        start: usize,
        mut visit: impl FnMut(&'t str) -> Result<()>,
    ) -> Result<()> {
        let mut boundaries = Boundaries::default();
        let mut batches = self.batches(text, start);
        while batches.next(&mut boundaries)? {
            for (start, end) in boundaries.pieces() {
                visit(&text[start..end])?;
            }
        }
        Ok(())
    }

    /// Calls `visit` with each part of `text` that the pattern matches, in order: the pieces, but those that lie between
    /// matches. Of several patterns in turn, all pieces.
    pub fn matches<'t>(&self, text: &'t str, mut visit: impl FnMut(&'t str) -> Result<()>) -> Result<()> {
        let mut end = 0;
        self.pieces(text, |piece| {
            let start = end;
            end += piece.len();
            let is_match = match &self.engine {
                Engine::Known(_) | Engine::InTurn(_) => true,
                Engine::Regex(engine) => engine.matches_at(text, start)?,
            };
            if is_match { visit(piece) } else { Ok(()) }
        })
    }

    /// What finding one piece may cost, in bytes of ordinary work: some patterns look at all of the text for each.
    pub fn work_of_a_piece(&self) -> usize {
        match self.engine {
            Engine::Known(_) => 0,
            Engine::Regex(_) | Engine::InTurn(_) => regex::WORK_OF_A_PIECE,
        }
    }

    /// A byte at or after `near` at which the text can be cut: its pieces are those of the two parts, whatever lies
    /// around the text. For a pattern of which that is not known, `None`.
    pub fn safe_cut(&self, text: &str, near: usize) -> Option<usize> {
        match &self.engine {
            Engine::Known(known) => known.rules().safe_cut(text, near),
            Engine::Regex(engine) => engine.safe_cut(text, near),
            Engine::InTurn(_) => None,
        }
    }

    /// Whether what is left of the piece from byte `start` to `end`, if the text is cut off inside it, is one piece, and
    /// all pieces before it are the same. See `truncate.rs`.
    pub fn is_settled(&self, text: &str, start: usize, end: usize, cut: usize) -> bool {
        match &self.engine {
            Engine::Known(known) => known.rules().is_settled(text, start, end, cut),
            Engine::Regex(_) | Engine::InTurn(_) => regex::is_settled(&text[start..cut]),
        }
    }
}
