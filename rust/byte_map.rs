//! The byte alphabet of GPT-2's files: each byte is written as one printable code point.
//!
//! 0x21–0x7E, 0xA1–0xAC and 0xAE–0xFF stand for themselves; the other 68 bytes become U+0100
//! upward in increasing order. The mapping is for files only: inside the encoder a byte is a byte.
//! Source: `bytes_to_unicode` in OpenAI's GPT-2 release, described in DESIGN section 3.

const fn stands_for_itself(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..)
}

/// Code point of each byte; every one is below U+0144.
pub static CHARACTERS: [char; 256] = {
    let mut table = ['\0'; 256];
    let (mut byte, mut next) = (0usize, 0x100u32);
    while byte < 256 {
        table[byte] = if stands_for_itself(byte as u8) {
            byte as u8 as char
        } else {
            next += 1;
            match char::from_u32(next - 1) {
                Some(c) => c,
                None => '\0',
            }
        };
        byte += 1;
    }
    table
};

/// The byte that `character` stands for.
pub fn byte_of(character: char) -> Option<u8> {
    match character as u32 {
        code @ 0..=0xff => stands_for_itself(code as u8).then_some(code as u8),
        code @ 0x100..=0x143 => {
            // The n-th byte that does not stand for itself: 0x00–0x20, 0x7F–0xA0, 0xAD.
            let n = (code - 0x100) as u8;
            Some(match n {
                0..=0x20 => n,
                0x21..=0x42 => n - 0x21 + 0x7f,
                _ => 0xad,
            })
        }
        _ => None,
    }
}

/// The bytes that a token's spelling stands for, or its first character outside the alphabet.
pub fn to_bytes(spelling: &str) -> Result<Vec<u8>, char> {
    let mut bytes = Vec::with_capacity(spelling.len());
    push_bytes(spelling, &mut bytes).map(|()| bytes)
}

/// Appends the bytes that a token's spelling stands for, or those before its first character outside the alphabet.
pub fn push_bytes(spelling: &str, bytes: &mut Vec<u8>) -> Result<(), char> {
    for c in spelling.chars() {
        bytes.push(byte_of(c).ok_or(c)?);
    }
    Ok(())
}

/// How the files spell `bytes`.
pub fn to_spelling(bytes: &[u8]) -> String {
    bytes.iter().map(|&b| CHARACTERS[b as usize]).collect()
}

/// The 256 bytes in code point order of their characters: the order of GPT-2's first 256 ids.
pub fn alphabet() -> [u8; 256] {
    let mut bytes: [u8; 256] = std::array::from_fn(|b| b as u8);
    bytes.sort_by_key(|&b| CHARACTERS[b as usize]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_is_a_bijection_with_68_moved_bytes() {
        let moved = (0..=255u8).filter(|&b| CHARACTERS[b as usize] as u32 != b as u32).count();
        assert_eq!(moved, 68);
        for b in 0..=255u8 {
            assert_eq!(byte_of(CHARACTERS[b as usize]), Some(b));
        }
        assert_eq!((CHARACTERS[b' ' as usize], CHARACTERS[0xad]), ('Ġ', '\u{143}'));
        assert_eq!((byte_of(' '), byte_of('\u{144}'), byte_of('é')), (None, None, Some(0xe9)));
    }
}
