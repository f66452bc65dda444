//! Columns of text that others made.
//!
//! A text lies between two offsets in one buffer (string, large_string), or where a view says (string_view), and binary
//! columns lie just so. The interface tells how long an array is but not a buffer, other than those of views, so that offsets
//! can be seen to be negative or to run backwards, but not to end behind their buffer: that much has to be believed. Whether a text is
//! UTF-8 is for its reader to see.

use std::ffi::{CStr, c_void};

use super::{Array, Schema, malformed};
use crate::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Offsets of 32 bits.
    Short,
    /// Offsets of 64 bits.
    Long,
    Views,
}

/// Where the texts are in an array of some schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    layout: Layout,
    /// Whether it is the only column of a table.
    in_table: bool,
}

impl Column {
    /// Finds the column of a schema; `Error::Type` if it has none, or several.
    ///
    /// # Safety
    /// The schema is filled in as the interface wants it.
    pub unsafe fn find(schema: &Schema) -> Result<Self> {
        if schema.release.is_none() {
            return Err(malformed("the schema is released already"));
        }
        // SAFETY: the caller's promise, for a schema and its children.
        unsafe {
            let in_table = format(schema) == "+s" && schema.dictionary.is_null();
            let column = if !in_table {
                schema
            } else if schema.n_children == 1 {
                if schema.children.is_null() || (*schema.children).is_null() {
                    return Err(malformed("a table without its column"));
                }
                &**schema.children
            } else {
                let columns = schema.n_children;
                return Err(Error::Type(format!(
                    "array must be one column of strings, not a table of {columns}: choose one"
                )));
            };
            let layout = match format(column).as_str() {
                _ if !column.dictionary.is_null() => None,
                "u" | "z" => Some(Layout::Short),
                "U" | "Z" => Some(Layout::Long),
                "vu" | "vz" => Some(Layout::Views),
                _ => None,
            };
            let Some(layout) = layout else {
                let kind = type_name(column);
                return Err(Error::Type(format!("array must hold strings, or binary that is UTF-8, not {kind}")));
            };
            Ok(Column { layout, in_table })
        }
    }
}

/// # Safety
/// The format is a C string.
unsafe fn format(schema: &Schema) -> String {
    if schema.format.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(schema.format) }.to_string_lossy().into_owned()
}

/// What Arrow calls the types that hold no text, by how their formats begin.
const TYPES: [(&str, &str); 32] = [
    ("n", "null"),
    ("b", "bool"),
    ("c", "int8"),
    ("C", "uint8"),
    ("s", "int16"),
    ("S", "uint16"),
    ("i", "int32"),
    ("I", "uint32"),
    ("l", "int64"),
    ("L", "uint64"),
    ("e", "float16"),
    ("f", "float32"),
    ("g", "float64"),
    ("d:", "decimal"),
    ("w:", "fixed_size_binary"),
    ("tdD", "date32"),
    ("tdm", "date64"),
    ("tt", "time"),
    ("ts", "timestamp"),
    ("tD", "duration"),
    ("ti", "interval"),
    ("+l", "list"),
    ("+L", "large_list"),
    ("+vl", "list_view"),
    ("+vL", "large_list_view"),
    ("+w:", "fixed_size_list"),
    ("+s", "struct"),
    ("+m", "map"),
    ("+ud:", "dense_union"),
    ("+us:", "sparse_union"),
    ("+r", "run_end_encoded"),
    ("", "no type"),
];

/// # Safety
/// The format is a C string.
unsafe fn type_name(schema: &Schema) -> String {
    if !schema.dictionary.is_null() {
        return "dictionary".into();
    }
    // SAFETY: the caller's promise.
    let format = unsafe { format(schema) };
    let is = |start: &str| format == start || (start.len() > 1 && format.starts_with(start));
    let known = TYPES.iter().find(|(start, _)| is(start));
    known.map_or_else(|| format!("the format \"{format}\""), |(_, name)| name.to_string())
}

/// An array of texts, kept alive.
#[derive(Debug)]
pub struct Texts {
    _array: Array,
    layout: Layout,
    length: usize,
    /// Of the column, and of the table that it is in.
    validities: [Validity; 2],
    /// The offsets or views, of which the first text's is at `start`.
    places: *const c_void,
    start: usize,
    /// The text between offsets.
    data: *const u8,
    /// What views look at: buffers and their sizes.
    viewed: &'static [*const c_void],
    sizes: *const i64,
}

// SAFETY: memory that nobody changes, and that the array, which may go to any thread, keeps alive.
unsafe impl Send for Texts {}
// SAFETY: as above.
unsafe impl Sync for Texts {}

#[derive(Debug, Clone, Copy)]
struct Validity {
    /// A bit for each value, or null if all are there.
    bits: *const u8,
    start: usize,
}

impl Validity {
    /// # Safety
    /// There are bits for so many values.
    unsafe fn has(&self, index: usize) -> bool {
        let at = self.start + index;
        // SAFETY: the caller's promise.
        self.bits.is_null() || unsafe { *self.bits.add(at / 8) } >> (at % 8) & 1 == 1
    }
}

/// A view: the text's length and its bytes, if they are 12 or fewer, or else four of them, the number of its buffer and
/// where in it the text begins.
#[repr(C)]
#[derive(Clone, Copy)]
struct View {
    length: i32,
    _prefix: i32,
    buffer: i32,
    offset: i32,
}

const INSIDE_VIEW: i32 = 12;

