//! Piece -> ids: of all adjacent pairs that have a rule, the lowest-ranked, and of those the
//! leftmost, is merged; then again, until no rule applies (DESIGN section 3, stage 4).
//!
//! A piece falls apart where no token has the two bytes side by side ([`APART`]); each part is merged by one of two
//! ways to the same result:
//! - [`merge_short`]: an array of what each pair makes, and the minimum of all of it before every merge. As
//!   long as the array is, whatever the part: no branch for the processor to guess wrong. Fastest up to
//!   [`SHORT`] bytes (figures in `rust/DESIGN.md`).
//! - [`Long::merge`] (`merge/long.rs`): a window at a time, each by a heap over a linked list. O(n log n) time, no recursion.
//!
//! Sennrich et al. 2016 (arXiv 1508.07909) describe the merging, section 3.2; the priority queue with
//! stale entries is the standard way to make it O(n log n).

mod long;

use std::hint::select_unpredictable;

use crate::encoding::TokenId;
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, TEXT_BETWEEN_CHECKS};
use crate::pages;
use crate::pair_table::{APART, NONE, PairTable, Symbol};
use long::Long;

/// The longest part, in bytes, that is merged without a heap.
pub const SHORT: usize = 64;

/// Pieces are shorter than this, so that positions in one fit 32 bits with a value to spare.
const MOST_BYTES: usize = u32::MAX as usize;

/// Bytes of the longest piece whose buffers are kept for the next.
const KEPT: usize = 1 << 16;

/// Buffers that are reused from piece to piece.
#[derive(Default)]
pub struct Merger {
    ids: Vec<TokenId>,
    long: Long,
}

impl Merger {
    pub fn merge(&mut self, pairs: &PairTable, piece: &[u8], interrupt: &dyn Interrupt) -> Result<&[TokenId]> {
        if piece.len() >= MOST_BYTES {
            let message = format!("a piece of {} bytes, expected less than {MOST_BYTES}", piece.len());
            return Err(Error::InvalidText(message));
        }
        self.ids.clear();
        if self.ids.capacity() < piece.len() {
            self.ids.reserve(piece.len());
            // Their first use is up to a fifth of the time of 10 MB in small pages.
            pages::advise_huge(self.ids.spare_capacity_mut());
        }
        if piece.len() > SHORT {
            self.merge_parts(pairs, piece, interrupt)?;
            return Ok(&self.ids);
        }
        // What each pair of bytes makes, and a bit for the last byte of each part.
        let mut makes = [NONE; SHORT];
        let mut ends = piece.len().checked_sub(1).map_or(0, |last| 1 << last);
        for (at, pair) in piece.windows(2).enumerate() {
            makes[at] = pairs.of_bytes(pair[0], pair[1]);
            ends |= ((makes[at] == APART) as u64) << at;
        }
        let mut start = 0;
        while ends != 0 {
            let end = ends.trailing_zeros() as usize + 1;
            ends &= ends - 1;
            merge_short_part(pairs, &piece[start..end], &makes[start..end], &mut self.ids);
            start = end;
        }
        Ok(&self.ids)
    }

    fn merge_parts(&mut self, pairs: &PairTable, piece: &[u8], interrupt: &dyn Interrupt) -> Result<()> {
        let (mut start, mut check_at) = (0, TEXT_BETWEEN_CHECKS);
        for end in 1..=piece.len() {
            if end == piece.len() || pairs.of_bytes(piece[end - 1], piece[end]) == APART {
                let part = &piece[start..end];
                if part.len() > SHORT {
                    self.long.merge(pairs, part, &mut self.ids, interrupt)?;
                } else {
                    let mut makes = [NONE; SHORT];
                    let of_pairs = part.windows(2).map(|pair| pairs.of_bytes(pair[0], pair[1]));
                    makes.iter_mut().zip(of_pairs).for_each(|(place, makes)| *place = makes);
                    merge_short_part(pairs, part, &makes[..part.len()], &mut self.ids);
                }
                start = end;
                if end > check_at {
                    interrupt.check()?;
                    check_at = end + TEXT_BETWEEN_CHECKS;
                }
            }
        }
        Ok(())
    }

