//! The encodings inside the wheel. `python/bpeline/builtin/README.md` names their origin and licence.

use super::{END_OF_TEXT, Encoding, Parts, Rules, TokenId};
use crate::byte_map;
use crate::error::{Error, Result};
use crate::pretokenize::GPT2_PATTERN;

/// 50,000 pairs of `u16` ids, little-endian: all of GPT-2's vocabulary follows from them.
static GPT2_MERGES: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/python/bpeline/builtin/gpt2.merges"));

pub const NAMES: [&str; 1] = ["gpt2"];

pub fn load(name: &str) -> Result<Encoding> {
    let parts = match name {
        "gpt2" => gpt2(),
        _ => {
            return Err(Error::file(format!(
                "no built-in encoding is called \"{name}\" (built in: {})",
                NAMES.join(", ")
            )));
        }
    };
    Ok(Encoding { is_builtin: true, ..Encoding::new(name, parts)? })
}

/// Ids: the byte alphabet in code point order, then the result of each merge, then end-of-text.
fn gpt2() -> Parts {
    let mut tokens: Vec<(TokenId, Vec<u8>)> = (0..).zip(byte_map::alphabet().map(|b| vec![b])).collect();
    let mut merges = Vec::with_capacity(GPT2_MERGES.len() / 4);
    for pair in GPT2_MERGES.chunks_exact(4) {
        let left = u16::from_le_bytes([pair[0], pair[1]]);
        let right = u16::from_le_bytes([pair[2], pair[3]]);
        let bytes = [&tokens[left as usize].1[..], &tokens[right as usize].1].concat();
        tokens.push((tokens.len() as TokenId, bytes));
        merges.push((left as TokenId, right as TokenId));
    }
    let special_tokens = vec![(END_OF_TEXT.to_owned(), tokens.len() as TokenId)];
    let pattern = GPT2_PATTERN.to_owned();
    Parts { name: "gpt2".to_owned(), pattern, tokens, rules: Rules::Pairs(merges), special_tokens }
}
