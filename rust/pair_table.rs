//! `(left, right) -> (rank, id)`: every merge rule of an encoding, in one flat hash table.
//!
//! Open addressing with linear probing over 16-byte slots, at most half full, so that a lookup that
//! finds nothing (most do) ends after about one slot. The table is read-only once built. Both rank
//! semantics of DESIGN section 3 end up here: a rule per line of `merges.txt`, or a rule per way to
//! split each token of a rank file.

use crate::encoding::{Rank, TokenId};

#[derive(Clone, Copy)]
struct Slot {
    pair: u64,
    rank: Rank,
    id: TokenId,
}

// No pair of valid ids has this key: ids stay below 2^24.
const EMPTY: Slot = Slot { pair: u64::MAX, rank: Rank::NONE, id: 0 };

#[derive(Clone)]
pub struct PairTable {
    slots: Vec<Slot>,
    shift: u32,
}

fn key(left: TokenId, right: TokenId) -> u64 {
    (left as u64) << 32 | right as u64
}

impl PairTable {
    pub fn with_capacity(rules: usize) -> Self {
        let size = (rules * 2).next_power_of_two().max(2);
        PairTable { slots: vec![EMPTY; size], shift: 64 - size.trailing_zeros() }
    }

    /// Index of the slot that holds `pair`, or of the empty slot where it belongs.
    #[inline]
    fn find(&self, pair: u64) -> usize {
        let mask = self.slots.len() - 1;
        // Fibonacci hashing (Knuth, TAOCP vol. 3, 6.4): the high bits of the product are well mixed.
        let mut at = ((pair ^ (pair >> 25)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
        loop {
            let slot = &self.slots[at & mask];
            if slot.pair == pair || slot.pair == EMPTY.pair {
                return at & mask;
            }
            at += 1;
        }
    }

    /// Adds a rule; false, and nothing changed, if the pair has one already.
    pub fn insert(&mut self, left: TokenId, right: TokenId, rank: Rank, id: TokenId) -> bool {
        let at = self.find(key(left, right));
        if self.slots[at].pair != EMPTY.pair {
            return false;
        }
        self.slots[at] = Slot { pair: key(left, right), rank, id };
        true
    }

    /// The rank of the pair's rule and the id it makes; the rank is [`Rank::NONE`] without a rule.
    #[inline]
    pub fn get(&self, left: TokenId, right: TokenId) -> (Rank, TokenId) {
        let slot = &self.slots[self.find(key(left, right))];
        (slot.rank, slot.id)
    }
}
