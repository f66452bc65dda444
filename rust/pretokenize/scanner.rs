//! The pieces of the families by blocks of 64 bytes: a bit for each byte and class, and algebra on them.
//!
//! [`By`] makes the masks of a block, [`starts`](super::starts) finds the piece starts by them, and the rules of each family
//! are data ([`rules`](super::rules)). Nothing is branched on but what is rare in text. A block that the algebra does not cover
//! is done a character at a time ([`scalar`](super::scalar)), from the start of the piece that it begins in; the next block
//! begins with the first piece behind it. The tests compare all of them with fancy-regex.

use std::marker::PhantomData;

use super::around::Around;
use super::block::{BLOCK, Classes, Window};
use super::instructions::{Instructions, Kind};
use super::rules::Family;
use super::starts::{Carry, starts};
use super::words::Words;
use super::{Boundaries, ends};
#[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
use super::{avx2::Avx2, avx512::Avx512};
use crate::interrupt::TEXT_BETWEEN_CHECKS;

/// What blocks are done by.
pub trait By {
    fn classify<F: Family>(window: &Window) -> Classes;

    /// The number of each bit of `mask`, the lowest being `first`; behind them something.
    #[inline(always)]
    fn ends(first: usize, mask: u64, room: &mut [usize; BLOCK]) {
        ends(first, mask, room);
    }
}

pub struct Scanner<'t, F> {
    text: &'t str,
    /// Where the next block begins.
    at: usize,
    /// Where the next piece begins.
    start: usize,
    carry: Carry,
    family: PhantomData<F>,
}

impl<'t, F: Family> Scanner<'t, F> {
    /// The pieces of `text` from the one that starts at byte `start` on. What lies in front of it does not matter.
    #[inline]
    pub fn new(text: &'t str, start: usize) -> Self {
        Scanner { text, at: start, start, carry: Carry::first::<F>(), family: PhantomData }
    }

    /// The next pieces: enough for a batch, or all that are left, or those of as much text as may go by
    /// between two looks for an interrupt. False at the end of the text.
    #[inline]
    pub fn next(&mut self, boundaries: &mut Boundaries) -> bool {
        self.next_by(Instructions::best(), boundaries)
    }

    #[inline]
    pub fn next_by(&mut self, instructions: Instructions, boundaries: &mut Boundaries) -> bool {
        #[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
        {
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
            fn avx2<F: Family>(scanner: &mut Scanner<F>, boundaries: &mut Boundaries) -> bool {
                scanner.next_as::<Avx2>(boundaries)
            }
            #[target_feature(enable = "avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
            fn avx512<F: Family>(scanner: &mut Scanner<F>, boundaries: &mut Boundaries) -> bool {
                scanner.next_as::<Avx512>(boundaries)
            }
            match instructions.kind() {
                // SAFETY: `Instructions` are some that the processor has.
                Kind::Avx512 => return unsafe { avx512(self, boundaries) },
                // SAFETY: as above.
                Kind::Avx2 => return unsafe { avx2(self, boundaries) },
                Kind::Any => {}
            }
        }
        let _ = instructions;
        self.next_as::<Words>(boundaries)
    }

    #[inline(always)]
    fn next_as<B: By>(&mut self, boundaries: &mut Boundaries) -> bool {
        boundaries.begin(self.start);
        if self.start == self.text.len() {
            return false;
        }
        let last = self.at.saturating_add(TEXT_BETWEEN_CHECKS).min(self.text.len());
        while !boundaries.is_enough() && self.at < last {
            self.block::<B>(boundaries);
        }
        // In a last block that is not full there is an end already, if no whitespace is in front.
        if self.at >= self.text.len() && boundaries.last() != self.text.len() {
            boundaries.push(self.text.len());
        }
        self.start = boundaries.last();
        true
    }

    /// The pieces that end with a start in the next block, which is not past the end.
    #[inline(always)]
    fn block<B: By>(&mut self, boundaries: &mut Boundaries) {
        let rest = &self.text.as_bytes()[self.at..];
        let end: Window;
        let window = match rest.first_chunk() {
            Some(window) => window,
            None => {
                end = end_of_text(rest);
                &end
            }
        };
        let around = Around { text: self.text, at: self.at };
        match starts::<F>(B::classify::<F>(window), &mut self.carry, around) {
            Some(starts) => {
                boundaries.push_ends(starts, |room| B::ends(self.at, starts, room));
                self.at += BLOCK;
            }
            None => self.irregular_block(boundaries),
        }
    }

    #[cold]
    #[inline(never)]
    fn irregular_block(&mut self, boundaries: &mut Boundaries) {
        let behind = (self.at + BLOCK).min(self.text.len());
        self.at = boundaries.last();
        while self.at < behind {
            self.at = F::RULES.piece_end(self.text, self.at);
            boundaries.push(self.at);
        }
        self.carry = Carry::first::<F>();
    }
}

/// Past the end is whitespace: in front of it whitespace gives nothing back.
#[cold]
fn end_of_text(rest: &[u8]) -> Window {
    let mut window = [b' '; BLOCK + 3];
    window[..rest.len()].copy_from_slice(rest);
    window
}
