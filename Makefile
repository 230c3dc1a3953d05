# Everything here needs Python 3.11 or newer (with venv) and make; what else it takes is installed into .venv.
#
#   make serve         serve on https://127.0.0.1:6443; ARGS="--port 0 …" passes options on
#   make test          all tests but the long ones
#   make check         formatting, lint, types, import layers
#   make conformance   replay the scenarios in ../shared; a listed one that fails is a failure
#   make bench         the load test in ../shared/bench against a fresh server
#   make soak          the long fault-injection runs
#   make lock          solve the dependencies anew (needs the network)

# The interpreter to set up with. When empty: the first of these that will do, or one here that tools/find_python.py finds much faster.
PYTHON ?=
PYTHONS := python3 python3.14 python3.13 python3.12 python3.11 python /usr/bin/python3 /usr/local/bin/python3

VENV := .venv
BIN := $(VENV)/bin
SHARED ?= ../shared
JOBS ?= 2
ARGS ?=
TESTS ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: serve test check format conformance conformance-update bench soak lock clean

serve: $(VENV)/.run
	@exec $(BIN)/watchkeeper serve $(ARGS)

test: $(VENV)/.dev
	$(BIN)/pytest -n $(JOBS) -m "not soak" $(TESTS)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

conformance: $(VENV)/.dev
	$(BIN)/python tools/conformance.py check --shared $(SHARED) $(ARGS)

conformance-update: $(VENV)/.dev
	$(BIN)/python tools/conformance.py update --shared $(SHARED) $(ARGS)

bench: $(VENV)/.dev
	$(BIN)/python tools/bench.py --shared $(SHARED) $(ARGS)

soak: $(VENV)/.dev
	$(BIN)/pytest -m soak $(TESTS)

# uv only solves and writes the lock files; installing is pip's work.
lock: $(VENV)/.dev
	$(BIN)/python tools/lock.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache build dist bench-out

$(VENV)/.venv:
	@python="$(PYTHON)"; \
	if [ -z "$$python" ]; then for candidate in $(PYTHONS); do \
		python=$$("$$candidate" tools/find_python.py $(PYTHONS) 2>/dev/null) && break; done; fi; \
	test -n "$$python" || { echo "make: no Python 3.11 or newer with the venv module on PATH; set PYTHON=" >&2; exit 1; }; \
	echo "$$python -m venv $(VENV)"; "$$python" -m venv $(VENV)
	@touch $@

# Building the package needs its backend; it comes from a lock file too, and the build itself reaches no network.
$(VENV)/.run: $(VENV)/.venv requirements/base.txt requirements/build.txt pyproject.toml
	$(BIN)/python -m pip install -q --require-hashes -r requirements/base.txt -r requirements/build.txt
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation --no-index --force-reinstall -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	$(BIN)/python -m pip install -q --require-hashes -r requirements/dev.txt
	@touch $@
