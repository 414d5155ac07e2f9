# The names a newcomer needs; `make help` lists them. Everything runs in a private virtual
# environment (.venv) that the first call creates: nothing has to be installed by hand beyond
# Python >= 3.11, make and a C++20 compiler.
#
# Stamps inside .venv remember what is installed, so that a second call does only what changed, and
# deleting .venv forgets them all.

PYTHON ?= python3
PYTEST_ARGS ?=
CXX_PRESET ?= dev
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check

# CMake looks for Ninja on the PATH, and for the Eigen from Python's package index in this environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

# Directories are listed too: their time stamps tell of removed files.
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE \
  $(shell find bindings cmake cpp python -not -path '*/__pycache__*')
CXX_FILES = $(shell find bindings cpp tests/cpp bench/cpp examples -name '*.cpp' -o -name '*.hpp')

.DEFAULT_GOAL := help
.PHONY: help demo test test-cpp test-python lint format tidy asan bench docs wheel clean

help:  ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(STAMPS)/package  ## learn a network from handwritten digits and complete half-hidden ones
	$(BIN)/feldspar demo

test: test-cpp test-python  ## the whole test suite

# CXX_PRESET=asan: the same under the address and undefined-behaviour sanitizers, as in CI.
test-cpp: $(STAMPS)/dev-tools $(STAMPS)/doctest  ## the C++ tests, with assertions on
	$(BIN)/cmake --workflow --preset $(CXX_PRESET)

# The examples in the docstrings of the installed package are tests as well.
test-python: $(STAMPS)/package $(STAMPS)/dev-tools  ## the Python tests and docstrings (PYTEST_ARGS="-k ...")
	$(BIN)/python -m pytest -n auto --dist worksteal \
	  --doctest-modules --pyargs feldspar tests/python tests/architecture $(PYTEST_ARGS)

lint: $(STAMPS)/package $(STAMPS)/dev-tools  ## ruff, mypy, clang-format, import contracts, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)
	PYTHONPATH=python $(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/architecture

format: $(STAMPS)/dev-tools  ## let ruff and clang-format rewrite the sources
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

tidy: $(STAMPS)/dev-tools $(STAMPS)/doctest  ## the C++ tests compiled with clang-tidy looking on
	$(PIP) install --quiet --group tidy
	$(BIN)/cmake --workflow --preset tidy

asan:  ## the C++ tests under the address and UB sanitizers
	$(MAKE) test-cpp CXX_PRESET=asan

bench: $(STAMPS)/dev-tools  ## build and run the C++ benchmarks (bench/README.md tells more)
	$(BIN)/cmake --workflow --preset bench
	@for program in build/bench/bench/cpp/bench_*; do \
	  if [ -f "$$program" ]; then echo "== $$program"; "$$program" || exit 1; fi; done

docs: $(STAMPS)/package $(STAMPS)/dev-tools  ## build the pages, warnings being errors, and run every example in them
	$(PIP) install --quiet --group docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	$(BIN)/python -m pytest tests/python/test_docs.py $(PYTEST_ARGS)
	@echo "build/docs/index.html"

# Built in isolation, as a user's pip would: this proves the list of build requirements complete.
wheel: $(STAMPS)/venv  ## build the wheel and try it in an empty environment
	rm -rf build/wheel build/wheel-env dist/feldspar-*.whl
	$(PIP) wheel --quiet --no-deps --wheel-dir dist --config-settings build-dir=build/wheel .
	$(BIN)/python -m venv build/wheel-env
	build/wheel-env/bin/python -m pip --disable-pip-version-check install --quiet dist/feldspar-*.whl pytest
	build/wheel-env/bin/python -m pytest --noconftest tests/python/test_minimal.py

clean:  ## remove all that was made, the environment included
	rm -rf build dist $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# ---- how the environment comes to be ----

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "feldspar needs Python >= 3.11, got `$(PYTHON) --version`; set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(call apt_install,python3-venv) || { \
	  echo "$(PYTHON) has no venv module: install it (Debian: python3-venv) or set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	@mkdir -p $(STAMPS) && touch $@

# What the package is built with. Installed here rather than in pip's throw-away build environment:
# the paths stay the same, and so a rebuild compiles only what changed.
$(STAMPS)/build-tools: $(STAMPS)/venv pyproject.toml
	$(PIP) install --quiet --group build
	@touch $@

$(STAMPS)/dev-tools: $(STAMPS)/venv pyproject.toml
	$(PIP) install --quiet --group dev
	@touch $@

# From the sources, or the wheel that WHEEL names: CI tests what it ships and compiles it once.
$(STAMPS)/package: $(STAMPS)/build-tools $(SOURCES)
	$(PIP) install --quiet --no-build-isolation '$(or $(WHEEL),.)[all]'
	@touch $@

# doctest from the system, else from apt-get where we may use it, else downloaded by CMake (which
# stops if it cannot).
$(STAMPS)/doctest: $(STAMPS)/venv
	@echo '#include <doctest/doctest.h>' | $(CXX) -E -x c++ - >/dev/null 2>&1 \
	  || $(call apt_install,doctest-dev) || echo "doctest is not on the system: CMake will fetch it"
	@touch $@

# Installs a Debian package; fails where there is no apt-get or we are not root.
apt_install = { command -v apt-get >/dev/null && [ "`id -u`" = 0 ] && apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends $(1) >/dev/null; }
