"""The bar that shows itself when something takes long."""

from __future__ import annotations

import io
import sys
from threading import Event

import pytest

from halo_scheduler.cli.terminal import progress_bar
from halo_scheduler.cli.terminal.progress_bar import _Bar, percentage, progress


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
    monkeypatch.setattr(progress_bar, "_PATIENCE_S", patience_s)
    return terminal


def test_slow_imports_show_their_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch)
    with progress("Storing", 10_000) as update:
        update(2_500)
        assert terminal.is_drawn.wait(10)
        update(5_000)
    assert "Storing" in terminal.getvalue()
    assert "5000/10000" in terminal.getvalue()


def test_work_without_a_number_is_shown_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch)
    with progress("Comparing"):
        assert terminal.is_drawn.wait(10)
    assert "Comparing" in terminal.getvalue()


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch, patience_s=60)
    with progress("Storing", 2) as update:
        update(2)
    assert terminal.getvalue() == ""


def test_several_short_waits_are_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch, patience_s=60)
    monkeypatch.setattr(_Bar, "waited_s", 59.99)
    with progress("Comparing"):
        assert terminal.is_drawn.wait(10)
    assert _Bar.waited_s >= 60


def test_work_into_a_file_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(progress_bar, "_PATIENCE_S", 0.0)
    with progress("Storing", 2) as update:
        update(1)
    assert written.getvalue() == ""


def test_a_fault_takes_the_bar_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch)

    def fail() -> None:
        with progress("Storing", 2):
            assert terminal.is_drawn.wait(10)
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fail()
    # The cursor is visible again, on an empty line.
    assert terminal.getvalue().endswith("\x1b[?25h\n\x1b[1A\x1b[2K")


def test_a_percentage_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _at_terminal(monkeypatch)
    with percentage("Copying") as update:
        assert terminal.is_drawn.wait(10)
        update(400, 1_000)
    assert "40%" in terminal.getvalue()


def test_of_nothing_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(_Bar, "update", lambda _self, done: seen.append(done))
    with percentage("Copying") as update:
        update(0, 0)
        update(1, 3)
        update(3, 3)
    assert seen == [100, 33, 100]


def test_a_dumb_terminal_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    _at_terminal(monkeypatch, patience_s=60)
    monkeypatch.setenv("TERM", "dumb")
    bar = _Bar("Storing", 2)
    bar.begin()
    assert not bar._timer.is_alive()
