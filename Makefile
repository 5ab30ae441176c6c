# The front door. Every target makes what it needs; a second run downloads nothing.
#
#   make demo    a whole run on a small site that is served from this machine
#   make up      PostgreSQL, the Dagster UI and its daemon; Ctrl-C stops all of it
#   make test    the test suite            make lint    ruff, mypy, import-linter
#   make conformance   the public cases for robots.txt, sitemaps, addresses, page states and bodies
#   make bench   benchmarks against a pipeline built from well-known parts
#   make bench-extraction DATA=folder   real pages with their known texts, beside trafilatura and rs-trafilatura
#   make bench-retrieval GOLDEN=folder  real questions asked of real documentation sites, and how many are answered
#   make lock    resolve the dependencies again            make clean    remove what these targets made

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3; do \
	"$$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && { echo "$$name"; break; }; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST_FLAGS ?= -n 2
# The folder of the conformance cases and their runners. It may be missing.
CONFORMANCE ?= ../shared/conformance
SOURCES := kb_pipeline kb_pipeline_tests benchmarks

# A stamp is made anew when its lock or the project file changes, and only then does pip run.
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
BENCH_STAMP := $(VENV)/.installed-bench

.PHONY: help demo up test lint conformance bench bench-extraction bench-retrieval lock docs clean
help:
	@sed -n 's/^#   \(make .*\)/\1/p' Makefile

demo: $(RUN_STAMP)
	@$(BIN)/kb demo

up: $(RUN_STAMP)
	@exec $(BIN)/kb up

test: $(DEV_STAMP)
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

lint: $(DEV_STAMP)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

conformance: $(DEV_STAMP)
	$(BIN)/python -m kb_pipeline_tests.conformance_gate $(CONFORMANCE)

bench: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks

# rs-trafilatura's wheel needs Python 3.12; without one its column is missing.
RS_VENV := build/rs-trafilatura
HAS_RS := $(RS_VENV)/bin/python -c 'import trafipy' 2>/dev/null
DATA ?= ../shared/extraction
bench-extraction: $(BENCH_STAMP)
	@for name in python3.12 python3.13; do $(HAS_RS) && break; \
		"$$name" -c '' 2>/dev/null && "$$name" -m venv $(RS_VENV) && $(RS_VENV)/bin/pip install --quiet trafipy==0.1.0; done; true
	$(BIN)/python -m benchmarks.extraction $(DATA) $$($(HAS_RS) && echo --rs $(RS_VENV)/bin/python)

# Downloads two documentation packages of Debian, and needs nginx.
GOLDEN ?= ../shared/golden
bench-retrieval: $(DEV_STAMP)
	$(BIN)/python -m benchmarks.golden_sites $(GOLDEN)

docs: $(DEV_STAMP)
	$(BIN)/python -m kb_pipeline.cli.settings_page docs/settings.md

# Without the local suffix of torch's CPU build, which not every index has, and without naming any index.
LOCK := CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/pip-compile --quiet --strip-extras --unsafe-package pip \
	--no-allow-unsafe --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --annotation-style line \
	--build-deps-for editable --extra browser
lock: $(DEV_STAMP)
	$(LOCK) --output-file requirements/run.lock pyproject.toml
	$(LOCK) --extra ocr --extra dev --constraint requirements/run.lock --output-file requirements/dev.lock pyproject.toml
	$(LOCK) --extra ocr --extra dev --extra bench --constraint requirements/dev.lock --output-file requirements/bench.lock pyproject.toml
	sed -i.was 's/^\(torch==[0-9.]*\)+cpu/\1/' requirements/*.lock && rm requirements/*.lock.was

$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'Python 3.11, 3.12 or 3.13 is needed: install one, or name it: make PYTHON=/path/to/python'; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): requirements/run.lock pyproject.toml | $(BIN)/python
	$(call install,run)

$(DEV_STAMP): requirements/dev.lock pyproject.toml | $(BIN)/python
	$(call install,dev)

$(BENCH_STAMP): requirements/bench.lock pyproject.toml | $(BIN)/python
	$(call install,bench)

# A lock names everything, so pip has nothing to resolve; and it says nothing while it unpacks, which takes longest.
define install
@echo 'Installing the locked dependencies ($(1)) into $(VENV); this takes a few minutes the first time.'
@while sleep 20 >/dev/null 2>&1; do echo "  … $$(du -sm $(VENV) | cut -f1) MB in $(VENV) so far"; done & \
	trap "kill $$!" EXIT; \
	$(PIP) install --no-deps --requirement requirements/$(1).lock | { grep --line-buffered -v 'already satisfied' || true; }
$(PIP) install --quiet --no-deps --no-build-isolation --no-index --editable .
@touch $@
endef

# The knowledge base itself (.kb) is data, and stays.
clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist *.egg-info
