//! Pieces of a pattern that is regular, two characters a step: a table says where pieces end, with no branch on it.
//!
//! An automaton of one match says where the match ends only when it can go on no more, some characters later, and is started
//! again behind the match: each end is a wrong guess of the processor, and the characters behind it are read twice. Here one
//! finite-state transducer reads the text once. Its states are all that can be known while a match is read, which
//! nearly always tells where the match ends as soon as that is certain ([`build`]). It reads characters by their
//! classes ([`partition`]), so its table is small; and as texts are bytes, those that go on with a character are a class too, which
//! changes nothing.
//!
//! Where it is stuck (nothing matches, or the match ended far back) the automaton finds that one piece.

mod build;
mod partition;

use regex_automata::hybrid::dfa::DFA;

use super::Boundaries;
use super::regular::Regular;
use build::Built;
use partition::{CONTINUATION, Partition, add_sets};

/// What a step says of the text, for each of its characters.
type Flags = u32;

/// A piece ends before the character.
const CUT: Flags = 1;
/// A piece ends before the character in front of it.
const BEFORE: Flags = 1 << 1;
/// A piece ends at the last mark.
const BACK: Flags = 1 << 2;
/// A mark before the character.
const MARK: Flags = 1 << 3;
/// Where the piece ends, if it does, the transducer cannot tell.
const STUCK: Flags = 1 << 4;
const FLAGS: u32 = 5;

/// Of two characters, a bit of each by turns.
const BOTH: u32 = 2 * FLAGS;
const CUTS: u32 = spread(CUT) * 3;
const OTHERS: u32 = ((1 << BOTH) - 1) & !CUTS;

const BLOCK: usize = 64;

type Entries = [u32; BLOCK / 2];

/// Entries of the table: a megabyte.
const MOST_ENTRIES: usize = 1 << 18;

pub struct Transducer {
    partition: Partition,
    /// How many classes there are.
    classes: usize,
    /// By state and the classes of two characters: the flags, and above them where the next state's entries begin.
    table: Vec<u32>,
    /// By the classes of two characters: whether a text can be cut between them.
    cuts: Vec<bool>,
}

/// Where the transducer is in a text.
pub struct Place {
    /// All in front of this byte has been read.
    pub at: usize,
    /// An entry of the table that leads to its state.
    entry: u32,
    mark: usize,
}

impl Place {
    /// In front of a piece.
    pub fn at_start(at: usize) -> Self {
        Place { at, entry: 0, mark: at }
    }
}

impl Transducer {
    /// Of an automaton of the same pattern that asks for nothing around a text. `None` if it would be large.
    pub fn new(Regular { front, has_ending }: &Regular, dfa: &DFA) -> Option<Self> {
        let mut sets = Vec::new();
        for pattern in [front.as_str(), if *has_ending { r"\s" } else { "" }] {
            if !add_sets(&regex_syntax::parse(pattern).ok()?, &mut sets) {
                return None;
            }
        }
        let mut partition = Partition::of(&sets)?;
        let Built { steps, always_matches } = build::build(dfa, *has_ending, &partition)?;
        let (columns, numbers) = columns(&steps);
        partition.renumber(&numbers);
        let classes = columns.len();
        let entries = steps.len() * classes * classes;
        if entries > MOST_ENTRIES {
            return None;
        }
        let of_state = (classes * classes) as u32;
        let mut table = Vec::with_capacity(entries);
        for state in 0..steps.len() {
            for first in &columns {
                let (flags, between) = first[state];
                for second in &columns {
                    let (flags_of_second, next) = second[between as usize];
                    let flags = spread(flags) | spread(flags_of_second) << 1;
                    table.push((next * of_state) << BOTH | flags);
                }
            }
        }
        let cuts = if always_matches { cuts(&columns) } else { Vec::new() };
        Some(Transducer { partition, classes, table, cuts })
    }

    /// Reads a block of `text` from where `place` is, and adds the ends of pieces that are certain by then. False if it is stuck:
    /// the next piece begins at the last of them.
    #[inline]
    pub fn read(&self, text: &str, place: &mut Place, boundaries: &mut Boundaries) -> bool {
        let classes = self.classes_of_block(text, place.at);
        let mut entry = place.entry;
        let (mut cuts, mut all) = (0, 0);
        let mut entries: Entries = [0; BLOCK / 2];
        for (step, (&[first, second], kept)) in classes.as_chunks().0.iter().zip(&mut entries).enumerate() {
            let pair = first as usize * self.classes + second as usize;
            entry = self.table[(entry >> BOTH) as usize + pair];
            cuts |= u64::from(entry & CUTS) << (2 * step);
            all |= entry;
            *kept = entry;
        }
        place.entry = entry;
        let at = place.at;
        place.at = (at + BLOCK).min(text.len());
        if all & OTHERS == 0 {
            boundaries.push_mask(at, cuts);
            return true;
        }
        Self::add_ends(text, at, cuts, &entries, &mut place.mark, boundaries)
    }

