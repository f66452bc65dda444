"""The samples: hand-written edges, class boundaries, seeded random strings, windows over prose, and id sequences.

Everything is built from this file and fixed seeds; two runs compare the same samples.
"""

import random

EOT = "<|endoftext|>"
# Contexts in which the class of a character shows in the ids. Hardly any merge crosses a rare character, so "a{}b"
# has the same ids whatever it is; but after a letter or number "'s" is a contraction, and after another
# character the apostrophe belongs to that one's run. Two spaces show white space.
CONTEXTS = ("a{}'s", " {}'s", "1{}2", "!{}?", "  {}\n ")
LEAST = 28_587

PROSE = """It's 7 o'clock, and the naïve reader's café — “open since 1998” — hasn't opened yet; they'll wait.
\tdef f(x, y=0.5):\r\n\t    return {"k": [x**2, y], 'n': None}  # don't PANIC!!!

Привет, мир! Сегодня 21-е число.   Γειά σου Κόσμε· πώς είσαι;  שלום עולם ١٢٣ مرحبا بالعالم
汉字漢字と仮名、안녕하세요 नमस्ते दुनिया สวัสดีชาวโลก 👩\u200d🚀👍🏽 🇩🇪 é e\u0301 ½ ² ⅷ № ™ €5,00 £3.99
https://example.com/a?b=c&d=%20#frag   C:\\Users\\me\\file.txt    x = a<b && c>d ? e : f;  // TODO(me): it’s done
We'RE 'TIS ''s I'd've y'all'd'nt rock 'n' roll 3.14159265358979 0xDEADBEEF 1e-9 1,000,000.00 ####====----____****
\u00a0no-break\u00a0space\u3000wide\u2003em\u2028line\u2029paragraph\x0bvertical\x0cform\x85next\u200bzero\ufeffbom\x00nul\x1c
"""


def edges():
    """White space runs, contractions, digits, scripts, and the end-of-text marker at every position and cut."""
    for a in ("", "a", "1", "!", "é", "'"):
        for space in (
            " ",
            "  ",
            "   ",
            "\n",
            "\n\n",
            "\r\n",
            "\t",
            " \n",
            "\n ",
            "\xa0",
            " \xa0",
            "\x85",
            "\u3000 ",
            " " * 17,
        ):
            for b in ("", "a", "1", "!", "é", "'s", "\x00"):
                yield a + space + b
    for word in ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "'x", "''", "’s", "'ſ"):
        for frame in ("{}", "it{}", "it{}x", " {}", "1{}", "'{}", "{}{}", "\n{}", "it {} is", EOT + "{}"):
            yield frame.replace("{}", word)
    for character in ("a", "1", "!", " ", "\n", "é", "漢", "👍", "\x00", "\xa0", "_"):
        for length in (*range(1, 20), 31, 32, 33, 63, 64, 65, 66, 127, 128, 129, 255, 256, 257, 1000):
            yield character * length
            yield character * length + "x"
    for text in ("", "hello world", " a  b ", "it's\n\n", "漢字 👍"):
        for at in range(len(text) + 1):
            yield text[:at] + EOT + text[at:]
            yield text[:at] + EOT + EOT + text[at:]
            yield text[:at] + " " + EOT + "\n" + text[at:]
    for cut in range(len(EOT)):
        yield EOT[:cut] + EOT
        yield EOT + EOT[cut:]
        yield EOT[:cut] + " " + EOT[cut:]
        yield EOT[:cut] + EOT[cut + 1 :]


def scalars(stride=1, start=0):
    """Every stride-th scalar value from `start` on."""
    codes = [*range(start, 0xD800), *range(max(start, 0xE000), 0x110000)]
    return map(chr, codes[::stride])


def in_contexts(characters):
    for character in characters:
        for context in CONTEXTS:
            yield context.format(character)


def random_strings(count=3_000, seed=11):
    """Over letters, digits, punctuation, exotic white space, combining marks, scripts, emoji and the marker."""
    rng = random.Random(seed)
    kinds = [
        "abcdefghijklmnopqrstuvwxyzABCXYZ",
        "0123456789²½ⅷ٣४",
        ".,;:!?'\"()[]{}<>|/\\-_=+*&^%$#@~`",
        "   \t\n\r",
        "\x0b\x0c\x85\xa0\u1680\u2000\u2009\u2028\u2029\u202f\u205f\u3000\u180e\u200b\ufeff\x1c\x1f",
        "\u0300\u0301\u0308\u0327\u093f\u094d\u0e31\u20dd\ufe0f\u200d",
        "éüßñøÅжщΩλאבعغ漢字仮名ひらカタ한글คนहिந்ქაԱბ",
        "👍👩🚀🇩🇪🏽🤖⭢€™",
        [EOT, EOT[:-1], "<|", "|>", "'s", "'ll", " the", "don't", "tion"],
    ]
    for _ in range(count):
        chosen = rng.sample(kinds, rng.randint(1, len(kinds)))
        yield "".join(rng.choice(rng.choice(chosen)) for _ in range(rng.randint(1, 60)))


def windows(widths=(2, 5, 9, 17, 33, 64)):
    """Sliding windows over mixed prose."""
    for width in widths:
        for at in range(len(PROSE) - width + 1):
            yield PROSE[at : at + width]


def usual():
    """The samples of `make parity`: more than LEAST of them."""
    yield from edges()
    yield from in_contexts(map(chr, range(0x300)))
    yield from in_contexts(scalars(stride=331, start=0x300))
    yield from random_strings()
    yield from windows()


def full():
    """The usual samples and all 1,112,064 scalar values in the five contexts."""
    yield from usual()
    yield from in_contexts(scalars())


FULL_COUNT = 1_112_064 * len(CONTEXTS)


def id_sequences(vocab_size=50_257, seed=12):
    """2,005 id sequences: five by hand, 2,000 at random, a quarter of them single bytes."""
    yield []
    yield list(range(256))
    yield [vocab_size - 1]
    yield [vocab_size - 1, 0, vocab_size - 1, 220, 255]
    yield list(range(0, vocab_size, 97))
    rng = random.Random(seed)
    for _ in range(2_000):
        top = 256 if rng.random() < 0.25 else vocab_size
        yield [rng.randrange(top) for _ in range(rng.randint(0, 40))]
