//! The pre-tokenizer against fancy-regex with the literal pattern.

#![allow(clippy::unwrap_used)]

mod splitting;

use std::sync::LazyLock;

use bpeline::error::Error;
use bpeline::pretokenize::instructions::Instructions;
use bpeline::pretokenize::rules::{Family, Gpt2};
use bpeline::pretokenize::scanner::Scanner;
use bpeline::pretokenize::{Boundaries, GPT2_PATTERN, Pattern, regex::Engine};
use fancy_regex::Regex;
use proptest::prelude::*;
use splitting::{by_engine, by_fancy_regex};

/// Patterns whose pieces must be fancy-regex's own. All but the last end in `\s+(?!\S)|\s+` or alike.
const PATTERNS: [&str; 5] = [
    GPT2_PATTERN,
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(a)|(?P<named>b+)|\s+(?!\S)|\s+",
    r"\s+(?!\S)|\p{L}+(?=\s)|\p{L}",
];

/// Text that shows the edges: every kind of space, letters and numbers of several scripts and lengths,
/// joined marks, contractions.
fn text() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        8 => "[ab '\n\r\t]",
        2 => prop_oneof![Just("'ll"), Just("'s"), Just("'re"), Just("  "), Just(" '"), Just("\r\n")].prop_map(String::from),
        3 => "[éß漢字١९²½Ⅷ\u{85}\u{a0}\u{3000}\u{2028}\u{1f}\u{301}👍\u{200d}!.]",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(atom, 0..24).prop_map(|atoms| atoms.concat())
}

/// Characters that begin with one byte, some in a row: of one class or several, of one page or many.
fn of_one_lead() -> impl Strategy<Value = String> {
    (0xc2u8..=0xf4, proptest::collection::vec(any::<u32>(), 1..40)).prop_map(|(lead, picks)| {
        let (first, last) = codes(lead);
        picks.iter().filter_map(|pick| char::from_u32(first + pick % (last - first + 1))).collect()
    })
}

/// The first and the last code point of those that begin with a byte.
fn codes(lead: u8) -> (u32, u32) {
    let lead = lead as u32;
    match lead {
        0xc2..0xe0 => ((lead & 0x1f) << 6, (lead & 0x1f) << 6 | 0x3f),
        0xe0..0xf0 => (((lead & 0xf) << 12).max(0x800), (lead & 0xf) << 12 | 0xfff),
        _ => (((lead & 7) << 18).max(0x1_0000), ((lead & 7) << 18 | 0x3_ffff).min(0x10_ffff)),
    }
}

static COMPILED: LazyLock<Vec<(Regex, Pattern, Engine)>> = LazyLock::new(|| {
    let compile = |text| (Regex::new(text).unwrap(), Pattern::new(text).unwrap(), Engine::new(text).unwrap());
    PATTERNS.into_iter().map(compile).collect()
});

fn by_pattern(pattern: &Pattern, text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    pattern
        .pieces(text, |piece| {
            pieces.push(piece.to_owned());
            Ok(())
        })
        .unwrap();
    pieces
}

/// By blocks, with all instructions that this machine has.
fn by_blocks(text: &str) -> Vec<String> {
    let mut by_all = Instructions::all().map(|instructions| {
        let (mut pieces, mut scanner, mut boundaries) =
            (Vec::new(), Scanner::<Gpt2>::new(text, 0), Boundaries::default());
        while scanner.next_by(instructions, &mut boundaries) {
            pieces.extend(boundaries.pieces().map(|(start, end)| text[start..end].to_owned()));
        }
        (instructions, pieces)
    });
    let (_, pieces) = by_all.next().unwrap();
    by_all.for_each(|(instructions, others)| assert_eq!(others, pieces, "{instructions:?}: {text:?}"));
    pieces
}

/// The ends of all pieces, by what `next` does with a scanner.
fn ends(text: &str, next: impl Fn(&mut Scanner<Gpt2>, &mut Boundaries) -> bool) -> Vec<usize> {
    let (mut ends, mut scanner, mut boundaries) = (Vec::new(), Scanner::<Gpt2>::new(text, 0), Boundaries::default());
    while next(&mut scanner, &mut boundaries) {
        ends.extend(boundaries.pieces().map(|(_, end)| end));
    }
    ends
}

/// By blocks, with all instructions that this machine has, pieces end where they do by characters.
fn assert_ends(text: &str) {
    let mut expected = Vec::new();
    while expected.last().is_none_or(|&end| end < text.len()) && !text.is_empty() {
        expected.push(Gpt2::RULES.piece_end(text, expected.last().copied().unwrap_or_default()));
    }
    for instructions in Instructions::all() {
        let found = ends(text, |scanner, boundaries| scanner.next_by(instructions, boundaries));
        assert_eq!(found, expected, "{instructions:?}: {text:?}");
    }
}

