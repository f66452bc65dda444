//! Rank files, as tiktoken reads them: on each line the bytes of a token in base64 (RFC 4648, section 4), a space, and
//! its rank. Ranks may have gaps and come in any order.
//!
//! Stricter than tiktoken, which skips what is no base64 and takes the last of two lines that have the same token. A
//! rank file says neither the pattern nor the special tokens: they are the caller's, or of a built-in encoding whose
//! file this is, known by its hash. They are never guessed.

use hashbrown::HashMap;
use sha2::{Digest, Sha256};

use super::{Encoding, File, MAX_ID, Parts, Rules, TokenId, Tokens, builtin};
use crate::error::{Error, Result, quote, shorten, show_bytes};

/// Without `pattern` and `special_tokens` they are those of the built-in encoding whose file it is; else there must be
/// a pattern, and there are no special tokens.
pub fn load(
    file: File,
    pattern: Option<String>,
    special_tokens: Option<Vec<(String, TokenId)>>,
    name: String,
) -> Result<Encoding> {
    if let Some(known) = builtin::of_rank_file(&Sha256::digest(file.content)) {
        return known.make(&name, pattern, special_tokens);
    }
    let (path, tokens) = (file.path, read(&file)?);
    let Some(pattern) = pattern else {
        return Err(Error::file(format!(
            "{path}: a rank file does not say how a text is cut into pieces: pass pattern= (a name or a regular \
             expression) and special_tokens=, or load the folder if it has the bpeline.json that `save` writes"
        )));
    };
    let special_tokens = special_tokens.unwrap_or_default();
    Encoding::new(path, Parts { name, pattern, tokens, rules: Rules::TokenBytes, special_tokens })
}

/// About how many bytes of a file a token takes, or more.
const BYTES_OF_A_LINE: usize = 16;

/// The tokens by rank.
fn read(file: &File) -> Result<Tokens> {
    let (path, text) = (file.path, file.text()?);
    let mut tokens = Tokens::with_capacity(text.len() / BYTES_OF_A_LINE, text.len() / 2);
    let mut lines_of_tokens = HashMap::with_capacity(text.len() / BYTES_OF_A_LINE);
    let mut lines_of_ranks = HashMap::with_capacity(text.len() / BYTES_OF_A_LINE);
    let mut bytes = Vec::new();
    for (line, number) in text.split('\n').zip(1..) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let fault = |message: String| Err(Error::file(format!("{path}: line {number}: {message}")));
        let mut fields = line.split([' ', '\t']).filter(|field| !field.is_empty());
        let (Some(token), Some(rank), None) = (fields.next(), fields.next(), fields.next()) else {
            return fault(format!("expected a token in base64, a space and its rank, found {}", quote(line)));
        };
        bytes.clear();
        if decode_base64(token, &mut bytes).is_none() {
            return fault(format!("{} is not base64", quote(token)));
        }
        let Some(id) = integer(rank).filter(|&id| id <= MAX_ID) else {
            let (token, rank) = (show_bytes(&bytes), shorten(rank));
            return fault(format!("the token {token} has the rank {rank}, expected 0 to {MAX_ID}"));
        };
        // Each token is one string only, in base64 as we read it.
        if let Some(first) = lines_of_tokens.insert(token, number) {
            return fault(format!("the token {} repeats line {first}", show_bytes(&bytes)));
        }
        if let Some(first) = lines_of_ranks.insert(id, number) {
            return fault(format!("the rank {id} repeats line {first}"));
        }
        tokens.push(id, &bytes);
    }
    let mut is_there = [false; 256];
    tokens.iter().filter(|(_, bytes)| bytes.len() == 1).for_each(|(_, bytes)| is_there[bytes[0] as usize] = true);
    match is_there.iter().position(|is_there| !is_there) {
        Some(byte) => Err(Error::file(format!("{path}: the byte 0x{byte:02x} has no token"))),
        None => Ok(tokens.sorted()),
    }
}

/// Digits without a sign or leading zeros.
fn integer(digits: &str) -> Option<u32> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|_| is_plain)
}

/// Appends the bytes that a text stands for, at least one; `None` unless it is what an encoder would have written.
fn decode_base64(text: &str, bytes: &mut Vec<u8>) -> Option<()> {
    let (digits, []) = text.as_bytes().as_chunks::<4>() else { return None };
    let (last, others) = digits.split_last()?;
    for digits in others {
        bytes.extend(bits_of(digits)?.to_be_bytes().last_chunk::<3>()?);
    }
    // Each `=` at the end is 8 bits less, and 6 of the bits that are left are for them: those must be 0.
    let padding = last.iter().rev().take_while(|&&digit| digit == b'=').count();
    let mut filled = *last;
    filled.get_mut(4 - padding.min(2)..)?.fill(b'A');
    let bits = bits_of(&filled)?.to_be_bytes();
    let (kept, dropped) = bits[1..].split_at(3 - padding.min(2));
    bytes.extend(kept);
    dropped.iter().all(|&byte| byte == 0).then_some(())
}

/// 24 bits, of four digits.
fn bits_of(digits: &[u8; 4]) -> Option<u32> {
    digits.iter().try_fold(0, |bits, digit| {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        Some(bits << 6 | value as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_what_an_encoder_writes() {
        let decode = |text: &str| {
            let mut bytes = vec![];
            decode_base64(text, &mut bytes).map(|()| bytes)
        };
        // The test vectors of RFC 4648, section 10.
        for (text, bytes) in
            [("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba")]
        {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
        for text in ["", "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm=v", "=m8=", "Zm9_", "Zmé"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
