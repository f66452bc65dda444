//! The module `bpeline._native`: the only part of the crate that knows Python.
//!
//! [`core`] has the methods that encode and decode, [`work`] what they have in common, [`encoding`] the
//! data they work on. The others turn Python's arguments into Rust's and back.

mod core;
mod encoding;
mod errors;
mod ids;
mod lists;
mod options;
mod signals;
mod texts;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::core::Core;
    #[pymodule_export]
    use super::encoding::Encoding;
}
