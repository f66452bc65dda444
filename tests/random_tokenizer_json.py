"""Random tokenizer.json files and texts for them: small vocabularies that tokenizers trains under a random pipeline."""

import json

from tests.small import ALPHABET

WORDS = [
    "the", "cat", "Cat", "don't", "DON'T", "we'll", "x1", "123", "1234567", "3.14", "²³", "½", "٣", "Ⅻ", "é", "e\u0301", "É", "ﬁ",
    "ß", "ſ", "İ", "ǅ", "漢字", "ひらがな", "カタカナ", "한국어", "\u1112\u1161\u11ab", "नमस्ते", "শোঁ", "ไทย", "שלום", "\u0344", "Å", "\u212b", "Ω", "ﷺ", "Ａ",
    "👍", "👩\u200d🚀", "<s>", "</s>", "<pad>", "<|end|>", "[MASK]", "foo", "foobar", "FOO", "ab", "aab", "abab", "_", "a_b", "__", "#",
    "...", "!?", "(", "[x]", "{", "$5", "€", "^", "~", "&&", "--", "-", "\\", "/", "'", '"', "`", "、", "。", "“", "«", "\u0300", "\u200d", "\u200b", "\ufeff",
    "\x00", "\x1c", "\x7f", "\U0001e900", "\ua7cb", "\U00016ea0", "\u32ff", "\U00011938", "▁", "Ġ", "Ċ", "¼",
]  # fmt: skip
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u3000", "\x85", "\u2028", "\v", " \n", "\n "]

LITERALS = [" ", "a", "ab", "'", ".", "\n", "1", "漢", "--", "e\u0301", "é", "the", "[", "\\", "|", "Ġ", "gpt2"]
REGEXES = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r"\p{N}{1,3}", r"\p{N}{1,3}+", r"\d+", r"[0-9]{3}", r"\p{Nd}", r"\w+", r"\w+|[^\w\s]+", r"\W", r"[^\w\s]", r"\s+", r"\S+", r"\s+(?!\S)",
    r"$", r"a$", r"^a", r"^.", r".$", r"\s+$", r"\Aa|a\z|b\Z", r".", r".{2}", r"[a-c]+", r"[^a-c]+", r"(?i)the|cat", r"(?i:foo)bar?", r"(?i:[s-z])+",
    r"(?i:k)", r"(?<=a)b", r"(?<!a)b", r"a(?=b)", r"a(?!b)", r"\p{L}(?=\p{N})|\p{N}(?=\p{L})", r"\p{P}", r"\p{S}+",
    r"\p{^L}+", r"\P{L}+", r"\p{Lu}\p{Ll}*", r"\p{M}", r"[\p{M}\p{L}]+", r"\h+", r"a{2}", r"a{,2}b", r"a{2,}",
    r"a+?b", r"a++", r"(?:ab)+", r"(a|b)+", r"(?>a+)b", r"[a\-z]", r"[-a]", r"[a-]", r"[\]a]", r"[.]", r"\.", r"\x20", r"\x{3000}", r"\u0061", r"\t|\n",
    r"\p{Han}", r"\p{Latin}+|\P{Common}", r"[\p{Hiragana}\p{Katakana}]+", r"\bthe\b", r"\b.", r".\B", r"\b\w+\b", r"\R", r"\H", r"[\hx]+",
    r"[\p{Han}]+|[\p{Lu}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lo}\p{M}&&[^\p{Han}]]+", r"[a-z&&[^aeiou]]+", r"[a-m&&[c-z]b]",
    r"x{", r"(?m:.)+", r"[^\n]+", r"[ \t]+", r"[A-Za-z0-9_]+|[^A-Za-z0-9_]", r"\e|\a|\f|\v", r"the", r"gpt2",
]  # fmt: skip
ODD = [
    r"(?i:st)",
    r"[[:alpha:]]+",
    r"\X",
    r"a{1,2}?",
    r"a*",
    r"",
    r"(",
    r"[z-a]",
    r"(a)\1",
    r"{",
]
"""What tokenizers, we or the reference refuse."""
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
NO_CONDITIONS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def text(rng, most=14):
    """Words and spaces, with the common ones more often."""
    parts = []
    for _ in range(rng.randint(0, most)):
        kind = rng.random()
        if kind < 0.55:
            parts.append(rng.choice(WORDS))
        elif kind < 0.8:
            parts.append(rng.choice(SPACES) if rng.random() < 0.4 else " ")
        else:
            parts.append(rng.choice("abcdeABC019.'- \n"))
    return "".join(parts)


