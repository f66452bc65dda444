//! Training against its definition: all pairs are counted again before each merge.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::Arc;

use bpeline::encoding::{Encoding, Parts, Rules, TokenId};
use bpeline::interrupt::Never;
use bpeline::train::{PieceCounts, Settings, Ties, merges};
use proptest::collection::vec;
use proptest::prelude::*;

type Pair = (TokenId, TokenId);

/// Ids are bytes.
fn bytes() -> Arc<Encoding> {
    let parts = Parts {
        name: "bytes".into(),
        pattern: "gpt2".into(),
        tokens: (0..=255u8).map(|byte| (byte as TokenId, vec![byte])).collect(),
        rules: Rules::Pairs(vec![]),
        special_tokens: vec![],
    };
    Arc::new(Encoding::new("test", parts).unwrap())
}

fn naive(pieces: &[(String, u64)], settings: &Settings) -> Vec<Pair> {
    let mut pieces: Vec<(Vec<TokenId>, u64)> =
        pieces.iter().map(|(piece, count)| (piece.bytes().map(TokenId::from).collect(), *count)).collect();
    let (mut lengths, mut rules) = (vec![1usize; 256], vec![]);
    while rules.len() < settings.most {
        // By count, and where each is first seen.
        let mut totals = HashMap::<Pair, (u64, usize)>::new();
        for (symbols, count) in &pieces {
            for pair in symbols.windows(2) {
                let seen = totals.len();
                totals.entry((pair[0], pair[1])).or_insert((0, seen)).0 += count;
            }
        }
        let length = |(left, right): Pair| lengths[left as usize] + lengths[right as usize];
        let allowed = |pair| settings.max_token_length.is_none_or(|most| length(pair) == 2 || length(pair) < most);
        let best = totals.into_iter().filter(|(pair, _)| allowed(*pair)).max_by_key(|&(pair, (count, seen))| {
            match settings.ties {
                Ties::LowestIds => (count, std::cmp::Reverse(pair), std::cmp::Reverse(0)),
                Ties::FirstSeen => (count, std::cmp::Reverse((0, 0)), std::cmp::Reverse(seen)),
            }
        });
        let Some((pair, (count, _))) = best else { break };
        if count < settings.min_frequency.max(1) {
            break;
        }
        for (symbols, _) in &mut pieces {
            let mut at = 0;
            while at + 1 < symbols.len() {
                if (symbols[at], symbols[at + 1]) == pair {
                    symbols.splice(at..at + 2, [lengths.len() as TokenId]);
                }
                at += 1;
            }
        }
        lengths.push(length(pair));
        rules.push(pair);
    }
    rules
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{1,12}", "[abc]{1,30}", "a{1,40}", "(ab){1,9}c?", "[a-e]{16,50}"]
}

proptest! {
    #[test]
    fn equals_its_definition(
        pieces in vec((piece(), prop_oneof![0u64..5, Just(1 << 33), Just((1 << 32) + 1)]), 0..20),
        most in 0usize..60,
        min_frequency in 0u64..4,
        max_token_length in proptest::option::of(1usize..9),
        first_seen: bool,
        shares in 1usize..4,
    ) {
        let ties = if first_seen { Ties::FirstSeen } else { Ties::LowestIds };
        let settings = Settings { most, min_frequency, max_token_length, ties, threads: 1 };
        let mut counts = PieceCounts::new(bytes());
        let mut lent: Vec<_> = (0..shares).map(|_| counts.share()).collect();
        for (place, (piece, count)) in pieces.iter().enumerate() {
            lent[place % shares].add(piece.as_bytes(), *count, place as u64);
        }
        drop(lent);
        let mut told = 0;
        let mut tell = |done| {
            told = done;
            Ok(())
        };
        let rules = merges::merges(&mut counts, &settings, &Never, &mut tell).unwrap();
        prop_assert_eq!(told, rules.len());
        // What is repeated counts where it was first.
        let mut distinct: Vec<(String, u64)> = vec![];
        for (piece, count) in pieces.into_iter().filter(|(_, count)| *count > 0) {
            match distinct.iter_mut().find(|(known, _)| *known == piece) {
                Some((_, known)) => *known += count,
                None => distinct.push((piece, count)),
            }
        }
        prop_assert_eq!(rules, naive(&distinct, &settings));
    }
}
