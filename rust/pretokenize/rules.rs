//! What sets the families of patterns apart, as data. [`scalar`](super::scalar) goes by it a character at a time,
//! [`starts`](super::starts) 64 bytes at a time.

use super::classes::Alphabet;
use super::names;

/// The rules of a family. Where several could begin a piece, the order is: contraction, word, number, other, whitespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    pub alphabet: Alphabet,
    pub contractions: Contractions,
    pub front: Front,
    /// At most so many numbers are a piece, without a character in front; 0 for any number of them, with a front.
    pub digits: usize,
    pub tail: Tail,
    /// `\s*[\r\n]+`: whitespace up to its last newline is a piece.
    pub newlines: bool,
    /// `\s+$`: before that, whitespace up to the end of the text is.
    pub space_to_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contractions {
    None,
    /// A piece of its own: `'s`, `'ll`.
    Piece,
    /// The same in any case, and with ſ, which is an s in another case.
    PieceOfAnyCase,
    /// In any case, at the end of a word and part of its piece.
    Suffix,
}

/// What may stand in front of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    /// U+0020, and in front of numbers and others too (as in every family in front of others).
    Blank,
    /// `[^\r\n\p{L}\p{N}]`.
    AnyButNewline,
    /// `[^\r\n\p{L}\p{P}\p{S}]`, and of punctuation ASCII's, if ASCII letters follow: then the word is only those.
    Control,
}

/// What others take along that follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    None,
    /// `[\r\n]*`.
    Newlines,
    /// `[\r\n/]*`.
    NewlinesAndSlashes,
}

/// A family, by its rules at compile time.
pub trait Family {
    const RULES: Rules;
}

macro_rules! families {
    ($($name:ident: $rules:expr;)*) => {
        $(pub struct $name;
        impl Family for $name {
            const RULES: Rules = $rules;
        })*
    };
}

families! {
    Gpt2: Rules {
        alphabet: Alphabet::Plain,
        contractions: Contractions::Piece,
        front: Front::Blank,
        digits: 0,
        tail: Tail::None,
        newlines: false,
        space_to_end: false,
    };
    Llama3: Rules {
        alphabet: Alphabet::Plain,
        contractions: Contractions::PieceOfAnyCase,
        front: Front::AnyButNewline,
        digits: 3,
        tail: Tail::Newlines,
        newlines: true,
        space_to_end: false,
    };
    Cl100k: Rules { space_to_end: true, ..Llama3::RULES };
    Qwen2: Rules { digits: 1, ..Llama3::RULES };
    O200k: Rules {
        alphabet: Alphabet::Cased,
        contractions: Contractions::Suffix,
        tail: Tail::NewlinesAndSlashes,
        ..Llama3::RULES
    };
    Tekken: Rules { contractions: Contractions::None, digits: 1, ..O200k::RULES };
    DeepSeekV3: Rules {
        alphabet: Alphabet::Apart,
        contractions: Contractions::None,
        front: Front::Control,
        ..Llama3::RULES
    };
}

/// The family of a pattern that a scanner knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Gpt2,
    Llama3,
    Cl100k,
    Qwen2,
    O200k,
    Tekken,
    DeepSeekV3,
}

/// Other spellings of the same.
pub const SPELLINGS: [(&str, Known); 4] = [
    // tiktoken's, possessive, so that its engine does not backtrack. (The end makes no difference to this one.)
    (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s", Known::Gpt2),
    (r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", Known::Gpt2),
    // tiktoken's up to 0.6, which is Llama 3's with possessive numbers.
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Known::Llama3,
    ),
    (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        Known::Llama3,
    ),
];

impl Known {
    const NAMES: [(&str, Known); 7] = [
        ("gpt2", Known::Gpt2),
        ("llama3", Known::Llama3),
        ("cl100k", Known::Cl100k),
        ("qwen2", Known::Qwen2),
        ("o200k", Known::O200k),
        ("tekken", Known::Tekken),
        ("deepseek_v3", Known::DeepSeekV3),
    ];

    /// The family of a pattern, whether it writes newlines as themselves or as escapes.
    pub fn of(pattern: &str) -> Option<Known> {
        let pattern = pattern.replace('\r', r"\r").replace('\n', r"\n");
        let named = Known::NAMES.into_iter().map(|(name, known)| (names::named(name).unwrap_or(name), known));
        named.chain(SPELLINGS).find(|(text, _)| *text == pattern).map(|(_, known)| known)
    }

    pub const fn rules(self) -> &'static Rules {
        match self {
            Known::Gpt2 => &Gpt2::RULES,
            Known::Llama3 => &Llama3::RULES,
            Known::Cl100k => &Cl100k::RULES,
            Known::Qwen2 => &Qwen2::RULES,
            Known::O200k => &O200k::RULES,
            Known::Tekken => &Tekken::RULES,
            Known::DeepSeekV3 => &DeepSeekV3::RULES,
        }
    }
}