impl Texts {
    /// # Safety
    /// The array was filled in as the interface wants it for the schema in which `column` was found, as far as is not
    /// checked: the buffers are as long as its length and its offsets say.
    pub unsafe fn new(array: Array, column: Column) -> Result<Self> {
        if array.release.is_none() {
            return Err(malformed("the array is released already"));
        }
        let (length, mut start) = (size("length", array.length)?, size("offset", array.offset)?);
        let mut validities = [Validity { bits: std::ptr::null(), start }; 2];
        let mut inner = &array;
        if column.in_table {
            // SAFETY: the counts are checked, and the rest is the caller's promise.
            unsafe {
                expect("children", array.n_children, 1)?;
                expect("buffers", array.n_buffers, 1)?;
                if array.buffers.is_null() || array.children.is_null() || (*array.children).is_null() {
                    return Err(malformed("a table without its buffers or its column"));
                }
                validities[1].bits = (*array.buffers).cast();
                inner = &**array.children;
            }
            let rows = size("length", inner.length)?;
            if rows.checked_sub(start).is_none_or(|rows| rows < length) {
                let needed = start.saturating_add(length);
                return Err(malformed(format!("a column of {rows} in a table of {needed} rows")));
            }
            start = start.saturating_add(size("offset", inner.offset)?);
            validities[0].start = start;
        }
        expect("children", inner.n_children, 0)?;
        match column.layout {
            // Views number their buffers with 32 bits.
            Layout::Views if (3..1 << 32).contains(&inner.n_buffers) => {}
            Layout::Views => return Err(malformed(format!("{} buffers, expected 3 or more", inner.n_buffers))),
            Layout::Short | Layout::Long => expect("buffers", inner.n_buffers, 3)?,
        }
        if inner.buffers.is_null() {
            return Err(malformed("no buffers"));
        }
        // SAFETY: so many buffers there are.
        let buffers: &'static [*const c_void] =
            unsafe { std::slice::from_raw_parts(inner.buffers, inner.n_buffers as usize) };
        validities[0].bits = buffers[0].cast();
        if length > 0 && buffers[1].is_null() {
            return Err(malformed("neither offsets nor views"));
        }
        if start.checked_add(length).is_none_or(|end| end > isize::MAX as usize / size_of::<View>()) {
            return Err(malformed(format!("offset {start} and length {length}")));
        }
        let (viewed, sizes) = match column.layout {
            Layout::Views => (&buffers[2..buffers.len() - 1], buffers[buffers.len() - 1].cast()),
            _ => (&buffers[..0], std::ptr::null()),
        };
        let (places, data) = (buffers[1], buffers[2].cast());
        Ok(Texts { layout: column.layout, length, validities, places, start, data, viewed, sizes, _array: array })
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The texts in order, each as its bytes; `None` for a null.
    pub fn iter(&self) -> impl Iterator<Item = Result<Option<&[u8]>>> {
        (0..self.length).map(|index| {
            // SAFETY: there are validities, offsets and views for `length` texts, the promise to `new`.
            unsafe {
                let is_there = self.validities.iter().all(|validity| validity.has(index));
                match self.layout {
                    // Offsets of nulls are offsets all the same.
                    Layout::Short => self.between(self.place::<[i32; 2], i32>(index).map(i64::from)),
                    Layout::Long => self.between(self.place::<[i64; 2], i64>(index)),
                    Layout::Views if is_there => self.viewed(index),
                    Layout::Views => Ok(&[][..]),
                }
                .map(|text| is_there.then_some(text))
            }
        })
    }

    /// A `T` at the place of a text, of places that are a `U` each.
    ///
    /// # Safety
    /// There is one.
    unsafe fn place<T, U>(&self, index: usize) -> T {
        // SAFETY: the caller's promise. Nobody promised that it is aligned.
        unsafe { self.places.cast::<U>().add(self.start + index).cast::<T>().read_unaligned() }
    }

    /// # Safety
    /// The data reaches to the offset `end`, if that is no less than `begin`, and `begin` no less than 0.
    unsafe fn between(&self, [begin, end]: [i64; 2]) -> Result<&[u8]> {
        if begin < 0 || end < begin || (end > begin && self.data.is_null()) || isize::try_from(end).is_err() {
            return Err(malformed(format!("a text from {begin} to {end}")));
        }
        if begin == end {
            return Ok(&[]);
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts(self.data.add(begin as usize), (end - begin) as usize) })
    }

    /// # Safety
    /// There is a view of that index, and buffers are as long as `sizes` says.
    unsafe fn viewed(&self, index: usize) -> Result<&[u8]> {
        // SAFETY: the caller's promise, and what is checked.
        unsafe {
            let View { length, buffer, offset, .. } = self.place::<View, View>(index);
            if (0..=INSIDE_VIEW).contains(&length) {
                let view = self.places.cast::<View>().add(self.start + index);
                return Ok(std::slice::from_raw_parts(view.cast::<u8>().add(4), length as usize));
            }
            let end = i64::from(offset) + i64::from(length);
            let fits = |buffer: usize| !self.sizes.is_null() && end <= self.sizes.add(buffer).read_unaligned();
            match usize::try_from(buffer).ok().and_then(|buffer| self.viewed.get(buffer)) {
                Some(data) if length > 0 && offset >= 0 && !data.is_null() && fits(buffer as usize) => {
                    Ok(std::slice::from_raw_parts(data.cast::<u8>().add(offset as usize), length as usize))
                }
                _ => Err(malformed(format!("a text of {length} bytes at {offset} in buffer {buffer}"))),
            }
        }
    }
}

fn size(what: &str, number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| malformed(format!("{what} {number}")))
}

fn expect(what: &str, number: i64, expected: i64) -> Result<()> {
    if number == expected { Ok(()) } else { Err(malformed(format!("{number} {what}, expected {expected}"))) }
}
