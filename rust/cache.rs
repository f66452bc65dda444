//! What pieces encode to, as far as any thread has met them.
//!
//! A [`PieceTable`] holds nearly everything in itself. Ids that an entry has no room for, and the bytes of
//! pieces too long to be their own keys, are in [`Records`]. Both are filled and never changed, so that all threads share them
//! and none waits for another: what one has merged, the others need not. The table starts small, so that what little
//! text needs lies close together, and grows as it fills, up to the budget; when table or records are full then, all is
//! forgotten. (Whatever is kept instead, a place costs an entry, and entries that are needed soon come back soon.) What is in
//! the cache never changes an id, only the time: each entry is what the merger gave.
//!
//! A table and its records are one [`Version`]. A thread looks for a newer one after each batch of pieces and lets go of the old one.
//! The lock is held to take a reference or to put a version in place, and only ever tried: a thread that does not get it goes
//! on with what it has, so a forked child, whose copy of the lock may stay taken for ever, does too.
//!
//! Half the budget is the table's and half the records': 24 MB of text in many scripts have 273,390 distinct pieces, at 32 bytes each
//! half of a table of 16 MB, and records of 14.5 MB with ids of 32 bits, 9.2 MB with 16. `rust/DESIGN.md` has the throughput by size.

mod records;

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock, TryLockError};

use crate::sink::{Token, bytes, bytes_mut};
use crate::table::{Entry, LONGEST, Lookup, MOST, MOST_ELSEWHERE, PieceTable, Reader};
pub use records::Block;
use records::{CHUNK, Records, is_equal, record_length};

/// Longer pieces are rare and mostly met once.
pub const LONGEST_KEPT: usize = 512;

/// A smaller budget is no cache.
const SMALLEST_BUDGET: usize = 1 << 12;

/// The table's size at first, and how much larger it gets each time: both tables are there for a moment.
const SMALLEST: usize = 1 << 18;
const GROWTH: usize = 4;

/// Insertions that a thread makes before it tells of them: memory that all write to goes from core to core each time.
const TOLD_OF: usize = 1 << 6;

/// How often to try the lock, which is never held for long.
const TRIES: usize = 100;

/// Of ids stored as `T`, shared by all threads.
pub struct Cache<T> {
    newest: RwLock<Arc<Version>>,
    /// Its number.
    number: AtomicUsize,
    /// Whether a thread makes the next.
    in_the_making: AtomicBool,
    most_table_bytes: usize,
    record_bytes: usize,
    ids: PhantomData<T>,
}

struct Version {
    number: usize,
    table: PieceTable,
    /// Insertions that it takes before the next version is due.
    most: usize,
    insertions: AtomicUsize,
    records: Arc<Records>,
}

impl Version {
    /// With nothing in it but what the table holds.
    fn new(number: usize, table: PieceTable, is_largest: bool, records: Arc<Records>) -> Self {
        // An eighth of new ones makes a table just grown about half full: each is found in few lines of memory. In three
        // quarters of all places, nearly all that come still find one.
        let most = if is_largest { table.places() / 4 * 3 } else { table.places() / 8 };
        Version { number, table, most, insertions: AtomicUsize::new(0), records }
    }

    fn is_full(&self) -> bool {
        self.insertions.load(Ordering::Relaxed) >= self.most || self.records.has_refused()
    }
}

impl<T: Token> Cache<T> {
    /// A cache that takes `budget` bytes at most, about half of them for the table.
    pub fn new(budget: usize) -> Self {
        let budget = if budget < SMALLEST_BUDGET { 0 } else { budget };
        let most_table_bytes = (budget / 2 + 1).next_power_of_two() / 2;
        let record_bytes = budget.saturating_sub(most_table_bytes).min(MOST);
        let first = Cache::<T>::empty(0, most_table_bytes, record_bytes);
        Cache {
            newest: RwLock::new(Arc::new(first)),
            number: AtomicUsize::new(0),
            in_the_making: AtomicBool::new(false),
            most_table_bytes,
            record_bytes,
            ids: PhantomData,
        }
    }

