//! OpenAI's GPT-2 file pair: `vocab.json` (token -> id) and `merges.txt` (a rule a line).
//!
//! Everything is checked before anything encodes, and each fault is named with its file, its line and
//! what was expected. `vocab.json` is one flat object, read by [`vocab_json`]; a general JSON parser
//! would drop repeated keys silently and not know lines.

mod vocab_json;

use std::collections::HashMap;

use super::{END_OF_TEXT, Encoding, Parts, Rules, TokenId};
use crate::byte_map;
use crate::error::{Error, Result, quote};
use crate::pretokenize::GPT2_PATTERN;
use vocab_json::Entry;

/// A file that has been read; `path` is for messages.
pub struct File {
    pub path: String,
    pub content: Vec<u8>,
}

/// From both files. Without `pattern` it is GPT-2's; without `special_tokens` there is one, `<|endoftext|>`.
pub fn load(
    vocab: &File,
    merges: &File,
    pattern: Option<String>,
    special_tokens: Option<Vec<(String, TokenId)>>,
    name: String,
) -> Result<Encoding> {
    let (vocab_text, merges_text) = (text(vocab)?, text(merges)?);
    let (vocab, merges) = (&*vocab.path, &*merges.path);
    let entries = vocab_json::read(vocab, vocab_text)?;
    check_ids(vocab, &entries)?;
    let by_token: HashMap<&str, TokenId> = entries.iter().map(|entry| (&*entry.token, entry.id)).collect();
    let special_tokens = match special_tokens {
        Some(given) => {
            for (literal, id) in &given {
                match by_token.get(literal.as_str()) {
                    Some(own) if own != id => {
                        let literal = quote(literal);
                        let message = format!("special token {literal} has the id {id}, but {vocab} gives it {own}");
                        return Err(Error::file(message));
                    }
                    _ => {}
                }
            }
            given
        }
        None => match by_token.get(END_OF_TEXT) {
            Some(&id) => vec![(END_OF_TEXT.to_owned(), id)],
            None => {
                let token = quote(END_OF_TEXT);
                let message = format!("{vocab}: no token {token}; name the special tokens with special_tokens=");
                return Err(Error::file(message));
            }
        },
    };
    let tokens = ordinary_tokens(vocab, &entries, &special_tokens)?;
    let rules = read_merges(merges, merges_text, &tokens)?;
    check_made(vocab, merges, &entries, &tokens, &rules)?;
    let parts = Parts {
        name,
        pattern: pattern.unwrap_or_else(|| GPT2_PATTERN.to_owned()),
        tokens: tokens
            .into_iter()
            .map(|(spelling, id)| (id, byte_map::to_bytes(spelling).unwrap_or_default()))
            .collect(),
        rules: Rules::Pairs(rules.into_iter().map(|rule| rule.pair).collect()),
        special_tokens,
    };
    Encoding::new(vocab, parts)
}

/// The text of a file, without a byte-order mark.
fn text(File { path, content }: &File) -> Result<&str> {
    if content.starts_with(b"version https://git-lfs") {
        let message = format!("{path}: a git-lfs pointer, not the file itself: fetch it with `git lfs pull`");
        return Err(Error::file(message));
    }
    match std::str::from_utf8(content) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let at = error.valid_up_to();
            Err(Error::file(format!("{path}: not UTF-8: byte 0x{:02x} at offset {at}", content[at])))
        }
    }
}

fn check_ids(file: &str, entries: &[Entry]) -> Result<()> {
    let size = entries.len();
    let mut owners: Vec<Option<&str>> = vec![None; size];
    for Entry { token, id, line } in entries {
        let fault = match owners.get_mut(*id as usize) {
            None => "".to_owned(),
            Some(Some(first)) => format!("which token {} has already; ", quote(first)),
            Some(free) => {
                *free = Some(token);
                continue;
            }
        };
        let (token, last) = (quote(token), size - 1);
        let message = format!(
            "{file}: line {line}: token {token} has the id {id}, {fault}expected every id from 0 to {last} exactly once"
        );
        return Err(Error::file(message));
    }
    Ok(())
}

