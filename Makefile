# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo run-demo test lint docs dist audit bench campaign fuzz clean

# Installed again only when what is to be installed changes.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# What the demonstration needs is much less than what the tests need.
$(VENV)/.demo: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[report]'
	touch $@

demo: $(VENV)/.demo run-demo

# With what is installed in $(BIN), in the folder where one is.
run-demo:
	mkdir -p demo
	$(BIN)/crowdopt simulate -o demo/responses.csv --truth demo/truth.csv --tasks 1000 --workers 40 --responses 3-7 --accuracy 0.8 --seed 7
	$(BIN)/crowdopt aggregate demo/responses.csv --truth demo/truth.csv -o demo/answers.csv --solution demo/solution.json --report demo/report.html
	$(BIN)/crowdopt verify demo/solution.json demo/responses.csv
	@echo "Answers: demo/answers.csv   Solution with certificate: demo/solution.json   Report: demo/report.html"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

test: $(READY)
	@if [ "$$(id -u)" = 0 ]; then .ci/system; fi
	$(MAKE) lint
	$(MAKE) docs
	$(BIN)/python -m pytest -n auto --dist loadgroup

# The wheel and the sdist, tried in fresh environments: other Pythons, lowest versions.
dist: $(READY)
	.ci/dist $(BIN)/python

# Known vulnerabilities of what constraints.txt names; needs a service that is not everywhere within reach.
audit: $(READY)
	.ci/audit $(BIN)/python

# Everything side by side with the alternatives: build/bench/index.html and results.json.
bench: $(READY)
	$(BIN)/python benchmarks/bench.py $(OPTIONS)

# Forged solution files against verify, then random problems, every engine against brute force: MINUTES=30 by default.
campaign: $(READY)
	PYTHONPATH=tests $(BIN)/python -m campaigns.forgeries --files $(or $(FILES),1000)
	PYTHONPATH=tests $(BIN)/python -m campaigns.campaign --minutes $(or $(MINUTES),30)

# Spoilt files, to every reader: MINUTES=10 by default.
fuzz: $(READY)
	PYTHONPATH=tests $(BIN)/python -m campaigns.fuzz --minutes $(or $(MINUTES),10)

clean:
	rm -rf $(VENV) build demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
