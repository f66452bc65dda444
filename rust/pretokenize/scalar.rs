//! The pieces of the families a character at a time: one step over the class of each.
//!
//! What the expressions mean, alternative by alternative:
//! - a contraction is exactly one of seven endings;
//! - a word is a run of letters (and marks, where they are told apart), after a front if it may have one. By case, the
//!   expressions `[UB]*[LB]+|[UB]+[LB]*`, of upper case, lower case and what is both, take: as many of UB as there
//!   are, then as many of LB if a lower-case letter follows; if none does, up to the last of B; if there is none, all.
//!   A mark may be a front too, but then the piece is the same as if it were a letter.
//! - numbers and others are runs of their class;
//! - whitespace up to its last newline is a piece, where the family has that rule; other whitespace gives its last
//!   character back if anything but whitespace follows (which then may be the front of that), unless it is the only one.
//!
//! For a family that sets scripts and numbers apart, a text ends where they begin and end.

use super::classes::{Alphabet, Class};
use super::rules::{Contractions, Front, Rules, Tail};

/// Length of the letters of a contraction at the front of `rest`.
#[inline]
pub fn contraction(rest: &[u8], any_case: bool) -> Option<usize> {
    let fold = if any_case { 0x20 } else { 0 };
    match (*rest.first()? | fold, rest.get(1).map_or(0, |byte| byte | fold)) {
        (b's' | b't' | b'm' | b'd', _) => Some(1),
        (b'r' | b'v', b'e') | (b'l', b'l') => Some(2),
        _ if any_case && rest.starts_with("ſ".as_bytes()) => Some(2),
        _ => None,
    }
}

impl Rules {
    /// The end of the piece that starts at byte `start`, which must be inside the text.
    pub fn piece_end(&self, text: &str, start: usize) -> usize {
        let cursor = Cursor { rules: self, text };
        if matches!(self.contractions, Contractions::Piece | Contractions::PieceOfAnyCase)
            && let Some(end) = cursor.contraction(start)
        {
            return end;
        }
        let (first, length) = cursor.at(start).unwrap_or((Class::Other, 1));
        let next = start + length;
        let blank = text.as_bytes()[start] == b' ';
        if is_word(first) {
            return cursor.word_end(start);
        }
        let before_word = cursor.at(next).is_some_and(|(class, _)| is_word(class) && same(first, class));
        if before_word && cursor.may_be_front(start, first) {
            // Where the front is ASCII punctuation, only ASCII letters belong to it.
            let ascii = self.front == Front::Control && first == Class::Other;
            return if ascii { cursor.ascii_end(next) } else { cursor.word_end(next) };
        }
        match first {
            Class::Number => cursor.number_end(start),
            Class::Other | Class::ApartOther => cursor.other_end(start, first),
            Class::Space if blank => match cursor.at(next) {
                Some((Class::Other, _)) => cursor.other_end(next, Class::Other),
                Some((Class::Number, _)) if self.digits == 0 => cursor.number_end(next),
                _ => cursor.space_end(start),
            },
            Class::Space => cursor.space_end(start),
            _ => cursor.control_end(start, first),
        }
    }
}

fn is_word(class: Class) -> bool {
    matches!(class, Class::Letter | Class::Upper | Class::Lower | Class::Mark | Class::ApartLetter)
}

/// Whether both are set apart, or neither is.
fn same(one: Class, other: Class) -> bool {
    let apart = |class| matches!(class, Class::ApartLetter | Class::ApartOther | Class::ApartControl);
    apart(one) == apart(other)
}

struct Cursor<'t> {
    rules: &'t Rules,
    text: &'t str,
}

