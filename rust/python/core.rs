//! `bpeline._native.Core`: what encodes and decodes, as Python sees it.

use std::ffi::CString;
use std::sync::{Arc, OnceLock};

use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::arrays::{Ragged, array};
use super::arrow::ArrowTokens;
use super::encoding::Encoding;
use super::end_of_text::{EndOfText, Side};
use super::options::{OnInvalid, SpecialChoice, Whole};
use super::spans::Spans;
use super::strings::string;
use crate::batch::last_cut;
use crate::decode::Decoder;
use crate::encode::Encoder;
use crate::sink::Count;
use crate::truncate;

/// Runs `$work`, in which `$type` is `u16` where every id fits, else `u32`.
macro_rules! by_width {
    ($core:ident, $type:ident => $work:expr) => {
        if $core.is_narrow() {
            type $type = u16;
            $work
        } else {
            type $type = u32;
            $work
        }
    };
}

/// Encoder and decoder over one encoding. Immutable to its users; safe to share between threads.
#[pyclass(frozen, subclass, module = "bpeline._native")]
pub struct Core {
    pub(super) encoder: Encoder,
    encoding: Py<Encoding>,
    /// Made at the first call that decodes.
    pub(super) decoder: OnceLock<Decoder>,
}

#[pymethods]
impl Core {
    #[new]
    #[pyo3(signature = (encoding, *, cache_bytes=None))]
    fn new(encoding: &Bound<'_, PyAny>, cache_bytes: Option<Whole>) -> PyResult<Self> {
        let Ok(encoding) = encoding.cast::<Encoding>() else {
            let kind = encoding.get_type().qualname()?;
            let message = format!("encoding must be an Encoding, not {kind}; bpeline.load() makes tokenizers");
            return Err(PyTypeError::new_err(message));
        };
        let budget = cache_bytes.map(|bytes| bytes.at_least(0, "cache_bytes")).transpose()?;
        let encoder = Encoder::new(Arc::clone(&encoding.get().inner), budget);
        Ok(Core { encoder, encoding: encoding.clone().unbind(), decoder: OnceLock::new() })
    }

