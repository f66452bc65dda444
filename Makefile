# `make help` lists the targets. PYTHON is the interpreter that has bpeline and its dev extra (see `make setup`).
PYTHON ?= python3
CARGO  ?= cargo
export BPELINE_REQUIRE_NATIVE = 1
# Of pytest: a process for each core, which take tests from one another as they run out of them.
ON_ALL_CORES = --numprocesses logical --maxprocesses 8 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup check lint lint-rust lint-python types fmt test test-rust test-python test-portable test-transformers \
        test-engines test-readers tiktoken-suite bench bench-python bench-rust bench-smoke bench-compare bench-corpus bench-readme \
        parity parity-full dist-check unicode-tables clean

help:            ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:           ## install bpeline (editable) and all that the other targets need
	$(PYTHON) -m pip install --editable ".[dev]"

check: lint test ## lints, types, stubs and all tests: what a change must pass

lint: lint-rust lint-python types ## formats, clippy, ruff, mypy, stubs

lint-rust:
	$(CARGO) fmt --check
	$(CARGO) clippy --quiet --locked --all-targets -- --deny warnings
	$(CARGO) clippy --quiet --locked --features python -- --deny warnings

lint-python:
	$(PYTHON) -m ruff format --check --quiet
	$(PYTHON) -m ruff check --quiet

types:           ## mypy (strict), and the stubs against the native module
	$(PYTHON) -m mypy
	MYPYPATH=python $(PYTHON) -m mypy.stubtest bpeline._native

fmt:             ## format the Rust and the Python code
	$(CARGO) fmt
	$(PYTHON) -m ruff format
	$(PYTHON) -m ruff check --fix

test: test-rust test-python ## all tests, on both backends

test-rust:       ## the crate's own tests (no Python needed)
	$(CARGO) test --locked --quiet

test-python:     ## pytest, on the native and the reference backend
	$(PYTHON) -m pytest $(ON_ALL_CORES)

# In folders of its own, so that what `make setup` built stays.
test-portable: export RUSTFLAGS += --cfg bpeline_portable
test-portable: export CARGO_TARGET_DIR = $(CURDIR)/target/portable
test-portable:   ## all tests, without the code that is for one kind of processor
	$(CARGO) test --locked --quiet
	$(PYTHON) -m pip install --quiet --no-deps --no-build-isolation --upgrade --target $(CARGO_TARGET_DIR)/python .
	PYTHONPATH=$(CARGO_TARGET_DIR)/python $(PYTHON) -m pytest $(ON_ALL_CORES)

# -E: a PYTHONPATH would bring in another bpeline than the one just built.
test-transformers: ## bpeline.compat.transformers beside transformers, in target/transformers
	$(PYTHON) -m venv target/transformers
	target/transformers/bin/python -m pip install --quiet --upgrade . hypothesis jinja2 pytest transformers
	target/transformers/bin/python -E -m pytest tests/test_compat_transformers.py $(ARGS)

# -E: a PYTHONPATH would bring in another bpeline than the one just built.
test-engines:    ## bpeline on Ray, Spark, Daft and Dask (minutes; Spark needs Java), in target/engines
	$(PYTHON) -m venv target/engines
	target/engines/bin/python -m pip install --quiet --upgrade ".[cli,ray,spark]" "dask[dataframe]" daft hypothesis pytest
	target/engines/bin/python -E -m pytest tests/test_engine_*.py $(ARGS)

# megatron-core and datatrove want torch: that of the system if it has one (Debian's python3-torch, which in turn
# wants NumPy 1; PYTHON=/usr/bin/python3 sees it).
test-readers:    ## what trainers' own readers read of a corpus, in target/readers
	$(PYTHON) -m venv --system-site-packages target/readers
	target/readers/bin/python -m pip install --quiet --upgrade ".[corpus]" "numpy<2" "pandas<3" "pyarrow<25" datasets duckdb humanize hypothesis loguru polars pytest tokenizers
	target/readers/bin/python -m pip install --quiet --upgrade --no-deps datatrove megatron-core
	target/readers/bin/python -E -m pytest -rs tests/test_corpus_real_readers.py $(ARGS)

bench: bench-rust bench-python ## all benchmarks of bpeline (minutes)

bench-python:    ## pytest-benchmark: calls from Python
	$(PYTHON) -m pytest benches --benchmark-only $(ARGS)

bench-rust:      ## Criterion: the stages in Rust
	$(PYTHON) -m benches.corpus target/bench-texts
	BPELINE_BENCH_TEXTS=target/bench-texts $(CARGO) bench --locked --bench stages -- $(ARGS)

bench-smoke:     ## each benchmark of Python once, untimed: do they run?
	$(PYTHON) -m pytest benches --benchmark-disable

# -E: a PYTHONPATH would bring in another bpeline than the one just built.
bench-compare:   ## bpeline beside its peers, into benches/record; ARGS=--help shows the options
	$(PYTHON) -m venv target/bench-compare
	target/bench-compare/bin/python -m pip install --quiet --upgrade ".[compare]"
	target/bench-compare/bin/python -E -m benches.compare $(ARGS)

bench-corpus:    ## bpeline tokenize beside other tools, into benches/record; ARGS=--help shows the options
	$(PYTHON) -m venv target/bench-corpus
	target/bench-corpus/bin/python -m pip install --quiet --upgrade ".[compare-corpus]"
	target/bench-corpus/bin/python -E -m benches.corpus_tools $(ARGS)

bench-readme:    ## show the newest record in README.md
	$(PYTHON) -m benches.report

parity:          ## compare the ids with those of tiktoken, tokenizers, regex, mistral-common; ARGS=--help shows more
	$(PYTHON) -m tests.parity $(ARGS)

parity-full:     ## the same over all 1,112,064 scalar values
	$(PYTHON) -m tests.parity --full $(ARGS)

tiktoken-suite:  ## tiktoken's own tests, from its sdist, on bpeline.compat.tiktoken
	$(PYTHON) -m tests.tiktoken_suite $(ARGS)

dist-check:      ## build the wheel and the sdist, install both ways in empty environments
	$(PYTHON) tests/dist_check.py

unicode-tables:  ## regenerate the character classes of both backends
	$(CARGO) run --quiet --example unicode-tables

clean:           ## remove what was built
	$(CARGO) clean --quiet
	rm -rf dist python/bpeline/_native*.so
