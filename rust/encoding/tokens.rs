//! Tokens on their way into a vocabulary: ids, and all bytes in one buffer.
//!
//! Sources have tens or hundreds of thousands of tokens of a few bytes each; an allocation for each would cost
//! more than all else in loading them.

use super::TokenId;

/// In the order given; nothing is checked yet.
#[derive(Clone, Default, Debug)]
pub struct Tokens {
    ids: Vec<TokenId>,
    bytes: Vec<u8>,
    /// Where the bytes of each token end; those of the next begin there.
    ends: Vec<usize>,
}

impl Tokens {
    pub fn with_capacity(tokens: usize, bytes: usize) -> Self {
        Tokens { ids: Vec::with_capacity(tokens), bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(tokens) }
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn push(&mut self, id: TokenId, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.end(id);
    }

    /// A token of the bytes of two that are here already, named by their places.
    pub fn push_joined(&mut self, id: TokenId, left: usize, right: usize) {
        for part in [left, right] {
            self.bytes.extend_from_within(self.start(part)..self.ends[part]);
        }
        self.end(id);
    }

    fn end(&mut self, id: TokenId) {
        self.ids.push(id);
        self.ends.push(self.bytes.len());
    }

    #[inline]
    fn start(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.ends[at - 1] }
    }

    /// The id and the bytes of the token at `at`.
    #[inline]
    pub fn get(&self, at: usize) -> (TokenId, &[u8]) {
        (self.ids[at], &self.bytes[self.start(at)..self.ends[at]])
    }

    pub fn iter(&self) -> impl Iterator<Item = (TokenId, &[u8])> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// By id, and by bytes where ids are the same.
    pub fn sorted(self) -> Self {
        if self.ids.is_sorted_by(|a, b| a < b) {
            return self;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by_key(|&at| self.get(at));
        let mut sorted = Tokens::with_capacity(self.len(), self.bytes.len());
        for at in order {
            let (id, bytes) = self.get(at);
            sorted.push(id, bytes);
        }
        sorted
    }
}

impl<B: AsRef<[u8]>> FromIterator<(TokenId, B)> for Tokens {
    fn from_iter<I: IntoIterator<Item = (TokenId, B)>>(items: I) -> Self {
        let mut tokens = Tokens::default();
        items.into_iter().for_each(|(id, bytes)| tokens.push(id, bytes.as_ref()));
        tokens
    }
}
