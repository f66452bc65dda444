//! What comes and goes through the Arrow C data interface: PyCapsules around the structs of [`crate::arrow`].
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>)

use std::ffi::CStr;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::arrays;
use super::batches::Documents;
use super::core::Core;
use super::options::{self, Whole};
use super::signals::Signals;
use super::texts::Source;
use super::work::Options;
use crate::arrow::lists::{Lists, Part};
use crate::arrow::text::{Column, Texts};
use crate::arrow::{Array, Schema, Stream};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::sink::Token;

/// Text of a stream that is read before it is encoded and given back: a table may be larger than the memory. Fewer bytes
/// would have one thread copy ids: only the first group's are written where they stay.
const GROUP_BYTES: usize = 1 << 28;

/// Lists of token ids in Arrow's memory layout: large_list of uint16 or uint32.
///
/// `encode_arrow` and `TokenBatch.to_arrow` make them. It has a length and speaks the Arrow PyCapsule interface: `pyarrow.array`,
/// `pyarrow.chunked_array`, `polars.Series` and others take it and copy nothing. As an array it is whole, as a stream in the
/// chunks of what was encoded. Whoever takes either shares its memory, which lives as long as any of them.
///
/// `tokens` are the ids of all documents, a 1-D uint16 or uint32 array, and document i has those from `offsets[i]` to
/// `offsets[i + 1]`, a 1-D int64 array. Raises `TypeError` for other arrays, `ValueError` for offsets that do not
/// rise or leave the tokens.
///
/// >>> import numpy as np, bpeline
/// >>> bpeline.ArrowTokens(np.array([31373, 995], np.uint16), np.array([0, 2, 2]))
/// <bpeline.ArrowTokens: 2 documents, 2 tokens, uint16>
#[pyclass(frozen, module = "bpeline")]
pub struct ArrowTokens {
    lists: Arc<Lists>,
}

#[pymethods]
impl ArrowTokens {
    #[new]
    fn new(tokens: &Bound<'_, PyAny>, offsets: &Bound<'_, PyAny>) -> PyResult<Self> {
        arrays::import(tokens.py())?;
        let Ok(typed) = offsets.cast::<PyArray1<i64>>() else {
            let kind = kind(offsets)?;
            return Err(PyTypeError::new_err(format!("offsets must be a 1-D int64 array, not {kind}")));
        };
        let lists = if let Ok(tokens) = tokens.cast::<PyArray1<u16>>() {
            of_numpy(tokens, typed)?
        } else if let Ok(tokens) = tokens.cast::<PyArray1<u32>>() {
            of_numpy(tokens, typed)?
        } else {
            let kind = kind(tokens)?;
            return Err(PyTypeError::new_err(format!("tokens must be a 1-D uint16 or uint32 array, not {kind}")));
        };
        Ok(ArrowTokens { lists: Arc::new(lists) })
    }

    fn __len__(&self) -> usize {
        self.lists.documents()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let lists = &self.lists;
        let number = |number: usize| number.into_pyobject(py)?.call_method1("__format__", (",",))?.extract::<String>();
        let (documents, nulls, tokens) = (number(lists.documents())?, number(lists.nulls())?, number(lists.tokens())?);
        let nulls = if lists.nulls() > 0 { format!(" ({nulls} null)") } else { String::new() };
        Ok(format!("<bpeline.ArrowTokens: {documents} documents{nulls}, {tokens} tokens, {}>", lists.type_name()))
    }

    /// The type, as an ArrowSchema in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, self.lists.schema(), SCHEMA)
    }

    /// The type and all lists in one array, as an ArrowSchema and an ArrowArray in capsules; another type cannot be had.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _best_effort = requested_schema;
        let array = PyCapsule::new_with_value(py, self.lists.array(), ARRAY)?;
        Ok((self.__arrow_c_schema__(py)?, array))
    }

    /// The chunks in order, as an ArrowArrayStream in a capsule; another type cannot be had.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _best_effort = requested_schema;
        PyCapsule::new_with_value(py, self.lists.stream(), STREAM)
    }
}

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

