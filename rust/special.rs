//! Stage 1: the text is cut at the literals of special tokens.
//!
//! At each place the longest literal wins, whatever order they were given in; a match ends before
//! the next one is sought. An Aho-Corasick automaton finds them in one pass, however many there are: daachorse,
//! because it is built in linear time (aho-corasick took minutes for the 400,000 literals that some add). It takes 17
//! instructions a byte, so it runs only where what literals begin with has been found, many bytes at a time.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use aho_corasick::{Span, packed};
use daachorse::{DoubleArrayAhoCorasick, DoubleArrayAhoCorasickBuilder, MatchKind};
use hashbrown::{HashMap, HashSet};
use memchr::memmem;

use crate::encoding::{MAX_ID, TokenId};
use crate::error::{Error, Position, Result, quote};
use crate::interrupt::Interrupt;

pub struct SpecialTokens {
    /// Sorted by (id, literal).
    tokens: Vec<(String, TokenId)>,
    by_literal: HashMap<String, TokenId>,
    all: Finder,
    /// Bytes that some literal has next to each other, a bit for each pair.
    neighbours: Box<[u64; 1 << 10]>,
    /// The last choice and what came of it: most callers choose the same at every call, and an automaton takes 200 µs to
    /// build, short texts much less. Nobody waits for the lock, as in `encode.rs`.
    last_choice: Mutex<Option<(Vec<String>, Arc<Chosen>)>>,
}

/// Finds the literals of some tokens, and says the number that each was given.
pub struct Finder {
    /// `None` without literals.
    automaton: Option<DoubleArrayAhoCorasick<TokenId>>,
    /// Bytes of the longest literal.
    longest: usize,
    beginnings: Beginnings,
}

/// What literals begin with: much faster to find than the automaton is to run.
pub enum Beginnings {
    /// All of them, with this.
    Same(Box<memmem::Finder<'static>>),
    /// Each of them, with one of a few (by vectors: Teddy, of Hyperscan).
    Few(Box<packed::Searcher>),
    /// Too many to look for.
    Many,
}

/// Bytes of a beginning where there are several, and the most that there are.
const MOST_BYTES: usize = 4;
const FEW: usize = 64;

/// What to do with the literals of special tokens in a text.
pub enum Special {
    /// They become their ids.
    Parse,
    /// They are ordinary text.
    Text,
    /// One is an error.
    Error,
    /// Some become their ids, the others are ordinary text.
    Some(Arc<Chosen>),
}

/// Special tokens chosen by [`SpecialTokens::choose`].
pub struct Chosen {
    finder: Finder,
    literals: HashSet<String>,
}

impl Special {
    /// Whether the special token with this literal becomes its id.
    pub fn parses(&self, literal: &str) -> bool {
        match self {
            Special::Parse | Special::Error => true,
            Special::Text => false,
            Special::Some(chosen) => chosen.literals.contains(literal),
        }
    }
}

/// A part of a text: special tokens and what lies between them.
#[derive(Debug, PartialEq, Eq)]
pub enum Segment<'t> {
    Ordinary(&'t str),
    Special(TokenId, &'t str),
}

impl SpecialTokens {
    pub fn new(mut tokens: Vec<(String, TokenId)>) -> Result<Self> {
        tokens.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        let mut by_literal = HashMap::with_capacity(tokens.len());
        for (literal, id) in &tokens {
            if by_literal.insert(literal.clone(), *id).is_some() {
                return Err(Error::file(format!("special token {} is repeated", quote(literal))));
            }
            if literal.is_empty() {
                return Err(Error::file("special token \"\" is empty"));
            }
            if *id > MAX_ID {
                let literal = quote(literal);
                return Err(Error::file(format!("special token {literal} has the id {id}, expected 0 to {MAX_ID}")));
            }
        }
        let mut neighbours = Box::new([0; 1 << 10]);
        for pair in tokens.iter().flat_map(|(literal, _)| literal.as_bytes().windows(2)) {
            let (word, bit) = place([pair[0], pair[1]]);
            neighbours[word] |= bit;
        }
        let all = Finder::new(tokens.iter().map(|(literal, id)| (literal.as_str(), *id)).collect())?;
        Ok(SpecialTokens { tokens, by_literal, all, neighbours, last_choice: Mutex::new(None) })
    }

    /// In (id, literal) order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, TokenId)> {
        self.tokens.iter().map(|(literal, id)| (literal.as_str(), *id))
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub fn to_vec(&self) -> Vec<(String, TokenId)> {
        self.tokens.clone()
    }

    pub fn id(&self, literal: &str) -> Option<TokenId> {
        self.by_literal.get(literal).copied()
    }

    /// Whether some literal has these two bytes next to each other.
    pub fn may_contain(&self, bytes: [u8; 2]) -> bool {
        let (word, bit) = place(bytes);
        self.neighbours[word] & bit != 0
    }

    /// Those of `literals`; the first that is no special token is the error.
    pub fn choose<'l>(&self, literals: &[&'l str]) -> Result<Arc<Chosen>, &'l str> {
        if let Ok(last) = self.last_choice.try_lock()
            && let Some((choice, chosen)) = &*last
            && choice == literals
        {
            return Ok(Arc::clone(chosen));
        }
        let mut chosen = Vec::with_capacity(literals.len());
        for literal in literals {
            chosen.push((*literal, self.id(literal).ok_or(*literal)?));
        }
        // What was part of one automaton makes a smaller one.
        let finder = Finder::new(chosen).map_err(|_| literals[0])?;
        let literals = literals.iter().map(|literal| (*literal).to_owned());
        let chosen = Arc::new(Chosen { finder, literals: literals.clone().collect() });
        if let Ok(mut last) = self.last_choice.try_lock() {
            *last = Some((literals.collect(), Arc::clone(&chosen)));
        }
        Ok(chosen)
    }

    /// Calls `visit` with each segment in order; empty ordinary segments are left out.
    pub fn cut<'t>(
        &self,
        text: &'t str,
        special: &Special,
        interrupt: &dyn Interrupt,
        mut visit: impl FnMut(Segment<'t>) -> Result<()>,
    ) -> Result<()> {
        let finder = match special {
            Special::Parse | Special::Error => Some(&self.all),
            Special::Text => None,
            Special::Some(chosen) => Some(&chosen.finder),
        };
        let mut start = 0;
        while let Some(finder) = finder
            && let Some((found, id)) = finder.find(text, start, interrupt)?
        {
            let literal = &text[found.clone()];
            if matches!(special, Special::Error) {
                return Err(Error::SpecialToken { token: literal.to_owned(), at: Position::Byte(found.start) });
            }
            if start < found.start {
                visit(Segment::Ordinary(&text[start..found.start]))?;
            }
            visit(Segment::Special(id, literal))?;
            start = found.end;
        }
        if start < text.len() {
            visit(Segment::Ordinary(&text[start..]))?;
        }
        Ok(())
    }
}