    /// Gives back what a very long piece made the buffers grow to.
    pub fn trim(&mut self) {
        if self.ids.capacity() > KEPT || self.long.capacity() > KEPT {
            *self = Merger::default();
        }
    }
}

/// Appends the ids of a part of up to [`SHORT`] bytes. `makes` says what each of them makes with the next.
#[inline(always)]
fn merge_short_part(pairs: &PairTable, part: &[u8], makes: &[Symbol], ids: &mut Vec<TokenId>) {
    match *part {
        [byte] => ids.push(pairs.id(byte as Symbol)),
        [left, right] if makes[0] == NONE => ids.extend([left, right].map(|byte| pairs.id(byte as Symbol))),
        [_, _] => ids.push(pairs.id(makes[0])),
        _ => match part.len() {
            0..=8 => merge_short::<8>(pairs, part, makes, ids),
            9..=16 => merge_short::<16>(pairs, part, makes, ids),
            17..=32 => merge_short::<32>(pairs, part, makes, ids),
            _ => merge_short::<SHORT>(pairs, part, makes, ids),
        },
    }
}

/// Appends the ids of a part of 2 to `N` bytes; `N` is a power of two up to 64.
///
/// No branch but the end: what merges next to what cannot be guessed.
fn merge_short<const N: usize>(pairs: &PairTable, part: &[u8], makes: &[Symbol], ids: &mut Vec<TokenId>) {
    // What a pair makes, above its position: the least is the one to merge. And a bit for each symbol's position.
    let candidate = |makes: Symbol, at: usize| (makes as u64) << 6 | at as u64;
    let mut candidates = [u64::MAX; N];
    let mut symbols = [0; N];
    let mut positions = u64::MAX >> (64 - part.len());
    for (at, (&byte, &makes)) in part.iter().zip(makes).enumerate().take(N) {
        symbols[at] = byte as Symbol;
        candidates[at] = candidate(makes, at);
    }
    loop {
        // Halves against each other: a chain of six steps for 64, where one by one is a chain of 64.
        let (mut least, mut width) = (candidates, N);
        while width > 1 {
            width /= 2;
            for at in 0..width {
                least[at] = least[at].min(least[at + width]);
            }
        }
        let best = least[0];
        if best >= candidate(NONE, 0) {
            break;
        }
        let (at, made) = ((best & 63) as usize % N, (best >> 6) as Symbol);
        let behind = positions & (!1 << at);
        let merged = behind.trailing_zeros() as usize % N;
        positions &= !(1 << merged);
        symbols[at] = made;

        // Where there is no symbol before or behind, the one merged stands in for it: nobody asks for it again.
        let before = positions & ((1 << at) - 1);
        let previous = select_unpredictable(before == 0, merged, (before | 1).ilog2() as usize % N);
        candidates[previous] = candidate(pairs.get(symbols[previous], made), previous);
        let behind = behind & behind.wrapping_sub(1);
        let next = select_unpredictable(behind == 0, merged, behind.trailing_zeros() as usize % N);
        let makes = pairs.get(made, symbols[next]);
        candidates[at] = candidate(select_unpredictable(behind == 0, NONE, makes), at);
        candidates[merged] = u64::MAX;
    }
    let end = ids.len() + positions.count_ones() as usize;
    while ids.len() < end {
        // Four at a time: how many there are cannot be guessed either.
        let four = [(); 4].map(|()| {
            let at = positions.trailing_zeros() as usize % N;
            positions &= positions.wrapping_sub(1);
            pairs.id(symbols[at])
        });
        ids.extend_from_slice(&four);
    }
    ids.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::builtin;
    use crate::interrupt::Never;

    #[test]
    fn a_very_long_piece_leaves_no_large_buffers() {
        let encoding = builtin::load("gpt2").unwrap();
        let mut merger = Merger::default();
        for (length, kept) in [(KEPT / 2, true), (KEPT * 2, false)] {
            let ids = merger.merge(encoding.pairs(), &vec![b'a'; length], &Never).map(<[TokenId]>::len);
            assert_eq!(ids, Ok(length / 4));
            merger.trim();
            assert_eq!(merger.ids.capacity() > 0, kept);
        }
    }
}
