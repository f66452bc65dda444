//! What the methods of `Core` have in common: texts in, sinks filled, Python's objects out.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::core::Core;
use super::end_of_text::{EndOfText, Place};
use super::ids::token_ids;
use super::lists;
use super::options::{self, OnInvalid, SpecialChoice, Whole};
use super::signals::Signals;
use super::texts::{Source, Text, texts};
use crate::arrow::text as arrow;
use crate::batch::{self, CHUNK_BYTES, Chunk, map_chunks, safe_cut};
use crate::decode::Decoder;
use crate::encode::Session;
use crate::encoding::TokenId;
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, Never};
use crate::route::TracedToken;
use crate::route::spec::Around;
use crate::sink::{self, Ends, Sink, Token};
use crate::special::Special;

/// Texts up to this size are encoded with the interpreter held: giving it up and taking it back
/// costs as much as encoding a few hundred bytes, and much more when other threads wait for it.
const HOLD_UP_TO: usize = 4096;

/// Text of which one thread makes ids before it makes lists of them: few enough ids to be still near, and not often, since
/// it has to wait for the interpreter in between.
const LISTS_OF: usize = 1 << 20;

/// What the encoding methods do with special tokens and with invalid text.
pub(super) struct Options {
    pub special: Special,
    pub on_invalid: OnInvalid,
    /// What goes around each text.
    around: Option<Around>,
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

    /// The tokens of a whole document with what goes around it, which is nowhere in the text: its spans are empty.
    fn traced(&self, text: &str, tokens: &[TracedToken]) -> WithSpans {
        let end = text.chars().count();
        let (before, after): (&[_], &[_]) =
            self.around.as_ref().map_or((&[], &[]), |around| (&around.before, &around.after));
        let inside = tokens.iter().map(|token| (token.id, token.span));
        let all = before.iter().map(|&id| (id, (0, 0))).chain(inside).chain(after.iter().map(|&id| (id, (end, end))));
        let (ids, spans): (Vec<_>, Vec<_>) = all.unzip();
        (ids, spans.into_iter().flat_map(|(from, to)| [from as i64, to as i64]).collect())
    }
}

/// The ids of a chunk, one document after the other.
pub(super) struct Flat<T> {
    pub tokens: Vec<T>,
    pub lengths: Vec<usize>,
}

impl<T> Default for Flat<T> {
    fn default() -> Self {
        Flat { tokens: Vec::new(), lengths: Vec::new() }
    }
}

/// The texts of a batch, or some of them.
pub(super) struct Documents<'py> {
    _owner: Owner<'py>,
    pub sources: Vec<Source>,
    /// The number of the first, for errors.
    first: usize,
}

/// Keeps the memory of documents.
enum Owner<'py> {
    Texts { _texts: Vec<Text<'py>> },
    Arrow { _columns: Vec<arrow::Texts> },
}

impl<'py> Documents<'py> {
    pub fn new(texts: &Bound<'py, PyAny>) -> PyResult<Self> {
        Documents::from_number(texts, 0)
    }

    /// In errors the first is called `first`.
    pub fn from_number(texts: &Bound<'py, PyAny>, first: usize) -> PyResult<Self> {
        let texts = self::texts(texts, first)?;
        let sources = texts.iter().map(Text::source).collect();
        Ok(Documents { sources, _owner: Owner::Texts { _texts: texts }, first })
    }

    /// # Safety
    /// The columns keep what the sources point to.
    pub unsafe fn of_columns(columns: Vec<arrow::Texts>, sources: Vec<Source>, first: usize) -> Self {
        Documents { _owner: Owner::Arrow { _columns: columns }, sources, first }
    }

    /// Of all texts in memory.
    pub fn bytes(&self) -> usize {
        self.sources.iter().map(Source::size).sum()
    }
}

