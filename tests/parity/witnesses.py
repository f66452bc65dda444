"""The witnesses: tiktoken, tokenizers, and the literal pattern under `regex` with a naive merge."""

import importlib.metadata

from tests.naive import merge
from tests.oracle import Oracle, cut
from tests.peers import EOT, GPT2_PATTERN, read_pair_with_tiktoken, read_pair_with_tokenizers
from tests.small import SPELL

BYTE_OF = {character: byte for byte, character in SPELL.items()}
PACKAGES = ("tiktoken", "tokenizers", "regex")


def versions():
    return {name: importlib.metadata.version(name) for name in PACKAGES}


class Tiktoken:
    def __init__(self, folder):
        self.peer = read_pair_with_tiktoken(folder)
        self.vocab_size = self.peer.n_vocab

    def encode(self, texts):
        encode, allowed = self.peer.encode, {EOT}
        return [encode(text, allowed_special=allowed, disallowed_special=()) for text in texts]

    def decode(self, batch):
        return [self.peer.decode_bytes(ids) for ids in batch]

    def decode_text(self, batch):
        return [self.peer.decode(ids) for ids in batch]


class Tokenizers:
    def __init__(self, folder):
        self.peer = read_pair_with_tokenizers(folder)
        self.vocab_size = self.peer.get_vocab_size()

    def encode(self, texts):
        return [encoding.ids for encoding in self.peer.encode_batch_fast(texts, add_special_tokens=False)]

    def decode(self, batch):
        """The bytes of its own spelling of each token: its `decode` gives text only."""
        return [b"".join(map(self.token_bytes, ids)) for ids in batch]

    def token_bytes(self, token_id):
        token = self.peer.id_to_token(token_id)
        return EOT.encode() if token == EOT else bytes(map(BYTE_OF.__getitem__, token))

    def decode_text(self, batch):
        return [self.peer.decode(ids, skip_special_tokens=False) for ids in batch]


class Literal:
    """The pattern as it is written, under Python's `regex`: newer Unicode tables than the others have."""

    def __init__(self, folder):
        import regex

        self.find = regex.compile(GPT2_PATTERN).findall
        self.oracle = Oracle.of_pair(folder / "vocab.json", folder / "merges.txt")
        self.known = {}

    def piece(self, piece):
        ids = self.known.get(piece)
        if ids is None:
            ids = [self.oracle.ids[symbol] for symbol in merge(piece.encode(), self.oracle.rank)]
            if len(piece) < 20 and len(self.known) < 500_000:
                self.known[piece] = ids
        return ids

    def encode(self, texts):
        return [self.encode_one(text) for text in texts]

    def encode_one(self, text):
        ids = []
        for i, part in enumerate(cut(text, self.oracle.specials) if EOT in text else [text]):
            if i % 2:
                ids.append(self.oracle.specials[part])
            else:
                for piece in self.find(part):
                    ids += self.piece(piece)
        return ids


class Ours:
    """One backend of bpeline."""

    def __init__(self, cls):
        self.tok = cls.load("gpt2")
        self.vocab_size = self.tok.vocab_size

    def encode(self, texts):
        return list(map(self.tok.encode, texts))

    def decode(self, batch):
        return [self.tok.decode_bytes(ids) for ids in batch]

    def decode_text(self, batch):
        return [self.tok.decode(ids) for ids in batch]
