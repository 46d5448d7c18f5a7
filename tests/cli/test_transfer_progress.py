"""The bar that shows itself when something takes long."""

from __future__ import annotations

import io
import sys
from threading import Event

import pytest

from halo_scheduler.cli.terminal import progress_bar as long_work
from halo_scheduler.cli.terminal.progress_bar import _Bar, shown_work


class _Terminal(io.StringIO):
    """A terminal that says when something was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_drawn = Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.is_drawn.set()
        return super().write(text)


def _at_terminal(monkeypatch: pytest.MonkeyPatch, patience_s: float = 0.0) -> _Terminal:
    """Put a terminal in the place of standard error; not in a fixture, as pytest puts its own there after that."""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(long_work, "_PATIENCE_S", patience_s)
    return terminal


def test_work_that_takes_long_is_shown_with_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch)
    with shown_work("Storing", 10_000) as tell:
        tell(2_500)
        assert terminal.is_drawn.wait(10)
        tell(5_000)
    assert "Storing" in terminal.getvalue()
    assert "5000/10000" in terminal.getvalue()


def test_work_without_a_number_is_shown_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch)
    with shown_work("Comparing"):
        assert terminal.is_drawn.wait(10)
    assert "Comparing" in terminal.getvalue()


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch, patience_s=60)
    with shown_work("Storing", 2) as tell:
        tell(2)
    assert terminal.getvalue() == ""


def test_several_short_waits_are_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch, patience_s=60)
    monkeypatch.setattr(_Bar, "waited_s", 59.99)
    with shown_work("Comparing"):
        assert terminal.is_drawn.wait(10)
    assert _Bar.waited_s >= 60


def test_work_into_a_file_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(long_work, "_PATIENCE_S", 0.0)
    with shown_work("Storing", 2) as tell:
        tell(1)
    assert written.getvalue() == ""


def test_a_fault_takes_the_bar_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch)

    def fail() -> None:
        with shown_work("Storing", 2):
            assert terminal.is_drawn.wait(10)
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fail()
    # The cursor is shown again, on a line that is empty.
    assert terminal.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")
