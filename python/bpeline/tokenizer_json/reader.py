"""From the text of a tokenizer.json to what an encoding is made from."""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import EncodingFileError
from .decoder import check_decoder
from .fields import Section
from .model import Model, read_model
from .text import Pieces, read_normalizers, read_pre_tokenizer
from .tokens import Added, read_added, read_around

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

_SECTIONS = ("decoder", "normalizer", "post_processor", "pre_tokenizer")
_MOST_LEVELS = 100
"""tokenizers reads 127 in all, and so does who reads the spec."""

_WHOLE_TEXT = "(?s:.+)"
"""The pattern where stages do all the cutting: what they leave is a piece."""


class Contents(NamedTuple):
    """What `Encoding.from_tokenizer_json` takes."""

    pattern: str
    vocabulary: dict[str, int]
    """Spelling -> id of the tokens that merges make, and of the bytes."""
    merges: list[tuple[str, str]]
    special_tokens: dict[str, int]
    whole_pieces: bool
    spec: str | None
    """What else there is, as JSON; rust/route/spec.rs says what is in it."""


def read(text: str, source: str) -> Contents:
    """What the text of a tokenizer.json says; `source` names it in errors. Raises `EncodingFileError`.

    >>> from bpeline.tokenizer_json import read
    >>> read('{"model": {"type": "WordPiece"}}', "tokenizer.json")
    Traceback (most recent call last):
        ...
    bpeline.errors.EncodingFileError: tokenizer.json: model: not supported: the model "WordPiece", which is not BPE (Hugging Face tokenizers or transformers serve it)
    """
    file = Section(source, _parse(text, source))
    if "model" not in file.content:
        file.fail('expected a tokenizer.json with a "model"; found the keys ' + ", ".join(sorted(file.content)[:8]))
    _check_levels(file)
    model = read_model(file.section("model"))
    normalizers = read_normalizers(file)
    pieces = read_pre_tokenizer(file)
    around = read_around(file)
    added = read_added(file, model)
    check_decoder(file, [*model.vocabulary, *(token for token, _ in model.inert), *(token.content for token in added)])

    known = {*model.vocabulary.values(), *(id for _, id in model.inert), *(token.id for token in added)}
    for id in [*around["before"], *around["after"]] if around else []:
        if id not in known:
            file.fail(f"post_processor: it adds the id {id}, which no token has")
    literals = {token.content for token in added}
    model = model.without(literals - model.can_become(literals))
    special_tokens = {token.content: token.id for token in added if token.special}
    # Literals alone, all sought in the text as it is, are what an encoding's special tokens are.
    is_changed = normalizers or pieces.prefix_space or pieces.stages is not None
    is_plain = (
        not is_changed
        and len({token.normalized for token in added}) < 2
        and all(token.special and not token.has_conditions and token.content not in model.vocabulary for token in added)
    )
    spec = _spec(file, added, is_plain, model, normalizers, pieces, around)
    return Contents(
        pieces.pattern or _WHOLE_TEXT, model.vocabulary, model.merges, special_tokens, model.ignore_merges, spec
    )


def _parse(text: str, source: str) -> Any:
    if text.startswith("version https://git-lfs"):
        raise EncodingFileError(f"{source}: a git-lfs pointer, not the file itself: fetch it with `git lfs pull`")
    try:
        content = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(content, ensure_ascii=False).encode()  # not if they are pairs
        return content
    except UnicodeEncodeError as error:
        surrogate = error.object[error.start]
        raise EncodingFileError(f"{source}: lone surrogate U+{ord(surrogate):04X}") from None
    except json.JSONDecodeError as error:
        raise EncodingFileError(f"{source}: line {error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise EncodingFileError(f"{source}: not JSON: {error}") from None


def _check_levels(file: Section) -> None:
    for name in _SECTIONS:
        level = [file.content.get(name)]
        for _ in range(_MOST_LEVELS):
            level = [item for value in level for item in _items(value)]
        if level:
            file.refuse(f"{name}: nested more than {_MOST_LEVELS} levels deep")


def _items(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _spec(
    file: Section,
    added: list[Added],
    is_plain: bool,
    model: Model,
    normalizers: list[dict[str, Any]],
    pieces: Pieces,
    around: dict[str, list[int]] | None,
) -> str | None:
    if is_plain and not (model.inert or normalizers or pieces.prefix_space or pieces.stages is not None or around):
        return None
    spec = {
        "added": None if is_plain else [token._asdict() for token in added],
        "inert": model.inert,
        "normalizers": normalizers,
        "prefix_space": pieces.prefix_space,
        "stages": pieces.stages,
        "around": around,
        "file": {
            **{name: file.content.get(name) for name in _SECTIONS},
            "inside": [token.content for token in added if token.content in model.vocabulary],
        },
    }
    return json.dumps(spec, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
