# Two commands on a fresh machine: `make demo` and `make test`. Both set up what they need and are safe to repeat.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip is told about every new interpreter or changed pin by the stamp's date.
STAMP := $(VENV)/.installed

.PHONY: demo test test-integrations test-claude-code test-hosts check format docs bench clean

demo: $(STAMP)
	@$(BIN)/waggle demo
	@echo
	@$(BIN)/stretto demo

test: $(STAMP)
	@$(BIN)/python -m pytest -q -n auto

# Each framework's adapter against the framework's current release, in environments below .integrations.
test-integrations: $(STAMP)
	@$(BIN)/python -m tests.integrations.run

# The hook in the real Claude Code, the one that claude-agent-sdk bundles, with a script in the place of a model.
test-claude-code: $(STAMP)
	@$(BIN)/python -m tests.claude_code.run

# The hooks in the real Codex and Gemini CLI, which npm installs below .hosts; no model is asked.
test-hosts: $(STAMP)
	@$(BIN)/python -m tests.hosts.run

check: $(STAMP)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(STAMP)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(STAMP)
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .integrations .hosts demo-skills demo-flows

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
