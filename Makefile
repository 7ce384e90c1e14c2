# Everything runs in .venv with stock pip; uv is used when it is there. `make help` lists the targets.
# torch is large and needed by few: its tests have an environment of their own, .venv-torch. So have the oldest supported libraries and the newest Python.
PYTHON ?= python3
JOBS   ?= 2
TIMES  ?= 20
TIER   ?= not slow
SOAK   ?= --kills 60 --inputs 2000 --seconds 600
TORCH  ?= torch==2.13.0
VENV   := .venv
BIN    := $(VENV)/bin
VENV_TORCH := .venv-torch
VENV_OLDEST := .venv-oldest
VENV_NEWEST := .venv-newest
NEWEST ?= $(shell .ci/newest_python)
CHROMIUM := { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test test-all test-again test-slow test-oldest test-newest test-torch test-browser soak lint format hooks bench docs dist clean

help:
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo: $(VENV)/.installed  ## install and reproduce the papers' figures, quick version
	$(BIN)/onegrad reproduce --quick --out out/demo
	@echo
	@echo "The report:     open out/demo/report.html in a browser"
	@echo "The explorer:   $(BIN)/onegrad explore"
	@echo "On your own:    $(BIN)/onegrad --help"

test: $(VENV)/.installed-test  ## the tests of two minutes: formulas, oracles, limits, contracts
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow and not full" $(PYTEST)

test-all: $(VENV)/.installed-test  ## all tests without the slow ones; those of torch and the browser are skipped
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(PYTEST)

test-again: $(VENV)/.installed-test  ## all tests TIMES times beside two busy processes, the last time in random order
	@sh -c 'while :; do :; done' & one=$$!; sh -c 'while :; do :; done' & two=$$!; trap "kill $$one $$two" EXIT; \
	for i in $$(seq $(TIMES)); do \
		test $$i = $(TIMES) && order="--shuffle $$i" || order=; \
		echo "run $$i of $(TIMES)"; \
		$(MAKE) test-all PYTEST="$(PYTEST) $$order" || exit 1; \
	done

test-slow: $(VENV)/.installed-test  ## the slow tests
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m slow

test-oldest: $(VENV_OLDEST)/.installed-test  ## contracts with other libraries, with the oldest supported ones (.ci/oldest.txt)
	$(ONE_THREAD) $(VENV_OLDEST)/bin/python -m pytest -n $(JOBS) --dist worksteal -m "compat and not slow" $(PYTEST)

test-newest: $(VENV_NEWEST)/.installed-test  ## all tests, or TIER=..., with the newest Python found here (NEWEST=python3.13), with line coverage
	$(ONE_THREAD) COVERAGE_CORE=sysmon $(VENV_NEWEST)/bin/python -m pytest -n $(JOBS) --dist worksteal -m "$(TIER)" --cov --cov-report= $(PYTEST)
	$(VENV_NEWEST)/bin/python -m coverage report --skip-covered --sort=cover

test-torch: $(VENV_TORCH)/.installed-test  ## the tests that need torch, in an environment of their own
	$(ONE_THREAD) $(VENV_TORCH)/bin/python -m pytest -n $(JOBS) --dist worksteal -m torch

test-browser: $(VENV)/.installed-test  ## install Debian's chromium where possible, then test the page in it
	@$(CHROMIUM) || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq chromium; } || true
	@$(CHROMIUM) || { echo "make test-browser: no chromium found; install Debian's package chromium" >&2; exit 1; }
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m browser tests/explorer

soak: $(VENV)/.installed-test  ## attack it: kills, random problems, damaged files (SOAK="--kills 3000 --inputs 100000")
	$(ONE_THREAD) $(BIN)/python -m soak $(SOAK)

lint: $(VENV)/.installed-dev  ## style, types, direction of dependencies, subjects of commits
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini
	$(BIN)/lint-imports
	$(BIN)/python .ci/commit_subjects.py

format: $(VENV)/.installed-dev  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: $(VENV)/.installed-dev  ## run make lint before every commit (pre-commit)
	$(BIN)/pre-commit install

bench: $(VENV)/.installed-test  ## speed beside the matrix-product rate measured in the same process
	$(BIN)/python benchmarks/theory.py
	$(BIN)/python benchmarks/uniform_speed.py
	$(BIN)/python benchmarks/sweep_overhead.py
	$(BIN)/python benchmarks/simulate.py

docs: $(VENV)/.installed-docs docs/extra/moving.html  ## the documentation as a site in site/; warnings are errors
	$(ONE_THREAD) MPLBACKEND=Agg $(BIN)/python -m sphinx -j $(JOBS) -W --keep-going -q -b html -d build/doctrees docs site
	$(BIN)/python docs/check_site.py site
	@echo "site/index.html: open it in any browser"

# the page shows the theory's warnings beside its curves; here they would only repeat themselves
docs/extra/moving.html: | $(VENV)/.installed-docs
	$(ONE_THREAD) PYTHONWARNINGS=ignore $(BIN)/python docs/make_explorer.py

dist: $(VENV)/.installed-dist  ## wheel and sdist in dist/, each tried out in an environment of its own
	rm -rf dist
	$(BIN)/python -m build -q
	$(BIN)/python tests/try_distributions.py dist

clean:  ## remove what the targets made
	rm -rf $(VENV) $(VENV_TORCH) $(VENV_OLDEST) $(VENV_NEWEST) .venv-dist site out build dist docs/gallery docs/extra docs/reference/generated

# $(call install,EXTRAS,MORE): an editable install with these extras, and more, into the target's folder
define install
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "onegrad needs Python >= 3.11")'
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	if command -v uv >/dev/null; then uv pip install -q --python $(@D)/bin/python -e ".$(1)" $(2); \
	else $(@D)/bin/python -m pip install -q --disable-pip-version-check -e ".$(1)" $(2); fi
	touch $@
endef

$(VENV)/.installed: pyproject.toml
	$(call install)

$(VENV)/.installed-test: pyproject.toml
	$(call install,[test])

$(VENV)/.installed-dev: pyproject.toml
	$(call install,[dev])

$(VENV_OLDEST)/.installed-test: pyproject.toml .ci/oldest.txt
	$(call install,[test],-c .ci/oldest.txt)

$(VENV_NEWEST)/.installed-test: PYTHON = $(NEWEST)
$(VENV_NEWEST)/.installed-test: pyproject.toml
	$(call install,[test])

$(VENV_TORCH)/.installed-test: pyproject.toml
	$(call install,[test],"$(TORCH)")

$(VENV)/.installed-docs: pyproject.toml
	$(call install,[docs])

$(VENV)/.installed-dist: pyproject.toml
	$(call install,[dist])
