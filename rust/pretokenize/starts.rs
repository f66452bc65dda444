//! Where pieces start, by algebra on masks: the rules of [`rules`](super::rules), 64 bytes at a time.
//!
//! A byte has the class of the character that it is part of, and a mask has a bit for each byte. `after(mask, …)` are the
//! bytes behind those of a mask; `through(seeds, runs)` are the bytes of runs of ones from a seed in them on. Which rules
//! a family has is known at compile time, so what it has not costs nothing.
//!
//! What is rare and intricate is not here: such a block is *irregular*, and its pieces are found a character at a time.

use super::around::{Around, Behind, is_quiet};
use super::block::{BLOCK, Classes};
use super::classes::{Alphabet, Bits, Class};
use super::rules::{Contractions, Family, Front, Rules, Tail};
use super::scalar::contraction;

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
    space: u64,
    tail: u64,
    /// All of it.
    number: u64,
    /// Where the next groups of numbers would start.
    groups: u64,
    /// The bytes of the next block that belong to a contraction, ...
    taken: u64,
    /// ... and whether the last byte does.
    last_taken: u64,
    cased: Cased,
    apart: Apart,
    /// No piece ends where the next block begins.
    none_ends: u64,
}

/// Of letters told apart by case.
#[derive(Clone, Copy, Default)]
struct Cased {
    /// Lower case, and what is both behind it.
    lower: u64,
    /// What is both behind no lower case.
    both: u64,
}

/// Of scripts set apart.
#[derive(Clone, Copy, Default)]
struct Apart {
    word: u64,
    other: u64,
    ascii_word: u64,
    control: u64,
    first_control: u64,
    further_control: u64,
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
    let alphabet = const { F::RULES.alphabet };
    let from = *carry;
    let ascii_space = alphabet.space(classes.class) & !classes.wide_space;
    let mut class = classes.class;
    if classes.continuation != 0 {
        // All but the first byte of a character are what the byte before is.
        for (bit, carried) in class.iter_mut().zip(from.class).take(alphabet.bits()) {
            *bit |= through(after(*bit, carried) & classes.continuation, classes.continuation);
        }
    }
    carry.class = class.map(last);
    carry.blank = last(classes.blank);
    carry.none_ends = 0;
    let (starts, irregular) = match const { F::RULES.front } {
        Front::Blank => (by_change::<F>(&classes, class, &from, carry, around), 0),
        _ => by_kind::<F>(&classes, class, &from, carry, around),
    };
    let given_back = given_back::<F>(&classes, class, ascii_space, around);
    if irregular == 0 { Some((starts | given_back) & !from.none_ends) } else { None }
}

/// Pieces are runs of a class, with a blank in front.
#[inline(always)]
fn by_change<F: Family>(classes: &Classes, class: Bits, from: &Carry, carry: &mut Carry, around: Around) -> u64 {
    let change = |bit: usize| class[bit] ^ after(class[bit], from.class[bit]);
    let starts = (change(0) | change(1)) & !after(classes.blank, from.blank);
    let taken = contractions::<F>(classes.apostrophe & starts, from.taken, around);
    carry.taken = (taken >> 64) as u64;
    let taken = taken as u64;
    carry.last_taken = last(taken);
    (starts | after(taken, from.last_taken)) & !taken
}

/// Which bytes belong to contractions, of this block and the next: all but the apostrophe of a piece, which starts one
/// anyway; all of a suffix.
#[inline(always)]
fn contractions<F: Family>(mut quotes: u64, taken: u64, around: Around) -> u128 {
    let suffix = matches!(F::RULES.contractions, Contractions::Suffix);
    let any_case = !matches!(F::RULES.contractions, Contractions::Piece);
    let mut taken = taken as u128;
    while quotes != 0 {
        let quote = quotes.trailing_zeros() as usize;
        quotes &= quotes - 1;
        // No suffix is behind another.
        if suffix && taken << 1 >> quote & 1 != 0 {
            continue;
        }
        if let Some(letters) = contraction(around.rest(quote + 1), any_case) {
            taken |= ((2 << letters) - if suffix { 1 } else { 2 }) << quote;
        }
    }
    taken
}

