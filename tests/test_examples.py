"""The examples run. They need the extra `corpus` and PyTorch, which no other test does."""

import importlib.util
from pathlib import Path

import pytest

import bpeline

FOLDER = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("torch")
    pytest.importorskip("pyarrow")
    spec = importlib.util.spec_from_file_location("tiny_language_model", FOLDER / "tiny_language_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_tokenizer_of_gpt2s_first_tokens(example):
    tokenizer, gpt2 = example.small_tokenizer(), bpeline.load("gpt2")
    assert tokenizer.vocab_size == 2000 and tokenizer.eot_token == 1999
    assert [tokenizer.token_bytes(id) for id in range(1999)] == [gpt2.token_bytes(id) for id in range(1999)]
    assert tokenizer.decode(tokenizer.encode("It is a truth\n\n漢")) == "It is a truth\n\n漢"


def test_a_token_does_not_see_what_comes_after(example):
    import torch

    model = example.LanguageModel(50, 8, width=16, heads=2, blocks=2)
    ids = torch.arange(8)[None]
    changed = ids.clone()
    changed[0, 5:] = 40
    before, after = model(ids), model(changed)
    assert before.shape == (1, 8, 50)
    assert torch.allclose(before[0, :5], after[0, :5], atol=1e-5) and not torch.allclose(before[0, 5:], after[0, 5:])


def test_the_loss_of_a_small_language_model_falls(example, tmp_path, capsys):
    chapters = example.NOVEL.read_text("utf-8").split("\n\n\nChapter ")
    text = tmp_path / "text.txt"
    text.write_text("\n\n\nChapter ".join(chapters[:25]), "utf-8")
    history = example.main([str(text), "--steps", "24", "--out", str(tmp_path / "ids")])
    assert [step for step, _, _ in history] == list(range(0, 25, 3))
    _, first, first_held_back = history[0]
    _, last, last_held_back = history[-1]
    assert abs(first - 7.6) < 0.2  # that of all 2,000 tokens alike: log 2000 = 7.60
    assert last < 6.7 and last_held_back < 6.7
    assert first_held_back > last_held_back
    assert bpeline.data.TokenDataset(tmp_path / "ids").documents[0].tolist()  # and the ids are there
    assert "It is a truth" in capsys.readouterr().out
