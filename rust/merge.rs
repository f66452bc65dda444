//! Piece -> ids: of all adjacent pairs that have a rule, the lowest-ranked, and of those the
//! leftmost, is merged; then again, until no rule applies (DESIGN section 3, stage 4).
//!
//! A piece falls apart where no token has the two bytes side by side; each part is merged by one of two ways to the same
//! result:
//! - [`merge_short`]: an array of what each pair makes, and the minimum of all of it before every merge. As
//!   long as the array is, whatever the part: no branch for the processor to guess wrong. Fastest up to
//!   [`SHORT`] bytes (figures in `rust/DESIGN.md`). Pairs of bytes that are sure to merge have merged before
//!   ([`begin`]), which is half of all merging.
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
use crate::pair_table::{LATE, NONE, PairTable, Symbol};
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
        let mut symbols = [0; SHORT];
        let (mut start, mut ends) = (0, begin(pairs, piece, &mut symbols));
        while ends != 0 {
            let end = ends.trailing_zeros() as usize + 1;
            ends &= ends - 1;
            merge_part(pairs, &symbols[start..end], &mut self.ids);
            start = end;
        }
        Ok(&self.ids)
    }

    fn merge_parts(&mut self, pairs: &PairTable, piece: &[u8], interrupt: &dyn Interrupt) -> Result<()> {
        let (mut start, mut check_at) = (0, TEXT_BETWEEN_CHECKS);
        for end in 1..=piece.len() {
            if end == piece.len() || pairs.of_bytes(piece[end - 1], piece[end]).apart {
                let part = &piece[start..end];
                if part.len() > SHORT {
                    self.long.merge(pairs, part, &mut self.ids, interrupt)?;
                } else {
                    let mut symbols = [0; SHORT];
                    let ends = begin(pairs, part, &mut symbols);
                    merge_part(pairs, &symbols[..=ends.trailing_zeros() as usize], &mut self.ids);
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

/// The first symbols of a piece of up to [`SHORT`] bytes, and a bit for the last symbol of each part: the bytes, but for pairs
/// of them that are sure to merge.
///
/// Sure is a pair `ab` with `x` in front and `y` behind that makes something before anything takes one of the two away: before `a`
/// merges with any symbol that ends in `x`, before `b` does with any that begins with `y`, and before what `ab` makes, made
/// earlier than its turn, would merge with anything. Then it can as well be the first (`rust/DESIGN.md`, the lemma on sure pairs).
/// No two of them share a byte.
#[inline(always)]
fn begin(pairs: &PairTable, piece: &[u8], symbols: &mut [Symbol; SHORT]) -> u64 {
    let Some((&first, rest)) = piece.split_first() else { return 0 };
    let (mut ends, mut count) = (0u64, 0);
    // The last byte, and what it makes with the one before, if nothing takes that one away; as far as is known, behind it
    // everything may take the byte itself away.
    let (mut byte, mut waiting, mut second_makes) = (first, LATE, LATE);
    for &next in rest {
        let pair = pairs.of_bytes(byte, next);
        let is_sure = waiting < pair.first_makes;
        count -= is_sure as usize;
        symbols[count % SHORT] = select_unpredictable(is_sure, waiting as Symbol, byte as Symbol);
        ends |= (pair.apart as u64) << count;
        count += 1;
        waiting = select_unpredictable(pair.makes < second_makes, pair.makes, LATE);
        second_makes = pair.second_makes;
        byte = next;
    }
    let is_sure = waiting < LATE;
    count -= is_sure as usize;
    symbols[count % SHORT] = select_unpredictable(is_sure, waiting as Symbol, byte as Symbol);
    ends | 1 << count
}

/// Appends the ids of a part that begins as `symbols`, up to [`SHORT`] of them.
#[inline(always)]
fn merge_part(pairs: &PairTable, symbols: &[Symbol], ids: &mut Vec<TokenId>) {
    match *symbols {
        [symbol] => ids.push(pairs.id(symbol)),
        [left, right] => match pairs.get(left, right) {
            NONE => ids.extend([left, right].map(|symbol| pairs.id(symbol))),
            makes => ids.push(pairs.id(makes)),
        },
        _ => match symbols.len() {
            0..=4 => merge_short::<4>(pairs, symbols, ids),
            5..=8 => merge_short::<8>(pairs, symbols, ids),
            9..=16 => merge_short::<16>(pairs, symbols, ids),
            17..=32 => merge_short::<32>(pairs, symbols, ids),
            _ => merge_short::<SHORT>(pairs, symbols, ids),
        },
    }
}

/// Appends the ids of a part that begins as 2 to `N` symbols; `N` is a power of two up to 64.
///
/// No branch but the end: what merges next to what cannot be guessed.
fn merge_short<const N: usize>(pairs: &PairTable, part: &[Symbol], ids: &mut Vec<TokenId>) {
    // What a pair makes, above its position: the least is the one to merge. And a bit for each symbol's position.
    let candidate = |makes: Symbol, at: usize| (makes as u64) << 6 | at as u64;
    let mut candidates = [u64::MAX; N];
    let mut symbols = [0; N];
    let mut positions = u64::MAX >> (64 - part.len());
    symbols.iter_mut().zip(part).for_each(|(place, symbol)| *place = *symbol);
    for (at, pair) in part.windows(2).enumerate().take(N) {
        candidates[at] = candidate(pairs.guess(pair[0], pair[1]), at);
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
        if !pairs.makes(symbols[at], symbols[merged], made) {
            candidates[at] = candidate(pairs.get(symbols[at], symbols[merged]), at);
            continue;
        }
        positions &= !(1 << merged);
        symbols[at] = made;

        // Where there is no symbol before or behind, the one merged stands in for it: nobody asks for it again.
        let before = positions & ((1 << at) - 1);
        let previous = select_unpredictable(before == 0, merged, (before | 1).ilog2() as usize % N);
        candidates[previous] = candidate(pairs.guess(symbols[previous], made), previous);
        let behind = behind & behind.wrapping_sub(1);
        let next = select_unpredictable(behind == 0, merged, behind.trailing_zeros() as usize % N);
        let makes = pairs.guess(made, symbols[next]);
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
