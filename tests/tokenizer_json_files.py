"""Files of Hugging Face tokenizers, small, as objects."""

import json

from tests.small import ALPHABET

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
NO_REGEX = BYTE_LEVEL | {"use_regex": False}
PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [259, 260], "tokens": ["<s>", "</s>"]}},
}


def file(vocab=("ab", "abc", "\u0120a"), merges=("a b", "ab c", "\u0120 a"), added=(), model=(), **sections):
    """A tokenizer.json as an object: the byte alphabet, some tokens, and added tokens given as (content, flags)."""
    ids = {token: id for id, token in enumerate([*ALPHABET, *vocab])}
    tokens, next_id = [], len(ids)
    for content, flags in added:
        id = ids.get(content)
        if id is None:
            id, next_id = next_id, next_id + 1
        tokens.append({"id": id, "content": content, **PLAIN, **flags})
    empty = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor"))
    content = {"version": "1.0", **empty, "added_tokens": tokens, "pre_tokenizer": BYTE_LEVEL, "decoder": BYTE_LEVEL}
    return content | sections | {"model": {"type": "BPE", "vocab": ids, "merges": list(merges), **dict(model)}}


def write(folder, content):
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return folder / "tokenizer.json"


def strings(tok, text, **options):
    """The tokens of a text as they are spelled."""
    return [tok.id_to_token(id) for id in tok.encode(text, **options)]
