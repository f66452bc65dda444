//! `truncate` against its definition, by trying every prefix.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use bpeline::encoding::{Encoding, builtin, ranks};
use bpeline::interrupt::Never;
use bpeline::sink::{Count, Ends};
use bpeline::special::Special;
use bpeline::{Encoder, truncate::truncate};
use proptest::prelude::*;

fn count(encoder: &Encoder, text: &str) -> usize {
    let mut count = Count::default();
    encoder.session().encode(text, &Special::Parse, &mut count, &Never).unwrap();
    count.0
}

fn by_definition<'t>(encoder: &Encoder, text: &'t str, max_tokens: usize) -> &'t str {
    let mut tokens = Ends::new(encoder.encoding().vocabulary());
    encoder.session().encode(text, &Special::Parse, &mut tokens, &Never).unwrap();
    let boundaries = tokens.ends.iter().rev().filter(|&&end| text.is_char_boundary(end));
    let mut prefixes = boundaries.map(|&end| &text[..end]);
    prefixes.find(|prefix| count(encoder, prefix) <= max_tokens).unwrap_or("")
}

/// Space runs are tokens, so that a cut among spaces makes fewer tokens; some tokens are unreachable.
fn spacious(pattern: &str) -> Encoding {
    let words: [&[u8]; 8] = [b"  ", b"    ", b" a", b"ab", b"abab", b"babab", b"'l", b"'ll"];
    let tokens = (0..=255u8).map(|b| vec![b]).chain(words.map(<[u8]>::to_vec));
    let specials = vec![("<s>".to_owned(), 300), (" <s>".to_owned(), 301)];
    ranks::from_ranks("test".into(), pattern.into(), tokens.zip(0..).collect(), specials).unwrap()
}

static ENCODERS: LazyLock<[Encoder; 9]> = LazyLock::new(|| {
    let other = r"(?:'ll)| ?\p{L}+| ?[^\s\p{L}]+|\s+(?!\S)|\s+";
    let families = ["llama3", "cl100k", "qwen2", "o200k", "tekken", "deepseek_v3"];
    let [a, b, c, d, e, f] = families.map(spacious);
    [builtin::load("gpt2").unwrap(), spacious("gpt2"), spacious(other), a, b, c, d, e, f]
        .map(|encoding| Encoder::new(encoding.into(), Some(0)))
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn equals_its_definition(
        atoms in proptest::collection::vec(prop_oneof![
            8 => "[ab ']", 1 => "[\nл漢👍.1]", 1 => Just("<s>".to_owned()), 1 => Just("'ll".to_owned()),
            1 => "[a]{1,9}", 1 => "[ ]{1,9}", 1 => "(ab){1,5}",
            1 => "[A漢]{1,5}", 1 => "[\n ]{1,9}", 1 => "[!\u{301}/\n]{1,5}", 1 => "[1-3]{1,9}",
        ], 0..20),
        max_tokens in 0usize..24,
    ) {
        let text = atoms.concat();
        for encoder in ENCODERS.iter() {
            prop_assert_eq!(truncate(encoder, &text, max_tokens, &Special::Parse, &Never).unwrap(), by_definition(encoder, &text, max_tokens));
        }
    }
}

#[test]
fn long_pieces_take_no_time() {
    let encoder = Encoder::new(builtin::load("gpt2").unwrap().into(), None);
    let letters = "a".repeat(1_000_000);
    assert_eq!(truncate(&encoder, &letters, 1000, &Special::Parse, &Never).unwrap().len(), 4000);
    let spaces = " ".repeat(1_000_000);
    assert_eq!(truncate(&encoder, &spaces, 1000, &Special::Parse, &Never).unwrap().len(), 1000);
}
