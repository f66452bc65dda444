//! bpeline: exact byte-level BPE tokenization, GPT-2 and its descendants.
//!
//! Text becomes token ids in four stages, each a module of its own:
//!
//! 1. [`special`]: the literals of special tokens are cut out;
//! 2. [`pretokenize`]: the pattern cuts the rest into pieces;
//! 3. bytes: a piece's first symbols are the tokens of its single bytes ([`encoding`]);
//! 4. [`merge`]: symbols are merged by rank, through a [`cache`] of pieces already seen.
//!
//! [`encode`] composes the stages, [`batch`] spreads documents over threads, [`decode`] goes back; [`arrow`] takes documents
//! from, and ids to, other programs' memory.
//! [`train`] makes new encodings. An [`encoding::Encoding`] is all the data that fixes the ids. `python/` is the only part that
//! knows Python; it is compiled with the feature `python`. `rust/DESIGN.md` gives definitions,
//! invariants, costs and what was measured.

pub mod arrow;
pub mod batch;
pub mod byte_map;
pub mod cache;
pub mod decode;
pub mod encode;
pub mod encoding;
pub mod error;
pub mod interrupt;
pub mod merge;
mod pages;
pub mod pair_table;
pub mod pretokenize;
pub mod route;
pub mod sink;
pub mod special;
pub mod table;
pub mod train;
pub mod truncate;
#[rustfmt::skip]
mod unicode_tables;
pub mod utf8;

#[cfg(feature = "python")]
mod python;

pub use encode::Encoder;
pub use encoding::Encoding;
pub use error::{Error, Result};
