# Everything a person needs: `make demo` runs the product, `make check` is the whole gate.
# Set-up uses uv when it is there, else venv and pip. PYTHON chooses the interpreter (3.11 or newer).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo check lint types contracts test screenshots bench clean

demo: $(VENV)/.ready
	@$(BIN)/python -m tui_agent demo

check: lint types contracts test

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

test: $(VENV)/.dev
	$(BIN)/python -m pytest

screenshots: $(VENV)/.dev
	$(BIN)/python screenshots/draw.py

bench: $(VENV)/.dev
	$(BIN)/python bench/transcript.py
	$(BIN)/python bench/diff.py
	$(BIN)/python bench/oneshot.py

$(VENV)/bin/python:
	@if command -v uv >/dev/null 2>&1; then uv venv -q --python $(PYTHON) $(VENV); else $(PYTHON) -m venv $(VENV); fi

$(VENV)/.ready: pyproject.toml | $(VENV)/bin/python
	@if command -v uv >/dev/null 2>&1; then uv pip install -q --python $(BIN)/python -e .; else $(BIN)/python -m pip install -q --disable-pip-version-check -e .; fi
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	@if command -v uv >/dev/null 2>&1; then uv pip install -q --python $(BIN)/python -e '.[dev]'; else $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'; fi
	@touch $@ $(VENV)/.ready

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .cache
