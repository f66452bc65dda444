//! Each pattern that has a name, against fancy-regex with its text.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use bpeline::pretokenize::instructions::Instructions;
use bpeline::pretokenize::rules::{
    Cl100k, DeepSeekV3, Family, Gpt2, Known, Llama3, O200k, Qwen2, Rules, SPELLINGS, Tekken,
};
use bpeline::pretokenize::scanner::Scanner;
use bpeline::pretokenize::{Boundaries, IN_TURN, Pattern, names};
use fancy_regex::Regex;
use proptest::prelude::*;

struct Named {
    name: &'static str,
    oracle: Vec<Regex>,
    pattern: Pattern,
    known: Known,
}

static ALL: LazyLock<Vec<Named>> = LazyLock::new(|| {
    let named = |(name, text): (&'static str, &str)| Named {
        name,
        oracle: text.split(IN_TURN).map(|text| Regex::new(text).unwrap()).collect(),
        pattern: Pattern::new(name).unwrap(),
        known: Known::of(text).unwrap(),
    };
    names::PATTERNS.into_iter().map(named).collect()
});

/// Every class that a rule tells apart, in characters of each length, and what stands at the edges of rules.
fn text() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        4 => "[abXY1 '\n]",
        2 => "[\n\r\t /!.]{1,4}",
        2 => "['’][sSſtTmMdDlLrRvVeE]{1,3}",
        2 => "[0-9²½Ⅷ٣१]{1,5}",
        2 => "[éÉßǅʰªкД漢字かカーİı\u{212a}]{1,3}",
        2 => "[\u{301}\u{fe0f}\u{93f}\u{3099}\u{20dd}]",
        1 => "[・゛゠\u{3040}龥龦\u{9fff}]",
        1 => "[❤👍€«_\u{200d}\u{200b}\u{1}\u{7f}\u{e000}\u{378}]",
        1 => "[\u{85}\u{a0}\u{1680}\u{2028}\u{3000}\u{b}]",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(atom, 0..16).prop_map(|atoms| atoms.concat())
}

/// The ends of the pieces, in bytes.
fn by_fancy_regex(patterns: &[Regex], text: &str) -> Vec<usize> {
    let Some((first, rest)) = patterns.split_first() else {
        return vec![text.len()];
    };
    let (mut cuts, mut ends) = (vec![0], Vec::new());
    for found in first.find_iter(text).map(Result::unwrap).filter(|found| found.start() < found.end()) {
        cuts.extend([found.start(), found.end()]);
    }
    cuts.push(text.len());
    cuts.dedup();
    for cut in cuts.windows(2) {
        ends.extend(by_fancy_regex(rest, &text[cut[0]..cut[1]]).iter().map(|end| cut[0] + end));
    }
    ends
}

fn by_pattern(pattern: &Pattern, text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    pattern
        .pieces(text, |piece| {
            ends.push(ends.last().copied().unwrap_or_default() + piece.len());
            Ok(())
        })
        .unwrap();
    ends
}

fn by_characters(rules: &Rules, text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    while ends.last().is_none_or(|&end| end < text.len()) && !text.is_empty() {
        ends.push(rules.piece_end(text, ends.last().copied().unwrap_or_default()));
    }
    ends
}

fn by_blocks(known: Known, by: Instructions, text: &str) -> Vec<usize> {
    fn ends<F: Family>(by: Instructions, text: &str) -> Vec<usize> {
        let (mut ends, mut scanner, mut boundaries) = (Vec::new(), Scanner::<F>::new(text, 0), Boundaries::default());
        while scanner.next_by(by, &mut boundaries) {
            ends.extend(boundaries.pieces().map(|(_, end)| end));
        }
        ends
    }
    match known {
        Known::Gpt2 => ends::<Gpt2>(by, text),
        Known::Llama3 => ends::<Llama3>(by, text),
        Known::Cl100k => ends::<Cl100k>(by, text),
        Known::Qwen2 => ends::<Qwen2>(by, text),
        Known::O200k => ends::<O200k>(by, text),
        Known::Tekken => ends::<Tekken>(by, text),
        Known::DeepSeekV3 => ends::<DeepSeekV3>(by, text),
    }
}

