//! Texts -> how often each piece occurs.
//!
//! Each thread counts into a table of its own ([`Share`]), and tables are joined when all is counted: no lock on the way,
//! and the sums do not depend on who counted what. A piece of up to 15 bytes is its own key, as in `table.rs`; a longer one
//! lies in the table's arena. With each piece goes where it was first seen, so that their order is the corpus's.

use std::hash::BuildHasher;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::encoding::Encoding;
use crate::error::Result;
use crate::interrupt::{Interrupt, TEXT_BETWEEN_CHECKS};
use crate::pretokenize::Boundaries;
use crate::special::{Segment, Special};
use crate::table::{Key, Keys, LONGEST};

/// What a piece takes besides its bytes, about. The reference backend has the same figure, since what is pruned depends on it.
pub const ENTRY_BYTES: usize = 64;

/// Counts of the pieces of an encoding's pattern.
pub struct PieceCounts {
    encoding: Arc<Encoding>,
    shares: Mutex<Vec<Share>>,
}

/// What one thread has counted.
#[derive(Default)]
pub struct Share {
    short: HashTable<Short>,
    long: HashTable<Long>,
    hasher: DefaultHashBuilder,
    /// The bytes of long pieces.
    bytes: Vec<u8>,
    /// Of all pieces, as [`PieceCounts::memory`] has it.
    memory: usize,
}

struct Short {
    key: Key,
    tally: Tally,
}

struct Long {
    start: usize,
    length: usize,
    tally: Tally,
}

#[derive(Clone, Copy)]
struct Tally {
    count: u64,
    /// Where in the corpus it was first seen.
    first: u64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.count = self.count.saturating_add(other.count);
        self.first = self.first.min(other.first);
    }
}

impl PieceCounts {
    pub fn new(encoding: Arc<Encoding>) -> Self {
        PieceCounts { encoding, shares: Mutex::new(Vec::new()) }
    }

    pub fn encoding(&self) -> &Arc<Encoding> {
        &self.encoding
    }

    /// A table to count into, for one thread. What it counts is among the counts when it is dropped.
    pub fn share(&self) -> Lent<'_> {
        Lent { share: self.shares().pop().unwrap_or_default(), counts: self }
    }

    fn shares(&self) -> MutexGuard<'_, Vec<Share>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that was counted, in one table.
    pub fn all(&mut self) -> &mut Share {
        let shares = self.shares.get_mut().unwrap_or_else(PoisonError::into_inner);
        shares.sort_by_key(|share| share.memory);
        let mut all = shares.pop().unwrap_or_default();
        while let Some(share) = shares.pop() {
            all.absorb(share);
        }
        shares.push(all);
        &mut shares[0]
    }
}

impl Share {
    /// Counts the pieces of a text, or of a part of one, that begins at `place` of the corpus.
    pub fn count(&mut self, encoding: &Encoding, text: &str, place: u64, interrupt: &dyn Interrupt) -> Result<()> {
        let keys = Keys::new(text.as_bytes());
        let mut boundaries = Boundaries::default();
        encoding.special_tokens().cut(text, &Special::Parse, interrupt, |segment| {
            let Segment::Ordinary(segment) = segment else { return Ok(()) };
            let front = segment.as_ptr() as usize - text.as_ptr() as usize;
            let mut batches = encoding.pattern().batches(segment, 0);
            let (mut since_check, work) = (0, encoding.pattern().work_of_a_piece());
            while batches.next(&mut boundaries)? {
                for (start, end) in boundaries.pieces() {
                    let (start, end) = (front + start, front + end);
                    let tally = Tally { count: 1, first: place + start as u64 };
                    if end - start <= LONGEST {
                        self.add_short(keys.short(start, end), tally);
                    } else {
                        self.add_long(&text.as_bytes()[start..end], tally);
                    }
                }
                since_check += boundaries.bytes() + work * boundaries.count();
                if since_check >= TEXT_BETWEEN_CHECKS {
                    since_check = 0;
                    interrupt.check()?;
                }
            }
            Ok(())
        })
    }

    /// Adds what was counted elsewhere. What is empty is no piece.
    pub fn add(&mut self, piece: &[u8], count: u64, place: u64) {
        let tally = Tally { count, first: place };
        match piece.len() {
            _ if count == 0 => {}
            0 => {}
            1..=LONGEST => self.add_short(Keys::new(piece).short(0, piece.len()), tally),
            _ => self.add_long(piece, tally),
        }
    }

