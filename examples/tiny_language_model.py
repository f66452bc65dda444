"""Trains a small language model on a novel, end to end: text -> ids on disk -> batches -> a loss that falls.

    pip install torch               (the one that is made for the CPU is enough, and much smaller)
    python examples/tiny_language_model.py

What it needs: bpeline with the extra `corpus`, and PyTorch. On one core the 400 steps take about a minute. The model is a
transformer of half a million parameters: it learns what English looks like, and hardly more.
"""

import argparse
import math
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import bpeline
from bpeline.data import TokenDataset, get_batch

NOVEL = Path(__file__).parent.parent / "tests" / "data" / "pride_and_prejudice.txt"
EOT = "<|endoftext|>"
VOCABULARY = 2_000


def small_tokenizer(size: int = VOCABULARY) -> bpeline.Tokenizer:
    """GPT-2's first tokens alone: the bytes and the most frequent merges. A small vocabulary is enough for a small model."""
    r50k = bpeline.load("r50k_base")
    ranks = {r50k.token_bytes(id): id for id in range(size - 1)}
    return bpeline.Tokenizer.from_ranks(ranks, pattern="r50k", special_tokens={EOT: size - 1}, name="small")


class Block(nn.Module):
    """Each position looks at those before it, and then thinks by itself."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_layers = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.out(self.attention(self.before_attention(x)))
        return x + self.layers(self.before_layers(x))

    def attention(self, x: Tensor) -> Tensor:
        rows, length, width = x.shape
        split = self.query_key_value(x).view(rows, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)  # each (rows, heads, length, width of a head)
        weights = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = weights.masked_fill(later, -math.inf).softmax(-1) @ value
        return mixed.transpose(1, 2).reshape(rows, length, width)


class LanguageModel(nn.Module):
    """Ids (rows, length) to scores of what comes next (rows, length, vocabulary)."""

    def __init__(self, vocab_size: int, block_size: int, width: int = 96, heads: int = 4, blocks: int = 3) -> None:
        super().__init__()
        self.block_size = block_size
        self.tokens, self.positions = nn.Embedding(vocab_size, width), nn.Embedding(block_size, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.norm(self.blocks(x)) @ self.tokens.weight.T  # one table for what goes in and what comes out

    def loss(self, inputs: Tensor, targets: Tensor) -> Tensor:
        return cross_entropy(self(inputs).flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def write(self, ids: list[int], count: int, generator: torch.Generator) -> list[int]:
        """`count` more ids, drawn one after another."""
        for _ in range(count):
            scores = self(torch.tensor([ids[-self.block_size :]]))[0, -1]
            ids = [*ids, int(torch.multinomial(scores.softmax(-1), 1, generator=generator))]
        return ids


@torch.no_grad()
def mean_loss(model: LanguageModel, tokens: TokenDataset, block_size: int, batches: int = 4) -> float:
    """The loss on the same random windows at every call."""
    losses = [model.loss(*get_batch(tokens, block_size, 32, rng=seed, as_tensors=True)) for seed in range(batches)]
    return float(torch.stack(losses).mean())


def train(
    corpus: Path, steps: int, block_size: int = 64, batch_size: int = 16, seed: int = 0
) -> tuple[LanguageModel, list[tuple[int, float, float]]]:
    """A model of the corpus that a job left in a folder, and (step, loss in training, loss on texts held back) on its way."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    training, held_back = TokenDataset(corpus), TokenDataset(corpus, split="val")
    model = LanguageModel(training.vocab_size, block_size)
    print(f"{training}\n{sum(weights.numel() for weights in model.parameters()):,} parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    history = []
    for step in range(steps + 1):
        loss = model.loss(*get_batch(training, block_size, batch_size, rng, as_tensors=True))
        if step % max(steps // 8, 1) == 0:
            history.append((step, loss.item(), mean_loss(model, held_back, block_size)))
            print("step {:>4}: loss {:.2f}, on chapters held back {:.2f}".format(*history[-1]), flush=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, history


def main(arguments: list[str] | None = None) -> list[tuple[int, float, float]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "text", nargs="?", type=Path, default=NOVEL, help="a text in chapters (default: Pride and Prejudice)"
    )
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--out", type=Path, help="a folder for the ids (default: a temporary one)")
    options = parser.parse_args(arguments)
    tokenizer = small_tokenizer()
    with tempfile.TemporaryDirectory() as temporary:
        out = options.out or Path(temporary, "ids")
        # Chapters are documents; about one in ten is held back, to see whether the model learns more than its texts by heart.
        bpeline.tokenize_corpus(
            [options.text], out, format="nanogpt", encoding=tokenizer, separator="\n\n\nChapter ", val_fraction=0.1
        )
        model, history = train(out, options.steps)
        start = tokenizer.encode("It is a truth")
        written = model.write(start, 60, torch.Generator().manual_seed(0))
        print(tokenizer.decode(written, skip_special_tokens=True))
    return history


if __name__ == "__main__":
    main()
