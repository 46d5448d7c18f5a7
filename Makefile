# The two commands of the README: `make run` and `make test`. Both set up whatever is missing first.
.DEFAULT_GOAL := run
.PHONY: run test explore lint bench screenshots dist setup system-packages test-packages clean

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The first of these that is Python 3.11 or newer.
PYTHONS := python3 python3.13 python3.12 python3.11 python

run: setup
	@$(BIN)/halo $(ARGS)

test: setup test-packages lint
	$(BIN)/python -m pytest --numprocesses=logical --maxprocesses=4 --max-worker-restart=0 --dist=loadfile --cov --cov-report=term $(ARGS)

# Other random examples than in `make test`, until one fails or as long as FOR=2h or EXAMPLES=20000 says.
explore: setup test-packages
	@FOR="$(FOR)" EXAMPLES="$(EXAMPLES)" .ci/explore

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 halo_scheduler ui
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin halo_scheduler ui
	$(BIN)/lint-imports --no-logo

bench: setup test-packages
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python benchmarks/schedule.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/work.py
	$(BIN)/python benchmarks/web.py
	$(BIN)/python benchmarks/terminal.py
	$(BIN)/python benchmarks/transfer.py
	$(BIN)/python benchmarks/desktop.py $(ARGS)

screenshots: setup test-packages
	$(BIN)/python docs/screenshots.py

dist: setup
	$(BIN)/python .ci/dist.py

setup: $(READY)

$(READY): pyproject.toml | system-packages
	@for python in $(PYTHONS); do \
		$$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		$$python -m venv --clear $(VENV) && break; \
	done; \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
		rm -rf $(VENV); \
		echo "Please install Python 3.11 or newer with its venv module (Debian: sudo apt-get install -y python3-venv)." >&2; \
		exit 1; }
	$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade pip --editable '.[dev]'
	@touch $@

system-packages:
	@.ci/system-packages run

test-packages:
	@.ci/system-packages test

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
