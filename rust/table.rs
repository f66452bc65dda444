//! Piece -> a few ids, in one cache line.
//!
//! An entry is 32 bytes: 16 for the piece, 16 for the ids. A piece of up to 15 bytes is its own key, with its
//! length; a longer one has a hash for a key, and whoever asks must compare the bytes (`cache.rs`). Two entries make a
//! bucket, which is a cache line, and a key's hash names its bucket. So a look-up is one line of memory, two
//! comparisons, and no branch but the last.
//!
//! A new entry takes a free place of its bucket; if there is none, of a bucket that another hash of its key names, or of the
//! next few, so that whoever does not find a key in a full bucket looks there too. If all are full there is no room for it. (Two
//! buckets to choose from have room for nearly all where one has not: Azar et al. 1994. A piece without a place would be merged
//! whenever it is met, so the next few serve the last of them.)
//!
//! All threads look up and insert at any time, and none waits. A place is taken once and never changes again: who takes it
//! claims it, writes the entry, and writes the last word of the key when all else is there. Who sees that word sees the rest.

mod key;

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::pages;
use crate::sink::{self, Token};
pub use key::{Key, Keys, LONGEST};

/// Places that [`Entry::put`] writes to, of 16 bits each (or half as many of 32).
pub const ROOM_OF_AN_ENTRY: usize = size_of::<Entry>() / size_of::<u16>();

/// In place of a key's last word, which it differs from in its length: an entry is being written.
const CLAIMED: u64 = 1;

/// The most ids that an entry can lead to.
pub const MOST_ELSEWHERE: usize = (1 << 7) - 1;

/// A key, and which bucket of a table it belongs to.
#[derive(Clone, Copy, Default)]
pub struct Lookup {
    key: Key,
    place: usize,
}

/// The ids of a piece as memory has them, seven of 16 bits or three of 32; or where they are, in 64, and the piece's length,
/// in 16. In the last byte is the number of ids and, in its top bit, whether they are elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(8))]
pub struct Entry {
    bytes: [u8; 16],
}

const ELSEWHERE: u8 = 1 << 7;

/// Buckets that may have room for what its own has not.
const OTHERS: usize = 16;

/// Two keys, each the two words that it is made of, and their entries.
#[repr(C, align(64))]
struct Bucket {
    keys: [[AtomicU64; 2]; 2],
    entries: [UnsafeCell<Entry>; 2],
}

/// Bits of a hash that name a bucket, of which a table uses as many as it has buckets for. A larger budget than for all of
/// them, 1 GB, is not used up.
const PLACE_BITS: u32 = 24;
pub const MOST: usize = size_of::<Bucket>() << PLACE_BITS;

pub struct PieceTable {
    /// The memory: zeros, so that the system provides it only as it is used. No piece is empty, so no key is
    /// zero, and zeros are empty buckets.
    words: Box<[UnsafeCell<u64>]>,
    /// Where the first bucket begins, at the start of a page.
    first: usize,
    /// A power of two.
    buckets: usize,
}

impl Entry {
    /// `None` for more ids than fit.
    pub fn new<T: Token>(ids: &[T]) -> Option<Entry> {
        let mut bytes = [0; 16];
        bytes[..size_of::<Entry>() - size_of::<T>()].get_mut(..size_of_val(ids))?.copy_from_slice(sink::bytes(ids));
        bytes[15] = ids.len() as u8;
        Some(Entry { bytes })
    }

    /// `count` ids, at most [`MOST_ELSEWHERE`], of a piece of `length` bytes, and at `position` something that leads to them.
    pub fn elsewhere(position: u64, length: u16, count: usize) -> Entry {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&position.to_ne_bytes());
        bytes[8..10].copy_from_slice(&length.to_ne_bytes());
        bytes[15] = ELSEWHERE | count as u8;
        Entry { bytes }
    }

    /// How many ids the piece has.
    #[inline(always)]
    pub fn count(&self) -> usize {
        (self.bytes[15] & !ELSEWHERE) as usize
    }

    /// Whether it holds the ids itself.
    #[inline(always)]
    pub fn is_here(&self) -> bool {
        self.bytes[15] & ELSEWHERE == 0
    }

    /// Writes the ids to the start of `room`, and something behind them: [`ROOM_OF_AN_ENTRY`] in all, if there are as many
    /// places.
    #[inline(always)]
    pub fn put<T: Token>(&self, room: &mut [T]) {
        if let Some(room) = sink::bytes_mut(room).first_chunk_mut() {
            *room = self.bytes;
        }
    }

    /// What [`Entry::elsewhere`] was told.
    #[inline(always)]
    pub fn position(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes;
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    }

    /// What [`Entry::elsewhere`] was told.
    #[inline(always)]
    pub fn length(&self) -> u16 {
        u16::from_ne_bytes([self.bytes[8], self.bytes[9]])
    }
}

