//! GPT-2's pieces by blocks of 64 bytes: a bit for each byte and class, and algebra on them.
//!
//! A byte has the class of the character that it is part of. With the classes of a block as masks (two, for the bits of the
//! class's number), the piece starts of the block are a few shifts and ands (rules, one by one, in [`Scanner::starts`]);
//! nothing is branched on but what is rare in text: contractions and whitespace outside ASCII.
//!
//! The masks are made by [`Classify`], from the tables of [`classes`](super::classes). With AVX2, ASCII is classified 64
//! bytes at a time; so are the letters that the first two bytes tell, which most characters of Chinese, Korean, Cyrillic or
//! Latin are; and of what is left, all characters of a block that share a page of 256, since a text has few. Elsewhere
//! ASCII is done eight bytes to a word, and other characters one by one. [`scalar`](super::scalar) says the same pattern a
//! character at a time, and the tests compare all of them with fancy-regex.

use super::Boundaries;
use super::classes::{CLASS_BITS, Class, class_number};
use super::scalar::contraction;
use crate::interrupt::TEXT_BETWEEN_CHECKS;

const BLOCK: usize = 64;

/// A block, and three bytes more, so that all bytes of its last character are there.
pub type Window = [u8; BLOCK + 3];

/// What the bytes of a block are, a bit each.
#[derive(Clone, Copy, Default)]
pub struct Classes {
    /// The bits of a class's number; of a character outside ASCII the first byte alone has them.
    pub class: [u64; CLASS_BITS],
    /// U+0020.
    pub blank: u64,
    pub apostrophe: u64,
    /// 0x80 to 0xBF.
    pub continuation: u64,
    /// First bytes of whitespace outside ASCII.
    pub wide_space: u64,
}

impl Classes {
    /// The class of more characters outside ASCII.
    #[inline(always)]
    fn put(&mut self, class: [u64; CLASS_BITS]) {
        self.class[0] |= class[0];
        self.class[1] |= class[1];
        self.wide_space |= class[0] & class[1];
    }

    /// The class of the character outside ASCII that begins at byte `lead`.
    #[inline(always)]
    fn put_character(&mut self, window: &Window, lead: usize) {
        let number = class_number(window, lead) as u64;
        self.put([(number & 1) << lead, (number >> 1) << lead]);
    }
}

/// A way to classify a block.
pub trait Classify {
    fn classify(window: &Window) -> Classes;
}

