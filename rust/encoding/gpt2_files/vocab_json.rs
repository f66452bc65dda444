//! A strict reader of one flat JSON object of token -> id, which knows the line of every token.

use std::collections::HashMap;

use crate::encoding::{MAX_ID, TokenId};
use crate::error::{Error, Result, quote, shorten, show_char};

pub struct Entry {
    pub token: String,
    pub id: TokenId,
    pub line: usize,
}

/// The entries of `text` in file order; `file` is named in errors.
pub fn read(file: &str, text: &str) -> Result<Vec<Entry>> {
    Reader { file, text, at: 0, line: 1 }.object()
}

struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Reader<'t> {
    fn object(&mut self) -> Result<Vec<Entry>> {
        self.skip_space();
        if !self.take('{') {
            return self.fault(format!("expected a JSON object, found {}", self.found()));
        }
        let mut entries: Vec<Entry> = Vec::new();
        let mut lines: HashMap<String, usize> = HashMap::new();
        self.skip_space();
        while !(entries.is_empty() && self.take('}')) {
            let entry = self.entry()?;
            if let Some(first) = lines.insert(entry.token.clone(), entry.line) {
                let token = quote(&entry.token);
                return self.fault_at(entry.line, format!("token {token} is repeated (first on line {first})"));
            }
            let token = quote(&entry.token);
            entries.push(entry);
            self.skip_space();
            if self.take('}') {
                break;
            }
            if !self.take(',') {
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

    fn entry(&mut self) -> Result<Entry> {
        let line = self.line;
        let token = self.string()?;
        if token.is_empty() {
            return self.fault_at(line, "empty token".to_owned());
        }
        self.skip_space();
        if !self.take(':') {
            return self.fault(format!("expected ':' after token {}, found {}", quote(&token), self.found()));
        }
        self.skip_space();
        let rest = &self.text[self.at..];
        let value = &rest[..rest.find([' ', '\t', '\n', '\r', ',', '}']).unwrap_or(rest.len())];
        if value.is_empty() {
            let (token, found) = (quote(&token), self.found());
            return self.fault(format!("expected a non-negative integer after token {token}, found {found}"));
        }
        let digits = value.bytes().all(|b| b.is_ascii_digit()) && (value == "0" || !value.starts_with('0'));
        if !digits {
            let (token, value) = (quote(&token), shorten(value));
            return self
                .fault_at(line, format!("token {token} has the value {value}, expected a non-negative integer"));
        }
        match value.parse() {
            Ok(id) if id <= MAX_ID => {
                self.at += value.len();
                Ok(Entry { token, id, line })
            }
            _ => {
                let (token, value) = (quote(&token), shorten(value));
                self.fault_at(line, format!("token {token} has the id {value}, expected at most {MAX_ID}"))
            }
        }
    }

    fn string(&mut self) -> Result<String> {
        let line = self.line;
        if !self.take('"') {
            return self.fault(format!("expected a token in double quotes, found {}", self.found()));
        }
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c| c == '"' || c == '\\' || c < ' ').unwrap_or(rest.len());
            string.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some('\\') => {
                    self.at += 1;
                    string.push(self.escape(line)?);
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
        let mut units = vec![unit];
        if (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with("\\u") {
            let after_first = self.at;
            self.at += 1;
            match self.code_unit() {
                Some(low @ 0xdc00..0xe000) => units.push(low),
                _ => self.at = after_first,
            }
        }
        match char::decode_utf16(units).next() {
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
        let found = self.peek() == Some(wanted);
        self.at += found as usize;
        found
    }

    fn skip_space(&mut self) {
        while let Some(space @ (' ' | '\t' | '\n' | '\r')) = self.peek() {
            self.line += (space == '\n') as usize;
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
