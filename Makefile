# Everything happens in .venv, which is made on first use. `make` lists the targets.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
# Options for `demo`, `test` and `bench`: make test ARGS="-k commit"
ARGS :=
# --lowest: the lower bounds of pyproject.toml
REQUIREMENTS :=

PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
WHEEL := build/$(VENV)
SOURCES = $(shell find agent translators simulator yang -type f ! -name '*.pyc') README.md LICENSE

.DEFAULT_GOAL := help
.PHONY: help demo test test-lowest check check-style check-types check-layers check-yang bench dist clean installed FORCE
.DELETE_ON_ERROR:

help:
	@echo "make demo         a controller enables acceleration on a simulated gateway, step by step"
	@echo "make test         the tests, against the wheel installed in $(VENV) (ARGS=\"-k commit\")"
	@echo "make test-lowest  the same with the lowest versions that pyproject.toml allows"
	@echo "make check        style, types, layers, YANG (make -k check goes on after a failure)"
	@echo "make bench        the benchmarks"
	@echo "make dist         source distribution and wheel, in dist/"
	@echo "make clean        remove what was made"

demo: installed
	@$(BIN)/python examples/tour.py $(ARGS)

test: installed
	ACCEL_AGENT_TEST_INSTALLED=1 $(BIN)/pytest $(ARGS)

test-lowest:
	@$(MAKE) --no-print-directory test VENV=.venv-lowest REQUIREMENTS=--lowest

check: check-style check-types check-layers check-yang

check-style: installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check

check-types: installed
	$(BIN)/mypy

check-layers: installed
	$(BIN)/lint-imports --no-logo

check-yang: installed
	VENV=$(VENV) .ci/yang

bench: installed
	@$(BIN)/python benchmarks $(ARGS)

dist: installed
	$(BIN)/python -m build --no-isolation --outdir dist .

clean:
	rm -rf .venv .venv-lowest build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The lock lets two runs start at once in one checkout.
installed:
	@mkdir -p build
	@flock build/lock $(MAKE) --no-print-directory $(VENV)/.installed

$(VENV)/.made: .ci/venv
	@echo "making $(VENV) ..."
	@.ci/venv $(VENV)
	@touch $@

$(VENV)/.requirements: $(VENV)/.made pyproject.toml .ci/requirements
	@echo "installing what the agent and its tests need in $(VENV) ..."
	@$(BIN)/python .ci/requirements $(REQUIREMENTS) >$@.txt
	@$(PIP) install -r $@.txt
	@touch $@

# A list of the sources beside the sources: a file that goes away makes a new wheel too.
$(VENV)/.sources: FORCE | $(VENV)/.made
	@printf '%s\n' $(sort $(SOURCES)) | cmp -s - $@ || printf '%s\n' $(sort $(SOURCES)) >$@

$(VENV)/.installed: $(VENV)/.requirements $(VENV)/.sources $(SOURCES)
	@rm -rf $(WHEEL)
	@$(BIN)/python -m build --wheel --no-isolation --outdir $(WHEEL) . >$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@$(PIP) install --force-reinstall --no-deps $(WHEEL)/*.whl
	@touch $@
