"""Texts to draw from: fragments at which tokenizers go wrong, and Hypothesis strategies over them."""

from hypothesis import strategies as st

EOT = "<|endoftext|>"
FRAGMENTS = [
    *" \n\r\t'.,!?#_<|>aAzZ09",
    *("  ", "   ", "\r\n", "\n\n", " \n", "\n "),
    *("'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "''"),
    *("the", " the", " hello", "Hello", "don't", "12345", " 99", "!!!", "----", "aaaa"),
    *(
        "½",
        "²",
        "ⅷ",
        "٣",
        "é",
        "e\u0301",
        "ß",
        "ſ",
        "ǅ",
        "я",
        "漢",
        "字",
        "ا",
        "न",
        "👍",
        "👨\u200d👩",
        "\ufeff",
        "\ufffd",
    ),
    *("\xa0", "\x85", "\u1680", "\u2003", "\u2028", "\u202f", "\u3000"),  # white space
    *("\x00", "\x1c", "\x1f", "\x7f", "\u180e", "\u200b", "\u2060"),  # not white space
    *(EOT, EOT[:-1], EOT[1:], "<|", "|>", "<|ENDOFTEXT|>"),
]

adversarial = st.lists(st.sampled_from(FRAGMENTS), max_size=16).map("".join)
any_text = st.text(max_size=40)  # every scalar value; no surrogates
texts = st.one_of(adversarial, any_text)
batches = st.lists(texts, max_size=8)
repaired = st.text(st.characters(), max_size=20)  # surrogates too
