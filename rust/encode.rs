//! Documents -> ids: the four stages, composed.
//!
//! An [`Encoder`] is an encoding and a few [`Scratch`]es (a cache and buffers), one for each core. A
//! [`Session`] borrows one of them for as long as one thread encodes; when all are taken it brings
//! its own, without a cache. Nobody ever waits for a lock, so a forked child, whose copies of
//! the locks may stay taken for ever, cannot hang either.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::cache::{self, Cache};
use crate::encoding::{Encoding, TokenId, Vocabulary};
use crate::error::Result;
use crate::interrupt::{Interrupt, TEXT_BETWEEN_CHECKS};
use crate::merge::Merger;
use crate::special::{Segment, Special};

pub struct Encoder {
    encoding: Arc<Encoding>,
    scratches: Vec<Mutex<Scratch>>,
    cache_bytes: usize,
}

struct Scratch {
    cache: Cache,
    merger: Merger,
}

impl Scratch {
    fn new(cache_bytes: usize) -> Self {
        Scratch { cache: Cache::new(cache_bytes), merger: Merger::default() }
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
        let cache_bytes = cache_bytes.unwrap_or(cache::DEFAULT_BYTES * cores);
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
            Segment::Ordinary(part) => {
                encoding.pattern().pieces(part, |piece| self.encode_piece(piece.as_bytes(), sink, interrupt))
            }
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

    #[inline]
    pub fn encode_piece(&mut self, piece: &[u8], sink: &mut impl Sink, interrupt: &dyn Interrupt) -> Result<()> {
        self.check(piece.len() + self.encoding.pattern().work_of_a_piece(), interrupt)?;
        if let [byte] = piece {
            sink.put(&[self.encoding.byte_ids()[*byte as usize]]);
            return Ok(());
        }
        if let Some(id) = self.encoding.whole_piece(piece) {
            sink.put(&[id]);
            return Ok(());
        }
        let Scratch { cache, merger } = &mut *self.scratch;
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
}
