//! UTF-8 -> `str`.
//!
//! CPython's decoder takes a character at a time and, each time that it meets the first one too wide for the string, copies what
//! it has written to a wider one. Here the width and the length are found first, and then 16 ASCII characters are
//! written at a time. ASCII alone, short text and whatever is no UTF-8 are left to CPython, which is as fast or knows
//! what `errors` means.

use std::ffi::CStr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// What `bytes.decode("utf-8", errors)` gives.
pub fn string<'py>(py: Python<'py>, bytes: &[u8], errors: &CStr) -> PyResult<Bound<'py, PyString>> {
    // In UTF-8 the first byte of the widest character is the largest of all.
    let largest = bytes.iter().fold(0, |largest: u8, &byte| largest.max(byte));
    if bytes.len() >= 64
        && largest >= 0x80
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        let characters = text.chars().count() as ffi::Py_ssize_t;
        // SAFETY: `PyUnicode_New` gives a new string (or null, an exception) with room for so many characters up to
        // the one named, each of 1, 2 or 4 bytes; all are written before anyone sees it.
        unsafe {
            let new = |widest| Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(characters, widest));
            let string = match largest {
                ..=0xc3 => write(text, new(0xff)?, |c| c as u8),
                0xc4..=0xef => write(text, new(0xffff)?, |c| c as u16),
                _ => write(text, new(0x10ffff)?, |c| c),
            };
            return Ok(string.cast_into_unchecked());
        }
    }
    // SAFETY: the pointers are to `bytes` and to a C string, both alive during the call, which gives a new `str`,
    // or null with an exception set.
    unsafe {
        let string = ffi::PyUnicode_DecodeUTF8(bytes.as_ptr().cast(), bytes.len() as isize, errors.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(py, string)?.cast_into_unchecked())
    }
}

/// # Safety
///
/// `string` has room for the characters of `text`, as many as `U` is wide, and nobody else has seen it.
unsafe fn write<'py, U>(text: &str, string: Bound<'py, PyAny>, unit: impl Fn(u32) -> U) -> Bound<'py, PyAny> {
    // SAFETY: `string` is a live `str`.
    let mut to = unsafe { ffi::PyUnicode_DATA(string.as_ptr()).cast::<U>() };
    let mut put = |character: u32| {
        // SAFETY: once for each character of the text, so inside the room.
        unsafe {
            to.write(unit(character));
            to = to.add(1);
        }
    };
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(block) = rest.as_bytes().first_chunk::<16>()
            && block.is_ascii()
        {
            block.iter().for_each(|&byte| put(byte.into()));
            rest = &rest[16..];
        } else {
            let mut characters = rest.chars();
            characters.by_ref().take(8).for_each(|character| put(character.into()));
            rest = characters.as_str();
        }
    }
    string
}
