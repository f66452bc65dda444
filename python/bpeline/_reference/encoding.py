"""All that fixes the ids: vocabulary, merge rules, pattern, special tokens."""

import functools
import hashlib
from collections.abc import Mapping
from operator import index
from typing import TYPE_CHECKING, final

from ..errors import EncodingFileError
from . import builtin
from . import data as encoding_data
from . import spec as specs
from .arguments import checked_mapping, checked_ranks, checked_special_tokens
from .data import Parts
from .gpt2_files import read_gpt2_files
from .messages import quote
from .recipes import RECIPES
from .regexes import compile_regex, named
from .route import route
from .stages import Pairs, SpecialTokens, merge, spell, split_matches, split_pieces, splits, unspell
from .tiktoken_file import read_tiktoken_file

if TYPE_CHECKING:
    from typing_extensions import Buffer


@final
class Encoding:
    """All that fixes the ids. Immutable; made by one of the static methods.

    >>> from bpeline._reference import Encoding
    >>> Encoding.builtin("gpt2").vocab_size
    50257
    """

    __slots__ = (
        "_around",
        "_byte_ids",
        "_compiled_pattern",
        "_fingerprint",
        "_ids",
        "_is_builtin",
        "_literal_ids",
        "_literals",
        "_longest_token",
        "_pairs",
        "_parts",
        "_route",
        "_special_ids",
        "_special_token_cutter",
        "_tokens",
        "_whole_pieces",
    )

    def __init__(self, parts: Parts, is_builtin: bool = False) -> None:
        """`parts` have a token for every byte, and ids in any order."""
        _, pattern, tokens, merges, special_tokens, whole_pieces, written_spec = parts
        pattern = named(pattern)
        self._compiled_pattern = compile_regex(pattern)
        tokens = dict(sorted(tokens.items()))
        spec = None if written_spec is None else specs.read(written_spec)
        literals = {} if spec is None else spec.literals
        special_tokens = checked_special_tokens(special_tokens, literals, tokens, may_share=spec is not None)
        self._parts = parts._replace(pattern=pattern, tokens=tokens, special_tokens=special_tokens)
        self._route = None if spec is None else route(spec, self._compiled_pattern)
        self._around = (spec and spec.around) or {"before": [], "after": []}
        self._is_builtin = is_builtin
        self._fingerprint: bytes | None = None

        self._special_token_cutter = SpecialTokens(special_tokens)
        self._special_ids = frozenset(special_tokens.values())
        self._literal_ids = literals
        # Where two special tokens share an id, the first is its text.
        self._literals = {
            id: literal for literal, id in reversed([*special_tokens.items(), *self._literal_ids.items()])
        }
        self._tokens = tokens | {id: literal.encode() for id, literal in self._literals.items()}
        self._ids = {token: id for id, token in tokens.items()}
        self._longest_token = max(map(len, [*tokens.values(), *map(str.encode, special_tokens)]))
        for id in [] if spec is None else spec.ids:
            if id not in self._tokens:
                raise EncodingFileError(f"no token has the id {id}")
        self._byte_ids = [self._ids[bytes([byte])] for byte in range(256)]
        # As in tiktoken, a piece that is a token is looked up whole where token bytes are ranked. Otherwise a token
        # has to be reached by its merges.
        self._whole_pieces = self._ids if merges is None or whole_pieces else {}
        self._pairs: Pairs
        if merges is None:
            self._pairs = {pair: (id, id) for token, id in self._ids.items() for pair in splits(token, self._ids)}
        else:
            made = [self._ids[tokens[left] + tokens[right]] for left, right in merges]
            self._pairs = {pair: (rank, id) for rank, (pair, id) in enumerate(zip(merges, made, strict=True))}

    # --- Where encodings come from ---

    @staticmethod
    @functools.cache
    def builtin(name: str) -> "Encoding":
        """The built-in encoding of that name. Raises `ValueError` if there is none.

        >>> from bpeline._reference import Encoding
        >>> Encoding.builtin("gpt2").is_builtin
        True
        """
        if name not in RECIPES:
            known = ", ".join(RECIPES)
            raise ValueError(f"no built-in encoding is called {quote(name)} (built in: {known})")
        return Encoding(builtin.parts(name), is_builtin=True)

    @staticmethod
    def from_gpt2_files(
        vocab: str,
        merges: str,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        name: str = "custom",
    ) -> "Encoding":
        """An encoding from the paths of vocab.json and merges.txt. Raises `EncodingFileError` for any fault in them.

        >>> import tempfile, bpeline
        >>> from bpeline._reference import Encoding
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     merges, vocab = sorted(map(str, bpeline.load("gpt2").save(folder)))
        ...     Encoding.from_gpt2_files(vocab, merges).fingerprint == Encoding.builtin("gpt2").fingerprint
        True
        """
        given = None if special_tokens is None else checked_mapping(special_tokens)
        tokens, rules, specials = read_gpt2_files(vocab, merges, given)
        return Encoding(Parts(name, "gpt2" if pattern is None else pattern, tokens, rules, specials))

    @staticmethod
    def from_tiktoken_file(
        path: str,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        name: str = "custom",
    ) -> "Encoding":
        """An encoding from the path of a rank file. Raises `EncodingFileError` for any fault in it.

        >>> import tempfile, bpeline
        >>> from bpeline._reference import Encoding
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file, _ = map(str, bpeline.load("r50k_base").save(folder, format="tiktoken"))
        ...     Encoding.from_tiktoken_file(file).fingerprint == Encoding.builtin("r50k_base").fingerprint
        True
        """
        given = None if special_tokens is None else checked_mapping(special_tokens)
        return Encoding(read_tiktoken_file(path, pattern, given, name))

    @staticmethod
    def from_ranks(
        ranks: Mapping[bytes, int],
        pattern: str,
        special_tokens: Mapping[str, int] | None = None,
        name: str = "custom",
    ) -> "Encoding":
        """An encoding that ranks the bytes of tokens, as tiktoken's do; ranks are ids and may have gaps.

        Raises `EncodingFileError` for ranks that repeat, lie outside 0 to 16777215 or leave a byte without a token.

        >>> from bpeline._reference import Encoding
        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
        >>> Encoding.from_ranks(ranks, "gpt2").token_to_id("ab")
        256
        """
        tokens = checked_ranks(ranks)
        return Encoding(Parts(name, pattern, tokens, None, checked_mapping(special_tokens)))

    @staticmethod
    def from_tokenizer_json(
        source: str,
        name: str,
        pattern: str,
        vocabulary: Mapping[str, int],
        merges: list[tuple[str, str]],
        special_tokens: Mapping[str, int],
        whole_pieces: bool,
        spec: str | None,
    ) -> "Encoding":
        """From what `bpeline.tokenizer_json.read` found in a file; `source` names it in errors."""
        tokens = {id: unspell(spelling) for spelling, id in vocabulary.items()}
        for number, (left, right) in enumerate(merges, start=1):
            for symbol in (left, right, left + right):
                if symbol not in vocabulary:
                    raise EncodingFileError(f"{source}: merge {number}: {quote(symbol)} is not in the vocabulary")
        # Of a pair that is repeated, the last counts.
        ranked = reversed(dict.fromkeys((vocabulary[left], vocabulary[right]) for left, right in reversed(merges)))
        pairs = list(ranked)
        return Encoding(Parts(name, pattern, tokens, pairs, checked_mapping(special_tokens), whole_pieces, spec))

    @staticmethod
    def from_bytes(data: "Buffer") -> "Encoding":
        """What `to_bytes` wrote, on either backend. Raises `EncodingFileError` for anything else.

        >>> from bpeline._reference import Encoding
        >>> gpt2 = Encoding.builtin("gpt2")
        >>> Encoding.from_bytes(gpt2.to_bytes()).fingerprint == gpt2.fingerprint
        True
        """
        content = bytes(data)
        try:
            return Encoding(encoding_data.read(content))
        except EncodingFileError as error:
            raise EncodingFileError(f"encoding data: {error}") from None

    def to_bytes(self) -> bytes:
        """The encoding as bytes, the same on both backends.

        >>> from bpeline._reference import Encoding
        >>> Encoding.builtin("gpt2").to_bytes()[:18]
        b'bpeline encoding 1'
        """
        return encoding_data.write(self._parts)

    def extend(self, special_tokens: Mapping[str, int]) -> "Encoding":
        """The same encoding with more special tokens.

        Raises `EncodingFileError` if a literal has another id already, or an id is that of another token.

        >>> from bpeline._reference import Encoding
        >>> Encoding.builtin("gpt2").extend({"<|pad|>": 50257}).vocab_size
        50258
        """
        specials = self.special_tokens
        owners = {id: literal for literal, id in reversed(specials.items())}
        for literal, id in checked_mapping(special_tokens).items():
            if literal in self._literal_ids:
                old = self._literal_ids[literal]
                raise EncodingFileError(f"{quote(literal)} is an added token already, with the id {old}")
            if literal in specials and specials[literal] != id:
                old = specials[literal]
                raise EncodingFileError(f"special token {quote(literal)} has the id {id}, but it has {old} already")
            # A file may give two literals one id; here it is a slip.
            if literal not in specials and id in owners:
                owner = f"the special token {quote(owners[id])}"
                raise EncodingFileError(f"special token {quote(literal)} has the id {id}, which {owner} has already")
            specials[literal] = id
            owners.setdefault(id, literal)
        new = {literal: id for literal, id in specials.items() if literal not in self._parts.special_tokens}
        spec = self._parts.spec and specs.extended(self._parts.spec, new)
        return Encoding(self._parts._replace(special_tokens=specials, spec=spec))

    # --- What an encoding says of itself ---

    @property
    def name(self) -> str:
        return self._parts.name

    @property
    def is_builtin(self) -> bool:
        """Whether it was made by `builtin`, so that its name is enough to make it again."""
        return self._is_builtin

    @property
    def pattern(self) -> str:
        """The regular expression that defines the pieces."""
        return self._parts.pattern

    @property
    def special_tokens(self) -> dict[str, int]:
        """Literal -> id, in the order of (id, literal)."""
        return self._parts.special_tokens.copy()

    @property
    def vocab_size(self) -> int:
        """Highest id + 1, special tokens included."""
        return max(self._tokens) + 1

    @property
    def fingerprint(self) -> bytes:
        """A SHA-256 of all but the name: encodings of equal fingerprints give equal ids."""
        if self._fingerprint is None:
            self._fingerprint = hashlib.sha256(encoding_data.nameless_body(self._parts)).digest()
        return self._fingerprint

    def token_bytes(self, id: int) -> bytes | None:
        """The bytes of a token, or None if no token has the id.

        >>> from bpeline._reference import Encoding
        >>> Encoding.builtin("gpt2").token_bytes(262)
        b' the'
        """
        return self._tokens.get(index(id))

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token: of raw bytes, of a spelling in the file, or of a special token. None if it is none.

        >>> from bpeline._reference import Encoding
        >>> gpt2 = Encoding.builtin("gpt2")
        >>> gpt2.token_to_id(b" the"), gpt2.token_to_id("Ġthe"), gpt2.token_to_id(" the")
        (262, 262, None)
        """
        specials = self._parts.special_tokens
        if isinstance(token, bytes):
            # No literal has the surrogates that stand for invalid bytes here.
            literals = self._literal_ids | specials
            return self._ids.get(token, literals.get(token.decode("utf-8", "surrogateescape")))
        if token in specials:
            return specials[token]
        if token in self._literal_ids:
            return self._literal_ids[token]
        try:
            return self._ids.get(unspell(token))
        except KeyError:
            return None

    def id_to_token(self, id: int) -> str | None:
        """The spelling of a token in the file, or a special token's text; None if no token has the id.

        >>> from bpeline._reference import Encoding
        >>> Encoding.builtin("gpt2").id_to_token(262)
        'Ġthe'
        """
        token = self._parts.tokens.get(index(id))
        return self._literals.get(index(id)) if token is None else spell(token)

    @property
    def whole_pieces(self) -> bool:
        """Whether a piece that is a token is that token, whatever the merge rules make of it."""
        return self._parts.merges is None or self._parts.whole_pieces

    @property
    def spec(self) -> str | None:
        """What a tokenizer.json said beyond vocabulary, merges and pattern, as JSON."""
        return self._parts.spec

    def merges(self) -> list[tuple[int, int]] | None:
        """(left id, right id) of each rule in rank order; None where token bytes are ranked.

        >>> from bpeline._reference import Encoding
        >>> Encoding.builtin("gpt2").merges()[0]
        (220, 83)
        """
        return None if self._parts.merges is None else self._parts.merges.copy()

    # --- Stages on their own ---

    def matches(self, text: str) -> list[str]:
        """The parts of a text that the pattern matches, in order: the pieces, but those that lie between matches.

        Of several patterns in turn, all pieces. Raises `UnicodeEncodeError` for a surrogate.

        >>> from bpeline._reference import Encoding
        >>> ranks = {bytes([byte]): byte for byte in range(256)}
        >>> Encoding.from_ranks(ranks, "[a-z]+").matches("one, two")
        ['one', 'two']
        """
        text.encode()
        match self._compiled_pattern:
            case [pattern]:
                return [part for part, is_match in split_matches(text, pattern) if is_match]
            case patterns:
                return list(split_pieces(text, patterns))

    def merge_piece(self, piece: bytes) -> list[int]:
        """The ids of bytes merged as one piece, without looking the whole up first. They need not be UTF-8.

        >>> from bpeline._reference import Encoding
        >>> Encoding.builtin("gpt2").merge_piece(b" the\\xff")
        [262, 187]
        """
        return merge([self._byte_ids[byte] for byte in piece], self._pairs)
