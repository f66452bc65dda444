//! Python texts as UTF-8, without copying what is UTF-8 already.
//!
//! An ASCII `str` and a `bytes` are borrowed where they lie. Any other `str` is stored in 1, 2 or 4
//! bytes a character and is transcoded into a buffer that its thread reuses: CPython's own
//! conversion would be kept inside the string and double the caller's memory. Any other
//! bytes-like object is copied, since its owner may write to it meanwhile.

use std::borrow::Cow;
use std::ops::Range;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::string::PyStringData;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyString};

use super::options::OnInvalid;
use crate::error::{Error, Position, Result};
use crate::utf8::{self, Unit};

/// A text that cannot be cut within so many bytes is not cut there.
const CUT_WITHIN: usize = 1 << 16;

/// Bytes that are looked at to find a cut, in one go.
const PASSAGE: usize = 1 << 9;

/// A document that Python owns.
pub struct Text<'py> {
    /// Keeps `source` alive and, being a `str` or `bytes`, unchanged.
    _owner: Bound<'py, PyAny>,
    source: Source,
}

/// Where a document's text lies, readable from any thread while its [`Text`] (or its Arrow array) lives.
#[derive(Clone, Copy)]
pub struct Source {
    data: Data,
}

#[derive(Clone, Copy)]
enum Data {
    Ascii(*const [u8]),
    Latin1(*const [u8]),
    Ucs2(*const [u16]),
    Ucs4(*const [u32]),
    Bytes(*const [u8]),
    /// No text, which is not the same as an empty one: nothing is added around it.
    Null,
}

// SAFETY: the memory behind the pointers is immutable and outlives the `Source`: `Text` owns it (or an Arrow array), and
// every use of a `Source` ends before its owner is dropped (both live in one binding call).
unsafe impl Send for Source {}
// SAFETY: as above; shared reads of immutable memory.
unsafe impl Sync for Source {}

impl<'py> Text<'py> {
    pub fn new(text: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(string) = text.cast::<PyString>() {
            // SAFETY: `string` is a ready `str`, which is immutable and kept alive by `_owner`.
            let data = match unsafe { string.data() }? {
                PyStringData::Ucs1(units) if is_ascii(string) => Data::Ascii(units),
                PyStringData::Ucs1(units) => Data::Latin1(units),
                PyStringData::Ucs2(units) => Data::Ucs2(units),
                PyStringData::Ucs4(units) => Data::Ucs4(units),
            };
            return Ok(Text { _owner: text.clone(), source: Source { data } });
        }
        let bytes = match text.cast::<PyBytes>() {
            Ok(bytes) => bytes.clone(),
            Err(_) => {
                // Wider items are no bytes: an array of ids, most likely.
                let items =
                    if is_buffer(text) { PyUntypedBuffer::get(text).map(|buffer| buffer.item_size()) } else { Ok(0) };
                match items? {
                    1 => copy_buffer(text)?,
                    size => {
                        let kind = text.get_type().qualname()?;
                        let of = if size > 0 { format!(" of {size}-byte items") } else { String::new() };
                        let message = format!("text must be str or a bytes-like object, not {kind}{of}");
                        return Err(PyTypeError::new_err(message));
                    }
                }
            }
        };
        let data = Data::Bytes(bytes.as_bytes());
        Ok(Text { _owner: bytes.into_any(), source: Source { data } })
    }

    pub fn source(&self) -> Source {
        self.source
    }
}

/// Every document of a batch. In errors the first is called `first`.
pub fn texts<'py>(texts: &Bound<'py, PyAny>, first: usize) -> PyResult<Vec<Text<'py>>> {
    // Not every buffer: an array of strings is a batch.
    if is_one_text(texts) {
        let kind = texts.get_type().qualname()?;
        return Err(PyTypeError::new_err(format!("texts must be several documents, not one {kind}")));
    }
    let in_document = |document: usize, text: PyResult<Bound<'py, PyAny>>| {
        Text::new(&text?).map_err(|error| match error.is_instance_of::<PyTypeError>(texts.py()) {
            true => PyTypeError::new_err(format!("document {}: {}", first + document, error.value(texts.py()))),
            false => error,
        })
    };
    match texts.cast::<PyList>() {
        Ok(list) => list.iter().enumerate().map(|(at, text)| in_document(at, Ok(text))).collect(),
        Err(_) => texts.try_iter()?.enumerate().map(|(at, text)| in_document(at, text)).collect(),
    }
}

