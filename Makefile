# Two commands on a fresh machine: `make demo` and `make test`. All others: `make help`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup
TIER   ?= not full
EFFORT ?= $(if $(CROWDOPT_THOROUGH),thorough,full)

.PHONY: help demo run-demo test test-rest test-full tiers lint docs dist audit bench campaign label-studio fuzz clean

help: ## what can be made
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/make \1\t\2/p' Makefile | expand -t 16

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

demo: $(VENV)/.demo run-demo ## a simulated crowd, its answers, the report and the check

# With what is installed in $(BIN), in the folder where one is.
run-demo:
	mkdir -p demo
	$(BIN)/crowdopt simulate -o demo/responses.csv --truth demo/truth.csv --tasks 1000 --workers 40 --responses 3-7 --selectivity 0.85,0.15 --accuracy 0.85 --careless 0.3 --hard 0.2 --seed 7
	$(BIN)/crowdopt aggregate demo/responses.csv --truth demo/truth.csv -o demo/answers.csv --solution demo/solution.json --report demo/report.html
	$(BIN)/crowdopt verify demo/solution.json demo/responses.csv --answers demo/answers.csv
	$(BIN)/crowdopt prove demo/responses.csv --truth demo/truth.csv --find-classes 2 --solution demo/proof.json
	$(BIN)/crowdopt verify demo/proof.json demo/responses.csv
	@echo "Answers: demo/answers.csv   Solution: demo/solution.json   Report: demo/report.html   Proof: demo/proof.json"

lint: $(READY) ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY) ## the pages of the documentation
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# After every change; which tests are of the fast tier: tests/support/effort.py.
test: $(READY) ## after every change: style, types, pages, and the fast tier of the tests
	@if [ "$$(id -u)" = 0 ]; then .ci/system; fi
	$(MAKE) lint
	$(MAKE) docs
	$(PYTEST) -m "$(TIER)" --durations 10

# What `make test` leaves out, and with more random problems what draws some.
test-rest: $(READY) ## the tests that are not of the fast tier
	@if [ "$$(id -u)" = 0 ]; then .ci/system; fi
	$(PYTEST) -m "full or scaled" --effort $(EFFORT) --durations 30

test-full: ## all tests, the fast tier first
	$(MAKE) test
	$(MAKE) test-rest

tiers: $(READY) ## how many tests are in which tier
	@$(BIN)/python -m pytest --collect-only -qq | grep tier:

# The wheel and the sdist, tried in fresh environments: other Pythons, lowest versions.
dist: $(READY) ## wheel and sdist, tried in fresh environments
	.ci/dist $(BIN)/python

# Known vulnerabilities of what constraints.txt names; needs a service that is not everywhere within reach.
audit: $(READY) ## known vulnerabilities of the dependencies
	.ci/audit $(BIN)/python

# Everything side by side with the alternatives: build/bench/index.html and results.json.
bench: $(READY) ## benchmarks against the alternatives
	$(BIN)/python benchmarks/bench.py $(OPTIONS)

# Forged solution files against verify, then random problems, every engine against brute force: MINUTES=30 by default.
campaign: $(READY) ## forged files and random problems, for MINUTES
	PYTHONPATH=tests $(BIN)/python -m campaigns.forgeries --files $(or $(FILES),1000)
	PYTHONPATH=tests $(BIN)/python -m campaigns.campaign --minutes $(or $(MINUTES),30)

# A real server from PyPI, on the loopback address: what it exports, and what it makes of what we write for it.
label-studio: $(READY) ## what a real Label Studio exports and imports, some ten minutes
	PYTHONPATH=tests $(BIN)/python -m campaigns.label_studio_server

# Spoilt files, to every reader: MINUTES=10 by default.
fuzz: $(READY) ## spoilt files, for MINUTES
	PYTHONPATH=tests $(BIN)/python -m campaigns.fuzz --minutes $(or $(MINUTES),10)

clean: ## what was made here
	rm -rf $(VENV) build demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