def regex(rng):
    if rng.random() < 0.04:
        return rng.choice(ODD)
    if rng.random() < 0.75:
        return rng.choice(REGEXES)
    return "|".join(rng.choice(REGEXES) for _ in range(rng.randint(2, 3)))


def pattern(rng):
    return {"String": rng.choice(LITERALS)} if rng.random() < 0.3 else {"Regex": regex(rng)}


def in_sequence(rng, members, key):
    """One as it is or in a sequence, several in sequences."""
    if len(members) == 1 and rng.random() < 0.7:
        return members[0]
    if len(members) > 2 and rng.random() < 0.2:
        members = [{"type": "Sequence", key: members[:2]}, *members[2:]]
    return {"type": "Sequence", key: members}


def normalizer(rng):
    if rng.random() < 0.4:
        return None
    members = []
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        kind = rng.choice(["NFC", "NFD", "NFKC", "NFKD", "NFC", "NFKC", "Lowercase", "Strip", "Replace", "Prepend"])
        member = {"type": kind}
        if kind == "Strip":
            member |= {"strip_left": rng.random() < 0.6, "strip_right": rng.random() < 0.6}
        elif kind == "Replace":
            member |= {"pattern": pattern(rng), "content": rng.choice(["", " ", "x", "▁", "\\1", "$0", "é"])}
        elif kind == "Prepend":
            member |= {"prepend": rng.choice(["▁", " ", "ab", ""])}
        members.append(member)
    return in_sequence(rng, members, "normalizers")


def cutter(rng):
    kind = rng.choice(["Split", "Split", "Split", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit"])
    if kind == "Split":
        behavior = rng.choice([*BEHAVIORS, "Isolated", "Isolated"])
        return {"type": kind, "pattern": pattern(rng), "behavior": behavior, "invert": rng.random() < 0.25}
    if kind == "Digits":
        return {"type": kind, "individual_digits": rng.random() < 0.5}
    if kind == "Punctuation":
        return {"type": kind, "behavior": rng.choice(BEHAVIORS)}
    return {"type": kind}


def pre_tokenizer(rng):
    byte_level = BYTE_LEVEL | {"use_regex": rng.random() < 0.5, "add_prefix_space": rng.random() < 0.3}
    before = [cutter(rng) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))]
    after = [cutter(rng)] if rng.random() < 0.1 else []
    return in_sequence(rng, [*before, byte_level, *after], "pretokenizers")


def added_tokens(rng, vocabulary):
    """Some literals, of words, of spaces and of what is in the vocabulary, with any conditions."""
    contents = set()
    for _ in range(rng.choice([0, 1, 2, 3, 6])):
        kind = rng.random()
        if kind < 0.7:
            content = rng.choice(WORDS)
        elif kind < 0.8:
            content = rng.choice(WORDS) + rng.choice([" ", "s", ">"]) + rng.choice(WORDS)
        elif kind < 0.9:
            content = rng.choice(SPACES)
        else:
            content = rng.choice(list(vocabulary))
        if content.isascii() or content not in vocabulary or rng.random() < 0.05:
            contents.add(content)
    tokens, next_id = [], len(vocabulary)
    plain = rng.random() < 0.3
    for content in sorted(contents):
        id = vocabulary.get(content)
        if id is None:
            id, next_id = next_id, next_id + 1
        chances = {"single_word": 0.2, "lstrip": 0.2, "rstrip": 0.2, "normalized": 0.4, "special": 0.5}
        if any(other != other.strip() for other in contents):
            # tokenizers panics, or takes all memory, where one token strips what another begins or ends with.
            chances |= {"lstrip": 0, "rstrip": 0}
        flags = NO_CONDITIONS if plain else {flag: rng.random() < chance for flag, chance in chances.items()}
        tokens.append({"id": id, "content": content, **flags})
    return tokens


