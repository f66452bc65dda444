//! A strict reader of one flat JSON object of token -> id, which knows the line of every token.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{self, HashTable};

use crate::encoding::{MAX_ID, TokenId};
use crate::error::{Error, Result, quote, shorten, show_char};

/// The entries of a file in its order, and found by their tokens. All tokens lie in one string.
pub struct Entries {
    text: String,
    places: Vec<Place>,
    by_token: HashTable<usize>,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy)]
pub struct Entry<'e> {
    pub token: &'e str,
    pub id: TokenId,
    pub line: usize,
}

/// Of an entry whose token is `text[start..end]`.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    id: TokenId,
    line: usize,
}

impl Place {
    fn entry(self, text: &str) -> Entry<'_> {
        Entry { token: &text[self.start..self.end], id: self.id, line: self.line }
    }
}

/// About how many bytes of a file an entry takes, or more.
const BYTES_OF_AN_ENTRY: usize = 16;

impl Entries {
    /// For a file of so many bytes.
    fn with_capacity(bytes: usize) -> Self {
        let entries = bytes / BYTES_OF_AN_ENTRY;
        Entries {
            text: String::with_capacity(bytes / 2),
            places: Vec::with_capacity(entries),
            by_token: HashTable::with_capacity(entries),
            hasher: DefaultHashBuilder::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Of all tokens together.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    fn at(&self, at: usize) -> Entry<'_> {
        self.places[at].entry(&self.text)
    }

    /// The entry of a token, and its place in the file; `guess` is the place that is looked at first.
    pub fn find(&self, token: &str, guess: usize) -> Option<(usize, Entry<'_>)> {
        let at = match self.places.get(guess) {
            Some(place) if place.entry(&self.text).token == token => guess,
            _ => *self.by_token.find(self.hasher.hash_one(token), |&at| self.at(at).token == token)?,
        };
        Some((at, self.at(at)))
    }

    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.places.iter().map(|place| place.entry(&self.text))
    }

    pub fn get(&self, token: &str) -> Option<Entry<'_>> {
        self.find(token, usize::MAX).map(|(_, entry)| entry)
    }

    /// Adds an entry, unless one has its token already: that is the error.
    fn add(&mut self, place: Place) -> Result<(), Entry<'_>> {
        let Entries { text, places, by_token, hasher } = self;
        let token = place.entry(text).token;
        let of = |at: usize| places[at].entry(text).token;
        match by_token.entry(hasher.hash_one(token), |&at| of(at) == token, |&at| hasher.hash_one(of(at))) {
            hash_table::Entry::Occupied(first) => Err(places[*first.get()].entry(text)),
            hash_table::Entry::Vacant(free) => {
                free.insert(places.len());
                places.push(place);
                Ok(())
            }
        }
    }
}

/// The entries of `text`; `file` is named in errors.
pub fn read(file: &str, text: &str) -> Result<Entries> {
    Reader { file, text, at: 0, line: 1 }.object()
}

struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    at: usize,
    line: usize,
}

