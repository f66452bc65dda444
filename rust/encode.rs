//! Documents -> ids: the four stages, composed.
//!
//! Pieces go through in batches: first the key of each, and the line of memory that may hold its ids is sent for; then,
//! when the lines are there, the ids of each (`table.rs`). What the cache does not hold is merged.
//!
//! An [`Encoder`] is an encoding, a cache that all threads share, and a few [`Scratch`]es (buffers), one for each core. A
//! [`Session`] borrows one of them for as long as one thread encodes; when all are taken it brings
//! its own. Nobody ever waits for a lock, so a forked child, whose copies of
//! the locks may stay taken for ever, cannot hang either.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::cache::{Block, Cache, LONGEST_KEPT, Share};
use crate::encoding::{Encoding, TokenId};
use crate::error::Result;
use crate::interrupt::{Interrupt, TEXT_BETWEEN_CHECKS};
use crate::merge::Merger;
use crate::pretokenize::Boundaries;
use crate::sink::{Sink, Token};
use crate::special::{Segment, Special};
use crate::table::{Key, Keys, LONGEST, Lookup, ROOM_OF_AN_ENTRY};

/// What may be kept of merged pieces, where the caller names no budget. `rust/DESIGN.md` has the figures.
const DEFAULT_BYTES: usize = 32 << 20;

pub struct Encoder {
    encoding: Arc<Encoding>,
    pool: Pool,
    cache_bytes: usize,
}

/// The cache and the buffers, by what ids are stored as.
enum Pool {
    Narrow(Shared<u16>),
    Wide(Shared<u32>),
}

struct Shared<T: Token> {
    cache: Cache<T>,
    /// One for each core.
    scratches: Vec<Mutex<Scratch<T>>>,
}

impl Encoder {
    /// `cache_bytes` is the cache's budget.
    pub fn new(encoding: Arc<Encoding>, cache_bytes: Option<usize>) -> Self {
        let cache_bytes = cache_bytes.unwrap_or(DEFAULT_BYTES);
        let pool = match encoding.vocabulary().size() {
            0..=0x1_0000 => Pool::Narrow(Shared::new(cache_bytes)),
            _ => Pool::Wide(Shared::new(cache_bytes)),
        };
        Encoder { encoding, pool, cache_bytes }
    }

    pub fn encoding(&self) -> &Arc<Encoding> {
        &self.encoding
    }

    pub fn cache_bytes(&self) -> usize {
        self.cache_bytes
    }

    pub fn session(&self) -> Session<'_> {
        let thread = match &self.pool {
            Pool::Narrow(shared) => Width::Narrow(shared.thread()),
            Pool::Wide(shared) => Width::Wide(shared.thread()),
        };
        Session { encoding: &self.encoding, thread, checks: Checks { until: TEXT_BETWEEN_CHECKS as isize } }
    }
}

impl<T: Token> Shared<T> {
    fn new(cache_bytes: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let scratches = (0..cores).map(|_| Mutex::new(Scratch::new())).collect();
        Shared { cache: Cache::new(cache_bytes), scratches }
    }

    fn thread(&self) -> Thread<'_, T> {
        let free = self.scratches.iter().find_map(|scratch| match scratch.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(poisoned)) => {
                // A panic may have left something half made: start anew.
                let mut guard = poisoned.into_inner();
                *guard = Scratch::new();
                Some(guard)
            }
        });
        let scratch = free.map_or_else(|| Borrowed::Own(Box::new(Scratch::new())), Borrowed::Shared);
        Thread { cache: self.cache.share(), scratch }
    }
}

enum Borrowed<'e, T: Token> {
    Shared(MutexGuard<'e, Scratch<T>>),
    Own(Box<Scratch<T>>),
}

impl<T: Token> Deref for Borrowed<'_, T> {
    type Target = Scratch<T>;

    fn deref(&self) -> &Scratch<T> {
        match self {
            Borrowed::Shared(scratch) => scratch,
            Borrowed::Own(scratch) => scratch,
        }
    }
}

impl<T: Token> DerefMut for Borrowed<'_, T> {
    fn deref_mut(&mut self) -> &mut Scratch<T> {
        match self {
            Borrowed::Shared(scratch) => scratch,
            Borrowed::Own(scratch) => scratch,
        }
    }
}

impl<T: Token> Drop for Borrowed<'_, T> {
    fn drop(&mut self) {
        self.merger.trim();
    }
}

