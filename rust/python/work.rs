//! What the methods of `Core` have in common: texts in, sinks filled, Python's objects out.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::core::Core;
use super::ids::token_ids;
use super::options::{self, OnInvalid, SpecialChoice, Whole};
use super::signals::Signals;
use super::texts::{Source, Text, texts};
use crate::batch::map_chunks;
use crate::decode::Decoder;
use crate::encode::{Ends, Session, Sink, Token};
use crate::encoding::TokenId;
use crate::error::Result;
use crate::interrupt::{Interrupt, Never};
use crate::special::Special;

/// Texts up to this size are encoded with the interpreter held: giving it up and taking it back
/// costs as much as encoding a few hundred bytes, and much more when other threads wait for it.
const HOLD_UP_TO: usize = 4096;

/// What the encoding methods do with special tokens and with invalid text.
pub(super) struct Options {
    pub special: Special,
    pub on_invalid: OnInvalid,
}

/// The ids of some documents, one after the other.
pub(super) struct Flat<T> {
    pub tokens: Vec<T>,
    pub lengths: Vec<usize>,
}

impl<T> Default for Flat<T> {
    fn default() -> Self {
        Flat { tokens: Vec::new(), lengths: Vec::new() }
    }
}

/// Ids, and the first and the last-plus-one character of each.
pub(super) type WithSpans = (Vec<TokenId>, Vec<i64>);

impl Core {
    pub(super) fn vocab_size(&self) -> usize {
        self.encoder.encoding().vocabulary().size()
    }

    /// Whether every id fits `u16`.
    pub(super) fn is_narrow(&self) -> bool {
        self.vocab_size() <= 1 << 16
    }

    pub(super) fn options(&self, special: &SpecialChoice, on_invalid: OnInvalid) -> PyResult<Options> {
        let special = special.resolve(self.encoder.encoding().special_tokens())?;
        Ok(Options { special, on_invalid })
    }

    pub(super) fn list<'py>(&self, py: Python<'py>, ids: &[TokenId]) -> PyResult<Bound<'py, PyList>> {
        self.lists.list(py, ids, self.vocab_size())
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

    pub(super) fn encode_into<S: Sink + Send>(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        options: &Options,
        mut sink: S,
    ) -> PyResult<S> {
        self.on_text(py, text, options, |text, interrupt| {
            self.encoder.session().encode(text, &options.special, &mut sink, interrupt)?;
            Ok(sink)
        })
    }

    /// Calls `each` with every document of a batch; the results are those of chunks of documents, in order.
    pub(super) fn on_batch<R: Send + Default>(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<Whole>,
        options: &Options,
        each: impl Fn(&mut R, &mut Session, &str, &dyn Interrupt) -> Result<()> + Sync,
    ) -> PyResult<Vec<R>> {
        let threads = options::threads(threads)?;
        let texts = self::texts(texts)?;
        let sources: Vec<Source> = texts.iter().map(Text::source).collect();
        let sizes: Vec<usize> = sources.iter().map(Source::size).collect();
        Signals::detached(py, |signals| {
            map_chunks(&sizes, threads, signals, |range| {
                signals.check()?;
                let mut session = self.encoder.session();
                let mut buffer = String::new();
                let mut result = R::default();
                for document in range {
                    sources[document]
                        .with_text(&mut buffer, options.on_invalid, |text| {
                            each(&mut result, &mut session, text, signals)
                        })
                        .map_err(|error| error.in_document(document))?;
                }
                Ok(result)
            })
        })
    }

    pub(super) fn flat<T: Token>(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<Whole>,
        options: &Options,
    ) -> PyResult<Vec<Flat<T>>> {
        self.on_batch(py, texts, threads, options, |flat: &mut Flat<T>, session, text, interrupt| {
            let before = flat.tokens.len();
            session.encode(text, &options.special, &mut flat.tokens, interrupt)?;
            flat.lengths.push(flat.tokens.len() - before);
            Ok(())
        })
    }

    pub(super) fn ragged<'py, T: Token + numpy::Element>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<Whole>,
        options: &Options,
    ) -> PyResult<Ragged<'py>> {
        let chunks = self.flat::<T>(py, texts, threads, options)?;
        let mut offsets = vec![0];
        let mut end = 0;
        for length in chunks.iter().flat_map(|chunk| &chunk.lengths) {
            end += *length as i64;
            offsets.push(end);
        }
        let tokens = py.detach(|| {
            let mut tokens = Vec::with_capacity(end as usize);
            for chunk in chunks {
                tokens.extend_from_slice(&chunk.tokens);
            }
            tokens
        });
        Ok((PyArray1::from_vec(py, tokens).into_any(), PyArray1::from_vec(py, offsets)))
    }

    pub(super) fn with_spans(
        &self,
        session: &mut Session,
        text: &str,
        special: &Special,
        interrupt: &dyn Interrupt,
    ) -> Result<WithSpans> {
        let mut ends = Ends::new(self.encoder.encoding().vocabulary());
        session.encode(text, special, &mut ends, interrupt)?;
        let spans = character_spans(text, &ends.ends);
        Ok((ends.ids, spans))
    }

    pub(super) fn python_spans<'py>(&self, py: Python<'py>, (ids, spans): WithSpans) -> PyResult<Spans<'py>> {
        let spans = PyArray1::from_vec(py, spans).reshape([ids.len(), 2])?;
        Ok((self.list(py, &ids)?, spans))
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

/// Tokens and offsets.
pub(super) type Ragged<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>);
pub(super) type Spans<'py> = (Bound<'py, PyList>, Bound<'py, PyArray2<i64>>);

/// For tokens that end at the bytes `ends`: the index of the character that holds each one's first byte, and
/// one more than that of the character that holds its last.
fn character_spans(text: &str, ends: &[usize]) -> Vec<i64> {
    let mut spans = Vec::with_capacity(ends.len() * 2);
    let (mut start, mut characters) = (0, 0);
    for &end in ends {
        let inside_character = !text.is_char_boundary(start);
        spans.push(characters - inside_character as i64);
        // Every character has one byte that is not a continuation byte.
        characters += text.as_bytes()[start..end].iter().filter(|&&byte| byte as i8 >= -64).count() as i64;
        spans.push(characters);
        start = end;
    }
    spans
}
