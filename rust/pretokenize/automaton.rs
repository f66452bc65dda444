//! The matches of a pattern's regular part: a deterministic automaton that is built as texts need its states.
//!
//! It is anchored: a match begins where the one before ended, as nearly all do with the patterns in use. Where nothing
//! matches, the caller searches by other means. One step a byte; a match may look at all of the text (`a+b|a`), and what is
//! built takes [`CAPACITY`] bytes for each thread that is at it, after which it begins anew.

use std::panic::{RefUnwindSafe, UnwindSafe};

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::look::Look;
use regex_automata::util::pool::{Pool, PoolGuard};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::regular::Regular;
use super::transducer::Transducer;

/// Enough for all states of the patterns in use over text of many scripts.
const CAPACITY: usize = 8 << 20;

type NewCache = Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>;

pub struct Automaton {
    dfa: DFA,
    caches: Pool<Cache, NewCache>,
    has_ending: bool,
    transducer: Option<Transducer>,
}

/// The states that one thread builds.
pub struct Walk<'a> {
    automaton: &'a Automaton,
    cache: PoolGuard<'a, Cache, NewCache>,
    /// The state at the start of a match, where that is always the same, and how often the cache had been cleared by then.
    start: Option<(LazyStateID, usize)>,
}

impl Automaton {
    pub fn new(regular: &Regular) -> Option<Self> {
        let Regular { front, has_ending } = regular;
        let patterns: &[&str] = if *has_ending { &[front, r"\s+"] } else { &[front] };
        let config =
            DFA::config().match_kind(MatchKind::LeftmostFirst).cache_capacity(CAPACITY).skip_cache_capacity_check(true);
        let syntax = syntax::Config::new().utf8(true);
        let dfa = DFA::builder().configure(config).syntax(syntax).build_many(patterns).ok()?;
        let for_caches = dfa.clone();
        let caches = Pool::new(Box::new(move || for_caches.create_cache()) as NewCache);
        let transducer = if dfa.get_nfa().look_set_any().is_empty() { Transducer::new(regular, &dfa) } else { None };
        Some(Automaton { dfa, caches, has_ending: *has_ending, transducer })
    }

    pub fn portable(self) -> Self {
        Automaton { transducer: self.transducer.map(Transducer::portable), ..self }
    }

    pub fn transducer(&self) -> Option<&Transducer> {
        self.transducer.as_ref()
    }

    pub fn walk(&self) -> Walk<'_> {
        Walk { automaton: self, cache: self.caches.get(), start: None }
    }
}

impl Walk<'_> {
    /// The end of the match that begins at byte `from`, if one does. (Or `None`, if the automaton cannot tell.)
    pub fn match_end(&mut self, text: &str, from: usize) -> Option<usize> {
        // Once more if what was found is gone.
        for _ in 0..2 {
            let clears = self.cache.clear_count();
            let (end, state) = self.furthest(text, from)?;
            let gives_back = self.automaton.has_ending
                && end < text.len()
                && text[from..end].starts_with(char::is_whitespace)
                && text[from..end].ends_with(char::is_whitespace);
            if !gives_back {
                return Some(end);
            }
            // Which of the two patterns matched, the state says, if it is still there.
            if self.cache.clear_count() != clears {
                continue;
            }
            if self.automaton.dfa.match_pattern(&self.cache, state, 0).as_usize() == 0 {
                return Some(end);
            }
            let last = text[from..end].chars().next_back().map_or(0, char::len_utf8);
            return Some(if last == end - from { end } else { end - last });
        }
        None
    }

    /// The end of the match and the state there.
    fn furthest(&mut self, text: &str, from: usize) -> Option<(usize, LazyStateID)> {
        let dfa = &self.automaton.dfa;
        let cache = &mut *self.cache;
        let mut state = match self.start {
            Some((state, clears)) if clears == cache.clear_count() => state,
            _ => {
                let input = Input::new(text).anchored(Anchored::Yes).range(from..);
                let state = dfa.start_state_forward(cache, &input).ok()?;
                let always_the_same = dfa.get_nfa().look_set_any().remove(Look::End).is_empty();
                self.start = always_the_same.then(|| (state, cache.clear_count()));
                state
            }
        };
        let mut found = None;
        for (at, &byte) in text.as_bytes().iter().enumerate().skip(from) {
            state = dfa.next_state(cache, state, byte).ok()?;
            if state.is_tagged() {
                if state.is_match() {
                    // Known one byte later.
                    found = Some((at, state));
                } else if state.is_dead() {
                    return found;
                }
            }
        }
        state = dfa.next_eoi_state(cache, state).ok()?;
        if state.is_match() { Some((text.len(), state)) } else { found }
    }
}
