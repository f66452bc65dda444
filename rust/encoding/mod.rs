//! All that fixes the ids: vocabulary, merge rules, pattern and special tokens.
//!
//! Every source ([`gpt2_files`], [`tiktoken_file`], [`tokenizer_json`], [`ranks`], [`builtin`], [`data`]) gathers [`Parts`] and goes through
//! the one gate [`Encoding::new`], which checks whatever would make an encoder panic or lose text.
//! Sources check more on their own, because they know the line; those that have looked up all that the gate would
//! have to hash again come in by [`Encoding::with_rules`]. An `Encoding` is immutable.

pub mod builtin;
pub mod data;
mod file;
pub mod gpt2_files;
pub mod ranks;
pub mod tiktoken_file;
pub mod tokenizer_json;
mod tokens;
pub mod vocabulary;

use std::sync::OnceLock;

use hashbrown::{HashMap, HashSet};

use crate::error::{Error, Result, quote, show_bytes};
use crate::interrupt::{Interrupt, Never};
use crate::merge::Merger;
use crate::pair_table::{MOST_SYMBOLS, PairTable};
use crate::pretokenize::Pattern;
use crate::route::Route;
use crate::route::spec::{self, Around, Spec};
use crate::special::SpecialTokens;
pub use file::File;
pub use tokens::Tokens;
pub use vocabulary::Vocabulary;

/// A token's number.
pub type TokenId = u32;

/// The priority of a merge rule: lower merges first. Not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub u32);

impl Rank {
    /// Of a pair without a rule; above every rank.
    pub const NONE: Rank = Rank(u32::MAX);
}

/// Ids stay below 2^24, so that a vocabulary's table by id cannot exhaust memory.
pub const MAX_ID: TokenId = 0xff_ffff;

pub const END_OF_TEXT: &str = "<|endoftext|>";

/// What the merge ranks are given to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rules {
    /// To pairs, in this order (`merges.txt`).
    Pairs(Vec<(TokenId, TokenId)>),
    /// To the bytes of tokens: an id is the rank, every way to split a token into two tokens is a
    /// rule for it (of which one at most is ever met: [`ranks`]), and a piece that is a token is looked up whole
    /// before any merge (rank files).
    TokenBytes,
}

/// A pair, its rank, and the token that it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub left: TokenId,
    pub right: TokenId,
    pub rank: Rank,
    pub makes: TokenId,
}

impl Rule {
    pub fn pair(&self) -> (TokenId, TokenId) {
        (self.left, self.right)
    }
}

/// What an encoding is made from.
pub struct Parts {
    pub name: String,
    pub pattern: String,
    /// Ordinary tokens, special tokens apart.
    pub tokens: Tokens,
    pub rules: Rules,
    pub special_tokens: Vec<(String, TokenId)>,
}

/// What a `tokenizer.json` may say beyond [`Parts`].
#[derive(Default)]
pub struct Beyond {
    /// Whether a piece that is a token is looked up whole before any merge, though pairs are ranked (`ignore_merges`).
    pub whole_pieces: bool,
    /// See [`spec`]; `None` if there is nothing to say.
    pub spec: Option<String>,
}

pub struct Encoding {
    name: String,
    is_builtin: bool,
    pattern: Pattern,
    vocabulary: Vocabulary,
    byte_ids: [TokenId; 256],
    rules: Rules,
    pairs: PairTable,
    /// Where pieces are looked up before any merge, the tokens that no merges make of their bytes: of all others it does
    /// not matter.
    unmade: HashMap<Box<[u8]>, TokenId>,
    special_tokens: SpecialTokens,
    /// Tokens that are neither made by merges nor special.
    literals: HashMap<String, TokenId>,
    route: Option<Box<Route>>,
    around: Option<Around>,
    beyond: Beyond,
    fingerprint: OnceLock<[u8; 32]>,
}

impl Encoding {
    /// `source` begins the message of an error.
    pub fn new(source: &str, parts: Parts) -> Result<Self> {
        Encoding::build(source, parts, None, Beyond::default(), &Never)
    }

    /// An encoding of which there is more to say than its parts.
    pub fn with_more(source: &str, parts: Parts, beyond: Beyond, interrupt: &dyn Interrupt) -> Result<Self> {
        Encoding::build(source, parts, None, beyond, interrupt)
    }

    /// From a source that has seen that no two tokens have the same bytes, and knows all rules: where token bytes are
    /// ranked, the one that makes each token of more than one byte, by the tokens' ranks.
    fn with_rules(source: &str, parts: Parts, rules: Vec<Rule>) -> Result<Self> {
        Encoding::build(source, parts, Some(rules), Beyond::default(), &Never)
    }