    /// The first place at or after byte `near` where the text can be cut: its pieces are those of the two parts, whatever lies around
    /// the text.
    pub fn safe_cut(&self, text: &str, near: usize) -> Option<usize> {
        if self.cuts.is_empty() {
            return None;
        }
        let first = (near.max(1)..text.len()).find(|&at| text.is_char_boundary(at))?;
        let mut before = self.partition.class(text[..first].chars().next_back()?);
        for (offset, character) in text[first..].char_indices() {
            let class = self.partition.class(character);
            if self.cuts[before as usize * self.classes + class as usize] {
                return Some(first + offset);
            }
            before = class;
        }
        None
    }

    #[inline]
    fn classes_of_block(&self, text: &str, at: usize) -> [u8; BLOCK] {
        let rest = &text.as_bytes()[at..];
        let mut classes = [CONTINUATION; BLOCK];
        let mut is_ascii = true;
        for (class, &byte) in classes.iter_mut().zip(rest) {
            *class = self.partition.of_byte[byte as usize];
            is_ascii &= byte < 0x80;
        }
        if !is_ascii {
            for (offset, class) in classes.iter_mut().enumerate().take(rest.len()) {
                if rest[offset] >= 0xc0 {
                    *class = text[at + offset..].chars().next().map_or(CONTINUATION, |c| self.partition.class(c));
                }
            }
        }
        classes
    }

    /// Adds the ends of pieces in a block at byte `at`, by the entries that the transducer came by: those of `cuts`, a bit a
    /// byte, and what other flags say. False if it is stuck.
    #[inline(never)]
    fn add_ends(
        text: &str,
        at: usize,
        mut cuts: u64,
        entries: &Entries,
        mark: &mut usize,
        boundaries: &mut Boundaries,
    ) -> bool {
        let mut add = |cuts: &mut u64, end: usize| match end.checked_sub(at) {
            Some(offset) => *cuts |= 1 << offset,
            None => boundaries.push(end),
        };
        for (offset, flags) in with_others(entries) {
            let has = |flag| flags & spread(flag) != 0;
            if has(STUCK) {
                boundaries.push_mask(at, cuts & ((1 << offset) - 1));
                return false;
            }
            if has(BACK) {
                add(&mut cuts, *mark);
            }
            if has(BEFORE) {
                let in_front = (0..at + offset).rfind(|&end| text.is_char_boundary(end));
                add(&mut cuts, in_front.unwrap_or(0));
            }
            if has(MARK) {
                *mark = at + offset;
            }
        }
        boundaries.push_mask(at, cuts);
        true
    }
}

/// The characters that have other flags than [`CUT`]: where in the block, and the flags.
fn with_others(entries: &Entries) -> impl Iterator<Item = (usize, u32)> {
    let mut steps: u32 = 0;
    for (step, entry) in entries.iter().enumerate() {
        steps |= u32::from(entry & OTHERS != 0) << step;
    }
    std::iter::from_fn(move || {
        let step = steps.trailing_zeros() as usize;
        steps &= steps.wrapping_sub(1);
        entries.get(step).map(|entry| [(2 * step, *entry), (2 * step + 1, entry >> 1)])
    })
    .flatten()
}

/// Bit n to bit 2n.
const fn spread(flags: Flags) -> u32 {
    let (mut bit, mut all) = (0, 0);
    while bit < FLAGS {
        all |= (flags >> bit & 1) << (2 * bit);
        bit += 1;
    }
    all
}

/// By the classes of two characters: whether a text can be cut between them, if something always matches.
///
/// Whatever match is being read when the first character is read, the second must end it right there. Then the part in front has the same
/// pieces, because what reads them sees no character of the other, and it may end where it does at the end of a text too; and what is behind
/// begins with a piece.
fn cuts(columns: &[Column]) -> Vec<bool> {
    let pairs = columns.iter().flat_map(|first| columns.iter().map(move |second| (first, second)));
    let may_cut = |(first, second): (&Column, &Column)| {
        let mut between =
            first.iter().filter(|(flags, _)| flags & STUCK == 0).map(|&(_, next)| second[next as usize].0);
        between.all(|flags| flags == CUT)
    };
    pairs.map(may_cut).collect()
}

/// What follows each state for one class.
type Column = Vec<(Flags, u32)>;

/// The steps by class and state, of classes that differ; and of each class, which that is.
fn columns(steps: &build::Steps) -> (Vec<Column>, Vec<u8>) {
    let mut columns: Vec<Column> = Vec::new();
    let numbers = (0..steps[0].len()).map(|class| {
        let column: Vec<_> = steps.iter().map(|of_state| of_state[class]).collect();
        let known = columns.iter().position(|known| *known == column);
        known.unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        }) as u8
    });
    let numbers = numbers.collect();
    (columns, numbers)
}
