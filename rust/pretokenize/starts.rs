//! Where pieces start, by algebra on masks: the rules of [`rules`](super::rules), 64 bytes at a time.
//!
//! A byte has the class of the character that it is part of, and a mask has a bit for each byte. `after(mask, …)` are the
//! bytes behind those of a mask; `through(seeds, runs)` are the bytes of runs of ones from a seed in them on. Which rules
//! a family has is known at compile time, so what it has not costs nothing.
//!
//! What is rare and intricate is not here: such a block is *irregular*, and its pieces are found a character at a time.

use super::classes::{Alphabet, Bits, Class};
use super::rules::{Contractions, Family, Front, Rules, Tail};
use super::scalar::contraction;
use super::scanner::Window;

pub const BLOCK: usize = 64;

/// What the bytes of a block are, a bit each.
#[derive(Clone, Copy, Default)]
pub struct Classes {
    /// The bits of a class's number; of a character outside ASCII the first byte alone has them.
    pub class: Bits,
    /// U+0020.
    pub blank: u64,
    /// U+000D and U+000A.
    pub newline: u64,
    pub apostrophe: u64,
    pub slash: u64,
    /// 0x80 to 0xBF.
    pub continuation: u64,
    /// 0x80 to 0xFF.
    pub high: u64,
    /// First bytes of whitespace outside ASCII.
    pub wide_space: u64,
    /// The byte behind the block.
    pub next: u8,
}

impl Classes {
    /// The class of more characters outside ASCII.
    #[inline(always)]
    pub fn put(&mut self, alphabet: Alphabet, class: Bits) {
        for (bit, more) in self.class.iter_mut().zip(class) {
            *bit |= more;
        }
        self.wide_space |= alphabet.space(class);
    }

    /// The class of the character outside ASCII that begins at byte `lead`.
    #[inline(always)]
    pub fn put_character(&mut self, alphabet: Alphabet, window: &Window, lead: usize) {
        let number = alphabet.tables().class_number(window, lead) as u64;
        self.put(alphabet, std::array::from_fn(|bit| (number >> bit & 1) << lead));
    }
}

/// What a block leaves to the next: the last bits of its masks.
#[derive(Clone, Copy, Default)]
pub struct Carry {
    class: Bits,
    blank: u64,
    newline: u64,
    other: u64,
    free_other: u64,
    lone: u64,
    front: u64,
    word: u64,
    lower: u64,
    both: u64,
    apart_word: u64,
    apart_other: u64,
    ascii_word: u64,
    control: u64,
    first_control: u64,
    further_control: u64,
    space: u64,
    tail: u64,
    /// All of it.
    number: u64,
    /// Where the next groups of numbers would start.
    groups: u64,
    /// The bytes of the next block that belong to a contraction.
    taken: u64,
    /// No piece ends where the next block begins.
    none_ends: u64,
}

impl Carry {
    /// In front of the text's first piece. What lies there does not matter: as if it were whitespace, behind which nothing is
    /// special.
    pub fn first<F: Family>() -> Self {
        let number = F::RULES.alphabet.number(Class::Space) as u64;
        let class = std::array::from_fn(|bit| number >> bit & 1);
        Carry { class, space: 1, none_ends: 1, ..Carry::default() }
    }
}

/// What is beyond the block that begins at byte `at`.
#[derive(Clone, Copy)]
pub struct Around<'t> {
    pub text: &'t str,
    pub at: usize,
}

impl Around<'_> {
    fn rest(&self, offset: usize) -> &[u8] {
        self.text.as_bytes().get(self.at + offset..).unwrap_or_default()
    }

    /// Whether whitespace in front of the character at that byte of the block gives nothing back.
    fn is_quiet(&self, alphabet: Alphabet, offset: usize) -> bool {
        alphabet.at(self.text, self.at + offset).is_none_or(|(class, _)| is_quiet(alphabet, class))
    }

    /// Of the character that begins at that byte.
    fn length(&self, offset: usize) -> usize {
        self.text[self.at + offset..].chars().next().map_or(0, char::len_utf8)
    }

    /// What is behind the character at the end of the block.
    fn behind(&self) -> &str {
        let end = (self.at + BLOCK..).take(4).find_map(|end| self.text.get(end..));
        end.unwrap_or_default()
    }

    /// What follows the whitespace behind the block, newlines not counted as such.
    #[cold]
    fn behind_space(&self) -> Behind {
        let rest = self.behind();
        let is_space = |c: &char| !matches!(c, '\r' | '\n') && Alphabet::Plain.of(*c as u32) == Class::Space;
        match rest.chars().find(|c| !is_space(c)) {
            None => Behind::End,
            Some('\r' | '\n') => Behind::Newline,
            Some(_) => Behind::Text,
        }
    }

    /// Whether the upper-case letters behind the block, if any, are followed by letters or marks of another kind.
    #[cold]
    fn upper_goes_on(&self) -> bool {
        let mut classes = self.behind().chars().map(|c| Alphabet::Cased.of(c as u32));
        classes
            .find(|&class| class != Class::Upper)
            .is_some_and(|class| matches!(class, Class::Lower | Class::Letter | Class::Mark))
    }
}

