"""Writes an encoding as the files of other tools. What a format cannot hold is an error, never a loss.

Formats: OpenAI's GPT-2 file pair; tiktoken's rank files (base64 of the token's bytes, a space, its rank); and the
tokenizer.json of Hugging Face tokenizers.
"""

import json
import os
import re
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from ._reference.messages import quote
from ._reference.stages import PATTERNS, merge, splits
from .errors import EncodingFileError
from .sources import SETTINGS, in_folder
from .tokenizer_json.writer import CannotSay, write

if TYPE_CHECKING:
    from ._native import Encoding

Format: TypeAlias = Literal["gpt2", "tokenizer.json", "tiktoken"]


def save(encoding: "Encoding", folder: str | os.PathLike[str], format: Format) -> list[Path]:
    """Writes the files of a format; see `Tokenizer.save`."""
    folder = Path(folder)
    if format in ("gpt2", "tiktoken") and (encoding.spec or (encoding.whole_pieces and encoding.merges() is not None)):
        _refuse(encoding, format, 'it does more than special tokens and one pattern; save it as "tokenizer.json"')
    match format:
        case "gpt2":
            files = _gpt2(encoding)
            needs_settings = _needs_settings(encoding)
        case "tokenizer.json":
            files = _tokenizer_json(encoding)
            needs_settings = False
        case "tiktoken":
            files = _tiktoken(encoding)
            needs_settings = True
        case _:
            raise ValueError(f'format must be "gpt2", "tokenizer.json" or "tiktoken", not {format!r}')
    if folder.suffix in (".json", ".txt", ".tiktoken"):
        raise ValueError(f"save writes files into a folder, and {folder} looks like a file")
    folder.mkdir(parents=True, exist_ok=True)
    if needs_settings or _holds_others(folder, files):
        files |= _settings(encoding, list(files))
    return [_write(folder / name, content) for name, content in files.items()]


def _write(path: Path, content: str) -> Path:
    """Writes a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with open(temporary, "wb") as file:
            file.write(content.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _needs_settings(encoding: "Encoding") -> bool:
    return encoding.pattern != PATTERNS["gpt2"] or list(encoding.special_tokens) != ["<|endoftext|>"]


def _holds_others(folder: Path, files: dict[str, str]) -> bool:
    """Whether `load(folder)` could take what is there already for what is now written, or add it."""
    return (folder / SETTINGS).exists() or any(
        os.path.basename(path) not in files for source in in_folder(str(folder)) for path in source.paths
    )


def _settings(encoding: "Encoding", files: list[str]) -> dict[str, str]:
    settings = {
        "bpeline": 1,
        "name": encoding.name,
        "pattern": encoding.pattern,
        "special_tokens": encoding.special_tokens,
        "files": files,
    }
    return {SETTINGS: json.dumps(settings, ensure_ascii=False, indent=2) + "\n"}


def _gpt2(encoding: "Encoding") -> dict[str, str]:
    merges = list(_pair_merges(encoding, "gpt2"))
    vocabulary = _vocabulary(encoding, "gpt2")
    for expected, id in enumerate(vocabulary.values()):
        if id != expected:
            _refuse(encoding, "gpt2", f'the id {expected} is unused; "tokenizer.json" can hold it')
    made = {left + right for left, right in merges}
    for token in vocabulary.keys() - encoding.special_tokens.keys():
        if len(token) > 1 and token not in made:
            _refuse(encoding, "gpt2", f'no rule makes the token {quote(token)}; "tokenizer.json" can hold it')
    lines = "".join(f"{left} {right}\n" for left, right in merges)
    return {"vocab.json": json.dumps(vocabulary), "merges.txt": f"#version: 0.2\n{lines}"}


def _tokenizer_json(encoding: "Encoding") -> dict[str, str]:
    try:
        return {"tokenizer.json": write(encoding)}
    except CannotSay as reason:
        _refuse(encoding, "tokenizer.json", str(reason))


def _tiktoken(encoding: "Encoding") -> dict[str, str]:
    tokens = dict(_ordinary_tokens(encoding))
    merges = encoding.merges()
    if merges is not None:
        _check_token_ranks(encoding, tokens, merges)
    lines = [f"{b64encode(token).decode()} {id}\n" for id, token in tokens.items()]
    return {re.sub(r"[^\w.-]", "_", encoding.name) + ".tiktoken": "".join(lines)}


def _check_token_ranks(encoding: "Encoding", tokens: dict[int, bytes], merges: list[tuple[int, int]]) -> None:
    """Checks that ranking token bytes instead of pairs gives the same ids.

    It does if in both the same pair makes each token, at the same point of the order: with the tokens before it alone,
    its bytes must merge to the pair of its rule. Whatever text it stands in, nothing else can make it then.
    """
    ids = {token: id for id, token in tokens.items()}
    rules = {ids[tokens[left] + tokens[right]]: (left, right) for left, right in merges}
    if len(rules) < len(merges) or list(rules) != sorted(rules):
        _refuse(encoding, "tiktoken", "its ids are not in the order of its merge rules")
    earlier: dict[tuple[int, int], tuple[int, int]] = {}
    for id, token in tokens.items():
        if len(token) == 1:
            continue
        symbols = [ids[token[i : i + 1]] for i in range(len(token))]
        if id not in rules or merge(symbols, earlier) != [*rules[id]]:
            spelling = quote(str(encoding.id_to_token(id)))
            _refuse(encoding, "tiktoken", f"ranked by token, another rule or none makes the token {spelling}")
        earlier.update(dict.fromkeys(splits(token, ids), (id, id)))


def _ordinary_tokens(encoding: "Encoding") -> Iterator[tuple[int, bytes]]:
    special = set(encoding.special_tokens.values())
    for id in range(encoding.vocab_size):
        token = encoding.token_bytes(id)
        if token is not None and id not in special:
            yield id, token


def _pair_merges(encoding: "Encoding", format: str) -> Iterator[tuple[str, str]]:
    """The merge rules, spelled."""
    merges = encoding.merges()
    if merges is None:
        _refuse(encoding, format, 'it ranks token bytes, not pairs; "tiktoken" and "tokenizer.json" can hold it')
    return ((str(encoding.id_to_token(left)), str(encoding.id_to_token(right))) for left, right in merges)


def _vocabulary(encoding: "Encoding", format: str) -> dict[str, int]:
    """Spelling -> id by id, special tokens included."""
    special_tokens = encoding.special_tokens
    vocabulary = {str(encoding.id_to_token(id)): id for id, _ in _ordinary_tokens(encoding)}
    literals: dict[int, str] = {}
    for literal, id in special_tokens.items():
        if literal in vocabulary:
            _refuse(encoding, format, f"the special token {quote(literal)} is spelled like an ordinary token")
        if id in literals:
            _refuse(
                encoding, format, f"the special tokens {quote(literals[id])} and {quote(literal)} share the id {id}"
            )
        literals[id] = literal
    vocabulary |= special_tokens
    return dict(sorted(vocabulary.items(), key=lambda item: item[1]))


def _refuse(encoding: "Encoding", format: str, reason: str) -> NoReturn:
    raise EncodingFileError(f'encoding {quote(encoding.name)} cannot be saved as "{format}": {reason}')
