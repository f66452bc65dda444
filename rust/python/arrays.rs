//! Arrays of numpy. It is imported when the first is asked for: it takes longer than all the rest of `import bpeline`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use numpy::{Element, PyArray1};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Tokens and offsets.
pub(super) type Ragged<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>);

/// The items as an array, which keeps their memory and no more.
pub(super) fn array<T: Element>(py: Python<'_>, mut items: Vec<T>) -> PyResult<Bound<'_, PyArray1<T>>> {
    import(py)?;
    items.shrink_to_fit();
    Ok(PyArray1::from_vec(py, items))
}

/// Imports numpy. Nothing of the crate `numpy` may be called before.
pub(super) fn import(py: Python<'_>) -> PyResult<()> {
    static IS_READY: AtomicBool = AtomicBool::new(false);
    if IS_READY.load(Ordering::Acquire) {
        return Ok(());
    }
    // If a signal handler raises meanwhile, half an import of numpy cannot be mended in this process, and the crate panics at its
    // first call, where it looks for numpy's functions. Handlers run on the main thread only: on this one when both are done.
    let first_call = || {
        Python::attach(|py| {
            py.import("numpy")?;
            drop(PyArray1::from_vec(py, Vec::<u16>::new()));
            Ok::<_, PyErr>(())
        })
    };
    py.detach(|| thread::Builder::new().spawn(first_call).map(thread::JoinHandle::join))?
        .map_err(|_| PyImportError::new_err("this version of numpy cannot be used"))??;
    IS_READY.store(true, Ordering::Release);
    py.check_signals()
}