/// The tokens that are not special, by spelling; all spelled in the byte alphabet, all single bytes there.
fn ordinary_tokens<'t>(
    file: &str,
    entries: &'t [Entry],
    special_tokens: &[(String, TokenId)],
) -> Result<HashMap<&'t str, TokenId>> {
    let special: HashMap<&str, TokenId> = special_tokens.iter().map(|(literal, id)| (literal.as_str(), *id)).collect();
    let mut tokens = HashMap::with_capacity(entries.len());
    for Entry { token, id, line } in entries.iter().filter(|entry| !special.contains_key(&*entry.token)) {
        if let Some(stranger) = token.chars().find(|&c| byte_map::byte_of(c).is_none()) {
            let (token, stranger) = (quote(token), stranger as u32);
            let message = format!(
                "{file}: line {line}: token {token} contains U+{stranger:04X}, which is outside the byte alphabet"
            );
            return Err(Error::file(message));
        }
        tokens.insert(&**token, *id);
    }
    for (byte, character) in byte_map::CHARACTERS.iter().enumerate() {
        let spelling = character.to_string();
        if !tokens.contains_key(&*spelling) {
            let spelling = quote(&spelling);
            return Err(Error::file(format!("{file}: the byte 0x{byte:02x} has no token, expected {spelling}")));
        }
    }
    Ok(tokens)
}

/// Every token of two or more bytes needs a rule that makes it: the sign of a file that lost some of its lines.
fn check_made(
    vocab: &str,
    merges: &str,
    entries: &[Entry],
    tokens: &HashMap<&str, TokenId>,
    rules: &[Rule],
) -> Result<()> {
    let mut made = vec![false; entries.len()];
    rules.iter().for_each(|rule| made[rule.makes as usize] = true);
    let is_unmade = |entry: &&Entry| {
        tokens.contains_key(&*entry.token) && entry.token.chars().nth(1).is_some() && !made[entry.id as usize]
    };
    let mut unmade = entries.iter().filter(is_unmade);
    let Some(first) = unmade.next() else { return Ok(()) };
    let (first, count) = (quote(&first.token), 1 + unmade.count());
    Err(Error::file(format!(
        "{merges}: no rule makes {first} of {vocab} (tokens without a rule: {count}); the file lost lines, or \
         special_tokens= should name special tokens"
    )))
}

struct Rule {
    pair: (TokenId, TokenId),
    makes: TokenId,
}

fn read_merges(file: &str, text: &str, tokens: &HashMap<&str, TokenId>) -> Result<Vec<Rule>> {
    let mut merges = Vec::new();
    let mut lines = HashMap::new();
    for (line, number) in text.split('\n').zip(1..) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() || (number == 1 && line.starts_with("#version")) {
            continue;
        }
        let fault = |message: String| Err(Error::file(format!("{file}: line {number}: {message}")));
        let (left, right) = match line.split_once(' ') {
            Some((left, right)) if !left.is_empty() && !right.is_empty() && !right.contains(' ') => (left, right),
            _ => {
                return fault(format!("expected two symbols and one space, found {}", quote(line)));
            }
        };
        let mut ids = [0; 2];
        for (id, symbol) in ids.iter_mut().zip([left, right]) {
            match tokens.get(symbol) {
                Some(known) => *id = *known,
                None => return fault(format!("symbol {} is not in the vocabulary", quote(symbol))),
            }
        }
        let made = [left, right].concat();
        let Some(&makes) = tokens.get(&*made) else {
            let [left, right, made] = [left, right, &made].map(quote);
            return fault(format!("{left} + {right} makes {made}, which is not in the vocabulary"));
        };
        if let Some(first) = lines.insert(ids, number) {
            return fault(format!("the rule {} repeats line {first}", quote(line)));
        }
        merges.push(Rule { pair: (ids[0], ids[1]), makes });
    }
    Ok(merges)
}
