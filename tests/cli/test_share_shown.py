"""The bar of what nobody would count."""

from __future__ import annotations

import io
import sys

import pytest

from halo_scheduler.cli.terminal import progress_bar as long_work
from halo_scheduler.cli.terminal.progress_bar import shown_share


class _Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_share_is_shown_in_percent(monkeypatch: pytest.MonkeyPatch, no_color: str) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(long_work, "_PATIENCE_S", 3_600)
    bar = long_work._Bar("Copying", 100, is_share=True)
    bar._show()
    bar.tell(40)
    bar.end()
    assert "40%" in terminal.getvalue()
    assert ("\x1b[3" in terminal.getvalue()) == (not no_color)


def test_of_nothing_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(long_work._Bar, "tell", lambda _self, done: told.append(done))
    with shown_share("Copying") as tell:
        tell(0, 0)
        tell(1, 3)
        tell(3, 3)
    assert told == [100, 33, 100]
