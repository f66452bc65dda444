//! Documents -> ids: the four stages, composed.
//!
//! Pieces go through in batches: first the key of each, and the line of memory that may hold its ids is sent for; then,
//! when the lines are there, the ids of each (`table.rs`). What the cache does not hold is merged.
//!
//! An [`Encoder`] is an encoding and a few [`Scratch`]es (a cache and buffers), one for each core. A
//! [`Session`] borrows one of them for as long as one thread encodes; when all are taken it brings
//! its own, without a cache. Nobody ever waits for a lock, so a forked child, whose copies of
//! the locks may stay taken for ever, cannot hang either.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::cache::{Cache, Record};
use crate::encoding::{Encoding, TokenId, Vocabulary};
use crate::error::Result;
use crate::interrupt::{Interrupt, TEXT_BETWEEN_CHECKS};
use crate::merge::Merger;
use crate::pages;
use crate::pretokenize::Boundaries;
use crate::special::{Segment, Special};
use crate::table::{Entry, Key, LONGEST, Lookup, MOST_IDS};

/// What one thread may keep of merged pieces, where the caller names no budget. `rust/DESIGN.md` has the figures.
const DEFAULT_BYTES: usize = 32 << 20;

pub struct Encoder {
    encoding: Arc<Encoding>,
    scratches: Vec<Mutex<Scratch>>,
    cache_bytes: usize,
}

struct Scratch {
    cache: Cache,
    merger: Merger,
    batch: Box<Batch>,
}

/// Pieces on their way: where they are, what they are looked up by, and the ids of those already found.
struct Batch {
    boundaries: Boundaries,
    lookups: [Lookup; Boundaries::MOST_PIECES],
    ids: Vec<TokenId>,
    awaited: Vec<Awaited>,
}

/// Ids that have been sent for: of which piece, where room is left for them, and where they are.
struct Awaited {
    piece: usize,
    at: usize,
    record: Record,
}

impl Scratch {
    fn new(cache_bytes: usize, encoding: &Encoding) -> Self {
        let batch = Batch {
            boundaries: Boundaries::default(),
            lookups: [Lookup::default(); Boundaries::MOST_PIECES],
            ids: Vec::new(),
            awaited: Vec::new(),
        };
        Scratch {
            cache: Cache::new(cache_bytes, encoding.vocabulary().size()),
            merger: Merger::default(),
            batch: Box::new(batch),
        }
    }
}

/// Takes ids in the order of the text.
pub trait Sink {
    fn put(&mut self, ids: &[TokenId]);

    /// A special token, whose literal has `length` bytes.
    fn put_special(&mut self, id: TokenId, _length: usize) {
        self.put(&[id]);
    }
}

/// An id as an array stores it.
pub trait Token: Copy + Send {
    /// `id` fits: the type was chosen by the size of the vocabulary.
    fn from_id(id: TokenId) -> Self;
}

impl Token for u16 {
    fn from_id(id: TokenId) -> Self {
        id as u16
    }
}

impl Token for u32 {
    fn from_id(id: TokenId) -> Self {
        id
    }
}

impl<T: Token> Sink for Vec<T> {
    #[inline]
    fn put(&mut self, ids: &[TokenId]) {
        if self.capacity() - self.len() < ids.len() {
            self.reserve(ids.len());
            pages::advise_huge(self.spare_capacity_mut());
        }
        self.extend(ids.iter().map(|&id| T::from_id(id)));
    }
}

/// Counts tokens and builds nothing.
#[derive(Default)]
pub struct Count(pub usize);

impl Sink for Count {
    fn put(&mut self, ids: &[TokenId]) {
        self.0 += ids.len();
    }
}

/// Ids, and the byte at which each token ends.
pub struct Ends<'v> {
    pub ids: Vec<TokenId>,
    pub ends: Vec<usize>,
    vocabulary: &'v Vocabulary,
}

impl<'v> Ends<'v> {
    pub fn new(vocabulary: &'v Vocabulary) -> Self {
        Ends { ids: Vec::new(), ends: Vec::new(), vocabulary }
    }

    fn push(&mut self, id: TokenId, length: usize) {
        self.ids.push(id);
        self.ends.push(self.end() + length);
    }

    /// Where the last token ends.
    pub fn end(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }
}

impl Sink for Ends<'_> {
    fn put(&mut self, ids: &[TokenId]) {
        for &id in ids {
            self.push(id, self.vocabulary.token_bytes(id).map_or(0, <[u8]>::len));
        }
    }

    // Two literals may share an id, so the id does not tell the length.
    fn put_special(&mut self, id: TokenId, length: usize) {
        self.push(id, length);
    }
}

