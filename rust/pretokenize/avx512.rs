//! A block with AVX-512: all 64 bytes in one register, of which each comparison gives a mask, and from a mask all ends at once.

use std::arch::x86_64::*;

use super::block::{BLOCK, Classes, Wide, Window};
use super::classes::{Alphabet, BITS, Tables};
use super::rules::Family;
use super::scanner::By;

/// Only for a caller that has seen that the processor has AVX-512 with VBMI and VBMI2.
pub struct Avx512;

impl By for Avx512 {
    #[inline(always)]
    fn classify<F: Family>(window: &Window) -> Classes {
        // SAFETY: `Scanner::next_by` names this type only for a processor that has it, in a function compiled for it.
        unsafe { classify::<F>(window) }
    }

    #[inline(always)]
    fn ends(first: usize, mask: u64, room: &mut [usize; BLOCK]) {
        // SAFETY: as above.
        unsafe { ends(first, mask, room) }
    }
}

impl Wide for Avx512 {
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
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2")]
fn classify<F: Family>(window: &Window) -> Classes {
    let bytes = load(window, 0);
    let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, all(byte));
    let within = |bytes: __m512i, first: u8, last: u8| {
        _mm512_cmple_epu8_mask(_mm512_sub_epi8(bytes, all(first)), all(last - first))
    };
    let blank = is(b' ');
    let space = within(bytes, 0x09, 0x0d) | blank;
    let digit = within(bytes, b'0', b'9');
    let letter = within(_mm512_or_si512(bytes, all(0x20)), b'a', b'z');
    let class = match const { F::RULES.alphabet } {
        Alphabet::Plain => [letter | space, digit | space, 0],
        Alphabet::Cased => {
            // 0x20 is what sets lower case apart.
            let small = _mm512_test_epi8_mask(bytes, all(0x20));
            [letter & small | space, letter & !small | space, digit | space]
        }
        Alphabet::Apart => {
            let visible = within(bytes, 0x21, 0x7e);
            [letter | digit | space, visible & !letter | space, digit]
        }
    };
    let mut classes = Classes {
        class,
        blank,
        newline: is(b'\r') | is(b'\n'),
        apostrophe: is(b'\''),
        slash: is(b'/'),
        // As signed numbers, 0x80 to 0xBF are below 0xC0.
        continuation: _mm512_cmplt_epi8_mask(bytes, all(0xc0)),
        high: _mm512_movepi8_mask(bytes),
        wide_space: 0,
        next: window[BLOCK],
    };
    if classes.high != 0 {
        classes.put_characters::<F, Avx512>(window);
    }
    classes
}

/// The numbers of all bits of a mask, eight at a time; behind them something.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2")]
fn ends(first: usize, mask: u64, room: &mut [usize; BLOCK]) {
    const { assert!(size_of::<usize>() == size_of::<u64>()) };
    static NUMBERS: [u8; BLOCK] = {
        let mut numbers = [0; BLOCK];
        let mut number = 0;
        while number < BLOCK {
            numbers[number] = number as u8;
            number += 1;
        }
        numbers
    };
    // SAFETY: 64 bytes.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let mut numbers = _mm512_maskz_compress_epi8(mask, numbers);
    let (first, mut left) = (_mm512_set1_epi64(first as i64), mask.count_ones() as i32);
    for eight in room.as_chunks_mut::<8>().0 {
        let ends = _mm512_add_epi64(_mm512_cvtepu8_epi64(_mm512_castsi512_si128(numbers)), first);
        // SAFETY: eight numbers of 64 bits.
        unsafe { _mm512_storeu_si512(eight.as_mut_ptr().cast(), ends) };
        left -= 8;
        if left <= 0 {
            break;
        }
        numbers = _mm512_alignr_epi64::<1>(numbers, numbers);
    }
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2")]
fn letters<F: Family>(window: &Window, tables: &Tables) -> [u64; BITS] {
    let (lead, second) = (load(window, 0), load(window, 1));
    let leads = _mm512_cmpge_epu8_mask(lead, all(0xc0));
    let octant = bit(_mm512_srli_epi16::<3>(second));
    let mut letters = [0; BITS];
    for (bit, letters) in letters.iter_mut().enumerate() {
        if const { F::RULES.alphabet.octant_bits() }[bit] {
            // SAFETY: 64 bytes.
            let octants = unsafe { _mm512_loadu_si512(tables.octants[bit].as_ptr().cast()) };
            // By the last six bits of a first byte.
            *letters = _mm512_test_epi8_mask(_mm512_maskz_permutexvar_epi8(leads, lead, octants), octant);
        }
    }
    letters
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2")]
fn on_page<F: Family>(window: &Window, lead: usize, tables: &Tables) -> [u64; BITS + 1] {
    let (page, length) = tables.page(window, lead);
    // All bytes in common but the last six bits of the last and the last two of the one before.
    let (last_but_one, last) = (load(window, length - 2), load(window, length - 1));
    let prefix = all(window[lead + length - 2] & 0xfc);
    let mut same = _mm512_cmpeq_epi8_mask(_mm512_and_si512(last_but_one, all(0xfc)), prefix);
    for offset in 0..length - 2 {
        same &= _mm512_cmpeq_epi8_mask(load(window, offset), all(window[lead + offset]));
    }
    // These eight bits number a character's bit in a set: five its byte, three the bit there.
    let byte = _mm512_or_si512(
        _mm512_and_si512(_mm512_slli_epi16::<3>(last_but_one), all(0x18)),
        _mm512_and_si512(_mm512_srli_epi16::<3>(last), all(0x07)),
    );
    let bit = bit(last);
    let among = |set: &[u8; 32]| {
        // SAFETY: 32 bytes.
        let set = _mm512_castsi256_si512(unsafe { _mm256_loadu_si256(set.as_ptr().cast()) });
        _mm512_test_epi8_mask(_mm512_maskz_permutexvar_epi8(same, byte, set), bit)
    };
    let third = if const { F::RULES.alphabet.bits() } > 2 { among(&page[2]) } else { 0 };
    [among(&page[0]), among(&page[1]), third, same]
}

/// The bit that the last three bits of each byte number.
#[inline]
#[target_feature(enable = "avx512bw")]
fn bit(numbers: __m512i) -> __m512i {
    let powers = _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    _mm512_shuffle_epi8(powers, _mm512_and_si512(numbers, all(7)))
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn all(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte as i8)
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn load(window: &Window, from: usize) -> __m512i {
    let bytes = &window[from..][..BLOCK];
    // SAFETY: 64 bytes of 64.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}
