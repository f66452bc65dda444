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

use crate::encoding::TokenId;
use crate::table::{Entry, LONGEST, Lookup, MOST_IDS, PieceTable, Reader};

/// Longer pieces are rare and mostly met once.
const LONGEST_KEPT: usize = 512;

/// The table's size at first, and how much larger it gets each time: both tables are there for a moment.
const SMALLEST: usize = 1 << 18;
const GROWTH: usize = 4;

pub struct Cache {
    table: PieceTable,
    ring: Ring,
    /// Insertions that the table takes before it grows.
    until_full: usize,
    most_table_bytes: usize,
    /// Bytes of an id in the ring: 2 if every id fits, else 4.
    width: usize,
}

impl Cache {
    /// A cache that takes `budget` bytes at most, about half of them for the table.
    /// `vocab_size` is above every id.
    pub fn new(budget: usize, vocab_size: usize) -> Self {
        let width = if vocab_size <= 1 << 16 { 2 } else { 4 };
        let most_table_bytes = ((budget / 2 + 1).next_power_of_two() / 2).max(64);
        let table = PieceTable::new(most_table_bytes.min(SMALLEST));
        let ring = Ring::new(budget.saturating_sub(most_table_bytes));
        Cache { until_full: room(&table), table, ring, most_table_bytes, width }
    }

