//! Token ids and their bytes, in both directions.
//!
//! All bytes lie in one buffer, by id, and a word for each id says where. The way back, a hash table of ids that
//! compares against that buffer, is made when it is first asked for: to encode by pairs it is not needed, and making
//! it takes longer than all else here. Special tokens have ids and bytes but are not found by their bytes: no
//! merge makes them.

use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};
use std::hash::BuildHasher;
use std::sync::OnceLock;

use super::{MAX_ID, TokenId, Tokens};
use crate::error::{Error, Result, quote, show_bytes};
use crate::special::SpecialTokens;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Hole,
    Ordinary,
    Special,
}

/// Zeros behind the last token, so that a copy of a token's first bytes may have this length whatever the token's.
pub const PADDING: usize = 16;

/// The most bytes that all tokens together may have: where a token starts is a word of 32 bits.
const MOST_BYTES: usize = u32::MAX as usize - PADDING;

pub struct Vocabulary {
    /// The tokens by id, then [`PADDING`].
    bytes: Vec<u8>,
    /// Bytes of id: `bytes[starts[id]..starts[id + 1]]`.
    starts: Vec<u32>,
    kinds: Vec<Kind>,
    longest: usize,
    index: OnceLock<Index>,
}

/// The ordinary tokens by their bytes.
struct Index {
    ids: HashTable<TokenId>,
    hasher: DefaultHashBuilder,
}

impl Vocabulary {
    /// Each id has one token; that each token has one id is seen by [`Vocabulary::check_distinct`].
    pub(super) fn new(source: &str, tokens: &Tokens, specials: &SpecialTokens) -> Result<Self> {
        let highest = tokens.iter().map(|(id, _)| id).chain(specials.iter().map(|(_, id)| id)).max();
        let size = match highest {
            Some(id) if id > MAX_ID => {
                return Err(Error::file(format!("{source}: a token has the id {id}, expected at most {MAX_ID}")));
            }
            Some(id) => id as usize + 1,
            None => 0,
        };
        let mut kinds = vec![Kind::Hole; size];
        // The place of an id's bytes: among the tokens or among the special tokens.
        let mut places = vec![0u32; size];
        for ((id, bytes), place) in tokens.iter().zip(0..) {
            if bytes.is_empty() {
                return Err(Error::file(format!("{source}: the token with the id {id} is empty")));
            }
            let kind = &mut kinds[id as usize];
            if *kind != Kind::Hole {
                let first = show_bytes(tokens.get(places[id as usize] as usize).1);
                let bytes = show_bytes(bytes);
                return Err(Error::file(format!("{source}: the tokens {first} and {bytes} have the same id {id}")));
            }
            *kind = Kind::Ordinary;
            places[id as usize] = place;
        }
        let literals: Vec<&str> = specials.iter().map(|(literal, _)| literal).collect();
        for ((literal, id), place) in specials.iter().zip(0..) {
            match kinds[id as usize] {
                Kind::Hole => {
                    kinds[id as usize] = Kind::Special;
                    places[id as usize] = place;
                }
                Kind::Special => {} // two literals may share an id: the first is its text
                Kind::Ordinary => {
                    let token = show_bytes(tokens.get(places[id as usize] as usize).1);
                    let literal = quote(literal);
                    let message =
                        format!("special token {literal} has the id {id}, which the token {token} has already");
                    return Err(Error::file(message));
                }
            }
        }

        let lengths = || tokens.iter().map(|(_, bytes)| bytes.len()).chain(literals.iter().map(|text| text.len()));
        let total: usize = lengths().sum();
        if total > MOST_BYTES {
            let message = format!("{source}: the tokens have {total} bytes together, expected at most {MOST_BYTES}");
            return Err(Error::file(message));
        }
        let mut bytes = Vec::with_capacity(total + PADDING);
        let mut starts = Vec::with_capacity(size + 1);
        for (kind, &place) in kinds.iter().zip(&places) {
            starts.push(bytes.len() as u32);
            match kind {
                Kind::Hole => {}
                Kind::Ordinary => bytes.extend_from_slice(tokens.get(place as usize).1),
                Kind::Special => bytes.extend_from_slice(literals[place as usize].as_bytes()),
            }
        }
        starts.push(bytes.len() as u32);
        bytes.extend([0; PADDING]);
        Ok(Vocabulary { bytes, starts, kinds, longest: lengths().max().unwrap_or(0), index: OnceLock::new() })
    }

    /// Two ids of one token are an error.
    pub(super) fn check_distinct(&self, source: &str) -> Result<()> {
        let (index, repeated) = self.make_index();
        if let Some((first, second)) = repeated {
            let token = show_bytes(self.slice(second));
            return Err(Error::file(format!("{source}: the ids {first} and {second} have the same token {token}")));
        }
        self.index.get_or_init(|| index);
        Ok(())
    }

    /// The index, and the first two ids that have the same token.
    fn make_index(&self) -> (Index, Option<(TokenId, TokenId)>) {
        let (mut ids, hasher) = (HashTable::with_capacity(self.size()), DefaultHashBuilder::default());
        let mut repeated = None;
        for (id, token) in self.ordinary() {
            let hash = |&id: &TokenId| hasher.hash_one(self.slice(id));
            match ids.entry(hasher.hash_one(token), |&other| self.slice(other) == token, hash) {
                Entry::Vacant(place) => {
                    place.insert(id);
                }
                Entry::Occupied(first) => repeated = repeated.or(Some((*first.get(), id))),
            }
        }
        (Index { ids, hasher }, repeated)
    }

    /// Highest id + 1, special tokens included.
    pub fn size(&self) -> usize {
        self.kinds.len()
    }

    /// Bytes of the longest token or literal.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The bytes of all tokens by id, and [`PADDING`] behind them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the token of each id starts in [`Vocabulary::bytes`], and at last where the padding does.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// By id.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
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

    #[inline]
    pub fn ordinary_bytes(&self, id: TokenId) -> Option<&[u8]> {
        (self.kind(id)? == Kind::Ordinary).then(|| self.slice(id))
    }

    #[inline]
    fn slice(&self, id: TokenId) -> &[u8] {
        &self.bytes[self.starts[id as usize] as usize..self.starts[id as usize + 1] as usize]
    }

    /// The ordinary token with these bytes.
    pub fn id(&self, bytes: &[u8]) -> Option<TokenId> {
        let Index { ids, hasher } = self.index.get_or_init(|| self.make_index().0);
        ids.find(hasher.hash_one(bytes), |&id| self.slice(id) == bytes).copied()
    }

    /// Ordinary tokens in increasing id order.
    pub fn ordinary(&self) -> impl Iterator<Item = (TokenId, &[u8])> {
        (0..self.size() as TokenId).filter_map(|id| Some((id, self.ordinary_bytes(id)?)))
    }
}
