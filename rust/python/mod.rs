//! The module `bpeline._native`: the only part of the crate that knows Python.
//!
//! [`core`] has the methods that encode and decode, [`work`] what they have in common for one text, [`batches`] for many,
//! [`spans`] with the characters of each token; [`encoding`] is the data they work on, [`arrow`] what comes and goes through
//! the Arrow C data interface, [`train`] makes new encodings, [`corpus`] helps the corpus job. The others turn Python's arguments into Rust's and back.

mod arrays;
mod arrow;
mod batches;
mod core;
mod corpus;
mod encoding;
mod end_of_text;
mod errors;
mod ids;
mod lists;
mod options;
mod signals;
mod spans;
mod strings;
mod texts;
mod train;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::arrow::ArrowTokens;
    #[pymodule_export]
    use super::core::Core;
    #[pymodule_export]
    use super::corpus::{are_utf8, json_texts, separate, start_writing};
    #[pymodule_export]
    use super::encoding::Encoding;
    #[pymodule_export]
    use super::train::PieceCounts;
}