// SAFETY: all access to the memory is by its buckets, of which `Bucket` says who may write what.
unsafe impl Sync for PieceTable {}

impl PieceTable {
    /// With as many buckets as fit into `bytes`, a power of two, and two at least.
    pub fn new(bytes: usize) -> Self {
        let buckets = 1 << (bytes.min(MOST) / size_of::<Bucket>()).max(2).ilog2();
        let align = if buckets * size_of::<Bucket>() >= pages::HUGE { pages::HUGE } else { align_of::<Bucket>() };
        let words = pages::zeros((buckets * size_of::<Bucket>() + align) / size_of::<u64>());
        let first = (words.as_ptr() as usize).next_multiple_of(align) - words.as_ptr() as usize;
        let table = PieceTable { words, first: first / size_of::<u64>(), buckets };
        pages::advise_huge(table.buckets());
        table
    }

    /// The memory that the buckets take.
    pub fn bytes(&self) -> usize {
        self.buckets * size_of::<Bucket>()
    }

    /// How many entries it has places for.
    pub fn places(&self) -> usize {
        self.buckets * 2
    }

    /// A table of `bytes`, which are more than this one has, with what this one holds.
    pub fn grown(&self, bytes: usize) -> Self {
        let table = PieceTable::new(bytes);
        for bucket in self.buckets() {
            for at in 0..2 {
                if let Some(key) = bucket.key_if_ready(at) {
                    table.insert(&table.look_up(key), *bucket.entry(at));
                }
            }
        }
        table
    }

    #[inline(always)]
    fn buckets(&self) -> &[Bucket] {
        let first = self.words.as_ptr().wrapping_add(self.first);
        // SAFETY: `new` made room for the buckets and for what aligning the first one takes; any words are a bucket, which is
        // nothing but integers; and the memory is in cells, so that whoever shares it may write.
        unsafe { std::slice::from_raw_parts(first.cast(), self.buckets) }
    }

    /// To look up several keys.
    #[inline(always)]
    pub fn reader(&self) -> Reader<'_> {
        Reader { buckets: self.buckets() }
    }

    pub fn look_up(&self, key: Key) -> Lookup {
        self.reader().look_up(key)
    }

    pub fn get(&self, lookup: &Lookup) -> Option<Entry> {
        let reader = self.reader();
        reader.get(lookup).or_else(|| reader.get_other(lookup)).copied()
    }

    /// Whether there was room for it, or it was there.
    pub fn insert(&self, lookup: &Lookup, entry: Entry) -> bool {
        let (&Lookup { key, place }, reader) = (lookup, self.reader());
        reader.bucket(place).insert(key, entry) || reader.others(key).any(|bucket| bucket.insert(key, entry))
    }
}

/// Of a place, the last word of the key is zero, then [`CLAIMED`], then what it is for good. In between, who claimed it
/// writes all else, and who sees the last word of a key sees that too.
impl Bucket {
    /// 0 if it is there.
    #[inline(always)]
    fn difference(&self, at: usize, key: &Key) -> u64 {
        let [front, back] = &self.keys[at];
        let back = back.load(Ordering::Acquire) ^ key.back;
        (front.load(Ordering::Relaxed) ^ key.front) | back
    }

    /// Of a key that is there.
    #[inline(always)]
    fn entry(&self, at: usize) -> &Entry {
        // SAFETY: the key is there, so nobody will write the entry any more.
        unsafe { &*self.entries[at].get() }
    }

