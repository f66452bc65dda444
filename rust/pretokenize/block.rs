//! 64 bytes of text, and what they are: a mask of each kind, a bit a byte.

use super::classes::{Alphabet, BITS, Bits, Tables};
use super::rules::Family;

pub const BLOCK: usize = 64;

/// A block, and three bytes more, so that all bytes of its last character are there.
pub type Window = [u8; BLOCK + 3];

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

    /// The classes of all characters outside ASCII: first of the letters that the first two bytes tell, which most characters of
    /// Chinese, Korean, Cyrillic or Latin are; and of what is left, of all that share a page of 256, since a text has few.
    #[inline(always)]
    pub fn put_characters<F: Family, W: Wide>(&mut self, window: &Window) {
        let alphabet = const { F::RULES.alphabet };
        let tables = alphabet.tables();
        let letters = W::letters::<F>(window, tables);
        self.put(alphabet, letters);
        let mut leads = self.high & !self.continuation & !(letters[0] | letters[1] | letters[2]);
        while leads != 0 {
            let lead = leads.trailing_zeros() as usize;
            // A page costs about as much as three characters.
            if leads.count_ones() > 3 {
                let [class @ .., on_page] = W::on_page::<F>(window, lead, tables);
                self.put(alphabet, class);
                leads &= !on_page;
            } else {
                self.put_character(alphabet, window, lead);
                leads &= leads - 1;
            }
        }
    }
}

/// Many characters of a block at once.
pub trait Wide {
    /// The bits of the classes of the characters of which the first two bytes say what letters they are.
    fn letters<F: Family>(window: &Window, tables: &Tables) -> Bits;

    /// The bits of the classes of all characters on the page of the one that begins at byte `lead`, and those characters.
    fn on_page<F: Family>(window: &Window, lead: usize, tables: &Tables) -> [u64; BITS + 1];
}
