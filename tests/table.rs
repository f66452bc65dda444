//! The table of short pieces: what it says is what was put in, and what it was made from.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use bpeline::encoding::{TokenId, builtin};
use bpeline::interrupt::Never;
use bpeline::merge::Merger;
use bpeline::table::{Entry, Key, LONGEST, PieceTable};
use proptest::prelude::*;

fn get(table: &PieceTable, piece: &[u8]) -> Option<Entry> {
    let lookup = table.look_up(key(piece));
    table.get(&lookup).or_else(|| table.find_moved(&lookup))
}

fn key(piece: &[u8]) -> Key {
    Key::new(piece, 0, piece.len())
}

/// What the encoding of a built-in's own tokens takes on trust.
#[test]
fn every_built_in_token_is_what_its_bytes_encode_to() {
    for name in builtin::NAMES {
        let encoding = builtin::load(name).unwrap();
        let mut merger = Merger::default();
        for (id, bytes) in encoding.vocabulary().ordinary() {
            assert_eq!(merger.merge(encoding.pairs(), bytes, &Never), Ok(&[id][..]));
        }
    }
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
        grown in any::<bool>(),
    ) {
        let mut table = PieceTable::new(bytes);
        // A piece always has the same ids.
        let entries: HashMap<String, Vec<TokenId>> = entries.into_iter().collect();
        for (piece, ids) in &entries {
            let (lookup, entry) = (table.look_up(key(piece.as_bytes())), Entry::new(ids).unwrap());
            table.insert(&lookup, entry);
            prop_assert_eq!(table.get(&lookup), Some(entry));
            prop_assert_eq!(&entry.places()[..entry.count()], ids);
        }
        let before = entries.iter().filter(|(piece, _)| get(&table, piece.as_bytes()).is_some()).count();
        if grown {
            table = table.grown(table.bytes() * 4);
        }
        let after = entries.iter().filter(|(piece, ids)| {
            let found = get(&table, piece.as_bytes());
            assert!(found.is_none_or(|found| found == Entry::new(ids).unwrap()));
            found.is_some()
        });
        // It may push some out on the way, if four pieces meet.
        let after = after.count();
        prop_assert!(after <= before && after * 4 >= before * 3, "{} of {}", after, before);
    }
}

#[test]
fn entries_hold_four_ids_or_a_position() {
    assert_eq!(Entry::new(&[1, 2, 3, 4, 5]), None);
    let position = (1 << 40) + 5;
    assert_eq!(Entry::elsewhere(position, 300).position_and_count(), Some((position, 300)));
    assert!(Entry::elsewhere(position, 3).count() > 4);
    assert_eq!(Entry::new(&[1 << 23; 4]).unwrap().position_and_count(), None);
}
