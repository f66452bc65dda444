//! The pairs that may be merged, the most frequent first.
//!
//! Most of them are too rare to be merged ever. So only those of the highest power of two are in a heap, which stays small; the
//! others wait with those of their own power, and come into the heap when all above them are gone. Most never do.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::pieces::PairNumber;
use crate::encoding::TokenId;

/// A pair that may be merged.
#[derive(Clone, Copy)]
pub struct Candidate {
    pub pair: PairNumber,
    pub left: TokenId,
    pub right: TokenId,
    /// Where the list of its pieces is.
    pub start: u32,
    pub length: u32,
}

/// A candidate in its place of the heap.
pub struct Ranked {
    /// How often it occurs, or did when it was last looked at. Counts only fall.
    pub count: u64,
    /// Of equally frequent pairs the one with the lowest is merged.
    pub tie: u64,
    pub candidate: Candidate,
}

impl Ranked {
    fn key(&self) -> (u64, Reverse<u64>) {
        (self.count, Reverse(self.tie))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Ranked {}

pub struct Queue {
    /// Counts of at least 2 to the power of `level`.
    near: BinaryHeap<Ranked>,
    level: u32,
    /// The others, each with those whose counts have the same power of two.
    far: [Vec<Candidate>; u64::BITS as usize],
    /// Below this a pair is not merged; at least 1.
    min_frequency: u64,
}

impl Queue {
    pub fn new(min_frequency: u64) -> Self {
        let far = std::array::from_fn(|_| Vec::new());
        Queue { near: BinaryHeap::new(), level: u64::BITS, far, min_frequency: min_frequency.max(1) }
    }

    /// A candidate that occurs no less than `min_frequency` times. (Where it waits, neither its count nor its tie is kept: by far most
    /// of the queue's memory is what waits.)
    pub fn push(&mut self, ranked: Ranked) {
        match ranked.count.checked_ilog2() {
            Some(level) if level < self.level => self.far[level as usize].push(ranked.candidate),
            _ => self.near.push(ranked),
        }
    }

    /// Takes the most frequent, by the counts of now. `tie` says the least that a candidate's can be.
    pub fn pop(&mut self, counts: &[u64], tie: impl Fn(&Candidate) -> u64) -> Option<Ranked> {
        loop {
            let Some(mut front) = self.near.peek_mut() else {
                self.come_near(counts, &tie)?;
                continue;
            };
            let count = counts[front.candidate.pair as usize];
            if count == front.count {
                return Some(PeekMut::pop(front));
            }
            front.count = count;
            if count < self.min_frequency {
                PeekMut::pop(front);
            } else if count.ilog2() < self.level {
                let ranked = PeekMut::pop(front);
                self.push(ranked);
            }
        }
    }

    /// Fills the empty heap from the next level; `None` if there is none.
    fn come_near(&mut self, counts: &[u64], tie: &impl Fn(&Candidate) -> u64) -> Option<()> {
        self.level = self.level.checked_sub(1)?;
        for candidate in std::mem::take(&mut self.far[self.level as usize]) {
            let count = counts[candidate.pair as usize];
            if count >= self.min_frequency {
                self.push(Ranked { count, tie: tie(&candidate), candidate });
            }
        }
        Some(())
    }
}