/// How a batch is cut into chunks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Between documents.
    Between,
    /// Inside large documents too.
    Inside,
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

    /// Calls `each` with every document of a batch, or part of one, and `take` with what that gave for chunks, in order,
    /// without the interpreter.
    ///
    /// One thread makes chunks of `alone` bytes.
    #[expect(clippy::too_many_arguments)]
    pub(super) fn on_batch<R: Send + Default>(
        &self,
        py: Python<'_>,
        documents: &Documents<'_>,
        threads: usize,
        options: &Options,
        (cut, alone): (Cut, usize),
        each: impl Fn(&mut R, &mut Session, Option<&str>, Place, &dyn Interrupt) -> Result<()> + Sync,
        mut take: impl FnMut(Vec<(&Chunk, R)>, &Signals) -> Result<()> + Send,
    ) -> PyResult<()> {
        // (Not the documents: only this thread may touch those.)
        let (sources, first) = (&documents.sources, documents.first);
        let encoding = self.encoder.encoding();
        let safe_cut = |text: &str| safe_cut(encoding, &options.special, text, 0);
        let find_cut = |document: usize, near| match cut {
            // What goes around a document does not go around its parts.
            Cut::Inside if options.around.is_some() => None,
            Cut::Between => None,
            Cut::Inside => sources[document].cut(near, safe_cut),
        };
        let last = sources.len().saturating_sub(1);
        let each = |worker: &mut (Session, String), result: &mut R, source: Source, place: Place, signals: &Signals| {
            let (session, buffer) = worker;
            if source.is_null() {
                return each(result, session, None, place, signals);
            }
            source.with_text(buffer, options.on_invalid, |text| each(result, session, Some(text), place, signals))
        };
        Signals::detached(py, |signals| {
            let bytes = if threads == 1 { alone } else { CHUNK_BYTES };
            let chunks = batch::chunks(sources.iter().map(Source::size), bytes, find_cut);
            let worker = || (self.encoder.session(), String::new());
            let work = |worker: &mut (Session, String), chunk: &Chunk| {
                signals.check()?;
                let mut result = R::default();
                for document in chunk.documents.clone() {
                    let source = sources[document];
                    let part = chunk.from..chunk.to.unwrap_or(source.size());
                    let place = Place {
                        is_first: document == 0,
                        is_last: document == last,
                        begins: chunk.from == 0,
                        ends: chunk.to.is_none(),
                    };
                    each(worker, &mut result, source.part(part), place, signals)
                        .or_else(|error| match error {
                            // What is wrong, and where in the document, is known when it is read from the front.
                            error if chunk.is_part() && error != Error::Interrupted => {
                                each(worker, &mut R::default(), source, place, signals).and(Err(error))
                            }
                            error => Err(error),
                        })
                        .map_err(|error| error.in_document(first + document))?;
                }
                Ok(result)
            };
            map_chunks(&chunks, threads, signals, worker, work, |ready| take(ready, signals))
        })
    }

    fn flat<T: Token>(
        &self,
        py: Python<'_>,
        documents: &Documents<'_>,
        threads: usize,
        options: &Options,
        alone: usize,
        take: impl FnMut(Vec<(&Chunk, Flat<T>)>, &Signals) -> Result<()> + Send,
    ) -> PyResult<()> {
        let room_for = if threads == 1 { documents.bytes().min(alone) } else { CHUNK_BYTES };
        let each =
            |flat: &mut Flat<T>, session: &mut Session, text: Option<&str>, place: Place, interrupt: &dyn Interrupt| {
                let before = flat.tokens.len();
                if flat.tokens.capacity() == 0 {
                    flat.tokens = sink::with_room(room_for);
                }
                if let Some(text) = text {
                    let mut encode = |tokens: &mut Vec<T>| options.encode(session, text, tokens, interrupt);
                    match &options.end_of_text {
                        Some(end_of_text) => end_of_text.put(place, &mut flat.tokens, encode)?,
                        None => encode(&mut flat.tokens)?,
                    }
                }
                flat.lengths.push(flat.tokens.len() - before);
                Ok(())
            };
        self.on_batch(py, documents, threads, options, (Cut::Inside, alone), each, take)
    }

    /// Appends the ids of all documents to `tokens`, and where each ends to `offsets`.
    pub(super) fn append<T: Token>(
        &self,
        py: Python<'_>,
        documents: &Documents<'_>,
        threads: usize,
        options: &Options,
        tokens: &mut Vec<T>,
        offsets: &mut Vec<i64>,
    ) -> PyResult<()> {
        offsets.reserve(documents.sources.len());
        // One thread writes all ids where they stay; several write chunks, which are put together meanwhile.
        if threads > 1 && tokens.is_empty() {
            *tokens = sink::with_room(documents.bytes());
        }
        self.flat(py, documents, threads, options, usize::MAX, |ready, _| {
            for (chunk, flat) in ready {
                if threads == 1 && tokens.is_empty() {
                    *tokens = flat.tokens;
                } else {
                    tokens.put(&flat.tokens);
                }
                // Of a document that goes on, the end so far is where it goes on.
                let end = if chunk.from > 0 { offsets.pop() } else { offsets.last().copied() };
                let mut end = end.unwrap_or(0);
                offsets.extend(flat.lengths.iter().map(|&length| {
                    end += length as i64;
                    end
                }));
            }
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
        let (threads, documents) = (options::threads(threads)?, Documents::new(texts)?);
        let threads = threads.of_batch(documents.bytes());
        let (mut tokens, mut offsets) = (Vec::<T>::new(), vec![0]);
        self.append(py, &documents, threads, options, &mut tokens, &mut offsets)?;
        Ok((array(py, tokens), PyArray1::from_vec(py, offsets)))
    }

    pub(super) fn lists_of<'py, T: Token + Sync + Into<TokenId>>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<Whole>,
        options: &Options,
    ) -> PyResult<Bound<'py, PyList>> {
        let (threads, documents) = (options::threads(threads)?, Documents::new(texts)?);
        let threads = threads.of_batch(documents.bytes());
        let all = PyList::empty(py).unbind();
        // The parts of a document so far.
        let mut parts: Vec<Vec<T>> = Vec::new();
        let mut add = |py: Python<'_>, chunk: &Chunk, flat: Flat<T>| -> PyResult<()> {
            if chunk.is_part() {
                parts.push(flat.tokens);
                if chunk.to.is_none() {
                    self.append_list(all.bind(py), &std::mem::take(&mut parts), threads)?;
                }
                return Ok(());
            }
            let mut rest = &flat.tokens[..];
            for length in flat.lengths {
                let (ids, after) = rest.split_at(length);
                self.append_list(all.bind(py), &[ids], 1)?;
                rest = after;
            }
            Ok(())
        };
        self.flat::<T>(py, &documents, threads, options, LISTS_OF, |ready, signals| {
            signals.attached(|py| {
                py.check_signals()?;
                ready.into_iter().try_for_each(|(chunk, flat)| add(py, chunk, flat))
            })
        })?;
        let all = all.into_bound(py);
        lists::show_all(&all);
        Ok(all)
    }

    fn append_list<T: Copy + Sync + Into<TokenId>>(
        &self,
        all: &Bound<'_, PyList>,
        parts: &[impl AsRef<[T]> + Sync],
        threads: usize,
    ) -> PyResult<()> {
        let list = lists::list_of_parts(all.py(), parts, self.vocab_size(), threads)?;
        lists::hide(&list);
        all.append(list)
    }

    pub(super) fn with_spans(
        &self,
        session: &mut Session,
        text: &str,
        options: &Options,
        interrupt: &dyn Interrupt,
    ) -> Result<WithSpans> {
        if let Some(route) = self.encoder.encoding().route() {
            let tokens = route.trace(session, text, &options.special, interrupt)?;
            return Ok(options.traced(text, &tokens));
        }
        let mut ends = Ends::new(self.encoder.encoding().vocabulary());
        options.encode(session, text, &mut ends, interrupt)?;
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

/// The ids as an array, which keeps their memory and no more.
pub(super) fn array<T: numpy::Element>(py: Python<'_>, mut ids: Vec<T>) -> Bound<'_, PyAny> {
    ids.shrink_to_fit();
    PyArray1::from_vec(py, ids).into_any()
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
