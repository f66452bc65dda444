//! The merger against a naive one, on random rules: short and long pieces, both rank semantics.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use bpeline::encoding::{Encoding, Parts, Rules, TokenId};
use bpeline::interrupt::Never;
use bpeline::pair_table::{LATE, NONE};
use bpeline::special::Special;
use bpeline::{Encoder, encoding::ranks};
use proptest::collection::vec;
use proptest::prelude::*;

type PairRules = HashMap<(TokenId, TokenId), (u32, TokenId)>;

/// The definition: look at every pair again before each merge.
fn naive(rules: &PairRules, mut ids: Vec<TokenId>) -> Vec<TokenId> {
    loop {
        let pairs = ids.windows(2).enumerate();
        let best = pairs.filter_map(|(at, pair)| rules.get(&(pair[0], pair[1])).map(|rule| (rule.0, at, rule.1))).min();
        let Some((_, at, id)) = best else { return ids };
        ids.splice(at..at + 2, [id]);
    }
}

/// Tokens, and how to split some of them in two: rules in the order of their ranks. Of two letters, so that much overlaps; or
/// of six, so that pairs are sure to merge.
fn tokens_and_splits() -> impl Strategy<Value = (Vec<String>, Vec<(usize, usize)>)> {
    let tokens = prop_oneof![
        proptest::collection::btree_set("[ab]{2,5}", 1..16),
        proptest::collection::btree_set("[a-f]{2,4}|[a-f]{2}", 1..60),
    ];
    (tokens.prop_map(Vec::from_iter), vec((0usize..60, 1usize..5), 0..200))
}

fn text() -> impl Strategy<Value = String> {
    // Parts of every length that is merged in a way of its own, and of two ways in one piece.
    prop_oneof![
        "[ab]{1,12}",
        "[ab]{13,80}",
        "[ab]{65,300}",
        "[abz]{1,200}",
        "a{65,200}",
        "(a{1,9}b){10,40}",
        "[a-f]{1,64}"
    ]
}

proptest! {
    /// Several rules may make one token, and some tokens none.
    #[test]
    fn any_pair_rules((tokens, splits) in tokens_and_splits(), texts in vec(text(), 1..4)) {
        let words: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b]).chain(tokens.iter().map(|t| t.clone().into_bytes())).collect();
        let id_of: HashMap<&[u8], u32> = words.iter().map(Vec::as_slice).zip(0..).collect();
        let mut rules = PairRules::new();
        let mut in_order = vec![];
        for (token, cut) in splits {
            let token = tokens[token % tokens.len()].as_bytes();
            let (left, right) = token.split_at(cut.min(token.len() - 1));
            if let (Some(&left), Some(&right)) = (id_of.get(left), id_of.get(right))
                && !rules.contains_key(&(left, right))
            {
                rules.insert((left, right), (in_order.len() as u32, id_of[token]));
                in_order.push((left, right));
            }
        }
        let parts = Parts {
            name: "test".into(),
            pattern: r"[^\n]+".into(),
            tokens: (0..).zip(words.iter().cloned()).collect(),
            rules: Rules::Pairs(in_order),
            special_tokens: vec![],
        };
        let encoder = Encoder::new(Encoding::new("test", parts).unwrap().into(), None);
        for text in texts {
            let expected = naive(&rules, text.bytes().map(TokenId::from).collect());
            for _ in 0..2 { // once merged, once from the cache
                let mut ids: Vec<u32> = Vec::new();
                encoder.session().encode(&text, &Special::Parse, &mut ids, &Never).unwrap();
                prop_assert_eq!(&ids, &expected);
            }
        }
    }

    #[test]
    fn any_rank_file(tokens in proptest::collection::hash_set("[ab]{2,6}", 0..24), texts in vec("[ab]{1,80}", 1..4)) {
        let words: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b]).chain(tokens.into_iter().map(String::into_bytes)).collect();
        let rank_of: HashMap<&[u8], u32> = words.iter().map(Vec::as_slice).zip(0..).collect();
        let given = words.iter().cloned().zip(0..).collect();
        let encoding = ranks::from_ranks("test".into(), r"[^\n]+".into(), given, vec![]).unwrap();
        let encoder = Encoder::new(encoding.into(), None);
        for text in texts {
            let expected = match rank_of.get(text.as_bytes()) {
                Some(&whole) => vec![whole],
                None => naive_by_bytes(&rank_of, text.as_bytes()),
            };
            for _ in 0..2 { // once merged, once from the cache
                let mut ids: Vec<u32> = Vec::new();
                encoder.session().encode(&text, &Special::Parse, &mut ids, &Never).unwrap();
                prop_assert_eq!(&ids, &expected);
            }
        }
    }
}

/// tiktoken's definition: the rank of a pair is the rank of its bytes.
fn naive_by_bytes(rank_of: &HashMap<&[u8], u32>, piece: &[u8]) -> Vec<u32> {
    let mut ends: Vec<usize> = (0..=piece.len()).collect();
    loop {
        let pairs = ends.windows(3).enumerate();
        let best = pairs.filter_map(|(at, w)| rank_of.get(&piece[w[0]..w[2]]).map(|rank| (*rank, at))).min();
        let Some((_, at)) = best else { break };
        ends.remove(at + 1);
    }
    ends.windows(2).map(|w| rank_of[&piece[w[0]..w[1]]]).collect()
}