/// What a block leaves to the next: bits for its last byte, and what a contraction at its end adds to the starts of the
/// next and takes from it.
#[derive(Clone, Copy)]
struct Carry {
    class: [u64; CLASS_BITS],
    blank: u64,
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
        // A piece starts here, and where the first one starts none ends.
        let carry = Carry { class: [0; CLASS_BITS], blank: 0, set: 1, clear: 1 };
        Scanner { text, at: start, start, carry }
    }

    /// The next pieces: enough for a batch, or all that are left, or those of as much text as may go by
    /// between two looks for an interrupt. False at the end of the text.
    #[inline]
    pub fn next(&mut self, boundaries: &mut Boundaries) -> bool {
        #[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
        {
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
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
        let last = self.at.saturating_add(TEXT_BETWEEN_CHECKS).min(self.text.len());
        while !boundaries.is_enough() && self.at < last {
            let (at, starts) = self.next_block::<C>();
            boundaries.push_mask(at, starts);
        }
        // In a last block that is not full there is an end already, if no whitespace is in front.
        if self.at >= self.text.len() && boundaries.last() != self.text.len() {
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
        let end: Window;
        let window = match rest.first_chunk() {
            Some(window) => window,
            None => {
                end = end_of_text(rest);
                &end
            }
        };
        (at, self.starts(at, window, C::classify(window)))
    }

    /// The piece starts of the block at byte `at`.
    #[inline(always)]
    fn starts(&mut self, at: usize, window: &Window, classes: Classes) -> u64 {
        let Classes { mut class, blank, apostrophe, mut wide_space, continuation } = classes;
        let carry = self.carry;
        let ascii_space = class[0] & class[1] & !wide_space;
        if continuation != 0 {
            // All but the first byte of a character are what the byte before is: ones added where they begin carry to
            // where they end.
            for (bit, carried) in class.iter_mut().zip(carry.class) {
                let begin = (*bit << 1 | carried) & continuation;
                *bit |= continuation & !continuation.wrapping_add(begin);
            }
        }

        // The last character of a whitespace run, where more text follows. (What the first byte of a longer character would
        // be as a character is no whitespace.)
        let after = window[BLOCK];
        let mut before_space = (class[0] & class[1]) >> 1 | ((Class::of(after as u32) == Class::Space) as u64) << 63;
        if after >= 0x80 && ascii_space >> 63 != 0 {
            before_space |= (self.is_space(at + BLOCK) as u64) << 63;
        }
        let mut given_back = ascii_space & !before_space;
        while wide_space != 0 {
            let lead = wide_space.trailing_zeros();
            wide_space &= wide_space - 1;
            let size = self.text[at + lead as usize..].chars().next().map_or(0, char::len_utf8);
            given_back |= (!self.is_space(at + lead as usize + size) as u64) << lead;
        }

        let change = |bit: usize| class[bit] ^ (class[bit] << 1 | carry.class[bit]);
        let mut starts = (change(0) | change(1)) & !(blank << 1 | carry.blank) | given_back | carry.set;

        let (mut set, mut clear) = (0, carry.clear as u128);
        let mut quotes = apostrophe & starts;
        while quotes != 0 {
            let quote = quotes.trailing_zeros();
            quotes &= quotes - 1;
            let after = at + quote as usize + 1;
            if let Some(letters) = contraction(self.text.as_bytes().get(after..).unwrap_or_default()) {
                // The first letter starts nothing; what follows the last one does.
                clear |= 2 << quote;
                set |= (2u128 << quote) << letters;
                starts |= set as u64;
            }
        }
        self.carry = Carry {
            class: class.map(|bit| bit >> 63),
            blank: blank >> 63,
            set: (set >> 64) as u64,
            clear: (clear >> 64) as u64,
        };
        starts & !clear as u64
    }

    /// Of the character at byte `at`; past the end is whitespace too.
    fn is_space(&self, at: usize) -> bool {
        Class::at(self.text, at).is_none_or(|(class, _)| class == Class::Space)
    }
}

/// Past the end is whitespace: in front of it whitespace gives nothing back.
#[cold]
fn end_of_text(rest: &[u8]) -> Window {
    let mut window = [b' '; BLOCK + 3];
    window[..rest.len()].copy_from_slice(rest);
    window
}

/// For processors without a wider way: a byte of flags for each byte of text, which the compiler does with whatever
/// vectors there are, and eight of them to a word for the masks.
pub struct Words;

impl Classify for Words {
    #[inline(always)]
    fn classify(window: &Window) -> Classes {
        let mut flags = [0u8; BLOCK];
        for (flags, &byte) in flags.iter_mut().zip(window) {
            let within = |byte: u8, first: u8, last: u8| byte.wrapping_sub(first) <= last - first;
            let flag = |is: bool, number: u8| (is as u8) << number;
            let blank = byte == b' ';
            let space = within(byte, 0x09, 0x0d) | blank;
            *flags = flag(within(byte | 0x20, b'a', b'z') | space, 0)
                | flag(within(byte, b'0', b'9') | space, 1)
                | flag(blank, 2)
                | flag(byte == b'\'', 3)
                | flag(within(byte, 0x80, 0xbf), 4)
                | flag(byte >= 0xc0, 5);
        }
        let [class @ .., blank, apostrophe, continuation, mut leads, _, _] = transpose(flags);
        let mut classes = Classes { class, blank, apostrophe, continuation, wide_space: 0 };
        while leads != 0 {
            classes.put_character(window, leads.trailing_zeros() as usize);
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

#[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
pub use avx2::Avx2;

#[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
mod avx2 {
    use super::{Classes, Classify, Window};
    use crate::pretokenize::classes::{LETTER_OCTANTS, page};
    use std::arch::x86_64::*;

    /// 32 bytes to a register. Only for a caller that has seen that the processor has AVX2.
    pub struct Avx2;

    impl Classify for Avx2 {
        #[inline(always)]
        fn classify(window: &Window) -> Classes {
            // SAFETY: `Scanner::next` names this type only behind `is_x86_feature_detected!("avx2")`, in a
            // function compiled for AVX2.
            unsafe { classify(window) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn classify(window: &Window) -> Classes {
        let halves = [0, 32].map(|half| {
            let bytes = load(window, half);
            let within = |bytes: __m256i, first: u8, last: u8| {
                let from_first = _mm256_sub_epi8(bytes, all(first));
                _mm256_cmpeq_epi8(_mm256_min_epu8(from_first, all(last - first)), from_first)
            };
            let blank = _mm256_cmpeq_epi8(bytes, all(b' '));
            let space = _mm256_or_si256(within(bytes, 0x09, 0x0d), blank);
            let letter = within(_mm256_or_si256(bytes, all(0x20)), b'a', b'z');
            [
                bits(_mm256_or_si256(letter, space)),
                bits(_mm256_or_si256(within(bytes, b'0', b'9'), space)),
                bits(blank),
                bits(_mm256_cmpeq_epi8(bytes, all(b'\''))),
                // As signed numbers, 0x80 to 0xBF are below 0xC0.
                bits(_mm256_cmpgt_epi8(all(0xc0), bytes)),
                bits(bytes),
            ]
        });
        let [class @ .., blank, apostrophe, continuation, high] = joined(halves);
        let mut classes = Classes { class, blank, apostrophe, continuation, wide_space: 0 };
        if high != 0 {
            let [letters] = letters(window);
            classes.put([letters, 0]);
            let mut leads = high & !continuation & !letters;
            while leads != 0 {
                let lead = leads.trailing_zeros() as usize;
                // A page costs about as much as three characters.
                if leads.count_ones() > 3 {
                    let [class @ .., on_page] = on_page(window, lead);
                    classes.put(class);
                    leads &= !on_page;
                } else {
                    classes.put_character(window, lead);
                    leads &= leads - 1;
                }
            }
        }
        classes
    }

    /// The characters of which the first two bytes say that they are letters.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn letters(window: &Window) -> [u64; 1] {
        joined([0, 32].map(|half| {
            let (lead, second) = (load(window, half), load(window, half + 1));
            let of_leads = |first: u8, octants: &[u8; 16]| among_16(_mm256_sub_epi8(lead, all(first)), octants);
            let [c, d, e] = LETTER_OCTANTS.as_chunks().0 else { unreachable!("48 bytes") };
            let octants = _mm256_or_si256(_mm256_or_si256(of_leads(0xc0, c), of_leads(0xd0, d)), of_leads(0xe0, e));
            [bits(has(octants, _mm256_srli_epi16(second, 3)))]
        }))
    }

    /// The bits of the classes of all characters on the page of the one that begins at byte `lead`, and those characters.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn on_page(window: &Window, lead: usize) -> [u64; 3] {
        let (page, length) = page(window, lead);
        joined([0, 32].map(|half| {
            // All bytes in common but the last six bits of the last and the last two of the one before.
            let (last_but_one, last) = (load(window, half + length - 2), load(window, half + length - 1));
            let prefix = all(window[lead + length - 2] & 0xfc);
            let mut same = _mm256_cmpeq_epi8(_mm256_and_si256(last_but_one, all(0xfc)), prefix);
            for offset in 0..length - 2 {
                let common = _mm256_cmpeq_epi8(load(window, half + offset), all(window[lead + offset]));
                same = _mm256_and_si256(same, common);
            }
            // These eight bits number a character's bit in a set: five its byte, three the bit there.
            let byte = _mm256_or_si256(
                _mm256_and_si256(_mm256_slli_epi16(last_but_one, 3), all(0x18)),
                _mm256_and_si256(_mm256_srli_epi16(last, 3), all(0x07)),
            );
            let among = |set: &[u8; 32]| {
                let [first, second] = set.as_chunks().0 else { unreachable!("32 bytes") };
                let of_set = _mm256_or_si256(among_16(byte, first), among_16(_mm256_sub_epi8(byte, all(16)), second));
                bits(has(_mm256_and_si256(of_set, same), last))
            };
            [among(&page[0]), among(&page[1]), bits(same)]
        }))
    }

    /// For each number below 16 that byte of the table, for others 0.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn among_16(numbers: __m256i, table: &[u8; 16]) -> __m256i {
        // SAFETY: 16 bytes of 16.
        let table = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) });
        // The shuffle takes the last four bits, and gives 0 where the first bit is set.
        _mm256_shuffle_epi8(table, _mm256_adds_epu8(numbers, all(0x70)))
    }

    /// Whether each byte of `sets` has the bit that the last three bits of `numbers` number.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn has(sets: __m256i, numbers: __m256i) -> __m256i {
        let powers = _mm256_set1_epi64x(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
        let bit = _mm256_shuffle_epi8(powers, _mm256_and_si256(numbers, all(7)));
        _mm256_cmpeq_epi8(_mm256_and_si256(sets, bit), bit)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(byte: u8) -> __m256i {
        _mm256_set1_epi8(byte as i8)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(window: &Window, from: usize) -> __m256i {
        let bytes = &window[from..][..32];
        // SAFETY: 32 bytes of 32.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    /// The first bit of each byte.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bits(bytes: __m256i) -> u64 {
        _mm256_movemask_epi8(bytes) as u32 as u64
    }

    #[inline(always)]
    fn joined<const N: usize>([low, high]: [[u64; N]; 2]) -> [u64; N] {
        std::array::from_fn(|mask| low[mask] | high[mask] << 32)
    }
}
