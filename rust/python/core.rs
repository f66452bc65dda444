//! `bpeline._native.Core`: what encodes and decodes, as Python sees it.

use std::ffi::CString;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::encoding::Encoding;
use super::ids::token_ids;
use super::lists::Lists;
use super::options::{self, OnInvalid, SpecialChoice};
use super::signals::Signals;
use super::texts::{Source, Text, texts};
use crate::batch::map_chunks;
use crate::decode;
use crate::encode::{Count, Encoder, Ends, Session, Sink, Token};
use crate::encoding::TokenId;
use crate::error::Result;
use crate::interrupt::{Interrupt, Never};
use crate::special::Special;
use crate::truncate;

/// Texts up to this size are encoded with the interpreter held: giving it up and taking it back
/// costs as much as encoding a few hundred bytes, and much more when other threads wait for it.
const HOLD_UP_TO: usize = 4096;

/// Encoder and decoder over one encoding. Immutable to its users; safe to share between threads.
#[pyclass(frozen, subclass, module = "bpeline._native")]
pub struct Core {
    encoder: Encoder,
    encoding: Py<Encoding>,
    lists: Lists,
}

/// What the encoding methods do with special tokens and with invalid text.
struct Options {
    special: Special,
    on_invalid: OnInvalid,
}

/// The ids of some documents, one after the other.
struct Flat<T> {
    tokens: Vec<T>,
    lengths: Vec<usize>,
}

impl<T> Default for Flat<T> {
    fn default() -> Self {
        Flat { tokens: Vec::new(), lengths: Vec::new() }
    }
}

/// Ids, and the first and the last-plus-one character of each.
type WithSpans = (Vec<TokenId>, Vec<i64>);

impl Core {
    fn vocab_size(&self) -> usize {
        self.encoder.encoding().vocabulary().size()
    }

    /// Whether every id fits `u16`.
    fn is_narrow(&self) -> bool {
        self.vocab_size() <= 1 << 16
    }

    fn options(&self, special: &SpecialChoice, on_invalid: OnInvalid) -> PyResult<Options> {
        let special = special.resolve(self.encoder.encoding().special_tokens())?;
        Ok(Options { special, on_invalid })
    }

    fn list<'py>(&self, py: Python<'py>, ids: &[TokenId]) -> PyResult<Bound<'py, PyList>> {
        self.lists.list(py, ids, self.vocab_size())
    }

    /// Calls `work` with one text as UTF-8.
    fn on_text<R: Send>(
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

    fn encode_into<S: Sink + Send>(
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
    fn on_batch<R: Send + Default>(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<i64>,
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
                        .with_text(&mut buffer, options.on_invalid, |text| each(&mut result, &mut session, text, signals))
                        .map_err(|error| error.in_document(document))?;
                }
                Ok(result)
            })
        })
    }

    fn flat<T: Token>(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<i64>,
        options: &Options,
    ) -> PyResult<Vec<Flat<T>>> {
        self.on_batch(py, texts, threads, options, |flat: &mut Flat<T>, session, text, interrupt| {
            let before = flat.tokens.len();
            session.encode(text, &options.special, &mut flat.tokens, interrupt)?;
            flat.lengths.push(flat.tokens.len() - before);
            Ok(())
        })
    }

    fn ragged<'py, T: Token + numpy::Element>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<i64>,
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

    fn with_spans(&self, session: &mut Session, text: &str, special: &Special, interrupt: &dyn Interrupt) -> Result<WithSpans> {
        let mut ends = Ends::new(self.encoder.encoding().vocabulary());
        session.encode(text, special, &mut ends, interrupt)?;
        let spans = character_spans(text, &ends.ends);
        Ok((ends.ids, spans))
    }

    fn python_spans<'py>(&self, py: Python<'py>, (ids, spans): WithSpans) -> PyResult<Spans<'py>> {
        let spans = PyArray1::from_vec(py, spans).reshape([ids.len(), 2])?;
        Ok((self.list(py, &ids)?, spans))
    }

    fn decode_to_bytes(&self, ids: &Bound<'_, PyAny>, skip_special_tokens: bool) -> PyResult<Vec<u8>> {
        let ids = token_ids(ids, self.vocab_size())?;
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        let vocabulary = self.encoder.encoding().vocabulary();
        decode::decode(vocabulary, &ids, skip_special_tokens, &mut bytes)?;
        Ok(bytes)
    }
}

