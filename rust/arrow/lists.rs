//! Lists of ids for others to read: an Arrow large_list of uint16 or uint32.
//!
//! All arrays of a stream lie in the same memory, one after the other: each is a slice, and together they are one array. Every
//! struct that is handed out has a share in the memory, and releasing the last frees it, on whatever thread that is.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::{Array, Schema, Stream};
use crate::sink::Token;

/// Values may be null.
const NULLABLE: i64 = 2;

/// An array of the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    pub length: usize,
    pub nulls: usize,
}

/// A list of ids for each document, or a null.
pub struct Lists {
    parts: Vec<Part>,
    whole: Part,
    tokens: usize,
    format: &'static CStr,
    /// Validity, offsets, ids.
    buffers: [*const c_void; 3],
    _owner: Box<dyn Send + Sync>,
}

// SAFETY: memory that nobody changes, and that the owner, who may go to any thread, keeps alive.
unsafe impl Send for Lists {}
// SAFETY: as above.
unsafe impl Sync for Lists {}

impl Lists {
    /// Document i has the ids from offset i to i + 1. `validity` has a bit for each document, which is 0 for a null.
    pub fn new<T: Token + Sync>(
        tokens: Vec<T>,
        offsets: Vec<i64>,
        validity: Option<Vec<u8>>,
        parts: Vec<Part>,
    ) -> Self {
        let slices = (&tokens[..] as *const [T], &offsets[..] as *const [i64], validity.as_deref().map(<[u8]>::as_ptr));
        // SAFETY: vectors' memory stays where it is when they move to the owner.
        unsafe { Lists::of_memory(slices.0, slices.1, slices.2, parts, Box::new((tokens, offsets, validity))) }
    }

    /// # Safety
    /// `owner` keeps the memory alive and unchanged. There is an offset more than documents in the parts, they
    /// increase, and lie within the tokens. There is a bit of validity for each document, and so many are 0 as the
    /// parts say.
    pub unsafe fn of_memory<T: Token>(
        tokens: *const [T],
        offsets: *const [i64],
        validity: Option<*const u8>,
        parts: Vec<Part>,
        owner: Box<dyn Send + Sync>,
    ) -> Self {
        let mut whole = Part::default();
        for part in &parts {
            whole = Part { length: whole.length + part.length, nulls: whole.nulls + part.nulls };
        }
        let format = if size_of::<T>() == 2 { c"S" } else { c"I" };
        let buffers = [validity.unwrap_or(null()).cast(), offsets.cast(), tokens.cast()];
        Lists { parts, whole, tokens: tokens.len(), format, buffers, _owner: owner }
    }

    pub fn documents(&self) -> usize {
        self.whole.length
    }

    pub fn nulls(&self) -> usize {
        self.whole.nulls
    }

    pub fn tokens(&self) -> usize {
        self.tokens
    }

    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// "uint16" or "uint32".
    pub fn type_name(&self) -> &'static str {
        if self.format == c"S" { "uint16" } else { "uint32" }
    }

    pub fn schema(&self) -> Schema {
        let ids = filled_schema(self.format, c"item", Vec::new());
        filled_schema(c"+L", c"", vec![ids])
    }

    /// All documents in one array.
    pub fn array(self: &Arc<Self>) -> Array {
        self.slice(0, self.whole)
    }

    fn slice(self: &Arc<Self>, start: usize, Part { length, nulls }: Part) -> Array {
        let [validity, offsets, ids] = self.buffers;
        let ids = filled_array(self, Part { length: self.tokens, nulls: 0 }, 0, vec![null(), ids], Vec::new());
        filled_array(self, Part { length, nulls }, start, vec![validity, offsets], vec![ids])
    }

    /// The arrays in order.
    pub fn stream(self: &Arc<Self>) -> Stream {
        let reader = Reader { lists: Arc::clone(self), next: 0, start: 0 };
        Stream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private_data: Box::into_raw(Box::new(reader)).cast(),
        }
    }
}

/// What a schema of ours points to.
struct OfSchema {
    children: Box<[*mut Schema]>,
}

fn filled_schema(format: &'static CStr, name: &'static CStr, children: Vec<Schema>) -> Schema {
    let mut of = OfSchema { children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect() };
    Schema {
        format: format.as_ptr(),
        name: name.as_ptr(),
        metadata: null(),
        flags: NULLABLE,
        n_children: of.children.len() as i64,
        children: of.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(Box::new(of)).cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: one of ours, not yet released, so that what it points to is still there. A child that was moved away is marked as
    // released.
    unsafe {
        let of = Box::from_raw((*schema).private_data.cast::<OfSchema>());
        of.children.iter().for_each(|&child| drop(Box::from_raw(child)));
        (*schema).release = None;
    }
}

/// What an array of ours points to.
struct OfArray {
    buffers: Box<[*const c_void]>,
    children: Box<[*mut Array]>,
    _lists: Arc<Lists>,
}

fn filled_array(
    lists: &Arc<Lists>,
    part: Part,
    start: usize,
    buffers: Vec<*const c_void>,
    children: Vec<Array>,
) -> Array {
    let mut of = OfArray {
        buffers: buffers.into(),
        children: children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect(),
        _lists: Arc::clone(lists),
    };
    Array {
        length: part.length as i64,
        null_count: part.nulls as i64,
        offset: start as i64,
        n_buffers: of.buffers.len() as i64,
        n_children: of.children.len() as i64,
        buffers: of.buffers.as_mut_ptr(),
        children: of.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(Box::new(of)).cast(),
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as in `release_schema`.
    unsafe {
        let of = Box::from_raw((*array).private_data.cast::<OfArray>());
        of.children.iter().for_each(|&child| drop(Box::from_raw(child)));
        (*array).release = None;
    }
}

/// How far a stream has been read.
struct Reader {
    lists: Arc<Lists>,
    next: usize,
    start: usize,
}

unsafe extern "C" fn get_schema(stream: *mut Stream, schema: *mut Schema) -> c_int {
    // SAFETY: a stream of ours, not yet released, and room for a schema.
    unsafe { schema.write((*(*stream).private_data.cast::<Reader>()).lists.schema()) };
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, array: *mut Array) -> c_int {
    // SAFETY: a stream of ours, not yet released, which one thread at a time may call, and room for an array.
    unsafe {
        let reader = &mut *(*stream).private_data.cast::<Reader>();
        let Some(&part) = reader.lists.parts.get(reader.next) else {
            array.write(Array::released());
            return 0;
        };
        array.write(reader.lists.slice(reader.start, part));
        reader.next += 1;
        reader.start += part.length;
    }
    0
}

unsafe extern "C" fn get_last_error(_stream: *mut Stream) -> *const c_char {
    null()
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: as above.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Reader>()));
        (*stream).release = None;
    }
}