impl Core {
    /// The ids of each text of anything that speaks the interface.
    pub(super) fn arrow<T: Token + Sync>(
        &self,
        array: &Bound<'_, PyAny>,
        threads: Option<Whole>,
        options: &Options,
    ) -> PyResult<ArrowTokens> {
        let threads = options::threads(threads)?;
        let py = array.py();
        let mut input = Input::new(array)?;
        let (mut tokens, mut offsets) = (Vec::<T>::new(), vec![0]);
        let (mut validity, mut parts) = (Validity::default(), Vec::new());
        loop {
            let first = offsets.len() - 1;
            let documents = Signals::detached(py, |signals| input.group(first, &mut validity, &mut parts, signals))?;
            let Some((columns, sources)) = documents else { break };
            // SAFETY: the sources are of these columns.
            let documents = unsafe { Documents::of_columns(columns, sources, first) };
            let threads = threads.of_batch(documents.bytes());
            self.append(py, &documents, threads, options, &mut tokens, &mut offsets)?;
        }
        tokens.shrink_to_fit();
        Ok(ArrowTokens { lists: Arc::new(Lists::new(tokens, offsets, validity.bits(), parts)) })
    }
}

/// Arrays of text, as they come.
pub(super) struct Input {
    column: Column,
    arrays: Arrays,
}

enum Arrays {
    One(Option<Array>),
    Stream(Stream),
}