fn is_one_text(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
        || object.is_instance_of::<PyMemoryView>()
}

pub fn is_buffer(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: takes a borrowed reference to a live object.
    unsafe { pyo3::ffi::PyObject_CheckBuffer(object.as_ptr()) == 1 }
}

fn is_ascii(string: &Bound<'_, PyString>) -> bool {
    // SAFETY: takes a borrowed reference to a live `str`.
    unsafe { pyo3::ffi::PyUnicode_IS_ASCII(string.as_ptr()) != 0 }
}

pub fn copy_buffer<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    // SAFETY: returns a new reference to a `bytes`, or null with an exception set.
    let bytes = unsafe { Bound::from_owned_ptr_or_err(object.py(), pyo3::ffi::PyBytes_FromObject(object.as_ptr())) }?;
    Ok(bytes.cast_into()?)
}

impl Source {
    pub const NULL: Source = Source { data: Data::Null };

    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// # Safety
    /// The bytes are alive and unchanged while this is used.
    pub unsafe fn of_bytes(bytes: *const [u8]) -> Self {
        Source { data: Data::Bytes(bytes) }
    }

    /// Size in memory, close to the size in UTF-8.
    pub fn size(&self) -> usize {
        match self.data {
            Data::Ascii(units) | Data::Latin1(units) | Data::Bytes(units) => units.len(),
            Data::Ucs2(units) => units.len() * 2,
            Data::Ucs4(units) => units.len() * 4,
            Data::Null => 0,
        }
    }

    /// The part in a range of its bytes in memory, which must begin and end at whole units.
    pub fn part(&self, range: Range<usize>) -> Source {
        fn part<T>(units: *const [T], range: Range<usize>) -> *const [T] {
            let width = size_of::<T>();
            // SAFETY: see `unsafe impl Send for Source`: the memory is alive and immutable.
            unsafe { &(&*units)[range.start / width..range.end / width] }
        }
        let data = match self.data {
            Data::Ascii(units) => Data::Ascii(part(units, range)),
            Data::Latin1(units) => Data::Latin1(part(units, range)),
            Data::Ucs2(units) => Data::Ucs2(part(units, range)),
            Data::Ucs4(units) => Data::Ucs4(part(units, range)),
            Data::Bytes(units) => Data::Bytes(part(units, range)),
            Data::Null => Data::Null,
        };
        Source { data }
    }

    /// A byte of memory, soon after the byte `near`, at which the text can be cut. `safe_cut` finds one in a short passage.
    pub fn cut(&self, near: usize, safe_cut: impl Fn(&str) -> Option<usize>) -> Option<usize> {
        // A cut is between two characters: passages have at least one in common.
        let starts = (near.next_multiple_of(4)..self.size()).step_by(PASSAGE - 4).take(CUT_WITHIN / PASSAGE);
        for start in starts {
            let passage = self.part(start..(start + PASSAGE).min(self.size()));
            // SAFETY: see `unsafe impl Send for Source`: the memory is alive and immutable.
            let cut = unsafe {
                match passage.data {
                    Data::Ascii(bytes) | Data::Bytes(bytes) => {
                        // From the first whole character to the last.
                        let bytes = &*bytes;
                        let front = bytes.iter().take_while(|&&byte| (byte as i8) < -64).count();
                        let text = bytes[front..].utf8_chunks().next().map_or("", |chunk| chunk.valid());
                        safe_cut(text).map(|at| front + at)
                    }
                    Data::Latin1(units) => cut_units((*units).iter().map(|&unit| unit.into()), &safe_cut),
                    Data::Ucs2(units) => {
                        cut_units((*units).iter().map(|&unit| unit.into()), &safe_cut).map(|at| at * 2)
                    }
                    Data::Ucs4(units) => cut_units((*units).iter().copied(), &safe_cut).map(|at| at * 4),
                    Data::Null => None,
                }
            };
            if let Some(cut) = cut {
                return Some(start + cut);
            }
        }
        None
    }

