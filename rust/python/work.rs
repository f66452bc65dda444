//! What the methods of `Core` have in common: one text in, a sink filled; ids in, bytes out. ([`super::batches`]: many texts.)

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::core::Core;
use super::end_of_text::EndOfText;
use super::ids::token_ids;
use super::lists;
use super::options::{OnInvalid, SpecialChoice};
use super::signals::Signals;
use super::texts::Text;
use crate::decode::Decoder;
use crate::encode::Session;
use crate::encoding::TokenId;
use crate::error::Result;
use crate::interrupt::{Interrupt, Never};
use crate::route::spec::Around;
use crate::sink::{self, Sink, Token};
use crate::special::Special;

/// Texts up to this size are encoded with the interpreter held: giving it up and taking it back
/// costs as much as encoding a few hundred bytes, and much more when other threads wait for it.
const HOLD_UP_TO: usize = 4096;

/// What the encoding methods do with special tokens and with invalid text.
pub(super) struct Options {
    pub special: Special,
    pub on_invalid: OnInvalid,
    /// What goes around each text.
    pub around: Option<Around>,
    /// What parts documents.
    pub end_of_text: Option<EndOfText>,
}

impl Options {
    /// Appends the ids of a whole document.
    pub fn encode(
        &self,
        session: &mut Session,
        text: &str,
        sink: &mut impl Sink,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        let Some(around) = &self.around else { return session.encode(text, &self.special, sink, interrupt) };
        around.before.iter().for_each(|&id| sink.put_special(id, 0));
        session.encode(text, &self.special, sink, interrupt)?;
        around.after.iter().for_each(|&id| sink.put_special(id, 0));
        Ok(())
    }
}

impl Core {
    pub(super) fn vocab_size(&self) -> usize {
        self.encoder.encoding().vocabulary().size()
    }

    /// Whether every id fits `u16`.
    pub(super) fn is_narrow(&self) -> bool {
        self.vocab_size() <= 1 << 16
    }

    pub(super) fn options(
        &self,
        special: &SpecialChoice,
        on_invalid: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<Options> {
        let encoding = self.encoder.encoding();
        let special = special.resolve(encoding.special_tokens())?;
        let around = encoding.around().filter(|_| add_special_tokens).cloned();
        Ok(Options { special, on_invalid, around, end_of_text: None })
    }

    pub(super) fn list<'py, T: Copy + Sync + Into<TokenId>>(
        &self,
        py: Python<'py>,
        ids: &[T],
    ) -> PyResult<Bound<'py, PyList>> {
        lists::list(py, ids, self.vocab_size())
    }

    /// Calls `work` with one text as UTF-8.
    pub(super) fn on_text<R: Send>(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        options: &Options,
        work: impl FnOnce(&str, &dyn Interrupt) -> Result<R> + Send,
    ) -> PyResult<R> {
        let text = Text::new(text)?;
        let source = text.source();
        let mut buffer = String::new();
        if source.size() <= HOLD_UP_TO {
            return Ok(source.with_text(&mut buffer, options.on_invalid, |text| work(text, &Never))?);
        }
        Signals::detached(py, |signals| source.with_text(&mut buffer, options.on_invalid, |text| work(text, signals)))
    }

    /// Fills the sink that `sink` makes for a text of so many bytes.
    pub(super) fn encode_into<S: Sink + Send>(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        options: &Options,
        sink: impl FnOnce(usize) -> S + Send,
    ) -> PyResult<S> {
        self.on_text(py, text, options, |text, interrupt| {
            let mut sink = sink(text.len());
            options.encode(&mut self.encoder.session(), text, &mut sink, interrupt)?;
            Ok(sink)
        })
    }

    /// The ids of one text.
    pub(super) fn ids<T: Token>(&self, py: Python<'_>, text: &Bound<'_, PyAny>, options: &Options) -> PyResult<Vec<T>> {
        self.encode_into(py, text, options, sink::with_room)
    }

    /// Calls `work` with `bytes`, to take from or to leave there, after each few thousand ids that went into it.
    pub(super) fn decode_into(
        &self,
        ids: &Bound<'_, PyAny>,
        skip_special_tokens: bool,
        bytes: &mut Vec<u8>,
        mut work: impl FnMut(&mut Vec<u8>) -> PyResult<()>,
    ) -> PyResult<()> {
        let vocabulary = self.encoder.encoding().vocabulary();
        let decoder = self.decoder.get_or_init(|| Decoder::new(vocabulary));
        token_ids(ids, vocabulary.size(), |ids| {
            decoder.decode(vocabulary, ids, skip_special_tokens, bytes)?;
            work(bytes)
        })
    }
}
