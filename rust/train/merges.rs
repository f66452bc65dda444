//! Counted pieces -> merge rules.
//!
//! **What is kept.** For each pair that occurs, how often, exactly; for each that may be merged, a list of the pieces that it was
//! seen in (it may have gone from some since) and a place in a queue under the count that it had then. Counts only fall: a pair
//! is made when the younger of its two symbols is, and in no later merge. So the front of the queue, if its count is still the one
//! it stands under, is the most frequent pair; otherwise it goes back with its count of now. A pair that is too rare when it is
//! made never enters, and its number is given to another.
//!
//! **A merge** visits the pieces of its pair's list. The counts that it changes are of the pairs of the two symbols, and of the new
//! one, with a neighbour: they are summed by neighbour (`pairs.rs`), so that the counts of pairs, which lie far apart, are
//! visited once a neighbour and not once a place.
//!
//! **Each token is made by one rule.** *Say that a token's bytes lie somewhere, and nothing merged across their ends before the rule
//! that makes it was learned. Then the same rules were applied to them in the same order as anywhere, so they were the two symbols of
//! that rule everywhere, and were merged.* So a new symbol is in no pair yet, and pairs need no look-up: they are numbered as
//! they are made, and a symbol in a piece has its pair's number beside it.

use std::sync::Arc;

use super::counts::PieceCounts;
use super::pairs::{First, FirstPair, Neighbour, Neighbours};
use super::pieces::{NO_PAIR, PairNumber, Pieces, Symbol};
use super::queue::{Candidate, Queue, Ranked};
use super::{Settings, Ties};
use crate::encoding::{Encoding, Rules, TokenId};
use crate::error::{Error, Result, show_bytes};
use crate::interrupt::Interrupt;
use crate::merge::Merger;

/// Pieces that are visited between two looks for an interrupt.
const PIECES_BETWEEN_CHECKS: usize = 1 << 12;

/// How far ahead in a list pieces are sent for.
const AHEAD: usize = 12;

/// The rules that are learned from counts, (left id, right id) each; they make the ids from the encoding's size on. The counts
/// are used up, since memory is most wanted when the queue fills. `progress` is told how many there are, after each.
pub fn merges(
    counts: &mut PieceCounts,
    settings: &Settings,
    interrupt: &dyn Interrupt,
    progress: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<(TokenId, TokenId)>> {
    let encoding = Arc::clone(counts.encoding());
    let pieces = pieces(counts, settings, interrupt)?;
    let mut merging = Merging::new(&encoding, pieces, settings)?;
    let mut rules = Vec::new();
    while rules.len() < settings.most
        && let Some(pair) = merging.most_frequent()
    {
        let token = [merging.token(pair.left), merging.token(pair.right)].concat();
        if let Some(id) = encoding.vocabulary().id(&token) {
            let token = show_bytes(&token);
            return Err(Error::Training(format!(
                "the token {token} would be learned, but the tokenizer has it already, with the id {id}, and its rules do not reach it"
            )));
        }
        rules.push((pair.left, pair.right));
        merging.merge(pair, token, interrupt)?;
        interrupt.check()?;
        progress(rules.len())?;
    }
    Ok(rules)
}

/// The symbols of each piece that has a pair.
fn pieces(counts: &mut PieceCounts, settings: &Settings, interrupt: &dyn Interrupt) -> Result<Pieces> {
    let encoding = Arc::clone(counts.encoding());
    let has_rules = !matches!(encoding.rules(), Rules::Pairs(rules) if rules.is_empty());
    let (mut pieces, mut merger, mut visited) = (Pieces::default(), Merger::default(), 0);
    let visit = |piece: &[u8], count, _| {
        visited += 1;
        if visited % PIECES_BETWEEN_CHECKS == 0 {
            interrupt.check()?;
        }
        if has_rules {
            let ids = merger.merge(encoding.pairs(), piece, interrupt)?;
            if ids.len() > 1 { pieces.push(count, ids.iter().copied()) } else { Ok(()) }
        } else if piece.len() > 1 {
            pieces.push(count, piece.iter().map(|&byte| encoding.byte_ids()[byte as usize]))
        } else {
            Ok(())
        }
    };
    let counted = std::mem::take(counts.all());
    match settings.ties {
        Ties::LowestIds => counted.each(visit)?,
        Ties::FirstSeen => counted.each_in_order(visit)?,
    }
    drop(counted);
    Ok(pieces)
}

struct Merging<'e> {
    settings: &'e Settings,
    encoding: &'e Encoding,
    pieces: Pieces,
    /// How often each pair occurs now.
    counts: Vec<u64>,
    /// Numbers of pairs that no piece has.
    unused: Vec<PairNumber>,
    queue: Queue,
    /// Places of pieces.
    lists: Vec<u32>,
    /// Bytes of each token, by id.
    lengths: Vec<u32>,
    /// Those learned.
    tokens: Vec<Vec<u8>>,
    left: Neighbours,
    right: Neighbours,
    /// Neighbours, by their number and side, and the places of pieces where they were met.
    met: Vec<(u32, u32)>,
}

