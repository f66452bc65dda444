"""The modules of `bpeline.compat.tiktoken`: names, models, plug-ins, rank files, and being tiktoken for others."""

import hashlib
import inspect
import os
import random
import re
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpeline
import bpeline.compat.tiktoken as compat
from bpeline._reference.stages import PATTERNS
from bpeline.compat.tiktoken import _covering, _unstable, load, registry
from tests.small import EOT, HERE

OPENAI = "https://openaipublic.blob.core.windows.net/"


@pytest.fixture
def tiktoken(monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # or it keeps copies of files
    return pytest.importorskip("tiktoken", minversion="0.14")


def run(script, **environment):
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, env=os.environ | environment
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


# --- Names ---


def test_built_in_encodings(tiktoken):
    assert compat.list_encoding_names() == tiktoken.list_encoding_names()
    for name in compat.list_encoding_names():
        enc = compat.get_encoding(name)
        assert enc is compat.get_encoding(name)
        assert (repr(enc), enc.name) == (f"<Encoding '{name}'>", name)
        assert enc._mergeable_ranks is enc._mergeable_ranks
        assert enc.n_vocab == bpeline.load(name).vocab_size


@pytest.mark.parametrize("name", bpeline.encodings())
def test_built_in_arguments(tiktoken, name, monkeypatch, tmp_path):
    """The arguments are those of tiktoken's constructors, which read the files that we hold."""
    openai_public = pytest.importorskip("tiktoken_ext.openai_public")
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load.load_tiktoken_bpe)
    monkeypatch.setattr(openai_public, "data_gym_to_mergeable_bpe_ranks", load.data_gym_to_mergeable_bpe_ranks)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    theirs = openai_public.ENCODING_CONSTRUCTORS[name]()
    ours = compat.get_encoding(name)
    theirs.pop("explicit_n_vocab", None)
    assert registry._constructors()[name]() == theirs
    again = compat.Encoding(**theirs)
    for text in ("hello world", "It's 12345 o'clock\r\n\n  ÜBER 漢字 👍", EOT):
        assert again.encode(text, allowed_special="all") == ours.encode(text, allowed_special="all")
    assert list(tmp_path.iterdir()) == []


def test_unknown_encodings(tiktoken):
    for name in ("nope", "", 5, None):
        with pytest.raises(ValueError) as ours:
            compat.get_encoding(name)
        with pytest.raises(ValueError) as theirs:
            tiktoken.get_encoding(name)
        assert str(ours.value).split("\n")[0] == str(theirs.value).split("\n")[0]
    with pytest.raises(ValueError, match="Known: gpt2, r50k_base, "):
        compat.get_encoding("nope")


PREFIXES = sorted(compat.model.MODEL_PREFIX_TO_ENCODING)


def test_the_models_are_tiktokens(tiktoken):
    assert compat.model.MODEL_TO_ENCODING == tiktoken.model.MODEL_TO_ENCODING
    assert compat.model.MODEL_PREFIX_TO_ENCODING == tiktoken.model.MODEL_PREFIX_TO_ENCODING
    names = [*compat.model.MODEL_TO_ENCODING, *PREFIXES]
    for model in [*names, *(name + end for name in names for end in ("x", "-x", "o-x", "-")), "", "x", 5, None]:
        outcomes = []
        for module in (tiktoken, compat):
            try:
                outcomes.append(module.encoding_name_for_model(model))
            except Exception as error:
                outcomes.append((type(error), error.args))
        assert outcomes[0] == outcomes[1], model
    assert compat.encoding_for_model("gpt-4o") is compat.get_encoding("o200k_base")


def test_public_names(tiktoken):
    for module, ours in (
        *((tiktoken, compat), (tiktoken.core, compat.core), (tiktoken.load, compat.load)),
        *((tiktoken.model, compat.model), (tiktoken.registry, compat.registry)),
    ):
        for name, member in vars(module).items():
            if inspect.isfunction(member) and member.__module__ == module.__name__ and not name.startswith("_"):
                parameters = [inspect.signature(each).parameters.values() for each in (member, getattr(ours, name))]
                expected, found = [[(p.name, p.kind, p.default) for p in each] for each in parameters]
                assert found == expected, name
    assert {name for name in dir(tiktoken) if not name.startswith("_")} <= set(dir(compat))
    assert compat.__version__ == "0.14.0"


