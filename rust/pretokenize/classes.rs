//! The class of a character, from the generated tables, and the tables by which blocks of text are classified.
//!
//! A pattern tells some of the generated classes apart, its [`Alphabet`]. The number of a class has up to [`BITS`] bits.
//!
//! A *page* is the 256 characters that have all but the last eight bits in common: in UTF-8, all but the last two bits of the
//! last byte but one and the last byte. Most texts are of few pages. Those of Chinese and Korean are of many, but nearly
//! all of them letters, which an *octant* tells: the first byte, and the first three of the six bits of the second.

use crate::unicode_tables::{CLASS_BLOCKS, CLASS_PAGES};

/// Of a class's number.
pub const BITS: usize = 3;

/// The bits of class numbers as masks, a bit a byte.
pub type Bits = [u64; BITS];

/// Which classes a pattern tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// Letters, numbers, whitespace, others (marks among them).
    Plain,
    /// Letters by case, marks too.
    Cased,
    /// Letters with marks, punctuation with symbols, and what is neither; and each of them in the scripts set apart.
    Apart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Other,
    /// Without a case, or of whatever case if the alphabet does not tell.
    Letter,
    Upper,
    Lower,
    Mark,
    Number,
    Space,
    /// Neither letter, mark, number, whitespace, punctuation nor symbol.
    Control,
    ApartLetter,
    ApartOther,
    ApartControl,
}

impl Alphabet {
    /// The class of a number in the generated tables.
    const fn class(self, generated: u8) -> Class {
        match (self, generated) {
            (_, 6) => Class::Space,
            (_, 5) => Class::Number,
            (Alphabet::Plain, 1..=3 | 11) => Class::Letter,
            (Alphabet::Cased, 1) => Class::Upper,
            (Alphabet::Cased, 2) => Class::Lower,
            (Alphabet::Cased, 3 | 11) => Class::Letter,
            (Alphabet::Cased, 4 | 12) => Class::Mark,
            (Alphabet::Apart, 0) => Class::Control,
            (Alphabet::Apart, 1..=4) => Class::Letter,
            (Alphabet::Apart, 8) => Class::ApartControl,
            (Alphabet::Apart, 9..=12) => Class::ApartLetter,
            (Alphabet::Apart, 15) => Class::ApartOther,
            _ => Class::Other,
        }
    }

    /// The number of a class. Those of letters that fill octants have no bits but the [`Alphabet::octant_bits`].
    pub const fn number(self, class: Class) -> u8 {
        match (self, class) {
            (Alphabet::Plain, Class::Letter) => 1,
            (Alphabet::Plain, Class::Number) => 2,
            (Alphabet::Plain, Class::Space) => 3,
            (Alphabet::Cased, Class::Lower) => 1,
            (Alphabet::Cased, Class::Upper) => 2,
            (Alphabet::Cased, Class::Letter) => 3,
            (Alphabet::Cased, Class::Number) => 4,
            (Alphabet::Cased, Class::Mark) => 5,
            (Alphabet::Cased, Class::Space) => 7,
            (Alphabet::Apart, Class::Letter) => 1,
            (Alphabet::Apart, Class::Other) => 2,
            (Alphabet::Apart, Class::Space) => 3,
            (Alphabet::Apart, Class::ApartControl) => 4,
            (Alphabet::Apart, Class::ApartLetter) => 5,
            (Alphabet::Apart, Class::ApartOther) => 6,
            (Alphabet::Apart, Class::Number) => 7,
            _ => 0,
        }
    }

    /// The number of a class of ASCII letters.
    pub const fn number_of_ascii(self, case: Class) -> u8 {
        if matches!(self, Alphabet::Cased) { self.number(case) } else { self.number(Class::Letter) }
    }

    pub const fn bits(self) -> usize {
        if matches!(self, Alphabet::Plain) { 2 } else { BITS }
    }

    /// Which bits of a letter's number can be set.
    pub const fn octant_bits(self) -> [bool; BITS] {
        match self {
            Alphabet::Plain => [true, false, false],
            Alphabet::Cased => [true, true, false],
            Alphabet::Apart => [true, false, true],
        }
    }

    /// Whitespace, by the bits of class numbers.
    #[inline(always)]
    pub const fn space(self, bits: Bits) -> u64 {
        match self {
            Alphabet::Plain => bits[0] & bits[1],
            Alphabet::Cased => bits[0] & bits[1] & bits[2],
            Alphabet::Apart => bits[0] & bits[1] & !bits[2],
        }
    }

