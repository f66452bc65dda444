//! One error enum for the crate. `python/errors.rs` turns each variant into one exception type.

use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A file or other source that cannot make a working encoding.
    EncodingFile(String),
    /// Text that is not valid Unicode, or that a pattern's engine gives up on.
    InvalidText(String),
    /// A special token occurs where none may.
    SpecialToken { token: String, at: Position },
    /// An id outside the vocabulary (`hole` false) or unused inside it (`hole` true).
    TokenId { id: String, hole: bool, vocab_size: usize },
    /// Arrow data that is not as the format has it, or a stream of it that failed.
    Arrow(String),
    /// A corpus, or a setting, from which nothing can be trained.
    Training(String),
    /// Not the type of data that is wanted.
    Type(String),
    /// The caller asked a long call to stop.
    Interrupted,
    /// An error in one document of a batch.
    InDocument { document: usize, error: Box<Error> },
}

/// Where in a document: in characters if it came as a `str`, else in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    Character(usize),
    Byte(usize),
}

impl Error {
    pub fn file(message: impl Into<String>) -> Self {
        Error::EncodingFile(message.into())
    }

    pub fn in_document(self, document: usize) -> Self {
        match self {
            Error::Interrupted => Error::Interrupted,
            error => Error::InDocument { document, error: Box::new(error) },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::EncodingFile(message)
            | Error::InvalidText(message)
            | Error::Arrow(message)
            | Error::Training(message)
            | Error::Type(message) => f.write_str(message),
            Error::SpecialToken { token, at } => {
                write!(f, "special token {} at {at}", quote(token))
            }
            Error::TokenId { id, hole, vocab_size } => {
                let fault = if *hole { "is unused in this encoding" } else { "is not in the vocabulary" };
                write!(f, "token id {id} {fault} (valid ids: 0 to {})", vocab_size.saturating_sub(1))
            }
            Error::Interrupted => f.write_str("interrupted"),
            Error::InDocument { document, error } => write!(f, "document {document}: {error}"),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Character(n) => write!(f, "character {n}"),
            Position::Byte(n) => write!(f, "byte {n}"),
        }
    }
}

impl std::error::Error for Error {}

const SHOWN: usize = 40;

/// `text`, cut to 40 characters.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `text` in double quotes, cut to 40 characters.
pub fn quote(text: &str) -> String {
    format!("\"{}\"", shorten(text))
}

/// `'x'` for printable ASCII, else `U+XXXX`; `end of file` for nothing.
pub fn show_char(c: Option<char>) -> String {
    match c {
        None => "end of file".to_owned(),
        Some(c @ ' '..='~') => format!("'{c}'"),
        Some(c) => format!("U+{:04X}", c as u32),
    }
}

/// `b"…"` with bytes outside printable ASCII as `\xNN`, cut to 40 bytes.
pub fn show_bytes(bytes: &[u8]) -> String {
    let mut shown = String::from("b\"");
    for &b in bytes.iter().take(SHOWN) {
        match b {
            b'"' | b'\\' | 0..=0x1f | 0x7f.. => shown.push_str(&format!("\\x{b:02x}")),
            _ => shown.push(b as char),
        }
    }
    if bytes.len() > SHOWN {
        shown.push('…');
    }
    shown.push('"');
    shown
}
