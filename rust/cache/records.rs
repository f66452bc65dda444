//! What an entry of the table has no room for: more ids, and the bytes of pieces too long to be their own keys.
//!
//! Records are appended and never change. A thread takes room for many at a time, and writes there alone.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::pages;
use crate::table::prefetch;

/// Room that a thread takes at a time: memory that all write to goes from core to core each time.
const BLOCK: usize = 1 << 12;

/// Bytes that are copied or compared at once: a record may be read so far beyond its end.
pub const CHUNK: usize = 16;

/// The size of a line of the processor's cache.
const LINE: usize = 64;

/// Of a record of `count` ids and the bytes they are the ids of: whole chunks of ids, for they are copied so.
pub fn record_length<T>(of: &[u8], count: usize) -> usize {
    of.len() + (count * size_of::<T>()).next_multiple_of(CHUNK)
}

/// Bytes that are written once, by whoever has taken them, and then read by all.
pub struct Records {
    number: usize,
    words: Box<[UnsafeCell<u64>]>,
    /// What is behind this byte is nobody's yet.
    end: AtomicUsize,
    has_refused: AtomicBool,
}

/// Room for records that one thread has taken.
#[derive(Default)]
pub struct Block {
    /// Number of the records that it is of.
    of: usize,
    room: Range<usize>,
}

// SAFETY: a byte is written by the one thread that took it, before any other learns of it by the table's last word of a key.
unsafe impl Sync for Records {}

impl Records {
    pub fn new(number: usize, bytes: usize) -> Self {
        let words = pages::zeros(bytes / size_of::<u64>());
        pages::advise_huge(&words);
        Records { number, words, end: AtomicUsize::new(0), has_refused: AtomicBool::new(false) }
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Whether there was no room for a record.
    pub fn has_refused(&self) -> bool {
        self.has_refused.load(Ordering::Relaxed)
    }

    /// Writes `of` and `ids` to a new record of `length` bytes, and returns its position.
    pub fn push(&self, of: &[u8], ids: &[u8], length: usize, block: &mut Block) -> Option<u64> {
        if block.of != self.number || block.room.len() < length {
            *block = Block { of: self.number, room: self.take() };
        }
        let position = block.room.start;
        if block.room.len() < length {
            self.has_refused.store(true, Ordering::Relaxed);
            return None;
        }
        block.room.start += length;
        let to = UnsafeCell::raw_get(self.words.as_ptr().cast::<UnsafeCell<u8>>()).wrapping_add(position);
        // SAFETY: `length` bytes from there on are in `words`, and nobody else writes or reads them: the block is this
        // thread's, and no entry leads there yet.
        let record = unsafe { std::slice::from_raw_parts_mut(to, length) };
        let (to_of, to_ids) = record.split_at_mut(of.len());
        to_of.copy_from_slice(of);
        to_ids[..ids.len()].copy_from_slice(ids);
        Some(position as u64)
    }

    /// Room that nobody has; empty if there is none.
    fn take(&self) -> Range<usize> {
        if self.end.load(Ordering::Relaxed) >= self.bytes() {
            return 0..0;
        }
        let start = self.end.fetch_add(BLOCK, Ordering::Relaxed).min(self.bytes());
        start..(start + BLOCK).min(self.bytes())
    }

    /// A record that an entry led to.
    #[inline(always)]
    pub fn get(&self, position: u64, length: usize) -> Option<&[u8]> {
        let position = position as usize;
        if position + length > self.bytes() {
            return None;
        }
        let from = self.words.as_ptr().cast::<u8>().wrapping_add(position);
        // SAFETY: they are in `words`, and the entry was made when the record was written.
        Some(unsafe { std::slice::from_raw_parts(from, length) })
    }

    #[inline(always)]
    pub fn send_for(&self, position: u64) {
        let place = self.words.as_ptr().cast::<u8>().wrapping_add(position as usize);
        prefetch(place);
        prefetch(place.wrapping_add(LINE));
    }
}

/// Whether two slices of the same length, none or at least 16 bytes, are equal: without a call, and without
/// a branch for each of some sizes.
#[inline(always)]
pub fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let ((chunks_a, _), (chunks_b, _)) = (a.as_chunks::<CHUNK>(), b.as_chunks::<CHUNK>());
    let differ = |a: &[u8; CHUNK], b: &[u8; CHUNK]| u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b);
    let differences = chunks_a.iter().zip(chunks_b).fold(0, |all, (a, b)| all | differ(a, b));
    match (a.last_chunk(), b.last_chunk()) {
        (Some(a), Some(b)) => differences | differ(a, b) == 0,
        _ => true,
    }
}
