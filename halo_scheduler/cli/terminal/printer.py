"""Printing what a run prints, as it comes."""

from __future__ import annotations

import shutil
import sys

from halo_scheduler.grammar.text import ShownText

_BACK = "\r\x1b[K"


class Printer:
    """Writes output to the terminal as plain text, or as it is.

    On a terminal a line that is not finished, such as a prompt or a progress bar, is drawn as it stands and drawn
    anew as it changes.
    """

    def __init__(self, *, raw: bool = False, quiet: bool = False) -> None:
        self._raw = raw
        self._quiet = quiet
        self._text = ShownText()
        self._drawn = ""

    def write(self, chunk: bytes) -> None:
        """Write what is complete of some output."""
        if self._quiet:
            return
        if self._raw:
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            return
        self._write_lines(self._text.feed(chunk))

    def draw_unfinished(self) -> None:
        """Show a line that is not finished, on a terminal."""
        if self._quiet or self._raw or not sys.stdout.isatty():
            return
        line = self._text.unfinished()[: shutil.get_terminal_size().columns - 1]
        if line != self._drawn:
            self._drawn = line
            _say(f"{_BACK}{line}")

    def end(self, chunk: bytes) -> None:
        """Write the rest; a last line without an end gets one."""
        self.write(chunk)
        if self._quiet or self._raw:
            return
        rest = self._text.end()
        self._write_lines(f"{rest}\n" if rest else "")

    def _write_lines(self, lines: str) -> None:
        if lines:
            _say(f"{_BACK if self._drawn else ''}{lines}")
            self._drawn = ""


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