impl Encoder {
    /// `cache_bytes` is the budget of all caches together.
    pub fn new(encoding: Arc<Encoding>, cache_bytes: Option<usize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let cache_bytes = cache_bytes.unwrap_or(DEFAULT_BYTES * cores);
        let scratches = (0..cores).map(|_| Mutex::new(Scratch::new(cache_bytes / cores, &encoding))).collect();
        Encoder { encoding, scratches, cache_bytes }
    }

    pub fn encoding(&self) -> &Arc<Encoding> {
        &self.encoding
    }

    pub fn cache_bytes(&self) -> usize {
        self.cache_bytes
    }

    pub fn session(&self) -> Session<'_> {
        let free = self.scratches.iter().find_map(|scratch| match scratch.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(poisoned)) => {
                // A panic may have left an entry half made: start anew.
                let mut guard = poisoned.into_inner();
                *guard = Scratch::new(self.cache_bytes / self.scratches.len(), &self.encoding);
                Some(guard)
            }
        });
        let scratch = free.map_or_else(|| Borrowed::Own(Box::new(Scratch::new(0, &self.encoding))), Borrowed::Shared);
        Session { encoding: &self.encoding, scratch, until_check: TEXT_BETWEEN_CHECKS as isize }
    }
}

enum Borrowed<'e> {
    Shared(MutexGuard<'e, Scratch>),
    Own(Box<Scratch>),
}

impl Deref for Borrowed<'_> {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        match self {
            Borrowed::Shared(scratch) => scratch,
            Borrowed::Own(scratch) => scratch,
        }
    }
}

impl DerefMut for Borrowed<'_> {
    fn deref_mut(&mut self) -> &mut Scratch {
        match self {
            Borrowed::Shared(scratch) => scratch,
            Borrowed::Own(scratch) => scratch,
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.scratch.merger.trim();
    }
}

/// One thread's turn at encoding.
pub struct Session<'e> {
    encoding: &'e Encoding,
    scratch: Borrowed<'e>,
    until_check: isize,
}

impl Session<'_> {
    /// Appends the ids of `text` to `sink`.
    pub fn encode(
        &mut self,
        text: &str,
        special: &Special,
        sink: &mut impl Sink,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        let encoding = self.encoding;
        encoding.special_tokens().cut(text, special, interrupt, |segment| match segment {
            Segment::Ordinary(part) => self.encode_part(part, sink, interrupt),
            Segment::Special(id, literal) => {
                sink.put_special(id, literal.len());
                self.check(literal.len(), interrupt)
            }
        })
    }

    /// Asks for an interrupt, if enough text has gone by.
    #[inline]
    fn check(&mut self, bytes: usize, interrupt: &dyn Interrupt) -> Result<()> {
        self.until_check -= bytes as isize;
        if self.until_check >= 0 {
            return Ok(());
        }
        self.until_check = TEXT_BETWEEN_CHECKS as isize;
        interrupt.check()
    }

    /// Encodes text without special tokens.
    fn encode_part(&mut self, part: &str, sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        let pattern = self.encoding.pattern();
        let mut pieces = pattern.batches(part, 0);
        while pieces.next(&mut self.scratch.batch.boundaries)? {
            self.encode_batch(part.as_bytes(), sink, interrupt)?;
        }
        Ok(())
    }

    /// Encodes the pieces of `text` that the batch has the boundaries of.
    fn encode_batch(&mut self, text: &[u8], sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        let Scratch { cache, merger, batch } = &mut *self.scratch;
        let pieces = batch.boundaries.count();
        if pieces == 0 {
            // A long one has not ended yet.
            return interrupt.check();
        }
        // What a call that ended in an error left.
        batch.ids.clear();
        batch.awaited.clear();
        batch.look_up(text, cache);
        let mut at = 0;
        loop {
            at += batch.put_known(at, cache);
            if at == pieces {
                break;
            }
            let (start, end) = batch.boundaries.piece(at);
            put_any(self.encoding, cache, merger, &text[start..end], &batch.lookups[at], &mut batch.ids, interrupt)?;
            at += 1;
        }
        // Backwards, so that what lies in front of a gap stays where it is, should the gap have the wrong size.
        while let Some(Awaited { piece, at, record }) = batch.awaited.pop() {
            let (start, end) = batch.boundaries.piece(piece);
            if !cache.read(record, &text[start..end], &mut batch.ids[at..at + record.count]) {
                // Overwritten since, or another piece with the same key.
                let mut ids = Vec::new();
                put_any(self.encoding, cache, merger, &text[start..end], &batch.lookups[piece], &mut ids, interrupt)?;
                batch.ids.splice(at..at + record.count, ids);
            }
        }
        sink.put(&batch.ids);
        cache.grow_if_full();
        let bytes = batch.boundaries.bytes();
        self.check(bytes + pieces * self.encoding.pattern().work_of_a_piece(), interrupt)
    }

    /// Encodes one piece.
    pub fn encode_piece(&mut self, piece: &str, sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        self.check(piece.len() + self.encoding.pattern().work_of_a_piece(), interrupt)?;
        let Scratch { cache, merger, batch } = &mut *self.scratch;
        let (piece, ids) = (piece.as_bytes(), &mut batch.ids);
        ids.clear();
        let lookup = cache.reader().look_up(key_of(piece, 0, piece.len()));
        put_any(self.encoding, cache, merger, piece, &lookup, ids, interrupt)?;
        sink.put(ids);
        cache.grow_if_full();
        Ok(())
    }
}

