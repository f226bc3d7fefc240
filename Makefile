# Every target sets up what it needs. `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup check test laws spark golden docs figures bench bench-latency bench-peers demo run clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

setup: $(READY)  ## make .venv with everything in it; Java from pip if the machine has none

check: $(READY)  ## ruff, mypy, import directions, fast tests: under two minutes
	$(BIN)/ruff check src tests bench
	$(BIN)/mypy -p millstream
	$(BIN)/python -m pytest -n 2 -m "not spark and not slow"

test: $(READY)  ## everything: under 20 minutes on two cores
	$(BIN)/python -m pytest -n 2 -m "not spark"
	$(BIN)/python -m pytest -m spark

laws: $(READY)  ## the generated scripts in full: more than 5,000 queries, and more than 500 on Spark
	MILLSTREAM_SCALE=3 $(BIN)/python -m pytest -n 2 -m "not spark" tests/laws tests/rules tests/oracle tests/plan tests/blocks tests/patterns
	MILLSTREAM_SCALE=3 $(BIN)/python -m pytest -m spark tests/spark/test_generated.py tests/spark/test_synchronized.py tests/spark/test_tagged_streams.py tests/spark/test_chains.py tests/spark/test_sequences.py tests/spark/test_recognize.py tests/spark/test_own_calls.py

spark: $(READY)  ## the tests that need a Spark session
	$(BIN)/python -m pytest -m spark

golden: $(READY)  ## the golden files, on the local host
	$(BIN)/python -m pytest tests/golden -m "not spark"

docs: figures  ## write the manual's tables and results anew, then test the manual
	cd tests && ../$(BIN)/python -m docs.tables && ../$(BIN)/python -m docs.examples
	$(BIN)/python -m pytest tests/docs -m "not spark"

figures: $(READY)  ## draw the pictures of docs/figures that are made from the code
	cd tests && ../$(BIN)/python -m docs.figure_of_layers && ../$(BIN)/python -m plan.figure

bench: $(READY)  ## measure against Spark's own streaming; writes bench-out/
	$(BIN)/python -m bench

bench-latency: $(READY)  ## measure from the write of a row to the result it changes; writes bench-out/
	$(BIN)/python -m bench.latency

bench-peers: $(READY)  ## measure against DuckDB and Flink SQL, which gets .venv-flink of its own
	$(BIN)/python -m bench.peers

demo: $(READY)  ## watch continuous queries answer on a live auction feed
	$(BIN)/millstream demo

run: $(READY)  ## run a script: make run SCRIPT=examples/auction.sql
	@test -n "$(SCRIPT)" || { echo "Name a script: make run SCRIPT=examples/auction.sql"; exit 2; }
	$(BIN)/millstream run $(SCRIPT)

clean:  ## remove .venv and everything that tests and runs left behind
	rm -rf $(VENV) .venv-flink .pytest_cache .mypy_cache .ruff_cache .hypothesis bench-out demo-out
	rm -rf spark-warehouse metastore_db derby.log src/*.egg-info
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed, and \"$(PYTHON)\" is not one."; \
	  echo "Name another: make PYTHON=python3.12 setup"; exit 1; }
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(MAKE) --no-print-directory $(VENV); }
	@echo "installing packages; the first time this takes a few minutes"
	@$(PIP) -e '.[dev]'
	@$(BIN)/python -c 'from millstream.spark.java import find_java; find_java()' 2>/dev/null || { \
	  echo "no Java 17 or newer here: installing one into $(VENV)"; $(PIP) -e '.[java]'; }
	@$(BIN)/python -m compileall -q src
	@echo "preparing Java's classes, so that Spark starts faster"
	@$(BIN)/millstream prepare || echo "Spark starts as ever"
	@touch $(READY)

# Debian keeps pip for new environments in a package of its own; the system's pip will do as well.
$(VENV):
	@if $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then \
	  $(PYTHON) -m venv $(VENV); \
	elif $(PYTHON) -c 'import venv, pip' 2>/dev/null; then \
	  $(PYTHON) -m venv --without-pip $(VENV) && \
	  $(PYTHON) -m pip --quiet --python $(BIN)/python install pip; \
	else \
	  echo "Python's venv module is not complete here. On Debian it comes with python3-venv:"; \
	  echo "    sudo apt install python3-venv"; exit 1; \
	fi || { rm -rf $(VENV); exit 1; }
