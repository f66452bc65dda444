//! For processors without a wider way: a byte of flags for each byte of text, which the compiler does with whatever vectors
//! there are, and eight of them to a word for the masks. Characters outside ASCII are classified one by one.

use super::block::{BLOCK, Classes, Window};
use super::classes::Class;
use super::rules::Family;
use super::scanner::By;

pub struct Words;

impl By for Words {
    #[inline(always)]
    fn classify<F: Family>(window: &Window) -> Classes {
        let alphabet = F::RULES.alphabet;
        let mut flags = [0u8; BLOCK];
        for (flags, &byte) in flags.iter_mut().zip(window) {
            let within = |byte: u8, first: u8, last: u8| byte.wrapping_sub(first) <= last - first;
            let flag = |is: bool, number: u8| if is { number } else { 0 };
            let blank = byte == b' ';
            let upper = within(byte, b'A', b'Z');
            let lower = within(byte, b'a', b'z');
            let digit = within(byte, b'0', b'9');
            let space = within(byte, 0x09, 0x0d) | blank;
            let sign = within(byte, 0x21, 0x7e) & !upper & !lower & !digit;
            let newline = byte == b'\n' || byte == b'\r';
            *flags = flag(upper, const { F::RULES.alphabet.number_of_ascii(Class::Upper) })
                | flag(lower, const { F::RULES.alphabet.number_of_ascii(Class::Lower) })
                | flag(digit, const { F::RULES.alphabet.number(Class::Number) })
                | flag(space, const { F::RULES.alphabet.number(Class::Space) })
                | flag(sign, const { F::RULES.alphabet.number(Class::Other) })
                // One flag for two that are of different classes.
                | flag(blank | (byte == b'\''), 1 << 3)
                | flag(newline | (byte == b'/'), 1 << 4)
                | flag(within(byte, 0x80, 0xbf), 1 << 5)
                | flag(byte >= 0xc0, 1 << 6);
        }
        let [class @ .., first, second, continuation, mut leads, _] = transpose(flags);
        let space = alphabet.space(class);
        let mut classes = Classes {
            class,
            blank: first & space,
            apostrophe: first & !space,
            newline: second & space,
            slash: second & !space,
            continuation,
            high: continuation | leads,
            wide_space: 0,
            next: window[BLOCK],
        };
        while leads != 0 {
            classes.put_character(alphabet, window, leads.trailing_zeros() as usize);
            leads &= leads - 1;
        }
        classes
    }
}

/// The lowest bits of all bytes, the next bits, and so on.
#[inline(always)]
fn transpose(bytes: [u8; BLOCK]) -> [u64; 8] {
    let mut words: [u64; 8] = std::array::from_fn(|at| u64::from_le_bytes(bytes.as_chunks().0[at]));
    // Each word as eight rows of eight bits: what is on one side of the diagonal for what is on the other, in squares of
    // one bit, of two by two, of four by four.
    for (apart, squares) in [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        for word in &mut words {
            let differ = (*word ^ *word >> apart) & squares;
            *word ^= differ ^ differ << apart;
        }
    }
    std::array::from_fn(|bit| u64::from_le_bytes(words.map(|word| word.to_le_bytes()[bit])))
}
