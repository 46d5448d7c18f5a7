"""The Qt that is installed does not have the faults we know of."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QTimer


@pytest.mark.usefixtures("qapp")
def test_void_calls_keep_the_references_to_none() -> None:
    timer = QTimer()
    before = sys.getrefcount(None)
    for interval_ms in range(20_000):
        timer.setInterval(interval_ms)
    assert abs(sys.getrefcount(None) - before) < 1_000
