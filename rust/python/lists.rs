//! Python lists of ids.
//!
//! Every list holds the same `int` object for the same id: 8 bytes a token instead of 36, and no object to make or free.
//! The objects are made once in a process, for all encoders, and are never freed.
//!
//! Nor are references to them counted one by one: each write of a count would be to another line of 1.6 MB of objects, and
//! took longer than all the rest. An object is given 2^60 references when it is made, which are this module's, and lists are
//! filled out of that stock. From Python 3.12 on, that is what an immortal object is. So the list of a large document can
//! be filled by several threads, none of which holds the interpreter.
//!
//! A batch of lists is hidden from the garbage collector until it is whole. CPython looks for garbage after every 700 new
//! lists or so, which means every item of them, twice, and again in the next generation: 10 ns a token, five times as much
//! as it takes to make the list.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::batch::pool;
use crate::encoding::TokenId;
use crate::pages;

/// An `int`, or where one will be.
type Place = AtomicPtr<ffi::PyObject>;

/// Ids from here on, which few encodings have, are made anew: one of 2^24 must not cost 2^24 objects.
const SHARED: usize = 1 << 18;

/// The shared objects; those of the first `MADE` ids are there. (Of the table too, only what is used takes memory.)
static INTS: [Place; SHARED] = [const { Place::new(null_mut()) }; SHARED];
static MADE: AtomicUsize = AtomicUsize::new(0);

/// Whether the counts of shared objects have a stock of references. 32 bits have no room for one.
const STOCKED: bool = size_of::<usize>() == 8;

/// References that nobody uses up: a billion a second would take 36 years.
const STOCK: u64 = 1 << 60;

/// What the lower half of an immortal object's count is. CPython asks for the sign of these 32 bits, and this is as far
/// as can be from where it changes.
const IMMORTAL: u64 = 3 << 30;

/// Ids that are worth another thread: filling their places takes 200 µs, four times as long as starting two.
const FILL_ALONE: usize = 1 << 17;

/// The objects of the ids below `vocab_size`, or as many as are shared.
fn shared_ints(py: Python<'_>, vocab_size: usize) -> PyResult<&'static [Place]> {
    let count = vocab_size.min(SHARED);
    let made = MADE.load(Ordering::Relaxed);
    if made < count {
        let immortal = py.version_info() >= (3, 12);
        // Nobody else gets here meanwhile: the interpreter is held.
        for (id, place) in INTS.iter().enumerate().take(count).skip(made) {
            let int = id.into_pyobject(py)?.into_ptr();
            if STOCKED {
                // SAFETY: a live object of ours, and the interpreter is held. With free threading, for which this does
                // not compile, there is no such field; without, it is of 64 bits (3.14 has flags in its upper half).
                unsafe { add_stock((&raw mut (*int).ob_refcnt).cast(), immortal) };
            }
            place.store(int, Ordering::Relaxed);
        }
        MADE.store(count, Ordering::Relaxed);
    }
    Ok(&INTS[..count])
}

/// Adds references to a count, for this module to give away.
///
/// # Safety
/// `count` is that of a live object, and the interpreter is held.
unsafe fn add_stock(count: *mut u64, immortal: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        if !immortal {
            *count += STOCK;
        } else if (*count as i32) >= 0 {
            *count = *count >> 32 << 32 | IMMORTAL;
        }
    }
}

/// A list of `ids`, all below `vocab_size`.
pub fn list<'py, T: Copy + Sync + Into<TokenId>>(
    py: Python<'py>,
    ids: &[T],
    vocab_size: usize,
) -> PyResult<Bound<'py, PyList>> {
    list_of_parts(py, &[ids], vocab_size, 1)
}

/// A list of the ids of all parts, all below `vocab_size`, made by `threads` threads at most.
pub fn list_of_parts<'py, T: Copy + Sync + Into<TokenId>>(
    py: Python<'py>,
    parts: &[impl AsRef<[T]> + Sync],
    vocab_size: usize,
    threads: usize,
) -> PyResult<Bound<'py, PyList>> {
    let ints = shared_ints(py, vocab_size)?;
    let length = parts.iter().map(|part| part.as_ref().len()).sum();
    // SAFETY: `PyList_New` gives a new list, or null and an exception.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(length as ffi::Py_ssize_t))? };
    // SAFETY: it is a list, of `length` places that are empty (or null, if there are none). Each is filled once, below, with
    // a reference, before anyone else sees the list. A `Place` has the layout of a pointer.
    let (list, mut places) = unsafe {
        let places = (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item;
        let places = if length > 0 { std::slice::from_raw_parts_mut(places.cast::<Place>(), length) } else { &mut [] };
        (list.cast_into_unchecked(), places)
    };
    pages::advise_huge(places);
    if !STOCKED || vocab_size > SHARED {
        for (&id, place) in parts.iter().flat_map(|part| part.as_ref()).zip(places) {
            *place.get_mut() = new_reference(py, id.into(), ints)?;
        }
        return Ok(list);
    }
    match pool(threads.min(length / FILL_ALONE)) {
        None => fill(places, parts, ints),
        Some(pool) => pool.scope(|scope| {
            // Neighbours to the same thread: they share pages of memory.
            for group in parts.chunks(parts.len().div_ceil(pool.current_num_threads())) {
                let count = group.iter().map(|part| part.as_ref().len()).sum();
                let (here, after) = std::mem::take(&mut places).split_at_mut(count);
                places = after;
                scope.spawn(move |_| fill(here, group, ints));
            }
        }),
    }
    Ok(list)
}

/// Fills as many places as there are ids in the parts, out of the stock.
fn fill<T: Copy + Into<TokenId>>(mut places: &mut [Place], parts: &[impl AsRef<[T]>], ints: &[Place]) {
    for part in parts {
        let part = part.as_ref();
        let (here, after) = places.split_at_mut(part.len());
        for (place, &id) in here.iter_mut().zip(part) {
            *place.get_mut() = ints[id.into() as usize].load(Ordering::Relaxed);
        }
        places = after;
    }
}

/// A reference to the object of an id, or to a new one, with its count written.
fn new_reference(py: Python<'_>, id: TokenId, ints: &[Place]) -> PyResult<*mut ffi::PyObject> {
    let Some(int) = ints.get(id as usize) else { return Ok(id.into_pyobject(py)?.into_ptr()) };
    let int = int.load(Ordering::Relaxed);
    // SAFETY: an object that lives as long as the process.
    unsafe { ffi::Py_IncRef(int) };
    Ok(int)
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
