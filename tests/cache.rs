//! The cache changes no id, whatever its size and whatever went through it before.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use bpeline::Encoder;
use bpeline::encoding::builtin;
use bpeline::interrupt::Never;
use bpeline::special::Special;
use proptest::prelude::*;

/// Words that come again: short and long, of one token and of many, and of every length around 15 bytes.
fn word() -> impl Strategy<Value = String> {
    let numbered =
        (0usize..60, "[a-zé字]{1,2}").prop_map(|(length, tail)| " ".to_owned() + &"x字".repeat(length / 4) + &tail);
    let lengths = (1usize..40).prop_map(|length| " q".to_owned() + &"zj".repeat(20)[..length]);
    prop_oneof![numbered, lengths, "[ .'\n]{1,3}", Just(" the".to_owned())]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(word(), 1..12).prop_flat_map(|words| {
        proptest::collection::vec(proptest::sample::select(words), 1..800).prop_map(|words| words.concat())
    })
}

static WITHOUT: LazyLock<Encoder> = LazyLock::new(|| Encoder::new(builtin::load("gpt2").unwrap().into(), Some(0)));

fn encode(encoder: &Encoder, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    encoder.session().encode(text, &Special::Parse, &mut ids, &Never).unwrap();
    ids
}

/// A piece at a time, each merged anew.
fn encode_by_pieces(text: &str) -> Vec<u32> {
    let (mut ids, mut session) = (Vec::new(), WITHOUT.session());
    let pattern = WITHOUT.encoding().pattern();
    pattern.pieces(text, |piece| session.encode_piece(piece, &mut ids, &Never)).unwrap();
    ids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_ids_never_depend_on_it(texts in proptest::collection::vec(text(), 1..6), budget in 0usize..1 << 14) {
        let encoder = Encoder::new(builtin::load("gpt2").unwrap().into(), Some(budget));
        for text in texts {
            let expected = encode_by_pieces(&text);
            prop_assert_eq!(encode(&encoder, &text), &expected[..]);
            prop_assert_eq!(encode(&encoder, &text), &expected[..]);
        }
    }
}

/// Threads that share a cache which is forgotten again and again, and sessions too short to tell of what they insert.
#[test]
fn threads_share_it() {
    let words: Vec<String> = (0..4_000u32)
        .map(|n| format!(" {}{}", "x字q".repeat((n % 9) as usize), n.wrapping_mul(2_654_435_761) >> (n % 13)))
        .collect();
    let expected: Vec<Vec<u32>> = words.iter().map(|word| encode_by_pieces(word)).collect();
    for budget in [0, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 25] {
        let encoder = Encoder::new(builtin::load("gpt2").unwrap().into(), Some(budget));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (words, expected, encoder) = (&words, &expected, &encoder);
                scope.spawn(move || {
                    for round in 0..3 {
                        let step = 2 * thread + 1;
                        for (many, at) in (0..words.len()).map(|n| n * step % words.len()).enumerate() {
                            if many % 100 > 0 {
                                assert_eq!(encode(encoder, &words[at]), expected[at]);
                            } else {
                                let range = at..words.len().min(at + 300);
                                let ids = expected[range.clone()].concat();
                                assert_eq!(encode(encoder, &words[range].concat()), ids, "round {round}");
                            }
                        }
                    }
                });
            }
        });
    }
}

/// The second begins the first and has the same key: made for it, by an attacker who found that the record of the first then
/// answered for the second.
#[test]
fn a_piece_is_not_taken_for_one_that_it_begins() {
    let whole = "tTokiWUsyfbjnSbfOjzLJEURctulBjdjAAEAAAAAAAAAAAAdtQCjhBchUHtIjKODuuJZUahjljhCCupgxZFZptCgAADAAAAhKPzIYwBsgZetTuD";
    let front = &whole[..47];
    let encoder = Encoder::new(builtin::load("gpt2").unwrap().into(), None);
    for text in [whole, front, whole, front] {
        assert_eq!(encode(&encoder, text), encode_by_pieces(text));
    }
}
