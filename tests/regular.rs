//! The general path: which patterns have a regular part, and that its pieces are fancy-regex's.

#![allow(clippy::unwrap_used)]

mod splitting;

use std::sync::LazyLock;

use bpeline::pretokenize::regex::Engine;
use bpeline::pretokenize::regular::regular;
use bpeline::pretokenize::{IN_TURN, names};
use fancy_regex::Regex;
use proptest::prelude::*;
use splitting::{by_engine, by_fancy_regex};

/// Patterns that nobody has given a scanner.
const REGULAR: [&str; 15] = [
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|k)|\p{N}{1,3}+(?:\.\p{N}++)?| ?\p{L}++| ?[^\s\p{L}\p{N}]++\s*+|\s++$|\s+(?!\S)|\s",
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^\p{Han}]]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"\p{N}{1,40}| ?\p{L}+|[^\s\p{L}\p{N}]|\s+(?!\S)|\s+",
    r"\S+|\s+",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r"a|ab|abc",
    r"(?:a|ab)(?:c|bcd)?|.",
    r"\s+x|\s\s|\s+(?!\S)|\s+",
    r"[ab]*+c|\p{N}++|é",
    r"a*?b|[^b]{2,3}?|\s+(?!\S)|\s",
    r"^a|b$|\s+(?!\S)|\s+",
    r"(a)(b)?|(?P<named>\d+)|[\s\S]",
    r"\p{N}|",
    r"x*|y",
];

/// Look-around, back-references, and possessive repeats that take what comes behind them.
const OTHERS: [&str; 9] = [
    r"\p{L}+(?=\s)|\p{L}|\s+",
    r"(?<!a)b|.",
    r"(a|b)\1|.",
    r"a*+ab?|.",
    r"[ab]*+b?c|.",
    r"(?:a?+)+b|.",
    r"(?>a|ab)c|.",
    r"\w+\b|\W",
    r"\s+(?!\S)x|\s+",
];

fn text() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        8 => "[abcdxyk '\n\r\t1]",
        2 => "[éß漢字١९²½Ⅷſ\u{212a}\u{85}\u{a0}\u{3000}\u{2028}\u{1f}\u{301}👍\u{200d}!.,/…(]",
        1 => any::<char>().prop_map(String::from),
    ];
    let texts = |atoms| proptest::collection::vec(atom.clone(), atoms).prop_map(|atoms| atoms.concat());
    prop_oneof![16 => texts(0..24), 4 => texts(0..200), 1 => texts(0..2000)]
}

/// Alternations of what patterns are made of, so that matches end anywhere behind what was read.
fn pattern() -> impl Strategy<Value = String> {
    let part = proptest::sample::select(PARTS.as_slice());
    let repeat = proptest::sample::select(["", "", "", "?", "*", "+", "{1,3}", "+?", "{2}"].as_slice());
    let alternative =
        proptest::collection::vec((part, repeat).prop_map(|(part, repeat)| format!("{part}{repeat}")), 1..4);
    let front = proptest::collection::vec(alternative.prop_map(|parts| parts.concat()), 1..5);
    let ending = proptest::sample::select(["", r"|\s+(?!\S)|\s+", r"|\s*[\r\n]+|\s+(?!\S)|\s"].as_slice());
    (front, ending).prop_map(|(front, ending)| front.join("|") + ending)
}

#[rustfmt::skip]
const PARTS: [&str; 19] = [
    "a", "b", "[ab]", "[^ab]", r"\p{L}", r"\p{N}", r"\s", r"\S", r"[\r\n]", r"[^\s\p{L}\p{N}]", " ", "'", r"\p{Lu}", r"\p{Ll}",
    r"[é漢\x{a0}]", ".", "(?:ab|b)", "(?i:k|'s)", "(?:a|bc?)",
];

