//! Token ids and their bytes, in both directions.
//!
//! All bytes lie in one buffer, by id; a hash table of ids, which compares against that buffer,
//! leads back. Special tokens have ids and bytes but are not found by their bytes: no merge makes them.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use super::{MAX_ID, TokenId};
use crate::error::{Error, Result, quote, show_bytes};
use crate::special::SpecialTokens;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Hole,
    Ordinary,
    Special,
}

pub struct Vocabulary {
    bytes: Vec<u8>,
    /// Bytes of id: `bytes[starts[id]..starts[id + 1]]`.
    starts: Vec<usize>,
    kinds: Vec<Kind>,
    by_bytes: HashTable<TokenId>,
    hasher: DefaultHashBuilder,
    longest: usize,
}

impl Vocabulary {
    pub(super) fn new(source: &str, tokens: &[(TokenId, Vec<u8>)], specials: &SpecialTokens) -> Result<Self> {
        let highest = tokens.iter().map(|(id, _)| *id).chain(specials.iter().map(|(_, id)| id)).max();
        let size = match highest {
            Some(id) if id > MAX_ID => {
                return Err(Error::file(format!("{source}: a token has the id {id}, expected at most {MAX_ID}")));
            }
            Some(id) => id as usize + 1,
            None => 0,
        };
        let mut by_id: Vec<(Kind, &[u8])> = vec![(Kind::Hole, &[]); size];
        for (id, bytes) in tokens {
            if bytes.is_empty() {
                return Err(Error::file(format!("{source}: the token with the id {id} is empty")));
            }
            let (kind, first) = &mut by_id[*id as usize];
            if *kind != Kind::Hole {
                let (first, bytes) = (show_bytes(first), show_bytes(bytes));
                return Err(Error::file(format!("{source}: the tokens {first} and {bytes} have the same id {id}")));
            }
            by_id[*id as usize] = (Kind::Ordinary, bytes);
        }
        for (literal, id) in specials.iter() {
            let (kind, bytes) = by_id[id as usize];
            match kind {
                Kind::Hole => by_id[id as usize] = (Kind::Special, literal.as_bytes()),
                Kind::Special => {} // two literals may share an id: the first is its text
                Kind::Ordinary => {
                    let (literal, token) = (quote(literal), show_bytes(bytes));
                    let message =
                        format!("special token {literal} has the id {id}, which the token {token} has already");
                    return Err(Error::file(message));
                }
            }
        }
        let mut vocabulary = Self::index(source, &by_id)?;
        let literals = specials.iter().map(|(literal, _)| literal.len());
        vocabulary.longest = literals.chain(by_id.iter().map(|(_, bytes)| bytes.len())).max().unwrap_or(0);
        Ok(vocabulary)
    }

    fn index(source: &str, by_id: &[(Kind, &[u8])]) -> Result<Self> {
        let mut vocabulary = Vocabulary {
            bytes: Vec::with_capacity(by_id.iter().map(|(_, bytes)| bytes.len()).sum()),
            starts: Vec::with_capacity(by_id.len() + 1),
            kinds: by_id.iter().map(|(kind, _)| *kind).collect(),
            by_bytes: HashTable::with_capacity(by_id.len()),
            hasher: DefaultHashBuilder::default(),
            longest: 0,
        };
        for (_, bytes) in by_id {
            vocabulary.starts.push(vocabulary.bytes.len());
            vocabulary.bytes.extend_from_slice(bytes);
        }
        vocabulary.starts.push(vocabulary.bytes.len());

        let Vocabulary { bytes, starts, by_bytes, hasher, .. } = &mut vocabulary;
        let of = |id: TokenId| &bytes[starts[id as usize]..starts[id as usize + 1]];
        for ((kind, token), id) in by_id.iter().zip(0..) {
            if *kind != Kind::Ordinary {
                continue;
            }
            let hash = hasher.hash_one(*token);
            if let Some(first) = by_bytes.find(hash, |&other| of(other) == *token) {
                let token = show_bytes(token);
                return Err(Error::file(format!("{source}: the ids {first} and {id} have the same token {token}")));
            }
            by_bytes.insert_unique(hash, id, |&other| hasher.hash_one(of(other)));
        }
        Ok(vocabulary)
    }

    /// Highest id + 1, special tokens included.
    pub fn size(&self) -> usize {
        self.kinds.len()
    }

    /// Bytes of the longest token or literal.
    pub fn longest(&self) -> usize {
        self.longest
    }

    pub fn kind(&self, id: TokenId) -> Option<Kind> {
        self.kinds.get(id as usize).copied()
    }

    /// The bytes of any token; `None` for a hole or an id out of range.
    #[inline]
    pub fn token_bytes(&self, id: TokenId) -> Option<&[u8]> {
        match self.kind(id)? {
            Kind::Hole => None,
            _ => Some(self.slice(id)),
        }
    }

    pub fn ordinary_bytes(&self, id: TokenId) -> Option<&[u8]> {
        (self.kind(id)? == Kind::Ordinary).then(|| self.slice(id))
    }

    #[inline]
    fn slice(&self, id: TokenId) -> &[u8] {
        &self.bytes[self.starts[id as usize]..self.starts[id as usize + 1]]
    }

    /// The ordinary token with these bytes.
    pub fn id(&self, bytes: &[u8]) -> Option<TokenId> {
        self.by_bytes.find(self.hasher.hash_one(bytes), |&id| self.slice(id) == bytes).copied()
    }

    /// Ordinary tokens in increasing id order.
    pub fn ordinary(&self) -> impl Iterator<Item = (TokenId, &[u8])> {
        (0..self.size() as TokenId).filter_map(|id| Some((id, self.ordinary_bytes(id)?)))
    }
}
