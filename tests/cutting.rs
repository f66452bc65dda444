//! Where a text may be cut: the pieces and the ids of the parts are those of the whole.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use bpeline::Encoder;
use bpeline::batch::safe_cut;
use bpeline::encoding::builtin;
use bpeline::interrupt::Never;
use bpeline::pretokenize::{Boundaries, IN_TURN, Pattern, names, regex};
use bpeline::special::Special;
use proptest::prelude::*;

/// Each family, and the regular expressions that it stands for.
static FAMILIES: LazyLock<Vec<(Pattern, Vec<regex::Engine>)>> = LazyLock::new(|| {
    let engines = |text: &str| text.split(IN_TURN).map(|text| regex::Engine::new(text).unwrap()).collect();
    names::PATTERNS.into_iter().map(|(name, text)| (Pattern::new(name).unwrap(), engines(text))).collect()
});

/// By the regular expressions.
fn expected(engines: &[regex::Engine], text: &str) -> Vec<String> {
    let Some((first, rest)) = engines.split_first() else {
        return vec![text.to_owned()];
    };
    let (mut pieces, mut matches, mut boundaries) = (Vec::new(), first.matches(text, 0), Boundaries::default());
    while matches.next(&mut boundaries).unwrap() {
        for (start, end) in boundaries.pieces() {
            pieces.extend(expected(rest, &text[start..end]));
        }
    }
    pieces
}

fn ids(encoder: &Encoder, text: &str, special: &Special) -> Vec<u32> {
    let mut ids = Vec::new();
    encoder.session().encode(text, special, &mut ids, &Never).unwrap();
    ids
}

static ENCODER: LazyLock<Encoder> = LazyLock::new(|| {
    let specials = [("<s>", 50257), ("a b", 50258), ("b. ", 50259), (". <", 50260), ("x", 50261), ("<s> <s>", 50262)];
    let specials = specials.map(|(literal, id)| (literal.to_owned(), id));
    Encoder::new(builtin::load("gpt2").unwrap().extend(&specials, &Never).unwrap().into(), None)
});

fn texts() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        6 => "[ab1 '.]", 2 => "['][stmdrvl]{1,3}", 2 => "[ \n\t\u{a0}\u{3000}\u{85}]{1,4}", 1 => "[é漢лД२½²👍\u{301}。]",
        1 => Just("<s>".to_owned()), 1 => Just("a b".to_owned()), 1 => Just("b. <s> <".to_owned()), 1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(atom, 0..30).prop_map(|atoms| atoms.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn pieces_of_the_parts_are_those_of_the_whole(text in texts()) {
        for (pattern, engines) in FAMILIES.iter() {
            let whole = expected(engines, &text);
            let mut found = 0;
            for near in 0..=text.len() + 1 {
                let Some(at) = pattern.safe_cut(&text, near) else { continue };
                prop_assert!(at >= near && at > 0 && at < text.len());
                if at == near {
                    found += 1;
                    let parts = [expected(engines, &text[..at]), expected(engines, &text[at..])].concat();
                    prop_assert_eq!(parts, &whole[..], "{} {:?} | {:?}", pattern.text(), &text[..at], &text[at..]);
                }
            }
            let spaces = text.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_alphanumeric() && pair[1] == b' ').count();
            prop_assert!(found >= spaces);
        }
    }

    #[test]
    fn a_settled_front_is_a_piece(text in texts()) {
        for (pattern, engines) in FAMILIES.iter() {
            let whole = expected(engines, &text);
            let mut start = 0;
            for (number, piece) in whole.iter().enumerate() {
                for (cut, _) in piece.char_indices().skip(1) {
                    let (front, before) = (&piece[..cut], &text[..start + cut]);
                    if pattern.is_settled(&text, start, start + piece.len(), start + cut) {
                        let pieces = expected(engines, before);
                        prop_assert_eq!(&pieces[..number], &whole[..number]);
                        prop_assert_eq!(&pieces[number..], [front], "{} {:?}", pattern.text(), text);
                    }
                }
                start += piece.len();
            }
        }
    }

    #[test]
    fn ids_of_the_parts_are_those_of_the_whole(text in texts()) {
        let chosen = ENCODER.encoding().special_tokens().choose(&["a b", "<s>"]).unwrap();
        for special in [Special::Parse, Special::Text, Special::Some(chosen)] {
            let whole = ids(&ENCODER, &text, &special);
            for near in 0..=text.len() {
                if let Some(at) = safe_cut(ENCODER.encoding(), &special, &text, near).filter(|&at| at == near) {
                    let parts = [ids(&ENCODER, &text[..at], &special), ids(&ENCODER, &text[at..], &special)].concat();
                    prop_assert_eq!(parts, &whole[..], "{:?} | {:?}", &text[..at], &text[at..]);
                }
            }
        }
    }
}

/// Of any pattern that is regular (`regular.rs` compares their parts). Where something is between matches, or a match looks far,
/// a text may be cut nowhere.
#[test]
fn a_pattern_without_a_scanner() {
    let cut = |pattern: &str, text: &str| Pattern::new(pattern).unwrap().safe_cut(text, 0);
    assert_eq!(cut(r"\S+|\s+", "one two"), Some(3));
    assert_eq!(cut(r" ?\p{L}+|[^\s\p{L}]+|\s+(?!\S)|\s+", "one  two"), Some(3));
    assert_eq!(cut(r" ?\p{L}+|[^\s\p{L}]+|\s+(?!\S)|\s+", "  one"), None);
    assert_eq!(cut(r"\p{L}+|\s+", "one two"), None); // "1" matches nothing
    assert_eq!(cut(r"\p{L}+(?: \p{L}+)*|[\s\S]", "one two"), None);
    assert_eq!(cut(r"\p{L}+(?: \p{L}+)*|[\s\S]", "one two."), Some(7));
    assert_eq!(cut(r"a[^b]*b|[\s\S]", "one two."), None);
    assert_eq!(cut(r"(?<=a)\S+|\S|\s+", "one two"), None);
}
