//! Ids with the characters that each stands for.

use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::arrays::array;
use super::batches::{Cut, Documents};
use super::core::Core;
use super::end_of_text::Place;
use super::options::{self, Whole};
use super::work::Options;
use crate::batch::CHUNK_BYTES;
use crate::encode::Session;
use crate::encoding::TokenId;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::route::TracedToken;
use crate::sink::Ends;

/// Ids, and the first and the last-plus-one character of each.
pub(super) type WithSpans = (Vec<TokenId>, Vec<i64>);

/// The same for Python.
pub(super) type Spans<'py> = (Bound<'py, PyList>, Bound<'py, PyArray2<i64>>);

impl Options {
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

impl Core {
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

    pub(super) fn batch_with_spans<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<Whole>,
        options: &Options,
    ) -> PyResult<Vec<Spans<'py>>> {
        let (threads, documents) = (options::threads(threads)?, Documents::new(texts)?);
        let threads = threads.of_batch(documents.bytes());
        let each =
            |spans: &mut Vec<_>, session: &mut Session, text: Option<&str>, _: Place, interrupt: &dyn Interrupt| {
                spans.push(self.with_spans(session, text.unwrap_or_default(), options, interrupt)?);
                Ok(())
            };
        let mut all = Vec::new();
        self.on_batch(py, &documents, threads, options, (Cut::Between, CHUNK_BYTES), each, |ready, _| {
            all.extend(ready.into_iter().flat_map(|(_, spans)| spans));
            Ok(())
        })?;
        let python_spans = |spans| {
            py.check_signals()?;
            self.python_spans(py, spans)
        };
        all.into_iter().map(python_spans).collect()
    }

    pub(super) fn python_spans<'py>(&self, py: Python<'py>, (ids, spans): WithSpans) -> PyResult<Spans<'py>> {
        let spans = array(py, spans)?.reshape([ids.len(), 2])?;
        Ok((self.list(py, &ids)?, spans))
    }
}

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
