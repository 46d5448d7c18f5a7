"""What every test needs: no window on the developer's screen, no surprises from the machine's time zone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from halo_scheduler.schedule.zone import machine_zone

pytest_plugins = ["desktop_fixtures"]

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# What the developer's own profile does is no matter of the tests.
os.environ["SHELL"] = "/bin/sh"


@pytest.fixture
def machine_in_berlin() -> Iterator[None]:
    """Let the machine stand in Berlin, also for the C library, which Qt's dates make remember where it stood."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        machine_zone.cache_clear()
        yield
    time.tzset()
    machine_zone.cache_clear()