#[derive(PartialEq, Eq)]
enum Behind {
    End,
    Newline,
    Text,
}

const fn is_quiet(alphabet: Alphabet, class: Class) -> bool {
    match class {
        Class::Space => true,
        Class::Number | Class::ApartLetter | Class::ApartOther | Class::ApartControl => {
            matches!(alphabet, Alphabet::Apart)
        }
        _ => false,
    }
}

/// The bytes behind those of a mask, of which the block before had the last.
#[inline(always)]
fn after(mask: u64, carried: u64) -> u64 {
    mask << 1 | carried
}

/// Runs of ones from a seed in them on. No run may have two seeds.
#[inline(always)]
fn through(seeds: u64, runs: u64) -> u64 {
    runs & !runs.wrapping_add(seeds)
}

#[inline(always)]
fn last(mask: u64) -> u64 {
    mask >> 63
}

/// The classes as masks. What an alphabet does not tell apart is empty.
#[derive(Default)]
struct Kinds {
    space: u64,
    number: u64,
    word: u64,
    other: u64,
    control: u64,
    upper: u64,
    lower: u64,
    mark: u64,
    apart_word: u64,
    apart_other: u64,
    apart_control: u64,
}

#[inline(always)]
fn kinds(alphabet: Alphabet, class: Bits) -> Kinds {
    let [a, b, c] = class;
    let space = alphabet.space(class);
    match alphabet {
        Alphabet::Plain => Kinds { space, number: b & !a, word: a & !b, other: !(a | b), ..Kinds::default() },
        Alphabet::Cased => {
            let mark = c & a & !b;
            Kinds {
                space,
                number: c & !a & !b,
                word: (a | b) & !c | mark,
                other: !(a | b | c),
                upper: b & !a,
                lower: a & !b & !c,
                mark,
                ..Kinds::default()
            }
        }
        Alphabet::Apart => Kinds {
            space,
            number: a & b & c,
            word: a & !b & !c,
            other: b & !a & !c,
            control: !(a | b | c),
            apart_word: a & !b & c,
            apart_other: b & !a & c,
            apart_control: c & !a & !b,
            ..Kinds::default()
        },
    }
}

