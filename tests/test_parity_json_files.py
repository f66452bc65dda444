"""A smaller sample of `python -m tests.parity.json_files`, where the files are there."""

import pytest

from tests.parity import json_files, samples

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("name", ["anthropic", "deepseek"])
def test_encodings_of_files(backend, name):
    pytest.importorskip("tokenizers")
    folder = json_files.shared()
    if folder is None:
        pytest.skip("BPELINE_SHARED names no folder with encodings/")
    comparison = json_files.Comparison(json_files.encodings(folder)[name], backend)
    comparison.encode("usual", list(samples.usual())[::40])
    comparison.encode("scalars", json_files.every_scalar(stride=997))
    for corpus, text in json_files.corpora(folder).items():
        comparison.encode(corpus, json_files.passages(text)[::200])
    comparison.decode(json_files.known_ids(comparison.ours)[::10])
    assert comparison.mismatches.total() == 0, comparison.examples
    assert comparison.encoded.total() > 1_500