/// Each kind of piece by itself. The second mask is not empty if the block is irregular.
#[inline(always)]
fn by_kind<F: Family>(classes: &Classes, class: Bits, from: &Carry, carry: &mut Carry, around: Around) -> (u64, u64) {
    let rules: Rules = const { F::RULES };
    let &Classes { blank, newline, apostrophe, slash, continuation, high, .. } = classes;
    let mut kinds = kinds(rules.alphabet, class);
    let mut irregular = 0;

    // What is in contractions is of no kind, so that what follows begins afresh.
    if !matches!(rules.contractions, Contractions::None) {
        let suffix = matches!(rules.contractions, Contractions::Suffix);
        let quotes = if suffix {
            after(kinds.word & !from.taken, from.word)
        } else {
            !after(kinds.other, from.other) & !after(blank, from.blank)
        };
        let taken = contractions::<F>(apostrophe & quotes, from.taken, around);
        carry.taken = (taken >> 64) as u64;
        kinds.word &= !(taken as u64);
        kinds.other &= if suffix { !(taken as u64) } else { !0 };
    }

    // What others take along.
    let mut tail = 0;
    if !matches!(rules.tail, Tail::None) {
        tail = through(newline & (after(kinds.other, from.other) | from.tail), newline);
    }
    if matches!(rules.tail, Tail::NewlinesAndSlashes) {
        tail |= through(slash & after(tail, from.tail), slash);
    }
    carry.tail = last(tail);

    // Others start where their run does, but for a blank in front.
    let other = kinds.other & !tail;
    carry.other = last(kinds.other);
    carry.free_other = last(other);
    let mut starts = other & !after(other, from.free_other) & !after(blank, from.blank);

    // Words do, but for a front.
    let mut word_starts = kinds.word & !after(kinds.word, from.word);
    let plain_space = kinds.space & !newline;
    let front = if matches!(rules.alphabet, Alphabet::Apart) {
        let lone = starts & !high;
        let (more, no_start, out) = apart(&kinds, lone, classes, from, carry);
        word_starts &= !no_start;
        irregular |= out;
        starts |= more;
        plain_space | kinds.control
    } else {
        // All bytes of the first of the others, if it starts a piece.
        let lone = starts | through(after(starts, from.lone) & continuation, continuation);
        carry.lone = last(lone);
        plain_space | lone
    };
    starts |= word_starts & !after(front, from.front);
    carry.front = last(front);
    carry.word = last(kinds.word);
    if matches!(rules.alphabet, Alphabet::Cased) {
        // Behind one of the others, whether a mark is part of a word is intricate.
        irregular |= kinds.mark & !after(kinds.mark, 0) & after(kinds.other, from.other);
        starts |= cased(&kinds, from.cased, &mut carry.cased, around);
    }

    // Numbers.
    match rules.digits {
        1 => starts |= kinds.number & !continuation,
        most => {
            irregular |= kinds.number & high;
            starts |= groups(kinds.number, most, from, carry);
        }
    }

    // Whitespace starts a piece where its run does, and behind its last newline.
    let space = kinds.space & !tail;
    starts |= space & !after(space, from.space);
    carry.space = last(space);
    let free_newline = newline & !tail;
    carry.newline = last(free_newline);
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
    (starts | behind, irregular)
}