    fn empty(number: usize, most_table_bytes: usize, record_bytes: usize) -> Version {
        let table = PieceTable::new(most_table_bytes.min(SMALLEST));
        let is_largest = table.bytes() >= most_table_bytes;
        Version::new(number, table, is_largest, Arc::new(Records::new(number, record_bytes)))
    }

    /// What one thread uses it by.
    pub fn share(&self) -> Share<'_, T> {
        let version = self.newest().unwrap_or_else(|| Arc::new(Cache::<T>::empty(usize::MAX, SMALLEST, 0)));
        Share { cache: self, version, untold: 0 }
    }

    fn newest(&self) -> Option<Arc<Version>> {
        (0..TRIES).find_map(|_| match self.newest.try_read() {
            Ok(newest) => Some(Arc::clone(&newest)),
            Err(TryLockError::Poisoned(newest)) => Some(Arc::clone(&newest.into_inner())),
            Err(TryLockError::WouldBlock) => {
                std::hint::spin_loop();
                None
            }
        })
    }

    /// Puts a new version in place of `old`, unless another thread does.
    fn renew(&self, old: &Version) {
        if self.in_the_making.swap(true, Ordering::Acquire) {
            return;
        }
        let number = old.number.wrapping_add(1);
        if self.number.load(Ordering::Relaxed) == old.number {
            let bytes = (old.table.bytes() * GROWTH).min(self.most_table_bytes);
            let new = if bytes > old.table.bytes() && !old.records.has_refused() {
                let is_largest = bytes == self.most_table_bytes;
                Version::new(number, old.table.grown(bytes), is_largest, Arc::clone(&old.records))
            } else {
                Cache::<T>::empty(number, self.most_table_bytes, self.record_bytes)
            };
            self.put_in_place(Arc::new(new));
        }
        self.in_the_making.store(false, Ordering::Release);
    }

    fn put_in_place(&self, new: Arc<Version>) {
        for _ in 0..TRIES {
            let mut newest = match self.newest.try_write() {
                Ok(newest) => newest,
                Err(TryLockError::Poisoned(newest)) => newest.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    std::hint::spin_loop();
                    continue;
                }
            };
            self.number.store(new.number, Ordering::Relaxed);
            let old = std::mem::replace(&mut *newest, new);
            drop(newest);
            // Giving memory back takes time: without the lock.
            drop(old);
            return;
        }
    }
}

/// The cache as one thread sees it.
pub struct Share<'c, T: Token> {
    cache: &'c Cache<T>,
    version: Arc<Version>,
    /// Insertions that the others do not know of.
    untold: usize,
}

