//! Ids -> bytes: exactly the bytes that the tokens carry, one after the other.

use crate::encoding::vocabulary::Kind;
use crate::encoding::{TokenId, Vocabulary};
use crate::error::{Error, Result};

/// Appends the bytes of `ids` to `bytes`; special tokens are left out if asked.
pub fn decode(vocabulary: &Vocabulary, ids: &[TokenId], skip_special: bool, bytes: &mut Vec<u8>) -> Result<()> {
    for &id in ids {
        let Some(token) = vocabulary.token_bytes(id) else {
            let hole = vocabulary.kind(id).is_some();
            return Err(Error::TokenId { id: id.to_string(), hole, vocab_size: vocabulary.size() });
        };
        if !(skip_special && vocabulary.kind(id) == Some(Kind::Special)) {
            bytes.extend_from_slice(token);
        }
    }
    Ok(())
}