    /// All that fixes the ids.
    #[getter]
    fn encoding<'py>(&self, py: Python<'py>) -> &Bound<'py, Encoding> {
        self.encoding.bind(py)
    }

    /// About how much memory the cache may take, in bytes.
    #[getter]
    fn cache_bytes(&self) -> usize {
        self.encoder.cache_bytes()
    }

    /// The token ids of a text.
    ///
    /// `text` is a `str`, or anything bytes-like that holds UTF-8. `special` says what to do with the literals of
    /// special tokens: "parse" them to their ids, take them as "text", raise an "error", or parse only those of a set.
    /// `errors="replace"` turns invalid UTF-8 and lone surrogates into U+FFFD. One text is one thread's work;
    /// `encode_batch([text])` spreads a large one over the cores.
    /// `add_special_tokens` puts around the text what its tokenizer.json says, if anything.
    ///
    /// Raises `InvalidTextError` for invalid text under `errors="strict"`, `SpecialTokenError` under
    /// `special="error"`, `TypeError` for what is no text, `ValueError` for an unknown option.
    ///
    /// >>> import bpeline
    /// >>> tok = bpeline.load("gpt2")
    /// >>> tok.encode("hello world<|endoftext|>")
    /// [31373, 995, 50256]
    /// >>> tok.encode("<|endoftext|>", special="text")
    /// [27, 91, 437, 1659, 5239, 91, 29]
    #[pyo3(signature = (text, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict, add_special_tokens=false),
           text_signature = "($self, text, *, special='parse', errors='strict', add_special_tokens=False)")]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: SpecialChoice,
        errors: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = self.options(&special, errors, add_special_tokens)?;
        by_width!(self, T => self.list(py, &self.ids::<T>(py, text, &options)?))
    }

    /// The token ids as a 1-D array: `uint16` if every id of the encoding fits, else `uint32`. Errors as `encode`.
    ///
    /// >>> import bpeline
    /// >>> bpeline.load("gpt2").encode_array("hello world")
    /// array([31373,   995], dtype=uint16)
    #[pyo3(signature = (text, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict, add_special_tokens=false),
           text_signature = "($self, text, *, special='parse', errors='strict', add_special_tokens=False)")]
    fn encode_array<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: SpecialChoice,
        errors: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = self.options(&special, errors, add_special_tokens)?;
        by_width!(self, T => Ok(array(py, self.ids::<T>(py, text, &options)?)?.into_any()))
    }

    /// The token ids of each text, in order.
    ///
    /// `threads` is how many to use at most: None for one per core, 1 to stay on this one. (The reference backend
    /// always does.) With GPT-2's pattern a large document is spread over them too. Errors as `encode`, with the number
    /// of the document; `ValueError` for `threads` below 1.
    ///
    /// >>> import bpeline
    /// >>> bpeline.load("gpt2").encode_batch(["hello", "", "hello world"])
    /// [[31373], [], [31373, 995]]
    #[pyo3(signature = (texts, *, threads=None, special=SpecialChoice::Parse, errors=OnInvalid::Strict, add_special_tokens=false),
           text_signature = "($self, texts, *, threads=None, special='parse', errors='strict', add_special_tokens=False)")]
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<Whole>,
        special: SpecialChoice,
        errors: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = self.options(&special, errors, add_special_tokens)?;
        by_width!(self, T => self.lists_of::<T>(py, texts, threads, &options))
    }

    /// A byte near the end of a text, of which more is to come, up to which its ids are settled; 0 if none is found.
    ///
    /// The ids of the text up to there and those of the rest, whatever it is, are those of the whole.
    #[pyo3(signature = (text, *, special=SpecialChoice::Parse), text_signature = "($self, text, *, special='parse')")]
    fn _safe_cut(&self, py: Python<'_>, text: &Bound<'_, PyAny>, special: SpecialChoice) -> PyResult<usize> {
        let options = self.options(&special, OnInvalid::Strict, false)?;
        self.on_text(py, text, &options, |text, _| Ok(last_cut(self.encoder.encoding(), &options.special, text)))
    }

    /// The ids of all texts in one array, and where each begins and the last ends.
    #[pyo3(signature = (texts, *, threads=None, special=SpecialChoice::Parse, errors=OnInvalid::Strict, add_special_tokens=false),
           text_signature = "($self, texts, *, threads=None, special='parse', errors='strict', add_special_tokens=False)")]
    fn _encode_ragged<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<Whole>,
        special: SpecialChoice,
        errors: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<Ragged<'py>> {
        let options = self.options(&special, errors, add_special_tokens)?;
        by_width!(self, T => self.ragged::<T>(py, texts, threads, &options))
    }

    /// The token ids of each text of an Arrow array or stream, as Arrow lists of `uint16` or `uint32`.
    ///
    /// `array` is anything with `__arrow_c_array__` or `__arrow_c_stream__` (a column of pyarrow, polars, pandas, a DuckDB
    /// result) that holds strings of any kind, or binary that is UTF-8, or a table with one such column. It is read
    /// where it lies; nulls stay nulls, and chunks chunks. `pyarrow.array`, `pyarrow.chunked_array` and
    /// `polars.Series` take the result, and copy nothing.
    ///
    /// Options and errors as those of `encode_batch`, positions in bytes. Raises `TypeError` for a type that holds no text,
    /// `ArrowError` for data that is malformed, as far as that can be seen, and for a stream that fails.
    ///
    /// >>> import pyarrow, bpeline
    /// >>> tokens = bpeline.load("gpt2").encode_arrow(pyarrow.array(["hello world", None, "hello"]))
    /// >>> tokens
    /// <bpeline.ArrowTokens: 3 documents (1 null), 3 tokens, uint16>
    /// >>> pyarrow.array(tokens).to_pylist()
    /// [[31373, 995], None, [31373]]
    #[pyo3(signature = (array, *, threads=None, special=SpecialChoice::Parse, errors=OnInvalid::Strict, add_special_tokens=false),
           text_signature = "($self, array, *, threads=None, special='parse', errors='strict', add_special_tokens=False)")]
    fn encode_arrow(
        &self,
        array: &Bound<'_, PyAny>,
        threads: Option<Whole>,
        special: SpecialChoice,
        errors: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<ArrowTokens> {
        let options = self.options(&special, errors, add_special_tokens)?;
        by_width!(self, T => self.arrow::<T>(array, threads, &options))
    }

    /// What `encode_arrow` gives, with the id `end_of_text` before ("prepend") or after ("append") the ids of each document.
    ///
    /// Without `if_empty` a document without ids gets none. The first document may be the rest of one that is `begun`
    /// before; the last, which goes on in another array, is `open`. They get what belongs to the side that they have.
    #[pyo3(signature = (array, *, threads, special, end_of_text, place, if_empty, begun, open),
           text_signature = "($self, array, *, threads, special, end_of_text, place, if_empty, begun, open)")]
    #[expect(clippy::too_many_arguments)]
    fn _encode_documents(
        &self,
        array: &Bound<'_, PyAny>,
        threads: Option<Whole>,
        special: SpecialChoice,
        end_of_text: u32,
        place: &str,
        if_empty: bool,
        begun: bool,
        open: bool,
    ) -> PyResult<ArrowTokens> {
        let mut options = self.options(&special, OnInvalid::Strict, false)?;
        let place = if place == "prepend" { Side::Before } else { Side::After };
        options.end_of_text = Some(EndOfText { id: end_of_text, place, if_empty, is_begun: begun, is_open: open });
        by_width!(self, T => self.arrow::<T>(array, threads, &options))
    }

    /// The token ids, and which characters each covers: an `(n, 2)` int64 array of [start, end) in characters.
    ///
    /// Where the text is changed before it is cut (a tokenizer.json's normalizer), they are the characters that it was
    /// changed from. What `add_special_tokens` adds has an empty span. Tokens that share a character share its span. Of bytes, the characters are those of the decoded text; under
    /// `errors="replace"` those of the repaired one. Errors as `encode`.
    ///
    /// >>> import bpeline
    /// >>> ids, spans = bpeline.load("gpt2").encode_with_spans("hé 👍")
    /// >>> ids, spans.tolist()
    /// ([71, 2634, 50169, 235], [[0, 1], [1, 2], [2, 4], [3, 4]])
    #[pyo3(signature = (text, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict, add_special_tokens=false),
           text_signature = "($self, text, *, special='parse', errors='strict', add_special_tokens=False)")]
    fn encode_with_spans<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        special: SpecialChoice,
        errors: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<Spans<'py>> {
        let options = self.options(&special, errors, add_special_tokens)?;
        let spans = self.on_text(py, text, &options, |text, interrupt| {
            self.with_spans(&mut self.encoder.session(), text, &options, interrupt)
        })?;
        self.python_spans(py, spans)
    }

    /// What `encode_with_spans` gives for each text, in order. Errors as `encode_batch`.
    ///
    /// >>> import bpeline
    /// >>> [(ids, spans.tolist()) for ids, spans in bpeline.load("gpt2").encode_batch_with_spans(["hello", "a b"])]
    /// [([31373], [[0, 5]]), ([64, 275], [[0, 1], [1, 3]])]
    #[pyo3(signature = (texts, *, threads=None, special=SpecialChoice::Parse, errors=OnInvalid::Strict, add_special_tokens=false),
           text_signature = "($self, texts, *, threads=None, special='parse', errors='strict', add_special_tokens=False)")]
    fn encode_batch_with_spans<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<Whole>,
        special: SpecialChoice,
        errors: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<Vec<Spans<'py>>> {
        let options = self.options(&special, errors, add_special_tokens)?;
        self.batch_with_spans(py, texts, threads, &options)
    }

    /// How many tokens a text has: the length of what `encode` gives. Errors as `encode`.
    ///
    /// >>> import bpeline
    /// >>> bpeline.load("gpt2").count("hello world")
    /// 2
    #[pyo3(signature = (text, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict, add_special_tokens=false),
           text_signature = "($self, text, *, special='parse', errors='strict', add_special_tokens=False)")]
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        special: SpecialChoice,
        errors: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<usize> {
        Ok(self.encode_into(py, text, &self.options(&special, errors, add_special_tokens)?, |_| Count::default())?.0)
    }

    /// How many tokens each text has: a 1-D int64 array. Errors as `encode_batch`.
    ///
    /// >>> import bpeline
    /// >>> bpeline.load("gpt2").count_batch(["hello", "", "hello world"])
    /// array([1, 0, 2])
    #[pyo3(signature = (texts, *, threads=None, special=SpecialChoice::Parse, errors=OnInvalid::Strict, add_special_tokens=false),
           text_signature = "($self, texts, *, threads=None, special='parse', errors='strict', add_special_tokens=False)")]
    fn count_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<Whole>,
        special: SpecialChoice,
        errors: OnInvalid,
        add_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let options = self.options(&special, errors, add_special_tokens)?;
        array(py, self.counts(py, texts, threads, &options)?)
    }

    /// The longest prefix that encodes to at most `max_tokens` tokens.
    ///
    /// It ends at a token boundary of `encode(text)` and at a whole character. Of bytes, and under `errors="replace"`,
    /// it is a prefix of the decoded text. Errors as `encode`; `ValueError` for `max_tokens` below 0.
    ///
    /// >>> import bpeline
    /// >>> bpeline.load("gpt2").truncate("hello world, hello", 3)
    /// 'hello world,'
    #[pyo3(signature = (text, max_tokens, *, special=SpecialChoice::Parse, errors=OnInvalid::Strict),
           text_signature = "($self, text, max_tokens, *, special='parse', errors='strict')")]
    fn truncate<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        max_tokens: Whole,
        special: SpecialChoice,
        errors: OnInvalid,
    ) -> PyResult<Bound<'py, PyString>> {
        let limit = max_tokens.at_least(0, "max_tokens")?;
        let options = self.options(&special, errors, false)?;
        let prefix = self.on_text(py, text, &options, |text, interrupt| {
            Ok(truncate::truncate(&self.encoder, text, limit, &options.special, interrupt)?.to_owned())
        })?;
        Ok(PyString::new(py, &prefix))
    }

    /// The text of token ids: any iterable of integers, or a 1-D array or buffer of them.
    ///
    /// `errors` is that of `bytes.decode`; `skip_special_tokens` leaves special tokens out.
    ///
    /// Raises `TokenIdError` for an id outside the vocabulary, `TypeError` for what is no integer, `ValueError` for an
    /// array that is not 1-D.
    ///
    /// >>> import bpeline
    /// >>> bpeline.load("gpt2").decode([31373, 995])
    /// 'hello world'
    #[pyo3(signature = (ids, *, errors="replace", skip_special_tokens=false))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        errors: &str,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyString>> {
        let mut bytes = Vec::new();
        self.decode_into(ids, skip_special_tokens, &mut bytes, |_| Ok(()))?;
        string(py, &bytes, &CString::new(errors)?)
    }

    /// Exactly the bytes that the tokens carry, valid UTF-8 or not. Errors as `decode`.
    ///
    /// >>> import bpeline
    /// >>> bpeline.load("gpt2").decode_bytes([50169])
    /// b' \xf0\x9f\x91'
    #[pyo3(signature = (ids, *, skip_special_tokens=false))]
    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with_writer(py, 0, |writer| {
            let mut bytes = Vec::new();
            self.decode_into(ids, skip_special_tokens, &mut bytes, |bytes| {
                writer.write_bytes(bytes)?;
                bytes.clear();
                Ok(())
            })
        })
    }

    /// What `decode` gives for each list of ids, in order.
    ///
    /// >>> import bpeline
    /// >>> bpeline.load("gpt2").decode_batch([[31373], [], [31373, 995]])
    /// ['hello', '', 'hello world']
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
