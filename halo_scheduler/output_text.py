"""Showing what a job printed: its bytes may be anything, what is shown is plain text.

Colours and cursor movements are left out, a progress bar that was drawn over and over shows its last state, and
bytes that are no text show as a sign in their place.
"""

from __future__ import annotations

import codecs
import math
import re

PROGRESS = b"::progress"
_PROGRESS_LINE = re.compile(
    rb"::progress[ \t]+([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[ \t]+([^\r\n]*))?\r?", re.ASCII
)
_LONGEST_PROGRESS_TEXT = 200
_LONGEST_PENDING = 65_536
# Operating-system commands and their like up to their end, then control sequences, then single escapes.
_ESCAPES = re.compile(
    r"\x1b[\]PX^_].*?(?:\x1b\\|\x07|\x9c|$)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]|\x1b"
)
_MOVES = re.compile(r"(\r|\x08|\x1b\[[02]?K)")
# Everything that is not printed but does something; U+202A–202E and U+2066–2069 turn the direction of writing.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class ShownText:
    """Turns a stream of bytes into plain text, line by line as they are complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pending = ""

    def feed(self, chunk: bytes) -> str:
        """Take in some bytes and return the lines that are complete; an endless one comes in pieces."""
        text = self._pending + self._decoder.decode(chunk)
        whole, newline, self._pending = text.rpartition("\n")
        if len(self._pending) > _LONGEST_PENDING:
            whole, newline, self._pending = text, "", ""
        return _shown_lines(whole) + newline if whole or newline else ""

    def unfinished(self) -> str:
        """Return how the last line stands, without its end."""
        return _shown_lines(self._pending)

    def end(self) -> str:
        """Return the rest of the last line."""
        rest = self._pending + self._decoder.decode(b"", final=True)
        self._pending = ""
        return _shown_lines(rest)


def shown_text(content: bytes) -> str:
    """Return all that a run printed as it is shown."""
    text = content.decode(errors="replace")
    return text if _CONTROLS.search(text) is None else _shown_lines(text)


def plain_line(text: str, longest: int = _LONGEST_PROGRESS_TEXT) -> str:
    """Return one short line of plain text."""
    line = " ".join(_shown_lines(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def last_progress(lines: bytes) -> tuple[float, str] | None:
    """Return the last progress that some whole lines tell of, if any does."""
    position = len(lines)
    while (position := lines.rfind(PROGRESS, 0, position)) >= 0:
        is_at_start = position == 0 or lines[position - 1 : position] == b"\n"
        end = lines.find(b"\n", position)
        line = lines[position : end if end >= 0 else None]
        match = _PROGRESS_LINE.fullmatch(line) if is_at_start else None
        if match is not None and math.isfinite(fraction := float(match[1])) and 0 <= fraction <= 1:
            return fraction, plain_line((match[2] or b"").decode(errors="replace"))
    return None


def _shown_lines(text: str) -> str:
    if text.isprintable():
        return text
    return "\n".join(_shown_line(line) for line in text.split("\n"))


def _shown_line(line: str) -> str:
    """Return what a terminal would show in the end of a line that was drawn over."""
    cells: list[str] = []
    at = 0
    for piece in _MOVES.split(line):
        if piece == "\r":
            at = 0
        elif piece == "\b":
            at = max(0, at - 1)
        elif _MOVES.fullmatch(piece):
            # A line that is erased as a whole is drawn again from its start.
            at = 0 if "2" in piece else at
            del cells[at:]
        else:
            text = _ESCAPES.sub("", piece).replace("\x07", "")
            cells[at : at + len(text)] = text
            at += len(text)
    return _CONTROLS.sub("\ufffd", "".join(cells))
