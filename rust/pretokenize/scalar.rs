//! GPT-2's pattern a character at a time: `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
//!
//! One step over the class of each character. What the expression means, alternative by alternative:
//! - a contraction is exactly one of seven lower-case endings;
//! - a run is as many characters of one class as there are; one U+0020 (no other space) goes in
//!   front of it if a member of the class follows;
//! - whitespace gives its last character back if anything but whitespace follows (a U+0020 that is
//!   given back is then the optional space of the next run), unless it is the only one.

use super::classes::Class;

/// The longest contraction is 3 bytes, a space and one character at most 5: past that, the front of
/// a piece is a run, and so a piece itself.
pub const SETTLES_AFTER: usize = 6;

/// The end of the piece that starts at byte `start`, which must be inside the text.
#[inline]
pub fn piece_end(text: &str, start: usize) -> usize {
    let first = text.as_bytes()[start];
    if first == b'\''
        && let Some(length) = contraction(&text.as_bytes()[start + 1..])
    {
        return start + 1 + length;
    }
    let run = start + (first == b' ') as usize;
    match Class::at(text, run) {
        None | Some((Class::Space, _)) => whitespace_end(text, start),
        Some((class, _)) => run_end(text, run, class),
    }
}

/// Length of the letters of a contraction at the front of `rest`.
pub fn contraction(rest: &[u8]) -> Option<usize> {
    match rest {
        [b's' | b't' | b'm' | b'd', ..] => Some(1),
        [b'r' | b'v', b'e', ..] | [b'l', b'l', ..] => Some(2),
        _ => None,
    }
}

#[inline]
fn run_end(text: &str, start: usize, class: Class) -> usize {
    let mut end = start;
    while let Some((next, length)) = Class::at(text, end)
        && next == class
    {
        end += length;
    }
    end
}

fn whitespace_end(text: &str, start: usize) -> usize {
    let (mut end, mut last) = (start, start);
    while let Some((Class::Space, length)) = Class::at(text, end) {
        last = end;
        end += length;
    }
    if end < text.len() && last > start { last } else { end }
}