impl<T: Token> Share<'_, T> {
    /// To look up several keys. What it gives is good until [`Share::keep_up`].
    #[inline(always)]
    pub fn reader(&self) -> Reader<'_> {
        self.version.table.reader()
    }

    /// Sends for what is known of a long piece.
    #[inline(always)]
    pub fn send_for(&self, lookup: &Lookup) {
        if let Some(entry) = self.reader().get(lookup) {
            self.version.records.send_for(entry.position());
        }
    }

    /// Writes the ids of `piece` to the start of `room`, and something behind them; returns how many they are. Wherever
    /// they are, which is mostly where [`Reader::get`] finds them.
    #[inline(never)]
    pub fn find_far(&self, lookup: &Lookup, piece: &[u8], room: &mut [T]) -> Option<usize> {
        let entry = self.version.table.get(lookup)?;
        let (count, of) = (entry.count(), if piece.len() > LONGEST { piece } else { &[] });
        if entry.is_here() {
            entry.put(room);
            return Some(count);
        }
        // A longer piece with the same key may begin with this one.
        if entry.length() as usize != piece.len() {
            return None;
        }
        let (found, ids) =
            self.version.records.get(entry.position(), record_length::<T>(of, count))?.split_at(of.len());
        let room = bytes_mut(room).as_chunks_mut::<CHUNK>().0;
        room.iter_mut().zip(ids.as_chunks().0).for_each(|(room, ids)| *room = *ids);
        is_equal(found, of).then_some(count)
    }

    /// Keeps the ids of a piece of at most [`LONGEST_KEPT`] bytes, if it can. `block` is the thread's, from one share to the next.
    pub fn insert(&mut self, lookup: &Lookup, piece: &[u8], ids: &[T], block: &mut Block) {
        if self.cache.most_table_bytes == 0 {
            return;
        }
        self.untold += 1;
        let entry = match Entry::new(ids) {
            Some(entry) if piece.len() <= LONGEST => entry,
            _ => {
                if ids.len() > MOST_ELSEWHERE {
                    return;
                }
                let of = if piece.len() > LONGEST { piece } else { &[] };
                let Some(position) =
                    self.version.records.push(of, bytes(ids), record_length::<T>(of, ids.len()), block)
                else {
                    return;
                };
                Entry::elsewhere(position, piece.len() as u16, ids.len())
            }
        };
        self.version.table.insert(lookup, entry);
    }

    /// Goes on with the newest version. To be called now and then.
    #[inline]
    pub fn keep_up(&mut self) {
        if self.untold >= TOLD_OF {
            self.tell();
        }
        if self.cache.number.load(Ordering::Relaxed) != self.version.number {
            self.change();
        }
    }

    #[cold]
    fn change(&mut self) {
        if let Some(newest) = self.cache.newest() {
            self.version = newest;
        }
    }

    #[cold]
    fn tell(&mut self) {
        self.version.insertions.fetch_add(std::mem::take(&mut self.untold), Ordering::Relaxed);
        if self.version.is_full() {
            self.cache.renew(&self.version);
        }
    }
}

