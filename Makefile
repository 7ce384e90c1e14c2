# Everything runs in .venv with stock pip; uv is used when it is there. `make help` lists the targets.
PYTHON ?= python3
JOBS   ?= 2
VENV   := .venv
BIN    := $(VENV)/bin
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test test-slow test-browser lint format bench docs clean

help:
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo: $(VENV)/.installed  ## install and reproduce the papers' figures, quick version
	$(BIN)/onegrad reproduce --quick --out out/demo

test: $(VENV)/.installed-test  ## the tests, without the slow ones
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

test-slow: $(VENV)/.installed-test  ## the slow tests
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m slow

test-browser: $(VENV)/.installed-test  ## install Debian's chromium where possible, then test the page in it
	command -v chromium >/dev/null || (apt-get update && apt-get install -y chromium)
	$(BIN)/python -m pytest tests/explorer

lint: $(VENV)/.installed-test  ## style, types, and the direction of dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-test  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-test  ## speed beside the matrix-product rate measured in the same process
	$(BIN)/python benchmarks/theory.py
	$(BIN)/python benchmarks/uniform_speed.py
	$(BIN)/python benchmarks/sweep_overhead.py
	$(BIN)/python benchmarks/simulate.py

docs: $(VENV)/.installed-docs  ## the documentation as a site in site/
	$(BIN)/mkdocs build --strict

clean:  ## remove what the targets made
	rm -rf $(VENV) site out build dist

# $(call install,EXTRAS): an editable install with these extras
define install
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "onegrad needs Python >= 3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	if command -v uv >/dev/null; then uv pip install -q --python $(BIN)/python -e ".$(1)"; \
	else $(BIN)/python -m pip install -q --disable-pip-version-check -e ".$(1)"; fi
	touch $@
endef

$(VENV)/.installed: pyproject.toml
	$(call install,)

$(VENV)/.installed-test: pyproject.toml
	$(call install,[test])

$(VENV)/.installed-docs: pyproject.toml
	$(call install,[docs])