/// The lemma on splits: abc is ab + c or a + bc, but as ab comes first only the former is ever met.
#[test]
fn a_token_has_one_rule_at_most() {
    let words = [&b"ab"[..], b"bc", b"abc", b"abd", b"xyz"];
    let ranks = (0..=255u8).map(|b| vec![b]).chain(words.map(<[u8]>::to_vec)).zip(0..).collect();
    let encoding = ranks::from_ranks("test".into(), "gpt2".into(), ranks, vec![]).unwrap();
    let [a, b, c, d] = *b"abcd";
    // Where bytes are the ids 0 to 255 and ranks are ids, symbols are ids too.
    let pairs = encoding.pairs();
    assert_eq!(pairs.get(a.into(), b.into()), 256);
    assert_eq!(pairs.get(256, c.into()), 258);
    assert_eq!(pairs.get(a.into(), 257), NONE);
    assert_eq!(pairs.get(256, d.into()), 259);
    assert_eq!((pairs.of_bytes(a, d).apart, pairs.of_bytes(b, d).apart), (true, false));
    assert_eq!(encoding.whole_piece(b"xyz"), Some(260)); // which no rule makes
}

/// The lemma on sure pairs: what is known of two bytes.
#[test]
fn what_may_take_a_byte_away() {
    let words = [&b"ab"[..], b"bc", b"cab", b"abcd", b"xy", b"xyz"];
    let mut tokens: Vec<(TokenId, Vec<u8>)> = (0..256).map(|b| (b, vec![b as u8])).collect();
    tokens.extend((256..).zip(words.map(<[u8]>::to_vec)));
    let [a, b, c, d, x, y, z] = *b"abcdxyz";
    let byte = TokenId::from;
    // ab, bc, c + ab, ab + c + d (which none makes of its own), and xy + z before xy.
    let rules = vec![(byte(a), byte(b)), (byte(b), byte(c)), (byte(c), 256), (260, byte(z)), (byte(x), byte(y))];
    let tokens = tokens.into_iter().collect();
    let parts = Parts {
        name: "test".into(),
        pattern: "gpt2".into(),
        tokens,
        rules: Rules::Pairs(rules),
        special_tokens: vec![],
    };
    let encoding = Encoding::new("test", parts).unwrap();
    let of = |left, right| {
        let pair = encoding.pairs().of_bytes(left, right);
        (pair.makes, pair.second_makes, pair.first_makes)
    };
    assert_eq!(of(a, b), (256, 256, 256));
    assert_eq!(of(b, c), (257, 257, 257));
    assert_eq!(of(c, a), (LATE, LATE, 258)); // c and ab
    assert_eq!(of(c, d), (LATE, LATE, LATE)); // abcd has no rule
    assert_eq!(of(x, y), (LATE, 260, 260)); // xyz is made before xy: never sure
    assert_eq!(of(y, z), (LATE, 259, LATE)); // xy and z
}

#[test]
fn a_merged_symbol_can_outrank_what_made_it() {
    // DESIGN section 3: "aba" before "ab", so that "abab" is "aba" and "b".
    let mut tokens: Vec<(TokenId, Vec<u8>)> = (0..256).map(|b| (b, vec![b as u8])).collect();
    tokens.extend([(256, b"ab".to_vec()), (257, b"aba".to_vec())]);
    let rules = Rules::Pairs(vec![(256, 97), (97, 98)]);
    let tokens = tokens.into_iter().collect();
    let parts = Parts { name: "test".into(), pattern: "gpt2".into(), tokens, rules, special_tokens: vec![] };
    let encoder = Encoder::new(Encoding::new("test", parts).unwrap().into(), None);
    let mut ids: Vec<u32> = Vec::new();
    encoder.session().encode("abab", &Special::Parse, &mut ids, &Never).unwrap();
    assert_eq!(ids, [257, 98]);
}

/// No two pairs of bytes in the text are the same, and each has a lower rank than the one before it: merging goes
/// from right to left, and the end of the text decides what its start becomes.
#[test]
fn a_merge_felt_thousands_of_bytes_away() {
    let letters: Vec<u8> = (b'0'..b'0' + 70).collect();
    let mut text = vec![];
    for (at, &first) in letters.iter().enumerate() {
        text.push(first);
        letters[at + 1..].iter().for_each(|&second| text.extend([first, second]));
    }
    text.push(letters[0]);
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|b| vec![b]).collect();
    tokens.extend(text.windows(2).rev().map(<[u8]>::to_vec));
    let rules = Rules::Pairs(text.windows(2).rev().map(|pair| (pair[0].into(), pair[1].into())).collect());
    let tokens = (0..).zip(tokens).collect();
    let pattern = r"[^\n]+".into();
    let parts = Parts { name: "test".into(), pattern, tokens, rules, special_tokens: vec![] };
    let encoder = Encoder::new(Encoding::new("test", parts).unwrap().into(), None);
    for length in [text.len(), text.len() - 1, 3000, 2999] {
        let mut expected: Vec<u32> = text[..length]
            .rchunks_exact(2)
            .map(|pair| 256 + text.windows(2).rev().position(|other| other == pair).unwrap() as u32)
            .collect();
        expected.extend(text[..length % 2].iter().map(|&byte| u32::from(byte)));
        expected.reverse();
        let mut ids: Vec<u32> = Vec::new();
        let text = std::str::from_utf8(&text[..length]).unwrap();
        encoder.session().encode(text, &Special::Parse, &mut ids, &Never).unwrap();
        assert_eq!(ids, expected, "{length}");
    }
}

#[test]
fn a_million_bytes_in_one_piece() {
    let encoder = Encoder::new(bpeline::encoding::builtin::load("gpt2").unwrap().into(), None);
    for (text, tokens) in [("a", 250_000), ("^", 250_000), (" ", 1_000_000), ("\n", 500_000)] {
        let mut ids: Vec<u16> = Vec::new();
        encoder.session().encode(&text.repeat(1_000_000), &Special::Parse, &mut ids, &Never).unwrap();
        assert_eq!(ids.len(), tokens, "{text:?}");
    }
}
