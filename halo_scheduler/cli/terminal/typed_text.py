"""Texts that are too long to type: from standard input, or from a file."""

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
        raise click.UsageError(f"{what} cannot be read: {error}") from None
    return _decoded(what, path, content)


def _decoded(what: str, place: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise click.UsageError(f"{what} cannot be read: {place} is no text in UTF-8") from None
