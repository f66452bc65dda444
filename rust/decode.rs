//! Ids -> bytes: exactly the bytes that the tokens carry, one after the other.
//!
//! Nearly every token has at most 15 bytes. Each of those is a slot of 16, the last of which is its length: a step
//! is one load, one store of all 16 bytes, and an advance by the length, with nothing to branch on but that the
//! slot is taken. Whatever is no such token (long, special, a hole, out of range) is looked up in the vocabulary.
//! O(ids), and 16 bytes for each id of the vocabulary up to [`MOST_SLOTS`].

use crate::encoding::vocabulary::Kind;
use crate::encoding::{TokenId, Vocabulary};
use crate::error::{Error, Result};

/// The bytes of a token and, in the last place, how many they are. Aligned, so that it lies in one line of memory.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Slot([u8; SLOT]);

const SLOT: usize = 16;
const LONGEST: usize = SLOT - 1;

/// Slots are for ids below this: one token of id 2^24 must not cost 256 MB.
const MOST_SLOTS: usize = 1 << 18;

impl Slot {
    const LOOK_IT_UP: Slot = Slot([u8::MAX; SLOT]);

    /// Special tokens have none, since they may have to be left out.
    fn of(vocabulary: &Vocabulary, id: TokenId) -> Self {
        match vocabulary.token_bytes(id) {
            Some(token) if vocabulary.kind(id) == Some(Kind::Ordinary) => Slot::new(token),
            _ => Slot::LOOK_IT_UP,
        }
    }

    fn new(token: &[u8]) -> Self {
        if token.len() > LONGEST {
            return Slot::LOOK_IT_UP;
        }
        let mut slot = [0; SLOT];
        slot[..token.len()].copy_from_slice(token);
        slot[LONGEST] = token.len() as u8;
        Slot(slot)
    }

    #[inline]
    fn length(&self) -> Option<usize> {
        let length = self.0[LONGEST] as usize;
        (length <= LONGEST).then_some(length)
    }
}

/// The tokens of a vocabulary, laid out for decoding.
pub struct Decoder {
    slots: Vec<Slot>,
}

impl Decoder {
    pub fn new(vocabulary: &Vocabulary) -> Self {
        let ids = 0..vocabulary.size().min(MOST_SLOTS) as TokenId;
        let slots = ids.map(|id| Slot::of(vocabulary, id)).collect();
        Decoder { slots }
    }

    /// Appends the bytes of `ids` to `bytes`; special tokens are left out if asked. `vocabulary` is the one that this
    /// was made from.
    pub fn decode(
        &self,
        vocabulary: &Vocabulary,
        ids: &[TokenId],
        skip_special: bool,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let mut rest = ids;
        loop {
            rest = self.short_tokens(rest, bytes);
            let Some((&id, after)) = rest.split_first() else { return Ok(()) };
            let Some(token) = vocabulary.token_bytes(id) else {
                let hole = vocabulary.kind(id).is_some();
                return Err(Error::TokenId { id: id.to_string(), hole, vocab_size: vocabulary.size() });
            };
            if !(skip_special && vocabulary.kind(id).is_some_and(Kind::is_special)) {
                bytes.extend_from_slice(token);
            }
            rest = after;
        }
    }

    /// Appends the tokens in front that have slots, and returns the ids from the first that has none on.
    #[inline]
    fn short_tokens<'i>(&self, ids: &'i [TokenId], bytes: &mut Vec<u8>) -> &'i [TokenId] {
        bytes.reserve(ids.len() * SLOT);
        let mut end = bytes.len();
        let mut taken = 0;
        for &id in ids {
            let Some(slot) = self.slots.get(id as usize) else { break };
            let Some(length) = slot.length() else { break };
            // SAFETY: room for a whole slot an id was reserved, and no step takes more than that; `length` bytes of
            // the slot are the token.
            unsafe { bytes.as_mut_ptr().add(end).cast::<[u8; SLOT]>().write_unaligned(slot.0) };
            end += length;
            taken += 1;
        }
        // SAFETY: inside the reserved room; each step has written what it advanced by.
        unsafe { bytes.set_len(end) };
        &ids[taken..]
    }
}