/// With the engine that the processor has, and the portable one.
static COMPILED: LazyLock<Vec<(Regex, [Engine; 2])>> = LazyLock::new(|| {
    let named = names::PATTERNS.into_iter().flat_map(|(_, text)| text.split(IN_TURN));
    let all = REGULAR.into_iter().chain(OTHERS).chain(named);
    all.map(|text| (Regex::new(text).unwrap(), engines(text))).collect()
});

fn engines(pattern: &str) -> [Engine; 2] {
    [Engine::new(pattern).unwrap(), Engine::new(pattern).unwrap().portable()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn pieces_are_those_of_fancy_regex(text in text()) {
        for (oracle, engines) in COMPILED.iter() {
            let pieces = by_fancy_regex(oracle, &text);
            for engine in engines {
                prop_assert_eq!(&by_engine(engine, &text), &pieces, "{}", oracle.as_str());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_pattern_has_the_pieces_of_fancy_regex(
        pattern in pattern(),
        texts in proptest::collection::vec(text(), 16),
    ) {
        let (oracle, [engine, portable]) = (Regex::new(&pattern).unwrap(), engines(&pattern));
        for text in texts {
            let pieces = by_engine(&engine, &text);
            prop_assert_eq!(&pieces, &by_fancy_regex(&oracle, &text), "{} {:?}", pattern, text);
            prop_assert_eq!(&pieces, &by_engine(&portable, &text), "{} {:?}", pattern, text);
            for at in (1..text.len().min(100)).filter(|&at| engine.safe_cut(&text, at) == Some(at)) {
                let parts = [by_fancy_regex(&oracle, &text[..at]), by_fancy_regex(&oracle, &text[at..])].concat();
                prop_assert_eq!(&parts, &pieces, "{} {:?} | {:?}", pattern, &text[..at], &text[at..]);
            }
        }
    }
}

#[test]
fn what_is_regular_and_what_is_not() {
    for pattern in REGULAR.into_iter().filter(|pattern| !pattern.starts_with('^')) {
        assert!(regular(pattern).is_some(), "{pattern}");
    }
    for (name, text) in names::PATTERNS {
        assert!(text.split(IN_TURN).all(|pattern| regular(pattern).is_some()), "{name}");
    }
    for pattern in OTHERS.into_iter().filter(|pattern| !pattern.contains(r"\b")) {
        assert_eq!(regular(pattern), None, "{pattern}");
    }
    let found = regular(r"a++b|\s++$|\s+(?!\S)|\s").unwrap();
    assert_eq!((found.front.as_str(), found.has_ending), (r"a+b|\s+$", true));
}

/// What is found late or far back, at each place in a block of text, and in a batch of pieces that is nearly full.
#[test]
fn pieces_across_blocks_and_batches() {
    for (pattern, engine) in
        COMPILED.iter().flat_map(|(pattern, engines)| engines.iter().map(move |engine| (pattern, engine)))
    {
        for (length, count) in (0..=64).flat_map(|length| (186..194).map(move |count| (length, count))) {
            let text = format!("{}{}\n   bé.\n\u{3000}  'll 12\n\n ", "x".repeat(length), " a".repeat(count));
            let (mut one_by_one, mut end) = (engine.matches(&text, 0), 0);
            for piece in by_engine(engine, &text) {
                end += piece.len();
                assert_eq!(one_by_one.next_end().unwrap(), Some(end), "{}", pattern.as_str());
            }
            assert_eq!(end, text.len());
        }
    }
}

/// A match of a million bytes, and a million in a row of which each looks at no more than it takes.
#[test]
fn long_runs() {
    let text = format!("{}{} {}x", "x".repeat(1_000_000), " ".repeat(1_000_000), "1".repeat(1000));
    for engine in engines(r"x+|\p{N}|\s+(?!\S)|\s+") {
        let pieces = by_engine(&engine, &text);
        assert_eq!(pieces.len(), 1 + 2 + 1000 + 1);
        assert_eq!((pieces[0].len(), pieces[1].len()), (1_000_000, 1_000_000));
    }
}