/// The word and the bit of a pair of bytes in a table of all pairs.
fn place(bytes: [u8; 2]) -> (usize, u64) {
    let pair = u16::from_le_bytes(bytes);
    (pair as usize / 64, 1 << (pair % 64))
}

impl Finder {
    pub fn new(tokens: Vec<(&str, u32)>) -> Result<Self> {
        let longest = tokens.iter().map(|(literal, _)| literal.len()).max().unwrap_or(0);
        if tokens.is_empty() {
            return Ok(Finder { automaton: None, longest, beginnings: Beginnings::Many });
        }
        let beginnings = Beginnings::new(tokens.iter().map(|(literal, _)| literal.as_bytes()).collect());
        let builder = DoubleArrayAhoCorasickBuilder::new().match_kind(MatchKind::LeftmostLongest);
        let automaton = builder.build_with_values(tokens);
        let automaton = automaton.map_err(|error| Error::file(format!("special tokens: {error}")))?;
        Ok(Finder { automaton: Some(automaton), longest, beginnings })
    }

    /// The first literal from byte `start` on, and its number.
    pub fn find(&self, text: &str, start: usize, interrupt: &dyn Interrupt) -> Result<Option<(Range<usize>, TokenId)>> {
        let Some(automaton) = &self.automaton else { return Ok(None) };
        let bytes = text.as_bytes();
        let mut at = start;
        while at < bytes.len() {
            // In windows, to look for interrupts in between. A literal that starts in one may end behind it.
            let window = at..(at + WINDOW).min(bytes.len());
            at = window.end;
            if let Some(starts) = self.starts(bytes, window) {
                at = starts.end;
                let seen = &bytes[starts.start..(starts.end + self.longest - 1).min(bytes.len())];
                if let Some(found) = automaton.leftmost_find_iter(seen).next()
                    && found.start() < starts.len()
                {
                    return Ok(Some((starts.start + found.start()..starts.start + found.end(), found.value())));
                }
            }
            if at < bytes.len() {
                interrupt.check()?;
            }
        }
        Ok(None)
    }

    /// The first places in `window` at which a literal may start. Not only the very first: the automaton, which looks
    /// beyond them as far as a literal is long, should not see a byte more than twice.
    #[inline]
    fn starts(&self, bytes: &[u8], window: Range<usize>) -> Option<Range<usize>> {
        let first = self.beginnings.find(bytes, window.clone())?;
        Some(first..window.end.min(first + self.longest.max(256)))
    }
}

impl Beginnings {
    /// Of one literal at least.
    pub fn new(mut literals: Vec<&[u8]>) -> Self {
        literals.sort_unstable();
        let (first, last) = (literals[0], literals[literals.len() - 1]);
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        if shared > 0 {
            return Beginnings::Same(Box::new(memmem::Finder::new(&first[..shared]).into_owned()));
        }
        for length in (1..=MOST_BYTES).rev() {
            literals.iter_mut().for_each(|literal| *literal = &literal[..length.min(literal.len())]);
            literals.dedup();
            if literals.len() <= FEW
                && let Some(searcher) = packed::Searcher::new(&literals)
            {
                return Beginnings::Few(Box::new(searcher));
            }
        }
        Beginnings::Many
    }