impl Cursor<'_> {
    fn at(&self, at: usize) -> Option<(Class, usize)> {
        self.rules.alphabet.at(self.text, at)
    }

    /// The end of the characters from `start` on that are of such classes.
    fn run(&self, start: usize, mut is: impl FnMut(Class) -> bool) -> usize {
        let mut end = start;
        while let Some((class, length)) = self.at(end)
            && is(class)
        {
            end += length;
        }
        end
    }

    /// The end of the contraction whose apostrophe is at byte `at`, if one is.
    fn contraction(&self, at: usize) -> Option<usize> {
        let rest = self.text.as_bytes()[at..].strip_prefix(b"'")?;
        Some(at + 1 + contraction(rest, self.rules.contractions != Contractions::Piece)?)
    }

    fn may_be_front(&self, at: usize, class: Class) -> bool {
        let bytes = self.text.as_bytes();
        let newline = matches!(bytes[at], b'\r' | b'\n');
        match self.rules.front {
            Front::Blank => bytes[at] == b' ',
            Front::AnyButNewline => !newline && matches!(class, Class::Other | Class::Space),
            Front::Control => {
                let before_ascii = bytes[at].is_ascii() && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
                match class {
                    Class::Control | Class::ApartControl => true,
                    Class::Space => !newline,
                    _ => class == Class::Other && before_ascii,
                }
            }
        }
    }

    /// `start` is at its first letter.
    fn word_end(&self, start: usize) -> usize {
        let end = match self.rules.alphabet {
            Alphabet::Plain => self.run(start, is_word),
            Alphabet::Cased => self.cased_end(start),
            Alphabet::Apart => {
                let apart = matches!(self.at(start), Some((Class::ApartLetter, _)));
                self.run(start, |class| class == if apart { Class::ApartLetter } else { Class::Letter })
            }
        };
        if self.rules.contractions == Contractions::Suffix { self.contraction(end).unwrap_or(end) } else { end }
    }

    fn ascii_end(&self, start: usize) -> usize {
        start + self.text.as_bytes()[start..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count()
    }

    fn cased_end(&self, start: usize) -> usize {
        let both = |class| matches!(class, Class::Letter | Class::Mark);
        let mut last_of_both = start;
        let mut end = start;
        while let Some((class, length)) = self.at(end)
            && (class == Class::Upper || both(class))
        {
            end += length;
            if both(class) {
                last_of_both = end;
            }
        }
        let lower = self.run(end, |class| class == Class::Lower || both(class));
        match () {
            () if lower > end => lower,
            () if last_of_both > start => last_of_both,
            () => end,
        }
    }

    fn number_end(&self, start: usize) -> usize {
        let mut count = 0;
        self.run(start, |class| {
            count += 1;
            class == Class::Number && (self.rules.digits == 0 || count <= self.rules.digits)
        })
    }

    /// `start` is at the first character that is no front.
    fn other_end(&self, start: usize, first: Class) -> usize {
        // A mark is one of the others where it is not part of a word.
        let end = self.run(start, |class| class == first || class == Class::Mark);
        let tail: &[u8] = match self.rules.tail {
            _ if first == Class::ApartOther => b"",
            Tail::None => b"",
            Tail::Newlines => b"\r\n",
            Tail::NewlinesAndSlashes => b"\r\n/",
        };
        end + self.text.as_bytes()[end..].iter().take_while(|byte| tail.contains(byte)).count()
    }

    fn space_end(&self, start: usize) -> usize {
        let (mut end, mut last, mut after_newline) = (start, start, start);
        while let Some((Class::Space, length)) = self.at(end) {
            last = end;
            end += length;
            if matches!(self.text.as_bytes()[last], b'\r' | b'\n') {
                after_newline = end;
            }
        }
        if self.rules.space_to_end && end == self.text.len() {
            return end;
        }
        if self.rules.newlines && after_newline > start {
            return after_newline;
        }
        let is_at_end = match self.at(end) {
            None => true,
            Some((next, _)) => {
                self.rules.alphabet == Alphabet::Apart && (next == Class::Number || !same(next, Class::Space))
            }
        };
        if is_at_end || last == start { end } else { last }
    }

    /// What no expression matches: up to what is the front of a word.
    fn control_end(&self, start: usize, first: Class) -> usize {
        let (mut end, mut last) = (start, start);
        while let Some((class, length)) = self.at(end)
            && class == first
        {
            last = end;
            end += length;
        }
        let before_word = self.at(end).is_some_and(|(next, _)| is_word(next) && same(first, next));
        if before_word { last } else { end }
    }
}
