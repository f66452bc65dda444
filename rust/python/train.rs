//! `bpeline._native.PieceCounts`: training, as Python sees it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping};

use super::batches::Documents;
use super::encoding::Encoding;
use super::options::{self, OnInvalid, Whole};
use super::signals::Signals;
use super::texts::Source;
use crate::batch::{self, CHUNK_BYTES, Chunk, map_chunks, safe_cut};
use crate::interrupt::Interrupt;
use crate::special::Special;
use crate::train::counts::Lent;
use crate::train::{self, Settings, Ties};

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// A character has at most so many bytes in UTF-8 for each byte in memory.
const WIDEST: u64 = 2;

/// How often each piece of a corpus occurs, by the pattern and special tokens of an encoding.
#[pyclass(module = "bpeline._native")]
pub struct PieceCounts {
    counts: train::PieceCounts,
    /// Where in the corpus the next text begins.
    place: u64,
}

#[pymethods]
impl PieceCounts {
    #[new]
    fn new(encoding: &Encoding) -> Self {
        PieceCounts { counts: train::PieceCounts::new(Arc::clone(&encoding.inner)), place: 0 }
    }

    /// Distinct pieces.
    fn __len__(&mut self) -> usize {
        self.counts.all().len()
    }

    /// Bytes that the counts take, about.
    #[getter]
    fn memory(&mut self) -> usize {
        self.counts.all().memory()
    }

    /// Each piece and its count, in the order in which they were first seen.
    fn items<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyBytes>, u64)>> {
        let mut items = Vec::new();
        self.counts.all().each_in_order(|piece, count, _| {
            items.push((PyBytes::new(py, piece), count));
            Ok(())
        })?;
        Ok(items)
    }

    /// Counts the pieces of texts. Errors number them from `first` on.
    #[pyo3(signature = (texts, *, first=0, threads=None))]
    fn add(&mut self, py: Python<'_>, texts: &Bound<'_, PyAny>, first: usize, threads: Option<Whole>) -> PyResult<()> {
        let threads = options::threads(threads)?;
        let documents = Documents::from_number(texts, first)?;
        let threads = threads.of_batch(documents.bytes());
        let sources = &documents.sources;
        let mut places = Vec::with_capacity(sources.len());
        for source in sources {
            places.push(self.place);
            self.place += WIDEST * source.size() as u64;
        }
        let counts = &self.counts;
        let encoding = counts.encoding();
        Signals::detached(py, |signals| {
            let find_cut = |document: usize, near| {
                sources[document].cut(near, |text| safe_cut(encoding, &Special::Parse, text, 0))
            };
            let chunks = batch::chunks(sources.iter().map(Source::size), CHUNK_BYTES, find_cut);
            let worker = || (counts.share(), String::new());
            let work = |(share, buffer): &mut (Lent<'_>, String), chunk: &Chunk| {
                signals.check()?;
                for document in chunk.documents.clone() {
                    let source = sources[document];
                    let part = source.part(chunk.from..chunk.to.unwrap_or(source.size()));
                    let place = places[document] + WIDEST * chunk.from as u64;
                    let outcome = match part.read(buffer, OnInvalid::Strict) {
                        Ok(text) => share.count(encoding, text, place, signals),
                        // Where in the document it is, is known when it is read from the front.
                        Err(error) => source.read(buffer, OnInvalid::Strict).and(Err(error)),
                    };
                    outcome.map_err(|error| error.in_document(first + document))?;
                }
                Ok(())
            };
            map_chunks(&chunks, threads, signals, worker, work, |_| Ok(()))
        })
    }

    /// Adds what was counted elsewhere.
    fn add_counts(&mut self, counts: &Bound<'_, PyMapping>) -> PyResult<()> {
        for item in counts.items()?.iter() {
            let (piece, count): (Bound<'_, PyBytes>, u64) = item.extract()?;
            self.counts.share().add(piece.as_bytes(), count, self.place);
            self.place += 1;
        }
        Ok(())
    }

    /// Where the text that begins with `data` may be cut, the pieces being those of the parts; 0 for nowhere known.
    fn cut(&self, data: &[u8]) -> usize {
        let encoding = self.counts.encoding();
        // From ever further in front of the end.
        let mut near = data.len();
        for back in (6..).map(|bits| 1usize << bits) {
            let from = data.len().saturating_sub(back);
            let front = data[from..near].iter().take_while(|&&byte| (byte as i8) < -64).count();
            let text =
                data[from + front..near.max(from + front)].utf8_chunks().next().map_or("", |chunk| chunk.valid());
            if let Some(at) = safe_cut(encoding, &Special::Parse, text, 0) {
                return from + front + at;
            }
            if from == 0 {
                return 0;
            }
            near = (from + 8).min(data.len());
        }
        0
    }

    /// If `memory` is above `most`, forgets the rarest pieces until it is at most half of that. How many are lost, and how many
    /// occurrences of them.
    fn prune(&mut self, py: Python<'_>, most: usize) -> (u64, u64) {
        py.detach(|| self.counts.all().prune(most))
    }

    /// At most `most` new rules for the encoding, (left id, right id) each. The counts are used up.
    #[pyo3(signature = (most, *, min_frequency=2, max_token_length=None, ties="tokenizers", threads=None, progress=None))]
    #[expect(clippy::too_many_arguments)]
    fn merges(
        &mut self,
        py: Python<'_>,
        most: usize,
        min_frequency: u64,
        max_token_length: Option<usize>,
        ties: &str,
        threads: Option<Whole>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<(u32, u32)>> {
        let ties = if ties == "first-seen" { Ties::FirstSeen } else { Ties::LowestIds };
        let threads = options::threads(threads)?.of_batch(usize::MAX);
        let settings = Settings { most, min_frequency, max_token_length, ties, threads };
        let counts = &mut self.counts;
        Signals::detached(py, |signals| {
            let mut told = Instant::now();
            let mut tell = |done: usize| match &progress {
                Some(progress) if done == most || told.elapsed() >= TELL_EVERY => {
                    told = Instant::now();
                    signals.attached(|py| progress.call1(py, (done,)).map(drop))
                }
                _ => Ok(()),
            };
            train::merges::merges(counts, &settings, signals, &mut tell)
        })
    }
}