    fn key_if_ready(&self, at: usize) -> Option<Key> {
        let [front, back] = &self.keys[at];
        let back = back.load(Ordering::Acquire);
        (back > CLAIMED).then(|| Key { front: front.load(Ordering::Relaxed), back })
    }

    fn is_full(&self) -> bool {
        self.keys.iter().all(|[_, back]| back.load(Ordering::Relaxed) != 0)
    }

    /// Whether there was room for it, or it was there.
    fn insert(&self, key: Key, entry: Entry) -> bool {
        (0..2).any(|at| self.difference(at, &key) == 0 || self.claim(at, key, entry))
    }

    /// Whether the place was free: then it has the entry now.
    fn claim(&self, at: usize, key: Key, entry: Entry) -> bool {
        let [front, back] = &self.keys[at];
        if back.compare_exchange(0, CLAIMED, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return false;
        }
        front.store(key.front, Ordering::Relaxed);
        // SAFETY: whoever claims a place is the only one to write its entry, and until the key is there nobody reads it.
        unsafe { *self.entries[at].get() = entry };
        back.store(key.back, Ordering::Release);
        true
    }
}

/// A table as it is now.
#[derive(Clone, Copy)]
pub struct Reader<'t> {
    /// A power of two.
    buckets: &'t [Bucket],
}

impl<'t> Reader<'t> {
    /// Sends for the line of memory that may hold the entry of `key`. What it gives is for this table only.
    #[inline(always)]
    pub fn look_up(self, key: Key) -> Lookup {
        let place = self.place(key.hash());
        prefetch(self.buckets.as_ptr().wrapping_add(place));
        Lookup { key, place }
    }

    /// What the bucket of the key says of it.
    #[inline(always)]
    pub fn get(&self, lookup: &Lookup) -> Option<&'t Entry> {
        let bucket = self.bucket(lookup.place);
        // Which of the two it is cannot be guessed: no branch on it.
        let at = (bucket.difference(1, &lookup.key) == 0) as usize;
        (bucket.difference(at, &lookup.key) == 0).then(|| bucket.entry(at))
    }

    /// What other buckets say of a key that its own bucket does not have.
    pub fn get_other(&self, lookup: &Lookup) -> Option<&'t Entry> {
        let mut full = self.bucket(lookup.place).is_full();
        for bucket in self.others(lookup.key) {
            if !full {
                return None;
            }
            if let Some(at) = (0..2).find(|&at| bucket.difference(at, &lookup.key) == 0) {
                return Some(bucket.entry(at));
            }
            full = bucket.is_full();
        }
        None
    }

    #[inline(always)]
    fn place(self, hash: u64) -> usize {
        (hash >> (u64::BITS - PLACE_BITS)) as usize & (self.buckets.len() - 1)
    }

    /// Buckets with room for what its own has not, in order.
    fn others(self, key: Key) -> impl Iterator<Item = &'t Bucket> {
        let first = self.place(key.hash().wrapping_mul(0xA076_1D64_78BD_642F));
        (first..first + OTHERS).map(move |place| self.bucket(place))
    }

    #[inline(always)]
    fn bucket(self, place: usize) -> &'t Bucket {
        // SAFETY: there is a bucket at least, and their number is a power of two.
        unsafe { self.buckets.get_unchecked(place & (self.buckets.len() - 1)) }
    }
}

/// Sends for the line of memory at `address`.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching any address is harmless; it has no effect but on time.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece without a place would be merged again whenever it is met.
    #[test]
    fn in_a_table_three_quarters_full_nearly_every_piece_has_its_place() {
        let table = PieceTable::new(1 << 20);
        let (mut placed, all) = (Vec::new(), table.places() / 4 * 3);
        for n in 0..all as u32 {
            let piece = n.wrapping_mul(7).to_string();
            let lookup = table.look_up(Keys::new(piece.as_bytes()).short(0, piece.len()));
            let entry = Entry::new(&[n]).expect("an id");
            if table.insert(&lookup, entry) {
                placed.push((lookup, entry));
            }
        }
        assert!(placed.len() > all - all / 1000, "{} of {all}", placed.len());
        for (lookup, entry) in placed {
            assert_eq!(table.get(&lookup), Some(entry));
        }
    }
}
