"""What every test needs: no window on the developer's screen, no surprises from the machine's time zone."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from halo_scheduler.schedule.zone import machine_zone

pytest_plugins = ["desktop_fixtures"]

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# What the developer's own profile does is no matter of the tests.
os.environ["SHELL"] = "/bin/sh"


@pytest.fixture
def machine_in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the machine stand in Berlin."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    machine_zone.cache_clear()
    yield
    machine_zone.cache_clear()