impl Input {
    pub fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        // A stream first, to have the chunks of what has both.
        if let Some(export) = array.getattr_opt("__arrow_c_stream__")? {
            let stream = export.call0()?;
            let Some(stream) = pointer::<Stream>(&stream, STREAM) else {
                return Err(PyTypeError::new_err("__arrow_c_stream__ must return a capsule of an ArrowArrayStream"));
            };
            // SAFETY: a capsule of this name holds one, for its receiver to take.
            let stream = unsafe { Stream::take(stream) };
            return Ok(array.py().detach(|| Input::of_stream(stream))?);
        }
        if let Some(export) = array.getattr_opt("__arrow_c_array__")? {
            let pair = export.call0()?;
            let both = pair.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).and_then(|pair| {
                let schema = pointer::<Schema>(&pair.get_item(0).ok()?, SCHEMA)?;
                Some((schema, pointer::<Array>(&pair.get_item(1).ok()?, ARRAY)?))
            });
            let Some((schema, array)) = both else {
                let message = "__arrow_c_array__ must return capsules of an ArrowSchema and an ArrowArray";
                return Err(PyTypeError::new_err(message));
            };
            // SAFETY: capsules of these names hold them, filled in as the interface wants it, for their receiver to take.
            let (column, array) = unsafe { (Column::find(&*schema)?, Array::take(array)) };
            return Ok(Input { column, arrays: Arrays::One(Some(array)) });
        }
        let kind = array.get_type().qualname()?;
        Err(PyTypeError::new_err(format!(
            "array must be an Arrow array or stream (have __arrow_c_array__ or __arrow_c_stream__), not {kind}"
        )))
    }

    fn of_stream(mut stream: Stream) -> Result<Self> {
        let schema = stream.schema()?;
        // SAFETY: whoever made the stream filled the schema in.
        let column = unsafe { Column::find(&schema)? };
        Ok(Input { column, arrays: Arrays::Stream(stream) })
    }

    fn next_array(&mut self) -> Result<Option<Array>> {
        match &mut self.arrays {
            Arrays::One(array) => Ok(array.take()),
            Arrays::Stream(stream) => stream.next_array(),
        }
    }

    /// Whether all texts that are there are so.
    pub fn all(&mut self, mut is_so: impl FnMut(&[u8]) -> bool) -> Result<bool> {
        while let Some(array) = self.next_array()? {
            // SAFETY: whoever made the array filled it in for the schema that came with it.
            let texts = unsafe { Texts::new(array, self.column)? };
            for text in texts.iter() {
                if !text?.is_none_or(&mut is_so) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The next arrays and the texts in them, if there are any more. `first` is the number of the first document.
    fn group(
        &mut self,
        first: usize,
        validity: &mut Validity,
        parts: &mut Vec<Part>,
        signals: &Signals,
    ) -> Result<Option<(Vec<Texts>, Vec<Source>)>> {
        let (mut columns, mut sources, mut bytes) = (Vec::new(), Vec::new(), 0);
        while bytes < GROUP_BYTES {
            signals.check()?;
            let Some(array) = self.next_array()? else { break };
            // SAFETY: whoever made the array filled it in for the schema that came with it.
            let texts = unsafe { Texts::new(array, self.column)? };
            let nulls = validity.nulls;
            for text in texts.iter() {
                let text = text.map_err(|error| error.in_document(first + sources.len()))?;
                validity.push(text.is_some());
                bytes += size_of::<Source>() + text.map_or(0, <[u8]>::len);
                // SAFETY: `columns` keep it.
                sources.push(text.map_or(Source::NULL, |text| unsafe { Source::of_bytes(text) }));
            }
            parts.push(Part { length: texts.len(), nulls: validity.nulls - nulls });
            columns.push(texts);
        }
        Ok((!columns.is_empty()).then_some((columns, sources)))
    }
}

/// What a capsule of that name holds.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> Option<*mut T> {
    Some(capsule.cast::<PyCapsule>().ok()?.pointer_checked(Some(name)).ok()?.cast().as_ptr())
}

/// A bit for each document, 0 for a null.
#[derive(Default)]
struct Validity {
    bits: Vec<u8>,
    length: usize,
    nulls: usize,
}

impl Validity {
    fn push(&mut self, is_there: bool) {
        let (byte, bit) = (self.length / 8, self.length % 8);
        if bit == 0 {
            self.bits.push(0);
        }
        self.bits[byte] |= (is_there as u8) << bit;
        self.length += 1;
        self.nulls += !is_there as usize;
    }

    fn bits(self) -> Option<Vec<u8>> {
        (self.nulls > 0).then_some(self.bits)
    }
}

fn of_numpy<T: Token + numpy::Element>(
    tokens: &Bound<'_, PyArray1<T>>,
    offsets: &Bound<'_, PyArray1<i64>>,
) -> PyResult<Lists> {
    // SAFETY: nobody writes to them: the interpreter is held.
    let (Ok(ids), Ok(ends)) = (unsafe { tokens.as_slice() }, unsafe { offsets.as_slice() }) else {
        return Err(PyValueError::new_err("tokens and offsets must be contiguous"));
    };
    let rise = ends.first().is_some_and(|&first| first >= 0) && ends.is_sorted();
    if !rise || ends.last().is_some_and(|&last| last > ids.len() as i64) {
        let message = format!("offsets must rise from 0 or more to no more than the {} tokens", ids.len());
        return Err(PyValueError::new_err(message));
    }
    let parts = vec![Part { length: ends.len() - 1, nulls: 0 }];
    let owner = Shared(Some([tokens.clone().into_any().unbind(), offsets.clone().into_any().unbind()]));
    // SAFETY: the offsets are checked, and the arrays keep their memory.
    Ok(unsafe { Lists::of_memory::<T>(ids, ends, None, parts, Box::new(owner)) })
}

/// Arrays of numpy, whose last share may go on a thread without the interpreter.
struct Shared(Option<[Py<PyAny>; 2]>);

impl Drop for Shared {
    fn drop(&mut self) {
        let arrays = self.0.take();
        // SAFETY: both may be asked at any time, the second while there is an interpreter.
        let held = unsafe { ffi::Py_IsInitialized() != 0 && ffi::PyGILState_Check() == 1 };
        if held {
            // What holds it may not be PyO3, which has to be told.
            Python::try_attach(|_| drop(arrays));
        }
        // Else PyO3 keeps the references until a call into this module, instead of waiting for the interpreter: whoever
        // holds that may wait for this thread.
    }
}

/// What an argument is instead of the array that it should be.
fn kind(object: &Bound<'_, PyAny>) -> PyResult<String> {
    match object.cast::<numpy::PyUntypedArray>() {
        Ok(array) => {
            use numpy::PyUntypedArrayMethods;
            Ok(format!("a {}-D array of {}", array.ndim(), array.dtype()))
        }
        Err(_) => Ok(object.get_type().qualname()?.to_string()),
    }
}
