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
use crate::pretokenize::Boundaries;
use crate::special::{Segment, Special};
use crate::table::{Key, LONGEST, MOST_IDS};

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
    keys: [Key; Boundaries::MOST_PIECES],
    hashes: [u64; Boundaries::MOST_PIECES],
    ids: Vec<TokenId>,
    /// Ids that have been sent for: the piece, where among `ids` room is left for them, and where they are.
    awaited: Vec<(usize, usize, Record)>,
}

impl Scratch {
    fn new(cache_bytes: usize) -> Self {
        let batch = Batch {
            boundaries: Boundaries::default(),
            keys: [Key::NONE; Boundaries::MOST_PIECES],
            hashes: [0; Boundaries::MOST_PIECES],
            ids: Vec::new(),
            awaited: Vec::new(),
        };
        Scratch { cache: Cache::new(cache_bytes), merger: Merger::default(), batch: Box::new(batch) }
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
        let scratches = (0..cores).map(|_| Mutex::new(Scratch::new(cache_bytes / cores))).collect();
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
                *guard = Scratch::new(self.cache_bytes / self.scratches.len());
                Some(guard)
            }
        });
        let scratch = free.map_or_else(|| Borrowed::Own(Box::new(Scratch::new(0))), Borrowed::Shared);
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
        let Batch { boundaries, keys, hashes, ids, awaited } = &mut **batch;
        // What a call that ended in an error left.
        ids.clear();
        awaited.clear();
        for (((start, end), key), hash) in boundaries.pieces().zip(&mut *keys).zip(&mut *hashes) {
            *key = key_of(text, start, end);
            *hash = key.hash();
            cache.prefetch(*hash);
        }
        for (number, (((start, end), key), hash)) in boundaries.pieces().zip(&*keys).zip(&*hashes).enumerate() {
            match cache.get(*hash, *key) {
                Some(entry) if entry.count() <= MOST_IDS => entry.append_to(ids),
                entry => match entry.and_then(|entry| cache.send_for(entry)) {
                    Some(record) => {
                        awaited.push((number, ids.len(), record));
                        ids.resize(ids.len() + record.count, 0);
                    }
                    None => put_any(self.encoding, cache, merger, &text[start..end], *key, *hash, ids, interrupt)?,
                },
            }
        }
        // Backwards, so that what lies in front of a gap stays where it is, should the gap have the wrong size.
        while let Some((number, at, record)) = awaited.pop() {
            let (start, end) = boundaries.piece(number);
            let gap = &mut ids[at..at + record.count];
            if let Some(found) = cache.read(record, &text[start..end]) {
                gap.iter_mut().zip(found).for_each(|(place, id)| *place = id);
            } else {
                // Overwritten since, or another piece with the same hash.
                let mut found = Vec::new();
                let (key, hash) = (keys[number], hashes[number]);
                put_any(self.encoding, cache, merger, &text[start..end], key, hash, &mut found, interrupt)?;
                ids.splice(at..at + record.count, found);
            }
        }
        sink.put(ids);
        let pieces = boundaries.count();
        if pieces == 0 {
            // A long one has not ended yet.
            return interrupt.check();
        }
        let bytes = boundaries.bytes();
        self.check(bytes + pieces * self.encoding.pattern().work_of_a_piece(), interrupt)
    }

    /// Encodes one piece.
    pub fn encode_piece(&mut self, piece: &str, sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        self.check(piece.len() + self.encoding.pattern().work_of_a_piece(), interrupt)?;
        let Scratch { cache, merger, batch } = &mut *self.scratch;
        let (piece, ids) = (piece.as_bytes(), &mut batch.ids);
        let key = key_of(piece, 0, piece.len());
        ids.clear();
        put_any(self.encoding, cache, merger, piece, key, key.hash(), ids, interrupt)?;
        sink.put(ids);
        Ok(())
    }
}

#[inline(always)]
fn key_of(text: &[u8], start: usize, end: usize) -> Key {
    if end - start <= LONGEST { Key::new(text, start, end - start) } else { Key::hashed(&text[start..end]) }
}

/// Appends the ids of any piece: from the cache, or else merged, and the cache keeps them.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
fn put_any(
    encoding: &Encoding,
    cache: &mut Cache,
    merger: &mut Merger,
    piece: &[u8],
    key: Key,
    hash: u64,
    ids: &mut Vec<TokenId>,
    interrupt: &dyn Interrupt,
) -> Result<()> {
    if cache.find(hash, key, piece, ids) {
        return Ok(());
    }
    let whole = encoding.whole_piece(piece);
    let merged = match &whole {
        Some(id) => std::slice::from_ref(id),
        None => merger.merge(encoding.pairs(), piece, interrupt)?,
    };
    ids.extend_from_slice(merged);
    cache.insert(hash, key, piece, merged);
    Ok(())
}