    fn build(
        source: &str,
        parts: Parts,
        known: Option<Vec<Rule>>,
        beyond: Beyond,
        interrupt: &dyn Interrupt,
    ) -> Result<Self> {
        let Parts { name, pattern, tokens, rules, special_tokens } = parts;
        let pattern = Pattern::new(&pattern)?;
        let special_tokens = SpecialTokens::new(special_tokens)?;
        let spec = beyond.spec.as_deref().map(Spec::read).transpose()?;
        let literals = spec.as_ref().map(Spec::literals);
        let vocabulary = Vocabulary::new(source, &tokens, &special_tokens, literals.as_deref())?;
        let literals = literals.unwrap_or_default().into_iter().collect();
        if let Some(id) = spec.iter().flat_map(Spec::ids).find(|&id| vocabulary.token_bytes(id).is_none()) {
            return Err(Error::file(format!("{source}: no token has the id {id}")));
        }
        drop(tokens);
        if known.is_none() {
            vocabulary.check_distinct(source)?;
        }
        let byte_ids = byte_ids(source, &vocabulary)?;
        if vocabulary.size() > MOST_SYMBOLS && vocabulary.ordinary().count() > MOST_SYMBOLS {
            return Err(Error::file(format!("{source}: too many tokens, expected at most {MOST_SYMBOLS}")));
        }
        let pair_table = |rules: &[Rule]| {
            let mut pairs = PairTable::new(rules.iter().map(|rule| rule.makes), &byte_ids, &vocabulary);
            rules.iter().for_each(|rule| pairs.insert(rule.left, rule.right, rule.makes, &vocabulary));
            pairs
        };
        let (pairs, unmade) = match (&rules, known) {
            (Rules::TokenBytes, None) => ranks::pair_table(&vocabulary, &byte_ids),
            (Rules::TokenBytes, Some(rules)) => (pair_table(&rules), vec![]),
            (Rules::Pairs(merges), known) => {
                let rules = known.map_or_else(|| pair_rules(source, &vocabulary, merges), Ok)?;
                let pairs = pair_table(&one_a_token(rules, &vocabulary, &byte_ids));
                let unmade = if beyond.whole_pieces { unmade(&vocabulary, &pairs) } else { vec![] };
                (pairs, unmade)
            }
        };
        let bytes_of = |id| vocabulary.ordinary_bytes(id).unwrap_or_default().into();
        let unmade = unmade.into_iter().map(|id| (bytes_of(id), id)).collect();
        let route = spec.as_ref().map(|spec| Route::new(spec, interrupt)).transpose()?.flatten().map(Box::new);
        let around = spec.and_then(|spec| spec.around);
        let fingerprint = OnceLock::new();
        let is_builtin = false;
        Ok(Encoding {
            name,
            is_builtin,
            pattern,
            vocabulary,
            byte_ids,
            rules,
            pairs,
            unmade,
            special_tokens,
            literals,
            route,
            around,
            beyond,
            fingerprint,
        })
    }

    /// The same encoding with more special tokens, of new ids; one given again must keep its id.
    pub fn extend(&self, special_tokens: &[(String, TokenId)], interrupt: &dyn Interrupt) -> Result<Self> {
        let mut all = self.special_tokens.to_vec();
        let mut owners: HashMap<TokenId, String> =
            all.iter().rev().map(|(literal, id)| (*id, literal.clone())).collect();
        for (literal, id) in special_tokens {
            if let Some(old) = self.literals.get(literal) {
                let literal = quote(literal);
                return Err(Error::file(format!("{literal} is an added token already, with the id {old}")));
            }
            let fault = match (self.special_tokens.id(literal), owners.get(id)) {
                (Some(old), _) if old == *id => continue,
                (Some(old), _) => format!("but it has {old} already"),
                // A file may give two literals one id; here it is a slip.
                (None, Some(owner)) => format!("which the special token {} has already", quote(owner)),
                (None, None) => {
                    all.push((literal.clone(), *id));
                    owners.insert(*id, literal.clone());
                    continue;
                }
            };
            return Err(Error::file(format!("special token {} has the id {id}, {fault}", quote(literal))));
        }
        let new = &all[self.special_tokens.len()..];
        let spec = self.beyond.spec.as_ref().map(|spec| spec::extended(spec, new)).transpose()?;
        let beyond = Beyond { spec, whole_pieces: self.beyond.whole_pieces };
        Encoding::with_more("extend", Parts { special_tokens: all, ..self.parts() }, beyond, interrupt)
    }

