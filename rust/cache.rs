//! piece -> ids, for merged pieces that a table entry (`table.rs`) does not hold: long ones.
//!
//! A direct-mapped table of slots; a slot points at the piece's bytes in one arena and at its ids in
//! another. A new piece takes its slot whatever was there. When an arena is full, everything is
//! forgotten and the cache starts anew: no list to keep, and the memory never passes the budget. What
//! is in the cache never changes an id, only the time: each entry is what the merger gave.
//!
//! Half the budget goes to the slots and a quarter to each arena. Memory is touched as it fills.

use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

use crate::encoding::TokenId;

/// Offsets are 32 bits wide; a larger budget is not used up.
const MOST: usize = 1 << 30;

/// Longer pieces are rare and mostly met once.
const LONGEST: usize = 256;

/// An array, so that a table of empty slots is memory that the system has yet to provide.
type PackedSlot = [u32; 4];

#[derive(Clone, Copy, Default)]
struct Slot {
    tag: u32,
    bytes_at: u32,
    ids_at: u32,
    /// 0 in an empty slot: no piece is empty.
    length: u16,
    ids: u16,
}

impl Slot {
    #[inline]
    fn pack(self) -> PackedSlot {
        [self.tag, self.bytes_at, self.ids_at, (self.length as u32) << 16 | self.ids as u32]
    }

    #[inline]
    fn unpack([tag, bytes_at, ids_at, lengths]: PackedSlot) -> Self {
        Slot { tag, bytes_at, ids_at, length: (lengths >> 16) as u16, ids: lengths as u16 }
    }
}

pub struct Cache {
    slots: Vec<PackedSlot>,
    bytes: Vec<u8>,
    ids: Vec<TokenId>,
    arena_bytes: usize,
    hasher: DefaultHashBuilder,
}

/// Where a piece belongs: remembered from a look-up that missed, for [`Cache::insert`].
#[derive(Debug, Clone, Copy)]
pub struct Place {
    slot: usize,
    tag: u32,
}

impl Cache {
    /// A cache that never takes more than `budget` bytes; too small a budget gives one that keeps nothing.
    pub fn new(budget: usize) -> Self {
        let budget = budget.min(MOST);
        let arena_bytes = budget / 4;
        let slots = (budget / 2 / size_of::<PackedSlot>() + 1).next_power_of_two() / 2;
        let slots = if arena_bytes < LONGEST * size_of::<TokenId>() { 0 } else { slots };
        Cache {
            slots: vec![PackedSlot::default(); slots],
            bytes: Vec::new(),
            ids: Vec::new(),
            arena_bytes,
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// The ids of `piece`; else the place to insert them, if it is to be kept at all.
    #[inline]
    pub fn get(&self, piece: &[u8]) -> Result<&[TokenId], Option<Place>> {
        if self.slots.is_empty() || piece.len() > LONGEST {
            return Err(None);
        }
        let hash = self.hasher.hash_one(piece);
        let place = Place { slot: hash as usize & (self.slots.len() - 1), tag: (hash >> 32) as u32 };
        let slot = Slot::unpack(self.slots[place.slot]);
        let (at, end) = (slot.bytes_at as usize, slot.bytes_at as usize + slot.length as usize);
        if slot.tag == place.tag && slot.length as usize == piece.len() && self.bytes[at..end] == *piece {
            let at = slot.ids_at as usize;
            return Ok(&self.ids[at..at + slot.ids as usize]);
        }
        Err(Some(place))
    }

    pub fn insert(&mut self, place: Place, piece: &[u8], ids: &[TokenId]) {
        let ids_fit = self.arena_bytes / size_of::<TokenId>();
        if self.bytes.len() + piece.len() > self.arena_bytes || self.ids.len() + ids.len() > ids_fit {
            self.slots.fill(PackedSlot::default());
            self.bytes.clear();
            self.ids.clear();
        }
        let slot = Slot {
            tag: place.tag,
            bytes_at: self.bytes.len() as u32,
            ids_at: self.ids.len() as u32,
            length: piece.len() as u16,
            ids: ids.len() as u16,
        };
        self.slots[place.slot] = slot.pack();
        append(&mut self.bytes, piece, self.arena_bytes);
        append(&mut self.ids, ids, ids_fit);
    }
}

/// Grows by doubling, but never past `limit` items.
fn append<T: Copy>(arena: &mut Vec<T>, items: &[T], limit: usize) {
    if arena.len() + items.len() > arena.capacity() {
        let wanted = (arena.capacity() * 2).max(1024).min(limit);
        arena.reserve_exact(wanted.max(arena.len() + items.len()) - arena.len());
    }
    arena.extend_from_slice(items);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_was_inserted_until_the_budget_is_full_and_never_more() {
        let mut cache = Cache::new(1 << 14);
        for round in 0..3u32 {
            for n in 0..5000u32 {
                let piece = (n + round).to_string();
                match cache.get(piece.as_bytes()) {
                    Ok(ids) => assert_eq!(ids, [n + round, 7]),
                    Err(place) => cache.insert(place.unwrap(), piece.as_bytes(), &[n + round, 7]),
                }
                assert_eq!(cache.get(piece.as_bytes()).unwrap(), [n + round, 7]);
                let held = cache.slots.capacity() * 16 + cache.bytes.capacity() + cache.ids.capacity() * 4;
                assert!(held <= 1 << 14, "{held}");
            }
        }
    }

    #[test]
    fn no_budget_keeps_nothing() {
        assert!(matches!(Cache::new(0).get(b"a"), Err(None)));
        assert!(matches!(Cache::new(100).get(b"a"), Err(None)));
    }
}