/// Where scripts are set apart: more starts, the bytes behind a front, and what is irregular. `lone` is ASCII punctuation that starts
/// a piece.
#[inline(always)]
fn apart(kinds: &Kinds, lone: u64, classes: &Classes, from: &Carry, carry: &mut Carry) -> (u64, u64, u64) {
    let &Classes { continuation, high, .. } = classes;
    let &Kinds { word, control, apart_word, apart_other, apart_control, .. } = kinds;
    let Apart { word: from_word, other: from_other, ascii_word: from_ascii, .. } = from.apart;
    let ascii = word & !high;
    let behind_lone = ascii & after(lone, from.lone);
    let ascii_word = through(behind_lone | ascii & from_ascii, ascii);
    // The word behind ASCII punctuation ends with its ASCII letters.
    let mut starts = word & high & after(ascii_word, from_ascii);
    starts |= apart_word & !after(apart_word, from_word);
    starts |= apart_other & !after(apart_other, from_other);
    // Of controls only the last is a front: of several, that begins a piece too.
    let first = control & !after(control, from.apart.control);
    starts |= first;
    let first = first | through(after(first, from.apart.first_control) & continuation, continuation);
    let further = control & !first;
    let irregular = apart_control | word & after(further, from.apart.further_control);
    carry.lone = last(lone);
    carry.apart = Apart {
        word: last(apart_word),
        other: last(apart_other),
        ascii_word: last(ascii_word),
        control: last(control),
        first_control: last(first),
        further_control: last(further),
    };
    (starts, behind_lone, irregular)
}

/// Where upper case starts a piece inside a word.
#[inline(always)]
fn cased(kinds: &Kinds, from: Cased, carry: &mut Cased, around: Around) -> u64 {
    let word = kinds.word;
    let (upper, lower) = (kinds.upper & word, kinds.lower & word);
    let both = word & !upper & !lower;
    // It does behind lower case and what is both behind that, ...
    let lower_run = lower | through(after(lower, from.lower) & both, both);
    let mut starts = upper & after(lower_run, from.lower);
    // ... and behind what is both if no more of these follow it.
    let both_run = both & !lower_run;
    let mut behind_both = upper & after(both_run, from.both);
    while behind_both != 0 {
        let at = behind_both.trailing_zeros() as usize;
        behind_both &= behind_both - 1;
        let end = at + (!(upper >> at)).trailing_zeros() as usize;
        let goes_on = if end < BLOCK { word >> end & 1 != 0 } else { around.upper_goes_on() };
        starts |= (!goes_on as u64) << at;
    }
    *carry = Cased { lower: last(lower_run), both: last(both_run) };
    starts
}

/// Where groups of at most so many numbers start.
#[inline(always)]
fn groups(number: u64, most: usize, from: &Carry, carry: &mut Carry) -> u64 {
    // Bytes with as many numbers in front of them as a group has.
    let mut full = number;
    for before in 1..=most {
        full &= number << before | from.number >> (BLOCK - before);
    }
    let mut more = number & !after(number, last(from.number));
    let (mut starts, mut carried) = (0, from.groups);
    loop {
        starts |= more;
        more = (more << most | std::mem::take(&mut carried)) & full;
        if more == 0 {
            break;
        }
    }
    carry.number = number;
    carry.groups = starts >> (BLOCK - most);
    starts
}

/// The last characters of whitespace, where more text follows.
#[inline(always)]
fn given_back<F: Family>(classes: &Classes, class: Bits, ascii_space: u64, around: Around) -> u64 {
    let alphabet = const { F::RULES.alphabet };
    let mut quiet = alphabet.space(class);
    if matches!(alphabet, Alphabet::Apart) {
        quiet |= class[2];
    }
    let next = classes.next;
    let mut before_quiet = quiet >> 1 | (is_quiet(alphabet, alphabet.of(next as u32)) as u64) << 63;
    if next >= 0x80 && ascii_space >> 63 != 0 {
        before_quiet = quiet >> 1 | (around.is_quiet(alphabet, BLOCK) as u64) << 63;
    }
    let gives = if const { F::RULES.newlines } { ascii_space & !classes.newline } else { ascii_space };
    let mut given_back = gives & !before_quiet;
    let mut wide = classes.wide_space;
    while wide != 0 {
        let lead = wide.trailing_zeros() as usize;
        wide &= wide - 1;
        given_back |= (!around.is_quiet(alphabet, lead + around.length(lead)) as u64) << lead;
    }
    given_back
}
