//! The distinct pieces of a corpus while they are merged, one after the other in one block of memory.
//!
//! A piece is its count, its number of symbols, and for each symbol its id and the number of the pair that it and the
//! next symbol are. So whoever looks for a pair compares one word a symbol, and finds beside a match which pairs go. A merge makes a
//! piece shorter in place; it is never moved.

use crate::encoding::TokenId;
use crate::error::{Error, Result};

/// The number of a pair of symbols.
pub type PairNumber = u32;

/// In place of a pair: that of a last symbol, or one that is never merged.
pub const NO_PAIR: PairNumber = PairNumber::MAX;

const HEADER: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Symbol {
    pub id: TokenId,
    /// The pair of this symbol and the next.
    pub pair: PairNumber,
}

#[derive(Default)]
pub struct Pieces {
    words: Vec<u32>,
    symbols: usize,
}

pub struct Piece<'p> {
    pub count: u64,
    length: &'p mut u32,
    /// The symbols, and behind them what was there before they were merged.
    words: &'p mut [[u32; 2]],
}

impl Pieces {
    pub fn push(&mut self, count: u64, symbols: impl ExactSizeIterator<Item = TokenId>) -> Result<()> {
        let length = symbols.len();
        if self.words.len() + HEADER + 2 * length > u32::MAX as usize {
            let message = format!(
                "the corpus has more than {} symbols in distinct pieces; max_memory prunes the rarest",
                self.symbols
            );
            return Err(Error::Training(message));
        }
        self.words.extend([count as u32, (count >> 32) as u32, length as u32]);
        self.words.extend(symbols.flat_map(|id| [id, NO_PAIR]));
        self.symbols += length;
        Ok(())
    }

    /// The place of the next piece, as long as none has been merged; `at` begins at 0.
    pub fn next(&self, at: &mut usize) -> Option<u32> {
        let place = *at;
        let length = *self.words.get(place + 2)?;
        *at += HEADER + 2 * length as usize;
        Some(place as u32)
    }

    /// The piece at a place.
    #[inline(always)]
    pub fn at(&mut self, place: u32) -> Piece<'_> {
        let (header, rest) = self.words[place as usize..].split_at_mut(HEADER);
        let [low, high, length] = header else { unreachable!("a header has three words") };
        let (words, _) = rest.as_chunks_mut();
        let words = &mut words[..*length as usize];
        Piece { count: *low as u64 | (*high as u64) << 32, length, words }
    }

    pub fn send_for(&self, place: u32) {
        crate::table::prefetch(self.words.as_ptr().wrapping_add(place as usize));
    }
}

impl Piece<'_> {
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    #[inline(always)]
    pub fn get(&self, at: usize) -> Symbol {
        let [id, pair] = self.words[at];
        Symbol { id, pair }
    }

    #[inline(always)]
    pub fn set(&mut self, at: usize, symbol: Symbol) {
        self.words[at] = [symbol.id, symbol.pair];
    }

    /// Whether it has a pair, and where first, from a symbol on.
    #[inline(always)]
    pub fn find(&self, pair: PairNumber) -> Option<usize> {
        self.words.iter().position(|word| word[1] == pair)
    }

    /// Takes a pair's number away.
    #[inline(always)]
    pub fn forget(&mut self, pair: PairNumber) {
        for [_, number] in self.words.iter_mut().filter(|[_, number]| *number == pair) {
            *number = NO_PAIR;
        }
    }

    pub fn shorten(self, length: usize) {
        *self.length = length as u32;
    }
}
