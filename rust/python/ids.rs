//! Token ids from Python: lists, tuples, iterables, and arrays or buffers of any integer type.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::texts::is_buffer;
use crate::encoding::TokenId;
use crate::error::Error;

/// Ids that are decoded in one go: they stay near the processor, and the interpreter is asked for signals in between.
const CHUNK: usize = 1 << 12;

/// Calls `work` with the ids in `ids`, each below `vocab_size`, some at a time.
pub fn token_ids(
    ids: &Bound<'_, PyAny>,
    vocab_size: usize,
    mut work: impl FnMut(&[TokenId]) -> PyResult<()>,
) -> PyResult<()> {
    let py = ids.py();
    let mut work = |chunk: &[TokenId]| {
        py.check_signals()?;
        work(chunk)
    };
    if let Ok(list) = ids.cast::<PyList>() {
        in_chunks(list.iter(), |id| token_id(&id, vocab_size), &mut work)
    } else if let Ok(tuple) = ids.cast::<PyTuple>() {
        in_chunks(tuple.iter_borrowed(), |id| token_id(&id, vocab_size), &mut work)
    } else if is_buffer(ids) {
        from_buffer(ids, vocab_size, &mut work)
    } else {
        in_chunks(ids.try_iter()?, |id| token_id(&id?, vocab_size), &mut work)
    }
}

#[inline]
fn in_chunks<I>(
    items: impl Iterator<Item = I>,
    id: impl Fn(I) -> PyResult<TokenId>,
    work: &mut dyn FnMut(&[TokenId]) -> PyResult<()>,
) -> PyResult<()> {
    let mut chunk = Vec::with_capacity(items.size_hint().0.min(CHUNK));
    for item in items {
        chunk.push(id(item)?);
        if chunk.len() == CHUNK {
            work(&chunk)?;
            chunk.clear();
        }
    }
    if chunk.is_empty() { Ok(()) } else { work(&chunk) }
}

#[inline]
fn token_id(id: &Bound<'_, PyAny>, vocab_size: usize) -> PyResult<TokenId> {
    match small_int(id) {
        Some(number) if (0..vocab_size as i64).contains(&number) => Ok(number as TokenId),
        _ => any_token_id(id, vocab_size),
    }
}

/// The value of an `int`, and of no subclass, that fits C's `long`.
#[inline]
fn small_int(number: &Bound<'_, PyAny>) -> Option<i64> {
    let mut overflow = 0;
    // SAFETY: both take a borrowed reference to a live object. Of an exact `int` the second runs no Python code and
    // sets no exception.
    let value = unsafe {
        if ffi::PyLong_CheckExact(number.as_ptr()) == 0 {
            return None;
        }
        ffi::PyLong_AsLongAndOverflow(number.as_ptr(), &mut overflow)
    };
    (overflow == 0).then_some(value as i64)
}

#[cold]
fn any_token_id(id: &Bound<'_, PyAny>, vocab_size: usize) -> PyResult<TokenId> {
    match id.extract::<i64>() {
        Ok(number) => checked(number, vocab_size),
        Err(error) if error.is_instance_of::<PyOverflowError>(id.py()) => {
            Err(unknown(id.call_method0("__index__")?, vocab_size))
        }
        Err(error) if !error.is_instance_of::<PyTypeError>(id.py()) => Err(error),
        Err(_) => {
            let kind = id.get_type().qualname()?;
            Err(PyTypeError::new_err(format!("token ids must be integers, not {kind}")))
        }
    }
}

fn checked<N: Copy + std::fmt::Display>(id: N, vocab_size: usize) -> PyResult<TokenId>
where
    TokenId: TryFrom<N>,
{
    match TokenId::try_from(id) {
        Ok(small) if (small as usize) < vocab_size => Ok(small),
        _ => Err(unknown(id, vocab_size)),
    }
}

fn unknown(id: impl std::fmt::Display, vocab_size: usize) -> PyErr {
    Error::TokenId { id: id.to_string(), hole: false, vocab_size }.into()
}

fn from_buffer(
    ids: &Bound<'_, PyAny>,
    vocab_size: usize,
    work: &mut dyn FnMut(&[TokenId]) -> PyResult<()>,
) -> PyResult<()> {
    let py = ids.py();
    let buffer = PyUntypedBuffer::get(ids).ok();
    if let Some(buffer) = &buffer
        && buffer.dimensions() == 1
        && is_native_order(buffer.format().to_bytes())
    {
        macro_rules! try_types {
            ($($integer:ty),*) => {
                $(if let Ok(buffer) = buffer.as_typed::<$integer>() {
                    let Some(items) = buffer.as_slice_ptr() else {
                        return in_chunks(buffer.to_vec(py)?.into_iter(), |id| checked(id, vocab_size), work);
                    };
                    // SAFETY: inside the buffer, which is exported to us and so neither moves nor shrinks; its
                    // items are copied one by one, since a signal handler may write to them between chunks.
                    let item = |at| unsafe { items.cast::<$integer>().add(at).read() };
                    let mut chunk = Vec::with_capacity(items.len().min(CHUNK));
                    for start in (0..items.len()).step_by(CHUNK) {
                        let places = start..(start + CHUNK).min(items.len());
                        chunk.clear();
                        chunk.extend(places.clone().map(|at| TokenId::try_from(item(at)).unwrap_or(TokenId::MAX)));
                        if chunk.iter().fold(0, |most, &id| most.max(id)) as usize >= vocab_size {
                            for at in places {
                                checked(item(at), vocab_size)?;
                            }
                        }
                        work(&chunk)?;
                    }
                    return Ok(());
                })*
            };
        }
        try_types!(u16, u32, i64, i32, u64, i16, u8, i8);
    }
    // The other byte order, unaligned, another shape, or no integers at all: numpy knows.
    let array = py.import("numpy")?.call_method1("asarray", (ids,))?;
    let dtype = array.getattr("dtype")?;
    if !matches!(dtype.getattr("kind")?.extract()?, 'i' | 'u') {
        let kind = match buffer {
            Some(buffer) if !ids.hasattr("dtype")? => buffer.format().to_string_lossy().into_owned(),
            _ => dtype.to_string(),
        };
        return Err(PyTypeError::new_err(format!("token ids must be integers, not an array of {kind}")));
    }
    let dimensions: usize = array.getattr("ndim")?.extract()?;
    if dimensions != 1 {
        return Err(PyValueError::new_err(format!("token ids must be one-dimensional, not {dimensions}-dimensional")));
    }
    from_buffer(&array.call_method1("astype", (dtype.call_method1("newbyteorder", ("=",))?,))?, vocab_size, work)
}

/// Whether numbers of more than one byte lie in this machine's order. PyO3 does not look.
fn is_native_order(format: &[u8]) -> bool {
    !matches!((format, cfg!(target_endian = "little")), ([b'>' | b'!', ..], true) | ([b'<', ..], false))
}
