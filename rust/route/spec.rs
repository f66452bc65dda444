//! What a `tokenizer.json` says beyond vocabulary, merges and pattern, as JSON that both backends read and write the same.
//!
//! `python/bpeline/tokenizer_json/` makes it from a file, checked and translated: regular expressions are those of
//! `fancy-regex`, whatever the file's dialect. An encoding's data holds it as text.

use serde::{Deserialize, Serialize};

use crate::encoding::TokenId;
use crate::error::{Error, Result};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The added tokens in the order of their ids, if they are more than special tokens with a literal.
    pub added: Option<Vec<Added>>,
    /// Tokens of the vocabulary that no text becomes; they are decoded as they are spelled.
    pub inert: Vec<(String, TokenId)>,
    pub normalizers: Vec<Normalizer>,
    /// Whether a space goes before each part of the text that does not begin with one.
    pub prefix_space: bool,
    /// How a part becomes pieces, if not by the encoding's pattern alone.
    pub stages: Option<Vec<Stage>>,
    /// What `add_special_tokens` puts around a text.
    pub around: Option<Around>,
    /// The sections of the file as they were, to be saved again.
    #[serde(rename = "file")]
    pub _file: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize, Serialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Added {
    pub content: String,
    pub id: TokenId,
    pub lstrip: bool,
    pub normalized: bool,
    pub rstrip: bool,
    pub single_word: bool,
    pub special: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
#[allow(clippy::upper_case_acronyms)] // as in the files
pub enum Normalizer {
    NFC,
    NFD,
    NFKC,
    NFKD,
    Lowercase,
    Strip { left: bool, right: bool },
    Replace { regex: String, content: String },
    Prepend { text: String },
}

#[derive(Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum Stage {
    /// Cuts at what a regular expression matches.
    Regex {
        regex: String,
        behavior: Behavior,
        invert: bool,
    },
    /// Cuts at the characters of a class.
    Class {
        class: Class,
        behavior: Behavior,
    },
    PrefixSpace,
    /// From here on each byte is a character, as files spell it.
    Bytes,
}

/// What becomes of what a stage cuts at.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    Removed,
    Isolated,
    MergedWithPrevious,
    MergedWithNext,
    Contiguous,
}

#[derive(Deserialize, Clone, Copy)]
pub enum Class {
    Numeric,
    Punctuation,
    Whitespace,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Around {
    pub before: Vec<TokenId>,
    pub after: Vec<TokenId>,
}

impl Spec {
    pub fn read(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|_| Error::file("damaged"))
    }

    /// The ids that it may put into a text.
    pub fn ids(&self) -> impl Iterator<Item = TokenId> {
        let around = self.around.iter().flat_map(|around| around.before.iter().chain(&around.after));
        self.added.iter().flatten().map(|added| added.id).chain(around.copied())
    }

    /// Tokens with literals that are not special.
    pub fn literals(&self) -> Vec<(String, TokenId)> {
        let added = self.added.iter().flatten().filter(|added| !added.special);
        let added = added.map(|added| (added.content.clone(), added.id));
        added.chain(self.inert.iter().cloned()).collect()
    }
}

/// `text` with more added tokens, if it lists them.
pub fn extended(text: &str, more: &[(String, TokenId)]) -> Result<String> {
    let damaged = |_| Error::file("damaged");
    let mut spec: serde_json::Value = serde_json::from_str(text).map_err(damaged)?;
    if let Some(added) = spec["added"].as_array_mut() {
        for (content, id) in more {
            let plain = Added {
                content: content.clone(),
                id: *id,
                lstrip: false,
                normalized: false,
                rstrip: false,
                single_word: false,
                special: true,
            };
            added.push(serde_json::to_value(plain).map_err(damaged)?);
        }
        added.sort_by_key(|added| added["id"].as_u64());
    }
    serde_json::to_string(&spec).map_err(damaged)
}
