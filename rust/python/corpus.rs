//! What the corpus job would wait for in Python: separators found, JSON parsed, UTF-8 checked, all without the interpreter; and a wish to
//! the system that Python cannot utter.

use std::fmt;

use memchr::{memchr, memmem};
use numpy::PyArray1;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};

use super::arrays;
use super::arrow::Input;

/// Texts one after another: their bytes, and where each begins and the last ends.
#[derive(Default)]
struct Joined {
    bytes: Vec<u8>,
    offsets: Vec<i64>,
}

type Offsets<'py> = Bound<'py, PyArray1<i64>>;
type Texts<'py> = (Bound<'py, PyArray1<u8>>, Offsets<'py>, usize);

/// Moves the texts that `separator` parts to the beginning of `memory`, one after another; "\r" before a separator "\n" goes too.
///
/// Returns where each begins there and the last ends, an int64 array, and how many bytes of `memory` they were. What follows the last
/// separator stays where it is, unless `is_last` makes it a text (if it is not empty).
#[pyfunction]
pub fn separate<'py>(
    py: Python<'py>,
    memory: PyBuffer<u8>,
    separator: &str,
    is_last: bool,
) -> PyResult<(Offsets<'py>, usize)> {
    if memory.readonly() || !memory.is_c_contiguous() {
        return Err(PyBufferError::new_err("memory must be contiguous and writable"));
    }
    if separator.is_empty() {
        return Err(PyValueError::new_err("empty separator"));
    }
    arrays::import(py)?;
    // SAFETY: it is so large, and the caller's to write to; whoever else reads it meanwhile sees bytes.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory.buf_ptr().cast::<u8>(), memory.len_bytes()) };
    let (offsets, used) = py.detach(|| move_together(bytes, separator, is_last));
    Ok((PyArray1::from_vec(py, offsets), used))
}

fn move_together(memory: &mut [u8], separator: &str, is_last: bool) -> (Vec<i64>, usize) {
    let finder = memmem::Finder::new(separator);
    let (mut from, mut to, mut offsets) = (0, 0, vec![0]);
    let mut keep = |memory: &mut [u8], from: usize, end: usize| {
        memory.copy_within(from..end, to);
        to += end - from;
        offsets.push(to as i64);
    };
    while let Some(length) = finder.find(&memory[from..]) {
        let end = from + length;
        let is_return = separator == "\n" && length > 0 && memory[end - 1] == b'\r';
        keep(memory, from, end - is_return as usize);
        from = end + separator.len();
    }
    if is_last && from < memory.len() {
        keep(memory, from, memory.len());
        from = memory.len();
    }
    (offsets, from)
}

/// Of a block of lines, each a JSON object, the string in one field: all strings as UTF-8 one after another, a uint8 array, where each
/// begins and the last ends, an int64 array, and the number of lines, blank ones included.
///
/// None if that cannot be said for sure: a line is no JSON, has no such field or several, a lone surrogate, bytes that are no UTF-8.
#[pyfunction]
pub fn json_texts<'py>(py: Python<'py>, block: PyBuffer<u8>, field: &str) -> PyResult<Option<Texts<'py>>> {
    if !block.is_c_contiguous() {
        return Err(PyBufferError::new_err("block must be contiguous"));
    }
    arrays::import(py)?;
    // SAFETY: it is so large, and nobody writes to it meanwhile.
    let bytes = unsafe { std::slice::from_raw_parts(block.buf_ptr().cast::<u8>(), block.len_bytes()) };
    let found = py.detach(|| fields(bytes, field));
    Ok(found.map(|(texts, lines)| (PyArray1::from_vec(py, texts.bytes), PyArray1::from_vec(py, texts.offsets), lines)))
}

fn fields(block: &[u8], field: &str) -> Option<(Joined, usize)> {
    let mut texts = Joined { bytes: Vec::with_capacity(block.len()), offsets: vec![0] };
    let (mut rest, mut lines) = (block, 0);
    while !rest.is_empty() {
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = simdutf8::basic::from_utf8(&rest[..end]).ok()?;
        rest = rest.get(end + 1..).unwrap_or_default();
        lines += 1;
        // (What Python's `isspace` takes for white space of ASCII.)
        if !line.bytes().all(|byte| matches!(byte, b' ' | 9..=13)) {
            let mut parser = serde_json::Deserializer::from_str(line);
            Field { name: field, bytes: &mut texts.bytes }.deserialize(&mut parser).ok()?;
            parser.end().ok()?;
            texts.offsets.push(texts.bytes.len() as i64);
        }
    }
    Some((texts, lines))
}

/// An object whose one field of a name is a string, which is appended to `bytes`.
struct Field<'a> {
    name: &'a str,
    bytes: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut times = 0;
        while let Some(is_it) = map.next_key_seed(Name(self.name))? {
            if is_it {
                times += 1;
                map.next_value_seed(Text(self.bytes))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if times == 1 { Ok(()) } else { Err(A::Error::custom("expected the field once")) }
    }
}

/// Whether a key is that of the field.
struct Name<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// Appends a string.
struct Text<'a>(&'a mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Text<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Whether each text of an Arrow array is UTF-8; a null is.
#[pyfunction]
pub fn are_utf8(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut input = Input::new(array)?;
    Ok(array.py().detach(|| input.all(|text| simdutf8::basic::from_utf8(text).is_ok()))?)
}

/// Has the system begin to write a part of a file to the disk, so that a later sync has less to wait for. What it cannot begin stays.
#[pyfunction]
pub fn start_writing(py: Python<'_>, descriptor: i32, begin: i64, length: i64) {
    #[cfg(target_os = "linux")]
    // SAFETY: a call that takes numbers and changes no memory.
    py.detach(|| unsafe { libc::sync_file_range(descriptor, begin, length, libc::SYNC_FILE_RANGE_WRITE) });
    #[cfg(not(target_os = "linux"))]
    let _ = (py, descriptor, begin, length);
}
