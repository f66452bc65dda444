//! A text on its way to pieces and, where asked for, which characters of the document each of its bytes stands for.
//!
//! Normalizers and some pre-tokenizers change the text. Ids need the changed text alone; spans also need the way
//! back. So both go through the same code, and the way back is kept only if there was one at the start.

use std::borrow::Cow;
use std::ops::Range;

/// The first character of the document that a byte stands for, and the one behind the last.
pub type Origin = (usize, usize);

#[derive(Clone)]
pub struct Traced<'t> {
    pub text: Cow<'t, str>,
    /// Of each byte.
    origins: Option<Cow<'t, [Origin]>>,
}

impl<'t> Traced<'t> {
    pub fn untraced(text: &'t str) -> Self {
        Traced { text: Cow::Borrowed(text), origins: None }
    }

    /// A text that was made.
    pub fn made(text: String) -> Self {
        Traced { text: Cow::Owned(text), origins: None }
    }

    /// A document, whose characters stand for themselves.
    pub fn document(text: &'t str) -> Self {
        let mut origins = Vec::with_capacity(text.len());
        for (number, character) in text.chars().enumerate() {
            origins.extend(std::iter::repeat_n((number, number + 1), character.len_utf8()));
        }
        Traced { text: Cow::Borrowed(text), origins: Some(Cow::Owned(origins)) }
    }

    pub fn slice(&self, range: Range<usize>) -> Traced<'_> {
        Traced { text: Cow::Borrowed(&self.text[range.clone()]), origins: self.origins_of(range).map(Cow::Borrowed) }
    }

    pub fn origins(&self) -> Option<&[Origin]> {
        self.origins.as_deref()
    }

    fn origins_of(&self, range: Range<usize>) -> Option<&[Origin]> {
        self.origins.as_deref().map(|origins| &origins[range])
    }

    /// What a part stands for, of which at least the place is in the text.
    pub fn origin(&self, range: Range<usize>) -> Option<Origin> {
        let origins = self.origins.as_deref()?;
        let first = origins.get(range.start).or(origins.last())?;
        let last = &origins[range.end.clamp(range.start + 1, origins.len()) - 1];
        Some((first.0, last.1))
    }

    /// An edited copy of this text, begun.
    pub fn edit(&self) -> Edit<'_> {
        let origins = self.origins.as_ref().map(|origins| Vec::with_capacity(origins.len()));
        Edit { source: self, text: String::with_capacity(self.text.len()), origins }
    }

    /// With `front` before it, which stands for what the first character does. Nothing goes before an empty text.
    pub fn prepended(&self, front: &str) -> Traced<'static> {
        let mut edit = self.edit();
        if let Some(first) = self.text.chars().next() {
            edit.put(front, 0..first.len_utf8());
        }
        edit.copy(0..self.text.len());
        edit.done()
    }
}

/// A text that is made from another, front to back.
pub struct Edit<'s> {
    source: &'s Traced<'s>,
    text: String,
    origins: Option<Vec<Origin>>,
}

impl Edit<'_> {
    /// Bytes so far.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    pub fn copy(&mut self, range: Range<usize>) {
        self.text.push_str(&self.source.text[range.clone()]);
        if let (Some(origins), Some(copied)) = (&mut self.origins, self.source.origins_of(range)) {
            origins.extend_from_slice(copied);
        }
    }

    /// Appends `text` for what is in `range` of the source.
    pub fn put(&mut self, text: &str, range: Range<usize>) {
        self.text.push_str(text);
        if let (Some(origins), Some(origin)) = (&mut self.origins, self.source.origin(range)) {
            origins.extend(std::iter::repeat_n(origin, text.len()));
        }
    }

    pub fn done(self) -> Traced<'static> {
        Traced { text: Cow::Owned(self.text), origins: self.origins.map(Cow::Owned) }
    }
}
