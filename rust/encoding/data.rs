//! `to_bytes` / `from_bytes`: an encoding as one block of bytes, the same from either backend.
//!
//! ```text
//! "bpeline encoding 1\n"  SHA-256 of the body  body
//! body: name, pattern     each u32 length + UTF-8
//!       u8 kind           0: pairs are ranked, 1: token bytes are, 2: pairs are, and whole pieces are looked up first
//!                         4 more if this comes next:
//!       u32 length + UTF-8                           what else there is (`route/spec.rs`)
//!       u32 n, n × (u32 id, u32 length + UTF-8)      special tokens by (id, literal)
//!       u32 n, n × (u32 id, u32 length + bytes)      ordinary tokens by id
//!       u32 n, n × (u32 left id, u32 right id)       kinds 0 and 2: rules in rank order
//! ```
//! Numbers are little-endian.

use sha2::{Digest, Sha256};

use super::{Beyond, Encoding, Parts, Rules, TokenId, Tokens};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;

const MAGIC: &[u8] = b"bpeline encoding 1\n";

const PAIRS: u8 = 0;
const TOKEN_BYTES: u8 = 1;
const WHOLE_PIECES: u8 = 2;
const HAS_SPEC: u8 = 4;

/// Begins the message of every fault.
const SOURCE: &str = "encoding data";

pub fn to_bytes(encoding: &Encoding) -> Vec<u8> {
    let mut body = Vec::new();
    put_block(&mut body, encoding.name().as_bytes());
    body.extend(nameless_body(encoding));
    [MAGIC, &Sha256::digest(&body), &body].concat()
}

pub fn fingerprint(encoding: &Encoding) -> [u8; 32] {
    Sha256::digest(nameless_body(encoding)).into()
}

fn nameless_body(encoding: &Encoding) -> Vec<u8> {
    let mut body = Vec::new();
    put_block(&mut body, encoding.pattern().text().as_bytes());
    let merges = match encoding.rules() {
        Rules::Pairs(merges) => Some(merges),
        Rules::TokenBytes => None,
    };
    let Beyond { whole_pieces, spec } = encoding.beyond();
    let kind = if merges.is_none() { TOKEN_BYTES } else { PAIRS | if *whole_pieces { WHOLE_PIECES } else { 0 } };
    body.push(kind | if spec.is_some() { HAS_SPEC } else { 0 });
    if let Some(spec) = spec {
        put_block(&mut body, spec.as_bytes());
    }
    put_number(&mut body, encoding.special_tokens().len());
    for (literal, id) in encoding.special_tokens().iter() {
        put_number(&mut body, id as usize);
        put_block(&mut body, literal.as_bytes());
    }
    put_number(&mut body, encoding.vocabulary().ordinary().count());
    for (id, bytes) in encoding.vocabulary().ordinary() {
        put_number(&mut body, id as usize);
        put_block(&mut body, bytes);
    }
    if let Some(merges) = merges {
        put_number(&mut body, merges.len());
        for &(left, right) in merges {
            put_number(&mut body, left as usize);
            put_number(&mut body, right as usize);
        }
    }
    body
}

/// Lengths and ids stay far below 2^32: ids below 2^24, and no token comes near 4 GB.
fn put_number(body: &mut Vec<u8>, number: usize) {
    body.extend((number as u32).to_le_bytes());
}

fn put_block(body: &mut Vec<u8>, block: &[u8]) {
    put_number(body, block.len());
    body.extend_from_slice(block);
}

pub fn from_bytes(data: &[u8], interrupt: &dyn Interrupt) -> Result<Encoding> {
    let Some(rest) = data.strip_prefix(MAGIC) else {
        return Err(Error::file(format!("{SOURCE}: expected it to start with \"bpeline encoding 1\"")));
    };
    match rest.split_first_chunk::<32>() {
        Some((checksum, body)) if Sha256::digest(body).as_slice() == checksum => {
            let (parts, beyond) = read_parts(body).ok_or_else(|| Error::file(format!("{SOURCE}: damaged")))?;
            Encoding::with_more(SOURCE, parts, beyond, interrupt).map_err(|error| match error {
                Error::EncodingFile(message) if !message.starts_with(SOURCE) => {
                    Error::file(format!("{SOURCE}: {message}"))
                }
                error => error,
            })
        }
        _ => Err(Error::file(format!("{SOURCE}: the checksum does not match"))),
    }
}

fn read_parts(body: &[u8]) -> Option<(Parts, Beyond)> {
    let mut reader = Reader(body);
    let name = reader.text()?;
    let pattern = reader.text()?;
    let kind = reader.take(1)?[0];
    let spec = if kind & HAS_SPEC != 0 { Some(reader.text()?) } else { None };
    let mut special_tokens = Vec::new();
    for _ in 0..reader.number()? {
        let id = reader.number()?;
        special_tokens.push((reader.text()?, id));
    }
    let mut tokens = Tokens::default();
    for _ in 0..reader.number()? {
        let id = reader.number()?;
        tokens.push(id, reader.block()?);
    }
    let rules = match kind & !HAS_SPEC {
        PAIRS | WHOLE_PIECES => {
            let mut merges = Vec::new();
            for _ in 0..reader.number()? {
                merges.push((reader.number()?, reader.number()?));
            }
            Rules::Pairs(merges)
        }
        TOKEN_BYTES => Rules::TokenBytes,
        _ => return None,
    };
    let beyond = Beyond { whole_pieces: kind & WHOLE_PIECES != 0, spec };
    reader.0.is_empty().then_some((Parts { name, pattern, tokens, rules, special_tokens }, beyond))
}

/// Reads from the front; `None` past the end.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(front)
    }

    fn number(&mut self) -> Option<TokenId> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn block(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        self.take(length)
    }

    fn text(&mut self) -> Option<String> {
        Some(std::str::from_utf8(self.block()?).ok()?.to_owned())
    }
}
