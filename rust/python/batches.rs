//! Many texts: cut into chunks, encoded by several threads, and put together in order.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::arrays::{Ragged, array};
use super::core::Core;
use super::end_of_text::Place;
use super::lists;
use super::options::{self, Whole};
use super::signals::Signals;
use super::texts::{Source, Text, texts};
use super::work::Options;
use crate::arrow::text as arrow;
use crate::batch::{self, CHUNK_BYTES, Chunk, map_chunks, safe_cut};
use crate::encode::Session;
use crate::encoding::TokenId;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::sink::{self, Count, Sink, Token};

/// Text of which one thread makes ids before it makes lists of them: few enough ids to be still near, and not often, since
/// it has to wait for the interpreter in between.
const LISTS_OF: usize = 1 << 20;

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

impl Core {
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
        Ok((array(py, tokens)?.into_any(), array(py, offsets)?))
    }

    pub(super) fn counts<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<Whole>,
        options: &Options,
    ) -> PyResult<Vec<i64>> {
        let (threads, documents) = (options::threads(threads)?, Documents::new(texts)?);
        let threads = threads.of_batch(documents.bytes());
        let each =
            |counts: &mut Vec<i64>, session: &mut Session, text: Option<&str>, _: Place, interrupt: &dyn Interrupt| {
                let mut count = Count::default();
                options.encode(session, text.unwrap_or_default(), &mut count, interrupt)?;
                counts.push(count.0 as i64);
                Ok(())
            };
        let mut all: Vec<i64> = Vec::new();
        self.on_batch(py, &documents, threads, options, (Cut::Inside, usize::MAX), each, |ready, _| {
            for (chunk, mut counts) in ready {
                if chunk.from > 0 {
                    counts[0] += all.pop().unwrap_or(0);
                }
                all.extend(counts);
            }
            Ok(())
        })?;
        Ok(all)
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
}
