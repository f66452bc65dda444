//! The committed character classes are those of the engine, in every one of the 1,112,064 scalar values.

#[allow(dead_code)]
#[path = "../rust/generate/unicode_tables.rs"]
mod generate;
#[path = "../rust/unicode_tables.rs"]
mod tables;

use fancy_regex::Regex;
use generate::{APART, CLASSES};
use tables::{CLASS_BLOCKS, CLASS_PAGES};

#[test]
fn committed_tables_are_what_the_generator_writes() {
    assert_eq!(generate::stale(), Ok(vec![]), "run `cargo run --example unicode-tables`");
}

#[test]
fn every_scalar_value_has_the_class_fancy_regex_gives_it() {
    let everything: String = ('\0'..=char::MAX).collect();
    let mut expected = vec![0_u8; 0x11_0000];
    for (_, pattern, number) in CLASSES {
        for found in Regex::new(pattern).unwrap().find_iter(&everything) {
            let character = found.unwrap().as_str().chars().next().unwrap();
            assert_eq!(expected[character as usize], 0, "{character:?} is in two classes");
            expected[character as usize] = number;
        }
    }
    for found in Regex::new(APART.0).unwrap().find_iter(&everything) {
        found.unwrap().as_str().chars().for_each(|character| expected[character as usize] |= APART.1);
    }
    let mut checked = 0;
    for character in everything.chars() {
        let code = character as usize;
        let class = CLASS_BLOCKS[usize::from(CLASS_PAGES[code >> 8])][code & 0xFF];
        assert_eq!(class, expected[code], "U+{code:04X}");
        checked += 1;
    }
    assert_eq!(checked, 1_112_064);
}

#[test]
fn whitespace_is_the_25_characters_of_white_space() {
    let count: u32 = generate::class_ranges(r"\s").unwrap().iter().map(|(first, last)| last - first + 1).sum();
    assert_eq!(count, 25);
}
