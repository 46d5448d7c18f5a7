"""A bar for work that takes longer than a second, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_S = 1.0
_WHOLE = 100


@contextmanager
def shown_work(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Give a function to tell how much of something is done; whoever waits for it sees it on standard error.

    Without a total it only shows that something is being done.
    """
    with _showing(_Bar(what, total)) as bar:
        yield bar.tell


@contextmanager
def shown_share(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function to tell how much of how much is done, of what nobody would count."""
    with _showing(_Bar(what, _WHOLE, is_share=True)) as bar:
        yield lambda done, total: bar.tell(_WHOLE * done // total if total else _WHOLE)


@contextmanager
def _showing(bar: _Bar) -> Iterator[_Bar]:
    bar.begin()
    try:
        yield bar
    finally:
        bar.end()


class _Bar:
    """Shows itself only when the work takes long: most does not."""

    waited_s: ClassVar = 0.0
    """How long the work before took: several short waits are a long one for whoever waits."""

    def __init__(self, what: str, total: int | None, *, is_share: bool = False) -> None:
        self._what = what
        self._total = total
        self._is_share = is_share
        self._lock = Lock()
        self._done = 0
        self._has_ended = False
        self._shown: tuple[Progress, TaskID] | None = None
        self._began = monotonic()
        self._timer = Timer(max(_PATIENCE_S - _Bar.waited_s, 0), self._show)
        self._timer.daemon = True

    def begin(self) -> None:
        if sys.stderr.isatty():
            self._timer.start()

    def tell(self, done: int) -> None:
        with self._lock:
            self._done = done
            if self._shown is not None:
                progress, task = self._shown
                progress.update(task, completed=done)

    def end(self) -> None:
        self._timer.cancel()
        _Bar.waited_s += monotonic() - self._began
        with self._lock:
            self._has_ended = True
            if self._shown is not None:
                self._shown[0].stop()

    def _show(self) -> None:
        with self._lock:
            if self._has_ended:
                return
            progress = _progress(counts=self._total is not None, is_share=self._is_share)
            task = progress.add_task(self._what, total=self._total, completed=self._done)
            progress.start()
            self._shown = (progress, task)


def _progress(*, counts: bool, is_share: bool) -> Progress:
    from rich.console import Console  # noqa: PLC0415 - for those who have to wait
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    number = TaskProgressColumn() if is_share else MofNCompleteColumn()
    numbers = (number, TimeRemainingColumn()) if counts else ()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *numbers,
        console=Console(stderr=True),
        transient=True,
    )