impl<T: Token> Drop for Share<'_, T> {
    fn drop(&mut self) {
        if self.untold > 0 {
            self.tell();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::encoding::TokenId;
    use crate::table::{Key, Keys};

    fn look_up<T: Token>(share: &Share<T>, piece: &[u8]) -> Lookup {
        share.version.table.look_up(if piece.len() > LONGEST {
            Key::hashed(piece)
        } else {
            Keys::new(piece).short(0, piece.len())
        })
    }

    fn find<T: Token>(share: &Share<T>, lookup: &Lookup, piece: &[u8]) -> Option<Vec<T>> {
        let mut ids = vec![T::default(); LONGEST_KEPT];
        let count = share.find_far(lookup, piece, &mut ids)?;
        ids.truncate(count);
        Some(ids)
    }

    fn whatever_it_finds_is_what_was_inserted<T: Token + Debug>(largest: TokenId) {
        for budget in [0, 100, 4096, 1 << 16, 1 << 22] {
            let cache = Cache::<T>::new(budget);
            let (mut share, mut block) = (cache.share(), Block::default());
            let piece = |n: usize| "x".repeat(n % 40) + &n.to_string();
            let ids = |n: usize| (0..1 + n % 9).map(|k| T::from_id(largest - (n + k) as TokenId)).collect::<Vec<_>>();
            let mut found = [0; 2];
            for n in 0..20_000 {
                // One just inserted, and one of long ago.
                for (n, found) in [n, n / 2].into_iter().zip(&mut found) {
                    let (piece, ids) = (piece(n), ids(n));
                    let lookup = look_up(&share, piece.as_bytes());
                    match find(&share, &lookup, piece.as_bytes()) {
                        Some(seen) => {
                            *found += 1;
                            assert_eq!(seen, ids);
                        }
                        None => {
                            share.insert(&lookup, piece.as_bytes(), &ids, &mut block);
                            share.keep_up();
                        }
                    }
                }
                let Version { table, records, .. } = &*share.version;
                assert!(table.bytes() + records.bytes() <= budget.max(128));
            }
            assert_eq!(found[1] > 19_000, budget == 1 << 22, "{found:?} of 20,000 with {budget} bytes");
        }
    }

    #[test]
    fn whatever_it_finds_is_what_was_inserted_of_either_width() {
        whatever_it_finds_is_what_was_inserted::<u16>(u16::MAX.into());
        whatever_it_finds_is_what_was_inserted::<u32>(1 << 21);
    }

    fn a_key_that_two_pieces_share_is_no_proof<T: Token + Debug>() {
        let of = b"a piece of text, and long";
        let cache = Cache::<T>::new(1 << 20);
        let mut share = cache.share();
        let lookup = look_up(&share, of);
        let ids = [1, 2].map(T::from_id);
        share.insert(&lookup, of, &ids, &mut Block::default());
        for other in [&b"a piece of text, not same"[..], b"a piece of text, and", b"a piece of text, and longer"] {
            assert_eq!(find(&share, &lookup, other), None);
        }
        assert_eq!(find(&share, &lookup, of), Some(ids.to_vec()));
    }

    #[test]
    fn a_key_that_two_pieces_share_is_no_proof_in_either_width() {
        a_key_that_two_pieces_share_is_no_proof::<u16>();
        a_key_that_two_pieces_share_is_no_proof::<u32>();
    }

    /// A refused record counts as an insertion, or a cache full of long pieces would never be made anew.
    #[test]
    fn pieces_too_long_to_be_keys_are_kept_though_there_is_nothing_else() {
        let cache = Cache::<u16>::new(1 << 16);
        let (mut share, mut block, mut found) = (cache.share(), Block::default(), 0);
        for n in 0..20_000u16 {
            let piece = format!("a piece too long to be its own key: {n}");
            let lookup = look_up(&share, piece.as_bytes());
            share.insert(&lookup, piece.as_bytes(), &[n], &mut block);
            found += find(&share, &lookup, piece.as_bytes()).is_some() as usize;
            share.keep_up();
        }
        assert!(found > 15_000, "{found}");
    }

    #[test]
    fn any_budget_is_taken() {
        for budget in [1 << 36, 1 << 62, usize::MAX] {
            assert!(Cache::<u16>::new(budget).record_bytes <= MOST);
        }
    }

    /// As in a forked child, in which the thread that held it is no more.
    #[test]
    fn a_lock_that_is_never_given_back_stops_nobody() {
        let cache = Cache::<u16>::new(1 << 20);
        let mut before = cache.share();
        let held = cache.newest.write();
        let mut after = cache.share();
        for share in [&mut before, &mut after] {
            for n in 0..50_000 {
                let piece = n.to_string();
                let lookup = look_up(share, piece.as_bytes());
                share.insert(&lookup, piece.as_bytes(), &[n as u16], &mut Block::default());
                let found = find(share, &lookup, piece.as_bytes());
                assert!(n > 1_000 || found == Some(vec![n as u16]));
                if n % 100 == 0 {
                    share.keep_up();
                }
            }
        }
        drop(held);
    }

    #[test]
    fn what_one_thread_inserts_another_finds_and_a_new_version_has() {
        let cache = Cache::<u16>::new(1 << 22);
        let (mut one, mut other, mut block, mut lost) = (cache.share(), cache.share(), Block::default(), 0);
        let long = "a piece too long to be its own key";
        let lookup = look_up(&one, long.as_bytes());
        one.insert(&lookup, long.as_bytes(), &[1, 2, 3], &mut block);
        for n in 0..10_000u16 {
            let piece = n.to_string();
            let lookup = look_up(&one, piece.as_bytes());
            one.insert(&lookup, piece.as_bytes(), &[n], &mut block);
            one.keep_up();
            other.keep_up();
            let lookup = look_up(&other, piece.as_bytes());
            match find(&other, &lookup, piece.as_bytes()) {
                Some(found) => assert_eq!(found, [n]),
                // There may be no room for it.
                None => lost += 1,
            }
            let lookup = look_up(&other, long.as_bytes());
            assert_eq!(find(&other, &lookup, long.as_bytes()), Some(vec![1, 2, 3]));
        }
        assert!(other.version.number > 1 && lost < 100, "{lost}");
    }
}
