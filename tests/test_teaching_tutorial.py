"""The tutorial of bpeline.teaching: every block runs and prints what it says, and the pictures are there."""

import re

import pytest

from tests import tutorial


@pytest.fixture(scope="module")
def names():
    differences = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tutorial.ROOT)
        names = tutorial.run(
            lambda example, got: differences.append(f"{example.source}expected:\n{example.want}got:\n{got}")
        )
    assert not differences, "\n".join(differences)
    return names


def test_every_block_runs_and_prints_what_it_says(names):
    blocks = tutorial.BLOCK.findall(tutorial.FILE.read_text("utf-8"))
    assert len(blocks) == 17 and all(block.startswith(">>> ") for block in blocks)
    assert tutorial.FILE.read_text("utf-8").count("```") == 2 * len(blocks)
    assert names["loss"] < 3.5


def test_a_difference_is_reported(tmp_path, monkeypatch):
    changed = tmp_path / "README.md"
    changed.write_text("```python\n>>> 1 + 1\n3\n\n```\n", "utf-8")
    monkeypatch.setattr(tutorial, "FILE", changed)
    heard = []
    tutorial.run(lambda example, got: heard.append((example.source, example.want, got)))
    assert heard == [("1 + 1\n", "3\n", "2\n")]


def test_the_plot_is_of_what_was_printed(names, tmp_path):
    """Each tick and label is that of the committed one, whatever the version of matplotlib makes of the rest."""
    pytest.importorskip("matplotlib")
    tutorial.plot(names["lengths"], tmp_path / "plot.svg")
    labels = [
        re.findall(r"<text[^>]*>([^<]*)</text>", file.read_text("utf-8"))
        for file in (tmp_path / "plot.svg", tutorial.FILE.with_name("lengths.svg"))
    ]
    assert labels[0] == labels[1]
    assert {"characters", "words", "gpt2", "o200k_base", "1131", "vocabulary size"} <= set(labels[0])


def test_pictures_and_links_are_there():
    linked = re.findall(r"\]\(([^)]+)\)", tutorial.FILE.read_text("utf-8"))
    assert linked == ["explain.png", "lengths.svg"]
    assert all(tutorial.FILE.with_name(name).stat().st_size for name in linked)
    for path in re.findall(r"`(examples/\S+\.py|tests/\S+\.py)`", tutorial.FILE.read_text("utf-8")):
        assert (tutorial.ROOT / path).is_file()
