//! `bpeline._native.Encoding`: all that fixes the ids, as Python sees it.

use std::sync::Arc;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyInt, PyMapping, PyString};

use super::options::OnInvalid;
use super::signals::Signals;
use super::texts::Text;
use crate::byte_map;
use crate::encoding::vocabulary::Kind;
use crate::encoding::{
    self as core, Beyond, File, MAX_ID, Rules, TokenId, builtin, data, gpt2_files, ranks, tiktoken_file, tokenizer_json,
};
use crate::error::{Error, quote, show_bytes};
use crate::interrupt::Interrupt;
use crate::merge::Merger;

/// All that fixes the ids: vocabulary, merge rules, pattern, special tokens. Immutable.
#[pyclass(frozen, module = "bpeline._native")]
pub struct Encoding {
    pub inner: Arc<core::Encoding>,
}

type Specials = Vec<(String, TokenId)>;

fn wrap(encoding: crate::Result<core::Encoding>) -> PyResult<Encoding> {
    Ok(Encoding { inner: Arc::new(encoding?) })
}

/// By Python's own means: its errors are the ones that users know, and Ctrl-C ends it.
fn read_file(py: Python<'_>, path: &str) -> PyResult<PyBackedBytes> {
    let file = py.import("io")?.call_method1("open", (path, "rb"))?;
    let content = file.call_method0("read");
    file.call_method0("close")?;
    Ok(content?.extract()?)
}

fn special_tokens(tokens: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Specials>> {
    let Some(tokens) = tokens.filter(|tokens| !tokens.is_none()) else {
        return Ok(None);
    };
    let Ok(mapping) = tokens.cast::<PyMapping>() else {
        let kind = tokens.get_type().qualname()?;
        return Err(PyTypeError::new_err(format!("special_tokens must be a mapping of str to int, not {kind}")));
    };
    let mut checked = Specials::new();
    let mut out_of_range: Vec<(i128, String)> = Vec::new();
    for item in mapping.items()?.iter() {
        let (literal, id): (Bound<PyAny>, Bound<PyAny>) = item.extract()?;
        if !literal.is_instance_of::<PyString>() {
            let kind = literal.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!("a special token must be str, not {kind}")));
        }
        let literal = string(&literal)?;
        let id =
            integer(&id, |id| format!("special token {} has the id {id}, expected 0 to {MAX_ID}", quote(&literal)))?;
        match TokenId::try_from(id) {
            Ok(id) => checked.push((literal, id)),
            Err(_) => out_of_range.push((id, literal)),
        }
    }
    match out_of_range.into_iter().min() {
        None => Ok(Some(checked)),
        Some((id, literal)) => {
            let literal = quote(&literal);
            Err(Error::file(format!("special token {literal} has the id {id}, expected 0 to {MAX_ID}")).into())
        }
    }
}

/// A `str` argument; a surrogate in it is an `InvalidTextError`.
fn string(argument: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut buffer = String::new();
    Ok(Text::new(argument)?.source().read(&mut buffer, OnInvalid::Strict)?.to_owned())
}

#[pymethods]
impl Encoding {
    /// The built-in encoding called `name`.
    #[staticmethod]
    fn builtin(name: &str) -> PyResult<Self> {
        if builtin::RECIPES.iter().all(|recipe| recipe.name != name) {
            let (name, known) = (quote(name), builtin::names());
            return Err(PyValueError::new_err(format!("no built-in encoding is called {name} (built in: {known})")));
        }
        wrap(builtin::load(name))
    }

    /// Reads GPT-2's pair of files and checks all of it.
    #[staticmethod]
    #[pyo3(signature = (vocab, merges, pattern=None, special_tokens=None, name="custom"))]
    fn from_gpt2_files(
        py: Python<'_>,
        vocab: &str,
        merges: &str,
        pattern: Option<String>,
        special_tokens: Option<&Bound<'_, PyAny>>,
        name: &str,
    ) -> PyResult<Self> {
        let special_tokens = self::special_tokens(special_tokens)?;
        let contents = (read_file(py, vocab)?, read_file(py, merges)?);
        wrap(py.detach(|| {
            let vocab = File { path: vocab, content: &contents.0 };
            let merges = File { path: merges, content: &contents.1 };
            gpt2_files::load(vocab, merges, pattern, special_tokens, name.to_owned())
        }))
    }

    /// Reads a rank file and checks all of it.
    #[staticmethod]
    #[pyo3(signature = (path, pattern=None, special_tokens=None, name="custom"))]
    fn from_tiktoken_file(
        py: Python<'_>,
        path: &str,
        pattern: Option<String>,
        special_tokens: Option<&Bound<'_, PyAny>>,
        name: &str,
    ) -> PyResult<Self> {
        let special_tokens = self::special_tokens(special_tokens)?;
        let content = read_file(py, path)?;
        wrap(py.detach(|| {
            let file = File { path, content: &content };
            tiktoken_file::load(file, pattern, special_tokens, name.to_owned())
        }))
    }

