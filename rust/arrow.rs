//! The Arrow C data interface, as far as a tokenizer needs it: columns of text in, lists of ids out, and no byte of either
//! copied.
//!
//! The three structs of <https://arrow.apache.org/docs/format/CDataInterface.html> and `CStreamInterface.html`. Who makes one fills in
//! `release`; who is done with one calls it, once, from any thread. [`text`] reads what others made, [`lists`] makes
//! ours.
//!
//! They are written by hand. Of Arrow's types six come in and one goes out, and what comes in has to be checked here in
//! any case: the `arrow` crates believe the offsets of what they import. They would also bring some twenty crates where the
//! whole package has thirty.

pub mod lists;
pub mod text;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use crate::error::{Error, Result};

/// A type, and for a table its columns.
#[repr(C)]
#[derive(Debug)]
pub struct Schema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut Schema,
    pub dictionary: *mut Schema,
    pub release: Option<unsafe extern "C" fn(*mut Schema)>,
    pub private_data: *mut c_void,
}

/// The memory of values of a type that a [`Schema`] tells.
#[repr(C)]
#[derive(Debug)]
pub struct Array {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut Array,
    pub dictionary: *mut Array,
    pub release: Option<unsafe extern "C" fn(*mut Array)>,
    pub private_data: *mut c_void,
}

/// Arrays of one type, one after the other.
#[repr(C)]
#[derive(Debug)]
pub struct Stream {
    pub get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut Stream)>,
    pub private_data: *mut c_void,
}

macro_rules! released {
    ($kind:ident { $($field:ident: $empty:expr),* }) => {
        impl $kind {
            /// Nobody's: for others to fill.
            pub fn released() -> Self {
                $kind { $($field: $empty,)* release: None, private_data: null_mut() }
            }

            /// Moves the struct from where it lies, which counts as released from then on.
            ///
            /// # Safety
            /// `from` points at one that nobody else uses.
            pub unsafe fn take(from: *mut Self) -> Self {
                // SAFETY: the caller's promise. Of a released struct nothing but `release` has a meaning.
                unsafe { std::ptr::replace(from, Self::released()) }
            }
        }

        impl Drop for $kind {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: whoever filled it in says how it is released, and it has not been: that would have unset it.
                    unsafe { release(self) };
                }
            }
        }

        // SAFETY: the interface lets structs move to other threads, and be released there.
        unsafe impl Send for $kind {}
    };
}

released!(Schema {
    format: std::ptr::null(),
    name: std::ptr::null(),
    metadata: std::ptr::null(),
    flags: 0,
    n_children: 0,
    children: null_mut(),
    dictionary: null_mut()
});
released!(Array {
    length: 0,
    null_count: 0,
    offset: 0,
    n_buffers: 0,
    n_children: 0,
    buffers: null_mut(),
    children: null_mut(),
    dictionary: null_mut()
});
released!(Stream { get_schema: None, get_next: None, get_last_error: None });

impl Stream {
    pub fn schema(&mut self) -> Result<Schema> {
        let mut schema = Schema::released();
        let outcome = match self.get_schema {
            // SAFETY: a stream that is not released, and room for a schema.
            Some(get_schema) if self.release.is_some() => unsafe { get_schema(self, &mut schema) },
            _ => return Err(malformed("the stream is released already")),
        };
        self.check(outcome)?;
        Ok(schema)
    }

    /// The next array; `None` at the end.
    pub fn next_array(&mut self) -> Result<Option<Array>> {
        let mut array = Array::released();
        let outcome = match self.get_next {
            // SAFETY: a stream that is not released, and room for an array.
            Some(get_next) if self.release.is_some() => unsafe { get_next(self, &mut array) },
            _ => return Err(malformed("the stream is released already")),
        };
        self.check(outcome)?;
        Ok(array.release.is_some().then_some(array))
    }

    fn check(&mut self, outcome: c_int) -> Result<()> {
        if outcome == 0 {
            return Ok(());
        }
        // SAFETY: the stream is not released, and the last call on it failed.
        let message = self.get_last_error.map(|get| unsafe { get(self) }).filter(|message| !message.is_null());
        // SAFETY: it is a C string that lives until the next call.
        let message = message.map(|message| unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned());
        let message = message.filter(|message| !message.is_empty()).unwrap_or_else(|| format!("errno {outcome}"));
        Err(Error::Arrow(format!("the Arrow stream failed: {message}")))
    }
}

fn malformed(fault: impl AsRef<str>) -> Error {
    Error::Arrow(format!("malformed Arrow data: {}", fault.as_ref()))
}
