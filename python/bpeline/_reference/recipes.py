"""What fixes each encoding inside the wheel, but for its pairs. builtin/README.md names their origin and licence."""

from typing import NamedTuple

END_OF_TEXT = "<|endoftext|>"
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")

# The pairs that make all tokens from an id on (builtin/generate.py), and that id.
_GPT2 = ("gpt2.pairs", 256)
_P50K = ("p50k_base.pairs", 50257)
_CL100K = ("cl100k_base.pairs", 256)
_O200K = ("o200k_base.pairs", 256)


class Recipe(NamedTuple):
    """All that fixes a built-in encoding. Ids 0 to 255 are the byte alphabet in code point order."""

    pairs: tuple[tuple[str, int], ...]
    pattern: str
    """Its name in `stages.PATTERNS`."""
    special_tokens: dict[str, int]
    ranks_pairs: bool = False
    """Of pairs, or of the bytes of tokens."""
    rank_file: str | None = None
    """SHA-256 of the rank file that OpenAI published for it."""


# The patterns and the special tokens are those of openai_public.py in tiktoken 0.14.
RECIPES = {
    "gpt2": Recipe((_GPT2,), "gpt2", {END_OF_TEXT: 50256}, ranks_pairs=True),
    "r50k_base": Recipe(
        (_GPT2,),
        "gpt2",
        {END_OF_TEXT: 50256},
        rank_file="306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    ),
    "p50k_base": Recipe(
        (_GPT2, _P50K),
        "gpt2",
        {END_OF_TEXT: 50256},
        rank_file="94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    ),
    "p50k_edit": Recipe(
        (_GPT2, _P50K),
        "gpt2",
        {END_OF_TEXT: 50256} | {literal: 50281 + i for i, literal in enumerate(_FIM)},
    ),
    "cl100k_base": Recipe(
        (_CL100K,),
        "cl100k",
        {END_OF_TEXT: 100257, "<|endofprompt|>": 100276} | {literal: 100258 + i for i, literal in enumerate(_FIM)},
        rank_file="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": Recipe(
        (_O200K,),
        "o200k",
        {END_OF_TEXT: 199999, "<|endofprompt|>": 200018},
        rank_file="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "o200k_harmony": Recipe(
        (_O200K,),
        "o200k",
        {
            "<|startoftext|>": 199998,
            END_OF_TEXT: 199999,
            "<|return|>": 200002,
            "<|constrain|>": 200003,
            "<|channel|>": 200005,
            "<|start|>": 200006,
            "<|end|>": 200007,
            "<|message|>": 200008,
            "<|call|>": 200012,
            "<|endofprompt|>": 200018,  # as is <|reserved_200018|>
        }
        | {f"<|reserved_{id}|>": id for id in (200000, 200001, 200004, 200009, 200010, 200011, *range(200013, 201088))},
    ),
}


def of_rank_file(sha256: str) -> Recipe | None:
    """The built-in encoding whose published rank file has this hash."""
    return next((recipe for recipe in RECIPES.values() if recipe.rank_file == sha256), None)
