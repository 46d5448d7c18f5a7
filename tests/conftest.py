"""What every test needs: no window on the developer's screen, no surprises from the machine's time zone."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import pytest
from pytestqt.qtbot import QtBot

from halo_scheduler.grammar.zone import machine_zone

pytest_plugins = ["desktop_fixtures", "engine_fixtures", "morning"]

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# What the developer's own profile does is no matter of the tests.
os.environ["SHELL"] = "/bin/sh"
# Jobs run at home unless they say where; an account of a machine that only builds may have none.
if not Path.home().is_dir():
    os.environ["HOME"] = tempfile.gettempdir()
# Readline, which pytest loads, sets them behind Python's back: whatever is started then, the workers of a test run too,
# would take them for the size of every terminal.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)
    os.unsetenv(_name)
# How long an example takes says more about what else the machine does. The examples are the same each time: what fails
# has to do with what was changed. With HALO_EXPLORE set, others are tried.
hypothesis.settings.register_profile(
    "halo",
    hypothesis.settings(),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="HALO_EXPLORE" not in os.environ,
)
hypothesis.settings.load_profile("halo")
# How long is waited for what happens soon: only a test that fails takes so long, on however busy a machine.
_LONG_MS = 60_000
# So many objects may be garbage before it is looked for.
_MOST_NEW_OBJECTS = 50_000


def pytest_configure() -> None:
    """Let no thread of a test find garbage: destroying there the Qt objects of another test can stop both for ever.

    See docs/adr/0010.
    """
    gc.disable()
    _be_patient()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts what it puts into the background so; those whom tests interrupt would never notice.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _be_patient() -> None:
    """Let a test wait longer than pytest-qt would where it does not say how long."""
    waits = (
        QtBot.waitUntil,
        QtBot.waitSignal,
        QtBot.waitSignals,
        QtBot.waitActive,
        QtBot.waitExposed,
        QtBot.waitCallback,
    )
    for wait in waits:
        assert wait.__kwdefaults__ is not None
        wait.__kwdefaults__["timeout"] = _LONG_MS


def pytest_collection_finish() -> None:
    """Take out of every later search what is there before the first test, and stays."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logfinish() -> None:
    """Throw the garbage away between two tests, where nothing else goes on."""
    if gc.get_count()[0] >= _MOST_NEW_OBJECTS:
        gc.collect()


def pytest_runtest_setup() -> None:
    """Forget where the machine stood in the test before."""
    machine_zone.cache_clear()


@pytest.fixture
def machine_in_berlin() -> Iterator[None]:
    """Let the machine stand in Berlin."""
    with _machine_in("Europe/Berlin"):
        yield


@pytest.fixture
def machine_in_monrovia() -> Iterator[None]:
    """Let the machine stand in Monrovia, which was 44 minutes and 30 seconds behind UTC until 1972."""
    with _machine_in("Africa/Monrovia"):
        yield


@pytest.fixture
def machine_in_utc() -> Iterator[None]:
    """Let the machine go by UTC."""
    with _machine_in("UTC"):
        yield


@contextmanager
def _machine_in(zone: str) -> Iterator[None]:
    """Let the machine stand there also for the C library, which Qt's dates make remember where it stood."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        machine_zone.cache_clear()
        yield
    time.tzset()
    machine_zone.cache_clear()
