//! `(left, right) -> what the pair makes`: the merge rules of an encoding.
//!
//! Merging has numbers of its own, *symbols*: the bytes are 0 to 255, and the tokens that merges make
//! follow in the order of their ranks. So one number is both what a pair makes and how early it merges, and one
//! look-up gives both; [`PairTable::id`] gives the token id at the end. Both rank semantics of DESIGN
//! section 3 end up here: a rule a line of `merges.txt`, or a rule for each way to split a token of a rank file.
//!
//! Two tables, sized for the processor's caches:
//! - of all pairs, a hash table with two buckets of two slots for each pair (cuckoo hashing: Pagh and Rodler, 2001; with
//!   buckets: Dietzfelbinger and Weidling, 2007): two loads at once and no loop, so nothing for the processor to
//!   guess wrong. A slot is 4 bytes: what the pair makes and, in place of the pair, a tag of 11 bits. So an answer is a guess,
//!   and may come before the right one; who goes by it asks afterwards whether the two make that ([`PairTable::makes`]), while
//!   the processor has gone on.
//! - of two bytes, an array of what tells how a piece begins: whether any token has them side by side (of the 65,536 pairs,
//!   2,689 are in GPT-2's tokens; no symbol ever spans such a place, so a piece falls apart there), and whether they are sure to
//!   merge first.

use std::hint::select_unpredictable;

use crate::encoding::{TokenId, Vocabulary};

/// What merging calls a token. The lower merges first.
pub type Symbol = u32;

/// Symbols below this are bytes.
const BYTES: Symbol = 256;

const SYMBOL_BITS: u32 = 21;

/// No rule for the pair. Symbols are below this.
pub const NONE: Symbol = (1 << SYMBOL_BITS) - 1;

pub const MOST_SYMBOLS: usize = NONE as usize;

pub struct PairTable {
    bytes: Vec<BytePair>,
    buckets: Vec<[Slot; 2]>,
    /// By symbol, the pair that makes it; [`BYTE`] of bytes.
    rules: Vec<u64>,
    /// By symbol.
    ids: Vec<TokenId>,
    /// From this symbol on, ids are symbols and `offset`, which saves the way to memory.
    regular: Symbol,
    offset: TokenId,
    /// By id; [`NONE`] of what no merge makes.
    symbols: Vec<Symbol>,
}

/// What is known of two bytes side by side. Symbols are [`LATE`] where 16 bits do not hold them, or there are none.
#[derive(Clone, Copy)]
#[repr(align(8))]
pub struct BytePair {
    /// What they make; also [`LATE`] if that makes something that comes before it.
    pub makes: u16,
    /// The least that the second makes with any symbol that ends in the first.
    pub second_makes: u16,
    /// The least that the first makes with any symbol that begins with the second.
    pub first_makes: u16,
    /// No token has them side by side.
    pub apart: bool,
    is_too_late: bool,
}

/// Later than any symbol that [`BytePair`] holds.
pub const LATE: u16 = u16::MAX;

/// What a pair makes, and above it a tag: a few bits of the pair's hash.
type Slot = u32;

/// Makes [`NONE`], whatever the tag.
const EMPTY: Slot = Slot::MAX;

/// In place of the pair that makes a symbol: it is a byte, or its rule is still to come.
const BYTE: u64 = u64::MAX;

/// Slots that one insertion may move before the table is made anew, twice as large.
const MOST_MOVES: usize = 500;

