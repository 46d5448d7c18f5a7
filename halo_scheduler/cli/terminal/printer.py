"""Print the output of a run as it arrives."""

from __future__ import annotations

import shutil
import sys

from halo_scheduler.grammar.text import ShownText

_BACK = "\r\x1b[K"


class Printer:
    """Writes output to the terminal, as plain text or raw.

    On a terminal, an unfinished line, such as a prompt or a progress bar, is drawn and redrawn as it changes.
    """

    def __init__(self, *, raw: bool = False, quiet: bool = False) -> None:
        self._raw = raw
        self._quiet = quiet
        self._text = ShownText()
        self._drawn = ""

    def write(self, chunk: bytes) -> None:
        """Write the complete lines of some output."""
        if self._quiet:
            return
        if self._raw:
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            return
        self._write_lines(self._text.feed(chunk))

    def draw_unfinished(self) -> None:
        """Draw the unfinished line, on a terminal."""
        if self._quiet or self._raw or not sys.stdout.isatty():
            return
        line = self._text.unfinished()[: shutil.get_terminal_size().columns - 1]
        if line != self._drawn:
            self._drawn = line
            _write(f"{_BACK}{line}")

    def end(self, chunk: bytes) -> None:
        """Write the rest; an unfinished last line gets a line end."""
        self.write(chunk)
        if self._quiet or self._raw:
            return
        rest = self._text.end()
        self._write_lines(f"{rest}\n" if rest else "")

    def _write_lines(self, lines: str) -> None:
        if lines:
            _write(f"{_BACK if self._drawn else ''}{lines}")
            self._drawn = ""


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
