//! From the automaton of one match to the transducer of a text: all that can be known of a match while it is read.
//!
//! A [`Run`] is that. Each character leads from one to another, of which there are few; those that say the same of
//! every text that may follow are joined at the end.

use hashbrown::HashMap;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, Input};

use super::partition::{CONTINUATION, Partition};
use super::{BACK, BEFORE, CUT, Flags, MARK, STUCK};

/// Patterns in use have some thousands.
const MOST_STEPS: usize = 1 << 16;

/// What follows a state of the transducer for each class: flags, and the next state. State 0 is that in front of a match.
pub type Steps = Vec<Vec<(Flags, u32)>>;

pub struct Built {
    pub steps: Steps,
    /// Whether a match begins wherever one ends, in any text, unless the text ends first.
    pub always_matches: bool,
}

/// A match that is being read.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Run {
    state: LazyStateID,
    /// In characters; 2 says two or more.
    length: u8,
    /// Whether it may end here, or might have ended before.
    is_match: bool,
    behind: Behind,
}

/// What was read behind the last place where the match may end. A run that begins there, if that is known and cuts
/// nothing off, is where the transducer goes on when the match does end there.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Behind {
    Nothing,
    OneCharacter(Option<Box<Run>>),
    /// The place is that of the last mark.
    More(Option<Box<Run>>),
}

enum Match {
    /// None ends here.
    No,
    Yes,
    /// By the ending `\s+`, which gives a character back.
    Ending,
}

struct Builder<'a> {
    dfa: &'a DFA,
    cache: Cache,
    has_ending: bool,
    representatives: &'a [char],
    start: Run,
    always_matches: bool,
}

/// `None` if there are too many states.
pub fn build(dfa: &DFA, has_ending: bool, partition: &Partition) -> Option<Built> {
    let mut cache = dfa.create_cache();
    let state = dfa.start_state_forward(&mut cache, &Input::new("").anchored(Anchored::Yes)).ok()?;
    let start = Run { state, length: 0, is_match: false, behind: Behind::Nothing };
    let representatives = &partition.representatives;
    let mut builder = Builder { dfa, cache, has_ending, representatives, start: start.clone(), always_matches: true };

    let mut numbers = HashMap::new();
    numbers.insert(start.clone(), 0);
    let (mut runs, mut steps) = (vec![start], Steps::new());
    while let Some(run) = runs.get(steps.len()).cloned() {
        let mut of_run = vec![(0, steps.len() as u32)]; // CONTINUATION
        for class in CONTINUATION + 1..=representatives.len() as u8 {
            let (flags, next) = builder.step(&run, class)?;
            let number = match next {
                None => 0,
                Some(next) => *numbers.entry(next).or_insert_with_key(|next| {
                    runs.push(next.clone());
                    (runs.len() - 1) as u32
                }),
            };
            of_run.push((flags, number));
        }
        steps.push(of_run);
        if runs.len() * steps[0].len() > MOST_STEPS || builder.cache.clear_count() > 0 {
            return None;
        }
    }
    Some(Built { steps: joined(steps), always_matches: builder.always_matches })
}

impl Builder<'_> {
    /// What a character of `class` makes of `run`, with what that says of the text. No run: the transducer is stuck, and says so.
    /// `None` if the automaton cannot tell.
    fn step(&mut self, run: &Run, class: u8) -> Option<(Flags, Option<Run>)> {
        let Some((state, found)) = self.read(run.state, class)? else { return self.end(run, class) };
        let length = (run.length + 1).min(2);
        let is_match = run.is_match || !matches!(found, Match::No);
        let (flags, behind) = match (found, &run.behind) {
            (Match::Yes, _) => (0, Behind::Nothing),
            (Match::Ending, _) if length == 1 => (0, Behind::Nothing),
            (Match::Ending, _) => (MARK, Behind::OneCharacter(self.begin(class)?)),
            (Match::No, _) if !is_match => (0, Behind::Nothing),
            (Match::No, Behind::Nothing) => (MARK, Behind::OneCharacter(self.begin(class)?)),
            (Match::No, Behind::OneCharacter(behind) | Behind::More(behind)) => {
                let behind = match behind {
                    Some(behind) => self.step(behind, class)?,
                    None => (STUCK, None),
                };
                (0, Behind::More(uncut(behind)))
            }
        };
        Some((flags, Some(Run { state, length, is_match, behind })))
    }

    /// The same where no match goes on with the character: it ends at the last place where it may.
    fn end(&mut self, run: &Run, class: u8) -> Option<(Flags, Option<Run>)> {
        self.always_matches &= run.is_match;
        let start = self.start.clone();
        let (end, behind) = match &run.behind {
            _ if !run.is_match => (STUCK, None),
            Behind::Nothing => (CUT, Some(&start)),
            Behind::OneCharacter(behind) => (BEFORE, behind.as_deref()),
            Behind::More(behind) => (BACK, behind.as_deref()),
        };
        let Some(behind) = behind else { return Some((STUCK, None)) };
        let (flags, mut next) = self.step(behind, class)?;
        if let Some(Run { behind: Behind::More(behind), .. }) = &mut next {
            *behind = None; // it was not marked
        }
        Some((end | flags, next))
    }

    /// The run of one character.
    fn begin(&mut self, class: u8) -> Option<Option<Box<Run>>> {
        let start = self.start.clone();
        self.step(&start, class).map(uncut)
    }

    /// The automaton's state behind the character, and the match that ends there; no state if no match goes on.
    fn read(&mut self, mut state: LazyStateID, class: u8) -> Option<Option<(LazyStateID, Match)>> {
        let character = self.representatives[class as usize - 1];
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            state = self.dfa.next_state(&mut self.cache, state, byte).ok()?;
            if state.is_dead() {
                return Some(None);
            }
        }
        let end = self.dfa.next_eoi_state(&mut self.cache, state).ok()?;
        let found = match end.is_match() {
            false if self.is_last(state)? => return Some(None),
            false => Match::No,
            true if self.has_ending && self.dfa.match_pattern(&self.cache, end, 0).as_usize() == 1 => Match::Ending,
            true => Match::Yes,
        };
        Some(Some((state, found)))
    }

    /// Whether the state only says that a match ended before the last byte, as the automaton's states do one byte late.
    fn is_last(&mut self, state: LazyStateID) -> Option<bool> {
        for byte in 0..=u8::MAX {
            if !self.dfa.next_state(&mut self.cache, state, byte).ok()?.is_dead() {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// The run that a step led to, if the step cut nothing off and the run's own mark is not needed.
fn uncut((flags, run): (Flags, Option<Run>)) -> Option<Box<Run>> {
    let run = run.filter(|run| flags & !MARK == 0 && !matches!(run.behind, Behind::More(_)));
    run.map(Box::new)
}

/// The same with states joined that no text tells apart (Moore 1956): those that differ are parted until none are left.
fn joined(steps: Steps) -> Steps {
    let mut group = vec![0; steps.len()];
    let mut count = 0;
    loop {
        let mut numbers = HashMap::new();
        let mut first = Vec::new();
        let next = (0..steps.len())
            .map(|state| {
                let of_state = steps[state].iter().map(|&(flags, next)| (flags, group[next as usize]));
                *numbers.entry((group[state], of_state.collect::<Vec<_>>())).or_insert_with(|| {
                    first.push(state);
                    (first.len() - 1) as u32
                })
            })
            .collect();
        group = next;
        if first.len() == count {
            let of_group = |&state: &usize| steps[state].iter().map(|&(flags, next)| (flags, group[next as usize]));
            return first.iter().map(|state| of_group(state).collect()).collect();
        }
        count = first.len();
    }
}
