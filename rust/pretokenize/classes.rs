//! The class of a character, from the generated tables.

use crate::unicode_tables::{CLASS_BLOCKS, CLASS_PAGES};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    #[default]
    Other = 0,
    Letter = 1,
    Number = 2,
    Space = 3,
}

impl Class {
    #[inline]
    pub fn of(code: u32) -> Class {
        let block = CLASS_PAGES[(code >> 8) as usize];
        match CLASS_BLOCKS[block as usize][(code & 0xff) as usize] {
            1 => Class::Letter,
            2 => Class::Number,
            3 => Class::Space,
            _ => Class::Other,
        }
    }

    /// The class of the character that starts at byte `at`, and its length in bytes.
    #[inline]
    pub fn at(text: &str, at: usize) -> Option<(Class, usize)> {
        let first = *text.as_bytes().get(at)?;
        if first < 0x80 {
            return Some((Class::of(first as u32), 1));
        }
        let c = text[at..].chars().next()?;
        Some((Class::of(c as u32), c.len_utf8()))
    }
}
