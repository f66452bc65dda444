//! End-of-text between the documents of a batch, for the corpus job: it costs nothing where the ids are made.

use crate::encoding::TokenId;
use crate::error::Result;
use crate::sink::{Sink, Token};

/// Where end-of-text goes among the ids of a batch.
pub(super) struct EndOfText {
    pub id: TokenId,
    pub place: Side,
    /// Whether a document without ids gets it.
    pub if_empty: bool,
    /// Whether the first document began before the batch.
    pub is_begun: bool,
    /// Whether the last goes on after it.
    pub is_open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl EndOfText {
    /// Appends the ids of a part, which `encode` appends, and the end-of-text that belongs to it.
    pub fn put<T: Token>(
        &self,
        place: Place,
        tokens: &mut Vec<T>,
        encode: impl FnOnce(&mut Vec<T>) -> Result<()>,
    ) -> Result<()> {
        let (begins, ends) =
            (place.begins && !(place.is_first && self.is_begun), place.ends && !(place.is_last && self.is_open));
        let before = tokens.len();
        if self.place == Side::Before && begins {
            tokens.put(&[T::from_id(self.id)]);
        }
        let without = tokens.len();
        encode(tokens)?;
        let gets_it = self.if_empty || !begins || tokens.len() > without;
        if !gets_it {
            tokens.truncate(before);
        } else if self.place == Side::After && ends {
            tokens.put(&[T::from_id(self.id)]);
        }
        Ok(())
    }
}

/// Where a text of a batch lies: a document, or a part of one.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub is_first: bool,
    pub is_last: bool,
    pub begins: bool,
    pub ends: bool,
}
