//! The table of short pieces: what it says is what was put in, and what it was made from.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use bpeline::encoding::{Encoding, Parts, Rules, TokenId, builtin};
use bpeline::interrupt::Never;
use bpeline::merge::Merger;
use bpeline::table::{Ids, Key, LONGEST, PieceTable};
use proptest::prelude::*;

fn get(table: &PieceTable, piece: &[u8]) -> Option<Vec<TokenId>> {
    let key = Key::new(piece, 0, piece.len());
    table.get(table.place(key), key).map(|ids| ids.places()[..ids.count()].to_vec())
}

/// `PieceTable::of_tokens` takes this on trust, so as not to find out at every load.
#[test]
fn every_built_in_token_is_what_its_bytes_encode_to() {
    for name in builtin::NAMES {
        let encoding = builtin::load(name).unwrap();
        let mut merger = Merger::default();
        for (id, bytes) in encoding.vocabulary().ordinary() {
            assert_eq!(merger.merge(encoding.pairs(), encoding.byte_ids(), bytes, &Never), Ok(&[id][..]));
        }
    }
}

#[test]
fn a_token_that_merges_do_not_reach_stays_out() {
    // "aba" outranks "ab", but nothing makes "abc": "bc" goes first.
    let mut tokens: Vec<(TokenId, Vec<u8>)> = (0..256).map(|b| (b, vec![b as u8])).collect();
    tokens.extend([(256, b"bc".to_vec()), (257, b"ab".to_vec()), (258, b"abc".to_vec())]);
    let rules = Rules::Pairs(vec![(98, 99), (97, 98), (257, 99)]);
    let tokens = tokens.into_iter().collect();
    let parts = Parts { name: "test".into(), pattern: "gpt2".into(), tokens, rules, special_tokens: vec![] };
    let table = PieceTable::of_tokens(&Encoding::new("test", parts).unwrap());
    assert_eq!(get(&table, b"abc"), None);
    // The others, unless their buckets were full.
    for (piece, id) in [(&b"bc"[..], 256), (b"ab", 257), (b"a", 97), (b"z", 122)] {
        assert!(get(&table, piece).is_none_or(|ids| ids == [id]), "{piece:?}");
    }
    assert!((0..=255).filter(|&byte| get(&table, &[byte]).is_some()).count() > 200);
}

proptest! {
    /// A key is its bytes, wherever they lie and whatever follows them.
    #[test]
    fn keys_are_pieces(text in proptest::collection::vec(0u8..4, 1..60), a in 0usize..60, b in 0usize..60, n in 1..=LONGEST) {
        let (a, b) = (a % text.len(), b % text.len());
        let n = n.min(text.len() - a).min(text.len() - b);
        let equal = text[a..a + n] == text[b..b + n];
        prop_assert_eq!(Key::new(&text, a, n) == Key::new(&text, b, n), equal);
        prop_assert!(Key::new(&text, a, n) == Key::new(&text[a..a + n], 0, n));
        prop_assert!(n == 1 || Key::new(&text, a, n) != Key::new(&text, a, n - 1));
    }

    #[test]
    fn what_it_says_is_what_was_put_in(
        entries in proptest::collection::vec(("[ab\0]{1,15}", proptest::collection::vec(0u32..1 << 24, 1..=4)), 0..200),
        bytes in 0usize..4096,
    ) {
        let mut table = PieceTable::new(bytes);
        // A piece always has the same ids.
        let entries: HashMap<String, Vec<TokenId>> = entries.into_iter().collect();
        for (piece, ids) in &entries {
            let key = Key::new(piece.as_bytes(), 0, piece.len());
            table.insert(table.place(key), key, Ids::new(ids).unwrap());
            if bytes >= 64 {
                prop_assert_eq!(get(&table, piece.as_bytes()), Some(ids.clone()));
            }
        }
        for (piece, ids) in &entries {
            let found = get(&table, piece.as_bytes());
            prop_assert!(found.is_none_or(|found| found == *ids));
        }
    }
}

#[test]
fn more_than_four_ids_do_not_fit() {
    assert_eq!(Ids::new(&[1, 2, 3, 4, 5]), None);
}
