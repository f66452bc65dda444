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
    /// Special, and made by merges too.
    SpecialOrdinary,
    /// Neither made by merges nor special; its bytes are its literal.
    Literal,
}

impl Kind {
    pub fn is_special(self) -> bool {
        matches!(self, Kind::Special | Kind::SpecialOrdinary)
    }

    fn is_ordinary(self) -> bool {
        matches!(self, Kind::Ordinary | Kind::SpecialOrdinary)
    }
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
    /// Made when it is first asked for; encoding does not.
    index: OnceLock<Index>,
}

/// The ordinary tokens by their bytes.
struct Index {
    ids: HashTable<TokenId>,
    hasher: DefaultHashBuilder,
}

impl Vocabulary {
    /// Each id has one token; that each token has one id is seen by [`Vocabulary::check_distinct`].
    ///
    /// `others` are tokens that are neither. `None` says that there can be none, and that no special token is an ordinary
    /// one too.
    pub(super) fn new(
        source: &str,
        tokens: &Tokens,
        specials: &SpecialTokens,
        others: Option<&[(String, TokenId)]>,
    ) -> Result<Self> {
        let may_share = others.is_some();
        let others = others.unwrap_or_default().iter().map(|(literal, id)| (literal.as_str(), *id));
        let literals: Vec<(&str, TokenId)> = specials.iter().chain(others).collect();
        let highest = tokens.ids().iter().copied().chain(literals.iter().map(|(_, id)| *id)).max();
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
        for (&(literal, id), place) in literals.iter().zip(0..) {
            let is_special = (place as usize) < specials.len();
            let kind = &mut kinds[id as usize];
            if *kind == Kind::Hole {
                *kind = if is_special { Kind::Special } else { Kind::Literal };
                places[id as usize] = place;
            } else if kind.is_ordinary() {
                let token = tokens.get(places[id as usize] as usize).1;
                if !may_share || token != literal.as_bytes() {
                    let (token, literal) = (show_bytes(token), quote(literal));
                    let message =
                        format!("special token {literal} has the id {id}, which the token {token} has already");
                    return Err(Error::file(message));
                }
                if is_special {
                    *kind = Kind::SpecialOrdinary;
                }
            } // two literals may share an id: the first is its text
        }

        let total = tokens.total() + literals.iter().map(|(literal, _)| literal.len()).sum::<usize>();
        if total > MOST_BYTES {
            let message = format!("{source}: the tokens have {total} bytes together, expected at most {MOST_BYTES}");
            return Err(Error::file(message));
        }
        let mut longest = literals.iter().map(|(literal, _)| literal.len()).max().unwrap_or(0);
        let mut bytes = vec![0; total + PADDING];
        let mut starts = Vec::with_capacity(size + 1);
        let mut end = 0;
        for (kind, &place) in kinds.iter().zip(&places) {
            starts.push(end as u32);
            let length = match kind {
                Kind::Hole => 0,
                Kind::Ordinary | Kind::SpecialOrdinary => tokens.write(place as usize, &mut bytes[end..]),
                Kind::Special | Kind::Literal => {
                    let literal = literals[place as usize].0.as_bytes();
                    bytes[end..end + literal.len()].copy_from_slice(literal);
                    literal.len()
                }
            };
            longest = longest.max(length);
            end += length;
        }
        starts.push(end as u32);
        // Of several literals with one id, the first alone is in there.
        bytes.truncate(end + PADDING);
        bytes[end..].fill(0);
        Ok(Vocabulary { bytes, starts, kinds, longest, index: OnceLock::new() })
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
        self.kind(id)?.is_ordinary().then(|| self.slice(id))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_lie_by_id_and_zeros_behind_them() {
        let tokens: Tokens = [(4, "a token of many bytes"), (0, "b"), (2, "cd")].into_iter().collect();
        let specials = [("<x>", 3), ("<y>", 3), ("<long one>", 6), ("<!>", 6)];
        let specials = SpecialTokens::new(specials.map(|(literal, id)| (literal.to_owned(), id)).to_vec()).unwrap();
        let vocabulary = Vocabulary::new("test", &tokens, &specials, None).unwrap();
        assert_eq!(vocabulary.bytes(), [&b"bcd<x>a token of many bytes<!>"[..], &[0; PADDING]].concat());
        assert_eq!(vocabulary.starts(), [0, 1, 1, 3, 6, 27, 27, 30]);
        let shown = vocabulary.kinds().iter().map(|kind| match kind {
            Kind::Hole => '.',
            Kind::Ordinary => 'o',
            Kind::Special => 's',
            Kind::SpecialOrdinary => 'S',
            Kind::Literal => 'l',
        });
        assert_eq!(shown.collect::<String>(), "o.oso.s");
        assert_eq!((vocabulary.size(), vocabulary.longest()), (7, 21));
        assert_eq!(vocabulary.token_bytes(3), Some(&b"<x>"[..]));
        assert_eq!((vocabulary.id(b"cd"), vocabulary.id(b"<x>"), vocabulary.id(b"")), (Some(2), None, None));
        assert_eq!(vocabulary.check_distinct("test"), Ok(()));
    }

    #[test]
    fn one_token_with_two_ids_is_found() {
        let tokens: Tokens = [(7, "x"), (1, "y"), (5, "x"), (9, "y")].into_iter().collect();
        let vocabulary = Vocabulary::new("test", &tokens, &SpecialTokens::new(vec![]).unwrap(), None).unwrap();
        let error = vocabulary.check_distinct("test").unwrap_err();
        assert_eq!(error.to_string(), "test: the ids 5 and 7 have the same token b\"x\"");
    }
}
