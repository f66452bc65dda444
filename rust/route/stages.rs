//! Pre-tokenization in several stages: each cuts the pieces of the one before, and sees nothing but the piece.
//!
//! A stage finds matches, and its behaviour says what becomes of them (Hugging Face's `SplitDelimiterBehavior`).
//! Pieces go through all stages one by one, so that only the matches in one piece of each stage are in memory.

use std::ops::Range;

use fancy_regex::Regex;

use super::spec::{self, Behavior, Class};
use super::traced::Traced;
use super::unicode::{is_numeric, is_punctuation};
use crate::byte_map;
use crate::error::{Error, Result, quote};
use crate::pretokenize::Pattern;

pub enum Stage {
    /// Matches and what lies between them are pieces alike.
    Pattern(Box<Pattern>),
    Regex {
        regex: Box<Regex>,
        behavior: Behavior,
        invert: bool,
    },
    Class {
        class: Class,
        behavior: Behavior,
    },
    PrefixSpace,
    Bytes,
}

/// For a regular expression that matches no empty text.
pub fn compile(regex: &str) -> Result<Regex> {
    Regex::new(regex).map_err(|error| Error::file(format!("pattern {} cannot be used: {error}", quote(regex))))
}

/// The first match from byte `from` on.
pub fn find(regex: &Regex, text: &str, from: usize) -> Result<Option<Range<usize>>> {
    let gave_up = |error| Error::InvalidText(format!("the pattern's engine gave up after byte {from}: {error}"));
    Ok(regex.find_from_pos(text, from).map_err(gave_up)?.map(|found| found.range()))
}

impl Stage {
    pub fn new(spec: &spec::Stage) -> Result<Self> {
        Ok(match spec {
            spec::Stage::Regex { regex, behavior: Behavior::Isolated, .. } => {
                Stage::Pattern(Box::new(Pattern::new(regex)?))
            }
            &spec::Stage::Regex { ref regex, behavior, invert } => {
                Stage::Regex { regex: Box::new(compile(regex)?), behavior, invert }
            }
            &spec::Stage::Class { class, behavior } => Stage::Class { class, behavior },
            spec::Stage::PrefixSpace => Stage::PrefixSpace,
            spec::Stage::Bytes => Stage::Bytes,
        })
    }

    /// The places of the pieces of `text`.
    fn cut(&self, text: &str) -> Result<Vec<Range<usize>>> {
        Ok(match self {
            Stage::Pattern(pattern) => {
                let (mut pieces, mut start) = (Vec::new(), 0);
                pattern.pieces(text, |piece| {
                    pieces.push(start..start + piece.len());
                    start += piece.len();
                    Ok(())
                })?;
                pieces
            }
            Stage::Regex { regex, behavior, invert } => {
                let (mut parts, mut end) = (Vec::new(), 0);
                while let Some(found) = find(regex, text, end)? {
                    if end < found.start {
                        parts.push((end..found.start, *invert));
                    }
                    end = found.end;
                    parts.push((found, !invert));
                }
                if end < text.len() {
                    parts.push((end..text.len(), *invert));
                }
                behavior.apply(parts)
            }
            Stage::Class { class, behavior } => {
                let mut parts: Vec<(Range<usize>, bool)> = Vec::new();
                for (at, character) in text.char_indices() {
                    let end = at + character.len_utf8();
                    match (class.contains(character), parts.last_mut()) {
                        (false, Some((part, false))) => part.end = end,
                        (is_member, _) => parts.push((at..end, is_member)),
                    }
                }
                behavior.apply(parts)
            }
            Stage::PrefixSpace | Stage::Bytes => std::iter::once(0..text.len()).collect(),
        })
    }
}

impl Class {
    fn contains(self, character: char) -> bool {
        match self {
            Class::Numeric => is_numeric(character),
            Class::Punctuation => is_punctuation(character),
            Class::Whitespace => character.is_whitespace(),
        }
    }
}

impl Behavior {
    /// The pieces of a text that these parts, of which some are matches, make up.
    fn apply(self, mut parts: Vec<(Range<usize>, bool)>) -> Vec<Range<usize>> {
        match self {
            Behavior::Removed => parts.into_iter().filter(|(_, is_match)| !is_match).map(|(part, _)| part).collect(),
            Behavior::Isolated => parts.into_iter().map(|(part, _)| part).collect(),
            Behavior::Contiguous => merged(parts, |before, now| before == now),
            Behavior::MergedWithPrevious => merged(parts, |before, now| now && !before),
            Behavior::MergedWithNext => {
                parts.reverse();
                let mut pieces = merged(parts, |after, now| now && !after);
                pieces.reverse();
                pieces
            }
        }
    }
}

/// Parts in a row as one piece where `joins` says so of the part before, whether it was a match, and the next.
fn merged(parts: Vec<(Range<usize>, bool)>, joins: impl Fn(bool, bool) -> bool) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut before = false;
    for (part, is_match) in parts {
        match pieces.last_mut() {
            Some(last) if joins(before, is_match) => {
                *last = last.start.min(part.start)..last.end.max(part.end);
            }
            _ => pieces.push(part),
        }
        before = is_match;
    }
    pieces
}

/// Calls `visit` with each piece; where one stage was `Bytes`, its text is the spelling of its bytes.
pub fn run(stages: &[Stage], piece: Traced, visit: &mut dyn FnMut(Traced) -> Result<()>) -> Result<()> {
    let Some((stage, rest)) = stages.split_first() else {
        return if piece.text.is_empty() { Ok(()) } else { visit(piece) };
    };
    match stage {
        Stage::PrefixSpace if !piece.text.starts_with(' ') => run(rest, piece.prepended(" "), visit),
        Stage::PrefixSpace => run(rest, piece, visit),
        Stage::Bytes => {
            let mut spelled = piece.edit();
            let mut spelling = [0; 4];
            for (at, &byte) in piece.text.as_bytes().iter().enumerate() {
                spelled.put(byte_map::CHARACTERS[byte as usize].encode_utf8(&mut spelling), at..at + 1);
            }
            run(rest, spelled.done(), visit)
        }
        _ => stage.cut(&piece.text)?.into_iter().try_for_each(|range| run(rest, piece.slice(range), visit)),
    }
}
