//! GPT-2's pieces by blocks of 64 bytes: a bit for each byte and class, and algebra on them.
//!
//! A byte has the class of the character that it is part of. With the classes of a block as masks,
//! the piece starts of the block are a few shifts and ands (rules, one by one, in [`Scanner::starts`]);
//! nothing is branched on but what is rare in text: contractions and whitespace outside ASCII. ASCII
//! is classified 64 bytes at a time by [`Classify`], with AVX2 where the processor has it and eight bytes to
//! a word elsewhere; other characters one by one from the generated tables. [`scalar`](super::scalar)
//! says the same pattern a character at a time, and the tests compare all of them with fancy-regex.

use super::Boundaries;
use super::classes::Class;
use super::scalar::contraction;
use crate::interrupt::TEXT_BETWEEN_CHECKS;

/// What 64 bytes are, a bit each. Bytes from 0x80 up are only in `high` and `continuation`.
#[derive(Clone, Copy, Default)]
pub struct Ascii {
    pub letter: u64,
    pub number: u64,
    pub space: u64,
    /// U+0020.
    pub blank: u64,
    pub apostrophe: u64,
    pub high: u64,
    /// 0x80 to 0xBF.
    pub continuation: u64,
}

/// A way to classify 64 bytes.
pub trait Classify {
    fn classify(bytes: &[u8; 64]) -> Ascii;
}

const BLOCK: usize = 64;

/// What a block leaves to the next: a bit for its last byte in each class, and what reaches beyond it.
#[derive(Default)]
struct Carry {
    letter: u64,
    number: u64,
    space: u64,
    other: u64,
    blank: u64,
    /// Bytes of the last character that lie in the next block, and its class.
    spill: u32,
    spill_class: Class,
    /// Starts that a contraction at the end of the block adds to the next, and takes from it.
    set: u64,
    clear: u64,
}

pub struct Scanner<'t> {
    text: &'t str,
    /// Where the next block begins.
    at: usize,
    /// Where the next piece begins.
    start: usize,
    carry: Carry,
}

impl<'t> Scanner<'t> {
    /// The pieces of `text` from the one that starts at byte `start` on.
    #[inline]
    pub fn new(text: &'t str, start: usize) -> Self {
        Scanner { text, at: start, start, carry: Carry::default() }
    }

    /// The next pieces: enough for a batch, or all that are left, or those of as much text as may go by
    /// between two looks for an interrupt. False at the end of the text.
    #[inline]
    pub fn next(&mut self, boundaries: &mut Boundaries) -> bool {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("popcnt") {
            #[target_feature(enable = "avx2,bmi1,popcnt")]
            fn next(scanner: &mut Scanner, boundaries: &mut Boundaries) -> bool {
                scanner.next_by::<Avx2>(boundaries)
            }
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { next(self, boundaries) };
        }
        self.next_by::<Words>(boundaries)
    }

    #[inline(always)]
    pub fn next_by<C: Classify>(&mut self, boundaries: &mut Boundaries) -> bool {
        boundaries.begin(self.start);
        if self.start == self.text.len() {
            return false;
        }
        let last = self.at.saturating_add(TEXT_BETWEEN_CHECKS);
        while !boundaries.is_enough() && self.at < self.text.len() && self.at < last {
            let (at, starts) = self.next_block::<C>();
            // The first piece's start is no end.
            boundaries.push_mask(at, if at == self.start { starts & !1 } else { starts });
        }
        if self.at >= self.text.len() {
            boundaries.push(self.text.len());
        }
        self.start = boundaries.last();
        true
    }
}

impl Scanner<'_> {
    /// The next block, which is not past the end: where it begins, and a bit for each byte at which a piece starts.
    #[inline(always)]
    fn next_block<C: Classify>(&mut self) -> (usize, u64) {
        let at = self.at;
        let rest = &self.text.as_bytes()[at..];
        self.at += BLOCK;
        if let Some(block) = rest.first_chunk() {
            return (at, self.starts(at, BLOCK, C::classify(block)));
        }
        let mut block = [0; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        let starts = self.starts(at, rest.len(), C::classify(&block));
        (at, starts & !(!0 << rest.len()))
    }

    /// The piece starts of the block at byte `at`, of which `length` bytes are text.
    #[inline(always)]
    fn starts(&mut self, at: usize, length: usize, ascii: Ascii) -> u64 {
        let Ascii { mut letter, mut number, mut space, blank, apostrophe, .. } = ascii;
        let carry = std::mem::take(&mut self.carry);
        // The last character of a whitespace run, where more text follows. Past the end of the text counts as
        // whitespace, since there nothing is given back.
        let mut after_space = space >> 1;
        if length < BLOCK {
            after_space |= 1 << (length - 1);
        } else if space >> 63 != 0 {
            let more = Class::at(self.text, at + BLOCK).is_none_or(|(class, _)| class == Class::Space);
            after_space |= (more as u64) << 63;
        }
        let mut given_back = 0;
        if ascii.high != 0 {
            // Without a branch on the class, which no processor can guess.
            let mut put = |class: Class, bits: u64| {
                letter |= if class == Class::Letter { bits } else { 0 };
                number |= if class == Class::Number { bits } else { 0 };
                space |= if class == Class::Space { bits } else { 0 };
            };
            put(carry.spill_class, !(!0 << carry.spill));
            let mut leads = ascii.high & !ascii.continuation;
            while leads != 0 {
                let lead = leads.trailing_zeros();
                leads &= leads - 1;
                let Some((class, size)) = Class::at(self.text, at + lead as usize) else { break };
                put(class, !(!0 << size) << lead);
                if lead + size as u32 > BLOCK as u32 {
                    (self.carry.spill, self.carry.spill_class) = (lead + size as u32 - BLOCK as u32, class);
                }
                if class == Class::Space {
                    let next = Class::at(self.text, at + lead as usize + size);
                    given_back |= (next.is_some_and(|(class, _)| class != Class::Space) as u64) << lead;
                }
            }
            // An ASCII space before another character of this block.
            after_space |= space >> 1;
        }
        given_back |= ascii.space & !after_space;

        let other = !(letter | number | space);
        let run = |class: u64, carried: u64| class & !(class << 1 | carried);
        let before = blank << 1 | carry.blank;
        let runs = (run(letter, carry.letter) | run(number, carry.number) | run(other, carry.other)) & !before;
        let mut starts = runs | run(space, carry.space) | given_back;
        starts = (starts | carry.set) & !carry.clear;

        let mut quotes = apostrophe & starts;
        while quotes != 0 {
            let quote = quotes.trailing_zeros();
            quotes &= quotes - 1;
            let after = at + quote as usize + 1;
            if let Some(letters) = contraction(self.text.as_bytes().get(after..).unwrap_or_default()) {
                // The first letter starts nothing; what follows the last one does.
                let (set, clear) = ((1u128 << quote) << (letters + 1), (1u128 << quote) << 1);
                starts = (starts | set as u64) & !(clear as u64);
                self.carry.set |= (set >> 64) as u64;
                self.carry.clear |= (clear >> 64) as u64;
            }
        }

        self.carry.letter = letter >> 63;
        self.carry.number = number >> 63;
        self.carry.space = space >> 63;
        self.carry.other = other >> 63;
        self.carry.blank = blank >> 63;
        starts
    }
}