impl Reader<'_> {
    fn object(&mut self) -> Result<Entries> {
        self.skip_space();
        if !self.take('{') {
            return self.fault(format!("expected a JSON object, found {}", self.found()));
        }
        let mut entries = Entries::with_capacity(self.text.len());
        self.skip_space();
        while !(entries.len() == 0 && self.take('}')) {
            let place = self.entry(&mut entries.text)?;
            if let Err(first) = entries.add(place) {
                let (token, first) = (quote(first.token), first.line);
                return self.fault_at(place.line, format!("token {token} is repeated (first on line {first})"));
            }
            self.skip_space();
            if self.take('}') {
                break;
            }
            if !self.take(',') {
                let token = quote(place.entry(&entries.text).token);
                return self.fault(format!("expected ',' or '}}' after token {token}, found {}", self.found()));
            }
            self.skip_space();
        }
        self.skip_space();
        match self.peek() {
            None => Ok(entries),
            Some(_) => self.fault(format!("content after the JSON object: {}", self.found())),
        }
    }

    /// Appends the token of the next entry to `text`.
    fn entry(&mut self, text: &mut String) -> Result<Place> {
        let (start, line) = (text.len(), self.line);
        self.string(text)?;
        let token = &text[start..];
        if token.is_empty() {
            return self.fault_at(line, "empty token".to_owned());
        }
        self.skip_space();
        if !self.take(':') {
            return self.fault(format!("expected ':' after token {}, found {}", quote(token), self.found()));
        }
        self.skip_space();
        let rest = &self.text[self.at..];
        let is_end = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b'}');
        let value = &rest[..rest.bytes().position(is_end).unwrap_or(rest.len())];
        if value.is_empty() {
            let (token, found) = (quote(token), self.found());
            return self.fault(format!("expected a non-negative integer after token {token}, found {found}"));
        }
        let digits = value.bytes().all(|b| b.is_ascii_digit()) && (value == "0" || !value.starts_with('0'));
        if !digits {
            let (token, value) = (quote(token), shorten(value));
            return self
                .fault_at(line, format!("token {token} has the value {value}, expected a non-negative integer"));
        }
        match value.parse() {
            Ok(id) if id <= MAX_ID => {
                self.at += value.len();
                Ok(Place { start, end: text.len(), id, line })
            }
            _ => {
                let (token, value) = (quote(token), shorten(value));
                self.fault_at(line, format!("token {token} has the id {value}, expected at most {MAX_ID}"))
            }
        }
    }

    /// Appends what the next string says to `text`.
    fn string(&mut self, text: &mut String) -> Result<()> {
        let line = self.line;
        if !self.take('"') {
            return self.fault(format!("expected a token in double quotes, found {}", self.found()));
        }
        loop {
            let rest = &self.text[self.at..];
            let is_end = |byte: u8| byte == b'"' || byte == b'\\' || byte < b' ';
            let plain = rest.bytes().position(is_end).unwrap_or(rest.len());
            text.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    self.at += 1;
                    text.push(self.escape(line)?);
                }
                Some(control) => {
                    let code = control as u32;
                    return self.fault_at(line, format!("control character U+{code:04X} in a token"));
                }
                None => {
                    return self.fault_at(line, "expected '\"' to end a token, found end of file".to_owned());
                }
            }
        }
    }

    /// What follows a backslash; `line` is where the string began.
    fn escape(&mut self, line: usize) -> Result<char> {
        let plain = match self.peek() {
            Some(kind @ ('"' | '\\' | '/')) => kind,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode_escape(line),
            other => return self.fault_at(line, format!("bad escape {} in a token", show_char(other))),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self, line: usize) -> Result<char> {
        let Some(unit) = self.code_unit() else {
            return self.fault_at(line, "bad escape 'u' in a token".to_owned());
        };
        let mut low_unit = None;
        if (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with("\\u") {
            let after_first = self.at;
            self.at += 1;
            match self.code_unit() {
                Some(low @ 0xdc00..0xe000) => low_unit = Some(low),
                _ => self.at = after_first,
            }
        }
        match char::decode_utf16([unit].into_iter().chain(low_unit)).next() {
            Some(Ok(c)) => Ok(c),
            _ => self.fault_at(line, format!("lone surrogate U+{unit:04X} in a token")),
        }
    }

    /// Reads `uXXXX`.
    fn code_unit(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at + 1..self.at + 5)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 5;
        u16::from_str_radix(digits, 16).ok()
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Steps over the ASCII character `wanted`, if it is next.
    fn take(&mut self, wanted: char) -> bool {
        let found = self.text.as_bytes().get(self.at) == Some(&(wanted as u8));
        self.at += found as usize;
        found
    }

    fn skip_space(&mut self) {
        while let Some(space @ (b' ' | b'\t' | b'\n' | b'\r')) = self.text.as_bytes().get(self.at) {
            self.line += (*space == b'\n') as usize;
            self.at += 1;
        }
    }

    fn found(&self) -> String {
        show_char(self.peek())
    }

    fn fault<T>(&self, message: String) -> Result<T> {
        self.fault_at(self.line, message)
    }

    fn fault_at<T>(&self, line: usize, message: String) -> Result<T> {
        Err(Error::file(format!("{}: line {line}: {message}", self.file)))
    }
}