    /// To look up several keys. What it gives is good until the cache grows.
    #[inline(always)]
    pub fn reader(&self) -> Reader<'_> {
        self.table.reader()
    }

    /// Sends for the ids of an entry that does not hold them itself; none, if they are no longer there.
    #[inline]
    pub fn send_for(&self, entry: Entry) -> Option<Record> {
        let (position, count) = entry.position_and_count()?;
        self.ring.prefetch(position)?;
        Some(Record { position, count: count as usize })
    }

    /// Writes the ids of `piece` to `place`, if they are what the record is of, and if it is still there.
    #[inline]
    pub fn read(&self, record: Record, piece: &[u8], place: &mut [TokenId]) -> bool {
        let bytes = if piece.len() > LONGEST { piece } else { &[] };
        let length = record.count * self.width;
        let Some(found) = self.ring.get(record.position, length + bytes.len()) else { return false };
        let (ids, of) = found.split_at(length);
        if self.width == 2 {
            place.iter_mut().zip(ids.as_chunks().0).for_each(|(place, id)| *place = u16::from_ne_bytes(*id).into());
        } else {
            place.iter_mut().zip(ids.as_chunks().0).for_each(|(place, id)| *place = TokenId::from_ne_bytes(*id));
        }
        of == bytes
    }

    /// Appends the ids of `piece` to `ids`, if they are anywhere in the cache.
    pub fn find(&mut self, lookup: &Lookup, piece: &[u8], ids: &mut Vec<TokenId>) -> bool {
        let near = self.table.get(lookup);
        let Some(entry) = near.or_else(|| self.table.find_moved(lookup)) else { return false };
        if entry.count() <= MOST_IDS {
            ids.extend_from_slice(&entry.places()[..entry.count()]);
        } else {
            let Some(record) = self.send_for(entry) else { return false };
            let at = ids.len();
            ids.resize(at + record.count, 0);
            if !self.read(record, piece, &mut ids[at..]) {
                ids.truncate(at);
                return false;
            }
        }
        if near.is_none() {
            self.table.insert(lookup, entry);
        }
        true
    }

    pub fn insert(&mut self, lookup: &Lookup, piece: &[u8], ids: &[TokenId]) {
        let entry = match Entry::new(ids) {
            Some(entry) if piece.len() <= LONGEST => entry,
            _ if piece.len() > LONGEST_KEPT => return,
            _ => {
                let bytes = if piece.len() > LONGEST { piece } else { &[] };
                let length = ids.len() * self.width;
                let Some((position, record)) = self.ring.push(length + bytes.len()) else { return };
                let (packed, of) = record.split_at_mut(length);
                if self.width == 2 {
                    let places = packed.as_chunks_mut().0.iter_mut();
                    places.zip(ids).for_each(|(place, id)| *place = (*id as u16).to_ne_bytes());
                } else {
                    let places = packed.as_chunks_mut().0.iter_mut();
                    places.zip(ids).for_each(|(place, id)| *place = id.to_ne_bytes());
                }
                of.copy_from_slice(bytes);
                Entry::elsewhere(position, ids.len() as u32)
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

/// Ids in the ring.
#[derive(Clone, Copy)]
pub struct Record {
    position: u64,
    pub count: usize,
}

/// How many more entries make a table just grown too full: about half of all its places then hold one.
fn room(table: &PieceTable) -> usize {
    table.bytes() / 32 / 8 * 3
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
    /// As large as fits into `budget`.
    fn new(budget: usize) -> Self {
        Ring { bytes: Vec::new(), capacity: (budget + 1).next_power_of_two() / 2, end: 0 }
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
        if self.bytes.len() < at + length {
            let wanted = (at + length).max(self.bytes.len() * 2).min(self.capacity);
            self.bytes.reserve_exact(wanted - self.bytes.len());
            self.bytes.resize(wanted, 0);
        }
        let position = self.end;
        self.end += length as u64;
        Some((position, &mut self.bytes[at..at + length]))
    }

    #[inline]
    fn get(&self, position: u64, length: usize) -> Option<&[u8]> {
        if self.end - position > self.capacity as u64 {
            return None;
        }
        self.bytes.get(self.place(position)..self.place(position) + length)
    }

    #[inline]
    fn prefetch(&self, position: u64) -> Option<()> {
        crate::table::prefetch(self.get(position, 1)?.as_ptr());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Key;

    fn look_up(cache: &Cache, piece: &[u8]) -> Lookup {
        cache.table.look_up(if piece.len() > LONGEST { Key::hashed(piece) } else { Key::new(piece, 0, piece.len()) })
    }

    #[test]
    fn whatever_it_finds_is_what_was_inserted() {
        let vocab_sizes = [1 << 16, (1 << 16) + 1];
        for (budget, vocab_size) in
            [0, 100, 4096, 1 << 16, 1 << 22].into_iter().flat_map(|b| vocab_sizes.map(|v| (b, v)))
        {
            let mut cache = Cache::new(budget, vocab_size);
            let piece = |n: usize| "x".repeat(n % 40) + &n.to_string();
            let ids = |n: usize| (0..1 + n % 9).map(|k| (vocab_size - 1 - n - k) as TokenId).collect::<Vec<_>>();
            let mut found = [0; 2];
            for n in 0..20_000 {
                // One just inserted, and one of long ago.
                for (n, found) in [n, n / 2].into_iter().zip(&mut found) {
                    let (piece, ids) = (piece(n), ids(n));
                    let lookup = look_up(&cache, piece.as_bytes());
                    let mut seen = vec![];
                    if cache.find(&lookup, piece.as_bytes(), &mut seen) {
                        *found += 1;
                        assert_eq!(seen, ids);
                    } else {
                        assert!(seen.is_empty());
                        cache.insert(&lookup, piece.as_bytes(), &ids);
                        cache.grow_if_full();
                    }
                }
                assert!(cache.table.bytes() + cache.ring.bytes.capacity() <= budget.max(64));
            }
            assert_eq!(found[1] > 19_000, budget == 1 << 22, "{found:?} of 20,000 with {budget} bytes");
        }
    }

    #[test]
    fn a_key_that_two_pieces_share_is_no_proof() {
        let mut cache = Cache::new(1 << 20, 1 << 16);
        let lookup = look_up(&cache, b"a piece of text, and long");
        cache.insert(&lookup, b"a piece of text, and long", &[1, 2]);
        assert!(!cache.find(&lookup, b"a piece of text, not same", &mut vec![]));
        assert!(cache.find(&lookup, b"a piece of text, and long", &mut vec![]));
    }
}
