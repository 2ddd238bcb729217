# Two commands do all the set-up: `make demo` and `make test`.
# Nothing is assumed but Python >= 3.11 with venv, and make.
PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
INSTALLED := $(VENV)/.installed
# Bytecode is made of what is imported, not of all that is installed.
PIP_INSTALL := -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
# Some machines set it: each process that a test starts would compile 400 modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-cluster lint bench truth profile peers mutants pages wheel clean

demo: $(RUNS) ## the main job on real text found on this machine
	$(BIN)/tokenmill demo --out demo-run

# A process more than cores, for some wait for servers; four at most: each takes up to 2.5 GB, and a
# container may show the cores of its whole host. Who is done takes tests of another. With two more
# each test took longer: of two cores 6 min 57 s and 836 CPU s, with one more 6 min 27 s and 643.
OURS := not peers and not cluster
PROCESSES := $(shell $(PYTHON) -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')
TESTS := $(BIN)/pytest --ignore tests/cluster -q -n $(PROCESSES) --dist worksteal

test: $(INSTALLED) ## every test but the long ones, and those of peers that need their own environment
	$(TESTS) -m "$(OURS) and not long"

test-all: $(INSTALLED) ## the long ones too, and more of each: 200 examples of most laws, larger corpora, every character
	TOKENMILL_TESTS=all $(TESTS) -m "$(OURS)"

# Three at a time, for they wait as much as they compute; each process starts servers of its own.
# What fails is tried once more, alone: on a machine that others use too, time limits pass.
CLUSTER := cluster $(if $(filter all,$(TOKENMILL_TESTS)),,and not long)
test-cluster: $(INSTALLED) ## runs on real Dask, SLURM, Prefect, S3 and Azure servers of this machine, killed and continued
	@sh tests/cluster/install.sh
	$(BIN)/pytest -m "$(CLUSTER)" -q -n 3 --dist worksteal tests/cluster || \
		$(BIN)/pytest -m "$(CLUSTER)" -q tests/cluster --last-failed --last-failed-no-failures none

lint: $(INSTALLED) ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED) ## speed by step against the field's tools, in one run (BENCH_QUICK=1: minutes)
	$(BIN)/python -m tests.bench --folder $(VENV)-bench

truth: $(INSTALLED) ## every table of quality on the pages made anew, and held to what they say (CORPORA=FOLDER: clones that are here)
	$(BIN)/python -m tests.truth --out $(VENV)-truth $(if $(CORPORA),--corpora $(CORPORA))

profile: $(INSTALLED) ## where the CPU seconds of our own run go, step by step
	$(BIN)/python -m tests.bench.profile

peers: $(VENV)-peers/.installed $(VENV)-peers-readers/.installed ## verdicts against datatrove, exports by their readers, in their own environments
	$(VENV)-peers/bin/pytest -m peers -q
	$(VENV)-peers-readers/bin/pytest -m peers -q tests/peers/test_megatron.py tests/peers/test_mds.py tests/peers/test_duckdb.py

mutants: $(INSTALLED) ## small mistakes drawn over all product code that no test would notice
	$(BIN)/python -m tests.mutants

pages: $(INSTALLED) ## the tables of steps, keys and commands in README.md and the pages of the rooms, from the code
	$(BIN)/python -m tests.tables

wheel: $(INSTALLED)
	$(BIN)/python -m build --outdir dist .

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("tokenmill needs Python 3.11 or newer, not %d.%d: make PYTHON=python3.11" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# What runs need; what only tests need is installed for the first of them.
$(RUNS): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) --editable .
	touch $@

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) --editable '.[dev]'
	touch $(RUNS) $@

$(VENV)-peers/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python $(PIP_INSTALL) --editable '.[dev,lm]' datatrove nltk tldextract pyahocorasick fasteners func_argparse \
		jieba pythainlp sudachipy sudachidict_core pyvi indic-nlp-library
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps cc-net==1.0.0
	touch $@

# megatron-core and mosaicml-streaming need torch, one for both. From PyPI it comes with CUDA, some
# GB that nothing here uses: where pip finds a build without, name it, as TORCH=torch==2.13.0+cpu.
# streaming without what it asks for: old releases of ours, and clients of every cloud.
$(VENV)-peers-readers/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-peers-readers
	$(VENV)-peers-readers/bin/python $(PIP_INSTALL) --editable '.[dev]' '$(TORCH)' megatron-core==0.16.1 catalogue duckdb python-snappy tqdm transformers zstd
	$(VENV)-peers-readers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps mosaicml-streaming==0.13.0
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-peers $(VENV)-peers-readers $(VENV)-bench $(VENV)-truth demo-run build dist *.egg-info