    /// From the rank of each token's bytes, which is also its id.
    #[staticmethod]
    #[pyo3(signature = (ranks, pattern, special_tokens=None, name="custom"))]
    fn from_ranks(
        py: Python<'_>,
        ranks: &Bound<'_, PyMapping>,
        pattern: String,
        special_tokens: Option<&Bound<'_, PyAny>>,
        name: &str,
    ) -> PyResult<Self> {
        let given = match plain_ranks(ranks) {
            Some(given) => given,
            None => any_ranks(ranks)?,
        };
        let special_tokens = self::special_tokens(special_tokens)?.unwrap_or_default();
        wrap(py.detach(|| self::ranks::from_ranks(name.to_owned(), pattern, given, special_tokens)))
    }

    /// From the spelled vocabulary and merge rules of a tokenizer.json that `bpeline.tokenizer_json` has read.
    #[staticmethod]
    #[pyo3(signature = (source, name, pattern, vocabulary, merges, special_tokens, whole_pieces, spec))]
    #[expect(clippy::too_many_arguments)]
    fn from_tokenizer_json(
        py: Python<'_>,
        source: &str,
        name: String,
        pattern: String,
        vocabulary: &Bound<'_, PyDict>,
        merges: Vec<(PyBackedStr, PyBackedStr)>,
        special_tokens: &Bound<'_, PyAny>,
        whole_pieces: bool,
        spec: Option<String>,
    ) -> PyResult<Self> {
        let special_tokens = self::special_tokens(Some(special_tokens))?.unwrap_or_default();
        let vocabulary: Vec<(PyBackedStr, TokenId)> = vocabulary
            .iter()
            .map(|(token, id)| Ok::<_, PyErr>((token.extract()?, id.extract()?)))
            .collect::<PyResult<_>>()?;
        let inner = Signals::detached(py, |signals| {
            let vocabulary: Vec<(&str, TokenId)> = vocabulary.iter().map(|(token, id)| (&**token, *id)).collect();
            let merges: Vec<(&str, &str)> = merges.iter().map(|(left, right)| (&**left, &**right)).collect();
            let beyond = Beyond { whole_pieces, spec };
            tokenizer_json::load(source, name, pattern, &vocabulary, &merges, special_tokens, beyond, signals)
        })?;
        Ok(Encoding { inner: inner.into() })
    }

