# The environment lives in .venv; targets install what they need and nothing is installed by hand.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
ROOM ?=
TESTS ?= $(foreach room,$(ROOM),$(wildcard tests/$(room) src/discbayes/$(room) src/discbayes/$(room).py))
SINCE ?= HEAD
EXPERIMENTS ?= all

.DEFAULT_GOAL := help
.PHONY: help demo test test-changed test-uncompiled faults coverage mutants lint docs docs-links bench papers clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(RUN):
	$(PYTHON) -c 'import sys; sys.exit("discbayes needs Python 3.11 or newer, not " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.[cli,plot]' pandas  # frames in the examples of the README
	@touch $@

$(VENV)/.test: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.[cli,plot,solver,dask,test]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.[cli,bench]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.[cli,plot,docs]'
	@touch $@

demo: $(VENV)/.demo ## create the environment, install, and compare methods on embedded data
	$(BIN)/discbayes compare breast-cancer --missing 10,30,50,70 --folder demo --fresh
	$(RUN) examples/demo.py

test: $(VENV)/.test ## install what the tests need and run them all (ROOM="scores search": those of some rooms)
	$(RUN) -m pytest -n 2 $(TESTS)

test-changed: $(VENV)/.test ## run the tests of the rooms that differ from the last commit (SINCE=main: from another one)
	tests="$$($(RUN) tests/changed.py $(SINCE))" && if [ -n "$$tests" ]; then $(RUN) -m pytest $$tests; else echo "no change with tests"; fi

test-uncompiled: $(VENV)/.test ## run the tests near the kernels once more with the compiler off, which checks indices
	NUMBA_DISABLE_JIT=1 $(RUN) -m pytest -n 2 -p no:cacheprovider $(TESTS)

faults: $(VENV)/.test ## kills, full disks, signals and short memory, ten times as often as in the tests
	FAULTS=10 $(RUN) -m pytest -p no:cacheprovider tests/faults

coverage: export COVERAGE_FILE = $(CURDIR)/.coverage
coverage: $(VENV)/.test ## how many lines of each room the tests reach, kernels with the compiler off; half an hour
	rm -f .coverage .coverage.*
	$(RUN) -m coverage run -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(RUN) -m coverage run -m pytest -n 2 -p no:cacheprovider
	$(RUN) -m coverage combine -q
	$(RUN) tests/coverage_by_room.py

mutants: $(VENV)/.test ## break critical lines one at a time, in a copy, and say which test notices
	$(RUN) tests/mutations.py

lint: $(VENV)/.test ## formatting, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs ## build the site, docs/_build/html, and run its gallery; a warning is an error
	$(RUN) -m sphinx -q -W --keep-going docs docs/_build/html

docs-links: docs ## check that every link within the site leads somewhere
	$(RUN) docs/check_links.py docs/_build/html

bench: $(VENV)/.bench ## measure against the peers in one run and print the table
	$(RUN) benchmarks/run.py

papers: $(VENV)/.demo ## repeat the papers' tables and figures (EXPERIMENTS="p10-table7 …"); goes on where it was interrupted
	$(BIN)/discbayes reproduce $(EXPERIMENTS) --folder docs/results

clean: ## remove the environment and what was built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache demo docs/_build docs/gallery docs/api/generated
