"""tiktoken and tokenizers, built from the files that `save` writes. Import them inside: a core install has neither."""

EOT = "<|endoftext|>"
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def read_pair_with_tiktoken(folder):
    """OpenAI's own reader of the file pair."""
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks

    ranks = data_gym_to_mergeable_bpe_ranks(str(folder / "merges.txt"), str(folder / "vocab.json"))
    return tiktoken.Encoding("pair", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={EOT: 50256})


def read_tiktoken_file(path, pattern, special_tokens):
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(str(path))
    return tiktoken.Encoding("saved", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special_tokens)


def read_pair_with_tokenizers(folder):
    """The file pair with GPT-2's pre-tokenizer and decoder."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    model = models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    peer = tokenizers.Tokenizer(model)
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.decoder = decoders.ByteLevel()
    peer.add_special_tokens([EOT])
    return peer


def read_tokenizer_json(path):
    import tokenizers

    return tokenizers.Tokenizer.from_file(str(path))
