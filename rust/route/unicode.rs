//! Classes of characters as Hugging Face tokenizers has them; `rust/generate/tokenizers_tables.py` writes the tables.

use super::unicode_tables::{LOWER, NUMERIC, PUNCTUATION, WORD};

/// First and last code point.
pub type Range = (u32, u32);

/// First and last code point, the step from one to the next, and how far away the lower-case form of each is.
pub type Lower = (u32, u32, u32, i32);

pub fn is_numeric(character: char) -> bool {
    contains(&NUMERIC, character)
}

pub fn is_punctuation(character: char) -> bool {
    contains(&PUNCTUATION, character)
}

/// `\w` of Rust's regex.
pub fn is_word(character: char) -> bool {
    contains(&WORD, character)
}

fn contains(ranges: &[Range], character: char) -> bool {
    let code = character as u32;
    let after = ranges.partition_point(|range| range.0 <= code);
    after > 0 && code <= ranges[after - 1].1
}

/// Appends the lower-case form.
pub fn push_lower(character: char, text: &mut String) {
    let code = character as u32;
    let after = LOWER.partition_point(|run| run.0 <= code);
    let lower = LOWER[..after].last().and_then(|&(first, last, step, distance)| {
        let is_in = code <= last && (code - first).is_multiple_of(step);
        char::from_u32(code.checked_add_signed(distance)?).filter(|_| is_in)
    });
    match (character, lower) {
        // The only one with a form of two characters.
        ('İ', _) => text.push_str("i\u{307}"),
        (_, Some(lower)) => text.push(lower),
        _ => text.push(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_classes() {
        let mut lower = String::new();
        "aBÉİΣẞĀāſ\u{16ea0}漢".chars().for_each(|character| push_lower(character, &mut lower));
        assert_eq!(lower, "abéi\u{307}σßāāſ\u{16ebb}漢");
        assert!(is_numeric('²') && is_numeric('9') && !is_numeric('a'));
        assert!(is_punctuation('+') && is_punctuation('。') && !is_punctuation('€') && !is_punctuation('a'));
        assert!(is_word('_') && is_word('\u{301}') && !is_word('²') && !is_word('-'));
    }
}
