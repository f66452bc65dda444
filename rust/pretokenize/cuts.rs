//! Where GPT-2's pattern can be cut: `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
//!
//! **Claim.** *Between a character that is not whitespace and whitespace, and between a letter or a number and a character that
//! is neither whitespace, letter nor number, every text has a piece boundary, and the pieces of its two parts are
//! its own, whatever lies around.* Call the characters a and b.
//!
//! - No piece holds both. Contractions hold no whitespace and nothing but letters behind the apostrophe. A run of a class
//!   holds other classes only as the U+0020 in front; a is none. Whitespace pieces hold nothing else.
//! - The pieces up to a are those of the part that ends there. What a match sees beyond its end is: that the run does
//!   not go on (neither b nor the end of the text lets a run of a's class go on), the letters of a contraction
//!   (b is no letter), and whether whitespace is followed by other characters (a is not whitespace, so a match
//!   that ends at a is none of whitespace, and one that ends before sees no further than a).
//! - The pieces from b on are those of the part that begins there: the pattern looks at nothing in front of a match. ∎

use super::classes::{Alphabet, Class};

/// The first such place at or after byte `near`.
pub fn gpt2(text: &str, near: usize) -> Option<usize> {
    let mut at = (near.max(1)..text.len()).find(|&at| text.is_char_boundary(at))?;
    let mut before = Alphabet::Plain.of(text[..at].chars().next_back()? as u32);
    while let Some((after, length)) = Alphabet::Plain.at(text, at) {
        match (before, after) {
            (Class::Letter | Class::Number, Class::Other | Class::Space) | (Class::Other, Class::Space) => {
                return Some(at);
            }
            _ => (before, at) = (after, at + length),
        }
    }
    None
}