    /// What `to_bytes` gave.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = data.extract::<PyBackedBytes>().or_else(|_| {
            let kind = data.get_type().qualname()?;
            match super::texts::copy_buffer(data) {
                Ok(bytes) => Ok(bytes.into()),
                Err(_) => Err(PyTypeError::new_err(format!("data must be bytes-like, not {kind}"))),
            }
        })?;
        let inner = Signals::detached(py, |signals| self::data::from_bytes(&data, signals))?;
        Ok(Encoding { inner: inner.into() })
    }

    /// The encoding as one block of bytes, the same from either backend.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &data::to_bytes(&self.inner))
    }

    /// The same encoding with more special tokens.
    fn extend(&self, py: Python<'_>, special_tokens: &Bound<'_, PyAny>) -> PyResult<Self> {
        let more = self::special_tokens(Some(special_tokens))?.unwrap_or_default();
        let inner = Signals::detached(py, |signals| self.inner.extend(&more, signals))?;
        Ok(Encoding { inner: inner.into() })
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    #[getter]
    fn is_builtin(&self) -> bool {
        self.inner.is_builtin()
    }

    #[getter]
    fn pattern(&self) -> &str {
        self.inner.pattern().text()
    }

    #[getter]
    fn special_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tokens = PyDict::new(py);
        for (literal, id) in self.inner.special_tokens().iter() {
            tokens.set_item(literal, id)?;
        }
        Ok(tokens)
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.inner.vocabulary().size()
    }

    #[getter]
    fn fingerprint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.fingerprint())
    }

    /// The bytes of a token; `None` for an id that no token has.
    fn token_bytes<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = small_id(id)?.and_then(|id| self.inner.vocabulary().token_bytes(id));
        Ok(bytes.map(|bytes| PyBytes::new(py, bytes)))
    }

    /// The id of a token: its raw bytes, or its spelling in a file, or a special token's literal.
    fn token_to_id(&self, token: &Bound<'_, PyAny>) -> PyResult<Option<TokenId>> {
        let vocabulary = self.inner.vocabulary();
        let specials = self.inner.special_tokens();
        if let Ok(bytes) = token.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            let special = || {
                let literal = std::str::from_utf8(bytes).ok()?;
                specials.id(literal).or_else(|| self.inner.literal_id(literal))
            };
            return Ok(vocabulary.id(bytes).or_else(special));
        }
        let Ok(token) = token.cast::<PyString>() else {
            let kind = token.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!("token must be str or bytes, not {kind}")));
        };
        let Ok(token) = token.to_str() else {
            return Ok(None);
        };
        let spelled = || vocabulary.id(&byte_map::to_bytes(token).ok()?);
        Ok(specials.id(token).or_else(|| self.inner.literal_id(token)).or_else(spelled))
    }

    /// A token as files spell it (`Ġthe`), or a special token's literal.
    fn id_to_token(&self, id: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        let Some(id) = small_id(id)? else { return Ok(None) };
        let vocabulary = self.inner.vocabulary();
        let bytes = vocabulary.token_bytes(id);
        Ok(bytes.map(|bytes| match vocabulary.kind(id) {
            Some(Kind::Special | Kind::Literal) => String::from_utf8_lossy(bytes).into_owned(),
            _ => byte_map::to_spelling(bytes),
        }))
    }

    /// Whether a piece that is a token is that token, whatever the merge rules make of it.
    #[getter]
    fn whole_pieces(&self) -> bool {
        self.inner.beyond().whole_pieces || *self.inner.rules() == Rules::TokenBytes
    }

    /// What a tokenizer.json said beyond vocabulary, merges and pattern, as JSON.
    #[getter]
    fn spec(&self) -> Option<&str> {
        self.inner.beyond().spec.as_deref()
    }

    /// The pairs that have a rule, in rank order; `None` where token bytes are ranked instead.
    fn merges(&self) -> Option<Vec<(TokenId, TokenId)>> {
        match self.inner.rules() {
            Rules::Pairs(merges) => Some(merges.clone()),
            Rules::TokenBytes => None,
        }
    }

    /// The parts of a text that the pattern matches.
    fn matches<'t>(&self, py: Python<'_>, text: &'t str) -> PyResult<Vec<&'t str>> {
        let mut matches = Vec::new();
        Signals::detached(py, |signals| {
            self.inner.pattern().matches(text, |part| {
                matches.push(part);
                signals.check()
            })
        })?;
        Ok(matches)
    }

    /// The ids of bytes, merged as one piece.
    fn merge_piece(&self, py: Python<'_>, piece: &[u8]) -> PyResult<Vec<TokenId>> {
        Signals::detached(py, |signals| Ok(Merger::default().merge(self.inner.pairs(), piece, signals)?.to_vec()))
    }
}

/// Of a dict of nothing but bytes and small integers: no list of its items, and no code of theirs runs.
fn plain_ranks(mapping: &Bound<'_, PyMapping>) -> Option<ranks::Ranks> {
    let mut given = ranks::Ranks::default();
    for (token, rank) in mapping.cast_exact::<PyDict>().ok()?.iter() {
        let rank = rank.cast_exact::<PyInt>().ok()?.extract::<i64>().ok()?;
        given.push(token.cast_exact::<PyBytes>().ok()?.as_bytes(), rank.into());
    }
    Some(given)
}

fn any_ranks(mapping: &Bound<'_, PyMapping>) -> PyResult<ranks::Ranks> {
    let mut given = ranks::Ranks::default();
    for item in mapping.items()?.iter() {
        let (token, rank): (Bound<PyAny>, Bound<PyAny>) = item.extract()?;
        let Ok(bytes) = token.cast::<PyBytes>() else {
            let kind = token.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!("ranks: a token must be bytes, not {kind}")));
        };
        let bytes = bytes.as_bytes();
        let rank = integer(&rank, |rank| {
            format!("ranks: the token {} has the rank {rank}, expected 0 to {MAX_ID}", show_bytes(bytes))
        })?;
        given.push(bytes, rank);
    }
    Ok(given)
}

/// An integer of any size that is not absurd; else the fault is `absurd`.
fn integer(number: &Bound<'_, PyAny>, absurd: impl FnOnce(&Bound<'_, PyAny>) -> String) -> PyResult<i128> {
    match number.extract::<i128>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => Err(Error::file(absurd(number)).into()),
        number => Ok(number?),
    }
}

/// `None` for an integer that can be no id.
fn small_id(id: &Bound<'_, PyAny>) -> PyResult<Option<TokenId>> {
    match id.extract::<i64>() {
        Ok(number) => Ok(TokenId::try_from(number).ok()),
        Err(error) if error.is_instance_of::<PyOverflowError>(id.py()) => Ok(None),
        Err(error) => Err(error),
    }
}