/// A readable failure: the pieces themselves.
fn cut<'t>(text: &'t str, ends: &[usize]) -> Vec<&'t str> {
    let mut start = 0;
    ends.iter().map(|&end| &text[std::mem::replace(&mut start, end)..end]).collect()
}

/// By characters, and by blocks with all instructions that this machine has.
fn assert_pieces(text: &str) {
    for Named { name, oracle, pattern, known } in ALL.iter() {
        let expected = by_fancy_regex(oracle, text);
        assert_eq!(cut(text, &by_characters(known.rules(), text)), cut(text, &expected), "characters, {name} {text:?}");
        assert_eq!(cut(text, &by_pattern(pattern, text)), cut(text, &expected), "pattern, {name} {text:?}");
        for by in Instructions::all() {
            assert_eq!(cut(text, &by_blocks(*known, by, text)), cut(text, &expected), "{by:?}, {name} {text:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn short_texts(text in text()) {
        assert_pieces(&text);
    }

    /// Each atom at any place of a block.
    #[test]
    fn long_texts(before in 0usize..70, texts in proptest::collection::vec(text(), 1..8)) {
        assert_pieces(&("x ".repeat(before / 2) + &"y".repeat(before % 2) + &texts.concat()));
    }
}

static SPELLED: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SPELLINGS.into_iter().map(|(text, _)| Regex::new(text).unwrap()).collect());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn other_spellings_mean_the_same(text in text()) {
        for (oracle, (spelling, known)) in SPELLED.iter().zip(SPELLINGS) {
            let expected = by_fancy_regex(std::slice::from_ref(oracle), &text);
            prop_assert_eq!(by_characters(known.rules(), &text), expected, "{}", spelling);
        }
    }
}

#[test]
fn newlines_as_themselves_or_as_escapes() {
    for (name, text) in names::PATTERNS {
        let spelled = text.replace(r"\r", "\r").replace(r"\n", "\n");
        assert_eq!(Known::of(&spelled), Known::of(text), "{name}");
        assert_eq!(Known::of(&format!("{text} ")), None);
    }
}

/// Characters of each class at each place of a block, in front of each other.
#[test]
fn every_two_at_every_place_of_a_block() {
    let some = [
        "a", "B", "漢", "\u{301}", "ſ", "1", "²", " ", "\n", "\t", "\u{3000}", "!", "/", "'", "'s", "・", "カ",
        "\u{200d}", "👍", "\u{3040}", "\u{fe0f}",
    ];
    for (one, other) in some.into_iter().flat_map(|one| some.map(|other| (one, other))) {
        let text: String =
            (55..66).map(|before| format!("{}{one}{other}{one}{one}{other}x\n", "y ".repeat(before))).collect();
        assert_pieces(&text);
    }
}

/// Longer than a batch, and than what is scanned between two looks for an interrupt.
#[test]
fn long_pieces() {
    for run in ["x", "漢", "A", "!", " ", "\n", "1", "\u{301}", "\u{200d}", "あA", " \n"] {
        let long = run.repeat(70_000);
        for text in [format!("{long}x"), format!("{long}!{long}"), format!("\n{long}\n"), format!("!{long}a{long}")] {
            for Named { name, pattern, known, .. } in ALL.iter() {
                let expected = by_characters(known.rules(), &text);
                assert!(by_pattern(pattern, &text) == expected, "{name}, {run:?}");
                for by in Instructions::all() {
                    assert!(by_blocks(*known, by, &text) == expected, "{by:?}, {name}, {run:?}");
                }
            }
        }
    }
}

#[test]
fn patterns_in_turn_split_the_pieces_of_the_one_before() {
    let pattern = Pattern::in_turn(&["[a-c]+", "b", "."]).unwrap();
    assert_eq!(pattern.text(), "[a-c]+(?#then)b(?#then).");
    let text = "xyabbcz\n\n";
    assert_eq!(cut(text, &by_pattern(&pattern, text)), ["x", "y", "a", "b", "b", "c", "z", "\n\n"]);
    let mut from = Vec::new();
    pattern
        .pieces_from(text, 3, |piece| {
            from.push(piece.to_owned());
            Ok(())
        })
        .unwrap();
    assert_eq!(from, ["b", "b", "c", "z", "\n\n"]);
    assert!(Pattern::in_turn(&["a", "("]).is_err());
}
