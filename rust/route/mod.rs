//! The way of a text where more is to do than cutting out special tokens and following one pattern: encodings from
//! a `tokenizer.json` with a normalizer, with several stages of pre-tokenization, or with added tokens that have
//! conditions. All others never come here.
//!
//! ```text
//! document ── added.rs: raw ──> parts ── normalize.rs ──> parts ── added.rs: normalized ──> parts ── stages.rs ──> pieces
//! ```
//! [`spec`] is what an encoding's data says of it. With [`Traced`] texts each token's characters in the document are known
//! as well. Linear in the text but for what regular expressions and merging cost.

pub mod added;
pub mod normalize;
pub mod spec;
pub mod stages;
pub mod traced;
pub mod unicode;
#[rustfmt::skip]
mod unicode_tables;

use crate::byte_map;
use crate::encode::Session;
use crate::encoding::TokenId;
use crate::error::{Error, Position, Result};
use crate::interrupt::Interrupt;
use crate::sink::{Ends, Sink};
use crate::special::Special;
use added::AddedTokens;
use normalize::{Normalizer, normalized};
use spec::Spec;
use stages::Stage;
use traced::{Origin, Traced};

pub struct Route {
    added: AddedTokens,
    normalizers: Vec<Normalizer>,
    prefix_space: bool,
    /// `None` where the encoding's pattern is all.
    stages: Option<Vec<Stage>>,
}

/// A token and what it stands for.
pub struct TracedToken {
    pub id: TokenId,
    /// The first of its characters and the one behind the last.
    pub span: Origin,
    /// Tokens of the text before the piece that it is in.
    pub before_piece: usize,
}

impl Route {
    /// `None` if a text's way is the usual one.
    pub fn new(spec: &Spec, interrupt: &dyn Interrupt) -> Result<Option<Self>> {
        let Spec { added, normalizers, prefix_space, stages, .. } = spec;
        if added.is_none() && normalizers.is_empty() && !prefix_space && stages.is_none() {
            return Ok(None);
        }
        let normalizers = normalizers.iter().map(Normalizer::new).collect::<Result<Vec<_>>>()?;
        let added = AddedTokens::new(added.clone().unwrap_or_default(), &normalizers, interrupt)?;
        let stages = stages.as_ref().map(|stages| stages.iter().map(Stage::new).collect::<Result<_>>()).transpose()?;
        Ok(Some(Route { added, normalizers, prefix_space: *prefix_space, stages }))
    }

    /// Appends the ids of `text` to `sink`.
    pub fn encode(
        &self,
        session: &mut Session,
        text: &str,
        special: &Special,
        sink: &mut impl Sink,
        interrupt: &dyn Interrupt,
    ) -> Result<()> {
        if matches!(special, Special::Error) {
            self.find_special(text, interrupt)?;
        }
        self.walk(Traced::untraced(text), special, interrupt, &mut |part| match part {
            Visit::Token(token, literal) => {
                sink.put_special(token.id, literal.text.len());
                Ok(())
            }
            Visit::Text(part) => match &self.stages {
                None => session.encode_ordinary(&part.text, sink, interrupt),
                Some(stages) => {
                    stages::run(stages, part, &mut |piece| session.encode_piece(&self.bytes(&piece).0, sink, interrupt))
                }
            },
        })
    }

    /// The ids of `text`, and what they stand for.
    pub fn trace(
        &self,
        session: &mut Session,
        text: &str,
        special: &Special,
        interrupt: &dyn Interrupt,
    ) -> Result<Vec<TracedToken>> {
        if matches!(special, Special::Error) {
            self.find_special(text, interrupt)?;
        }
        let encoding = session.encoding();
        let mut tokens: Vec<TracedToken> = Vec::new();
        self.walk(Traced::document(text), special, interrupt, &mut |part| match part {
            Visit::Token(token, literal) => {
                let span = literal.origin(0..literal.text.len()).unwrap_or_default();
                tokens.push(TracedToken { id: token.id, span, before_piece: tokens.len() });
                Ok(())
            }
            Visit::Text(part) => {
                let mut piece = |piece: Traced| {
                    let (bytes, starts) = self.bytes(&piece);
                    let mut ends = Ends::new(encoding.vocabulary());
                    session.encode_piece(&bytes, &mut ends, interrupt)?;
                    let (before_piece, mut start) = (tokens.len(), 0);
                    for (&id, &end) in ends.ids.iter().zip(&ends.ends) {
                        let place = |byte: usize| starts.as_ref().map_or(byte, |starts| starts[byte]);
                        let (from, to) = (place(start), place(end));
                        let span = piece.origin(from..to).unwrap_or_default();
                        tokens.push(TracedToken { id, span, before_piece });
                        start = end;
                    }
                    Ok(())
                };
                match &self.stages {
                    Some(stages) => stages::run(stages, part, &mut piece),
                    None => {
                        let mut start = 0;
                        encoding.pattern().pieces(&part.text, |found| {
                            let end = start + found.len();
                            piece(part.slice(std::mem::replace(&mut start, end)..end))
                        })
                    }
                }
            }
        })?;
        Ok(tokens)
    }

