"""A progress bar on the terminal for work that takes longer than a second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

import click

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

_PATIENCE_S = 1.0
_WHOLE = 100
_MOST_DRAWINGS = 200
_CLEAR_LINE = "\r\x1b[K"
_CLEAR_LINE_ABOVE = "\x1b[1A\x1b[2K"


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show progress on standard error; yield a function that takes how many items are done.

    Without a total, only the label is shown.
    """
    with _showing(_Bar(label, total)) as bar:
        yield bar.update


@contextmanager
def percentage(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress in percent; yield a function that takes what is done and the total."""
    with _showing(_Bar(label, _WHOLE, in_percent=True)) as bar:
        yield lambda done, total: bar.update(_WHOLE * done // total if total else _WHOLE)


@contextmanager
def _showing(bar: _Bar) -> Iterator[_Bar]:
    bar.begin()
    try:
        yield bar
    finally:
        bar.end()


class _Bar:
    """Appears only after a second, and disappears at the end."""

    waited_s: ClassVar = 0.0
    """How long earlier work of this command took: several short waits in a row feel like a long one."""

    def __init__(self, label: str, total: int | None, *, in_percent: bool = False) -> None:
        self._label = label
        self._total = total
        self._in_percent = in_percent
        self._lock = Lock()
        self._done = 0
        self._has_ended = False
        self._is_shown = False
        self._bar: ProgressBar[int] | None = None
        self._began = monotonic()
        self._timer = Timer(max(_PATIENCE_S - _Bar.waited_s, 0), self._show)
        self._timer.daemon = True

    def begin(self) -> None:
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            self._timer.start()

    def update(self, done: int) -> None:
        with self._lock:
            step, self._done = done - self._done, done
            if self._bar is not None:
                self._bar.update(step)

    def end(self) -> None:
        self._timer.cancel()
        _Bar.waited_s += monotonic() - self._began
        with self._lock:
            self._has_ended = True
            if self._bar is not None:
                self._bar.render_finish()
            if self._is_shown:
                click.echo(_CLEAR_LINE if self._bar is None else _CLEAR_LINE_ABOVE, nl=False, err=True)

    def _show(self) -> None:
        with self._lock:
            if self._has_ended:
                return
            self._is_shown = True
            if self._total is None:
                click.echo(f"{self._label}…", nl=False, err=True)
                return
            self._bar = click.progressbar(
                length=self._total,
                label=self._label,
                show_pos=not self._in_percent,
                file=sys.stderr,
                update_min_steps=max(self._total // _MOST_DRAWINGS, 1),
            )
            self._bar.update(self._done)
            self._bar.render_progress()
