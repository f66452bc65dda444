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
        let mut refused = 0;
        // A piece always has the same ids.
        let entries: HashMap<String, Vec<u16>> = entries.into_iter().collect();
        for (piece, its_ids) in &entries {
            let lookup = table.look_up(key(piece.as_bytes()));
            let has_room = table.insert(&lookup, Entry::new(its_ids).unwrap());
            prop_assert_eq!(table.get(&lookup).map(ids::<u16>), has_room.then(|| its_ids.clone()));
            refused += usize::from(!has_room);
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
        prop_assert_eq!(before + refused, entries.len());
        if grown {
            table = table.grown(table.bytes() * 4);
            // It may have no room for some, where many meet.
            let after = found(&table);
            prop_assert!(after <= before && after * 4 >= before * 3, "{} of {}", after, before);
        }
    }
}

/// With one bucket to choose from, or a neighbour's free place, a tenth was lost.
#[test]
fn half_full_it_has_nearly_all() {
    let table = PieceTable::new(1 << 18);
    let pieces: Vec<String> = (0..table.bytes() / 64).map(|number| format!(" {number}")).collect();
    let lookups: Vec<_> = pieces.iter().map(|piece| table.look_up(key(piece.as_bytes()))).collect();
    let kept = lookups.iter().filter(|lookup| table.insert(lookup, Entry::new(&[1u16]).unwrap())).count();
    let found = lookups.iter().filter(|lookup| table.get(lookup).is_some()).count();
    assert!(found == kept && found * 100 > pieces.len() * 98, "{found} of {}", pieces.len());
}

/// Threads that insert the same into a table that is too small for it, and look all of it up all the while.
#[test]
fn what_one_thread_puts_in_is_whole_for_all_others() {
    for bytes in [128, 1 << 12, 1 << 16] {
        let table = PieceTable::new(bytes);
        let its_ids = |number: u16| [number; 7];
        let inserted: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0u16..4)
                .map(|thread| {
                    let table = &table;
                    scope.spawn(move || {
                        let mut found = 0;
                        for _ in 0..3 {
                            for step in 0..3_000u16 {
                                // Each in another order, so that they meet.
                                let number = (step * (2 * thread + 1)) % 3_000;
                                let lookup = table.look_up(key(format!("{number} {}", number ^ 0x5555).as_bytes()));
                                match table.get(&lookup).map(ids::<u16>) {
                                    Some(seen) => {
                                        assert_eq!(seen, its_ids(number));
                                        found += 1;
                                    }
                                    None => {
                                        table.insert(&lookup, Entry::new(&its_ids(number)).unwrap());
                                    }
                                }
                            }
                        }
                        found
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(inserted.iter().all(|&found| found > 0), "{inserted:?}");
    }
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