/// By which equally frequent pairs are told apart.
fn tie(settings: &Settings, lists: &[u32], candidate: &Candidate) -> u64 {
    match settings.ties {
        Ties::LowestIds => (candidate.left as u64) << 32 | candidate.right as u64,
        // Not before the first of its pieces; which symbols it are is found out when that matters.
        Ties::FirstSeen => (lists[candidate.start as usize] as u64) << 32,
    }
}

/// In `met`: to the right.
const RIGHT: u32 = 1 << 31;

impl<'e> Merging<'e> {
    fn new(encoding: &'e Encoding, mut pieces: Pieces, settings: &'e Settings) -> Result<Self> {
        let size = encoding.vocabulary().size();
        let length = |id| encoding.vocabulary().token_bytes(id).map_or(0, <[u8]>::len) as u32;
        let mut first = First::new(size);
        let mut at = 0;
        while let Some(place) = pieces.next(&mut at) {
            first.count(pieces.at(place), place);
        }
        let mut merging = Merging {
            settings,
            encoding,
            pieces,
            counts: first.counts,
            unused: Vec::new(),
            queue: Queue::new(settings.min_frequency),
            lists: Vec::new(),
            lengths: (0..size as TokenId).map(length).collect(),
            tokens: Vec::new(),
            left: Neighbours::default(),
            right: Neighbours::default(),
            met: Vec::new(),
        };
        merging.queue_first(&first.pairs)?;
        Ok(merging)
    }

    /// Puts the pairs that pieces begin with into the queue.
    fn queue_first(&mut self, pairs: &[FirstPair]) -> Result<()> {
        let mut candidates = Vec::new();
        // Where the next piece of each pair's list goes, and where its last was.
        let mut ends: Vec<Option<(u32, u32)>> = vec![None; pairs.len()];
        for (number, pair) in pairs.iter().enumerate() {
            if self.may_queue(self.counts[number], pair.left, pair.right) {
                let candidate = self.candidate(number as PairNumber, pair.left, pair.right, pair.pieces)?;
                ends[number] = Some((candidate.start, u32::MAX));
                candidates.push(candidate);
            }
        }
        let mut at = 0;
        while let Some(place) = self.pieces.next(&mut at) {
            let piece = self.pieces.at(place);
            for at in 0..piece.len() - 1 {
                if let Some((end, last)) = &mut ends[piece.get(at).pair as usize]
                    && *last != place
                {
                    self.lists[*end as usize] = place;
                    (*end, *last) = (*end + 1, place);
                }
            }
        }
        candidates.into_iter().for_each(|candidate| self.queue(candidate));
        Ok(())
    }

    fn may_queue(&self, count: u64, left: TokenId, right: TokenId) -> bool {
        count >= self.settings.min_frequency.max(1) && self.may_merge(left, right)
    }

    fn may_merge(&self, left: TokenId, right: TokenId) -> bool {
        let length = (self.lengths[left as usize] + self.lengths[right as usize]) as usize;
        self.settings.max_token_length.is_none_or(|most| length == 2 || length < most)
    }

    /// With room for its list.
    fn candidate(&mut self, pair: PairNumber, left: TokenId, right: TokenId, length: u32) -> Result<Candidate> {
        let start = self.lists.len();
        if start + length as usize > u32::MAX as usize {
            let message = "the corpus has too many pairs in distinct pieces; max_memory prunes the rarest";
            return Err(Error::Training(message.to_owned()));
        }
        self.lists.resize(start + length as usize, 0);
        Ok(Candidate { pair, left, right, start: start as u32, length })
    }

    /// Once its list is written.
    fn queue(&mut self, candidate: Candidate) {
        let (count, tie) = (self.counts[candidate.pair as usize], tie(self.settings, &self.lists, &candidate));
        self.queue.push(Ranked { count, tie, candidate });
    }

    /// Where in the corpus a pair comes first: the place of the piece, and the byte in it. Merges do not change it, but for those
    /// that take the first away.
    fn first_place(&mut self, candidate: &Candidate) -> u64 {
        let list = candidate.start as usize..(candidate.start + candidate.length) as usize;
        for &place in &self.lists[list] {
            let piece = self.pieces.at(place);
            if let Some(at) = piece.find(candidate.pair) {
                let byte: u64 = (0..at).map(|at| self.lengths[piece.get(at).id as usize] as u64).sum();
                return (place as u64) << 32 | byte;
            }
        }
        u64::MAX
    }

