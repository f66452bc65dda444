//! `(left, right) -> what the pair makes`: the merge rules of an encoding.
//!
//! Merging has numbers of its own, *symbols*: the bytes are 0 to 255, and the tokens that merges make
//! follow in the order of their ranks. So one number is both what a pair makes and how early it merges, and one
//! look-up gives both; [`PairTable::id`] gives the token id at the end. Both rank semantics of DESIGN
//! section 3 end up here: a rule a line of `merges.txt`, or a rule for each way to split a token of a rank file.
//!
//! Two tables, sized for the processor's caches:
//! - of two bytes, an array, which also says which bytes never stand side by side in a token (of the
//!   65,536 pairs, GPT-2's tokens have 2,689). No symbol ever spans such a place, so a piece falls apart there.
//! - of all others, a hash table of 8-byte slots with two places for each pair (cuckoo hashing: Pagh and Rodler,
//!   2001): two loads at once and no loop, so nothing for the processor to guess wrong.

use crate::encoding::{Rank, TokenId, Vocabulary};

/// What merging calls a token. The lower merges first.
pub type Symbol = u32;

/// No rule for the pair.
pub const NONE: Symbol = Symbol::MAX - 1;

/// No rule for the two bytes, and no token that has them side by side.
pub const APART: Symbol = Symbol::MAX;

const SYMBOL_BITS: u32 = 21;

/// Symbols are below this.
pub const MOST_SYMBOLS: usize = 1 << SYMBOL_BITS;

/// `left` and `right` make `id`, with the priority `rank`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub left: TokenId,
    pub right: TokenId,
    pub rank: Rank,
    pub id: TokenId,
}

pub struct PairTable {
    bytes: Vec<Symbol>,
    slots: Vec<u64>,
    shift: u32,
    /// By symbol.
    ids: Vec<TokenId>,
}

/// No rule looks like this: the pair of one has two times [`SYMBOL_BITS`].
const EMPTY: u64 = u64::MAX;

/// Places that one insertion may move on before the table is made anew, twice as large.
const MOST_MOVES: usize = 500;

impl PairTable {
    /// `rules` in the order of their ranks, each pair once, all rules for one token with one rank.
    pub fn new(rules: &[Rule], byte_ids: &[TokenId; 256], vocabulary: &Vocabulary) -> Self {
        let mut ids = byte_ids.to_vec();
        let mut symbols = vec![NONE; vocabulary.size()];
        for (symbol, &id) in (0..).zip(byte_ids) {
            symbols[id as usize] = symbol;
        }
        for rule in rules {
            if symbols[rule.id as usize] == NONE {
                symbols[rule.id as usize] = ids.len() as Symbol;
                ids.push(rule.id);
            }
        }
        let mut table = PairTable { bytes: vec![APART; 1 << 16], slots: vec![], shift: 0, ids };
        for &id in &table.ids {
            for pair in vocabulary.ordinary_bytes(id).unwrap_or_default().windows(2) {
                table.bytes[two_bytes(pair[0], pair[1])] = NONE;
            }
        }
        let mut longer = Vec::with_capacity(rules.len());
        for rule in rules {
            let [left, right, makes] = [rule.left, rule.right, rule.id].map(|id| symbols[id as usize]);
            match (u8::try_from(left), u8::try_from(right)) {
                // A token that no rule makes is in no piece, and neither is what is made of it.
                _ if left == NONE || right == NONE => {}
                (Ok(left), Ok(right)) => table.bytes[two_bytes(left, right)] = makes,
                _ => longer.push(slot(left, right, makes)),
            }
        }
        let mut size = (longer.len() * 2).next_power_of_two().max(2);
        while !table.fill(&longer, size) {
            size *= 2;
        }
        table
    }

    /// Whether all slots found room among `size` places.
    fn fill(&mut self, slots: &[u64], size: usize) -> bool {
        self.slots = vec![EMPTY; size];
        self.shift = 64 - size.trailing_zeros();
        slots.iter().all(|&slot| {
            let (mut homeless, mut at) = (slot, self.places(slot >> SYMBOL_BITS)[0]);
            for _ in 0..MOST_MOVES {
                std::mem::swap(&mut homeless, &mut self.slots[at]);
                if homeless == EMPTY {
                    return true;
                }
                let [first, second] = self.places(homeless >> SYMBOL_BITS);
                at = if at == first { second } else { first };
            }
            false
        })
    }

    /// The high bits of two products (multiplicative hashing: Knuth, TAOCP vol. 3, 6.4).
    #[inline(always)]
    fn places(&self, pair: u64) -> [usize; 2] {
        [0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93].map(|factor| (pair.wrapping_mul(factor) >> self.shift) as usize)
    }

    /// What two symbols make, not both of them bytes; or [`NONE`].
    #[inline(always)]
    pub fn get(&self, left: Symbol, right: Symbol) -> Symbol {
        let pair = (left as u64) << SYMBOL_BITS | right as u64;
        let mut makes = NONE;
        for at in self.places(pair) {
            let slot = self.slots[at];
            if slot >> SYMBOL_BITS == pair {
                makes = slot as Symbol & (MOST_SYMBOLS as Symbol - 1);
            }
        }
        makes
    }

    /// What two bytes make; or [`NONE`], or [`APART`].
    #[inline(always)]
    pub fn of_bytes(&self, left: u8, right: u8) -> Symbol {
        self.bytes[two_bytes(left, right)]
    }

    #[inline(always)]
    pub fn id(&self, symbol: Symbol) -> TokenId {
        self.ids[symbol as usize]
    }
}

#[inline(always)]
fn two_bytes(left: u8, right: u8) -> usize {
    (left as usize) << 8 | right as usize
}

fn slot(left: Symbol, right: Symbol, makes: Symbol) -> u64 {
    ((left as u64) << SYMBOL_BITS | right as u64) << SYMBOL_BITS | makes as u64
}
