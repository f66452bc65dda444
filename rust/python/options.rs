//! The keyword arguments that several methods share.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyList, PySet, PyTuple};

use crate::batch::CHUNK_BYTES;
use crate::error::quote;
use crate::special::{Special, SpecialTokens};

/// `errors=`: what happens to text that is not valid Unicode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnInvalid {
    Strict,
    Replace,
}

impl<'a, 'py> FromPyObject<'a, 'py> for OnInvalid {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match value.extract::<&str>() {
            Ok("strict") => Ok(OnInvalid::Strict),
            Ok("replace") => Ok(OnInvalid::Replace),
            _ => {
                let value = value.repr()?;
                Err(PyValueError::new_err(format!("errors must be \"strict\" or \"replace\", not {value}")))
            }
        }
    }
}

/// `special=`: what happens to the literals of special tokens.
pub enum SpecialChoice {
    Parse,
    Text,
    Error,
    Some(Vec<String>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for SpecialChoice {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match value.extract::<&str>() {
            Ok("parse") => return Ok(SpecialChoice::Parse),
            Ok("text") => return Ok(SpecialChoice::Text),
            Ok("error") => return Ok(SpecialChoice::Error),
            _ => {}
        }
        if (value.is_instance_of::<PySet>()
            || value.is_instance_of::<PyFrozenSet>()
            || value.is_instance_of::<PyList>()
            || value.is_instance_of::<PyTuple>())
            && let Ok(literals) = value.try_iter()?.map(|literal| literal?.extract()).collect::<PyResult<_>>()
        {
            return Ok(SpecialChoice::Some(literals));
        }
        let value = value.repr()?;
        let message = format!("special must be \"parse\", \"text\", \"error\" or a set of special tokens, not {value}");
        Err(PyValueError::new_err(message))
    }
}

impl SpecialChoice {
    pub fn resolve(&self, tokens: &SpecialTokens) -> PyResult<Special> {
        match self {
            SpecialChoice::Parse => Ok(Special::Parse),
            SpecialChoice::Text => Ok(Special::Text),
            SpecialChoice::Error => Ok(Special::Error),
            SpecialChoice::Some(literals) => {
                let literals: Vec<&str> = literals.iter().map(String::as_str).collect();
                let chosen = tokens.choose(&literals).map_err(|literal| {
                    PyValueError::new_err(format!("not a special token of this encoding: {}", quote(literal)))
                })?;
                Ok(Special::Some(chosen))
            }
        }
    }
}

/// A whole number; one that is too large for the machine is as good as its largest.
pub struct Whole {
    number: i64,
    shown: Option<String>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match value.extract::<i64>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                let number = if value.lt(0)? { i64::MIN } else { i64::MAX };
                Ok(Whole { number, shown: Some(value.to_string()) })
            }
            number => Ok(Whole { number: number?, shown: None }),
        }
    }
}

impl Whole {
    /// The number, if it is at least `least`; `name` is the argument's.
    pub fn at_least(&self, least: i64, name: &str) -> PyResult<usize> {
        let number = self.number;
        if number < least {
            let shown = self.shown.clone().unwrap_or_else(|| number.to_string());
            return Err(PyValueError::new_err(format!("{name} must be at least {least}, not {shown}")));
        }
        Ok(number as usize)
    }
}

/// `threads=`: how many to use; `None` is one for each core.
#[derive(Clone, Copy)]
pub struct Threads(Option<usize>);

pub fn threads(threads: Option<Whole>) -> PyResult<Threads> {
    threads.map(|threads| threads.at_least(1, "threads")).transpose().map(Threads)
}

impl Threads {
    /// For a batch of so many bytes. Asking for the cores reads files, which takes longer than a small batch.
    pub fn of_batch(self, bytes: usize) -> usize {
        match self {
            Threads(Some(threads)) => threads,
            Threads(None) if bytes <= CHUNK_BYTES => 1,
            Threads(None) => std::thread::available_parallelism().map_or(1, |n| n.get()),
        }
    }
}
