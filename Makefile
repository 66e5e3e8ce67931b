# make demo, make test: each sets up .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH := .cache/torch-venv
SPHINX := .cache/docs-venv
INSTALLED := $(VENV)/.installed
# mypy and editors read the root as the package `dicast` through this link, whatever the checkout folder is called.
TYPED := .cache/typed

.PHONY: demo test test-slow coverage coverage-report test-model test-torch test-simulation reproduce check types format bench constraints docs clean

demo: $(INSTALLED)
	$(BIN)/dicast demo

# A worker a core; each embedded model then gets one thread. From Python 3.12 on coverage costs next to nothing
# (sys.monitoring); on 3.11 it costs 70 % more time, and is left to `make coverage`.
PYTEST := DICAST_LOCAL_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist worksteal
MEASURED := --cov --cov-report=
USUAL := -m 'not judge_model and not simulation and not fault and not slow'
PRINT_COVERAGE = echo "coverage: $$($(BIN)/python -m coverage report --format=total) % of lines (make coverage-report)"

test: $(INSTALLED)
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 12))'; \
	then COVERAGE_CORE=sysmon $(PYTEST) $(USUAL) $(MEASURED) && $(PRINT_COVERAGE); else $(PYTEST) $(USUAL); fi

# What takes more than a few seconds, and faults: killed processes, full disks, broken servers, time-outs.
test-slow: $(INSTALLED)
	$(PYTEST) -m '(fault or slow) and not judge_model and not simulation'

coverage: $(INSTALLED)
	$(PYTEST) $(MEASURED)
	@$(PRINT_COVERAGE)

coverage-report: $(INSTALLED)
	$(BIN)/python -m coverage report --skip-covered --sort=cover

test-model: $(INSTALLED)
	$(BIN)/python -m pytest -q -m judge_model

# The extra goes into its own environment, so that .venv stays as constraints.txt says.
test-torch: $(INSTALLED)
	test -x $(TORCH)/bin/python || $(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[torch,train,local,dev]'
	$(TORCH)/bin/python -m pytest -q -m torch

test-simulation: $(INSTALLED)
	$(BIN)/python -m pytest -q -m simulation

reproduce: $(INSTALLED)
	$(BIN)/dicast reproduce all $(if $(DATA),--data $(DATA))

check: $(INSTALLED) types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	@mkdir -p $(TYPED) && ln -sfn ../.. $(TYPED)/dicast
	cd $(TYPED) && MYPYPATH=. ../../$(BIN)/mypy --config-file dicast/pyproject.toml -p dicast

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Sphinx has its own environment. Any warning fails: a link or an anchor that leads nowhere, a page in no list.
docs: $(INSTALLED) $(SPHINX)/.installed
	$(BIN)/python docs/_site/generate.py build/docs/source
	$(SPHINX)/bin/sphinx-build -q -W --keep-going -b html build/docs/source build/docs/site
	$(BIN)/python docs/_site/offline.py build/docs/site
	@echo "open build/docs/site/index.html"

$(SPHINX)/.installed: docs/_site/requirements.txt
	test -x $(SPHINX)/bin/python || $(PYTHON) -m venv $(SPHINX)
	$(SPHINX)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

bench: $(INSTALLED)
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/overhead.py

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dicast needs Python 3.11 or newer; $(PYTHON) is older. Run: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 3; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

constraints:
	uv pip compile pyproject.toml --extra local --extra data --extra baselines --extra report --extra search --extra text --extra dev \
	  --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header -o constraints.txt
	uv pip compile docs/_site/requirements.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-annotate --no-header -o docs/_site/requirements.txt

clean:
	rm -rf $(VENV) .cache build *.egg-info
