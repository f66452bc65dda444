//! Pieces of a pattern that is regular, two characters a step: a table says where pieces end, with no branch on it.
//!
//! An automaton of one match says where the match ends only when it can go on no more, some characters later, and is started
//! again behind the match: each end is a wrong guess of the processor, and the characters behind it are read twice. Here one
//! finite-state transducer reads the text once. Its states are all that can be known while a match is read, which
//! nearly always tells where the match ends as soon as that is certain ([`build`]). It reads characters by their
//! classes ([`partition`]), so its table is small; and as texts are bytes, those that go on with a character are a class too, which
//! changes nothing. With AVX2 (`avx2.rs`) registers tell the classes and the states.
//!
//! Where it is stuck (nothing matches, or the match ended far back) the automaton finds that one piece.

#[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
mod avx2;
mod build;
mod partition;

use regex_automata::hybrid::dfa::DFA;

use super::Boundaries;
use super::block::{BLOCK, Window};
use super::regular::Regular;
#[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
use avx2::Avx2;
use build::Built;
use partition::{Partition, add_sets};

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

/// The classes of two characters by turns, as one number.
type Pairs = [u16; BLOCK / 2];

/// What the steps of a block say.
struct Steps {
    /// [`CUT`], a bit for each byte.
    cuts: u64,
    /// Which steps have other flags.
    others: u32,
    /// The entries of those, at least.
    entries: [u32; BLOCK / 2],
}

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
    #[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
    avx2: Option<Avx2>,
}

/// Where the transducer is in a text.
pub struct Place {
    /// All in front of this byte has been read.
    pub at: usize,
    /// The state, as the way of reading has it; 0 in front of a piece.
    state: u32,
    mark: usize,
}

impl Place {
    /// In front of a piece.
    pub fn at_start(at: usize) -> Self {
        Place { at, state: 0, mark: at }
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
        Some(Transducer {
            #[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
            avx2: Avx2::new(&partition, classes, &table),
            partition,
            classes,
            table,
            cuts,
        })
    }

    /// The same by what every processor has.
    pub fn portable(self) -> Self {
        Transducer {
            #[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
            avx2: None,
            ..self
        }
    }

    /// Reads `text` by blocks from where `place` is, and adds the ends of pieces that are certain by then, until they are enough or
    /// `place` is at byte `last`. False if it is stuck: the next piece begins at the last of them.
    #[inline]
    pub fn read(&self, text: &str, place: &mut Place, last: usize, boundaries: &mut Boundaries) -> bool {
        #[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
        if let Some(avx2) = &self.avx2 {
            return avx2.read(self, text, place, last, boundaries);
        }
        let steps = |window: &Window, state: &mut u32| self.steps(&self.pairs(window), state);
        self.read_by(steps, text, place, last, boundaries)
    }

    #[inline(always)]
    fn read_by(
        &self,
        steps: impl Fn(&Window, &mut u32) -> Steps,
        text: &str,
        place: &mut Place,
        last: usize,
        boundaries: &mut Boundaries,
    ) -> bool {
        let last = last.min(text.len());
        while !boundaries.is_enough() && place.at < last {
            let rest = &text.as_bytes()[place.at..];
            let end: Window;
            let window = match rest.first_chunk() {
                Some(window) => window,
                None => {
                    end = end_of_text(rest);
                    &end
                }
            };
            let steps = steps(window, &mut place.state);
            let at = place.at;
            place.at = (at + BLOCK).min(text.len());
            if steps.others == 0 {
                boundaries.push_mask(at, steps.cuts);
            } else if !Self::add_ends(text, at, &steps, &mut place.mark, boundaries) {
                return false;
            }
        }
        true
    }

    #[inline]
    fn pairs(&self, window: &Window) -> Pairs {
        let mut classes = [0; BLOCK];
        let mut leads = 0;
        for (offset, (class, &byte)) in classes.iter_mut().zip(window).enumerate() {
            *class = self.partition.of_byte[byte as usize];
            leads |= u64::from(byte >= 0xc0) << offset;
        }
        self.partition.put_characters(window, leads, &mut classes);
        let mut pairs = [0; BLOCK / 2];
        for (pair, &[first, second]) in pairs.iter_mut().zip(classes.as_chunks().0) {
            *pair = u16::from(first) * self.classes as u16 + u16::from(second);
        }
        pairs
    }

    /// The steps by the table, with an entry that leads to the state.
    #[inline]
    fn steps(&self, pairs: &Pairs, entry: &mut u32) -> Steps {
        let mut steps = Steps { cuts: 0, others: 0, entries: [0; BLOCK / 2] };
        let mut all = 0;
        for (step, (&pair, kept)) in pairs.iter().zip(&mut steps.entries).enumerate() {
            *entry = self.table[(*entry >> BOTH) as usize + pair as usize];
            steps.cuts |= u64::from(*entry & CUTS) << (2 * step);
            all |= *entry;
            *kept = *entry;
        }
        if all & OTHERS != 0 {
            for (step, entry) in steps.entries.iter().enumerate() {
                steps.others |= u32::from(entry & OTHERS != 0) << step;
            }
        }
        steps
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

    /// Adds the ends of pieces in the block at byte `at` that its steps tell. False if it is stuck.
    #[inline(never)]
    fn add_ends(text: &str, at: usize, steps: &Steps, mark: &mut usize, boundaries: &mut Boundaries) -> bool {
        let [stuck, back, before, marks] = steps.with([STUCK, BACK, BEFORE, MARK]);
        let read = (stuck & stuck.wrapping_neg()).wrapping_sub(1); // what is in front of the first
        let mut cuts = steps.cuts & read;
        let mut add = |end: usize| match end.checked_sub(at) {
            Some(offset) => cuts |= 1 << offset,
            None => boundaries.push(end),
        };
        let marks = marks & read;
        for offset in ones(back & read) {
            let marks = marks & ((1 << offset) - 1);
            add(marks.checked_ilog2().map_or(*mark, |last| at + last as usize));
        }
        for offset in ones(before & read) {
            let in_front = (0..at + offset).rfind(|&end| text.is_char_boundary(end));
            add(in_front.unwrap_or(0));
        }
        if let Some(last) = marks.checked_ilog2() {
            *mark = at + last as usize;
        }
        boundaries.push_mask(at, cuts);
        stuck == 0
    }
}

impl Steps {
    /// The characters that have each flag, none of them [`CUT`], a bit for each byte.
    #[inline(always)]
    fn with<const N: usize>(&self, flags: [Flags; N]) -> [u64; N] {
        let mut all = [0; N];
        for step in ones(self.others.into()) {
            for (all, flag) in all.iter_mut().zip(flags) {
                *all |= u64::from(self.entries[step] >> spread(flag).trailing_zeros() & 3) << (2 * step);
            }
        }
        all
    }
}

/// Which bits are set.
#[inline(always)]
fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (first < 64).then_some(first)
    })
}

/// Past the end are bytes that go on with a character, which changes nothing.
#[cold]
fn end_of_text(rest: &[u8]) -> Window {
    let mut window = [0x80; BLOCK + 3];
    window[..rest.len()].copy_from_slice(rest);
    window
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
