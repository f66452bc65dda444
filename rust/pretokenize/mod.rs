//! Stage 2: text -> pieces. Merges never cross a piece.
//!
//! A [`Pattern`] is recognised by its text: GPT-2's has a scanner of its own ([`scanner`]), any other
//! goes through a regular-expression engine ([`regex`]). Pieces are consecutive and cover the text:
//! what a pattern does not match is a piece too, so that nothing is lost.

pub mod classes;
pub mod cuts;
pub mod regex;
pub mod scalar;
pub mod scanner;

use crate::error::{Error, Result, quote};

/// The pattern of GPT-2, as OpenAI published it.
pub const GPT2_PATTERN: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// The same pieces in tiktoken's spelling (possessive, so that its engine does not backtrack).
const GPT2_PATTERN_TIKTOKEN: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";

/// Pieces are shorter than this, so that positions in one fit 32 bits with a value to spare.
const MAX_PIECE: usize = u32::MAX as usize;

pub struct Pattern {
    text: String,
    engine: Engine,
}

enum Engine {
    Gpt2,
    Regex(regex::Engine),
}

fn is_like_a_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

impl Pattern {
    /// `text` is a regular expression, or `gpt2`.
    pub fn new(text: &str) -> Result<Self> {
        let text = if text == "gpt2" { GPT2_PATTERN } else { text };
        if is_like_a_name(text) {
            let message = format!(
                "pattern {} is no known name (gpt2), and as a regular expression it would match only itself",
                quote(text)
            );
            return Err(Error::file(message));
        }
        let engine = match text {
            GPT2_PATTERN | GPT2_PATTERN_TIKTOKEN => Engine::Gpt2,
            _ => Engine::Regex(regex::Engine::new(text)?),
        };
        Ok(Pattern { text: text.to_owned(), engine })
    }

    /// The regular expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Calls `visit` with each piece of `text`, in order.
    #[inline]
    pub fn pieces<'t>(&self, text: &'t str, visit: impl FnMut(&'t str) -> Result<()>) -> Result<()> {
        self.pieces_from(text, 0, visit)
    }

    /// The pieces of `text` from the one that starts at byte `start` on.
    #[inline]
    pub fn pieces_from<'t>(
        &self,
        text: &'t str,
        start: usize,
        mut visit: impl FnMut(&'t str) -> Result<()>,
    ) -> Result<()> {
        let checked = |piece: &'t str| {
            if piece.len() >= MAX_PIECE {
                let message = format!("a piece of {} bytes, expected less than {MAX_PIECE}", piece.len());
                return Err(Error::InvalidText(message));
            }
            visit(piece)
        };
        match &self.engine {
            // What lies in front of a piece does not matter to it.
            Engine::Gpt2 => scanner::pieces(&text[start..], checked),
            Engine::Regex(engine) => engine.pieces_from(text, start, checked),
        }
    }

    /// What finding one piece may cost, in bytes of ordinary work: some patterns look at all of the text for each.
    pub fn work_of_a_piece(&self) -> usize {
        match self.engine {
            Engine::Gpt2 => 0,
            Engine::Regex(_) => 1 << 12,
        }
    }

    /// A byte at or after `near` at which the text can be cut: its pieces are those of the two parts, whatever lies
    /// around the text. For a pattern of which that is not known, `None`.
    pub fn safe_cut(&self, text: &str, near: usize) -> Option<usize> {
        match self.engine {
            Engine::Gpt2 => cuts::gpt2(text, near),
            Engine::Regex(_) => None,
        }
    }

    /// How many bytes a cut must lie inside a piece for the piece's front to be one piece of the text before
    /// the cut, and all pieces before it the same. See `truncate.rs`.
    pub fn settles_after(&self) -> usize {
        match self.engine {
            Engine::Gpt2 => scalar::SETTLES_AFTER,
            Engine::Regex(_) => regex::SETTLES_AFTER,
        }
    }
}
