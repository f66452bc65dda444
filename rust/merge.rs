//! Piece -> ids: of all adjacent pairs that have a rule, the lowest-ranked, and of those the
//! leftmost, is merged; then again, until no rule applies (DESIGN section 3, stage 4).
//!
//! [`Merger::merge`] picks one of two ways to the same result by the length of the piece:
//! - [`merge_small`]: symbols in two short arrays, a scan for the minimum before every merge.
//!   O(n²), no set-up: fastest up to [`SMALL`] bytes (figures in `rust/DESIGN.md`).
//! - [`Merger::merge_large`]: a binary heap of (rank, position) over a linked list. O(n log n) time,
//!   about 40 bytes of memory per byte of the piece, no recursion. Entries are never removed early: an entry is
//!   stale, and skipped, when the pair at its position no longer has its rank.
//!
//! Sennrich et al. 2016 (arXiv 1508.07909) describe the merging, section 3.2; the priority queue with
//! stale entries is the standard way to make it O(n log n).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::encoding::{Rank, TokenId};
use crate::error::Result;
use crate::interrupt::{Interrupt, MERGES_BETWEEN_CHECKS};
use crate::pair_table::PairTable;

/// The longest piece, in bytes, that is merged by scanning.
pub const SMALL: usize = 64;

/// Bytes of the longest piece whose buffers are kept for the next: some 40 times as much memory.
const KEPT: usize = 1 << 16;

/// Marks either end of the linked list.
const NOWHERE: u32 = u32::MAX;

/// Buffers that are reused from piece to piece.
#[derive(Default)]
pub struct Merger {
    ids: Vec<TokenId>,
    ranks: Vec<Rank>,
    previous: Vec<u32>,
    next: Vec<u32>,
    heap: BinaryHeap<Reverse<u64>>,
}

impl Merger {
    /// The ids of `piece`, whose bytes have the ids `bytes`.
    pub fn merge(
        &mut self,
        pairs: &PairTable,
        bytes: &[TokenId; 256],
        piece: &[u8],
        interrupt: &dyn Interrupt,
    ) -> Result<&[TokenId]> {
        self.ids.clear();
        self.ids.extend(piece.iter().map(|&b| bytes[b as usize]));
        if piece.len() <= SMALL {
            let length = merge_small(pairs, &mut self.ids);
            self.ids.truncate(length);
        } else {
            self.merge_large(pairs, interrupt)?;
        }
        Ok(&self.ids)
    }

    /// Gives back what a very long piece made the buffers grow to.
    pub fn trim(&mut self) {
        if self.ids.capacity() > KEPT {
            *self = Merger::default();
        }
    }

    fn merge_large(&mut self, pairs: &PairTable, interrupt: &dyn Interrupt) -> Result<()> {
        let Merger { ids, ranks, previous, next, heap } = self;
        let length = ids.len() as u32; // `Pattern` cuts pieces shorter than 2^32 bytes
        previous.clear();
        previous.extend((0..length).map(|at| at.wrapping_sub(1)));
        next.clear();
        next.extend((1..length).chain([NOWHERE]));
        ranks.clear();
        ranks.extend(ids.windows(2).map(|pair| pairs.get(pair[0], pair[1]).0));
        ranks.push(Rank::NONE);
        let mut entries = std::mem::take(heap).into_vec();
        entries.clear();
        entries.extend(
            ranks
                .iter()
                .zip(0u32..)
                .filter(|(rank, _)| **rank != Rank::NONE)
                .map(|(rank, at)| Reverse(entry(*rank, at))),
        );
        *heap = BinaryHeap::from(entries);

        let mut until_check = MERGES_BETWEEN_CHECKS;
        while let Some(Reverse(top)) = heap.pop() {
            until_check -= 1;
            if until_check == 0 {
                interrupt.check()?;
                until_check = MERGES_BETWEEN_CHECKS;
            }
            let (rank, at) = (Rank((top >> 32) as u32), top as u32 as usize);
            if ranks[at] != rank {
                continue; // stale
            }
            let right = next[at] as usize;
            ids[at] = pairs.get(ids[at], ids[right]).1;
            let after = next[right];
            next[at] = after;
            ranks[right] = Rank::NONE;
            if after != NOWHERE {
                previous[after as usize] = at as u32;
            }
            for (left, right) in [(at as u32, after), (previous[at], at as u32)] {
                if left == NOWHERE {
                    continue;
                }
                let rank = match right {
                    NOWHERE => Rank::NONE,
                    _ => pairs.get(ids[left as usize], ids[right as usize]).0,
                };
                ranks[left as usize] = rank;
                if rank != Rank::NONE {
                    heap.push(Reverse(entry(rank, left)));
                }
            }
        }

        // Keep the symbols that are still on the list, in order.
        let (mut at, mut kept) = (0u32, 0usize);
        while at != NOWHERE {
            ids[kept] = ids[at as usize];
            kept += 1;
            at = next[at as usize];
        }
        ids.truncate(kept);
        Ok(())
    }
}

fn entry(rank: Rank, at: u32) -> u64 {
    (rank.0 as u64) << 32 | at as u64
}

/// Merges in place and returns how many ids are left at the front.
fn merge_small(pairs: &PairTable, ids: &mut [TokenId]) -> usize {
    let mut length = ids.len();
    let mut ranks = [Rank::NONE; SMALL];
    for at in 1..length {
        ranks[at - 1] = pairs.get(ids[at - 1], ids[at]).0;
    }
    loop {
        let (mut best, mut at) = (Rank::NONE, 0);
        for (i, &rank) in ranks[..length.saturating_sub(1)].iter().enumerate() {
            if rank < best {
                (best, at) = (rank, i);
            }
        }
        if best == Rank::NONE {
            return length;
        }
        ids[at] = pairs.get(ids[at], ids[at + 1]).1;
        ids.copy_within(at + 2..length, at + 1);
        ranks.copy_within(at + 2..length, at + 1);
        length -= 1;
        ranks[length - 1] = Rank::NONE;
        if at + 1 < length {
            ranks[at] = pairs.get(ids[at], ids[at + 1]).0;
        }
        if at > 0 {
            ranks[at - 1] = pairs.get(ids[at - 1], ids[at]).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::Never;

    #[test]
    fn a_very_long_piece_leaves_no_large_buffers() {
        let mut merger = Merger::default();
        let (pairs, bytes) = (PairTable::with_capacity(0), std::array::from_fn(|byte| byte as TokenId));
        for (length, kept) in [(KEPT / 2, true), (KEPT * 2, false)] {
            let ids = merger.merge(&pairs, &bytes, &vec![7; length], &Never).map(<[TokenId]>::len);
            assert_eq!(ids, Ok(length));
            merger.trim();
            assert_eq!(merger.ids.capacity() > 0, kept);
        }
    }
}
