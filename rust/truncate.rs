//! The longest prefix that ends at a token boundary of the whole text's encoding and at a whole
//! character, and that itself encodes to at most so many tokens.
//!
//! How many tokens a prefix encodes to does not grow steadily with its length (a cut can turn
//! `"  "`, `" x"` into `"   "`), so there is no binary search; candidates are tried from the longest
//! down. Two facts keep that short:
//! - Within a piece, the tokens up to a boundary are what the bytes up to it encode to. No merge ever
//!   crossed the boundary, so the merges in front of it happened in the order in which they happen
//!   when those bytes stand alone. (Where whole pieces are looked up first, those bytes may instead be a
//!   token.)
//! - A cut changes no piece but the one it is in and the one before that (whose look-ahead may see the cut), and
//!   some bytes into a piece it mostly changes neither ([`Pattern::is_settled`]). So only the last pieces within
//!   reach of the limit have candidates, and most of those cost nothing to try.
//!
//! The second is proven for the patterns that have a scanner. For another it is an assumption; so what is returned is always encoded once more, and
//! a prefix with too many tokens is passed over. There, a longer prefix than the one returned may exist.
//!
//! [`Pattern::is_settled`]: crate::pretokenize::Pattern::is_settled

use crate::encode::{Encoder, Session};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::route::Route;
use crate::sink::{Count, Ends, Sink};
use crate::special::{Segment, Special};

struct Piece {
    start: usize,
    tokens_before: usize,
    /// Where the text between special tokens begins that the piece is in; `None` for a special token.
    segment: Option<usize>,
}

pub fn truncate<'t>(
    encoder: &Encoder,
    text: &'t str,
    max_tokens: usize,
    special: &Special,
    interrupt: &dyn Interrupt,
) -> Result<&'t str> {
    let mut session = encoder.session();
    if let Some(route) = encoder.encoding().route() {
        return truncate_routed(route, &mut session, text, max_tokens, special, interrupt);
    }
    let (pieces, ends, is_whole) = walk(encoder, &mut session, text, max_tokens, special, interrupt)?;
    if is_whole && ends.len() <= max_tokens {
        return Ok(text);
    }
    let encoding = encoder.encoding();
    let longest_token = encoding.vocabulary().longest().max(1);
    let mut at = pieces.len();
    for (token, &cut) in ends.iter().enumerate().rev() {
        while pieces[at - 1].start >= cut {
            at -= 1;
        }
        if !text.is_char_boundary(cut) {
            continue;
        }
        let piece = &pieces[at - 1];
        let end = pieces.get(at).map_or(ends[ends.len() - 1], |next| next.start);
        let count = match piece.segment {
            None => token + 1,
            Some(segment)
                if encoding.pattern().is_settled(
                    &text[segment..],
                    piece.start - segment,
                    end - segment,
                    cut - segment,
                ) =>
            {
                let front = &text.as_bytes()[piece.start..cut];
                let is_token = front.len() <= longest_token && encoding.whole_piece(front).is_some();
                if is_token { piece.tokens_before + 1 } else { token + 1 }
            }
            Some(segment) => {
                // From the piece before on, if the cut can change it.
                let before = at.checked_sub(2).map(|before| &pieces[before]);
                let first = before.filter(|before| before.segment == piece.segment).unwrap_or(piece);
                let count = first.tokens_before + (cut - first.start).div_ceil(longest_token);
                if count > max_tokens {
                    continue;
                }
                let mut count = Count(first.tokens_before);
                encoding.pattern().pieces_from(&text[segment..cut], first.start - segment, |piece| {
                    session.encode_piece(piece, &mut count, interrupt)
                })?;
                count.0
            }
        };
        if count <= max_tokens && fits(&mut session, &text[..cut], max_tokens, special, interrupt)? {
            return Ok(&text[..cut]);
        }
    }
    Ok("")
}

/// Where a text is changed on its way, by the characters that each token stands for. A cut changes no piece before the
/// last two, as above. What is changed is kept with where it comes from: 16 bytes for each byte.
fn truncate_routed<'t>(
    route: &Route,
    session: &mut Session,
    text: &'t str,
    max_tokens: usize,
    special: &Special,
    interrupt: &dyn Interrupt,
) -> Result<&'t str> {
    let tokens = route.trace(session, text, special, interrupt)?;
    if tokens.len() <= max_tokens {
        return Ok(text);
    }
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut begins = text.len();
    for last in tokens.iter().rev() {
        let (start, end) = last.span;
        let cut = starts[end];
        // A token behind the cut may stand for something in front of it.
        let is_between = cut <= begins;
        begins = begins.min(starts[start]);
        let settled = last.before_piece.checked_sub(1).map_or(0, |before| tokens[before].before_piece);
        if is_between && settled <= max_tokens && fits(session, &text[..cut], max_tokens, special, interrupt)? {
            return Ok(&text[..cut]);
        }
    }
    Ok("")
}

/// The pieces of the text and the ends of its tokens, as far as a cut can still leave few enough; and whether
/// that was all of it.
fn walk(
    encoder: &Encoder,
    session: &mut Session,
    text: &str,
    max_tokens: usize,
    special: &Special,
    interrupt: &dyn Interrupt,
) -> Result<(Vec<Piece>, Vec<usize>, bool)> {
    let encoding = encoder.encoding();
    let mut tokens = Ends::new(encoding.vocabulary());
    let mut pieces: Vec<Piece> = Vec::new();
    let mut beyond_reach = false;
    let walked = encoding.special_tokens().cut(text, special, interrupt, |part| {
        let start_of_part = tokens.end();
        let mut visit = |piece: &str, special_id: Option<u32>| {
            // A cut in this piece or later leaves all pieces before the last one as they are.
            beyond_reach = pieces.last().is_some_and(|last| last.tokens_before > max_tokens);
            if beyond_reach {
                return Err(Error::Interrupted);
            }
            let segment = special_id.is_none().then_some(start_of_part);
            pieces.push(Piece { start: tokens.end(), tokens_before: tokens.ids.len(), segment });
            match special_id {
                Some(id) => {
                    tokens.put_special(id, piece.len());
                    Ok(())
                }
                None => session.encode_piece(piece, &mut tokens, interrupt),
            }
        };
        match part {
            Segment::Ordinary(part) => encoding.pattern().pieces(part, |piece| visit(piece, None)),
            Segment::Special(id, literal) => visit(literal, Some(id)),
        }
    });
    if !beyond_reach {
        walked?;
    }
    Ok((pieces, tokens.ends, !beyond_reach))
}

fn fits(
    session: &mut Session,
    text: &str,
    max_tokens: usize,
    special: &Special,
    interrupt: &dyn Interrupt,
) -> Result<bool> {
    let mut count = Count::default();
    session.encode(text, special, &mut count, interrupt)?;
    Ok(count.0 <= max_tokens)
}
