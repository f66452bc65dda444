//! OpenAI's GPT-2 file pair: `vocab.json` (token -> id) and `merges.txt` (a rule a line).
//!
//! Everything is checked before anything encodes, and each fault is named with its file, its line and
//! what was expected. `vocab.json` is one flat object, read by [`vocab_json`]; a general JSON parser
//! would drop repeated keys silently and not know lines.

mod vocab_json;

use hashbrown::HashMap;

use super::{END_OF_TEXT, Encoding, File, Parts, Rank, Rule, Rules, TokenId, Tokens};
use crate::byte_map;
use crate::error::{Error, Result, quote};
use crate::pretokenize::GPT2_PATTERN;
use vocab_json::{Entries, Entry};

/// From both files. Without `pattern` it is GPT-2's; without `special_tokens` there is one, `<|endoftext|>`.
pub fn load(
    vocab: File,
    merges: File,
    pattern: Option<String>,
    special_tokens: Option<Vec<(String, TokenId)>>,
    name: String,
) -> Result<Encoding> {
    let (vocab_text, merges_text) = (vocab.text()?, merges.text()?);
    let (vocab, merges) = (vocab.path, merges.path);
    let entries = vocab_json::read(vocab, vocab_text)?;
    check_ids(vocab, &entries)?;
    let special_tokens = match special_tokens {
        Some(given) => {
            for (literal, id) in &given {
                match entries.get(literal) {
                    Some(Entry { id: own, .. }) if own != *id => {
                        let literal = quote(literal);
                        let message = format!("special token {literal} has the id {id}, but {vocab} gives it {own}");
                        return Err(Error::file(message));
                    }
                    _ => {}
                }
            }
            given
        }
        None => match entries.get(END_OF_TEXT) {
            Some(Entry { id, .. }) => vec![(END_OF_TEXT.to_owned(), id)],
            None => {
                let token = quote(END_OF_TEXT);
                let message = format!("{vocab}: no token {token}; name the special tokens with special_tokens=");
                return Err(Error::file(message));
            }
        },
    };
    let vocabulary = Spellings::new(&entries, &special_tokens);
    let tokens = ordinary_tokens(vocab, &vocabulary)?;
    let rules = read_merges(merges, merges_text, &vocabulary)?;
    check_made(vocab, merges, &vocabulary, &rules)?;
    let parts = Parts {
        name,
        pattern: pattern.unwrap_or_else(|| GPT2_PATTERN.to_owned()),
        tokens,
        rules: Rules::Pairs(rules.iter().map(Rule::pair).collect()),
        special_tokens,
    };
    // No two spellings are the same, so no two tokens have the same bytes.
    Encoding::with_rules(vocab, parts, rules)
}

/// The tokens that are not special, as the file spells them.
struct Spellings<'e> {
    entries: &'e Entries,
    /// By id.
    is_special: Vec<bool>,
}

impl<'e> Spellings<'e> {
    fn new(entries: &'e Entries, special_tokens: &[(String, TokenId)]) -> Self {
        let mut is_special = vec![false; entries.len()];
        for entry in special_tokens.iter().filter_map(|(literal, _)| entries.get(literal)) {
            is_special[entry.id as usize] = true;
        }
        Spellings { entries, is_special }
    }

    fn iter(&self) -> impl Iterator<Item = Entry<'e>> {
        self.entries.iter().filter(|entry| !self.is_special[entry.id as usize])
    }

    fn id(&self, spelling: &str) -> Option<TokenId> {
        self.find(spelling, usize::MAX).map(|(_, id)| id)
    }

    /// The place of a token in the file, and its id; `guess` is the place that is looked at first.
    fn find(&self, spelling: &str, guess: usize) -> Option<(usize, TokenId)> {
        let (at, Entry { id, .. }) = self.entries.find(spelling, guess)?;
        (!self.is_special[id as usize]).then_some((at, id))
    }
}

fn check_ids(file: &str, entries: &Entries) -> Result<()> {
    let size = entries.len();
    let mut owners: Vec<Option<&str>> = vec![None; size];
    for Entry { token, id, line } in entries.iter() {
        let fault = match owners.get_mut(id as usize) {
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

/// The bytes that the spellings stand for: all in the byte alphabet, all single bytes among them.
fn ordinary_tokens(file: &str, vocabulary: &Spellings) -> Result<Tokens> {
    let mut tokens = Tokens::with_capacity(vocabulary.entries.len(), vocabulary.entries.bytes());
    let mut bytes = Vec::new();
    for Entry { token, id, line } in vocabulary.iter() {
        bytes.clear();
        if let Err(stranger) = byte_map::push_bytes(token, &mut bytes) {
            let (token, stranger) = (quote(token), stranger as u32);
            let message = format!(
                "{file}: line {line}: token {token} contains U+{stranger:04X}, which is outside the byte alphabet"
            );
            return Err(Error::file(message));
        }
        tokens.push(id, &bytes);
    }
    for (byte, character) in byte_map::CHARACTERS.iter().enumerate() {
        let spelling = character.to_string();
        if vocabulary.id(&spelling).is_none() {
            let spelling = quote(&spelling);
            return Err(Error::file(format!("{file}: the byte 0x{byte:02x} has no token, expected {spelling}")));
        }
    }
    Ok(tokens)
}

/// Every token of two or more bytes needs a rule that makes it: the sign of a file that lost some of its lines.
fn check_made(vocab: &str, merges: &str, vocabulary: &Spellings, rules: &[Rule]) -> Result<()> {
    let mut made = vec![false; vocabulary.entries.len()];
    rules.iter().for_each(|rule| made[rule.makes as usize] = true);
    let is_unmade = |entry: &Entry| !made[entry.id as usize] && entry.token.chars().nth(1).is_some();
    let mut unmade = vocabulary.iter().filter(is_unmade);
    let Some(first) = unmade.next() else { return Ok(()) };
    let (first, count) = (quote(first.token), 1 + unmade.count());
    Err(Error::file(format!(
        "{merges}: no rule makes {first} of {vocab} (tokens without a rule: {count}); the file lost lines, or \
         special_tokens= should name special tokens"
    )))
}

fn read_merges(file: &str, text: &str, vocabulary: &Spellings) -> Result<Vec<Rule>> {
    let mut rules: Vec<Rule> = Vec::with_capacity(vocabulary.entries.len());
    let mut lines = HashMap::with_capacity(vocabulary.entries.len());
    let mut made = String::new();
    // Files list the tokens in the order of their rules, so that the next is mostly the one that is sought.
    let mut next = 0;
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
            match vocabulary.id(symbol) {
                Some(known) => *id = known,
                None => return fault(format!("symbol {} is not in the vocabulary", quote(symbol))),
            }
        }
        made.clear();
        made.extend([left, right]);
        let Some((at, makes)) = vocabulary.find(&made, next) else {
            let [left, right, made] = [left, right, &made].map(quote);
            return fault(format!("{left} + {right} makes {made}, which is not in the vocabulary"));
        };
        next = at + 1;
        if let Some(first) = lines.insert(ids, number) {
            return fault(format!("the rule {} repeats line {first}", quote(line)));
        }
        let ([left, right], rank) = (ids, Rank(rules.len() as u32));
        rules.push(Rule { left, right, rank, makes });
    }
    Ok(rules)
}
