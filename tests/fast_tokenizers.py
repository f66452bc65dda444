"""Fast tokenizers of transformers, and what a call of one comes to, in a form that can be compared.

GPT-2's is the built-in encoding; the others are small vocabularies under the pipelines of Qwen and DeepSeek, and others
that put something around a text. Those in the folder that BPELINE_SHARED names are Qwen's and DeepSeek's own.
Import this only where transformers is installed.
"""

import base64
import json
import lzma
import os
from pathlib import Path

import numpy as np
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BatchEncoding, GPT2Tokenizer, PreTrainedTokenizerFast, Qwen2Tokenizer

import bpeline

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
]
CORPUS = [
    "the cat sat on the mat, don't you know? 漢字 12345 Hello hello!",
    "we'll see é e\u0301 naïve\n\n  the end",
] * 20
CHAT = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def gpt2(tmp_folder, **options):
    vocab, merges = bpeline.load("gpt2").save(tmp_folder)
    rules = [tuple(line.split(" ")) for line in merges.read_text("utf-8").split("\n")[1:] if line]
    options = {"pad_token": "<|endoftext|>"} | options
    return GPT2Tokenizer(vocab=json.loads(vocab.read_text("utf-8")), merges=rules, chat_template=CHAT, **options)


def small(pre_tokenizer, normalizer=None, post_processor=None, added=(), **options):
    """A small vocabulary, trained under a pipeline."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens(["<s>", "</s>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens(list(added))
    if post_processor is not None:
        tokenizer.post_processor = post_processor(tokenizer)
    options = {"pad_token": "</s>", "chat_template": CHAT} | options
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **options)


def byte_level(**options):
    return pre_tokenizers.ByteLevel(**({"add_prefix_space": False} | options))


def split(*patterns):
    cuts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre_tokenizers.Sequence([*cuts, byte_level(use_regex=False)])


def template(single, pair):
    def make(tokenizer):
        specials = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
        return processors.TemplateProcessing(single=single, pair=pair, special_tokens=specials)

    return make


def roberta(tokenizer):
    ends = [(token, tokenizer.token_to_id(token)) for token in ("</s>", "<s>")]
    return processors.RobertaProcessing(*ends, trim_offsets=True, add_prefix_space=False)


def llama3(tokenizer):
    return processors.Sequence(
        [processors.ByteLevel(trim_offsets=True), template("<s> $A", "<s> $A <s>:1 $B:1")(tokenizer)]
    )


SMALL = {
    "like qwen": lambda: small(split(QWEN), normalizers.NFC(), lambda _: processors.ByteLevel(trim_offsets=False)),
    "like deepseek": lambda: small(
        split(*DEEPSEEK),
        normalizers.Sequence([]),
        lambda _: processors.ByteLevel(trim_offsets=False),
        bos_token="<s>",
        add_bos_token=True,
    ),
    "template": lambda: small(
        byte_level(), None, template("<s> $A </s>", "<s> $A </s> $B:1 </s>:1"), [AddedToken("<m>", lstrip=True)]
    ),
    "odd template": lambda: small(byte_level(), None, template("$A:3 </s>:4", "<s> $B:2 <s> $A </s>:5")),
    "like roberta": lambda: small(byte_level(add_prefix_space=True), None, roberta, padding_side="left"),
    "like llama 3": lambda: small(split(QWEN), None, llama3, truncation_side="left", model_max_length=7),
    "of lower case": lambda: small(
        byte_level(),
        normalizers.Lowercase(),
        None,
        [AddedToken("The", normalized=True), AddedToken("sat", rstrip=True)],
    ),
}


def shared(name):
    """A file of encodings/, unpacked; None if there is none."""
    folder = os.environ.get("BPELINE_SHARED")
    path = Path(folder or ".", "encodings", f"{name}.xz")
    return lzma.open(path).read() if folder and path.exists() else None


def deepseek():
    names = {"bos_token": "<｜begin▁of▁sentence｜>", "eos_token": "<｜end▁of▁sentence｜>"}
    tokenizer = Tokenizer.from_str(shared("deepseek_tokenizer.json").decode())
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=names["eos_token"], chat_template=CHAT, **names
    )


def qwen():
    ranks = {
        base64.b64decode(token): int(rank) for token, rank in map(bytes.split, shared("qwen.tiktoken").splitlines())
    }
    spell = dict(enumerate(byte_alphabet()))
    spelled = {token: "".join(map(spell.get, token)) for token in ranks}
    rules = [tuple(spelled[part] for part in last_merge(ranks, token)) for token in ranks if len(token) > 1]
    vocab = {spelled[token]: rank for token, rank in ranks.items()}
    specials = ["<|im_start|>", "<|im_end|>"]
    return Qwen2Tokenizer(vocab=vocab, merges=rules, extra_special_tokens=specials, chat_template=CHAT)


def byte_alphabet():
    tok = bpeline.load("gpt2")
    return [tok.id_to_token(tok.token_to_id(bytes([byte]))) for byte in range(256)]


def last_merge(ranks, token):
    """The two tokens that a token is merged from: what the lower ranks make of its bytes."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(parts[i] + parts[i + 1], 1 << 30) for i in range(len(parts) - 1)]
        lowest = min(pairs)
        assert lowest < ranks[token]
        i = pairs.index(lowest)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return parts


# --- What a call comes to ---

ATTRIBUTES = (
    *("ids", "type_ids", "attention_mask", "special_tokens_mask", "tokens", "offsets", "word_ids", "sequence_ids"),
    "n_sequences",
)


def outcome(call, *args, **kwargs):
    """What is returned, as plain data, or what is raised."""
    try:
        return plain(call(*args, **kwargs))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of tokenizers is no Exception
        return type(error).__name__, str(error)


def plain(value):
    if isinstance(value, BatchEncoding):
        encodings = value.encodings and [of_encoding(encoding) for encoding in value.encodings]
        return {key: plain(data) for key, data in value.items()}, value.n_sequences, encodings
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, list(map(plain, value)) if value.dtype == object else value.tolist()
    if isinstance(value, list) and value and hasattr(value[0], "type_ids"):
        return [of_encoding(encoding) for encoding in value]
    return of_encoding(value) if hasattr(value, "type_ids") else value


def of_encoding(encoding):
    """All of an encoding: its attributes, those of what overflows, then what its methods say of each token."""
    before = [getattr(encoding, name) for name in ATTRIBUTES] + [len(encoding)]
    overflowing = [of_encoding(other) for other in encoding.overflowing]
    by_token = [
        (encoding.token_to_chars(i), encoding.token_to_word(i), encoding.token_to_sequence(i))
        for i in range(len(encoding))
    ]
    by_character = [
        (encoding.char_to_token(i, sequence), encoding.char_to_word(i, sequence))
        for i in range(12)
        for sequence in (0, 1)
    ]
    by_word = [
        (encoding.word_to_tokens(i, sequence), encoding.word_to_chars(i, sequence))
        for i in range(4)
        for sequence in (0, 1)
    ]
    after = [getattr(encoding, name) for name in ATTRIBUTES] + [len(encoding)]
    assert before == after, f"changed when it was looked at: {before} {after}"
    return [before, overflowing, by_token, by_character, by_word]
