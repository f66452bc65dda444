//! Large memory in large pages: a look-up in 16 MB of small ones is mostly a search for the page, and each costs a
//! visit to the system when it is first used.

use std::cell::UnsafeCell;

/// Zeros to be shared, which the system provides as they are used. (It would write a vector of atomic words.)
pub fn zeros(words: usize) -> Box<[UnsafeCell<u64>]> {
    let zeros = Box::into_raw(vec![0u64; words].into_boxed_slice());
    // SAFETY: an `UnsafeCell` has the layout of what is in it.
    unsafe { Box::from_raw(zeros as *mut [UnsafeCell<u64>]) }
}

/// The size of a huge page, where there are any.
pub const HUGE: usize = 1 << 21;

/// Asks for huge pages, best before the memory is used. Whether the system has any changes only the time.
#[cfg(target_os = "linux")]
pub fn advise_huge<T>(memory: &[T]) {
    const PAGE: usize = 1 << 12;
    let range = memory.as_ptr_range();
    let start = (range.start as usize).next_multiple_of(PAGE);
    let bytes = (range.end as usize).saturating_sub(start);
    if bytes >= HUGE {
        let first = range.start.cast::<u8>().wrapping_add(start - range.start as usize);
        // SAFETY: the range is ours, and this advice does not change what it holds.
        unsafe { libc::madvise(first.cast_mut().cast(), bytes, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
pub fn advise_huge<T>(_memory: &[T]) {}
