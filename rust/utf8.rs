//! Python's strings, of 1, 2 or 4 bytes a character, as UTF-8.
//!
//! Sixteen units that are all ASCII are narrowed, which LLVM makes vectors of. Others go eight at a time, in 32 bits each:
//! the bytes of all characters are made at once, and a shuffle from a table of 256, by the lengths of four, closes the
//! gaps, as in Keiser and Lemire's "Transcoding Unicode Characters with AVX-512 Instructions" (2022) and simdutf; here
//! one kernel, for all widths and scripts, with no branch on the lengths. Without AVX2, one unit after the other,
//! without branches too. Beyond U+FFFF it is one after the other always.
//!
//! O(n); a megabyte takes 0.2 to 0.5 ms with AVX2.

use crate::table::prefetch;

/// A unit of a string: a character, or in wider ones maybe a surrogate.
///
/// # Safety
/// The UTF-8 of no unit has more than `MOST_BYTES` bytes.
pub unsafe trait Unit: Copy + Into<u32> {
    const MOST_BYTES: usize;
}

// SAFETY: U+00FF has two.
unsafe impl Unit for u8 {
    const MOST_BYTES: usize = 2;
}

// SAFETY: U+FFFF has three.
unsafe impl Unit for u16 {
    const MOST_BYTES: usize = 3;
}

// SAFETY: no character has more.
unsafe impl Unit for u32 {
    const MOST_BYTES: usize = 4;
}

/// A way to encode eight units.
///
/// # Safety
/// What `encode` returns is the length of the UTF-8 that it has written, within the room that it asks for.
pub unsafe trait EncodeEight {
    /// Writes their UTF-8 and returns its length, if all are characters up to U+FFFF.
    ///
    /// # Safety
    /// There is room for `8 * U::MOST_BYTES + SLACK` bytes, and the processor has what `Self` is compiled for.
    unsafe fn encode<U: Unit>(units: &[U; 8], to: *mut u8) -> Option<usize>;
}

/// Units that are looked at together: nearly all are ASCII, even in many texts that are not.
const BLOCK: usize = 16;

/// Units that room is asked for at once.
const STRIDE: usize = 1 << 12;

/// Bytes that may be written beyond the last character, and do not count.
const SLACK: usize = 16;

/// How far ahead memory is sent for, in bytes: a page, at whose start the processor begins anew to guess what comes next.
const AHEAD: usize = 1 << 12;

/// Appends the UTF-8 of units up to the first that is no character (a surrogate). Returns how many there were.
pub fn append<U: Unit>(units: &[U], text: &mut String) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        #[target_feature(enable = "avx2,popcnt")]
        fn append<U: Unit>(units: &[U], text: &mut String) -> usize {
            append_by::<U, avx2::Shuffled>(units, text)
        }
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { append(units, text) };
    }
    append_by::<U, OneByOne>(units, text)
}

#[inline(always)]
pub fn append_by<U: Unit, E: EncodeEight>(units: &[U], text: &mut String) -> usize {
    // SAFETY: nothing but whole characters is added.
    let bytes = unsafe { text.as_mut_vec() };
    let mut taken = 0;
    for stride in units.chunks(STRIDE) {
        bytes.reserve(stride.len() * U::MOST_BYTES + SLACK);
        // SAFETY: there is room for so many units, and what was written are whole characters.
        unsafe {
            let end = bytes.as_mut_ptr().add(bytes.len());
            let (units, written) = write::<U, E>(stride, end);
            bytes.set_len(bytes.len() + written);
            taken += units;
            if units < stride.len() {
                break;
            }
        }
    }
    taken
}

/// Writes the UTF-8 of units up to the first that is no character. Returns how many there were, and its length.
///
/// # Safety
/// There is room for `units.len() * U::MOST_BYTES + SLACK` bytes, and the processor has what `E` is compiled for.
#[inline(always)]
unsafe fn write<U: Unit, E: EncodeEight>(units: &[U], to: *mut u8) -> (usize, usize) {
    let (mut taken, mut written) = (0, 0);
    while taken < units.len() {
        let rest = &units[taken..];
        prefetch(rest.as_ptr().wrapping_add(AHEAD / size_of::<U>()));
        if let Some(block) = rest.first_chunk::<BLOCK>()
            && block.iter().fold(0, |all, &unit| all | unit.into()) < 0x80
        {
            // SAFETY: there is room for a byte of each unit.
            unsafe { to.add(written).cast::<[u8; BLOCK]>().write_unaligned(block.map(|unit| unit.into() as u8)) };
            taken += BLOCK;
            written += BLOCK;
            continue;
        }
        // The second half is looked at too before the next block is: it is seldom worth a question of its own.
        let halves = rest[..rest.len().min(BLOCK)].chunks(BLOCK / 2);
        for half in halves {
            // No closure: it would not be compiled for AVX2 (and is three times slower).
            let length = match half.first_chunk() {
                // SAFETY: all before took no more than their share of the room.
                Some(eight) => unsafe { E::encode(eight, to.add(written)) },
                None => None,
            };
            if let Some(length) = length {
                taken += half.len();
                written += length;
                continue;
            }
            for &unit in half {
                let Some(character) = char::from_u32(unit.into()) else { return (taken, written) };
                let (encoded, length) = utf8(character.into());
                // SAFETY: as above; four bytes are no more than a unit's share and the slack.
                unsafe { to.add(written).cast::<[u8; 4]>().write_unaligned(encoded) };
                taken += 1;
                written += length;
            }
        }
    }
    (taken, written)
}

/// One unit after the other.
pub struct OneByOne;

