# The commands of this repository. Everything they make stays inside the checkout.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest --basetemp=.cache/pytest
PEERS := .venv-peers
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE $(shell find native src -type f -not -name '*.pyc')

.PHONY: demo test test-all lint bench bench-peers experiments experiments-quick sanitize clean

demo: $(VENV)/installed        ## fwsvm next to scikit-learn, and demo/report.html
	$(BIN)/fwsvm demo

test: $(VENV)/installed-tests lint  ## every quick test
	$(PYTEST) -m "not slow"

test-all: $(VENV)/installed-tests lint sanitize  ## every test, and the tests of native code under sanitizers
	$(PYTEST)

lint: $(VENV)/installed-tests  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed-tests  ## tables on the terminal, JSON in benchmarks/results/
	$(BIN)/python benchmarks/kernel_engine.py
	$(BIN)/python benchmarks/storage_break_even.py
	$(BIN)/python benchmarks/stored_or_computed.py
	$(BIN)/python benchmarks/libsvm_reader.py

bench-peers: $(PEERS)/installed  ## fwsvm beside other trainers: Markdown tables, JSON and a plot; takes an hour
	$(PEERS)/bin/python benchmarks/peers.py
	$(PEERS)/bin/python benchmarks/growth.py

experiments: $(VENV)/installed-tests  ## the paper's tables and figures: experiments/report/; two hours, can be stopped and resumed
	$(BIN)/python -m experiments

experiments-quick: $(VENV)/installed-tests  ## a part of them, held against the stored results; a few minutes
	$(BIN)/python -m experiments --quick

# The tests of kernels and of the text reader in a build with address and undefined-behaviour sanitizers, on every instruction set;
# baseline is built there without vector extensions.
SANITIZED := build/sanitized
sanitize: $(VENV)/installed-tests
	$(BIN)/pip install --quiet --upgrade --no-deps --target $(SANITIZED) \
	  -C cmake.build-type=RelWithDebInfo -C cmake.define.FWSVM_SANITIZE=ON -C build-dir=build/sanitize .
	cd tests && for instruction_set in $$($(CURDIR)/$(BIN)/python -c \
	    "from fwsvm import _native; print(_native.available_instruction_sets().replace(',', ''))"); do \
	  FWSVM_ISA=$$instruction_set LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONPATH=../$(SANITIZED) \
	    ../$(BIN)/python -m pytest -q -p no:cacheprovider test_kernels.py test_array_kernels.py test_rows.py \
	      test_libsvm_text.py || exit 1; \
	done

# Stamps: the environment is made again when what it is made of has changed.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(VENV)/installed: $(BIN)/python $(SOURCES)
	$(BIN)/pip install --quiet '.[plot]'
	touch $@

$(VENV)/installed-tests: $(VENV)/installed
	$(BIN)/pip install --quiet --group test
	mkdir -p .cache
	touch $@

$(PEERS)/installed: $(SOURCES)
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --upgrade pip
	$(PEERS)/bin/pip install --quiet . --group peers
	touch $@

clean:  ## everything the commands above made
	rm -rf $(VENV) $(PEERS) build demo .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/.hypothesis