/// For processors without a wider way: a byte of flags for each byte of text, which the compiler does with whatever
/// vectors there are, and eight of them to a word for the masks.
pub struct Words;

impl Classify for Words {
    #[inline(always)]
    fn classify(bytes: &[u8; 64]) -> Ascii {
        let mut flags = [0u8; 64];
        for (flags, &byte) in flags.iter_mut().zip(bytes) {
            let within = |byte: u8, first: u8, last: u8| byte.wrapping_sub(first) <= last - first;
            let flag = |is: bool, number: u8| (is as u8) << number;
            let blank = byte == b' ';
            *flags = flag(within(byte | 0x20, b'a', b'z'), 0)
                | flag(within(byte, b'0', b'9'), 1)
                | flag(within(byte, 0x09, 0x0d) | blank, 2)
                | flag(blank, 3)
                | flag(byte == b'\'', 4)
                | flag(byte >= 0x80, 5)
                | flag(within(byte, 0x80, 0xbf), 6);
        }
        let mut masks = [0; 7];
        for (word, shift) in flags.as_chunks().0.iter().zip((0..).step_by(8)) {
            let word = u64::from_le_bytes(*word);
            for (mask, number) in masks.iter_mut().zip(0..) {
                // The lowest bit of each byte, gathered in the top byte of a product.
                let bits = word >> number & 0x0101_0101_0101_0101;
                *mask |= (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) << shift;
            }
        }
        let [letter, number, space, blank, apostrophe, high, continuation] = masks;
        Ascii { letter, number, space, blank, apostrophe, high, continuation }
    }
}

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Ascii, Classify};
    use std::arch::x86_64::*;

    /// 32 bytes to a register. Only for a caller that has seen that the processor has AVX2.
    pub struct Avx2;

    impl Classify for Avx2 {
        #[inline(always)]
        fn classify(bytes: &[u8; 64]) -> Ascii {
            // SAFETY: `Pattern::pieces` names this type only behind `is_x86_feature_detected!("avx2")`, in a
            // function compiled for AVX2; both loads are inside the 64 bytes.
            unsafe { classify(bytes) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn classify(bytes: &[u8; 64]) -> Ascii {
        // SAFETY: 32 bytes from offset 0 and from offset 32 of 64.
        let halves =
            unsafe { [_mm256_loadu_si256(bytes.as_ptr().cast()), _mm256_loadu_si256(bytes.as_ptr().add(32).cast())] };
        let [low, high] = halves.map(|half| {
            let within = |bytes: __m256i, first: u8, last: u8| {
                let from_first = _mm256_sub_epi8(bytes, _mm256_set1_epi8(first as i8));
                _mm256_cmpeq_epi8(_mm256_min_epu8(from_first, _mm256_set1_epi8((last - first) as i8)), from_first)
            };
            let equal = |byte: u8| _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8));
            let bits = |bytes: __m256i| _mm256_movemask_epi8(bytes) as u32 as u64;
            let blank = equal(b' ');
            Ascii {
                letter: bits(within(_mm256_or_si256(half, _mm256_set1_epi8(0x20)), b'a', b'z')),
                number: bits(within(half, b'0', b'9')),
                space: bits(_mm256_or_si256(within(half, 0x09, 0x0d), blank)),
                blank: bits(blank),
                apostrophe: bits(equal(b'\'')),
                high: bits(half),
                // As signed numbers, 0x80 to 0xBF are below -64.
                continuation: bits(_mm256_cmpgt_epi8(_mm256_set1_epi8(-64), half)),
            }
        });
        Ascii {
            letter: low.letter | high.letter << 32,
            number: low.number | high.number << 32,
            space: low.space | high.space << 32,
            blank: low.blank | high.blank << 32,
            apostrophe: low.apostrophe | high.apostrophe << 32,
            high: low.high | high.high << 32,
            continuation: low.continuation | high.continuation << 32,
        }
    }
}
