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
//! - With a scanner's pattern, a cut changes no piece but the one it is in and the one before that; and
//!   a few bytes into a piece it changes neither ([`Pattern::settles_after`]). So only the last pieces
//!   within reach of the limit have candidates, and most of those cost nothing to try.
//!
//! Of other patterns nothing is known, and each candidate is encoded anew: O(n) each.
//!
//! [`Pattern::settles_after`]: crate::pretokenize::Pattern::settles_after

use crate::encode::{Count, Encoder, Ends, Session, Sink};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::special::{Segment, Special};

struct Piece {
    start: usize,
    tokens_before: usize,
    is_special: bool,
}

pub fn truncate<'t>(
    encoder: &Encoder,
    text: &'t str,
    max_tokens: usize,
    special: &Special,
    interrupt: &dyn Interrupt,
) -> Result<&'t str> {
    let encoding = encoder.encoding();
    let settles_after = encoding.pattern().settles_after();
    let longest_token = encoding.vocabulary().longest().max(1);
    let mut session = encoder.session();

    let mut tokens = Ends::new(encoding.vocabulary());
    let mut pieces: Vec<Piece> = Vec::new();
    let mut beyond_reach = false;
    let walked = encoding.special_tokens().cut(text, special, |segment| {
        let mut visit = |piece: &'t str, special_id: Option<u32>| {
            // A cut in this piece or later leaves all pieces before the last one as they are.
            beyond_reach = settles_after.is_some() && pieces.last().is_some_and(|last| last.tokens_before > max_tokens);
            if beyond_reach {
                return Err(Error::Interrupted);
            }
            let start = tokens.end();
            pieces.push(Piece { start, tokens_before: tokens.ids.len(), is_special: special_id.is_some() });
            match special_id {
                Some(id) => {
                    tokens.put_special(id, piece.len());
                    Ok(())
                }
                None => session.encode_piece(piece, &mut tokens, interrupt),
            }
        };
        match segment {
            Segment::Ordinary(part) => encoding.pattern().pieces(part, |piece| visit(piece, None)),
            Segment::Special(id, literal) => visit(literal, Some(id)),
        }
    });
    if !beyond_reach {
        walked?;
        if tokens.ids.len() <= max_tokens {
            return Ok(text);
        }
    }

    let mut at = pieces.len();
    for (token, &cut) in tokens.ends.iter().enumerate().rev() {
        while pieces[at - 1].start >= cut {
            at -= 1;
        }
        if !text.is_char_boundary(cut) {
            continue;
        }
        let piece = &pieces[at - 1];
        // From here on the prefix may encode differently from the whole.
        let unsettled = if settles_after.is_some() { &pieces[at.saturating_sub(2)] } else { &pieces[0] };
        if unsettled.tokens_before + (cut - unsettled.start).div_ceil(longest_token) > max_tokens {
            continue;
        }
        let settled = settles_after.is_some_and(|bytes| !piece.is_special && cut - piece.start >= bytes);
        let count = if !settled {
            unsettled.tokens_before + count(&mut session, &text[unsettled.start..cut], special, interrupt)?
        } else if encoding.whole_piece(&text.as_bytes()[piece.start..cut]).is_some() {
            piece.tokens_before + 1
        } else {
            token + 1
        };
        if count <= max_tokens {
            return Ok(&text[..cut]);
        }
    }
    Ok("")
}

fn count(session: &mut Session, text: &str, special: &Special, interrupt: &dyn Interrupt) -> Result<usize> {
    let mut count = Count::default();
    session.encode(text, special, &mut count, interrupt)?;
    Ok(count.0)
}
