//! Encodings that rank the bytes of tokens (tiktoken's files): checks, and their pair rules.

use super::{Encoding, MAX_ID, Parts, Rules, TokenId, Tokens, Vocabulary};
use crate::error::{Error, Result, show_bytes};
use crate::interrupt::Never;
use crate::merge::Merger;
use crate::pair_table::PairTable;

/// Tokens and their ranks in the order given.
#[derive(Default)]
pub struct Ranks {
    tokens: Tokens,
    /// Of the first that cannot be; what comes after it does not matter.
    fault: Option<Error>,
}

impl Ranks {
    pub fn push(&mut self, token: &[u8], rank: i128) {
        if self.fault.is_some() {
            return;
        }
        if token.is_empty() {
            self.fault = Some(Error::file(format!("ranks: the empty token has the rank {rank}")));
            return;
        }
        match TokenId::try_from(rank) {
            Ok(id) if id <= MAX_ID => self.tokens.push(id, token),
            _ => {
                let token = show_bytes(token);
                let message = format!("ranks: the token {token} has the rank {rank}, expected 0 to {MAX_ID}");
                self.fault = Some(Error::file(message));
            }
        }
    }
}

impl<B: AsRef<[u8]>> FromIterator<(B, i128)> for Ranks {
    fn from_iter<I: IntoIterator<Item = (B, i128)>>(items: I) -> Self {
        let mut ranks = Ranks::default();
        items.into_iter().for_each(|(token, rank)| ranks.push(token.as_ref(), rank));
        ranks
    }
}

/// A rank is also the token's id. Gaps are allowed.
pub fn from_ranks(
    name: String,
    pattern: String,
    ranks: Ranks,
    special_tokens: Vec<(String, TokenId)>,
) -> Result<Encoding> {
    if let Some(fault) = ranks.fault {
        return Err(fault);
    }
    let tokens = ranks.tokens.sorted();
    for at in 1..tokens.len() {
        let ((rank, first), (other, second)) = (tokens.get(at - 1), tokens.get(at));
        if rank == other {
            let (first, second) = (show_bytes(first), show_bytes(second));
            return Err(Error::file(format!("ranks: the tokens {first} and {second} have the same rank {rank}")));
        }
    }
    Encoding::new("ranks", Parts { name, pattern, tokens, rules: Rules::TokenBytes, special_tokens })
}

/// Bytes of a token that is long.
const LONG: usize = 64;

/// The one way to split each token into two that merging can meet (`rust/DESIGN.md`, the lemma on splits): the last
/// two symbols of its own bytes. They are shorter than the token, and so are all that come before them. And the tokens of which
/// more than two symbols are left, so that no merges make them.
pub(super) fn pair_table(vocabulary: &Vocabulary, byte_ids: &[TokenId; 256]) -> (PairTable, Vec<TokenId>) {
    // By length: each in its place of these, and the long ones sorted.
    let mut by_length = vec![Vec::new(); LONG + 1];
    for (id, bytes) in vocabulary.ordinary().filter(|(_, bytes)| bytes.len() > 1) {
        by_length[bytes.len().min(LONG)].push((bytes.len(), id));
    }
    by_length[LONG].sort_unstable();
    let by_rank = vocabulary.ordinary().filter(|(_, bytes)| bytes.len() > 1).map(|(id, _)| id);
    let mut pairs = PairTable::new(by_rank, byte_ids, vocabulary);
    let (mut merger, mut unmade) = (Merger::default(), Vec::new());
    for (_, id) in by_length.into_iter().flatten() {
        let bytes = vocabulary.ordinary_bytes(id).unwrap_or_default();
        match merger.merge(&pairs, bytes, &Never) {
            Ok(&[left, right]) => pairs.insert(left, right, id, vocabulary),
            _ => unmade.push(id),
        }
    }
    (pairs, unmade)
}
