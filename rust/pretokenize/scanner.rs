//! The pieces of the families by blocks of 64 bytes: a bit for each byte and class, and algebra on them.
//!
//! [`Classify`] makes the masks of a block, [`starts`](super::starts) finds the piece starts by them, and the rules of each family
//! are data ([`rules`](super::rules)). Nothing is branched on but what is rare in text. A block that the algebra does not cover
//! is done a character at a time ([`scalar`](super::scalar)), from the start of the piece that it begins in; the next block
//! begins with the first piece behind it. The tests compare all of them with fancy-regex.

use std::marker::PhantomData;

use super::Boundaries;
#[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
pub use super::avx2::Avx2;
use super::rules::Family;
use super::starts::{Around, BLOCK, Carry, Classes, starts};
pub use super::words::Words;
use crate::interrupt::TEXT_BETWEEN_CHECKS;

/// A block, and three bytes more, so that all bytes of its last character are there.
pub type Window = [u8; BLOCK + 3];

/// A way to classify a block.
pub trait Classify {
    fn classify<F: Family>(window: &Window) -> Classes;
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
        #[cfg(all(target_arch = "x86_64", not(bpeline_portable)))]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
        {
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
            fn next<F: Family>(scanner: &mut Scanner<F>, boundaries: &mut Boundaries) -> bool {
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
            self.block::<C>(boundaries);
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
    fn block<C: Classify>(&mut self, boundaries: &mut Boundaries) {
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
        match starts::<F>(C::classify::<F>(window), &mut self.carry, around) {
            Some(starts) => {
                boundaries.push_mask(self.at, starts);
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
