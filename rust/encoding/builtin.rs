//! The encodings inside the wheel. `python/bpeline/builtin/README.md` names their origin and licence.

use super::{END_OF_TEXT, Encoding, Parts, Rank, Rule, Rules, TokenId, Tokens};
use crate::byte_map;
use crate::error::{Error, Result};
use crate::pretokenize::GPT2_PATTERN;

/// 50,000 pairs of `u16` ids, little-endian: all of GPT-2's vocabulary follows from them.
static GPT2_MERGES: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/python/bpeline/builtin/gpt2.merges"));

/// About how many bytes the tokens of GPT-2 have.
const GPT2_BYTES: usize = 325_000;

pub const NAMES: [&str; 1] = ["gpt2"];

pub fn load(name: &str) -> Result<Encoding> {
    let encoding = match name {
        "gpt2" => gpt2()?,
        _ => {
            return Err(Error::file(format!(
                "no built-in encoding is called \"{name}\" (built in: {})",
                NAMES.join(", ")
            )));
        }
    };
    Ok(Encoding { is_builtin: true, ..encoding })
}

/// Ids: the byte alphabet in code point order, then the result of each merge, then end-of-text.
fn gpt2() -> Result<Encoding> {
    let merges = GPT2_MERGES.chunks_exact(4);
    let mut tokens = Tokens::with_capacity(256 + merges.len(), GPT2_BYTES);
    (0..).zip(byte_map::alphabet()).for_each(|(id, byte)| tokens.push(id, &[byte]));
    let mut rules = Vec::with_capacity(merges.len());
    for (pair, rank) in merges.zip(0..) {
        let left = u16::from_le_bytes([pair[0], pair[1]]);
        let right = u16::from_le_bytes([pair[2], pair[3]]);
        let makes = tokens.len() as TokenId;
        tokens.push_joined(makes, left as usize, right as usize);
        rules.push(Rule { left: left as TokenId, right: right as TokenId, rank: Rank(rank), makes });
    }
    let special_tokens = vec![(END_OF_TEXT.to_owned(), tokens.len() as TokenId)];
    let pattern = GPT2_PATTERN.to_owned();
    let pairs = Rules::Pairs(rules.iter().map(Rule::pair).collect());
    let parts = Parts { name: "gpt2".to_owned(), pattern, tokens, rules: pairs, special_tokens };
    Encoding::with_rules("gpt2", parts, rules)
}
