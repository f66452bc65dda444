//! Python lists of ids.
//!
//! Every list holds the same `int` object for the same id: 8 bytes a token instead of 36, and no
//! object to make or free. The objects are made once per encoder, at its first list.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList};

use crate::encoding::TokenId;

/// Ids from here on, which few encodings have, are made anew: one of 2^24 must not cost 2^24 objects.
const SHARED: usize = 1 << 18;

#[derive(Default)]
pub struct Lists {
    ints: PyOnceLock<Vec<Py<PyInt>>>,
}

impl Lists {
    /// A list of `ids`, all below `vocab_size`.
    pub fn list<'py>(&self, py: Python<'py>, ids: &[TokenId], vocab_size: usize) -> PyResult<Bound<'py, PyList>> {
        let ints = self.ints.get_or_try_init(py, || {
            (0..vocab_size.min(SHARED)).map(|id| Ok::<_, PyErr>(id.into_pyobject(py)?.unbind())).collect()
        })?;
        // SAFETY: `PyList_New` gives a new list (or null, an exception) of that many empty places; each is
        // filled once, below, with a new reference, before anyone else sees the list.
        unsafe {
            let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as ffi::Py_ssize_t))?;
            for (place, &id) in (0..).zip(ids) {
                let int = match ints.get(id as usize) {
                    Some(int) => int.clone_ref(py).into_ptr(),
                    None => id.into_pyobject(py)?.into_ptr(),
                };
                ffi::PyList_SET_ITEM(list.as_ptr(), place, int);
            }
            Ok(list.cast_into_unchecked())
        }
    }
}
