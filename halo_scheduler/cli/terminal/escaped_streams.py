"""Escape invisible characters in everything that a command prints, so that no name can act on the terminal.

ASCII control characters pass, because our own colours consist of them. Texts that may contain them, such as commands
and prompts, must be escaped before.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from halo_scheduler.grammar.text import shown_styled

PLAIN_SIGNS = "halo-plain-signs"
"""The name of our error handler for characters that an encoding lacks; importing this module registers it."""
# Each is one column wide, like the original, so that tables stay aligned.
_SIGNS = str.maketrans("●■▲◌⏸▸◆…–·→", "*x!-=>?.-->")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_SIGNS)
    return "".join(sign if sign.isascii() else "?" for sign in text), error.end


codecs.register_error(PLAIN_SIGNS, _replaced)


@contextmanager
def escaped_streams() -> Iterator[None]:
    """Escape invisible characters written to standard output and standard error."""
    out, err = (cast("TextIO", _EscapedStream(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


class _EscapedStream:
    """Writes to another stream, with invisible characters escaped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(shown_styled(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def fileno(self) -> int:
        if os.name == "nt":
            # With a file descriptor, click would write to a Windows console directly.
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