    /// The class of a character, and the character's length, if it begins at byte `at` of the text.
    #[inline]
    pub fn at(self, text: &str, at: usize) -> Option<(Class, usize)> {
        let character = text.get(at..)?.chars().next()?;
        Some((self.of(character as u32), character.len_utf8()))
    }

    #[inline]
    pub const fn of(self, code: u32) -> Class {
        let block = CLASS_PAGES[(code >> 8) as usize];
        self.class(CLASS_BLOCKS[block as usize][(code & 0xff) as usize])
    }

    pub const fn tables(self) -> &'static Tables {
        static PLAIN: Tables = Tables::of(Alphabet::Plain);
        static CASED: Tables = Tables::of(Alphabet::Cased);
        static APART: Tables = Tables::of(Alphabet::Apart);
        match self {
            Alphabet::Plain => &PLAIN,
            Alphabet::Cased => &CASED,
            Alphabet::Apart => &APART,
        }
    }
}

/// For each bit of a class's number, the set of the characters of a page whose class has it.
pub type Page = [[u8; 32]; BITS];

pub struct Tables {
    /// By the number in the generated tables.
    numbers: [u8; 16],
    pages: [Page; CLASS_BLOCKS.len()],
    /// For each bit of a class's number and the first bytes 0xC0 to 0xEF, of characters of two and three bytes: a bit for each
    /// octant that is all letters of a class whose number has the bit. No bits for 0xF0 to 0xFF.
    pub octants: [[u8; 64]; BITS],
}

impl Tables {
    const fn of(alphabet: Alphabet) -> Tables {
        let mut tables =
            Tables { numbers: [0; 16], pages: [[[0; 32]; BITS]; CLASS_BLOCKS.len()], octants: [[0; 64]; BITS] };
        let mut generated = 0;
        while generated < 16 {
            tables.numbers[generated] = alphabet.number(alphabet.class(generated as u8));
            generated += 1;
        }
        let mut at = 0;
        while at < CLASS_BLOCKS.len() << 8 {
            let number = tables.numbers[CLASS_BLOCKS[at >> 8][at & 0xff] as usize];
            let mut bit = 0;
            while bit < BITS {
                tables.pages[at >> 8][bit][at >> 3 & 31] |= (number >> bit & 1) << (at & 7);
                bit += 1;
            }
            at += 1;
        }
        let mut at = 0;
        while at < 48 * 8 {
            let number = octant(alphabet, at as u32 / 8, at as u32 % 8);
            let mut bit = 0;
            while bit < BITS {
                tables.octants[bit][at / 8] |= (number >> bit & 1) << (at % 8);
                bit += 1;
            }
            at += 1;
        }
        tables
    }

    /// The page of the character of two bytes or more that begins at byte `at`, and the character's length.
    #[inline(always)]
    pub fn page(&self, bytes: &[u8; 67], at: usize) -> (&Page, usize) {
        let (block, length) = block(bytes, at);
        (&self.pages[block], length)
    }

    /// The number of the class of the character of two bytes or more that begins at byte `at`.
    #[inline(always)]
    pub fn class_number(&self, bytes: &[u8; 67], at: usize) -> u8 {
        let (block, length) = block(bytes, at);
        let end = (at & 63) + length;
        self.numbers[(CLASS_BLOCKS[block][(bytes[end - 2] << 6 | bytes[end - 1] & 0x3f) as usize] & 15) as usize]
    }
}

/// The number of the class of all characters of an octant if that is a class of letters, else 0.
const fn octant(alphabet: Alphabet, lead: u32, octant: u32) -> u8 {
    let (first, count) =
        if lead < 0x20 { (lead << 6 | octant << 3, 8) } else { ((lead & 0xf) << 12 | octant << 9, 512) };
    let class = alphabet.of(first);
    if !matches!(class, Class::Letter | Class::Lower | Class::Upper | Class::ApartLetter) {
        return 0;
    }
    let mut same = 1;
    while same < count {
        if alphabet.of(first + same) as u8 != class as u8 {
            return 0;
        }
        same += 1;
    }
    alphabet.number(class)
}

/// Which block of the generated table is the character's page, and the character's length.
#[inline(always)]
fn block(bytes: &[u8; 67], at: usize) -> (usize, usize) {
    let at = at & 63; // which it is anyway, so that no bound has to be asked for
    let low = |offset: usize| (bytes[at + offset] & 0x3f) as usize;
    let (page, length) = match bytes[at] {
        0..0xe0 => (low(0) >> 2, 2),
        0xe0..0xf0 => ((low(0) & 0xf) << 4 | low(1) >> 2, 3),
        _ => ((low(0) & 7) << 10 | low(1) << 4 | low(2) >> 2, 4),
    };
    (CLASS_PAGES[page] as usize, length)
}
