# Everything a newcomer runs. `make demo` and `make test` need python3 (3.11 or newer), make and a package registry.
PYTHON ?= python3
BIN := .venv/bin
TRAILBENCH_HOME ?= $(CURDIR)/.trailbench
export TRAILBENCH_HOME
# Every run of the DAG is a process that imports all of the project: it must not compile it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: env demo test lint ui bench clean

env: .venv/.installed

# The lock is complete, so dependencies are not resolved again: every install is the same.
.venv/.installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "trailbench needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

demo: env
	$(BIN)/trailbench demo

# The tests of the live servers mostly wait for Dagster's ticks; a third process uses that time. The longest begin first.
test: env
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

ui: env
	$(BIN)/trailbench ui

bench: env
	$(BIN)/python -m bench.commerce
	$(BIN)/python -m bench.onchain
	$(BIN)/python -m bench.applogs

clean:
	rm -rf .venv .trailbench build dist *.egg-info
