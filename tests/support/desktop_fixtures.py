"""What the tests of the desktop program share: a desktop to use it on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication
from real_desktop import Desktop

from halo_scheduler.service.scheduler import Scheduler
from ui.style.theme import Appearance

_PICTURES = Path(__file__).parents[2] / "build" / "e2e"


@pytest.fixture
def styled(qapp: QApplication) -> Iterator[None]:
    """Let windows have the program's style sheet."""
    Appearance().apply()
    yield
    qapp.setStyleSheet("")


@pytest.fixture
def large_letters(qapp: QApplication) -> Iterator[None]:
    """Let the program have the letters of a desktop with a large font."""
    before = qapp.font()
    large = QFont(before)
    large.setPointSizeF(17)
    qapp.setFont(large)
    Appearance().apply()
    yield
    qapp.setStyleSheet("")
    qapp.setFont(before)


@pytest.fixture
def bare_desktop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Desktop]:
    """Have a desktop without a tray; its pictures are kept in a folder named after the test."""
    with Desktop(tmp_path / "desktop", _PICTURES / request.node.name) as made:
        for name in ("HALO_HOME", "XDG_RUNTIME_DIR"):
            monkeypatch.setenv(name, made.environment[name])
        yield made


@pytest.fixture
def desktop(bare_desktop: Desktop) -> Iterator[Desktop]:
    """Have a desktop with a tray."""
    with bare_desktop.tray():
        yield bare_desktop


@pytest.fixture
def scheduler(bare_desktop: Desktop) -> Iterator[Scheduler]:
    """Open the database that the program on the desktop uses; its user has been greeted before."""
    Path(bare_desktop.environment["HALO_HOME"]).mkdir(mode=0o700)
    with Scheduler.open() as opened:
        opened.settings.change(autostart_asked=True)
        yield opened
