"""What a command prints passes through here: nothing in it is invisible, and no name acts on the terminal.

Only what may hold control characters below a space, such as a command or a prompt, has to be escaped before: our own
colours are made of those.
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
"""How streams write what their encoding does not have; the first use of this module makes it known to Python."""
# Each takes one column, as what it stands for: tables stay aligned.
_SIGNS = str.maketrans("●■▲◌⏸▸◆…–·→", "*x!-=>?.-->")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_SIGNS)
    return "".join(sign if sign.isascii() else "?" for sign in text), error.end


codecs.register_error(PLAIN_SIGNS, _replaced)


@contextmanager
def escaped_streams() -> Iterator[None]:
    """Escape invisible characters in all that is written to standard output and standard error meanwhile."""
    out, err = (cast("TextIO", _EscapedStream(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


class _EscapedStream:
    """Writes to another stream, with escapes in the place of characters that nobody could see."""

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
            # Given a number, click would write to a Windows console past us.
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
