//! Parts of any length, merged a window at a time, so that all that merging needs stays in the cache.
//!
//! The tokens of the part so far end at `done`. The next window starts where one of them starts, some bytes before
//! `done`, because the end of a window may fall into what should be one token. Its tokens follow those before it
//! if the first of them is the one that started there already (the lemma on joints in `rust/DESIGN.md`; corollary III in
//! the README of github/rust-gems' crate `bpe`). If it is not, `done` was felt farther to the left, and the next
//! try starts twice as far back, if need be at the start of the part.
//!
//! A window is merged by a binary heap of (symbol, position) over a linked list. Entries are never removed early: an entry is
//! stale, and skipped, when the pair at its position no longer makes its symbol.
//!
//! Time: a window adds at least as many bytes as it merges again (but for the last one), and each try that fails starts at least
//! twice as far back as the one that failed before. So all windows together have O(n) bytes: O(n log n) time, and O(n) where they
//! stay small. Memory: some 40 bytes for each byte of the largest window, in practice little more than [`WINDOW`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::encoding::TokenId;
use crate::error::Result;
use crate::interrupt::{Interrupt, MERGES_BETWEEN_CHECKS};
use crate::pair_table::{NONE, PairTable, Symbol};

/// Bytes that a window adds, if it has not to start as far back. `rust/DESIGN.md` has the figures.
const WINDOW: usize = 1024;

/// How many bytes before `done` a window starts at first.
const REACH: usize = 64;

/// Marks either end of the linked list.
const NOWHERE: u32 = u32::MAX;

pub struct Long {
    /// [`WINDOW`] and [`REACH`], but for tests.
    window: usize,
    reach: usize,
    merging: Window,
    /// Where in the part each token of the last window ends.
    ends: Vec<u32>,
}

#[derive(Default)]
struct Window {
    symbols: Vec<Symbol>,
    /// What the symbol here and the one after it make.
    makes: Vec<Symbol>,
    previous: Vec<u32>,
    next: Vec<u32>,
    heap: BinaryHeap<Reverse<u64>>,
}

impl Default for Long {
    fn default() -> Self {
        Long { window: WINDOW, reach: REACH, merging: Window::default(), ends: Vec::new() }
    }
}

impl Long {
    /// Appends the ids of a part.
    pub fn merge(
        &mut self,
        pairs: &PairTable,
        part: &[u8],
        ids: &mut Vec<TokenId>,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        let Long { window, reach, merging, ends } = self;
        let (mut reach, first) = (*reach, ids.len());
        let mut done = 0;
        ends.clear();
        while done < part.len() {
            let before = ends.partition_point(|&end| done - end as usize >= reach);
            // Without a start that far back in the last window, all is merged anew, to twice as far.
            let (start, kept) = match before {
                0 => (0, first),
                _ => (ends[before - 1] as usize, ids.len() - (ends.len() - before)),
            };
            let end = part.len().min(done + (done - start).max(*window));
            merging.merge(pairs, &part[start..end], interrupt)?;
            if start > 0 && ids[kept] != pairs.id(merging.symbols[0]) {
                reach = 2 * (done - start);
                continue;
            }
            ids.truncate(kept);
            ends.clear();
            for (symbol, end) in merging.tokens() {
                ids.push(pairs.id(symbol));
                ends.push((start + end) as u32);
            }
            done = end;
            if done < part.len() {
                interrupt.check()?;
            }
        }
        Ok(())
    }

    /// Bytes of the longest window that the buffers have room for.
    pub fn capacity(&self) -> usize {
        self.merging.symbols.capacity()
    }
}

impl Window {
    fn merge(&mut self, pairs: &PairTable, bytes: &[u8], interrupt: &dyn Interrupt) -> Result<()> {
        let Window { symbols, makes, previous, next, heap } = self;
        let length = bytes.len() as u32;
        symbols.clear();
        symbols.extend(bytes.iter().map(|&byte| byte as Symbol));
        previous.clear();
        previous.extend((0..length).map(|at| at.wrapping_sub(1)));
        next.clear();
        next.extend((1..length).chain([NOWHERE]));
        makes.clear();
        makes.extend(bytes.windows(2).map(|pair| pairs.get(pair[0] as Symbol, pair[1] as Symbol)));
        makes.push(NONE);
        let mut entries = std::mem::take(heap).into_vec();
        entries.clear();
        entries.extend(
            makes.iter().zip(0..).filter(|(makes, _)| **makes < NONE).map(|(makes, at)| Reverse(entry(*makes, at))),
        );
        *heap = BinaryHeap::from(entries);

        let mut until_check = MERGES_BETWEEN_CHECKS;
        while let Some(Reverse(top)) = heap.pop() {
            until_check -= 1;
            if until_check == 0 {
                interrupt.check()?;
                until_check = MERGES_BETWEEN_CHECKS;
            }
            let (made, at) = ((top >> 32) as Symbol, top as u32 as usize);
            if makes[at] != made {
                continue; // stale
            }
            symbols[at] = made;
            let right = next[at] as usize;
            let after = next[right];
            next[at] = after;
            makes[right] = NONE;
            if after != NOWHERE {
                previous[after as usize] = at as u32;
            }
            for (left, right) in [(at as u32, after), (previous[at], at as u32)] {
                if left == NOWHERE {
                    continue;
                }
                let made = match right {
                    NOWHERE => NONE,
                    _ => pairs.get(symbols[left as usize], symbols[right as usize]),
                };
                makes[left as usize] = made;
                if made < NONE {
                    heap.push(Reverse(entry(made, left)));
                }
            }
        }
        Ok(())
    }