    /// The bytes of a piece. Where it is spelled, also where the spelling of each byte starts, and at last where it ends.
    fn bytes<'p>(&self, piece: &'p Traced) -> (std::borrow::Cow<'p, [u8]>, Option<Vec<usize>>) {
        if !self.stages.iter().flatten().any(|stage| matches!(stage, Stage::Bytes)) {
            return (piece.text.as_bytes().into(), None);
        }
        let bytes: Vec<u8> = piece.text.chars().filter_map(byte_map::byte_of).collect();
        let starts = piece.text.char_indices().map(|(at, _)| at).chain([piece.text.len()]).collect();
        (bytes.into(), Some(starts))
    }

    /// The error that a special token is, if one is in the text. Only then is it worth to know where.
    fn find_special(&self, text: &str, interrupt: &dyn Interrupt) -> Result<()> {
        match self.find_special_in(Traced::untraced(text), text, interrupt) {
            Err(Error::SpecialToken { .. }) => self.find_special_in(Traced::document(text), text, interrupt),
            outcome => outcome,
        }
    }

    fn find_special_in(&self, document: Traced, text: &str, interrupt: &dyn Interrupt) -> Result<()> {
        self.walk(document, &Special::Parse, interrupt, &mut |part| match part {
            Visit::Token(token, literal) if token.special => {
                let (start, _) = literal.origin(0..literal.text.len()).unwrap_or_default();
                let at = text.char_indices().nth(start).map_or(text.len(), |(at, _)| at);
                Err(Error::SpecialToken { token: token.content.clone(), at: Position::Byte(at) })
            }
            _ => Ok(()),
        })
    }

    fn walk(
        &self,
        document: Traced,
        special: &Special,
        interrupt: &dyn Interrupt,
        visit: &mut dyn FnMut(Visit) -> Result<()>,
    ) -> Result<()> {
        if self.added.has_none(&document.text) {
            return self.visit_text(document, visit);
        }
        for part in self.added.cut_raw(&document.text, special, interrupt)? {
            let slice = document.slice(part.range);
            match part.token {
                Some(token) => visit(Visit::Token(token, slice))?,
                None => self.walk_part(slice, special, interrupt, visit)?,
            }
            interrupt.check()?;
        }
        Ok(())
    }

    fn walk_part(
        &self,
        part: Traced,
        special: &Special,
        interrupt: &dyn Interrupt,
        visit: &mut dyn FnMut(Visit) -> Result<()>,
    ) -> Result<()> {
        let normal = normalized(&self.normalizers, part, interrupt)?;
        for part in self.added.cut_normalized(&normal.text, special)? {
            let slice = normal.slice(part.range);
            match part.token {
                Some(token) => visit(Visit::Token(token, slice))?,
                None => self.visit_text(slice, visit)?,
            }
        }
        Ok(())
    }

    /// Text between added tokens, normalized.
    fn visit_text(&self, text: Traced, visit: &mut dyn FnMut(Visit) -> Result<()>) -> Result<()> {
        if text.text.is_empty() {
            Ok(())
        } else if self.prefix_space && !text.text.starts_with(' ') {
            visit(Visit::Text(text.prepended(" ")))
        } else {
            visit(Visit::Text(text))
        }
    }
}

enum Visit<'v> {
    Token(&'v spec::Added, Traced<'v>),
    Text(Traced<'v>),
}
