//! The crate's errors become the exceptions that `bpeline/errors.py` defines.

use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError};
use pyo3::prelude::*;

use crate::error::Error;

pyo3::import_exception!(bpeline.errors, ArrowError);
pyo3::import_exception!(bpeline.errors, EncodingFileError);
pyo3::import_exception!(bpeline.errors, InvalidTextError);
pyo3::import_exception!(bpeline.errors, SpecialTokenError);
pyo3::import_exception!(bpeline.errors, TokenIdError);
pyo3::import_exception!(bpeline.errors, TrainingError);

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        let message = error.to_string();
        let mut cause = &error;
        while let Error::InDocument { error, .. } = cause {
            cause = error;
        }
        match cause {
            Error::Arrow(_) => ArrowError::new_err(message),
            Error::Type(_) => PyTypeError::new_err(message),
            Error::EncodingFile(_) => EncodingFileError::new_err(message),
            Error::InvalidText(_) | Error::InDocument { .. } => InvalidTextError::new_err(message),
            Error::SpecialToken { .. } => SpecialTokenError::new_err(message),
            Error::Training(_) => TrainingError::new_err(message),
            Error::TokenId { .. } => TokenIdError::new_err(message),
            Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        }
    }
}