def post_processor(rng):
    kind = rng.choice(
        [None, None, "ByteLevel", "RobertaProcessing", "BertProcessing", "TemplateProcessing", "Sequence"]
    )
    if kind in (None, "ByteLevel"):
        return kind and BYTE_LEVEL
    if kind == "Sequence":
        return {"type": kind, "processors": [BYTE_LEVEL, *([other] if (other := post_processor(rng)) else [])]}
    if kind == "TemplateProcessing":
        tokens = {"<s>": [1], "two": [2, 3]}
        piece = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}  # noqa: E731
        around = [[piece(name) for name in rng.choices(list(tokens), k=rng.randint(0, 2))] for _ in range(2)]
        sequence = {"Sequence": {"id": "A", "type_id": 0}}
        special = {name: {"id": name, "ids": ids, "tokens": ["x"] * len(ids)} for name, ids in tokens.items()}
        single = [*around[0], sequence, *around[1]]
        pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
        return {"type": kind, "single": single, "pair": pair, "special_tokens": special}
    ends = {"sep": ["</s>", 5], "cls": ["<s>", 4]}
    return {"type": kind, **ends} | ({"trim_offsets": True, "add_prefix_space": True} if kind[0] == "R" else {})


def decoder(rng):
    """Mostly ByteLevel, and parts that leave tokens as they are; now and then one that does not."""
    before = [
        {"type": "Replace", "pattern": {"String": rng.choice(["\u2420", "</w>", "", "a"])}, "content": " "},
        {"type": "Strip", "content": rng.choice("\u2420 x"), "start": rng.randint(0, 2), "stop": 0},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    kind = rng.random()
    if kind < 0.2:
        return None
    if kind < 0.7:
        return BYTE_LEVEL
    if kind < 0.98:
        harmless = {"type": "Replace", "pattern": {"String": "\u2420"}, "content": " "}
        return {"type": "Sequence", "decoders": [*rng.choice([[], [harmless], before[2:3]]), BYTE_LEVEL, before[3]]}
    members = [*rng.choices([*before, BYTE_LEVEL], k=rng.randint(0, 2)), BYTE_LEVEL, rng.choice(before)]
    return {"type": "Sequence", "decoders": members}


def trained(rng, normalizer, pre_tokenizer):
    """The model of a vocabulary that tokenizers trains; where it cannot, of bytes alone."""
    from tokenizers import Tokenizer, pre_tokenizers, trainers

    model = {"type": "BPE", "vocab": {character: id for id, character in enumerate(ALPHABET)}, "merges": []}
    file = {"version": "1.0", "added_tokens": [], "model": model}
    try:
        peer = Tokenizer.from_str(json.dumps(file | {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer}))
        trainer = trainers.BpeTrainer(
            vocab_size=rng.randint(257, 420),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
            special_tokens=["<s>"] if rng.random() < 0.3 else [],
        )
        peer.train_from_iterator([text(rng, 40) for _ in range(20)], trainer)
    except BaseException as error:  # a panic is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return model
    return json.loads(peer.to_str())["model"]


def tokenizer_json(rng):
    """A file as an object."""
    file = {"version": "1.0", "truncation": None, "padding": None}
    file["normalizer"], file["pre_tokenizer"] = normalizer(rng), pre_tokenizer(rng)
    model = trained(rng, file["normalizer"], file["pre_tokenizer"])
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    if rng.random() < 0.2:  # some tokens no rule makes any more
        merges = [merge for merge in merges if rng.random() < 0.9]
    if rng.random() < 0.1:
        rng.shuffle(merges)
    if rng.random() < 0.1 and merges:
        merges.append(rng.choice(merges))
    model["merges"] = merges if rng.random() < 0.5 else [" ".join(merge) for merge in merges]
    model["ignore_merges"] = rng.random() < 0.2
    if rng.random() < 0.2:
        del model["type"]
    file["added_tokens"] = added_tokens(rng, model["vocab"])
    file["post_processor"] = post_processor(rng)
    file["decoder"] = decoder(rng)
    return file | {"model": model}