impl PairTable {
    /// Without rules yet, for those that make the tokens `by_rank`.
    pub fn new(by_rank: impl Iterator<Item = TokenId>, byte_ids: &[TokenId; 256], vocabulary: &Vocabulary) -> Self {
        let mut ids = byte_ids.to_vec();
        ids.extend(by_rank);
        let mut symbols = vec![NONE; vocabulary.size()];
        let nothing = BytePair { makes: LATE, second_makes: LATE, first_makes: LATE, apart: true, is_too_late: false };
        let mut bytes = vec![nothing; 1 << 16];
        for (symbol, &id) in (0..).zip(&ids) {
            symbols[id as usize] = symbol;
            for pair in vocabulary.ordinary_bytes(id).unwrap_or_default().windows(2) {
                bytes[two_bytes(pair[0], pair[1])].apart = false;
            }
        }
        let offset_at = |at: usize| ids[at].wrapping_sub(at as TokenId);
        let last = ids.len() - 1;
        let offset = offset_at(last);
        let regular = (0..last).rev().find(|&at| offset_at(at) != offset).map_or(0, |at| at as Symbol + 1);
        let rules = vec![BYTE; ids.len()];
        // Nine tenths full would be too full.
        let buckets = vec![[EMPTY; 2]; ids.len() * 5 / 8];
        PairTable { bytes, buckets, rules, ids, regular, offset, symbols }
    }

    /// `left` and `right` make a token. Each pair has one rule, and each token is made by one.
    pub fn insert(&mut self, left: TokenId, right: TokenId, makes: TokenId, vocabulary: &Vocabulary) {
        let bytes = [left, right].map(|id| vocabulary.ordinary_bytes(id).unwrap_or_default());
        let [left, right, makes] = [left, right, makes].map(|id| self.symbols[id as usize]);
        if left == NONE || right == NONE {
            // A token that no rule makes is in no piece, and neither is what is made of it.
            return;
        }
        self.note(bytes, [left, right], makes);
        self.rules[makes as usize] = pair_of(left, right);
        if !self.settle(makes) {
            self.grow();
        }
    }

    /// What a rule tells of two bytes.
    fn note(&mut self, bytes: [&[u8]; 2], symbols: [Symbol; 2], makes: Symbol) {
        for (bytes, symbol) in bytes.into_iter().zip(symbols) {
            if let &[left, right] = bytes
                && makes < symbol
            {
                let pair = &mut self.bytes[two_bytes(left, right)];
                pair.is_too_late = true;
                pair.makes = LATE;
            }
        }
        let [Some(&last), Some(&first)] = [bytes[0].last(), bytes[1].first()] else { return };
        let pair = &mut self.bytes[two_bytes(last, first)];
        let makes = u16::try_from(makes).unwrap_or(LATE);
        let [left_is_byte, right_is_byte] = symbols.map(|symbol| symbol < BYTES);
        if right_is_byte {
            pair.second_makes = pair.second_makes.min(makes);
        }
        if left_is_byte {
            pair.first_makes = pair.first_makes.min(makes);
        }
        if left_is_byte && right_is_byte && !pair.is_too_late {
            pair.makes = makes;
        }
    }

    /// Finds a place for what makes a symbol, if need be by moving others to their other bucket. If it finds none, one has
    /// lost its place.
    fn settle(&mut self, makes: Symbol) -> bool {
        let (mut makes, mut at) = (makes, usize::MAX);
        for moves in 0..MOST_MOVES {
            let (places, tag) = self.places(self.rules[makes as usize]);
            let mut homeless = tag | makes;
            for place in places {
                if let Some(slot) = self.buckets[place].iter_mut().find(|slot| **slot == EMPTY) {
                    *slot = homeless;
                    return true;
                }
            }
            // Not the bucket that it was pushed out of, and its slots by turns.
            at = if at == places[0] { places[1] } else { places[0] };
            std::mem::swap(&mut homeless, &mut self.buckets[at][moves / 2 % 2]);
            makes = homeless & NONE;
        }
        false
    }

    /// Makes the table anew, larger, of all rules so far.
    fn grow(&mut self) {
        let mut size = self.buckets.len();
        loop {
            size += size / 8 + 1;
            self.buckets = vec![[EMPTY; 2]; size];
            if (BYTES..self.rules.len() as Symbol).all(|makes| self.rules[makes as usize] == BYTE || self.settle(makes))
            {
                return;
            }
        }
    }

