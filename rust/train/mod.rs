//! Training: corpus -> merge rules.
//!
//! [`counts`] cuts texts into pieces, by the scanner that encodes, and counts the distinct ones; [`merges`] makes rules:
//! the most frequent pair of symbols becomes a token, in all pieces, again and again (Sennrich et al. 2016, arXiv 1508.07909).
//! Counting takes the time of scanning; merging that of visiting each piece once for each pair merged in it, and memory follows
//! the distinct pieces: some 50 bytes for each and 8 for each of their bytes, besides lists of where pairs are.
//!
//! What the algorithm leaves open follows Hugging Face tokenizers' `BpeTrainer`; `python/bpeline/_reference/train.py` says
//! it in words. Nothing depends on the number of threads, nor on how texts were handed over.

pub mod counts;
pub mod merges;
mod pairs;
mod pieces;
mod queue;

pub use counts::PieceCounts;

/// Which of equally frequent pairs is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The one with the lowest left id, then right id, as in tokenizers.
    LowestIds,
    /// The one that comes first in the corpus: pieces in the order in which they were first seen.
    FirstSeen,
}

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The most rules to learn.
    pub most: usize,
    /// How often a pair must occur; 0 is 1.
    pub min_frequency: u64,
    /// Tokens stay shorter, but for those of two bytes.
    pub max_token_length: Option<usize>,
    pub ties: Ties,
    pub threads: usize,
}
