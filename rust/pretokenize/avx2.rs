//! The classes of a block with AVX2, in two halves.

use std::arch::x86_64::*;

use super::block::{BLOCK, Classes, Wide, Window};
use super::classes::{Alphabet, BITS, Tables};
use super::rules::Family;
use super::scanner::By;

/// 32 bytes to a register. Only for a caller that has seen that the processor has AVX2.
pub struct Avx2;

impl By for Avx2 {
    #[inline(always)]
    fn classify<F: Family>(window: &Window) -> Classes {
        // SAFETY: `Scanner::next_by` names this type only for a processor that has AVX2, in a function compiled for it.
        unsafe { classify::<F>(window) }
    }
}

impl Wide for Avx2 {
    #[inline(always)]
    fn letters<F: Family>(window: &Window, tables: &Tables) -> [u64; BITS] {
        // SAFETY: as above.
        unsafe { letters::<F>(window, tables) }
    }

    #[inline(always)]
    fn on_page<F: Family>(window: &Window, lead: usize, tables: &Tables) -> [u64; BITS + 1] {
        // SAFETY: as above.
        unsafe { on_page::<F>(window, lead, tables) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn classify<F: Family>(window: &Window) -> Classes {
    let alphabet = const { F::RULES.alphabet };
    let halves = [0, 32].map(|half| {
        let bytes = load(window, half);
        let within = |bytes: __m256i, first: u8, last: u8| {
            let from_first = _mm256_sub_epi8(bytes, all(first));
            _mm256_cmpeq_epi8(_mm256_min_epu8(from_first, all(last - first)), from_first)
        };
        let or = |one: __m256i, other: __m256i| _mm256_or_si256(one, other);
        let is = |byte: u8| _mm256_cmpeq_epi8(bytes, all(byte));
        let blank = is(b' ');
        let space = or(within(bytes, 0x09, 0x0d), blank);
        let digit = within(bytes, b'0', b'9');
        let letter = within(or(bytes, all(0x20)), b'a', b'z');
        let class = match alphabet {
            Alphabet::Plain => [or(letter, space), or(digit, space), _mm256_setzero_si256()],
            Alphabet::Cased => {
                // 0x20 is what sets lower case apart.
                let small = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, all(0x20)), all(0x20));
                let [lower, upper] = [_mm256_and_si256(letter, small), _mm256_andnot_si256(small, letter)];
                [or(lower, space), or(upper, space), or(digit, space)]
            }
            Alphabet::Apart => {
                let visible = within(bytes, 0x21, 0x7e);
                [or(or(letter, digit), space), or(_mm256_andnot_si256(letter, visible), space), digit]
            }
        };
        let newline = or(is(b'\r'), is(b'\n'));
        [
            bits(class[0]),
            bits(class[1]),
            bits(class[2]),
            // One mask for two that are of different classes.
            bits(or(blank, is(b'\''))),
            bits(or(newline, is(b'/'))),
            // As signed numbers, 0x80 to 0xBF are below 0xC0.
            bits(_mm256_cmpgt_epi8(all(0xc0), bytes)),
            bits(bytes),
        ]
    });
    let [class @ .., first, second, continuation, high] = joined(halves);
    let space = alphabet.space(class);
    let mut classes = Classes {
        class,
        blank: first & space,
        apostrophe: first & !space,
        newline: second & space,
        slash: second & !space,
        continuation,
        high,
        wide_space: 0,
        next: window[BLOCK],
    };
    if high != 0 {
        classes.put_characters::<F, Avx2>(window);
    }
    classes
}

#[inline]
#[target_feature(enable = "avx2")]
fn letters<F: Family>(window: &Window, tables: &Tables) -> [u64; BITS] {
    joined([0, 32].map(|half| {
        let (lead, second) = (load(window, half), load(window, half + 1));
        let of_leads = |first: u8, octants: &[u8; 16]| among_16(_mm256_sub_epi8(lead, all(first)), octants);
        let mut letters = [0; BITS];
        for (bit, letters) in letters.iter_mut().enumerate() {
            if const { F::RULES.alphabet.octant_bits() }[bit] {
                let [c, d, e, _] = tables.octants[bit].as_chunks().0 else { unreachable!("64 bytes") };
                let octants = _mm256_or_si256(_mm256_or_si256(of_leads(0xc0, c), of_leads(0xd0, d)), of_leads(0xe0, e));
                *letters = bits(has(octants, _mm256_srli_epi16(second, 3)));
            }
        }
        letters
    }))
}

#[inline]
#[target_feature(enable = "avx2")]
fn on_page<F: Family>(window: &Window, lead: usize, tables: &Tables) -> [u64; BITS + 1] {
    let (page, length) = tables.page(window, lead);
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
        let third = if const { F::RULES.alphabet.bits() } > 2 { among(&page[2]) } else { 0 };
        [among(&page[0]), among(&page[1]), third, bits(same)]
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
