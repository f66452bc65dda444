//! The table of short pieces: what it says is what was put in, and what it was made from.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use bpeline::encoding::builtin;
use bpeline::interrupt::Never;
use bpeline::merge::Merger;
use bpeline::sink::Token;
use bpeline::table::{Entry, Key, Keys, LONGEST, MOST_ELSEWHERE, PieceTable, ROOM_OF_AN_ENTRY};
use proptest::prelude::*;

/// The ids of an entry that holds them itself.
fn ids<T: Token>(entry: Entry) -> Vec<T> {
    assert!(entry.is_here());
    let mut room = [T::default(); ROOM_OF_AN_ENTRY];
    entry.put(&mut room);
    room[..entry.count()].to_vec()
}

fn short(text: &[u8], start: usize, length: usize) -> Key {
    Keys::new(text).short(start, start + length)
}

fn key(piece: &[u8]) -> Key {
    Keys::new(piece).short(0, piece.len())
}

/// What the encoding of a built-in's own tokens takes on trust.
#[test]
fn every_built_in_token_is_what_its_bytes_encode_to() {
    for recipe in &builtin::RECIPES {
        let encoding = builtin::load(recipe.name).unwrap();
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
        prop_assert_eq!(short(&text, a, n) == short(&text, b, n), equal);
        prop_assert!(short(&text, a, n) == short(&text[a..a + n], 0, n));
        prop_assert!(n == 1 || short(&text, a, n) != short(&text, a, n - 1));
    }

    #[test]
    fn what_it_says_is_what_was_put_in(
        entries in proptest::collection::vec(("[ab\0]{1,15}", proptest::collection::vec(0u16.., 1..=7)), 0..200),
        bytes in 0usize..4096,
        grown in any::<bool>(),
    ) {
        let mut table = PieceTable::new(bytes);
        // A piece always has the same ids.
        let entries: HashMap<String, Vec<u16>> = entries.into_iter().collect();
        for (piece, its_ids) in &entries {
            let lookup = table.look_up(key(piece.as_bytes()));
            table.insert(&lookup, Entry::new(its_ids).unwrap());
            prop_assert_eq!(table.get(&lookup).map(ids::<u16>), Some(its_ids.clone()));
        }
        let found = |table: &PieceTable| {
            let found = entries.iter().filter(|(piece, its_ids)| {
                let found = table.get(&table.look_up(key(piece.as_bytes())));
                assert!(found.is_none_or(|found| ids::<u16>(found) == **its_ids));
                found.is_some()
            });
            found.count()
        };
        let before = found(&table);
        if grown {
            table = table.grown(table.bytes() * 4);
            // It may lose some on the way, where many meet.
            let after = found(&table);
            prop_assert!(after <= before && after * 4 >= before * 3, "{} of {}", after, before);
        }
    }
}

/// With one bucket to choose from, or a neighbour's free place, a tenth was lost.
#[test]
fn half_full_it_has_nearly_all() {
    let mut table = PieceTable::new(1 << 18);
    let pieces: Vec<String> = (0..table.bytes() / 64).map(|number| format!(" {number}")).collect();
    let lookups: Vec<_> = pieces.iter().map(|piece| table.look_up(key(piece.as_bytes()))).collect();
    lookups.iter().for_each(|lookup| table.insert(lookup, Entry::new(&[1u16]).unwrap()));
    let found = lookups.iter().filter(|lookup| table.get(lookup).is_some()).count();
    assert!(found * 100 > pieces.len() * 98, "{found} of {}", pieces.len());
}

#[test]
fn entries_hold_some_ids_or_a_position() {
    assert!(Entry::new(&[1u16; 8]).is_none() && Entry::new(&[1u32; 4]).is_none());
    assert_eq!(ids::<u16>(Entry::new(&[u16::MAX; 7]).unwrap()), [u16::MAX; 7]);
    assert_eq!(ids::<u32>(Entry::new(&[(1 << 24) - 1, 0, 7u32]).unwrap()), [(1 << 24) - 1, 0, 7]);
    let position = (1 << 40) + 5;
    let entry = Entry::elsewhere(position, 512, MOST_ELSEWHERE);
    assert!(
        !entry.is_here() && entry.position() == position && entry.length() == 512 && entry.count() == MOST_ELSEWHERE
    );
}

/// A collision costs a merge each time; these came from a length that undid what the first byte did.
#[test]
fn runs_of_different_lengths_have_different_keys() {
    let mut pieces: Vec<String> = (16..300).flat_map(|n| ["-", "=", " ", "0"].map(|c| c.repeat(n))).collect();
    pieces.extend((16..300).flat_map(|n| ["-", "=", "0"].map(|c| " ".to_owned() + &c.repeat(n))));
    let mut keys: Vec<String> = pieces.iter().map(|piece| format!("{:?}", Key::hashed(piece.as_bytes()))).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), pieces.len());
}
