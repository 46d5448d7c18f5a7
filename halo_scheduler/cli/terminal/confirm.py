"""Confirmation at the terminal before something is changed that cannot be taken back easily."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import TextIO

import click

_TERMINAL = "/dev/tty"
_YES = {"y", "yes"}


def confirm(question: str) -> bool | None:
    """Ask at the terminal, even if standard input is a file; None without a terminal."""
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
    """Stop unless the user confirms at the terminal; scripts without a terminal need --yes."""
    answer = confirm(question)
    if answer is None:
        raise click.ClickException("nothing was changed: there is no terminal for the question; add --yes")
    if not answer:
        raise click.ClickException("nothing was changed")


def _open_terminal() -> TextIO | None:
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR | getattr(os, "O_NOCTTY", 0))
    except OSError:
        # Windows has no such file, and a process may have a terminal only as standard input.
        if not sys.stdin.isatty():
            return None
        descriptor = os.dup(sys.stdin.fileno())
    return os.fdopen(descriptor, encoding="utf-8", errors="replace")
