//! The class of a character, from the generated tables.
//!
//! A *page* is the 256 characters that have all but the last eight bits in common: in UTF-8, all but the last two bits of the
//! last byte but one and the last byte. Most texts are of few pages. Those of Chinese and Korean are of many, but nearly
//! all of them letters, which an *octant* tells: the first byte, and the first three of the six bits of the second.

use crate::unicode_tables::{CLASS_BLOCKS, CLASS_PAGES};

/// The numbers are [`CLASS_BITS`] bits long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    Other = 0,
    Letter = 1,
    Number = 2,
    Space = 3,
}

pub const CLASS_BITS: usize = 2;

impl Class {
    #[inline]
    pub const fn of(code: u32) -> Class {
        let block = CLASS_PAGES[(code >> 8) as usize];
        Class::numbered(CLASS_BLOCKS[block as usize][(code & 0xff) as usize])
    }

    /// By the number in the generated table.
    const fn numbered(number: u8) -> Class {
        match number {
            1..=3 | 11 => Class::Letter,
            5 => Class::Number,
            6 => Class::Space,
            _ => Class::Other,
        }
    }

    /// The class of the character that starts at byte `at`, and its length in bytes.
    #[inline]
    pub fn at(text: &str, at: usize) -> Option<(Class, usize)> {
        let character = text.get(at..)?.chars().next()?;
        Some((Class::of(character as u32), character.len_utf8()))
    }
}

/// For each bit of a class's number, the set of the characters of a page whose class has it.
pub type Page = [[u8; 32]; CLASS_BITS];

/// The page of the character of two bytes or more that begins at byte `at`, and the character's length.
#[inline(always)]
pub fn page(bytes: &[u8; 67], at: usize) -> (&'static Page, usize) {
    let (block, length) = block(bytes, at);
    (&PAGES[block], length)
}

/// The number of the class of the character of two bytes or more that begins at byte `at`.
#[inline(always)]
pub fn class_number(bytes: &[u8; 67], at: usize) -> u8 {
    let (block, length) = block(bytes, at);
    let end = (at & 63) + length;
    Class::numbered(CLASS_BLOCKS[block][(bytes[end - 2] << 6 | bytes[end - 1] & 0x3f) as usize]) as u8
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

static PAGES: [Page; CLASS_BLOCKS.len()] = {
    let mut pages = [[[0; 32]; CLASS_BITS]; CLASS_BLOCKS.len()];
    let mut at = 0;
    while at < CLASS_BLOCKS.len() << 8 {
        let class = Class::numbered(CLASS_BLOCKS[at >> 8][at & 0xff]) as u8;
        let mut bit = 0;
        while bit < CLASS_BITS {
            pages[at >> 8][bit][at >> 3 & 31] |= (class >> bit & 1) << (at & 7);
            bit += 1;
        }
        at += 1;
    }
    pages
};

/// For the first bytes 0xC0 to 0xEF, of characters of two and three bytes: a bit for each octant that is all letters.
pub static LETTER_OCTANTS: [u8; 48] = {
    let mut octants = [0; 48];
    let mut at = 0;
    while at < 48 * 8 {
        let (lead, octant) = (at as u32 / 8, at as u32 % 8);
        let (first, count) =
            if lead < 0x20 { (lead << 6 | octant << 3, 8) } else { ((lead & 0xf) << 12 | octant << 9, 512) };
        let mut letters = 0;
        while letters < count && matches!(Class::of(first + letters), Class::Letter) {
            letters += 1;
        }
        octants[at / 8] |= ((letters == count) as u8) << octant;
        at += 1;
    }
    octants
};
