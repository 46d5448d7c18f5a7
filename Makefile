# The two commands of the README: `make run` and `make test`. Both set up whatever is missing first.
.DEFAULT_GOAL := run
.PHONY: run test docs explore lint bench bench-gate screenshots dist test-dist bundle appimage test-bundle deb test-deb lock setup test-packages package-packages clean

VENV := .venv
BIN := $(VENV)/bin
# What is set up already: the program, what it needs of the system, the tools to develop it, the tools to release it.
RUNNABLE := $(VENV)/.runnable
SYSTEM := $(VENV)/.system
READY := $(VENV)/.ready
RELEASE := $(VENV)/.release
# Packages are installed in the pinned versions, checked by their hashes; LOCKED=no takes the newest ones that fit.
LOCKED ?= yes
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
# The first of these that is Python 3.11 or newer.
PYTHONS := python3 python3.13 python3.12 python3.11 python

run: $(RUNNABLE) $(SYSTEM)
	@exec $(BIN)/halo $(ARGS)

test: setup test-packages lint docs
	$(BIN)/python -m pytest --numprocesses=logical --maxprocesses=4 --max-worker-restart=0 --dist=loadfile --cov --cov-report=term $(ARGS)

# The manual, into resources/manual: the Help menu and `halo manual` find it there, and the wheel brings it along.
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

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
	$(BIN)/python benchmarks/events.py
	$(BIN)/python benchmarks/web.py
	$(BIN)/python benchmarks/webhooks.py
	$(BIN)/python benchmarks/terminal.py
	$(BIN)/python benchmarks/transfer.py
	$(BIN)/python benchmarks/desktop.py $(ARGS)

# Fail when a ratio against a peer is worse than recorded by more than 30 %.
bench-gate: setup
	$(PIP) --editable '.[bench]'
	$(BIN)/python benchmarks/gate.py

screenshots: setup test-packages
	$(BIN)/python docs/screenshots.py

# The source archive, the wheel and its list of components, in dist/.
dist: docs
	$(BIN)/python packaging/dist.py

# Check what `make dist` builds, and use it as pipx installs it. Needs the package index.
test-dist: $(RELEASE) docs
	packaging/test-dist

# The program with its own Python and Qt, in one folder and as an archive with an installer.
bundle: docs package-packages
	packaging/bundle/build

# The bundle as one file. Needs appimagetool.
appimage: bundle
	packaging/bundle/appimage

test-bundle:
	packaging/bundle/test

# The Debian package, of the bundle.
deb: bundle
	$(BIN)/python packaging/deb.py
	lintian --fail-on error dist/halo-scheduler_*.deb

# Install, use, upgrade, remove and purge it in a fresh Debian. Needs root and Debian's packages.
test-deb: deb
	DEB_COMPRESSION=gzip $(BIN)/python packaging/deb.py 0.0.1
	packaging/deb/test dist/halo-scheduler_0.0.1_*.deb dist/halo-scheduler_$(VERSION)_*.deb
	rm dist/halo-scheduler_0.0.1_*.deb

# Pin the newest packages that fit: UPGRADE=yes also replaces pins that still do.
lock: $(RELEASE)
	UPGRADE="$(UPGRADE)" packaging/lock
	$(BIN)/python packaging/third_party.py

setup: $(READY)

$(RUNNABLE): pyproject.toml requirements/build.txt requirements/run.txt
	@.ci/system-packages run || true
	@for python in $(PYTHONS); do \
		$$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		$$python -m venv --clear $(VENV) && break; \
	done; \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
		rm -rf $(VENV); \
		echo "Please install Python 3.11 or newer with its venv module (Debian: sudo apt-get install -y python3-venv)." >&2; \
		exit 1; }
	@rm -rf *.egg-info # it may name an earlier version
ifeq ($(LOCKED),yes)
	@$(PIP) --require-hashes -r requirements/build.txt -r requirements/run.txt || { \
		echo "To try other versions than the pinned ones: make LOCKED=no" >&2; exit 1; }
	@$(PIP) --no-deps --no-build-isolation --editable .
else
	$(PIP) --upgrade pip --editable .
endif
	@touch $@

# Asked again at each start until nothing is missing.
$(SYSTEM): | $(RUNNABLE)
	@if .ci/system-packages run; then touch $@; fi

$(READY): $(RUNNABLE) requirements/ci.txt | $(SYSTEM)
ifeq ($(LOCKED),yes)
	$(PIP) --require-hashes -r requirements/ci.txt
else
	$(PIP) --editable '.[dev]'
endif
	@touch $@

$(RELEASE): $(READY) requirements/release.txt
	$(PIP) --require-hashes -r requirements/release.txt
	@touch $@

package-packages:
	@.ci/system-packages package

test-packages:
	@.ci/system-packages test || true

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