/// The bytes of the block at which pieces start; `None` if it is irregular.
#[inline(always)]
pub fn starts<F: Family>(classes: Classes, carry: &mut Carry, around: Around) -> Option<u64> {
    let rules: Rules = F::RULES;
    let alphabet = rules.alphabet;
    let Classes { mut class, blank, newline, apostrophe, slash, continuation, high, wide_space, next } = classes;
    let from = *carry;
    let ascii_space = alphabet.space(class) & !wide_space;
    if continuation != 0 {
        // All but the first byte of a character are what the byte before is.
        for (bit, carried) in class.iter_mut().zip(from.class).take(alphabet.bits()) {
            *bit |= through(after(*bit, carried) & continuation, continuation);
        }
    }
    let Kinds {
        space,
        number,
        mut word,
        mut other,
        control,
        upper,
        lower,
        mark,
        apart_word,
        apart_other,
        apart_control,
    } = kinds(alphabet, class);
    let mut irregular = apart_control;

    // Contractions: what is in them is of no class, so that what follows begins afresh. (The apostrophe of one that is a piece
    // is at the start of a piece anyway.)
    let suffix = matches!(rules.contractions, Contractions::Suffix);
    let mut taken = from.taken as u128;
    let mut quotes = match rules.contractions {
        Contractions::None => 0,
        Contractions::Suffix => apostrophe & after(word & !from.taken, from.word),
        _ => apostrophe & !after(other, from.other) & !after(blank, from.blank),
    };
    while quotes != 0 {
        let quote = quotes.trailing_zeros() as usize;
        quotes &= quotes - 1;
        let any_case = !matches!(rules.contractions, Contractions::Piece);
        if suffix && taken << 1 >> quote & 1 != 0 {
            continue;
        }
        if let Some(letters) = contraction(around.rest(quote + 1), any_case) {
            taken |= if suffix { ((2 << letters) - 1) << quote } else { ((2 << letters) - 2) << quote };
        }
    }
    word &= !(taken as u64);
    other &= !if suffix { taken as u64 } else { 0 };

    // What others take along.
    let raw_other = other;
    let mut tail = 0;
    if !matches!(rules.tail, Tail::None) {
        tail = through(newline & (after(other, from.other) | from.tail), newline);
    }
    if matches!(rules.tail, Tail::NewlinesAndSlashes) {
        tail |= through(slash & after(tail, from.tail), slash);
        other &= !tail;
    }

    // Others start where their run does, but for a blank in front; words do, but for a front.
    let other_starts = other & !after(other, from.free_other) & !after(blank, from.blank);
    let plain_space = space & !newline;
    let (mut lone, mut ascii_word, mut first_control, mut begins) = (0, 0, 0, 0);
    let front = match rules.front {
        Front::Blank => blank,
        Front::AnyButNewline => {
            // All bytes of the first character of others.
            lone = other_starts | through(after(other_starts, from.lone) & continuation, continuation);
            plain_space | lone
        }
        Front::Control => {
            lone = other_starts & !high;
            let ascii = word & !high;
            begins = ascii & (after(lone, from.lone) | from.ascii_word);
            ascii_word = through(begins, ascii);
            plain_space | control
        }
    };
    let word_starts = word & !after(word, from.word) & !after(front, from.front) & !begins;
    let mut starts = other_starts | word_starts;

    if matches!(alphabet, Alphabet::Apart) {
        // The word behind ASCII punctuation ends with its ASCII letters.
        starts |= word & high & after(ascii_word, from.ascii_word);
        starts |= apart_word & !after(apart_word, from.apart_word);
        starts |= apart_other & !after(apart_other, from.apart_other);
        // Of controls only the last is a front: of several, that begins a piece too.
        let control_starts = control & !after(control, from.control);
        first_control =
            control_starts | through(after(control_starts, from.first_control) & continuation, continuation);
        irregular |= word & after(control & !first_control, from.further_control);
        starts |= control_starts;
    }

    let (mut lower_run, mut both_run) = (0, 0);
    if matches!(alphabet, Alphabet::Cased) {
        let (upper, lower) = (upper & word, lower & word);
        let both = word & !upper & !lower;
        irregular |= mark & !after(mark, 0) & after(raw_other, from.other);
        // Upper case starts a piece behind lower case and what is both behind that, ...
        lower_run = lower | through(after(lower, from.lower) & both, both);
        starts |= upper & after(lower_run, from.lower);
        // ... and behind what is both if no more of these follow it.
        both_run = both & !lower_run;
        let mut behind_both = upper & after(both_run, from.both);
        while behind_both != 0 {
            let at = behind_both.trailing_zeros() as usize;
            behind_both &= behind_both - 1;
            let end = at + (!(upper >> at)).trailing_zeros() as usize;
            let goes_on = if end < BLOCK { word >> end & 1 != 0 } else { around.upper_goes_on() };
            starts |= (!goes_on as u64) << at;
        }
    }

    let number_starts = number & !after(number, last(from.number));
    let mut groups = 0;
    match rules.digits {
        0 => starts |= number_starts & !after(blank, from.blank),
        1 => starts |= number & !continuation,
        most => {
            irregular |= number & high;
            // Bytes with as many numbers in front of them as a group has.
            let mut full = number;
            for before in 1..=most {
                full &= number << before | from.number >> (BLOCK - before);
            }
            let (mut more, mut carried) = (number_starts, from.groups);
            loop {
                groups |= more;
                more = (more << most | std::mem::take(&mut carried)) & full;
                if more == 0 {
                    break;
                }
            }
            starts |= groups;
            groups >>= BLOCK - most;
        }
    }

    // Whitespace starts a piece where its run does, ...
    let run = space & !tail;
    starts |= run & !after(run, from.space);
    // ... at its last character, where more text follows, ...
    let quiet = if matches!(alphabet, Alphabet::Apart) {
        space | number | apart_word | apart_other | apart_control
    } else {
        space
    };
    let mut before_quiet = quiet >> 1 | (is_quiet(alphabet, alphabet.of(next as u32)) as u64) << 63;
    if next >= 0x80 && ascii_space >> 63 != 0 {
        before_quiet = quiet >> 1 | (around.is_quiet(alphabet, BLOCK) as u64) << 63;
    }
    let gives = if rules.newlines { ascii_space & !newline } else { ascii_space };
    starts |= gives & !before_quiet;
    let mut wide = wide_space;
    while wide != 0 {
        let lead = wide.trailing_zeros() as usize;
        wide &= wide - 1;
        starts |= (!around.is_quiet(alphabet, lead + around.length(lead)) as u64) << lead;
    }
    // ... and behind its last newline.
    let free_newline = newline & !tail;
    if rules.newlines {
        let mut behind = plain_space & after(free_newline, from.newline);
        let ends = plain_space.wrapping_add(behind);
        // Not the last newline.
        irregular |= ends & !plain_space & newline;
        if plain_space & !ends & 1 << 63 != 0 {
            match around.behind_space() {
                Behind::Newline => irregular = 1,
                // The last run's start.
                Behind::End if rules.space_to_end => behind &= !(1 << (63 - behind.leading_zeros())),
                _ => {}
            }
        }
        starts |= behind;
    }

    starts &= !from.none_ends;
    *carry = Carry {
        class: class.map(last),
        blank: last(blank),
        newline: last(free_newline),
        other: last(raw_other),
        free_other: last(other),
        lone: last(lone),
        front: last(front),
        word: last(word),
        lower: last(lower_run),
        both: last(both_run),
        apart_word: last(apart_word),
        apart_other: last(apart_other),
        ascii_word: last(ascii_word),
        control: last(control),
        first_control: last(first_control),
        further_control: last(control & !first_control),
        space: last(run),
        tail: last(tail),
        number,
        groups,
        taken: (taken >> 64) as u64,
        none_ends: 0,
    };
    if irregular == 0 { Some(starts) } else { None }
}
