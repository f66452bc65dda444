//! Encodings from a Hugging Face `tokenizer.json`: vocabulary and merge rules.
//!
//! `python/bpeline/tokenizer_json/` reads the file for both backends. It checks the vocabulary (spellings in the byte
//! alphabet, a token for each byte, ids once each), translates the rest of the file, and what is left to do is here.

use hashbrown::HashMap;

use super::{Beyond, Encoding, Parts, Rules, TokenId, Tokens};
use crate::byte_map;
use crate::error::{Error, Result, quote};
use crate::interrupt::Interrupt;

/// `vocabulary` and `merges` are spelled as in the file; `source` begins the message of an error.
#[expect(clippy::too_many_arguments)]
pub fn load(
    source: &str,
    name: String,
    pattern: String,
    vocabulary: &[(&str, TokenId)],
    merges: &[(&str, &str)],
    special_tokens: Vec<(String, TokenId)>,
    beyond: Beyond,
    interrupt: &dyn Interrupt,
) -> Result<Encoding> {
    let mut tokens = Tokens::with_capacity(vocabulary.len(), vocabulary.iter().map(|(token, _)| token.len()).sum());
    let mut ids = HashMap::with_capacity(vocabulary.len());
    let mut bytes = Vec::new();
    for &(token, id) in vocabulary {
        bytes.clear();
        byte_map::push_bytes(token, &mut bytes).map_err(|stranger| {
            let (token, stranger) = (quote(token), stranger as u32);
            Error::file(format!(
                "{source}: token {token} contains U+{stranger:04X}, which is outside the byte alphabet"
            ))
        })?;
        tokens.push(id, &bytes);
        ids.insert(token, id);
    }
    let mut pairs = Vec::with_capacity(merges.len());
    let mut last = HashMap::with_capacity(merges.len());
    let mut made = String::new();
    for (&(left, right), number) in merges.iter().zip(1..) {
        let known = |symbol: &str| {
            let unknown =
                || Error::file(format!("{source}: merge {number}: {} is not in the vocabulary", quote(symbol)));
            ids.get(symbol).copied().ok_or_else(unknown)
        };
        let pair = (known(left)?, known(right)?);
        last.insert(pair, pairs.len());
        pairs.push(pair);
        made.clear();
        made.extend([left, right]);
        known(&made)?;
    }
    // Of a pair that is repeated, the last counts.
    if last.len() < pairs.len() {
        pairs = pairs.into_iter().enumerate().filter(|(at, pair)| last[pair] == *at).map(|(_, pair)| pair).collect();
    }
    let parts = Parts { name, pattern, tokens: tokens.sorted(), rules: Rules::Pairs(pairs), special_tokens };
    Encoding::with_more(source, parts, beyond, interrupt)
}
