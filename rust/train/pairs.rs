//! Numbers for pairs, and sums over them: of all pairs at the start, and of a symbol and its neighbours in a merge.

use hashbrown::HashMap;

use super::pieces::{PairNumber, Piece};
use crate::encoding::TokenId;

/// The pairs that pieces begin with.
pub struct First {
    numbers: Numbers,
    pub pairs: Vec<FirstPair>,
    pub counts: Vec<u64>,
}

pub struct FirstPair {
    pub left: TokenId,
    pub right: TokenId,
    /// How many pieces have it.
    pub pieces: u32,
    /// The last of them.
    last: u32,
}

/// Numbers of pairs, plus 1. A square of all ids while there are few: then each look-up is one visit.
enum Numbers {
    Square(Vec<u32>, usize),
    Map(HashMap<(TokenId, TokenId), u32>),
}

const LARGEST_SQUARE: usize = 1 << 10;

impl First {
    /// `size` is above all ids.
    pub fn new(size: usize) -> Self {
        let numbers = match size {
            ..=LARGEST_SQUARE => Numbers::Square(vec![0; size * size], size),
            _ => Numbers::Map(HashMap::new()),
        };
        First { numbers, pairs: Vec::new(), counts: Vec::new() }
    }

    /// Counts and numbers the pairs of a piece.
    pub fn count(&mut self, mut piece: Piece<'_>, place: u32) {
        let mut left = piece.get(0);
        for at in 1..piece.len() {
            let right = piece.get(at);
            let number = match &mut self.numbers {
                Numbers::Square(square, size) => &mut square[left.id as usize * *size + right.id as usize],
                Numbers::Map(map) => map.entry((left.id, right.id)).or_default(),
            };
            if *number == 0 {
                self.pairs.push(FirstPair { left: left.id, right: right.id, pieces: 0, last: u32::MAX });
                self.counts.push(0);
                *number = self.pairs.len() as u32;
            }
            left.pair = *number - 1;
            let (pair, count) = (&mut self.pairs[left.pair as usize], &mut self.counts[left.pair as usize]);
            *count = count.saturating_add(piece.count);
            if pair.last != place {
                (pair.last, pair.pieces) = (place, pair.pieces + 1);
            }
            piece.set(at - 1, left);
            left = right;
        }
    }
}

/// The symbols on one side of the places where a pair is merged.
#[derive(Default)]
pub struct Neighbours {
    /// By id, the number in `met` plus 1.
    numbers: Vec<u32>,
    pub met: Vec<Neighbour>,
}

pub struct Neighbour {
    pub id: TokenId,
    /// The pair of it and the merged symbol next to it.
    pub old: PairNumber,
    /// The pair of it and the new symbol.
    pub new: PairNumber,
    /// How often the one became the other.
    pub count: u64,
    /// How many pieces of the list have it, and the last of them.
    pub pieces: u32,
    pub last: u32,
    /// Where the next of them goes, if they are listed.
    pub end: Option<u32>,
}

impl Neighbours {
    /// For ids below `size`.
    pub fn make_room(&mut self, size: usize) {
        self.numbers.resize(size, 0);
    }

    /// The neighbour with an id, which is new if it was not met before; then `new` is asked for the number of its pair.
    #[inline(always)]
    pub fn meet(&mut self, id: TokenId, old: PairNumber, new: impl FnOnce() -> PairNumber) -> (u32, &mut Neighbour) {
        let number = &mut self.numbers[id as usize];
        if *number == 0 {
            self.met.push(Neighbour { id, old, new: new(), count: 0, pieces: 0, last: u32::MAX, end: None });
            *number = self.met.len() as u32;
        }
        let at = *number - 1;
        (at, &mut self.met[at as usize])
    }

    pub fn forget(&mut self) {
        for neighbour in self.met.drain(..) {
            self.numbers[neighbour.id as usize] = 0;
        }
    }
}