fn by_characters(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = Gpt2::RULES.piece_end(text, start);
        pieces.push(text[start..end].to_owned());
        start = end;
    }
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn scanner_and_engine_equal_fancy_regex(text in text()) {
        for (oracle, pattern, engine) in COMPILED.iter() {
            let expected = by_fancy_regex(oracle, &text);
            prop_assert_eq!(by_pattern(pattern, &text), &expected[..], "{}", pattern.text());
            prop_assert_eq!(by_engine(engine, &text), &expected[..], "{}", pattern.text());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Long enough for several blocks, each atom at any place of a block.
    #[test]
    fn every_way_to_scan_is_the_same(
        before in 0usize..70,
        texts in proptest::collection::vec(prop_oneof![4 => text(), 1 => of_one_lead()], 1..12),
    ) {
        let text = "x ".repeat(before / 2) + &"y".repeat(before % 2) + &texts.concat();
        let expected = by_fancy_regex(&COMPILED[0].0, &text);
        prop_assert_eq!(by_characters(&text), &expected[..]);
        prop_assert_eq!(by_blocks(&text), &expected[..]);
        prop_assert_eq!(by_pattern(&COMPILED[0].1, &text), &expected[..]);
    }
}

/// Every character next to a letter, a number, a space and itself.
#[test]
fn every_character_in_contexts() {
    let pattern = Pattern::new(GPT2_PATTERN).unwrap();
    let oracle = Regex::new(GPT2_PATTERN).unwrap();
    let mut text = String::new();
    for c in (0..=0x10ffff).filter_map(char::from_u32) {
        text.push_str(&format!("a{c}b {c}1{c} {c}{c} !{c}"));
        if text.len() > 20_000 {
            let expected = by_fancy_regex(&oracle, &text);
            assert_eq!(by_characters(&text), expected);
            assert_eq!(by_blocks(&text), expected);
            assert_eq!(by_pattern(&pattern, &text), expected);
            text.clear();
        }
    }
}

/// Every character in a row with its neighbours, and alone among ASCII: many of a page in a block, and one.
#[test]
fn every_character_crowded_and_alone() {
    let characters: Vec<char> = ('\0'..=char::MAX).collect();
    for some in characters.chunks(2000) {
        assert_ends(&some.iter().collect::<String>());
        assert_ends(&some.iter().map(|c| format!("{c}:")).collect::<String>());
    }
    for some in characters.chunks(50) {
        let alone = |c| format!("{c} one two three, four 5 six seven eight nine ten eleven {c}x");
        assert_ends(&some.iter().map(alone).collect::<String>());
    }
}

/// Characters of every first byte, the first and the last of each eighth, with each byte at each place around the
/// end of a block, next to each class; and the end of the text behind each.
#[test]
fn every_lead_at_every_place_of_a_block() {
    let eighths = |lead| {
        let (first, last) = codes(lead);
        let eighth = (last - first).div_ceil(8);
        (first..=last).step_by(eighth as usize).flat_map(move |start| [start, start + eighth - 1])
    };
    for c in (0xc2..=0xf4).flat_map(eighths).filter_map(char::from_u32).chain(WIDE_SPACES) {
        for before in 0..=66 {
            for (filler, next) in
                [("x", "y"), (" ", "1"), ("1", " y"), ("?", "'s"), ("ж", ""), ("\u{3000}", "\u{2028}")]
            {
                let front = "x".repeat(before % filler.len()) + &filler.repeat(before / filler.len());
                assert_ends(&format!("{front}{c}{next}{c}{c}"));
            }
        }
    }
}

const WIDE_SPACES: [char; 6] = ['\u{85}', '\u{a0}', '\u{1680}', '\u{2003}', '\u{2029}', '\u{3000}'];

/// A text that ends in the middle of a run, of a contraction, of whitespace; at each place of a block.
#[test]
fn every_end_of_a_text() {
    let text = "它是\u{3000}中文。 Привет, мир\u{a0}\u{2003} कि हिन्दी १२ ไทย 한국어   ΑΒΓ déjà ’ll they'll '\n\n \u{2028}ひらがなカタカナ👍🏽!  ٣ x";
    let doubled = text.repeat(2);
    for (end, _) in doubled.char_indices() {
        assert_ends(&doubled[..end]);
        assert_eq!(by_blocks(&doubled[..end]), by_fancy_regex(&COMPILED[0].0, &doubled[..end]));
    }
}

/// Longer than a batch, and than what is scanned between two looks for an interrupt.
#[test]
fn long_pieces_and_many() {
    let pattern = Pattern::new(GPT2_PATTERN).unwrap();
    let long = "x".repeat(300_000);
    for text in [format!("{long} {long}1{long}"), "a ".repeat(5_000), format!(" {long}{}", "?x".repeat(400))] {
        assert_eq!(by_pattern(&pattern, &text), by_characters(&text));
        assert_eq!(by_blocks(&text), by_characters(&text));
    }
}

/// fancy-regex alone runs out of stack here.
#[test]
fn a_million_spaces_through_the_engine() {
    let engine = Engine::new(GPT2_PATTERN).unwrap();
    let spaces = " ".repeat(1_000_000);
    assert_eq!(by_engine(&engine, &spaces), [&spaces[..]]);
    assert_eq!(by_engine(&engine, &format!("{spaces}x")), [&spaces[1..], " x"]);
}

#[test]
fn an_ending_that_only_looks_like_one_is_left_alone() {
    for (pattern, text) in
        [(r"(?:a|\s+(?!\S)|\s+)", "a  a "), (r"a\|\s+(?!\S)|\s+", "a|  a  "), (r"[a|\s+(?!\S)|\s+]+", "a ( b")]
    {
        assert_eq!(
            by_engine(&Engine::new(pattern).unwrap(), text),
            by_fancy_regex(&Regex::new(pattern).unwrap(), text),
            "{pattern}"
        );
    }
}

#[test]
fn a_pattern_that_cannot_be_compiled_is_an_error() {
    match Pattern::new("(") {
        Err(Error::EncodingFile(message)) => {
            assert!(message.starts_with("pattern \"(\" cannot be used: "), "{message}")
        }
        _ => panic!("compiled"),
    }
}