// SAFETY: `utf8` gives whole characters and their lengths.
unsafe impl EncodeEight for OneByOne {
    #[inline(always)]
    unsafe fn encode<U: Unit>(units: &[U; 8], to: *mut u8) -> Option<usize> {
        if units.iter().fold(false, |any, &unit| any | !is_short(unit.into())) {
            return None;
        }
        let mut written = 0;
        for &unit in units {
            let (encoded, length) = utf8(unit.into());
            // SAFETY: four bytes are no more than a unit's share of the room and the slack.
            unsafe { to.add(written).cast::<[u8; 4]>().write_unaligned(encoded) };
            written += length;
        }
        Some(written)
    }
}

/// Whether it is a character of up to three bytes.
#[inline(always)]
fn is_short(unit: u32) -> bool {
    (unit >> 16 == 0) & (unit >> 11 != 0xd800 >> 11)
}

/// The bytes of a character in front of bytes that do not count, and how many they are. Only what is beyond U+FFFF
/// branches: in text of several scripts, nothing tells the length of the next.
#[inline(always)]
fn utf8(code: u32) -> ([u8; 4], usize) {
    let tail = |shift: u32| 0x80 | (code >> shift & 0x3f);
    if code >= 0x1_0000 {
        return ((0xf0 | code >> 18 | tail(12) << 8 | tail(6) << 16 | tail(0) << 24).to_le_bytes(), 4);
    }
    let two = 0xc0 | code >> 6 | tail(0) << 8;
    let three = 0xe0 | code >> 12 | tail(6) << 8 | tail(0) << 16;
    let longer = std::hint::select_unpredictable(code < 0x800, two, three);
    let bytes = std::hint::select_unpredictable(code < 0x80, code, longer);
    (bytes.to_le_bytes(), 1 + (code >= 0x80) as usize + (code >= 0x800) as usize)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{EncodeEight, Unit};

    /// For four characters, the places of their bytes among those that `encode` makes, last byte first. Bit i
    /// says that character i has two bytes or three, bit i + 4 that it has three.
    static SHUFFLES: [[u8; 16]; 256] = {
        // Places with the highest bit give zeros.
        let mut shuffles = [[0x80; 16]; 256];
        let mut lengths = 0;
        while lengths < 256 {
            let (mut character, mut at) = (0, 0);
            while character < 4 {
                let mut byte = 1 + (lengths >> character & 1) + (lengths >> (character + 4) & 1);
                while byte > 0 {
                    byte -= 1;
                    shuffles[lengths][at] = (4 * character + byte) as u8;
                    at += 1;
                }
                character += 1;
            }
            lengths += 1;
        }
        shuffles
    };

    /// All eight at once.
    pub struct Shuffled;

    // SAFETY: as for `OneByOne`, with which the tests compare it.
    unsafe impl EncodeEight for Shuffled {
        #[inline(always)]
        unsafe fn encode<U: Unit>(units: &[U; 8], to: *mut u8) -> Option<usize> {
            // SAFETY: the caller's promise.
            unsafe { encode(units.map(Into::into), U::MOST_BYTES, to) }
        }
    }

    /// Units of which none has more than `most_bytes`.
    ///
    /// # Safety
    /// There is room for `8 * most_bytes + 16` bytes.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn encode(units: [u32; 8], most_bytes: usize, to: *mut u8) -> Option<usize> {
        let all = |number: u32| _mm256_set1_epi32(number as i32);
        let bits = |units: __m256i, mask: u32| _mm256_and_si256(units, all(mask));
        let above = |units: __m256i, limit: u32| _mm256_cmpgt_epi32(units, all(limit));
        // SAFETY: eight numbers of 32 bits.
        let units = unsafe { _mm256_loadu_si256(units.as_ptr().cast()) };
        if most_bytes > 2 {
            let surrogate = _mm256_cmpeq_epi32(_mm256_srli_epi32(units, 11), all(0xd800 >> 11));
            let beyond = above(_mm256_srli_epi32(units, 16), 0);
            if _mm256_testz_si256(all(!0), _mm256_or_si256(surrogate, beyond)) == 0 {
                return None;
            }
        }
        let (two, three) = (above(units, 0x7f), above(units, 0x7ff));
        // The last byte of each character is the lowest here, so that only the marks depend on the length.
        let last = bits(units, 0x3f);
        let middle = bits(_mm256_slli_epi32(units, 2), 0x3f00);
        let first = bits(_mm256_slli_epi32(units, 4), 0xf_0000);
        let [of_two, of_three] = [0xc080, 0xe0_8080];
        let marks = _mm256_xor_si256(all(of_two), bits(three, of_two ^ of_three));
        let longer = _mm256_or_si256(_mm256_or_si256(last, middle), _mm256_or_si256(first, marks));
        let characters = _mm256_blendv_epi8(units, longer, two);
        let [two, three] = [two, three].map(|mask| _mm256_movemask_ps(_mm256_castsi256_ps(mask)) as usize);
        // SAFETY: each store is of 16 bytes, and the second begins where at most 12 of the first are kept.
        unsafe {
            let shuffle = |characters: __m128i, lengths: usize, to: *mut u8| {
                let shuffle = _mm_loadu_si128(SHUFFLES[lengths].as_ptr().cast());
                _mm_storeu_si128(to.cast(), _mm_shuffle_epi8(characters, shuffle));
                4 + lengths.count_ones() as usize
            };
            let half = shuffle(_mm256_castsi256_si128(characters), two & 0xf | (three & 0xf) << 4, to);
            Some(half + shuffle(_mm256_extracti128_si256(characters, 1), two >> 4 | three & 0xf0, to.add(half)))
        }
    }
}