    /// The first place in `window` at which a literal may start.
    #[inline]
    pub fn find(&self, bytes: &[u8], window: Range<usize>) -> Option<usize> {
        let seen = |longest: usize| window.start..(window.end + longest - 1).min(bytes.len());
        match self {
            Beginnings::Same(finder) => {
                let seen = &bytes[seen(finder.needle().len())];
                // A short text is over before the search for a whole beginning has got going.
                if seen.len() < 64 && memchr::memchr(finder.needle()[0], seen).is_none() {
                    return None;
                }
                Some(window.start + finder.find(seen)?)
            }
            Beginnings::Few(searcher) => {
                // Of a short one that starts behind the window, too.
                let first = searcher.find_in(bytes, Span::from(seen(MOST_BYTES)))?.start();
                (first < window.end).then_some(first)
            }
            Beginnings::Many => Some(window.start),
        }
    }
}

/// Text that is searched between two looks for an interrupt.
const WINDOW: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::Never;

    fn cut(tokens: &[(&str, TokenId)], text: &'static str, special: Special) -> Vec<Segment<'static>> {
        let tokens = SpecialTokens::new(tokens.iter().map(|(l, id)| (l.to_string(), *id)).collect()).unwrap();
        let mut segments = Vec::new();
        tokens
            .cut(text, &special, &Never, |segment| {
                segments.push(segment);
                Ok(())
            })
            .unwrap();
        segments
    }

    #[test]
    fn the_longest_literal_wins_in_any_order() {
        use Segment::*;
        let expected = vec![Ordinary("x"), Special(2, "<a><b>"), Special(1, "<a>"), Ordinary("<b")];
        assert_eq!(cut(&[("<a>", 1), ("<a><b>", 2)], "x<a><b><a><b", super::Special::Parse), expected);
        assert_eq!(cut(&[("<a><b>", 2), ("<a>", 1)], "x<a><b><a><b", super::Special::Parse), expected);
        assert_eq!(cut(&[("<a>", 1)], "x<a>", super::Special::Text), vec![Ordinary("x<a>")]);
        assert_eq!(cut(&[("<a>", 1)], "", super::Special::Parse), vec![]);
    }

    proptest::proptest! {
        /// Against the definition: at each place the longest, and on from where it ends.
        #[test]
        fn equals_its_definition(
            literals in proptest::collection::btree_set("<?[|a]{1,4}", 0..5),
            shared in "(<\\|){0,1}",
            text in "[<|ab]{0,40}",
            filler in 0usize..600,
        ) {
            let literals: Vec<String> = literals.iter().map(|literal| shared.clone() + literal).collect();
            let text = "a<".repeat(filler) + &text + &"<|".repeat(filler) + &text;
            let tokens = SpecialTokens::new(literals.iter().cloned().zip(0..).collect()).unwrap();
            let mut found = Vec::new();
            let visit = |segment: Segment| {
                if let Segment::Special(id, literal) = segment {
                    found.push((literal.as_ptr() as usize - text.as_ptr() as usize, id));
                }
                Ok(())
            };
            tokens.cut(&text, &Special::Parse, &Never, visit).unwrap();
            let (mut expected, mut at) = (Vec::new(), 0);
            while at < text.len() {
                let here = literals.iter().zip(0..).filter(|(literal, _)| text[at..].starts_with(*literal));
                match here.max_by_key(|(literal, _)| literal.len()) {
                    Some((literal, id)) => {
                        expected.push((at, id));
                        at += literal.len();
                    }
                    None => at += 1,
                }
            }
            proptest::prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn each_choice_is_its_own() {
        let tokens = SpecialTokens::new(vec![("<a>".into(), 1), ("<b>".into(), 2)]).unwrap();
        for (choice, expected) in [(&["<a>"], 1), (&["<a>"], 1), (&["<b>"], 2), (&["<a>"], 1)] {
            let special = super::Special::Some(tokens.choose(choice).ok().unwrap());
            let mut found = Vec::new();
            let visit = |segment: Segment| {
                if let Segment::Special(id, _) = segment {
                    found.push(id);
                }
                Ok(())
            };
            tokens.cut("<a><b>", &special, &Never, visit).unwrap();
            assert_eq!(found, [expected]);
        }
        assert_eq!(tokens.choose(&["<a>", "<c>"]).err(), Some("<c>"));
    }

    #[test]
    fn error_names_the_first() {
        let tokens = SpecialTokens::new(vec![("<a>".into(), 1)]).unwrap();
        let error = tokens.cut("é<a><a>", &Special::Error, &Never, |_| Ok(())).unwrap_err();
        assert_eq!(error, Error::SpecialToken { token: "<a>".into(), at: Position::Byte(2) });
    }
}
