//! The module `bpeline._native`: the only part of the crate that knows Python.
//!
//! [`core`] has the methods that encode and decode, [`work`] what they have in common, [`encoding`] the
//! data they work on, [`arrow`] what comes and goes through the Arrow C data interface, [`train`] makes new ones, [`corpus`] helps
//! the corpus job. The others turn Python's arguments into Rust's and back.

mod arrow;
mod core;
mod corpus;
mod encoding;
mod end_of_text;
mod errors;
mod ids;
mod lists;
mod options;
mod signals;
mod strings;
mod texts;
mod train;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

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

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // The numpy crate imports numpy at the first array, and panics if a signal handler raises there.
        numpy::PyArray1::from_vec(module.py(), Vec::<u16>::new());
        Ok(())
    }
}
