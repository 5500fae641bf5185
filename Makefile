# Everything a person needs: `make demo` runs the product, `make check` is the whole gate, `make install` puts the
# one-file program with its completions below PREFIX.
# Set-up uses uv when it is there, else venv and pip. PYTHON chooses the interpreter (3.11 or newer).

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
NEW := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

# the tests of the screen and of programs wait more than they work: twice as many workers as a small machine has cores
WORKERS ?= 4

# how many times as many examples `make fuzz` draws as the gate
FUZZ ?= 10

.PHONY: demo check lint types contracts test fuzz screenshots bench dist install uninstall clean

# a ~ that make was given is not the shell's to replace; a ' is none of the quotes that stand around it below
PREFIX ?= $(HOME)/.local
DESTDIR ?=
INTO = $(subst ','\'',$(DESTDIR)$(patsubst ~/%,$(HOME)/%,$(PREFIX)))
BASH_COMPLETION = share/bash-completion/completions/tui-agent
ZSH_COMPLETION = share/zsh/site-functions/_tui-agent
FISH_COMPLETION = share/fish/vendor_completions.d/tui-agent.fish

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
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

# the property tests alone, with other examples each time; what is found is kept in .hypothesis and tried first. Then keys
# by chance in the whole program: its seeds are printed, and MONKEY="17 18" plays these again
fuzz: $(VENV)/.dev
	TUI_AGENT_FUZZ=$(FUZZ) $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m hypothesis --timeout=0 -o session_timeout=86400
	$(BIN)/python -m tests.pty.monkey $(or $(MONKEY),--rounds $(FUZZ)0)

screenshots: $(VENV)/.dev
	$(BIN)/python screenshots/draw.py

bench: $(VENV)/.dev
	$(BIN)/python bench/screen.py
	$(BIN)/python bench/transcript.py
	$(BIN)/python bench/composer.py
	$(BIN)/python bench/diff.py
	$(BIN)/python bench/oneshot.py
	$(BIN)/python bench/sandbox.py
	$(BIN)/python bench/flood.py
	$(BIN)/python bench/providers.py
	$(BIN)/python bench/sessions.py
	$(BIN)/python bench/tree.py

# dist/tui-agent is one file that needs nothing but Python
dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python packaging/zipapp.py dist/tui-agent

install: $(VENV)/.ready
	$(BIN)/python packaging/zipapp.py build/tui-agent
	@set -e; for shell in bash zsh fish; do $(BIN)/python -m tui_agent completions $$shell > build/completions.$$shell; done
	install -D -m 755 build/tui-agent '$(INTO)/bin/tui-agent'
	install -D -m 644 build/completions.bash '$(INTO)/$(BASH_COMPLETION)'
	install -D -m 644 build/completions.zsh '$(INTO)/$(ZSH_COMPLETION)'
	install -D -m 644 build/completions.fish '$(INTO)/$(FISH_COMPLETION)'

uninstall:
	rm -f '$(INTO)/bin/tui-agent' '$(INTO)/$(BASH_COMPLETION)' '$(INTO)/$(ZSH_COMPLETION)' '$(INTO)/$(FISH_COMPLETION)'

$(VENV)/.ready: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV) (once)"
	@$(call install,.)
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "setting up $(VENV) with the tools for development (once)"
	@$(call install,.[dev])
	@touch $@ $(VENV)/.ready

# an environment without pip was made by uv
install = if [ -x $(BIN)/pip ]; then $(BIN)/python -m pip install -q --disable-pip-version-check -e '$(1)'; \
	else uv pip install -q --python $(BIN)/python -e '$(1)'; fi

$(BIN)/python:
	@if command -v uv >/dev/null 2>&1; then exec uv venv -q --python "$(or $(PYTHON),>=3.11)" $(VENV); fi; \
	for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
		if "$$python" -c '$(NEW)' >/dev/null 2>&1; then exec "$$python" -m venv $(VENV); fi; \
	done; \
	echo "Python 3.11 or newer with its venv module is needed (on Debian: python3-venv), or uv." >&2; exit 1

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .cache
