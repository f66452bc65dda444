//! What pieces encode to, as far as a thread has met them.
//!
//! A [`PieceTable`] holds nearly everything in itself. Ids that an entry has no room for, and the bytes of
//! pieces too long to be their own keys, are in a ring of bytes: the newest record overwrites the oldest, and a
//! record's position, which only grows, tells whether it is still there. The table starts small, so that what little
//! text needs lies close together, and grows as it fills, up to the budget. What is in the cache never changes an
//! id, only the time: each entry is what the merger gave.
//!
//! Half the budget is the table's and half the ring's: 24 MB of text in many scripts have 273,390 distinct pieces, at 32 bytes each
//! half of a table of 16 MB, and records of 14.5 MB with ids of 32 bits, 9.2 MB with 16. `rust/DESIGN.md` has the throughput by size.

use std::marker::PhantomData;

use crate::pages;
use crate::sink::{Token, bytes, bytes_mut};
use crate::table::{Entry, LONGEST, Lookup, MOST, MOST_ELSEWHERE, PieceTable, Reader, prefetch};

/// Longer pieces are rare and mostly met once.
pub const LONGEST_KEPT: usize = 512;

/// The table's size at first, and how much larger it gets each time: both tables are there for a moment.
const SMALLEST: usize = 1 << 18;
const GROWTH: usize = 4;

/// Bytes that are copied or compared at once: a record may be read so far beyond its end.
const CHUNK: usize = 16;

/// The size of a line of the processor's cache.
const LINE: usize = 64;

/// Of ids stored as `T`.
pub struct Cache<T> {
    table: PieceTable,
    ring: Ring,
    /// Insertions that the table takes before it grows.
    until_full: usize,
    most_table_bytes: usize,
    ids: PhantomData<T>,
}

impl<T: Token> Cache<T> {
    /// A cache that takes `budget` bytes at most, about half of them for the table.
    pub fn new(budget: usize) -> Self {
        let most_table_bytes = ((budget / 2 + 1).next_power_of_two() / 2).max(128);
        let table = PieceTable::new(most_table_bytes.min(SMALLEST));
        let ring = Ring::new(budget.saturating_sub(most_table_bytes));
        Cache { until_full: room(&table), table, ring, most_table_bytes, ids: PhantomData }
    }

    /// To look up several keys. What it gives is good until the cache grows.
    #[inline(always)]
    pub fn reader(&self) -> Reader<'_> {
        self.table.reader()
    }

    /// Sends for what is known of a long piece.
    #[inline(always)]
    pub fn send_for(&self, lookup: &Lookup) {
        if let Some(entry) = self.reader().get(lookup) {
            self.ring.send_for(entry.position());
        }
    }

    /// Writes the ids of `piece` to the start of `room`, and something behind them; returns how many they are. Wherever
    /// they are, which is mostly where [`Reader::get`] finds them.
    #[inline(never)]
    pub fn find_far(&self, lookup: &Lookup, piece: &[u8], room: &mut [T]) -> Option<usize> {
        let entry = self.table.get(lookup)?;
        let (count, of) = (entry.count(), if piece.len() > LONGEST { piece } else { &[] });
        if entry.is_here() {
            entry.put(room);
            return Some(count);
        }
        // A longer piece with the same key may begin with this one.
        if entry.length() as usize != piece.len() {
            return None;
        }
        let length = of.len() + (count * size_of::<T>()).next_multiple_of(CHUNK);
        let (found, ids) = self.ring.get(entry.position(), length)?.split_at(of.len());
        let room = bytes_mut(room).as_chunks_mut::<CHUNK>().0;
        room.iter_mut().zip(ids.as_chunks().0).for_each(|(room, ids)| *room = *ids);
        is_equal(found, of).then_some(count)
    }

    /// Keeps the ids of a piece of at most [`LONGEST_KEPT`] bytes, if it can.
    pub fn insert(&mut self, lookup: &Lookup, piece: &[u8], ids: &[T]) {
        let entry = match Entry::new(ids) {
            Some(entry) if piece.len() <= LONGEST => entry,
            _ => {
                if ids.len() > MOST_ELSEWHERE {
                    return;
                }
                let of = if piece.len() > LONGEST { piece } else { &[] };
                let Some((position, record)) = self.ring.push(size_of_val(ids) + of.len()) else { return };
                let (to_of, to_ids) = record.split_at_mut(of.len());
                to_of.copy_from_slice(of);
                to_ids.copy_from_slice(bytes(ids));
                Entry::elsewhere(position, piece.len() as u16, ids.len())
            }
        };
        self.until_full = self.until_full.saturating_sub(1);
        self.table.insert(lookup, entry);
    }

    /// To be called now and then.
    #[inline]
    pub fn grow_if_full(&mut self) {
        if self.until_full == 0 && self.table.bytes() < self.most_table_bytes {
            self.table = self.table.grown((self.table.bytes() * GROWTH).min(self.most_table_bytes));
            self.until_full = room(&self.table);
        }
    }
}

/// How many more entries make a table just grown too full: about half of all its places then hold one.
fn room(table: &PieceTable) -> usize {
    table.bytes() / 32 / 8
}

/// The newest records, as many as there is room for.
struct Ring {
    bytes: Vec<u8>,
    /// A power of two, or 0.
    capacity: usize,
    /// The position behind the newest record. It would take decades to reach 2^64.
    end: u64,
}