    /// Two buckets, by the high bits of two products (multiplicative hashing: Knuth, TAOCP vol. 3, 6.4), and the tag.
    #[inline(always)]
    fn places(&self, pair: u64) -> ([usize; 2], Slot) {
        let products = [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93].map(|factor| pair.wrapping_mul(factor));
        let place = |product: u64| ((product as u128 * self.buckets.len() as u128) >> 64) as usize;
        (products.map(place), (products[0] >> 14) as Slot & !NONE)
    }

    /// What two symbols make, or what another pair of their tag makes, if that comes before it. Without a rule it is one of
    /// those, or at least [`NONE`].
    #[inline(always)]
    pub fn guess(&self, left: Symbol, right: Symbol) -> Symbol {
        let (places, tag) = self.places(pair_of(left, right));
        // Of another tag, a slot is larger than any symbol.
        let [a, b, c, d] = *places.map(|place| self.buckets[place].map(|slot| slot ^ tag)).as_flattened() else {
            unreachable!("two times two")
        };
        a.min(b).min(c.min(d))
    }

    /// Whether two symbols make that one.
    #[inline(always)]
    pub fn makes(&self, left: Symbol, right: Symbol, made: Symbol) -> bool {
        self.rules[made as usize] == pair_of(left, right)
    }

    /// What two symbols make; or [`NONE`].
    #[inline(always)]
    pub fn get(&self, left: Symbol, right: Symbol) -> Symbol {
        match self.guess(left, right) {
            NONE.. => NONE,
            made if self.makes(left, right, made) => made,
            _ => self.search(left, right),
        }
    }

    #[cold]
    fn search(&self, left: Symbol, right: Symbol) -> Symbol {
        let (places, _) = self.places(pair_of(left, right));
        let mut all = places.into_iter().flat_map(|place| self.buckets[place]).map(|slot| slot & NONE);
        all.find(|&made| made < NONE && self.makes(left, right, made)).unwrap_or(NONE)
    }

    #[inline(always)]
    pub fn of_bytes(&self, left: u8, right: u8) -> BytePair {
        self.bytes[two_bytes(left, right)]
    }

    #[inline(always)]
    pub fn id(&self, symbol: Symbol) -> TokenId {
        let irregular = self.ids[symbol.min(self.regular) as usize];
        select_unpredictable(symbol >= self.regular, symbol.wrapping_add(self.offset), irregular)
    }
}

#[inline(always)]
fn pair_of(left: Symbol, right: Symbol) -> u64 {
    (left as u64) << SYMBOL_BITS | right as u64
}

#[inline(always)]
fn two_bytes(left: u8, right: u8) -> usize {
    (left as usize) << 8 | right as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::encoding::builtin;

    #[test]
    fn a_guess_is_right_or_comes_first() {
        let encoding = builtin::load("gpt2").unwrap();
        let pairs = encoding.pairs();
        let made = (0..).zip(&pairs.rules).skip(BYTES as usize);
        let rules: HashMap<u64, Symbol> = made.map(|(symbol, &pair)| (pair, symbol)).collect();
        let all = (0..1000).flat_map(|left| (0..1000).map(move |right| (left, right * 50)));
        let of_rules = rules.keys().map(|pair| ((pair >> SYMBOL_BITS) as Symbol, *pair as Symbol & NONE));
        let mut wrong = 0;
        for (left, right) in all.chain(of_rules) {
            let (expected, guess) =
                (rules.get(&pair_of(left, right)).copied().unwrap_or(NONE), pairs.guess(left, right));
            assert!(guess <= expected || expected == NONE);
            assert_eq!(pairs.get(left, right), expected);
            wrong += (guess != expected && guess < NONE) as usize;
        }
        assert!((1..10_000).contains(&wrong), "{wrong}");
    }
}
