//! Documents -> ids: the four stages, composed.
//!
//! Pieces go through in batches: as one is found, the line of memory that may hold its ids is sent for, and a
//! batch later it is there (`table.rs`). What is in neither table nor cache is merged.
//!
//! An [`Encoder`] is an encoding and a few [`Scratch`]es (a cache and buffers), one for each core. A
//! [`Session`] borrows one of them for as long as one thread encodes; when all are taken it brings
//! its own, without a cache. Nobody ever waits for a lock, so a forked child, whose copies of
//! the locks may stay taken for ever, cannot hang either.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::cache::Cache;
use crate::encoding::{Encoding, TokenId, Vocabulary};
use crate::error::Result;
use crate::interrupt::{Interrupt, TEXT_BETWEEN_CHECKS};
use crate::merge::Merger;
use crate::special::{Segment, Special};
use crate::table::{self, Ids, Key, MOST_IDS, PieceTable};

/// What one thread may keep of merged pieces, where the caller names no budget: half for short pieces, half for
/// long ones. `rust/DESIGN.md` has the figures.
const DEFAULT_BYTES: usize = 8 << 20;

pub struct Encoder {
    encoding: Arc<Encoding>,
    tokens: PieceTable,
    scratches: Vec<Mutex<Scratch>>,
    cache_bytes: usize,
}

struct Scratch {
    /// Short pieces, then all others.
    short: PieceTable,
    cache: Cache,
    merger: Merger,
}

impl Scratch {
    fn new(cache_bytes: usize) -> Self {
        let half = cache_bytes / 2;
        Scratch { short: PieceTable::new(half), cache: Cache::new(half), merger: Merger::default() }
    }
}

/// Takes ids in the order of the text.
pub trait Sink {
    fn put(&mut self, ids: &[TokenId]);

    /// The ids of a short piece.
    #[inline]
    fn put_few(&mut self, ids: Ids) {
        self.put(&ids.places()[..ids.count()]);
    }

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

    #[inline(always)]
    fn put_few(&mut self, ids: Ids) {
        self.reserve(MOST_IDS);
        let length = self.len();
        // SAFETY: there is room for four more, all of them are written, and at most four count.
        unsafe {
            self.as_mut_ptr().add(length).cast::<[T; MOST_IDS]>().write_unaligned(ids.places().map(T::from_id));
            self.set_len(length + ids.count());
        }
    }
}

/// Counts tokens and builds nothing.
#[derive(Default)]
pub struct Count(pub usize);

impl Sink for Count {
    fn put(&mut self, ids: &[TokenId]) {
        self.0 += ids.len();
    }

    #[inline(always)]
    fn put_few(&mut self, ids: Ids) {
        self.0 += ids.count();
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
        let tokens = PieceTable::of_tokens(&encoding);
        Encoder { encoding, tokens, scratches, cache_bytes }
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
        Session { encoding: &self.encoding, tokens: &self.tokens, scratch, until_check: TEXT_BETWEEN_CHECKS as isize }
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
    tokens: &'e PieceTable,
    scratch: Borrowed<'e>,
    until_check: isize,
}

/// Pieces whose buckets are on their way from memory.
struct Batch<'t> {
    pieces: [&'t str; BATCH],
    keys: [Key; BATCH],
    places: [usize; BATCH],
    length: usize,
}

/// Enough to cover a trip to memory, few enough that what was fetched is still there.
const BATCH: usize = 32;

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
        let encoding = self.encoding;
        let tokens = self.tokens;
        let mut batch = Batch { pieces: [""; BATCH], keys: [Key::NONE; BATCH], places: [0; BATCH], length: 0 };
        encoding.pattern().pieces(part, |piece| {
            let at = batch.length;
            batch.pieces[at] = piece;
            if piece.len() <= table::LONGEST {
                let start = piece.as_ptr() as usize - part.as_ptr() as usize;
                let key = Key::new(part.as_bytes(), start, piece.len());
                let place = tokens.place(key);
                tokens.prefetch(place);
                (batch.keys[at], batch.places[at]) = (key, place);
            }
            batch.length += 1;
            if batch.length == BATCH { self.flush(&mut batch, sink, interrupt) } else { Ok(()) }
        })?;
        self.flush(&mut batch, sink, interrupt)
    }

    #[inline]
    fn flush(&mut self, batch: &mut Batch, sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        let length = std::mem::take(&mut batch.length);
        for at in 0..length {
            let piece = batch.pieces[at];
            self.until_check -= piece.len() as isize;
            if piece.len() <= table::LONGEST {
                if let Some(ids) = self.tokens.get(batch.places[at], batch.keys[at]) {
                    sink.put_few(ids);
                } else {
                    self.encode_short(piece, batch.keys[at], sink, interrupt)?;
                }
            } else {
                self.encode_long(piece, sink, interrupt)?;
            }
        }
        self.check(length * self.encoding.pattern().work_of_a_piece(), interrupt)
    }

    /// A short piece that is no token by itself.
    #[inline]
    fn encode_short(&mut self, piece: &str, key: Key, sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        let Scratch { short, merger, .. } = &mut *self.scratch;
        let place = short.place(key);
        if let Some(ids) = short.get(place, key) {
            sink.put_few(ids);
            return Ok(());
        }
        let encoding = self.encoding;
        // A token may have found no room in the table.
        let whole = encoding.whole_piece(piece.as_bytes());
        let ids = match &whole {
            Some(id) => std::slice::from_ref(id),
            None => merger.merge(encoding.pairs(), encoding.byte_ids(), piece.as_bytes(), interrupt)?,
        };
        sink.put(ids);
        if let Some(ids) = Ids::new(ids) {
            short.insert(place, key, ids);
        }
        Ok(())
    }

    fn encode_long(&mut self, piece: &str, sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        let piece = piece.as_bytes();
        if let Some(id) = self.encoding.whole_piece(piece) {
            sink.put(&[id]);
            return Ok(());
        }
        let Scratch { cache, merger, .. } = &mut *self.scratch;
        match cache.get(piece) {
            Ok(ids) => sink.put(ids),
            Err(place) => {
                let ids = merger.merge(self.encoding.pairs(), self.encoding.byte_ids(), piece, interrupt)?;
                sink.put(ids);
                if let Some(place) = place {
                    cache.insert(place, piece, ids);
                }
            }
        }
        Ok(())
    }

    /// Encodes one piece.
    pub fn encode_piece(&mut self, piece: &str, sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        self.check(piece.len() + self.encoding.pattern().work_of_a_piece(), interrupt)?;
        if piece.len() > table::LONGEST {
            return self.encode_long(piece, sink, interrupt);
        }
        let key = Key::new(piece.as_bytes(), 0, piece.len());
        match self.tokens.get(self.tokens.place(key), key) {
            Some(ids) => sink.put_few(ids),
            None => self.encode_short(piece, key, sink, interrupt)?,
        }
        Ok(())
    }
}