impl Ring {
    /// As large as fits into `budget`, up to a limit.
    fn new(budget: usize) -> Self {
        Ring { bytes: Vec::new(), capacity: (budget.min(MOST) + 1).next_power_of_two() / 2, end: 0 }
    }

    fn place(&self, position: u64) -> usize {
        position as usize & self.capacity.wrapping_sub(1)
    }

    /// Room for a record, and its position.
    fn push(&mut self, length: usize) -> Option<(u64, &mut [u8])> {
        if length > self.capacity {
            return None;
        }
        if self.place(self.end) + length > self.capacity {
            // No record is in two parts.
            self.end += (self.capacity - self.place(self.end)) as u64;
        }
        let at = self.place(self.end);
        if self.bytes.is_empty() {
            // Zeros, which the system provides as they are used.
            self.bytes = vec![0; self.capacity + CHUNK];
            pages::advise_huge(&self.bytes);
        }
        let position = self.end;
        self.end += length as u64;
        Some((position, &mut self.bytes[at..at + length]))
    }

    /// `length` bytes from there on; what is behind the record means nothing.
    #[inline(always)]
    fn get(&self, position: u64, length: usize) -> Option<&[u8]> {
        if self.end - position > self.capacity as u64 {
            return None;
        }
        self.bytes.get(self.place(position)..)?.get(..length)
    }

    #[inline(always)]
    fn send_for(&self, position: u64) {
        let place = self.bytes.as_ptr().wrapping_add(self.place(position));
        prefetch(place);
        prefetch(place.wrapping_add(LINE));
    }
}

/// Whether two slices of the same length, none or at least 16 bytes, are equal: without a call, and without
/// a branch for each of some sizes.
#[inline(always)]
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let ((chunks_a, _), (chunks_b, _)) = (a.as_chunks::<CHUNK>(), b.as_chunks::<CHUNK>());
    let differ = |a: &[u8; CHUNK], b: &[u8; CHUNK]| u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b);
    let differences = chunks_a.iter().zip(chunks_b).fold(0, |all, (a, b)| all | differ(a, b));
    match (a.last_chunk(), b.last_chunk()) {
        (Some(a), Some(b)) => differences | differ(a, b) == 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::encoding::TokenId;
    use crate::table::{Key, Keys};

    fn look_up<T: Token>(cache: &Cache<T>, piece: &[u8]) -> Lookup {
        cache.table.look_up(if piece.len() > LONGEST {
            Key::hashed(piece)
        } else {
            Keys::new(piece).short(0, piece.len())
        })
    }

    fn find<T: Token>(cache: &Cache<T>, lookup: &Lookup, piece: &[u8]) -> Option<Vec<T>> {
        let mut ids = vec![T::default(); LONGEST_KEPT];
        let count = cache.find_far(lookup, piece, &mut ids)?;
        ids.truncate(count);
        Some(ids)
    }

    fn whatever_it_finds_is_what_was_inserted<T: Token + Debug>(largest: TokenId) {
        for budget in [0, 100, 4096, 1 << 16, 1 << 22] {
            let mut cache = Cache::<T>::new(budget);
            let piece = |n: usize| "x".repeat(n % 40) + &n.to_string();
            let ids = |n: usize| (0..1 + n % 9).map(|k| T::from_id(largest - (n + k) as TokenId)).collect::<Vec<_>>();
            let mut found = [0; 2];
            for n in 0..20_000 {
                // One just inserted, and one of long ago.
                for (n, found) in [n, n / 2].into_iter().zip(&mut found) {
                    let (piece, ids) = (piece(n), ids(n));
                    let lookup = look_up(&cache, piece.as_bytes());
                    match find(&cache, &lookup, piece.as_bytes()) {
                        Some(seen) => {
                            *found += 1;
                            assert_eq!(seen, ids);
                        }
                        None => {
                            cache.insert(&lookup, piece.as_bytes(), &ids);
                            cache.grow_if_full();
                        }
                    }
                }
                assert!(cache.table.bytes() + cache.ring.bytes.len() <= budget.max(128) + CHUNK);
            }
            assert_eq!(found[1] > 19_000, budget == 1 << 22, "{found:?} of 20,000 with {budget} bytes");
        }
    }

    #[test]
    fn whatever_it_finds_is_what_was_inserted_of_either_width() {
        whatever_it_finds_is_what_was_inserted::<u16>(u16::MAX.into());
        whatever_it_finds_is_what_was_inserted::<u32>(1 << 21);
    }

    fn a_key_that_two_pieces_share_is_no_proof<T: Token + Debug>() {
        let of = b"a piece of text, and long";
        let mut cache = Cache::<T>::new(1 << 20);
        let lookup = look_up(&cache, of);
        let ids = [1, 2].map(T::from_id);
        cache.insert(&lookup, of, &ids);
        for other in [&b"a piece of text, not same"[..], b"a piece of text, and", b"a piece of text, and longer"] {
            assert_eq!(find(&cache, &lookup, other), None);
        }
        assert_eq!(find(&cache, &lookup, of), Some(ids.to_vec()));
    }

    #[test]
    fn a_key_that_two_pieces_share_is_no_proof_in_either_width() {
        a_key_that_two_pieces_share_is_no_proof::<u16>();
        a_key_that_two_pieces_share_is_no_proof::<u32>();
    }

    #[test]
    fn any_budget_is_taken() {
        for budget in [1 << 36, 1 << 62, usize::MAX] {
            assert!(Cache::<u16>::new(budget).ring.capacity <= MOST);
        }
    }
}
