//! The decoder against the vocabulary, one id after the other.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use bpeline::decode::Decoder;
use bpeline::encoding::vocabulary::Kind;
use bpeline::encoding::{Encoding, Parts, Rules, TokenId};
use bpeline::error::{Error, Result};
use proptest::prelude::*;

/// Tokens around the longest that a slot holds, special ones, holes, and ids beyond the slots.
static ENCODING: LazyLock<Encoding> = LazyLock::new(|| {
    let mut tokens: Vec<(TokenId, Vec<u8>)> = (0..256).map(|b| (b, vec![b as u8])).collect();
    tokens.extend((2..40).map(|length| (258 + length, (0..length as u8).map(|b| b.wrapping_mul(37)).collect())));
    tokens.extend([((1 << 18) - 1, b"last slot".to_vec()), (1 << 18, b"no slot".to_vec())]);
    let special_tokens = [("<s>", 300), ("<a longer special token>", 301), ("<far>", (1 << 18) + 2)];
    let special_tokens = special_tokens.map(|(literal, id)| (literal.to_owned(), id)).to_vec();
    let (tokens, rules) = (tokens.into_iter().collect(), Rules::TokenBytes);
    Encoding::new("test", Parts { name: "test".into(), pattern: "gpt2".into(), tokens, rules, special_tokens }).unwrap()
});

fn plain(ids: &[TokenId], skip_special: bool) -> Result<Vec<u8>> {
    let vocabulary = ENCODING.vocabulary();
    let mut bytes = Vec::new();
    for &id in ids {
        let hole = vocabulary.kind(id).is_some();
        let unknown = || Error::TokenId { id: id.to_string(), hole, vocab_size: vocabulary.size() };
        let token = vocabulary.token_bytes(id).ok_or_else(unknown)?;
        if !(skip_special && vocabulary.kind(id).is_some_and(Kind::is_special)) {
            bytes.extend_from_slice(token);
        }
    }
    Ok(bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn equals_one_after_the_other(
        ids in proptest::collection::vec(prop_oneof![
            20 => 0u32..256, 20 => 260u32..302, 2 => (1u32 << 18) - 1..=1 << 18, 1 => Just((1 << 18) + 2),
        ], 0..200),
        bad in proptest::option::weighted(0.1, prop_oneof![Just(256), Just(400), Just((1 << 18) + 1), Just(1 << 24), Just(u32::MAX)]),
        skip_special: bool,
        before in "[a-z]{0,40}",
    ) {
        let mut ids = ids;
        if let Some(bad) = bad {
            ids.insert(ids.len() / 2, bad);
        }
        let mut bytes = before.clone().into_bytes();
        let decoded = Decoder::new(ENCODING.vocabulary()).decode(ENCODING.vocabulary(), &ids, skip_special, &mut bytes);
        let expected = plain(&ids, skip_special);
        prop_assert_eq!(&decoded, &expected.as_ref().map(|_| ()).map_err(Clone::clone));
        if let Ok(expected) = expected {
            prop_assert_eq!(bytes, [before.into_bytes(), expected].concat());
        }
    }
}
