"""What a run prints, on a terminal and elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from halo_scheduler.cli.terminal.following import Printer


class _Terminal(io.StringIO):
    """A terminal of twenty columns."""

    def isatty(self) -> bool:
        return True


def _terminal(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """Print to a terminal from here on; a fixture would do so too early, as pytest captures each phase anew."""
    found = _Terminal()
    monkeypatch.setattr(sys, "stdout", found)
    monkeypatch.setenv("COLUMNS", "20")
    return found


def test_a_last_line_without_an_end_gets_one(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer()
    printer.write(b"one\ntw")
    printer.draw_unfinished()
    printer.end(b"o")
    assert capsys.readouterr().out == "one\ntwo\n"


def test_an_unfinished_line_is_redrawn_as_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    printer = Printer()
    for chunk in (b"10%", b"\r20%", b"", b"\rdone\nnext"):
        printer.write(chunk)
        printer.draw_unfinished()
    printer.end(b"")
    back = "\r\x1b[K"
    assert terminal.getvalue() == f"{back}10%{back}20%{back}done\n{back}next{back}next\n"


def test_an_unfinished_line_stays_in_its_row_and_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _terminal(monkeypatch)
    printer = Printer()
    printer.write(b"\x1b]0;title\x07" + b"x" * 50)
    printer.draw_unfinished()
    assert terminal.getvalue() == "\r\x1b[K" + "x" * 19


def test_raw_is_as_it_was(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    printer = Printer(raw=True)
    printer.write(b"\x1b[31mred\x00")
    printer.end(b"\xff")
    assert capfdbinary.readouterr().out == b"\x1b[31mred\x00\xff"


def test_quiet_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer(quiet=True)
    printer.write(b"one\n")
    printer.end(b"two")
    assert capsys.readouterr().out == ""
