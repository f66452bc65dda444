//! Encodings that rank the bytes of tokens (tiktoken's files): checks, and their pair rules.

use super::{Encoding, MAX_ID, Parts, Rank, Rules, TokenId, Vocabulary};
use crate::error::{Error, Result, show_bytes};
use crate::pair_table::Rule;

/// `ranks` in the order given; a rank is also the token's id. Gaps are allowed.
pub fn from_ranks(
    name: String,
    pattern: String,
    ranks: Vec<(Vec<u8>, i128)>,
    special_tokens: Vec<(String, TokenId)>,
) -> Result<Encoding> {
    let mut tokens = Vec::with_capacity(ranks.len());
    for (bytes, rank) in ranks {
        if bytes.is_empty() {
            return Err(Error::file(format!("ranks: the empty token has the rank {rank}")));
        }
        match TokenId::try_from(rank) {
            Ok(id) if id <= MAX_ID => tokens.push((id, bytes)),
            _ => {
                let token = show_bytes(&bytes);
                let message = format!("ranks: the token {token} has the rank {rank}, expected 0 to {MAX_ID}");
                return Err(Error::file(message));
            }
        }
    }
    tokens.sort();
    for pair in tokens.windows(2) {
        if pair[0].0 == pair[1].0 {
            let (first, second, rank) = (show_bytes(&pair[0].1), show_bytes(&pair[1].1), pair[0].0);
            return Err(Error::file(format!("ranks: the tokens {first} and {second} have the same rank {rank}")));
        }
    }
    Encoding::new("ranks", Parts { name, pattern, tokens, rules: Rules::TokenBytes, special_tokens })
}

/// Every way to split a token into two tokens is a rule that makes it.
pub fn split_rules(vocabulary: &Vocabulary) -> Vec<Rule> {
    let mut rules = Vec::new();
    // Where no token has the length of a part, the part is none: a token of a megabyte has few cuts to try.
    let mut is_length = vec![false; vocabulary.longest() + 1];
    vocabulary.ordinary().for_each(|(_, bytes)| is_length[bytes.len()] = true);
    for (id, bytes) in vocabulary.ordinary() {
        for cut in 1..bytes.len() {
            if is_length[cut]
                && is_length[bytes.len() - cut]
                && let (Some(left), Some(right)) = (vocabulary.id(&bytes[..cut]), vocabulary.id(&bytes[cut..]))
            {
                rules.push(Rule { left, right, rank: Rank(id), id });
            }
        }
    }
    rules
}
