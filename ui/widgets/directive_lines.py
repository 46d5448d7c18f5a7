"""Filters directives such as `::progress 0.37` out of an output."""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(rb"::(?:progress|cost|needs-input|halo)(?![A-Za-z0-9_-])")
_ANY = re.compile(rb"(?m)^::(?:progress|cost|needs-input|halo)(?![A-Za-z0-9_-])")
_LONGEST_BEGINNING = len(b"::needs-input ")


class WithoutDirectives:
    """Filters the directives out of an output that arrives in chunks."""

    def __init__(self) -> None:
        self._held = b""
        self._is_within_line = False

    def feed(self, chunk: bytes) -> bytes:
        """Return the part to show; the start of a line is held back until it is known not to be a directive."""
        *lines, rest = (self._held + chunk).split(b"\n")
        shown = bytearray()
        for line in lines:
            if self._is_within_line or not _DIRECTIVE.match(line):
                shown += line + b"\n"
            self._is_within_line = False
        self._held = b""
        if self._is_within_line or not _may_become_directive(rest):
            self._is_within_line |= bool(rest)
            return bytes(shown + rest)
        self._held = rest
        return bytes(shown)

    def end(self) -> bytes:
        """Return what was held back, unless it is a directive."""
        held, self._held = self._held, b""
        return b"" if _DIRECTIVE.match(held) else held


def _may_become_directive(beginning: bytes) -> bool:
    if len(beginning) >= _LONGEST_BEGINNING:
        return _DIRECTIVE.match(beginning) is not None
    return beginning.startswith(b"::") or beginning == b":"


def has_directives(output: bytes | bytearray) -> bool:
    """Return whether an output has directives."""
    return _ANY.search(output) is not None


def without_directives(output: bytes) -> bytes:
    """Return an output without its directives."""
    lines = WithoutDirectives()
    return lines.feed(output) + lines.end()
