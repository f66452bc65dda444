//! Tokens on their way into a vocabulary: ids, and all bytes in one buffer.
//!
//! Sources have tens or hundreds of thousands of tokens of a few bytes each; an allocation for each would cost
//! more than all else in loading them.

use super::TokenId;

/// Most tokens are no longer. To move so many bytes, whatever the token's length, takes a few instructions; to move
/// as many as it has takes a call.
const CHUNK: usize = 16;

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
            let (start, end, at) = (self.start(part), self.ends[part], self.bytes.len());
            if end - start <= CHUNK {
                self.bytes.extend_from_slice(&[0; CHUNK]);
                self.bytes.copy_within(start..start + CHUNK, at);
                self.bytes.truncate(at + end - start);
            } else {
                self.bytes.extend_from_within(start..end);
            }
        }
        self.end(id);
    }

    /// Writes the bytes of the token at `at` to the front of `place`, and gives their length. Behind them, but in the
    /// first 16 bytes, anything may be written.
    #[inline]
    pub fn write(&self, at: usize, place: &mut [u8]) -> usize {
        let (start, end) = (self.start(at), self.ends[at]);
        let length = end - start;
        match (self.bytes[start..].first_chunk::<CHUNK>(), place.first_chunk_mut::<CHUNK>()) {
            (Some(bytes), Some(place)) if length <= CHUNK => *place = *bytes,
            _ => place[..length].copy_from_slice(&self.bytes[start..end]),
        }
        length
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
        let mut start = 0;
        self.ids.iter().zip(&self.ends).map(move |(&id, &end)| {
            let token = &self.bytes[start..end];
            start = end;
            (id, token)
        })
    }

    pub fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// Bytes of all tokens together.
    pub fn total(&self) -> usize {
        self.bytes.len()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_and_written_whatever_the_length() {
        let mut tokens: Tokens = [(9, "a"), (3, "bc")].into_iter().collect();
        let mut expected = vec![b"a".to_vec(), b"bc".to_vec()];
        for (left, right) in [(0, 1), (2, 2), (3, 1), (4, 4), (5, 0), (6, 5), (0, 0)] {
            expected.push([&expected[left][..], &expected[right]].concat());
            tokens.push_joined(tokens.len() as TokenId, left, right);
        }
        assert_eq!(tokens.total(), expected.iter().map(Vec::len).sum::<usize>());
        for (at, bytes) in expected.iter().enumerate() {
            assert_eq!(tokens.get(at).1, bytes);
            for room in [bytes.len(), 80] {
                let mut place = vec![7; room];
                assert_eq!(tokens.write(at, &mut place), bytes.len());
                assert_eq!(place[..bytes.len()], *bytes);
                assert!(place[CHUNK.max(bytes.len()).min(room)..].iter().all(|&byte| byte == 7));
            }
        }
        assert_eq!(tokens.iter().collect::<Vec<_>>(), (0..tokens.len()).map(|at| tokens.get(at)).collect::<Vec<_>>());
        let sorted = tokens.clone().sorted();
        let mut in_order: Vec<_> = tokens.iter().collect();
        in_order.sort();
        assert_eq!(sorted.iter().collect::<Vec<_>>(), in_order);
    }
}
