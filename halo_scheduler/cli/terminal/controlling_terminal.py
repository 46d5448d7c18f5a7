"""The terminal a command was typed in, also when its standard input is something else."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TextIO

import click

_TERMINAL = "/dev/tty"
_YES = {"y", "yes"}


def confirm(question: str) -> bool | None:
    """Ask the person at the terminal, and return what they say; None when there is nobody to ask."""
    terminal = _open_terminal()
    if terminal is None:
        return None
    sys.stdout.flush()
    with closing(terminal):
        os.write(terminal.fileno(), f"{question} [y/N]: ".encode())
        answer = terminal.readline()
        if not answer.endswith("\n"):
            os.write(terminal.fileno(), b"\n")
    return answer.strip().lower() in _YES


def require_yes(question: str) -> None:
    """Go on only if the person at the terminal says so."""
    answer = confirm(question)
    if answer is None:
        raise click.ClickException("nothing was stored: there is no terminal to ask on; to do it, add --yes")
    if not answer:
        raise click.ClickException("nothing was stored")


def _open_terminal() -> TextIO | None:
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, AttributeError):
        # Elsewhere there is no such file: then it is standard input, or nothing.
        if os.name == "posix" or not sys.stdin.isatty():
            return None
        descriptor = os.dup(sys.stdin.fileno())
    return os.fdopen(descriptor, encoding="utf-8", errors="replace")