# --- Plug-ins ---


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """plugin(source) adds a module to tiktoken_ext and forgets what was known of plug-ins."""

    def add(source):
        folder = tmp_path / "tiktoken_ext"
        folder.mkdir()
        (folder / "ours_for_a_test.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(registry, "ENCODING_CONSTRUCTORS", None)
        monkeypatch.setattr(registry, "ENCODINGS", {})
        monkeypatch.delitem(sys.modules, "tiktoken_ext", raising=False)
        monkeypatch.delitem(sys.modules, "tiktoken_ext.ours_for_a_test", raising=False)

    return add


def test_a_plugin(plugin):
    plugin("""
        def tiny():
            ranks = {bytes([byte]): byte for byte in range(256)}
            return {"name": "tiny", "pat_str": ".", "mergeable_ranks": ranks, "special_tokens": {}, "explicit_n_vocab": 256}

        ENCODING_CONSTRUCTORS = {"tiny": tiny}
    """)
    assert compat.list_encoding_names() == [*bpeline.encodings(), "tiny"]
    enc = compat.get_encoding("tiny")
    assert enc.encode("a\nb") == [97, 98]
    assert compat.get_encoding("tiny") is enc
    assert enc.__getstate__() == "tiny"


@pytest.mark.parametrize("source", ["", "ENCODING_CONSTRUCTORS = {'gpt2': dict}"])
def test_a_bad_plugin(plugin, source):
    plugin(source)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"in tiktoken plugin|tiktoken plugin .* does not define"):
            compat.get_encoding("gpt2")


# --- Rank files ---


def test_rank_files(tiktoken, tmp_path):
    ranks = {b"a": 0, b"\n": 2, b"ab": 1}
    path = tmp_path / "small.tiktoken"
    load.dump_tiktoken_bpe(ranks, str(path))
    assert path.read_bytes() == b"YQ== 0\nYWI= 1\nCg== 2\n"
    assert load.load_tiktoken_bpe(str(path)) == tiktoken.load.load_tiktoken_bpe(str(path)) == ranks
    path.write_bytes(b"\nYQ==\t0\r\n\nYWI= 1")
    assert load.load_tiktoken_bpe(str(path)) == tiktoken.load.load_tiktoken_bpe(str(path)) == {b"a": 0, b"ab": 1}


@pytest.mark.parametrize("line", [b"YQ==", b"YQ== 0 0", b"Y 0", b"YQ== x"])
def test_bad_lines(tiktoken, tmp_path, line):
    path = tmp_path / "bad.tiktoken"
    path.write_bytes(b"YQ== 0\n" + line)
    errors = []
    for module in (load, tiktoken.load):
        with pytest.raises(ValueError) as caught:
            module.load_tiktoken_bpe(str(path))
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_hashes_and_the_cache(tiktoken, tmp_path, monkeypatch):
    address, cache = "https://example.com/file", tmp_path / "cache"
    right = hashlib.sha256(b"YQ== 0\n").hexdigest()
    for module in (load, tiktoken.load):
        monkeypatch.setattr(module, "read_file", {address: b"YQ== 0\n"}.get)
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
        assert module.read_file_cached(address) == b"YQ== 0\n"
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        with pytest.raises(ValueError, match=f"Hash mismatch for data downloaded from {address} \\(expected 00\\)"):
            module.read_file_cached(address, "00")
        assert not cache.exists()
        assert module.read_file_cached(address, right) == b"YQ== 0\n"
        (cached,) = cache.iterdir()
        cached.write_bytes(b"damaged")
        assert module.read_file_cached(address, right) == b"YQ== 0\n"
        assert cached.read_bytes() == b"YQ== 0\n"
        cached.write_bytes(b"Yg== 0\n")
        assert module.load_tiktoken_bpe(address) == {b"b": 0}  # nobody said what to expect
        cached.unlink()
        cache.rmdir()
    assert load.check_hash(b"YQ== 0\n", right)


