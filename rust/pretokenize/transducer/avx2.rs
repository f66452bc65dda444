//! Steps with AVX2: the classes of a block by shuffles of 16 bytes, and the states too, if there are no more than 32.
//!
//! For each pair of classes there are 32 bytes: what each state becomes. Looking a state up in a register takes a cycle, in memory
//! five, and each step waits for the one before.

use std::arch::x86_64::*;

use super::partition::Partition;
use super::{BOTH, CUTS, OTHERS, Pairs, Place, Steps, Transducer, ones};
use crate::pretokenize::Boundaries;
use crate::pretokenize::block::{BLOCK, Window};
use crate::pretokenize::instructions::Kind;

/// Only where the processor has what is asked for.
pub struct Avx2 {
    /// The classes of ASCII, 16 to a row, each as what sets it apart from that in the row before.
    ascii: [__m128i; 8],
    /// How many classes there are, and 1.
    factors: i16,
    /// By pair of classes: what each state becomes, as [`code`] with flags. None if there are more than 32 states.
    rows: Vec<[__m128i; 2]>,
}

/// A step that has flags but [`CUT`](super::CUT).
const OTHER: u8 = 1 << 6;

/// A state in a byte: a shuffle takes the last four bits, and gives 0 where the first bit is set.
fn code(state: usize) -> u8 {
    (state & 0x0f | (state & 0x10) << 3) as u8
}

fn number(code: u8) -> usize {
    (code & 0x0f | (code & 0x80) >> 3) as usize
}

impl Avx2 {
    /// `None` if the processor cannot, or there are too many classes.
    pub fn new(partition: &Partition, classes: usize, table: &[u32]) -> Option<Self> {
        if !Kind::Avx2.is_here() || classes > i8::MAX as usize {
            return None;
        }
        let of_byte = &partition.of_byte;
        let ascii = std::array::from_fn(|row| {
            register(std::array::from_fn(|column| {
                let byte = row * 16 + column;
                of_byte[byte] ^ if row > 0 { of_byte[byte - 16] } else { 0 }
            }))
        });
        let pairs = classes * classes;
        let row = |pair: usize, first: usize| {
            register(std::array::from_fn(|state| match table.get((first + state) * pairs + pair) {
                Some(entry) => {
                    let cuts = (entry & CUTS) as u8;
                    let other = if entry & OTHERS != 0 { OTHER } else { 0 };
                    code((entry >> BOTH) as usize / pairs) | cuts << 4 | other
                }
                None => 0,
            }))
        };
        let has_rows = table.len() <= 32 * pairs;
        let rows = (0..if has_rows { pairs } else { 0 }).map(|pair| [row(pair, 0), row(pair, 16)]).collect();
        Some(Avx2 { ascii, factors: 1 << 8 | classes as i16, rows })
    }

