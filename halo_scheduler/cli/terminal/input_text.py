"""Read texts from standard input or from a file."""

from __future__ import annotations

import sys
from pathlib import Path

import click


def text_of_stdin(what: str) -> str:
    """Return all of standard input."""
    return _decoded(what, "standard input", sys.stdin.buffer.read())


def text_of_file(what: str, path: str) -> str:
    """Return all of a file."""
    try:
        content = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise click.UsageError(f"cannot read {what}: {error}") from None
    return _decoded(what, path, content)


def _decoded(what: str, place: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise click.UsageError(f"cannot read {what}: {place} is not UTF-8 text") from None