/// Tokens and offsets.
type Ragged<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>);
type Spans<'py> = (Bound<'py, PyList>, Bound<'py, PyArray2<i64>>);

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

#[pymethods]
impl Core {
    #[new]
    #[pyo3(signature = (encoding, *, cache_bytes=None))]
    fn new(encoding: &Bound<'_, Encoding>, cache_bytes: Option<i64>) -> PyResult<Self> {
        let budget = match cache_bytes {
            Some(bytes) if bytes < 0 => {
                return Err(PyValueError::new_err(format!("cache_bytes must be at least 0, not {bytes}")));
            }
            bytes => bytes.map(|bytes| bytes as usize),
        };
        let encoder = Encoder::new(Arc::clone(&encoding.get().inner), budget);
        Ok(Core { encoder, encoding: encoding.clone().unbind(), lists: Lists::default() })
    }

    /// All that fixes the ids.
    #[getter]
    fn encoding<'py>(&self, py: Python<'py>) -> &Bound<'py, Encoding> {
        self.encoding.bind(py)
    }

    /// The budget of the cache, all threads together.
    #[getter]
    fn cache_bytes(&self) -> usize {
        self.encoder.cache_bytes()
    }

    #[pyo3(signature = (text, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, text, *, special='parse', errors='strict')")]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: SpecialChoice,
        errors: OnInvalid,
    ) -> PyResult<Bound<'py, PyList>> {
        let ids: Vec<TokenId> = self.encode_into(py, text, &self.options(&special, errors)?, Vec::new())?;
        self.list(py, &ids)
    }

    #[pyo3(signature = (text, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, text, *, special='parse', errors='strict')")]
    fn encode_array<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: SpecialChoice,
        errors: OnInvalid,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = self.options(&special, errors)?;
        if self.is_narrow() {
            let ids = self.encode_into(py, text, &options, Vec::<u16>::new())?;
            Ok(PyArray1::from_vec(py, ids).into_any())
        } else {
            let ids = self.encode_into(py, text, &options, Vec::<u32>::new())?;
            Ok(PyArray1::from_vec(py, ids).into_any())
        }
    }

    #[pyo3(signature = (texts, *, threads=None, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, texts, *, threads=None, special='parse', errors='strict')")]
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<i64>,
        special: SpecialChoice,
        errors: OnInvalid,
    ) -> PyResult<Bound<'py, PyList>> {
        let lists = PyList::empty(py);
        for chunk in self.flat::<TokenId>(py, texts, threads, &self.options(&special, errors)?)? {
            let mut rest = &chunk.tokens[..];
            for length in chunk.lengths {
                let (ids, after) = rest.split_at(length);
                lists.append(self.list(py, ids)?)?;
                rest = after;
            }
        }
        Ok(lists)
    }

    #[pyo3(signature = (texts, *, threads=None, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, texts, *, threads=None, special='parse', errors='strict')")]
    fn _encode_ragged<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<i64>,
        special: SpecialChoice,
        errors: OnInvalid,
    ) -> PyResult<Ragged<'py>> {
        let options = self.options(&special, errors)?;
        if self.is_narrow() {
            self.ragged::<u16>(py, texts, threads, &options)
        } else {
            self.ragged::<u32>(py, texts, threads, &options)
        }
    }

    #[pyo3(signature = (text, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, text, *, special='parse', errors='strict')")]
    fn encode_with_spans<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: SpecialChoice,
        errors: OnInvalid,
    ) -> PyResult<Spans<'py>> {
        let options = self.options(&special, errors)?;
        let spans = self.on_text(py, text, &options, |text, interrupt| {
            self.with_spans(&mut self.encoder.session(), text, &options.special, interrupt)
        })?;
        self.python_spans(py, spans)
    }

    #[pyo3(signature = (texts, *, threads=None, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, texts, *, threads=None, special='parse', errors='strict')")]
    fn encode_batch_with_spans<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<i64>,
        special: SpecialChoice,
        errors: OnInvalid,
    ) -> PyResult<Vec<Spans<'py>>> {
        let options = self.options(&special, errors)?;
        let chunks = self.on_batch(py, texts, threads, &options, |spans: &mut Vec<_>, session, text, interrupt| {
            spans.push(self.with_spans(session, text, &options.special, interrupt)?);
            Ok(())
        })?;
        chunks.into_iter().flatten().map(|spans| self.python_spans(py, spans)).collect()
    }

    #[pyo3(signature = (text, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, text, *, special='parse', errors='strict')")]
    fn count(&self, py: Python<'_>, text: &Bound<'_, PyAny>, special: SpecialChoice, errors: OnInvalid) -> PyResult<usize> {
        Ok(self.encode_into(py, text, &self.options(&special, errors)?, Count::default())?.0)
    }

    #[pyo3(signature = (texts, *, threads=None, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, texts, *, threads=None, special='parse', errors='strict')")]
    fn count_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<i64>,
        special: SpecialChoice,
        errors: OnInvalid,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let options = self.options(&special, errors)?;
        let chunks = self.on_batch(py, texts, threads, &options, |counts: &mut Vec<i64>, session, text, interrupt| {
            let mut count = Count::default();
            session.encode(text, &options.special, &mut count, interrupt)?;
            counts.push(count.0 as i64);
            Ok(())
        })?;
        Ok(PyArray1::from_vec(py, chunks.concat()))
    }

    #[pyo3(signature = (text, max_tokens, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, text, max_tokens, *, special='parse', errors='strict')")]
    fn truncate<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        max_tokens: i64,
        special: SpecialChoice,
        errors: OnInvalid,
    ) -> PyResult<Bound<'py, PyString>> {
        let Ok(limit) = usize::try_from(max_tokens) else {
            return Err(PyValueError::new_err(format!("max_tokens must be at least 0, not {max_tokens}")));
        };
        let options = self.options(&special, errors)?;
        let prefix = self.on_text(py, text, &options, |text, interrupt| {
            Ok(truncate::truncate(&self.encoder, text, limit, &options.special, interrupt)?.to_owned())
        })?;
        Ok(PyString::new(py, &prefix))
    }

    #[pyo3(signature = (ids, *, errors="replace", skip_special_tokens=false))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        errors: &str,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyString>> {
        let bytes = self.decode_to_bytes(ids, skip_special_tokens)?;
        let errors = CString::new(errors)?;
        // SAFETY: the pointers are to `bytes` and to a C string, both alive during the call, which
        // gives a new `str`, or null with an exception set.
        unsafe {
            let string = ffi::PyUnicode_DecodeUTF8(bytes.as_ptr().cast(), bytes.len() as isize, errors.as_ptr());
            Ok(Bound::from_owned_ptr_or_err(py, string)?.cast_into_unchecked())
        }
    }

    #[pyo3(signature = (ids, *, skip_special_tokens=false))]
    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.decode_to_bytes(ids, skip_special_tokens)?))
    }

    #[pyo3(signature = (batch, *, errors="replace", skip_special_tokens=false))]
    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        errors: &str,
        skip_special_tokens: bool,
    ) -> PyResult<Vec<Bound<'py, PyString>>> {
        batch.try_iter()?.map(|ids| self.decode(py, &ids?, errors, skip_special_tokens)).collect()
    }
}