    #[inline]
    fn add_short(&mut self, key: Key, tally: Tally) {
        let hash = |key: Key| {
            // The table takes its low bits.
            let hash = key.hash();
            hash ^ hash >> 32
        };
        match self.short.find_mut(hash(key), |short| short.key == key) {
            Some(short) => short.tally.add(tally),
            None => {
                self.memory += key.piece().1 + ENTRY_BYTES;
                self.short.insert_unique(hash(key), Short { key, tally }, |short| hash(short.key));
            }
        }
    }

    fn add_long(&mut self, piece: &[u8], tally: Tally) {
        let Share { long, hasher, bytes, .. } = self;
        let hash = hasher.hash_one(piece);
        match long.find_mut(hash, |long| long.piece(bytes) == piece) {
            Some(long) => long.tally.add(tally),
            None => {
                self.memory += piece.len() + ENTRY_BYTES;
                let new = Long { start: bytes.len(), length: piece.len(), tally };
                bytes.extend(piece);
                long.insert_unique(hash, new, |long| hasher.hash_one(long.piece(bytes)));
            }
        }
    }

    fn absorb(&mut self, other: Share) {
        other.short.into_iter().for_each(|short| self.add_short(short.key, short.tally));
        other.long.into_iter().for_each(|long| self.add_long(long.piece(&other.bytes), long.tally));
    }

    /// Distinct pieces.
    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the pieces take, about: the same whoever counted them.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Calls `visit` with each piece, its count and its first place, in an order of no meaning.
    pub fn each(&self, mut visit: impl FnMut(&[u8], u64, u64) -> Result<()>) -> Result<()> {
        self.short.iter().try_for_each(|short| short.show(&mut visit))?;
        self.long.iter().try_for_each(|long| long.show(&self.bytes, &mut visit))
    }

    /// The same in the order in which they were first seen.
    pub fn each_in_order(&self, mut visit: impl FnMut(&[u8], u64, u64) -> Result<()>) -> Result<()> {
        let mut short: Vec<&Short> = self.short.iter().collect();
        let mut long: Vec<&Long> = self.long.iter().collect();
        short.sort_unstable_by_key(|short| short.tally.first);
        long.sort_unstable_by_key(|long| long.tally.first);
        let mut long = long.into_iter().peekable();
        for short in short {
            while let Some(long) = long.next_if(|long| long.tally.first < short.tally.first) {
                long.show(&self.bytes, &mut visit)?;
            }
            short.show(&mut visit)?;
        }
        long.try_for_each(|long| long.show(&self.bytes, &mut visit))
    }

    /// Forgets the rarest pieces, if there are too many: see `_reference/train.py`. How many pieces and occurrences are lost.
    pub fn prune(&mut self, most: usize) -> (u64, u64) {
        if self.memory <= most {
            return (0, 0);
        }
        let mut by_count = hashbrown::HashMap::<u64, usize>::new();
        let mut count_bytes = |piece: &[u8], count, _| {
            *by_count.entry(count).or_default() += piece.len() + ENTRY_BYTES;
            Ok(())
        };
        // (No visit fails.)
        let _ = self.each(&mut count_bytes);
        let mut by_count: Vec<_> = by_count.into_iter().collect();
        by_count.sort_unstable();
        let (mut memory, mut rarest) = (self.memory, 0);
        for (count, bytes) in by_count {
            if memory > most / 2 {
                (memory, rarest) = (memory - bytes, count);
            }
        }
        let (mut lost, mut kept) = ((0, 0), Share::default());
        let _ = self.each(|piece, count, place| {
            match count > rarest {
                true => kept.add(piece, count, place),
                false => lost = (lost.0 + 1, lost.1 + count),
            }
            Ok(())
        });
        *self = kept;
        lost
    }
}

impl Short {
    fn show(&self, visit: &mut impl FnMut(&[u8], u64, u64) -> Result<()>) -> Result<()> {
        let (bytes, length) = self.key.piece();
        visit(&bytes[..length], self.tally.count, self.tally.first)
    }
}

impl Long {
    fn piece<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[self.start..self.start + self.length]
    }

    fn show(&self, bytes: &[u8], visit: &mut impl FnMut(&[u8], u64, u64) -> Result<()>) -> Result<()> {
        visit(self.piece(bytes), self.tally.count, self.tally.first)
    }
}

/// A [`Share`] that goes back to its counts.
pub struct Lent<'c> {
    share: Share,
    counts: &'c PieceCounts,
}

impl Deref for Lent<'_> {
    type Target = Share;

    fn deref(&self) -> &Share {
        &self.share
    }
}

impl DerefMut for Lent<'_> {
    fn deref_mut(&mut self) -> &mut Share {
        &mut self.share
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.counts.shares().push(std::mem::take(&mut self.share));
    }
}