impl Batch {
    /// Sends for the line of memory that may hold the ids of each piece.
    #[inline(always)]
    fn look_up(&mut self, text: &[u8], cache: &Cache) {
        let reader = cache.reader();
        for ((start, end), lookup) in self.boundaries.pieces().zip(&mut self.lookups) {
            *lookup = reader.look_up(key_of(text, start, end));
        }
    }

    /// Appends the ids of pieces from `first` on, until one is not in the cache, and returns how many were. For ids that
    /// are not in the line of memory itself it leaves room and sends for them.
    #[inline(always)]
    fn put_known(&mut self, first: usize, cache: &Cache) -> usize {
        let Batch { boundaries, lookups, ids, awaited } = self;
        let lookups = &lookups[first..boundaries.count()];
        let reader = cache.reader();
        let mut room = Room::new(ids, lookups.len());
        for (at, lookup) in lookups.iter().enumerate() {
            let Some(entry) = reader.get(lookup) else { return at };
            if entry.count() <= MOST_IDS {
                room.put(entry);
            } else if let Some(record) = cache.send_for(entry) {
                awaited.push(Awaited { piece: first + at, at: room.leave(record.count, lookups.len()), record });
            } else {
                return at;
            }
        }
        lookups.len()
    }
}

/// The end of a vector, with room for the ids of some more entries.
struct Room<'v> {
    ids: &'v mut Vec<TokenId>,
    end: *mut TokenId,
}

impl<'v> Room<'v> {
    fn new(ids: &'v mut Vec<TokenId>, entries: usize) -> Self {
        ids.reserve(entries * MOST_IDS);
        Room { end: ids.as_mut_ptr_range().end, ids }
    }

    /// At most as many entries as there is room for.
    #[inline(always)]
    fn put(&mut self, entry: Entry) {
        // SAFETY: there is room for four ids an entry, and no entry put so far had more.
        unsafe {
            self.end.cast::<[TokenId; MOST_IDS]>().write_unaligned(entry.places());
            self.end = self.end.add(entry.count());
        }
    }

    /// Leaves room for `count` ids, and again for `entries` behind them. Returns where the first of the ids goes.
    fn leave(&mut self, count: usize, entries: usize) -> usize {
        self.settle();
        let at = self.ids.len();
        self.ids.resize(at + count, 0);
        self.ids.reserve(entries * MOST_IDS);
        self.end = self.ids.as_mut_ptr_range().end;
        at
    }

    fn settle(&mut self) {
        // SAFETY: `end` is in the vector's memory, and all before it is written.
        unsafe {
            let length = self.end.offset_from(self.ids.as_ptr()) as usize;
            self.ids.set_len(length);
        }
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.settle();
    }
}

#[inline(always)]
fn key_of(text: &[u8], start: usize, end: usize) -> Key {
    if end - start <= LONGEST { Key::new(text, start, end - start) } else { Key::hashed(&text[start..end]) }
}

/// Appends the ids of any piece: from the cache, or else merged, and the cache keeps them.
#[inline(never)]
fn put_any(
    encoding: &Encoding,
    cache: &mut Cache,
    merger: &mut Merger,
    piece: &[u8],
    lookup: &Lookup,
    ids: &mut Vec<TokenId>,
    interrupt: &dyn Interrupt,
) -> Result<()> {
    if cache.find(lookup, piece, ids) {
        return Ok(());
    }
    let whole = encoding.whole_piece(piece);
    let merged = match &whole {
        Some(id) => std::slice::from_ref(id),
        None => merger.merge(encoding.pairs(), piece, interrupt)?,
    };
    ids.extend_from_slice(merged);
    cache.insert(lookup, piece, merged);
    Ok(())
}
