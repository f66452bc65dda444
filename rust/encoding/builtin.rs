//! The encodings inside the wheel. `python/bpeline/builtin/README.md` names their origin and licence, and
//! `generate.py` beside it says how all tokens follow from pairs.

use std::ops::Range;

use super::{END_OF_TEXT, Encoding, Parts, Rank, Rule, Rules, TokenId, Tokens};
use crate::byte_map;
use crate::error::{Error, Result};

/// The pair of lower tokens that makes each token from some id on.
struct Pairs {
    first: TokenId,
    /// Two ids a token, of [`BYTES_OF_AN_ID`] each, little-endian.
    data: &'static [u8],
}

const BYTES_OF_AN_ID: usize = 3;

macro_rules! pairs {
    ($first:literal, $file:literal) => {
        Pairs {
            first: $first,
            data: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/python/bpeline/builtin/", $file)),
        }
    };
}

static GPT2: Pairs = pairs!(256, "gpt2.pairs");
static P50K: Pairs = pairs!(50257, "p50k_base.pairs");
static CL100K: Pairs = pairs!(256, "cl100k_base.pairs");
static O200K: Pairs = pairs!(256, "o200k_base.pairs");

/// All that fixes a built-in encoding. Ids 0 to 255 are the byte alphabet in code point order.
pub struct Recipe {
    pub name: &'static str,
    pairs: &'static [&'static Pairs],
    /// Of pairs, or of the bytes of tokens.
    ranks_pairs: bool,
    /// Its name.
    pattern: &'static str,
    special_tokens: &'static [(&'static str, TokenId)],
    /// The ids N of the special tokens `<|reserved_N|>`.
    reserved: &'static [Range<TokenId>],
    /// SHA-256 of the rank file that OpenAI published for it, in hexadecimal.
    rank_file: Option<&'static str>,
}

