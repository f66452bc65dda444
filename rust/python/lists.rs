//! Python lists of ids.
//!
//! Every list holds the same `int` object for the same id: 8 bytes a token instead of 36, and no
//! object to make or free. The objects are made once per encoder, at its first list.
//!
//! A batch of lists is hidden from the garbage collector until it is whole. CPython looks for garbage after every 700 new
//! lists or so, which means every item of them, twice, and again in the next generation: 10 ns a token, five times as much
//! as it takes to make the list.

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
    pub fn list<'py, T: Copy + Into<TokenId>>(
        &self,
        py: Python<'py>,
        ids: &[T],
        vocab_size: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let ints = self.ints.get_or_try_init(py, || {
            (0..vocab_size.min(SHARED)).map(|id| Ok::<_, PyErr>(id.into_pyobject(py)?.unbind())).collect()
        })?;
        // SAFETY: `PyList_New` gives a new list (or null, an exception) of that many empty places; each is
        // filled once, below, with a new reference, before anyone else sees the list.
        unsafe {
            let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as ffi::Py_ssize_t))?;
            let places = (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item;
            for (at, &id) in ids.iter().enumerate() {
                let id = id.into();
                let int = match ints.get(id as usize) {
                    Some(int) => int.clone_ref(py).into_ptr(),
                    None => id.into_pyobject(py)?.into_ptr(),
                };
                places.add(at).write(int);
            }
            Ok(list.cast_into_unchecked())
        }
    }
}

/// Hides a list of ids, which can be part of no cycle, from the garbage collector.
pub fn hide(list: &Bound<'_, PyList>) {
    // SAFETY: takes a borrowed reference to a live list; one that is hidden already stays so.
    unsafe { ffi::PyObject_GC_UnTrack(list.as_ptr().cast()) }
}

/// Undoes [`hide`], for every list in `lists`: their owner may make cycles of them.
pub fn show_all(lists: &Bound<'_, PyList>) {
    for list in lists.iter() {
        // SAFETY: both take a borrowed reference to a live object, which is a list, since nothing else was put there,
        // or at least an object that the collector knows of, since it says that it does.
        unsafe {
            if list.is_instance_of::<PyList>() && ffi::PyObject_GC_IsTracked(list.as_ptr()) == 0 {
                ffi::PyObject_GC_Track(list.as_ptr().cast());
            }
        }
    }
}