    /// Takes the next pair to merge from the queue.
    fn most_frequent(&mut self) -> Option<Candidate> {
        loop {
            let least_tie = |candidate: &Candidate| tie(self.settings, &self.lists, candidate);
            let Ranked { count, tie, candidate } = self.queue.pop(&self.counts, least_tie)?;
            if self.settings.ties == Ties::LowestIds {
                return Some(candidate);
            }
            let first = self.first_place(&candidate);
            if first == tie {
                return Some(candidate);
            }
            self.queue.push(Ranked { count, tie: first, candidate });
        }
    }

    fn token(&self, id: TokenId) -> &[u8] {
        let known = self.encoding.vocabulary().size();
        match (id as usize).checked_sub(known) {
            Some(new) => &self.tokens[new],
            None => self.encoding.vocabulary().token_bytes(id).unwrap_or_default(),
        }
    }

    /// Merges a pair, which makes `token`, wherever it is.
    fn merge(&mut self, pair: Candidate, token: Vec<u8>, interrupt: &dyn Interrupt) -> Result<()> {
        let new = self.lengths.len() as TokenId;
        self.lengths.push(token.len() as u32);
        self.tokens.push(token);
        self.left.make_room(self.lengths.len());
        self.right.make_room(self.lengths.len());
        let list = pair.start as usize..(pair.start + pair.length) as usize;
        for at in list.clone() {
            if at % PIECES_BETWEEN_CHECKS == 0 {
                interrupt.check()?;
            }
            if at + AHEAD < list.end {
                self.pieces.send_for(self.lists[at + AHEAD]);
            }
            self.merge_in(self.lists[at], &pair, new);
        }
        self.settle(new)
    }

    /// Merges a pair in one piece.
    #[inline(always)]
    fn merge_in(&mut self, place: u32, merged: &Candidate, new: TokenId) {
        let Merging { pieces, left, right, met, counts, unused, .. } = self;
        let mut piece = pieces.at(place);
        let Some(mut from) = piece.find(merged.pair) else { return };
        let (count, length) = (piece.count, piece.len());
        let mut to = from;
        let mut number = || {
            unused.pop().unwrap_or_else(|| {
                counts.push(0);
                counts.len() as PairNumber - 1
            })
        };
        let mut note = |side, (at, neighbour): (u32, &mut Neighbour)| {
            neighbour.count += count;
            if neighbour.last != place {
                (neighbour.last, neighbour.pieces) = (place, neighbour.pieces + 1);
                met.push((at | side, place));
            }
            neighbour.new
        };
        while from < length {
            let symbol = piece.get(from);
            if symbol.pair != merged.pair {
                piece.set(to, symbol);
                (from, to) = (from + 1, to + 1);
                continue;
            }
            if to > 0 {
                // Perhaps the new symbol, just made.
                let before = piece.get(to - 1);
                let pair = note(0, left.meet(before.id, before.pair, &mut number));
                piece.set(to - 1, Symbol { id: before.id, pair });
            }
            let old = piece.get(from + 1).pair;
            let mut pair = NO_PAIR;
            if from + 2 < length {
                pair = note(RIGHT, right.meet(piece.get(from + 2).id, old, &mut number));
            }
            piece.set(to, Symbol { id: new, pair });
            (from, to) = (from + 2, to + 1);
        }
        piece.shorten(to);
    }

    /// After a merge: counts what went and what came, and queues the new pairs.
    fn settle(&mut self, new: TokenId) -> Result<()> {
        for neighbour in self.left.met.iter().chain(&self.right.met) {
            self.counts[neighbour.new as usize] = neighbour.count;
        }
        // The one that went may be one that came.
        for neighbour in self.left.met.iter().chain(&self.right.met) {
            if let Some(count) = self.counts.get_mut(neighbour.old as usize) {
                *count = count.wrapping_sub(neighbour.count);
            }
        }
        let mut candidates = Vec::new();
        for right_side in [false, true] {
            for at in 0..self.side(right_side).met.len() {
                let Neighbour { id, new: pair, pieces, .. } = self.side(right_side).met[at];
                let (left, right) = if right_side { (new, id) } else { (id, new) };
                if self.may_queue(self.counts[pair as usize], left, right) {
                    let candidate = self.candidate(pair, left, right, pieces)?;
                    self.side(right_side).met[at].end = Some(candidate.start);
                    candidates.push(candidate);
                } else {
                    self.unused.push(pair);
                }
            }
        }
        for (neighbour, place) in self.met.drain(..) {
            let met = if neighbour & RIGHT == 0 { &mut self.left.met } else { &mut self.right.met };
            let neighbour = &mut met[(neighbour & !RIGHT) as usize];
            if let Some(end) = &mut neighbour.end {
                self.lists[*end as usize] = place;
                *end += 1;
            } else {
                self.pieces.at(place).forget(neighbour.new);
            }
        }
        candidates.into_iter().for_each(|candidate| self.queue(candidate));
        self.left.forget();
        self.right.forget();
        Ok(())
    }

    fn side(&mut self, right: bool) -> &mut Neighbours {
        if right { &mut self.right } else { &mut self.left }
    }
}