// The patterns and the special tokens are those of openai_public.py in tiktoken 0.14.
pub static RECIPES: [Recipe; 7] = [
    Recipe {
        name: "gpt2",
        pairs: &[&GPT2],
        ranks_pairs: true,
        pattern: "gpt2",
        special_tokens: &[(END_OF_TEXT, 50256)],
        reserved: &[],
        rank_file: None,
    },
    Recipe {
        name: "r50k_base",
        pairs: &[&GPT2],
        ranks_pairs: false,
        pattern: "gpt2",
        special_tokens: &[(END_OF_TEXT, 50256)],
        reserved: &[],
        rank_file: Some("306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"),
    },
    Recipe {
        name: "p50k_base",
        pairs: &[&GPT2, &P50K],
        ranks_pairs: false,
        pattern: "gpt2",
        special_tokens: &[(END_OF_TEXT, 50256)],
        reserved: &[],
        rank_file: Some("94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"),
    },
    Recipe {
        name: "p50k_edit",
        pairs: &[&GPT2, &P50K],
        ranks_pairs: false,
        pattern: "gpt2",
        special_tokens: &[
            (END_OF_TEXT, 50256),
            ("<|fim_prefix|>", 50281),
            ("<|fim_middle|>", 50282),
            ("<|fim_suffix|>", 50283),
        ],
        reserved: &[],
        rank_file: None, // p50k_base's
    },
    Recipe {
        name: "cl100k_base",
        pairs: &[&CL100K],
        ranks_pairs: false,
        pattern: "cl100k",
        special_tokens: &[
            (END_OF_TEXT, 100257),
            ("<|fim_prefix|>", 100258),
            ("<|fim_middle|>", 100259),
            ("<|fim_suffix|>", 100260),
            ("<|endofprompt|>", 100276),
        ],
        reserved: &[],
        rank_file: Some("223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
    },
    Recipe {
        name: "o200k_base",
        pairs: &[&O200K],
        ranks_pairs: false,
        pattern: "o200k",
        special_tokens: &[(END_OF_TEXT, 199999), ("<|endofprompt|>", 200018)],
        reserved: &[],
        rank_file: Some("446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    },
    Recipe {
        name: "o200k_harmony",
        pairs: &[&O200K],
        ranks_pairs: false,
        pattern: "o200k",
        special_tokens: &[
            ("<|startoftext|>", 199998),
            (END_OF_TEXT, 199999),
            ("<|return|>", 200002),
            ("<|constrain|>", 200003),
            ("<|channel|>", 200005),
            ("<|start|>", 200006),
            ("<|end|>", 200007),
            ("<|message|>", 200008),
            ("<|call|>", 200012),
            ("<|endofprompt|>", 200018), // as is <|reserved_200018|>
        ],
        reserved: &[200000..200002, 200004..200005, 200009..200012, 200013..201088],
        rank_file: None, // o200k_base's
    },
];

/// The names of all, for messages.
pub fn names() -> String {
    RECIPES.each_ref().map(|recipe| recipe.name).join(", ")
}

/// The built-in encoding of that name.
pub fn load(name: &str) -> Result<Encoding> {
    let Some(recipe) = RECIPES.iter().find(|recipe| recipe.name == name) else {
        return Err(Error::file(format!("no built-in encoding is called \"{name}\" (built in: {})", names())));
    };
    Ok(Encoding { is_builtin: true, ..recipe.make(recipe.name, None, None)? })
}

/// The built-in encoding whose published rank file has this SHA-256.
pub fn of_rank_file(sha256: &[u8]) -> Option<&'static Recipe> {
    let hexadecimal: String = sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    RECIPES.iter().find(|recipe| recipe.rank_file == Some(&hexadecimal))
}

impl Recipe {
    /// The encoding, but for a name, a pattern and special tokens that are others.
    pub fn make(
        &self,
        name: &str,
        pattern: Option<String>,
        special_tokens: Option<Vec<(String, TokenId)>>,
    ) -> Result<Encoding> {
        let count = 256 + self.pairs.iter().map(|pairs| pairs.len()).sum::<usize>();
        let mut tokens = Tokens::with_capacity(count, count * BYTES_OF_A_TOKEN);
        let mut rules = Vec::with_capacity(count);
        (0..).zip(byte_map::alphabet()).for_each(|(id, byte)| tokens.push(id, &[byte]));
        for pairs in self.pairs {
            let start = tokens.len();
            let place = |id: TokenId| id.checked_sub(pairs.first).map_or(id as usize, |after| start + after as usize);
            for ((left, right), makes) in pairs.iter().zip(pairs.first..) {
                tokens.push_joined(makes, place(left), place(right));
                rules.push(Rule { left, right, rank: Rank(rules.len() as u32), makes });
            }
        }
        let parts = Parts {
            name: name.to_owned(),
            pattern: pattern.unwrap_or_else(|| self.pattern.to_owned()),
            tokens,
            rules: match self.ranks_pairs {
                true => Rules::Pairs(rules.iter().map(Rule::pair).collect()),
                false => Rules::TokenBytes,
            },
            special_tokens: special_tokens.unwrap_or_else(|| self.special_tokens()),
        };
        Encoding::with_rules(self.name, parts, rules)
    }

    fn special_tokens(&self) -> Vec<(String, TokenId)> {
        let named = self.special_tokens.iter().map(|&(literal, id)| (literal.to_owned(), id));
        let reserved = self.reserved.iter().cloned().flatten();
        named.chain(reserved.map(|id| (format!("<|reserved_{id}|>"), id))).collect()
    }
}

/// What the tokens have on average, or more.
const BYTES_OF_A_TOKEN: usize = 8;

impl Pairs {
    fn len(&self) -> usize {
        self.data.len() / (2 * BYTES_OF_AN_ID)
    }

    fn iter(&self) -> impl Iterator<Item = (TokenId, TokenId)> {
        let id = |bytes: [u8; BYTES_OF_AN_ID]| TokenId::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
        let ids = self.data.as_chunks().0;
        ids.as_chunks::<2>().0.iter().map(move |&[left, right]| (id(left), id(right)))
    }
}
