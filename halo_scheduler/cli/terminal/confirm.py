"""Confirmation before something is removed."""

from __future__ import annotations

import sys

import click


def confirm_removal(question: str, *, yes: bool) -> None:
    """Ask for confirmation; without a terminal, as in scripts, go on without asking."""
    if yes or not sys.stdin.isatty():
        return
    # On standard error, because standard output may be a file.
    if not click.confirm(question, err=True):
        raise click.ClickException("cancelled; nothing was changed")
