//! Where ids go, and what they are stored as.

use crate::encoding::{TokenId, Vocabulary};
use crate::pages;

/// An id as memory stores it (nothing but an integer): `u16` where every id of the vocabulary fits, else `u32`.
pub trait Token: Copy + Default + PartialEq + Send + 'static {
    /// `id` fits: the type was chosen by the size of the vocabulary.
    fn from_id(id: TokenId) -> Self;

    fn id(self) -> TokenId;
}

impl Token for u16 {
    fn from_id(id: TokenId) -> Self {
        id as u16
    }

    fn id(self) -> TokenId {
        self.into()
    }
}

impl Token for u32 {
    fn from_id(id: TokenId) -> Self {
        id
    }

    fn id(self) -> TokenId {
        self
    }
}

/// The memory of ids.
#[inline(always)]
pub fn bytes<T: Token>(ids: &[T]) -> &[u8] {
    // SAFETY: the same memory; a `Token` is an integer, all of it bytes.
    unsafe { std::slice::from_raw_parts(ids.as_ptr().cast(), size_of_val(ids)) }
}

#[inline(always)]
pub fn bytes_mut<T: Token>(ids: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and any bytes are integers.
    unsafe { std::slice::from_raw_parts_mut(ids.as_mut_ptr().cast(), size_of_val(ids)) }
}

/// Takes ids in the order of the text.
pub trait Sink {
    fn put<T: Token>(&mut self, ids: &[T]);

    /// A special token, whose literal has `length` bytes.
    fn put_special(&mut self, id: TokenId, _length: usize) {
        self.put(&[id]);
    }
}

/// With room for the ids of so much text, enough for nearly any; what is not used is never touched.
pub fn with_room<T: Token>(bytes: usize) -> Vec<T> {
    let mut ids = Vec::new();
    if ids.try_reserve_exact(bytes / 2 + 8).is_ok() {
        pages::advise_huge(ids.spare_capacity_mut());
    }
    ids
}

impl<T: Token> Sink for Vec<T> {
    #[inline]
    fn put<U: Token>(&mut self, ids: &[U]) {
        if self.capacity() - self.len() < ids.len() {
            self.reserve(ids.len());
            pages::advise_huge(self.spare_capacity_mut());
        }
        self.extend(ids.iter().map(|&id| T::from_id(id.id())));
    }
}

/// Counts tokens and builds nothing.
#[derive(Default)]
pub struct Count(pub usize);

impl Sink for Count {
    fn put<T: Token>(&mut self, ids: &[T]) {
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
    fn put<T: Token>(&mut self, ids: &[T]) {
        for id in ids {
            let id = id.id();
            self.push(id, self.vocabulary.token_bytes(id).map_or(0, <[u8]>::len));
        }
    }

    // Two literals may share an id, so the id does not tell the length.
    fn put_special(&mut self, id: TokenId, length: usize) {
        self.push(id, length);
    }
}
