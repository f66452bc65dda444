//! Documents -> chunks -> threads -> results in order.
//!
//! A chunk is about [`CHUNK_BYTES`] of text: a run of documents, or a part of a large one that ends where
//! [`safe_cut`] allows. Threads take them from a counter, so they finish together whatever the sizes of documents, and the
//! calling thread takes what is done in order, while the others go on: it also watches for interruption. With one
//! thread it does the work itself. The Rayon pool lives for one call: making, using
//! and ending one of two threads takes 48 µs (median of 300; 2026-11-30), and in return nothing is left for a forked child
//! to trip over.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::encoding::Encoding;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::special::Special;

/// Text in a chunk; also what a batch must exceed before it pays for threads.
pub const CHUNK_BYTES: usize = 1 << 17;

/// How often the calling thread looks for results, and for an interrupt. Told of each result, it would push a worker
/// from its core each time: five switches a chunk, an eighth more processor time.
const TAKE_EVERY: Duration = Duration::from_millis(1);

/// Documents, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub documents: Range<usize>,
    /// Where the part begins; 0 if the document does.
    pub from: usize,
    /// Where the part ends; `None` if the document does.
    pub to: Option<usize>,
}

impl Chunk {
    pub fn is_part(&self) -> bool {
        self.from > 0 || self.to.is_some()
    }
}

/// Chunks of about `bytes`, which together are all documents. `sizes` are the documents' bytes, and `cut(document, near)`
/// is where a large one may be cut, at or after `near`.
pub fn chunks(
    sizes: impl Iterator<Item = usize>,
    bytes: usize,
    cut: impl Fn(usize, usize) -> Option<usize>,
) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let (mut start, mut end, mut filled) = (0, 0, 0);
    for size in sizes {
        let document = end;
        end += 1;
        if size / 2 < bytes {
            // Empty documents cost time too.
            filled += size + 16;
            if filled >= bytes {
                chunks.push(Chunk { documents: start..end, from: 0, to: None });
                (start, filled) = (end, 0);
            }
            continue;
        }
        if start < document {
            chunks.push(Chunk { documents: start..document, from: 0, to: None });
        }
        let (mut from, mut near) = (0, bytes);
        while near <= size - bytes {
            if let Some(to) = cut(document, near) {
                chunks.push(Chunk { documents: document..end, from, to: Some(to) });
                (from, near) = (to, to);
            }
            near += bytes;
        }
        chunks.push(Chunk { documents: document..end, from, to: None });
        (start, filled) = (end, 0);
    }
    if start < end {
        chunks.push(Chunk { documents: start..end, from: 0, to: None });
    }
    chunks
}

/// A byte of `text` at or after `near` at which it can be cut: the ids of the two parts are those of the text,
/// whatever lies around it.
///
/// The pattern starts a piece there, and no special token's literal can lie across: none has the two bytes on
/// either side next to each other. So the matches of the whole, each the longest at the first place that has any, are those of
/// the parts.
pub fn safe_cut(encoding: &Encoding, special: &Special, text: &str, near: usize) -> Option<usize> {
    if encoding.route().is_some() {
        return None;
    }
    let mut near = near;
    loop {
        let at = encoding.pattern().safe_cut(text, near)?;
        let sides = [text.as_bytes()[at - 1], text.as_bytes()[at]];
        if matches!(special, Special::Text) || !encoding.special_tokens().may_contain(sides) {
            return Some(at);
        }
        near = at + 1;
    }
}

/// Such a byte near the end of `text`, or 0 if there is none: what comes before it can be encoded while the rest is still to come.
///
/// It is in the last of the endings looked at, each eight times as long as the one before, that has any.
pub fn last_cut(encoding: &Encoding, special: &Special, text: &str) -> usize {
    let mut ending = 1 << 12;
    loop {
        let near = text.len().saturating_sub(ending);
        match safe_cut(encoding, special, text, near) {
            Some(at) => return at,
            None if near == 0 => return 0,
            None => ending *= 8,
        }
    }
}

/// So many threads, if that is more than one and the system grants them.
pub fn pool(threads: usize) -> Option<ThreadPool> {
    if threads < 2 {
        return None;
    }
    // More threads than cores gain nothing, and many more cost seconds to start. (Asking for the cores reads files.)
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    ThreadPoolBuilder::new().num_threads(threads.min(4 * cores)).build().ok()
}

