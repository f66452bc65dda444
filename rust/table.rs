//! Short piece -> a few ids, in one cache line.
//!
//! An entry is 32 bytes: the piece (up to 15 bytes and its length, as one 16-byte key) and up to four ids.
//! Two entries make a bucket, which is a cache line; a piece's hash names its bucket, and it is in that bucket
//! or not in the table. So a look-up is one line of memory, two comparisons, and no branch but the last.
//!
//! The same table serves twice: read-only and shared, with every token that is a whole piece
//! ([`PieceTable::of_tokens`]), and private to a thread, for the pieces that had to be merged. A new entry
//! takes the first place of its bucket and moves what was there to the second. What is in a table never
//! changes an id, only the time.

use crate::encoding::{Encoding, Rules, TokenId};
use crate::interrupt::Never;
use crate::merge::Merger;

/// The longest piece, and the most ids, that an entry holds.
pub const LONGEST: usize = 15;
pub const MOST_IDS: usize = 4;

/// A piece of 1 to [`LONGEST`] bytes, zeros behind it, its length in the last byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key {
    front: u64,
    back: u64,
}

/// Up to four ids, and in the top byte of the last place their number: ids are below 2^24.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ids([u32; MOST_IDS]);

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    keys: [Key; 2],
    ids: [Ids; 2],
}

/// A larger budget is not used up.
const MOST: usize = 1 << 30;

pub struct PieceTable {
    /// The memory: zeros, so that the system provides it only as it is used. No piece is empty, so no key is
    /// zero, and zeros are empty buckets.
    words: Vec<u64>,
    /// Where the first bucket begins, at the start of a cache line.
    first: usize,
    /// A power of two, or 0.
    buckets: usize,
}

impl Key {
    /// Of no piece.
    pub const NONE: Key = Key { front: 0, back: 0 };

    /// The key of the `length` bytes at `start` of `text`; `length` is 1 to [`LONGEST`].
    #[inline(always)]
    pub fn new(text: &[u8], start: usize, length: usize) -> Key {
        let bytes = match text.get(start..start + 16) {
            Some(bytes) => bytes.try_into().unwrap_or_default(),
            None => {
                // At the end of the text: nothing beyond it is read.
                let mut bytes = [0; 16];
                bytes[..length].copy_from_slice(&text[start..start + length]);
                bytes
            }
        };
        let kept = u128::from_le_bytes(bytes) & (u128::MAX >> (128 - 8 * length));
        let key = kept | (length as u128) << 120;
        Key { front: key as u64, back: (key >> 64) as u64 }
    }

    /// Well mixed in its high bits.
    #[inline(always)]
    fn hash(self) -> u64 {
        let mixed = (self.front as u128 ^ 0x9E37_79B9_7F4A_7C15) * (self.back as u128 ^ 0xD6E8_FEB8_6659_FD93);
        (mixed as u64) ^ (mixed >> 64) as u64
    }
}

impl Ids {
    pub fn new(ids: &[TokenId]) -> Option<Ids> {
        let mut packed = [0; MOST_IDS];
        packed.get_mut(..ids.len())?.copy_from_slice(ids);
        packed[MOST_IDS - 1] |= (ids.len() as u32) << 24;
        Some(Ids(packed))
    }

    #[inline(always)]
    pub fn count(self) -> usize {
        (self.0[MOST_IDS - 1] >> 24) as usize
    }

    /// The ids; places from [`Ids::count`] on mean nothing.
    #[inline(always)]
    pub fn places(self) -> [TokenId; MOST_IDS] {
        let [a, b, c, d] = self.0;
        [a, b, c, d & 0xff_ffff]
    }
}

impl PieceTable {
    /// With the most buckets that fit into `bytes`; with none, it keeps nothing.
    pub fn new(bytes: usize) -> Self {
        let buckets = (bytes.min(MOST) / size_of::<Bucket>() + 1).next_power_of_two() / 2;
        let a_bucket = size_of::<Bucket>() / size_of::<u64>();
        let words = vec![0; (buckets + 1) * a_bucket];
        let first = words.as_ptr().align_offset(align_of::<Bucket>());
        PieceTable { words, first, buckets }
    }

    #[inline(always)]
    fn buckets(&self) -> &[Bucket] {
        let first = self.words.as_ptr().wrapping_add(self.first);
        // SAFETY: `new` made room for one bucket more than there are, of which aligning took less than one;
        // `words` is never resized; and any words are a bucket, which is nothing but integers.
        unsafe { std::slice::from_raw_parts(first.cast(), self.buckets) }
    }

    fn buckets_mut(&mut self) -> &mut [Bucket] {
        let first = self.words.as_mut_ptr().wrapping_add(self.first);
        // SAFETY: as in `buckets`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(first.cast(), self.buckets) }
    }

    /// Every short token that its own bytes encode to. Frequent tokens have low ids and come first; what
    /// finds its bucket full stays out.
    pub fn of_tokens(encoding: &Encoding) -> Self {
        let vocabulary = encoding.vocabulary();
        let mut table = PieceTable::new((vocabulary.size() * size_of::<Bucket>() / 2).next_power_of_two());
        let mut merger = Merger::default();
        for (id, bytes) in vocabulary.ordinary().filter(|(_, bytes)| bytes.len() <= LONGEST) {
            // A test has seen that all of a built-in's are; there is no need to find out at each load.
            let reachable = match encoding.rules() {
                Rules::TokenBytes => true,
                Rules::Pairs(_) => {
                    encoding.is_builtin()
                        || merger
                            .merge(encoding.pairs(), encoding.byte_ids(), bytes, &Never)
                            .is_ok_and(|ids| ids == [id])
                }
            };
            let key = Key::new(bytes, 0, bytes.len());
            let place = table.place(key);
            let bucket = &mut table.buckets_mut()[place];
            if let (true, Some(ids), Some(free)) =
                (reachable, Ids::new(&[id]), bucket.keys.iter().position(|k| k.back == 0))
            {
                (bucket.keys[free], bucket.ids[free]) = (key, ids);
            }
        }
        table
    }

    /// The bucket of a key.
    #[inline(always)]
    pub fn place(&self, key: Key) -> usize {
        key.hash() as usize & self.buckets.wrapping_sub(1)
    }

    #[inline(always)]
    pub fn prefetch(&self, place: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let bucket = self.buckets().as_ptr().wrapping_add(place);
            // SAFETY: a prefetch reads nothing that the program can see, and no address is invalid for it.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bucket.cast()) };
        }
        let _ = place;
    }

    #[inline(always)]
    pub fn get(&self, place: usize, key: Key) -> Option<Ids> {
        let bucket = self.buckets().get(place)?;
        let second = bucket.keys[1] == key;
        let at = second as usize;
        (second | (bucket.keys[0] == key)).then(|| bucket.ids[at])
    }

    pub fn insert(&mut self, place: usize, key: Key, ids: Ids) {
        if let Some(bucket) = self.buckets_mut().get_mut(place) {
            bucket.keys = [key, bucket.keys[0]];
            bucket.ids = [ids, bucket.ids[0]];
        }
    }
}
