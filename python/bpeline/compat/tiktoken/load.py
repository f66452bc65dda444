"""Rank files, as tiktoken reads and writes them.

OpenAI's files are inside bpeline: their addresses need no network. Other addresses are fetched once and kept in the folder
that `TIKTOKEN_CACHE_DIR` names (or `DATA_GYM_CACHE_DIR`; without either a folder for temporary files), as tiktoken does.
A path is read each time: tiktoken keeps a copy of that too, and does not see when the file changes.
"""

import binascii
import hashlib
import importlib
import json
import os
import tempfile
import urllib.request
import uuid
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import bpeline

from ..._reference.stages import BYTE_TO_CHARACTER, unspell

_OPENAI = "https://openaipublic.blob.core.windows.net/"

# Address -> encoding, what it is saved as, and the file's name then.
_PUBLISHED = {
    f"{_OPENAI}encodings/{name}.tiktoken": (name, "tiktoken", f"{name}.tiktoken")
    for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
} | {
    f"{_OPENAI}gpt-2/encodings/main/vocab.bpe": ("gpt2", "gpt2", "merges.txt"),
    f"{_OPENAI}gpt-2/encodings/main/encoder.json": ("gpt2", "gpt2", "vocab.json"),
}


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """The ranks in a .tiktoken file, of a path or an address.

    Raises `ValueError` for a line that is not base64, a space and a number, and for content of another SHA-256 than
    `expected_hash`.

    >>> import tempfile, pathlib
    >>> from bpeline.compat.tiktoken.load import load_tiktoken_bpe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "small.tiktoken")
    ...     _ = path.write_text("YQ== 0\\nYWI= 1\\n")
    ...     load_tiktoken_bpe(str(path))
    {b'a': 0, b'ab': 1}
    """
    ranks = {}
    for line in read_file_cached(tiktoken_bpe_file, expected_hash).splitlines():
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[b64decode(token)] = int(rank)
        except (ValueError, binascii.Error) as error:
            raise ValueError(f"Error parsing line {line!r} in {tiktoken_bpe_file}") from error
    return ranks


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Writes ranks as a .tiktoken file, in the order of their ranks."""
    lines = (
        b"%s %d\n" % (b64encode(token), rank) for token, rank in sorted(bpe_ranks.items(), key=lambda item: item[1])
    )
    content = b"".join(lines)
    if "://" in tiktoken_bpe_file:
        with _blobfile().BlobFile(tiktoken_bpe_file, "wb") as file:
            file.write(content)
    else:
        Path(tiktoken_bpe_file).write_bytes(content)


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """The ranks in GPT-2's two files, of paths or addresses. Raises `AssertionError` if the two do not agree."""
    merges = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")[1:-1]
    ids: dict[str, int] = json.loads(read_file_cached(encoder_json_file, encoder_json_hash))
    expected = {unspell(token): id for token, id in ids.items() if token not in ("<|endoftext|>", "<|startoftext|>")}
    ranks = {unspell(character): id for id, character in enumerate(sorted(BYTE_TO_CHARACTER))}
    for merge in merges:
        left, right = merge.split()
        ranks[unspell(left) + unspell(right)] = len(ranks)
    if clobber_one_byte_tokens:
        ranks |= {token: id for token, id in expected.items() if len(token) == 1}
    assert ranks == expected
    return ranks


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """The content of a file, from the cache if it is there. Raises `ValueError` for another SHA-256 than expected."""
    if (built_in := _built_in(blobpath)) is not None and _fits(built_in, expected_hash):
        return built_in
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = os.path.join(tempfile.gettempdir(), "data-gym-cache") if named is None else named
    if folder == "" or "://" not in blobpath:
        return _checked(read_file(blobpath), blobpath, expected_hash)
    path = Path(folder, hashlib.sha1(blobpath.encode()).hexdigest())
    if path.exists():
        content = path.read_bytes()
        if _fits(content, expected_hash):
            return content
        path.unlink(missing_ok=True)
    content = _checked(read_file(blobpath), blobpath, expected_hash)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4()}.tmp")
        temporary.write_bytes(content)
        temporary.rename(path)
    except OSError:
        if named is not None:
            raise
    return content


def read_file(blobpath: str) -> bytes:
    """The content of a path or an address."""
    if "://" not in blobpath:
        return Path(blobpath).read_bytes()
    if blobpath.startswith(("http://", "https://")):
        with urllib.request.urlopen(blobpath) as response:
            return bytes(response.read())
    return bytes(_blobfile().read_bytes(blobpath))


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Whether the SHA-256 of the data is the one expected."""
    return hashlib.sha256(data).hexdigest() == expected_hash


def _fits(content: bytes, expected_hash: str | None) -> bool:
    return expected_hash is None or check_hash(content, expected_hash)


def _checked(content: bytes, blobpath: str, expected_hash: str | None) -> bytes:
    if not _fits(content, expected_hash):
        raise ValueError(
            f"Hash mismatch for data downloaded from {blobpath} (expected {expected_hash}). "
            "This may indicate a corrupted download. Please try again."
        )
    return content


def _built_in(address: str) -> bytes | None:
    """The content of a file that OpenAI published for a built-in encoding."""
    name, format, file = _PUBLISHED.get(address, ("", "gpt2", ""))
    if name not in bpeline.encodings():
        return None
    with tempfile.TemporaryDirectory() as folder:
        bpeline.load(name).save(folder, format=format)  # type: ignore[arg-type]
        return Path(folder, file).read_bytes()


def _blobfile() -> Any:
    try:
        return importlib.import_module("blobfile")
    except ImportError as error:
        raise ImportError("blobfile is not installed. Please install it by running `pip install blobfile`.") from error