/// Applies `work` to every chunk, and `take` to what it gave, in order and some at a time, on the calling thread.
/// `worker` makes what `work` keeps from one chunk to the next, once a thread.
///
/// The error is that of the first chunk that failed.
pub fn map_chunks<W, R: Send>(
    chunks: &[Chunk],
    threads: usize,
    interrupt: &dyn Interrupt,
    worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &Chunk) -> Result<R> + Sync,
    mut take: impl FnMut(Vec<(&Chunk, R)>) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let run = |done: &mut dyn FnMut(usize, Result<R>) -> bool| {
        let mut worker = worker();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = chunks.get(at) else { return };
            if !done(at, work(&mut worker, chunk)) {
                // Those before it are in hand already: they will be finished.
                next.store(chunks.len(), Ordering::Relaxed);
            }
        }
    };
    let Some(pool) = pool(threads.min(chunks.len())) else {
        // One thread is enough, or the system grants no more.
        let mut outcome = Ok(());
        run(&mut |at, result| {
            outcome = result.and_then(|result| take(vec![(&chunks[at], result)]));
            outcome.is_ok()
        });
        return outcome;
    };
    let (done, running) = (Mutex::new(Vec::new()), AtomicUsize::new(pool.current_num_threads()));
    let caller = std::thread::current();
    pool.in_place_scope(|scope| {
        for _ in 0..pool.current_num_threads() {
            scope.spawn(|_| {
                let _ended = OnDrop(|| {
                    running.fetch_sub(1, Ordering::Release);
                    caller.unpark();
                });
                run(&mut |at, result| {
                    let fine = result.is_ok();
                    lock(&done).push((at, result));
                    fine
                });
            });
        }
        let mut early: Vec<Option<Result<R>>> = chunks.iter().map(|_| None).collect();
        let mut taken = 0;
        let mut take_all = || {
            while taken < chunks.len() {
                let all_ended = running.load(Ordering::Acquire) == 0;
                let new = std::mem::take(&mut *lock(&done));
                // What it finds, the workers find too, at their next check.
                let _: bool = interrupt.interrupted();
                if new.is_empty() {
                    if all_ended {
                        // One has panicked, which the scope tells.
                        break;
                    }
                    std::thread::park_timeout(TAKE_EVERY);
                    continue;
                }
                for (at, result) in new {
                    early[at] = Some(result);
                }
                let mut ready = Vec::new();
                while let Some(result) = early.get_mut(taken).and_then(Option::take) {
                    ready.push((&chunks[taken], result?));
                    taken += 1;
                }
                take(ready)?;
            }
            Ok(())
        };
        let outcome = take_all();
        next.store(chunks.len(), Ordering::Relaxed);
        outcome
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something when it goes, even in a panic.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::interrupt::Never;

    fn whole(documents: Range<usize>) -> Chunk {
        Chunk { documents, from: 0, to: None }
    }

    fn results(chunks: &[Chunk], threads: usize) -> Vec<Chunk> {
        let mut all = Vec::new();
        let take = |ready: Vec<(&Chunk, Chunk)>| {
            all.extend(ready.into_iter().map(|(_, chunk)| chunk));
            Ok(())
        };
        map_chunks(chunks, threads, &Never, || (), |(), chunk| Ok(chunk.clone()), take).unwrap();
        all
    }

    #[test]
    fn covers_every_document_once_in_order() {
        let sizes: Vec<usize> = (0..5000).map(|n| (n * 7919) % 3000).collect();
        let chunks = chunks(sizes.into_iter(), CHUNK_BYTES, |_, _| None);
        assert!(chunks.len() > 10);
        assert!(chunks.iter().flat_map(|chunk| chunk.documents.clone()).eq(0..5000));
        for threads in [1, 2, 5] {
            assert_eq!(results(&chunks, threads), chunks);
        }
        assert!(results(&[], 2).is_empty());
    }

    #[test]
    fn large_documents_are_cut_where_they_can_be() {
        let cut = |document, near| (document != 1 && near != 30).then_some(near + 3);
        let part = |document, from, to| Chunk { documents: document..document + 1, from, to };
        assert_eq!(
            chunks([5, 99, 0, 45, 9].into_iter(), 10, cut),
            [
                whole(0..1),
                whole(1..2),
                whole(2..3),
                part(3, 0, Some(13)),
                part(3, 13, Some(26)),
                part(3, 26, None),
                whole(4..5)
            ]
        );
        assert_eq!(chunks([20].into_iter(), 10, cut), [part(0, 0, Some(13)), part(0, 13, None)]);
        assert_eq!(chunks([19].into_iter(), 10, cut), [whole(0..1)]);
        assert_eq!(chunks([30].into_iter(), usize::MAX, cut), [whole(0..1)]);
    }

    #[test]
    fn the_first_error_is_reported() {
        let chunks: Vec<Chunk> = (0..8).map(|n| whole(n..n + 1)).collect();
        for threads in [1, 2, 5] {
            let work = |(): &mut (), chunk: &Chunk| match chunk.documents.start {
                0..3 => Ok(()),
                at => Err(Error::InvalidText(at.to_string())),
            };
            let outcome = map_chunks(&chunks, threads, &Never, || (), work, |_| Ok(()));
            assert_eq!(outcome, Err(Error::InvalidText("3".into())));
            let outcome = map_chunks(&chunks, threads, &Never, || (), |(), _| Ok(()), |_| Err(Error::Interrupted));
            assert_eq!(outcome, Err(Error::Interrupted));
        }
    }

    #[test]
    fn a_panic_is_told() {
        let chunks: Vec<Chunk> = (0..8).map(|n| whole(n..n + 1)).collect();
        for threads in [1, 2, 5] {
            let work = |(): &mut (), chunk: &Chunk| {
                assert_ne!(chunk.documents.start, 3);
                Ok(())
            };
            let call = || map_chunks(&chunks, threads, &Never, || (), work, |_| Ok(()));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
        }
    }
}
