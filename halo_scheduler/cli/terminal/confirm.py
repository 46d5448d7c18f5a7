"""Asking before something is taken away."""

from __future__ import annotations

import sys

import click


def ask_first(question: str, *, yes: bool) -> None:
    """Go on if the person at the terminal says so; a script, which has no terminal, means what it says."""
    if yes or not sys.stdin.isatty():
        return
    # Not on standard output, which may go into a file.
    if not click.confirm(question, err=True):
        raise click.ClickException("nothing was changed")