    /// What this encoding was made from.
    pub fn parts(&self) -> Parts {
        Parts {
            name: self.name.clone(),
            pattern: self.pattern.text().to_owned(),
            tokens: self.vocabulary.ordinary().collect(),
            rules: self.rules.clone(),
            special_tokens: self.special_tokens.to_vec(),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_builtin(&self) -> bool {
        self.is_builtin
    }

    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub fn special_tokens(&self) -> &SpecialTokens {
        &self.special_tokens
    }

    /// The id of a token that is neither made by merges nor special.
    pub fn literal_id(&self, literal: &str) -> Option<TokenId> {
        self.literals.get(literal).copied()
    }

    /// The way of a text, where it is not the usual one.
    pub fn route(&self) -> Option<&Route> {
        self.route.as_deref()
    }

    /// What `add_special_tokens` puts around a text.
    pub fn around(&self) -> Option<&Around> {
        self.around.as_ref()
    }

    /// What there is to say beyond its parts.
    pub fn beyond(&self) -> &Beyond {
        &self.beyond
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub fn pairs(&self) -> &PairTable {
        &self.pairs
    }

    /// The id of each single-byte token.
    pub fn byte_ids(&self) -> &[TokenId; 256] {
        &self.byte_ids
    }

    /// The token that a whole piece is, where the encoding looks pieces up before merging and merges would not make it.
    #[inline]
    pub fn unmade_piece(&self, piece: &[u8]) -> Option<TokenId> {
        if self.unmade.is_empty() { None } else { self.unmade.get(piece).copied() }
    }

    /// The token that a whole piece is, where the encoding looks pieces up before merging.
    pub fn whole_piece(&self, piece: &[u8]) -> Option<TokenId> {
        match self.rules {
            Rules::Pairs(_) if !self.beyond.whole_pieces => None,
            _ => self.vocabulary.id(piece),
        }
    }

    /// SHA-256 of all that fixes the ids; the name is not part of it.
    pub fn fingerprint(&self) -> &[u8; 32] {
        self.fingerprint.get_or_init(|| data::fingerprint(self))
    }
}

fn byte_ids(source: &str, vocabulary: &Vocabulary) -> Result<[TokenId; 256]> {
    let mut found = [None; 256];
    for (id, bytes) in vocabulary.ordinary() {
        if let [byte] = bytes {
            found[*byte as usize] = Some(id);
        }
    }
    let mut ids = [0; 256];
    for (byte, id) in found.into_iter().enumerate() {
        ids[byte] = id.ok_or_else(|| Error::file(format!("{source}: the byte 0x{byte:02x} has no token")))?;
    }
    Ok(ids)
}

/// The tokens that no merges make of their bytes.
fn unmade(vocabulary: &Vocabulary, pairs: &PairTable) -> Vec<TokenId> {
    let mut merger = Merger::default();
    let mut is_made = |id, bytes| matches!(merger.merge(pairs, bytes, &Never), Ok(&[made]) if made == id);
    vocabulary.ordinary().filter(|(id, bytes)| !is_made(*id, bytes)).map(|(id, _)| id).collect()
}

fn pair_rules(source: &str, vocabulary: &Vocabulary, merges: &[(TokenId, TokenId)]) -> Result<Vec<Rule>> {
    let mut rules = Vec::with_capacity(merges.len());
    let mut seen = HashSet::with_capacity(merges.len());
    let mut joined = Vec::new();
    for (&(left, right), rank) in merges.iter().zip(0..) {
        joined.clear();
        for symbol in [left, right] {
            let unknown = || Error::file(format!("{source}: a rule names the id {symbol}, which no token has"));
            joined.extend_from_slice(vocabulary.ordinary_bytes(symbol).ok_or_else(unknown)?);
        }
        let Some(makes) = vocabulary.id(&joined) else {
            let made = show_bytes(&joined);
            return Err(Error::file(format!("{source}: a rule makes {made}, which is not in the vocabulary")));
        };
        if !seen.insert((left, right)) {
            return Err(Error::file(format!("{source}: the rule of {left} and {right} is repeated")));
        }
        rules.push(Rule { left, right, rank: Rank(rank), makes });
    }
    Ok(rules)
}

/// Where several rules make one token, the only one that can: the one that makes it of its bytes alone (the lemma on
/// splits in `rust/DESIGN.md`). In the order of their ranks.
fn one_a_token(rules: Vec<Rule>, vocabulary: &Vocabulary, byte_ids: &[TokenId; 256]) -> Vec<Rule> {
    let mut made_by = vec![0u32; vocabulary.size()];
    rules.iter().for_each(|rule| made_by[rule.makes as usize] += 1);
    if made_by.iter().all(|&rules| rules <= 1) {
        return rules;
    }
    let by_pair: HashMap<_, _> = rules.iter().map(|rule| (rule.pair(), *rule)).collect();
    let last_merge = |id: TokenId| {
        let bytes = vocabulary.ordinary_bytes(id).unwrap_or_default();
        let mut ids: Vec<TokenId> = bytes.iter().map(|&byte| byte_ids[byte as usize]).collect();
        let mut last = None;
        let rule_of = |pair: &[TokenId]| by_pair.get(&(pair[0], pair[1])).copied();
        while let Some((at, rule)) = ids
            .windows(2)
            .enumerate()
            .filter_map(|(at, pair)| Some((at, rule_of(pair)?)))
            .min_by_key(|(at, rule)| (rule.rank, *at))
        {
            ids.splice(at..at + 2, [rule.makes]);
            last = Some(rule);
        }
        last.filter(|_| ids == [id])
    };
    let only: Vec<Option<Rule>> =
        (0..).zip(&made_by).map(|(id, &rules)| if rules > 1 { last_merge(id) } else { None }).collect();
    rules
        .into_iter()
        .filter(|rule| made_by[rule.makes as usize] == 1 || only[rule.makes as usize] == Some(*rule))
        .collect()
}