    /// The text as UTF-8, borrowed or in `buffer`.
    pub fn read<'b>(&'b self, buffer: &'b mut String, on_invalid: OnInvalid) -> Result<&'b str> {
        buffer.clear();
        // SAFETY: see `unsafe impl Send for Source`: the memory is alive and immutable.
        unsafe {
            match self.data {
                // SAFETY: CPython marks the string as ASCII.
                Data::Ascii(units) => return Ok(std::str::from_utf8_unchecked(&*units)),
                Data::Bytes(bytes) => return read_bytes(&*bytes, buffer, on_invalid),
                Data::Latin1(units) => transcode(&*units, buffer, on_invalid)?,
                Data::Ucs2(units) => transcode(&*units, buffer, on_invalid)?,
                Data::Ucs4(units) => transcode(&*units, buffer, on_invalid)?,
                Data::Null => {}
            }
        }
        Ok(buffer)
    }

    /// Calls `work` with the text. A special token that it reports is placed in characters if the document
    /// is a `str`.
    pub fn with_text<R>(
        &self,
        buffer: &mut String,
        on_invalid: OnInvalid,
        work: impl FnOnce(&str) -> Result<R>,
    ) -> Result<R> {
        let text = self.read(buffer, on_invalid)?;
        work(text).map_err(|error| self.place(error, text))
    }

    fn place(&self, error: Error, text: &str) -> Error {
        match (error, self.data) {
            (error, Data::Bytes(_)) => error,
            (Error::SpecialToken { token, at: Position::Byte(at) }, _) => {
                Error::SpecialToken { token, at: Position::Character(text[..at].chars().count()) }
            }
            (error, _) => error,
        }
    }
}

/// Finds a cut among units of a character each; a surrogate stands for U+FFFD, which is as little of a letter.
fn cut_units(units: impl Iterator<Item = u32>, safe_cut: impl Fn(&str) -> Option<usize>) -> Option<usize> {
    let text: String = units.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    safe_cut(&text).map(|at| text[..at].chars().count())
}

fn read_bytes<'b>(bytes: &'b [u8], buffer: &'b mut String, on_invalid: OnInvalid) -> Result<&'b str> {
    // Multilingual text as bytes, one thread, 2026-11-30: 353 MB/s, and 293 by the standard library, which tells what is wrong.
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return Ok(text);
    }
    match (std::str::from_utf8(bytes), on_invalid) {
        (Ok(text), _) => Ok(text),
        (Err(error), OnInvalid::Strict) => {
            let at = error.valid_up_to();
            Err(Error::InvalidText(format!("invalid UTF-8: byte 0x{:02x} at offset {at}", bytes[at])))
        }
        (Err(_), OnInvalid::Replace) => {
            match String::from_utf8_lossy(bytes) {
                Cow::Borrowed(text) => buffer.push_str(text),
                Cow::Owned(text) => *buffer = text,
            }
            Ok(buffer)
        }
    }
}

/// Appends the UTF-8 of units of a character each (or of surrogates).
fn transcode<U: Unit>(units: &[U], buffer: &mut String, on_invalid: OnInvalid) -> Result<()> {
    let mut at = utf8::append(units, buffer);
    while at < units.len() {
        let (character, taken) = surrogate(units, at, on_invalid)?;
        buffer.push(character);
        at += taken;
        at += utf8::append(&units[at..], buffer);
    }
    Ok(())
}

/// What stands for the surrogate at `at`, and how many units it takes the place of.
#[cold]
fn surrogate<U: Unit>(units: &[U], at: usize, on_invalid: OnInvalid) -> Result<(char, usize)> {
    let unit = units[at].into();
    if on_invalid == OnInvalid::Strict {
        return Err(Error::InvalidText(format!("surrogate U+{unit:04X} at character {at}")));
    }
    match units.get(at + 1).map(|&low| low.into()) {
        Some(low @ 0xdc00..0xe000) if unit < 0xdc00 => {
            let character = char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
            Ok((character.unwrap_or(char::REPLACEMENT_CHARACTER), 2))
        }
        _ => Ok((char::REPLACEMENT_CHARACTER, 1)),
    }
}