    /// See [`Transducer::read`].
    #[inline]
    pub fn read(
        &self,
        transducer: &Transducer,
        text: &str,
        place: &mut Place,
        last: usize,
        boundaries: &mut Boundaries,
    ) -> bool {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn read(
            avx2: &Avx2,
            transducer: &Transducer,
            text: &str,
            place: &mut Place,
            last: usize,
            boundaries: &mut Boundaries,
        ) -> bool {
            let steps = |window: &Window, state: &mut u32| {
                let pairs = avx2.pairs(&transducer.partition, window);
                if avx2.rows.is_empty() {
                    transducer.steps(&pairs, state)
                } else {
                    avx2.steps(&transducer.table, &pairs, state)
                }
            };
            transducer.read_by(steps, text, place, last, boundaries)
        }
        // SAFETY: the processor has what the function is compiled for, or there would be no `Avx2`.
        unsafe { read(self, transducer, text, place, last, boundaries) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn pairs(&self, partition: &Partition, window: &Window) -> Pairs {
        let (mut classes, mut leads) = ([0; BLOCK], 0);
        for (half, bytes) in window.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: 32 bytes of 32.
            let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
            // Both of the first two bits.
            let lead = _mm256_and_si256(bytes, _mm256_slli_epi16::<1>(bytes));
            leads |= u64::from(_mm256_movemask_epi8(lead) as u32) << (32 * half);
            let mut class = _mm256_setzero_si256();
            let mut left = bytes;
            for row in self.ascii {
                let row = _mm256_broadcastsi128_si256(row);
                class = _mm256_xor_si256(class, _mm256_shuffle_epi8(row, left));
                left = _mm256_subs_epi8(left, _mm256_set1_epi8(16));
            }
            // SAFETY: 32 bytes of 64.
            unsafe { _mm256_storeu_si256(classes.as_mut_ptr().add(32 * half).cast(), class) };
        }
        partition.put_characters(window, leads, &mut classes);
        let mut pairs = [0; BLOCK / 2];
        for (classes, pairs) in classes.as_chunks::<32>().0.iter().zip(pairs.as_chunks_mut::<16>().0) {
            // SAFETY: 32 bytes of 32.
            unsafe {
                let classes = _mm256_loadu_si256(classes.as_ptr().cast());
                let numbers = _mm256_maddubs_epi16(classes, _mm256_set1_epi16(self.factors));
                _mm256_storeu_si256(pairs.as_mut_ptr().cast(), numbers);
            }
        }
        pairs
    }

    /// The steps by `rows`, with the [`code`] of the state.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn steps(&self, table: &[u32], pairs: &Pairs, state: &mut u32) -> Steps {
        let begin = *state as u8;
        let mut now = _mm_set1_epi8(begin as i8);
        let mut halves = [_mm_setzero_si128(); 2];
        for (kept, pairs) in halves.iter_mut().zip(pairs.as_chunks::<16>().0) {
            for &pair in pairs {
                let [low, high] = self.rows[pair as usize];
                let low = _mm_shuffle_epi8(low, now);
                let high = _mm_shuffle_epi8(high, _mm_xor_si128(now, _mm_set1_epi8(i8::MIN)));
                now = _mm_or_si128(low, high);
                *kept = _mm_alignr_epi8::<1>(now, *kept);
            }
        }
        *state = _mm_extract_epi8::<0>(now) as u32;
        let kept = _mm256_set_m128i(halves[1], halves[0]);
        let others = _mm256_movemask_epi8(_mm256_slli_epi16::<1>(kept)) as u32;
        let in_order = _mm256_permute4x64_epi64::<0b11_01_10_00>(kept);
        let [first, second] = [_mm256_slli_epi16::<3>(in_order), _mm256_slli_epi16::<2>(in_order)];
        let low = _mm256_movemask_epi8(_mm256_unpacklo_epi8(first, second)) as u32;
        let high = _mm256_movemask_epi8(_mm256_unpackhi_epi8(first, second)) as u32;
        let mut steps = Steps { cuts: u64::from(low) | u64::from(high) << 32, others, entries: [0; BLOCK / 2] };
        if others != 0 {
            let mut codes = [begin; BLOCK / 2 + 1];
            // SAFETY: 32 bytes of 33, from the second on.
            unsafe { _mm256_storeu_si256(codes.as_mut_ptr().add(1).cast(), kept) };
            for step in ones(others.into()) {
                steps.entries[step] = table[number(codes[step]) * self.rows.len() + pairs[step] as usize];
            }
        }
        steps
    }
}

fn register(bytes: [u8; 16]) -> __m128i {
    // SAFETY: 16 bytes, of which any are a register's.
    unsafe { std::mem::transmute(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::automaton::Automaton;
    use crate::pretokenize::regular::regular;

    /// Each character at each place of a block, and cut off at its end.
    #[test]
    fn characters_have_the_same_classes_by_other_means() {
        let pattern =
            regular(r"(?i:'s)|\p{Lu}+|\p{Ll}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+|\s*[\r\n]+|\s+(?!\S)|\s+").unwrap();
        let automaton = Automaton::new(&pattern).unwrap();
        let transducer = automaton.transducer().unwrap();
        let Some(avx2) = &transducer.avx2 else { return };
        let mut offsets = (0..BLOCK).cycle();
        for character in '\0'..=char::MAX {
            let mut window = [0x80; BLOCK + 3];
            let offset = offsets.next().unwrap();
            character.encode_utf8(&mut window[offset..]);
            // SAFETY: there is an `Avx2`, so the processor has AVX2.
            let pairs = unsafe { avx2.pairs(&transducer.partition, &window) };
            assert_eq!(pairs, transducer.pairs(&window), "{character:?}");
            let class = usize::from(transducer.partition.class(character));
            let expected = if offset % 2 == 0 { class * transducer.classes } else { class };
            assert_eq!(usize::from(pairs[offset / 2]), expected, "{character:?}");
        }
    }
}
