//! A file that has been read, and what every reader of text does with it first.

use crate::error::{Error, Result};

/// `path` is for messages.
pub struct File<'f> {
    pub path: &'f str,
    pub content: &'f [u8],
}

impl<'f> File<'f> {
    /// The text, without a byte-order mark.
    pub fn text(&self) -> Result<&'f str> {
        let File { path, content } = self;
        if content.starts_with(b"version https://git-lfs") {
            let message = format!("{path}: a git-lfs pointer, not the file itself: fetch it with `git lfs pull`");
            return Err(Error::file(message));
        }
        match std::str::from_utf8(content) {
            Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
            Err(error) => {
                let at = error.valid_up_to();
                Err(Error::file(format!("{path}: not UTF-8: byte 0x{:02x} at offset {at}", content[at])))
            }
        }
    }
}