    /// Each symbol that is left, and where in the window it ends.
    fn tokens(&self) -> impl Iterator<Item = (Symbol, usize)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let symbol = *self.symbols.get(at)?;
            at = self.symbols.len().min(self.next[at] as usize);
            Some((symbol, at))
        })
    }
}

fn entry(makes: Symbol, at: u32) -> u64 {
    (makes as u64) << 32 | at as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::encoding::{Encoding, Parts, Rules, builtin};
    use crate::interrupt::Never;

    /// Tokens that are joined of others, and rules for them in any order.
    fn rules() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<(TokenId, TokenId)>)> {
        vec((any::<Index>(), any::<Index>(), any::<u16>()), 1..24).prop_map(|joins| {
            let mut tokens = vec![b"a".to_vec(), b"b".to_vec(), b"c".to_vec()];
            let mut rules = BTreeMap::new();
            for (left, right, rank) in joins {
                let [left, right] = [left, right].map(|index| index.get(&tokens).clone());
                let joined = [&left[..], &right[..]].concat();
                if joined.len() < 40 && !tokens.contains(&joined) {
                    rules.insert((rank, tokens.len()), (left, right));
                    tokens.push(joined);
                }
            }
            let tokens: Vec<Vec<u8>> = (0..=255).map(|b| vec![b]).chain(tokens.into_iter().skip(3)).collect();
            let id_of = |bytes| tokens.iter().position(|token| *token == bytes).unwrap() as TokenId;
            let rules = rules.into_values().map(|(left, right)| (id_of(left), id_of(right))).collect();
            (tokens, rules)
        })
    }

    fn part() -> impl Strategy<Value = String> {
        prop_oneof!["[ab]{1,200}", "[abc]{1,200}", "(a{1,40}b?){1,8}", "((ab){1,20}c?){1,8}"]
    }

    /// Of the window and reach that are used, with GPT-2's rules.
    #[test]
    fn windows_do_not_show_in_gpt2() {
        let encoding = builtin::load("gpt2").unwrap();
        let mut state = 1u64;
        let mut letters = |of: &[u8]| {
            // Knuth's MMIX generator: its high bits are random enough.
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            of[(state >> 33) as usize % of.len()]
        };
        for of in [&b"a"[..], b"ab", b"etaoinshr", b"=-_*"] {
            let part: Vec<u8> = (0..20_001).map(|_| letters(of)).collect();
            let [mut one, mut many] = [vec![], vec![]];
            Long { window: usize::MAX, ..Long::default() }.merge(encoding.pairs(), &part, &mut one, &Never).unwrap();
            Long::default().merge(encoding.pairs(), &part, &mut many, &Never).unwrap();
            assert_eq!(one, many);
        }
    }

    proptest! {
        /// However small the windows: tries fail, and start before the last window.
        #[test]
        fn windows_do_not_show(
            (tokens, rules) in rules(), part in part(), window in 1usize..40, reach in 1usize..20,
        ) {
            let parts = Parts {
                name: "test".into(),
                pattern: "gpt2".into(),
                tokens: (0..).zip(tokens).collect(),
                rules: Rules::Pairs(rules),
                special_tokens: vec![],
            };
            let encoding = Encoding::new("test", parts).unwrap();
            let merge = |long: &mut Long| {
                let mut ids = vec![7]; // of a part before
                long.merge(encoding.pairs(), part.as_bytes(), &mut ids, &Never).unwrap();
                ids
            };
            // One window: `tests/merging.rs` compares it with the definition.
            let expected = merge(&mut Long { window: usize::MAX, ..Long::default() });
            let mut long = Long { window, reach, ..Long::default() };
            prop_assert_eq!(&merge(&mut long), &expected);
            prop_assert_eq!(&merge(&mut long), &expected);
        }
    }
}
