"""Mistral's tekken.json: ranks of token bytes, as in tiktoken's files, with the pattern beside them.

An id is a token's rank and the number of special tokens, which have the ids below. Of the ranks only as many count as
"default_vocab_size" leaves room for. What a file does not name of its special tokens is called <SPECIAL_n>. Read as
mistral-common 1.13 does (tokens/tokenizers/tekken.py there, Apache 2.0), which is also where the special tokens of
files up to version 7 are from, that name none.

Read here for both backends: most of such a file is JSON, and Python's reader of it is not slow.
"""

import json
import re
from typing import Any, NoReturn

from ._reference import files
from ._reference.data import MAX_ID
from ._reference.messages import cut, show_bytes
from ._reference.tiktoken_file import decode_base64
from .errors import EncodingFileError

_UNNAMED = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
_LAST_VERSION_WITHOUT_NAMES = 7


def read_tekken(path: str) -> tuple[dict[bytes, int], str, dict[str, int]]:
    """The ids of the tokens, the pattern, and the special tokens. Raises `EncodingFileError` for any fault."""
    text = files.text(path, files.read(path))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EncodingFileError(f"{path}: not JSON: {error}") from None
    return _Reader(path, content).read()


class _Reader:
    def __init__(self, path: str, content: Any) -> None:
        self._path = path
        self._content = content
        self._config = self._get(content, "", "config", dict)

    def read(self) -> tuple[dict[bytes, int], str, dict[str, int]]:
        pattern = self._get(self._config, "config.", "pattern", str)
        size = self._number(self._config, "config.", "default_vocab_size")
        specials = self._number(self._config, "config.", "default_num_special_tokens")
        if size < specials:
            self._fail(f"default_vocab_size {size} is less than default_num_special_tokens {specials}")
        return self._tokens(size, specials), pattern, self._special_tokens(specials)

    def _tokens(self, size: int, specials: int) -> dict[bytes, int]:
        vocab = self._get(self._content, "", "vocab", list)
        if len(vocab) < size - specials:
            self._fail(f"vocab has {len(vocab)} tokens, expected at least {size - specials}")
        ids: dict[bytes, int] = {}
        for rank, entry in enumerate(vocab[: size - specials]):
            where = f"vocab[{rank}]."
            found = self._number(entry, where, "rank")
            if found != rank:
                self._fail(f"{where}rank is {found}, expected {rank}")
            spelling = self._get(entry, where, "token_bytes", str)
            token = decode_base64(spelling)
            if token is None:
                self._fail(f'{where}token_bytes "{cut(spelling)}" is not base64')
            if token in ids:
                self._fail(f"{where}token_bytes: the token {show_bytes(token)} is that of rank {ids[token] - specials}")
            ids[token] = rank + specials
        for byte in range(256):
            if bytes([byte]) not in ids:
                self._fail(f"the byte 0x{byte:02x} has no token")
        return ids

    def _special_tokens(self, count: int) -> dict[str, int]:
        named: dict[str, int] = {}
        for id, literal in enumerate(self._names()):
            if literal in named:
                self._fail(f"special_tokens[{id}].token_str repeats special_tokens[{named[literal]}]")
            named[literal] = id
        if len(named) > count:
            self._fail(f"special_tokens has {len(named)} entries, expected at most {count}")
        for id in range(len(named), count):
            if named.setdefault(f"<SPECIAL_{id}>", id) != id:
                self._fail(f"<SPECIAL_{id}> is the name of another special token")
        return named

    def _names(self) -> list[str]:
        if self._content.get("special_tokens") is None:
            version = self._get(self._config, "config.", "version", str)
            number = re.match(r"v([0-9]{1,4})", version)
            if number is None or int(number[1]) > _LAST_VERSION_WITHOUT_NAMES:
                self._fail(f'special_tokens is missing, which a file of version "{cut(version)}" needs')
            return list(_UNNAMED)
        names = []
        for id, entry in enumerate(self._get(self._content, "", "special_tokens", list)):
            where = f"special_tokens[{id}]."
            found = self._number(entry, where, "rank")
            if found != id:
                self._fail(f"{where}rank is {found}, expected {id}")
            names.append(self._get(entry, where, "token_str", str))
        return names

    def _get(self, parent: Any, where: str, key: str, kind: type) -> Any:
        value = parent.get(key) if isinstance(parent, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            kinds = {dict: "an object", list: "a list", str: "a string", int: "an integer"}
            self._fail(f"{where}{key} is missing or not {kinds[kind]}")
        return value

    def _number(self, parent: Any, where: str, key: str) -> int:
        value: int = self._get(parent, where, key, int)
        if not 0 <= value <= MAX_ID:
            self._fail(f"{where}{key} is {cut(str(value))}, expected 0 to {MAX_ID}")
        return value

    def _fail(self, message: str) -> NoReturn:
        raise EncodingFileError(f"{self._path}: {message}")