def test_a_path_is_read_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "file"
    for content in (b"YQ== 0\n", b"Yg== 0\n"):
        path.write_bytes(content)
        assert load.read_file_cached(str(path), hashlib.sha256(content).hexdigest()) == content
    with pytest.raises(ValueError, match="Hash mismatch"):
        load.read_file_cached(str(path), "00")
    with pytest.raises(FileNotFoundError):
        load.read_file_cached(str(tmp_path / "nothing"))


def test_openai_files_need_no_network(monkeypatch):
    monkeypatch.setattr(load, "read_file", None)
    for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base"):
        ranks = load.load_tiktoken_bpe(f"{OPENAI}encodings/{name}.tiktoken")
        assert ranks == compat.get_encoding(name)._mergeable_ranks
    files = (f"{OPENAI}gpt-2/encodings/main/{file}" for file in ("vocab.bpe", "encoder.json"))
    hashes = (
        "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
        "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    )
    ranks = load.data_gym_to_mergeable_bpe_ranks(*files, *hashes)
    assert ranks == compat.get_encoding("gpt2")._mergeable_ranks


def test_gpt2_files(tiktoken, tmp_path):
    bpeline.load("gpt2").save(tmp_path)
    files = str(tmp_path / "merges.txt"), str(tmp_path / "vocab.json")
    for clobber in (False, True):
        ours, theirs = (
            module.data_gym_to_mergeable_bpe_ranks(*files, clobber_one_byte_tokens=clobber)
            for module in (load, tiktoken.load)
        )
        assert ours == theirs
        assert list(ours) == list(theirs)
    vocab = tmp_path / "vocab.json"
    vocab.write_text(vocab.read_text().replace('"!": 0', '"!": 99999'))
    with pytest.raises(AssertionError):
        load.data_gym_to_mergeable_bpe_ranks(*files)


def test_other_addresses_need_blobfile(monkeypatch):
    monkeypatch.setitem(sys.modules, "blobfile", None)
    for call in (
        lambda: load.read_file("az://there/file"),
        lambda: load.dump_tiktoken_bpe({}, "az://there/file"),
    ):
        with pytest.raises(ImportError, match="pip install blobfile"):
            call()


# --- In place of tiktoken ---


def test_tiktoken_need_not_be_installed():
    script = """
        import sys
        for name in ("tiktoken", "tiktoken_ext", "regex", "requests"):
            sys.modules[name] = None
        import bpeline.compat.tiktoken as tiktoken
        enc = tiktoken.get_encoding("gpt2")
        print(enc.encode("hello world"), enc.encode_to_numpy("hello world"), enc._encode_only_native_bpe("hello world"))
        print(tiktoken.list_encoding_names()[0])
    """
    assert run(script) == "[31373, 995] [31373   995] [31373, 995]\ngpt2\n"


def test_install():
    script = """
        import pickle, sys
        import bpeline.compat.tiktoken as compat
        compat.install()
        compat.install()
        import tiktoken, tiktoken.load, tiktoken.registry
        from tiktoken.core import Encoding
        assert tiktoken is compat and Encoding is compat.Encoding and tiktoken.registry is compat.registry
        assert sys.modules["tiktoken.model"] is compat.model
        print(pickle.loads(pickle.dumps(tiktoken.get_encoding("gpt2"))).encode("hello world"))
    """
    assert run(script) == "[31373, 995]\n"


def test_the_example_of_the_readme():
    readme = (HERE.parent / "README.md").read_text(encoding="utf-8")
    (example,) = (
        block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "compat.tiktoken" in block
    )
    assert run(example) == ""


def test_install_after_tiktoken(tiktoken):
    script = """
        import tiktoken
        import bpeline.compat.tiktoken as compat
        try:
            compat.install()
        except ImportError as error:
            print(error)
    """
    assert run(script) == "another tiktoken is imported already: call bpeline.compat.tiktoken.install() before that\n"


def test_pickles_of_tiktoken_load(tiktoken):
    ranks = {bytes([byte]): byte for byte in range(256)}
    theirs = tiktoken.Encoding("tiny", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens={"<x>": 300})
    enc = compat.Encoding.__new__(compat.Encoding)
    enc.__setstate__(theirs.__getstate__())
    assert enc.encode("a b<x>", allowed_special="all") == [97, 32, 98, 300]


# --- What is known of patterns and characters ---

CHARACTERS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


@pytest.fixture(scope="module")
def matches():
    """matches(pattern, text) on the native backend."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    cache = {}

    def find(pattern, text):
        if pattern not in cache:
            cache[pattern] = bpeline.Tokenizer.from_ranks(ranks, pattern=pattern).encoding
        return cache[pattern].matches(text)

    return find


def test_covering_alternatives_match_every_character(matches):
    """Of each way to cover a class: white space, letters, numbers and others, each character of it alone."""
    classes = [r"\s", r"\p{L}", r"\p{N}", r"[^\s\p{L}\p{N}]"]
    text = "".join(CHARACTERS)
    for character_class, ways in zip(classes, _covering._COVERING, strict=True):
        members = sorted(matches(f"(?:{character_class})", text))
        assert len(members) > 20
        some = {*members[:300], *members[-300:], *random.Random(7).choices(members, k=400)}
        for way in ways:
            pattern = "(?:" + "|".join(way) + ")"
            assert "".join(matches(pattern, "".join(members))) == "".join(members), way
            for before in ("a", " ", "1", "!"):
                joined = "".join(before + character for character in some)
                assert set("".join(matches(pattern, joined))) >= some, way


@pytest.mark.parametrize("name", bpeline.encodings())
def test_built_in_patterns_match_all_text(name):
    assert _covering.matches_all_text(compat.get_encoding(name)._pat_str)
    assert _covering.matches_all_text(bpeline.load(name).pattern)


@pytest.mark.parametrize("pattern", [text for text in PATTERNS.values() if "(?#then)" not in text])
def test_patterns_with_a_scanner_match_all_text(pattern):
    """Of those the native backend takes every piece for a match."""
    assert _covering.matches_all_text(pattern)


REST = r"|\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+"
NOT_KNOWN = [
    *(r"\w+|\s+", r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+", r"(?:x|\s|y)z" + REST, r"[]|\s|x]" + REST, r"[^]|\s|x]" + REST),
    *(r"(?x) a # |\s|" + REST, r"(?#[)|\s" + REST, r"\||\s\|" + REST, r"\s{2,}" + REST, r"ab\Kc|\s" + REST, r"a|b", ""),
    *(r"[|\s|]" + REST, r"[a[|\s|]]" + REST, r"(\(|\s|)" + REST, r"\[(|\s|)" + REST),
]


@pytest.mark.parametrize("pattern", NOT_KNOWN)
def test_patterns_of_which_it_is_not_known(pattern):
    assert not _covering.matches_all_text(pattern)


def test_patterns_of_which_it_is_known():
    for pattern in (r"\s" + REST, r"\s+(?!\S)|\s+" + REST, r"(?:\(|[)|])|\]|\s" + REST, r"[(]|\s" + REST):
        assert _covering.matches_all_text(pattern), pattern


alternatives = st.sampled_from(
    [r"\s", r"\s+", r"\s+(?!\S)", r"\p{L}+", r" ?\p{N}+", r"\p{N}", r" ?[^\s\p{L}\p{N}]+", r"'s", r"\s{2,}", "[a-z]+"]
)


@given(st.lists(alternatives, min_size=1, max_size=6), st.text(max_size=8))
def test_patterns_that_match_all_text_do(matches, parts, text):
    pattern = "|".join(parts)
    if _covering.matches_all_text(pattern):
        assert "".join(matches(pattern, text)) == text


def test_white_space_is_unicodes(matches):
    white = set(matches(r"(?:\s)", "".join(CHARACTERS)))
    assert {character for character in CHARACTERS if _unstable._is_white_space(character)} == white