/// One thread's turn at encoding.
pub struct Session<'e> {
    encoding: &'e Encoding,
    thread: Width<'e>,
    checks: Checks,
}

enum Width<'e> {
    Narrow(Thread<'e, u16>),
    Wide(Thread<'e, u32>),
}

impl<'e> Session<'e> {
    pub fn encoding(&self) -> &'e Encoding {
        self.encoding
    }

    /// Appends the ids of `text` to `sink`.
    pub fn encode(
        &mut self,
        text: &str,
        special: &Special,
        sink: &mut impl Sink,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        if let Some(route) = self.encoding.route() {
            return route.encode(self, text, special, sink, interrupt);
        }
        let Session { encoding, thread, checks } = self;
        encoding.special_tokens().cut(text, special, interrupt, |segment| match (segment, &mut *thread) {
            (Segment::Ordinary(part), Width::Narrow(thread)) => thread.encode(encoding, part, sink, checks, interrupt),
            (Segment::Ordinary(part), Width::Wide(thread)) => thread.encode(encoding, part, sink, checks, interrupt),
            (Segment::Special(id, literal), _) => {
                sink.put_special(id, literal.len());
                checks.after(literal.len(), interrupt)
            }
        })
    }

    /// Appends the ids of text without special tokens.
    pub fn encode_ordinary(&mut self, text: &str, sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        let Session { encoding, thread, checks } = self;
        match thread {
            Width::Narrow(thread) => thread.encode(encoding, text, sink, checks, interrupt),
            Width::Wide(thread) => thread.encode(encoding, text, sink, checks, interrupt),
        }
    }

    /// Appends the ids of one piece.
    pub fn encode_piece(
        &mut self,
        piece: impl AsRef<[u8]>,
        sink: &mut impl Sink,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        let piece = piece.as_ref();
        self.checks.after(piece.len() + self.encoding.pattern().work_of_a_piece(), interrupt)?;
        match &mut self.thread {
            Width::Narrow(thread) => thread.encode_piece(self.encoding, piece, sink, interrupt),
            Width::Wide(thread) => thread.encode_piece(self.encoding, piece, sink, interrupt),
        }
    }
}

/// Asks for an interrupt whenever enough text has gone by.
struct Checks {
    until: isize,
}

impl Checks {
    #[inline]
    fn after(&mut self, bytes: usize, interrupt: &dyn Interrupt) -> Result<()> {
        self.until -= bytes as isize;
        if self.until >= 0 {
            return Ok(());
        }
        self.until = TEXT_BETWEEN_CHECKS as isize;
        interrupt.check()
    }
}

/// What one thread encodes with.
struct Thread<'e, T: Token> {
    cache: Share<'e, T>,
    scratch: Borrowed<'e, T>,
}

/// What a thread needs of its own to encode.
struct Scratch<T> {
    merger: Merger,
    batch: Box<Batch<T>>,
    block: Block,
}

/// Pieces on their way: where they are, what they are looked up by, and the ids of those already found.
struct Batch<T> {
    boundaries: Boundaries,
    lookups: [Lookup; Boundaries::MOST_PIECES],
    /// Numbers of pieces too long to be their own keys.
    long: Vec<u16>,
    /// The first `end` of these places. There are enough for any batch, since longer pieces than the cache keeps go past it.
    ids: Vec<T>,
    end: usize,
}

impl<T: Token> Scratch<T> {
    fn new() -> Self {
        let batch = Batch {
            boundaries: Boundaries::default(),
            lookups: [Lookup::default(); Boundaries::MOST_PIECES],
            ids: vec![T::default(); Boundaries::MOST_PIECES * LONGEST_KEPT + ROOM_OF_AN_ENTRY],
            end: 0,
            long: Vec::with_capacity(Boundaries::MOST_PIECES),
        };
        Scratch { merger: Merger::default(), batch: Box::new(batch), block: Block::default() }
    }
}

