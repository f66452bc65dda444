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
    pub const fn of(code: u32) -> Class {
        let block = CLASS_PAGES[(code >> 8) as usize];
        match CLASS_BLOCKS[block as usize][(code & 0xff) as usize] {
            1 => Class::Letter,
            2 => Class::Number,
            3 => Class::Space,
            _ => Class::Other,
        }
    }

    /// The class of the character that starts at byte `at`, and its length in bytes.
    #[inline(always)]
    pub fn at(text: &str, at: usize) -> Option<(Class, usize)> {
        let bytes = text.as_bytes();
        let low = |offset: usize| Some((*bytes.get(at + offset)? & 0x3f) as u32);
        let first = *bytes.get(at)?;
        match first {
            0..0x80 => Some((Class::of(first as u32), 1)),
            0x80..0xe0 => Some((SHORT[((first & 0x1f) as usize) << 6 | low(1)? as usize], 2)),
            0xe0..0xf0 => {
                let row = (first as u32 & 0xf) << 6 | low(1)?;
                match ROWS[row as usize] {
                    Some(class) => Some((class, 3)),
                    None => Some((Class::of(row << 6 | low(2)?), 3)),
                }
            }
            _ => Some((Class::of((first as u32 & 7) << 18 | low(1)? << 12 | low(2)? << 6 | low(3)?), 4)),
        }
    }
}

/// Of characters of one and two bytes.
static SHORT: [Class; 0x800] = {
    let mut classes = [Class::Other; 0x800];
    let mut code = 0;
    while code < classes.len() {
        classes[code] = Class::of(code as u32);
        code += 1;
    }
    classes
};

/// Of 64 characters of three bytes that have the first two in common, where they have one class: most of
/// Chinese and Korean.
static ROWS: [Option<Class>; 0x400] = {
    let mut rows = [None; 0x400];
    let mut row = 0;
    while row < rows.len() {
        let first = (row as u32) << 6;
        let mut code = first;
        while code < first + 64 && Class::of(code) as u8 == Class::of(first) as u8 {
            code += 1;
        }
        if code == first + 64 {
            rows[row] = Some(Class::of(first));
        }
        row += 1;
    }
    rows
};
