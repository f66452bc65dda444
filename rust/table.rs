//! Piece -> a few ids, in one cache line.
//!
//! An entry is 32 bytes: 16 for the piece, 16 for the ids. A piece of up to 15 bytes is its own key, with its
//! length; a longer one has a hash for a key, and whoever asks must compare the bytes (`cache.rs`). Two entries make a
//! bucket, which is a cache line, and a key's hash names its bucket. So a look-up is one line of memory, two
//! comparisons, and no branch but the last.
//!
//! A new entry takes a free place of its bucket; if there is none, of a bucket that another hash of its key names, so that
//! whoever does not find a key in a full bucket looks there too. If both are full there is no room for it. (Two buckets to
//! choose from have room for nearly all where one has not: Azar et al. 1994.)
//!
//! All threads look up and insert at any time, and none waits. A place is taken once and never changes again: who takes it
//! claims it, writes the entry, and writes the last word of the key when all else is there. Who sees that word sees the rest.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::pages;
use crate::sink::{self, Token};

/// The longest piece that is its own key.
pub const LONGEST: usize = 15;

/// Places that [`Entry::put`] writes to, of 16 bits each (or half as many of 32).
pub const ROOM_OF_AN_ENTRY: usize = size_of::<Entry>() / size_of::<u16>();

/// A piece of 1 to [`LONGEST`] bytes, zeros behind it, its length in the last byte; or a hash of a longer one,
/// with [`HASHED`] in the last byte.
#[derive(Clone, Copy, Default, Debug)]
pub struct Key {
    front: u64,
    back: u64,
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.difference(other) == 0
    }
}

const HASHED: u64 = 0xff;

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

/// Bits to keep of 16 bytes, by the length of the piece that begins there.
static MASKS: [[u64; 2]; LONGEST + 1] = {
    let mut masks = [[0; 2]; LONGEST + 1];
    let mut length = 1;
    while length <= LONGEST {
        let mask = u128::MAX >> (128 - 8 * length);
        masks[length] = [mask as u64, (mask >> 64) as u64];
        length += 1;
    }
    masks
};

/// The keys of the pieces of a text.
#[derive(Clone, Copy)]
pub struct Keys<'t> {
    text: &'t [u8],
    /// From a start below this, 16 bytes can be read.
    end: usize,
}

impl<'t> Keys<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Keys { text, end: text.len().saturating_sub(size_of::<Key>() - 1) }
    }

    /// The key of the piece from `start` to `end`, which has 1 to [`LONGEST`] bytes; for a longer one it means nothing.
    #[inline(always)]
    pub fn short(self, start: usize, end: usize) -> Key {
        let bytes = if start < self.end {
            // SAFETY: there are 16 bytes at least from `start` on.
            u128::from_le_bytes(unsafe { *self.text.as_ptr().add(start).cast() })
        } else {
            self.at_the_end(start)
        };
        let length = end.wrapping_sub(start) % MASKS.len();
        let [front, back] = MASKS[length];
        Key { front: bytes as u64 & front, back: (bytes >> 64) as u64 & back | (length as u64) << 56 }
    }

    /// The bytes from `start` on, and zeros.
    #[inline(always)]
    fn at_the_end(self, start: usize) -> u128 {
        let Keys { text, .. } = self;
        match text.last_chunk() {
            // The last 16 bytes, moved down.
            Some(last) => u128::from_le_bytes(*last) >> (8 * (start + 16 - text.len()).min(15)),
            None => text[start..].iter().rev().fold(0, |all, &byte| all << 8 | byte as u128),
        }
    }
}

impl Key {
    /// The key of a piece of more than [`LONGEST`] bytes: others may have the same.
    pub fn hashed(piece: &[u8]) -> Key {
        // Not the length as it is, which could undo what the first byte does.
        let mut key = Key { front: (piece.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15), back: 0 };
        let mut mix = |bytes: &[u8; 16]| {
            let bytes = u128::from_le_bytes(*bytes);
            let (front, back) = (key.front ^ bytes as u64, key.back ^ (bytes >> 64) as u64);
            let product = (front as u128 ^ 0x9E37_79B9_7F4A_7C15) * (back as u128 ^ 0xD6E8_FEB8_6659_FD93);
            (key.front, key.back) = (product as u64 ^ front.rotate_left(29), (product >> 64) as u64 ^ back);
        };
        let (chunks, _) = piece.as_chunks();
        chunks.iter().for_each(&mut mix);
        if let Some(last) = piece.last_chunk() {
            mix(last);
        }
        Key { front: key.front, back: key.back | HASHED << 56 }
    }

    /// The piece of [`Keys::short`], with zeros behind it, and its length.
    pub fn piece(self) -> ([u8; 16], usize) {
        let bytes = (self.front as u128 | (self.back as u128) << 64).to_le_bytes();
        (bytes, bytes[LONGEST] as usize)
    }

    /// Well mixed in its high bits (multiplicative hashing: Knuth, TAOCP vol. 3, 6.4).
    #[inline(always)]
    pub fn hash(self) -> u64 {
        self.front.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(self.back.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// 0 for the same key. Field by field it would branch between the two.
    #[inline(always)]
    fn difference(&self, other: &Key) -> u64 {
        (self.front ^ other.front) | (self.back ^ other.back)
    }
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
        reader.bucket(place).insert(key, entry) || reader.bucket(reader.other_place(key)).insert(key, entry)
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

    /// What another bucket says of a key that its own bucket does not have.
    pub fn get_other(&self, lookup: &Lookup) -> Option<&'t Entry> {
        if !self.bucket(lookup.place).is_full() {
            return None;
        }
        let bucket = self.bucket(self.other_place(lookup.key));
        (0..2).find(|&at| bucket.difference(at, &lookup.key) == 0).map(|at| bucket.entry(at))
    }

    #[inline(always)]
    fn place(self, hash: u64) -> usize {
        (hash >> (u64::BITS - PLACE_BITS)) as usize & (self.buckets.len() - 1)
    }

    fn other_place(self, key: Key) -> usize {
        self.place(key.hash().wrapping_mul(0xA076_1D64_78BD_642F))
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