impl<T: Token> Thread<'_, T> {
    /// Encodes text without special tokens.
    fn encode(
        &mut self,
        encoding: &Encoding,
        text: &str,
        sink: &mut impl Sink,
        checks: &mut Checks,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        let pattern = encoding.pattern();
        let mut batches = pattern.batches(text, 0);
        while batches.next(&mut self.scratch.batch.boundaries)? {
            self.encode_batch(encoding, text.as_bytes(), sink, interrupt)?;
            let boundaries = &self.scratch.batch.boundaries;
            match boundaries.count() {
                // A long one has not ended yet.
                0 => interrupt.check()?,
                pieces => checks.after(boundaries.bytes() + pieces * pattern.work_of_a_piece(), interrupt)?,
            }
        }
        Ok(())
    }

    fn encode_piece(
        &mut self,
        encoding: &Encoding,
        piece: &[u8],
        sink: &mut impl Sink,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        self.scratch.batch.boundaries.set_one(piece.len());
        self.encode_batch(encoding, piece, sink, interrupt)
    }

    /// Encodes the pieces of `text` that the batch has the boundaries of.
    fn encode_batch(
        &mut self,
        encoding: &Encoding,
        text: &[u8],
        sink: &mut impl Sink,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        let batch = &mut self.scratch.batch;
        batch.end = 0;
        batch.look_up(text, &self.cache);
        let mut at = 0;
        loop {
            let batch = &mut self.scratch.batch;
            at += batch.put_known(at, text, &self.cache);
            if at == batch.boundaries.count() {
                sink.put(batch.take());
                break;
            }
            self.put_merged(encoding, text, at, sink, interrupt)?;
            at += 1;
        }
        self.cache.keep_up();
        Ok(())
    }

    /// Puts the ids of a piece that the cache does not hold, and the cache keeps them.
    #[inline(never)]
    fn put_merged(
        &mut self,
        encoding: &Encoding,
        text: &[u8],
        number: usize,
        sink: &mut impl Sink,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        let Thread { cache, scratch } = self;
        let Scratch { merger, batch, block } = &mut **scratch;
        let (start, end) = batch.boundaries.piece(number);
        let piece = &text[start..end];
        let whole = encoding.whole_piece(piece);
        let ids = match &whole {
            Some(id) => std::slice::from_ref(id),
            None => merger.merge(encoding.pairs(), piece, interrupt)?,
        };
        if piece.len() > LONGEST_KEPT {
            sink.put(batch.take());
            sink.put(ids);
        } else {
            let lookup = batch.lookups[number];
            cache.insert(&lookup, piece, batch.put(ids), block);
        }
        Ok(())
    }
}

impl<T: Token> Batch<T> {
    /// Sends for the line of memory that may hold the ids of each piece; and for where else they are, if they are.
    #[inline(never)] // inlined, its loop and the next would have to share registers
    fn look_up(&mut self, text: &[u8], cache: &Share<T>) {
        let (reader, keys) = (cache.reader(), Keys::new(text));
        self.long.clear();
        for (number, ((start, end), lookup)) in self.boundaries.pieces().zip(&mut self.lookups).enumerate() {
            *lookup = reader.look_up(if end - start <= LONGEST {
                keys.short(start, end)
            } else {
                self.long.push(number as u16);
                Key::hashed(&text[start..end])
            });
        }
        for &number in &self.long {
            cache.send_for(&self.lookups[number as usize]);
        }
    }

    /// Puts the ids of pieces from `first` on, until one is not in the cache, and returns how many were.
    #[inline(never)]
    fn put_known(&mut self, first: usize, text: &[u8], cache: &Share<T>) -> usize {
        let (lookups, reader) = (&self.lookups[first..self.boundaries.count()], cache.reader());
        let (ids, mut end) = (&mut self.ids[..], self.end);
        let mut left = lookups.iter();
        let known = loop {
            let Some(lookup) = left.next() else { break lookups.len() };
            if let Some(entry) = reader.get(lookup)
                && entry.is_here()
            {
                // SAFETY: `ids` has room for `LONGEST_KEPT` ids of each piece of a batch and for an entry behind them,
                // and no entry says more of a piece.
                entry.put(unsafe { ids.get_unchecked_mut(end..end + ROOM_OF_AN_ENTRY) });
                end += entry.count();
                continue;
            }
            let known = lookups.len() - left.len() - 1;
            let (start, to) = self.boundaries.piece(first + known);
            match cache.find_far(lookup, &text[start..to], &mut ids[end..]) {
                Some(count) => end += count,
                None => break known,
            }
        };
        self.end = end;
        known
    }

    /// Appends ids, and returns where they are.
    fn put(&mut self, ids: &[TokenId]) -> &[T] {
        let start = self.end;
        self.end += ids.len();
        let places = &mut self.ids[start..self.end];
        places.iter_mut().zip(ids).for_each(|(place, &id)| *place = T::from_id(id));
        places
    }

    /// All ids so far.
    fn take(&mut self) -> &[T] {
        &self.ids[..std::mem::take(&mut self.end)]
    }
}
