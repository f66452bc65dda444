//! Patterns without a scanner: fancy-regex, with `\s+(?!\S)` handled here.
//!
//! With that look-ahead in it, fancy-regex runs its backtracking engine, whose stack a million spaces
//! exhaust. Nearly every published pattern ends in `|\s+(?!\S)|\s+` and has no other look-around. There
//! the look-ahead only gives one character back, so the ending is compiled as `|(\s+)` and the character
//! given back here; what is left is usually regular and runs in linear time. A look-ahead
//! elsewhere stays with fancy-regex, and its limits are errors, never wrong pieces.

use fancy_regex::Regex;

use crate::error::{Error, Result, quote};

/// Endings that give a whitespace character back, longest first.
const ENDINGS: [&str; 2] = [r"|\s+(?!\S)|\s+", r"|\s+(?!\S)|\s"];

/// Nothing is known of the pattern, but the ones in use take runs of a class after a short front.
pub const SETTLES_AFTER: usize = 64;

pub struct Engine {
    regex: Regex,
    /// The number of the group that holds the ending's whitespace.
    ending: Option<usize>,
}

impl Engine {
    pub fn new(pattern: &str) -> Result<Self> {
        let compile = |pattern: &str| Regex::new(pattern);
        // The whole must compile, or what is cut from it may not be what it seems (`(a|\s+(?!\S)|\s+`).
        let whole = compile(pattern)
            .map_err(|error| Error::file(format!("pattern {} cannot be used: {error}", quote(pattern))))?;
        for ending in ENDINGS {
            if let Some(front) = pattern.strip_suffix(ending)
                && let (Ok(regex), Ok(front)) = (compile(&format!(r"{front}|(\s+)")), compile(front))
                && regex.captures_len() == front.captures_len() + 1
            {
                let ending = front.captures_len();
                return Ok(Engine { regex, ending: Some(ending) });
            }
        }
        Ok(Engine { regex: whole, ending: None })
    }

    pub fn pieces<'t>(&self, text: &'t str, visit: impl FnMut(&'t str) -> Result<()>) -> Result<()> {
        self.pieces_from(text, 0, visit)
    }

    pub fn pieces_from<'t>(
        &self,
        text: &'t str,
        mut start: usize, // of the text that is in no piece yet
        mut visit: impl FnMut(&'t str) -> Result<()>,
    ) -> Result<()> {
        let mut from = start; // where the next match is sought
        while let Some((match_start, match_end)) = self.next_match(text, from)? {
            if match_start == match_end {
                from = match_end + text[match_end..].chars().next().map_or(1, char::len_utf8);
                if from > text.len() {
                    break;
                }
                continue;
            }
            if start < match_start {
                visit(&text[start..match_start])?;
            }
            visit(&text[match_start..match_end])?;
            (start, from) = (match_end, match_end);
        }
        if start < text.len() {
            visit(&text[start..])?;
        }
        Ok(())
    }

    fn next_match(&self, text: &str, from: usize) -> Result<Option<(usize, usize)>> {
        let gave_up = |error| Error::InvalidText(format!("the pattern's engine gave up after byte {from}: {error}"));
        let Some(found) = self.regex.find_from_pos(text, from).map_err(gave_up)? else {
            return Ok(None);
        };
        let (start, end) = (found.start(), found.end());
        let Some(ending) = self.ending else {
            return Ok(Some((start, end)));
        };
        if end == text.len() || !found.as_str().starts_with(char::is_whitespace) {
            return Ok(Some((start, end)));
        }
        let captures = self.regex.captures_from_pos(text, start).map_err(gave_up)?;
        let by_ending = captures.is_some_and(|captures| captures.get(ending).is_some());
        let last = text[start..end].chars().next_back().map_or(0, char::len_utf8);
        let keeps_all = !by_ending || last == end - start;
        Ok(Some((start, if keeps_all { end } else { end - last })))
    }
}
