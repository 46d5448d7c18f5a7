"""A bar for work that takes longer than a second, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_S = 1.0


@contextmanager
def shown_work(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give a function to tell how much of something is done; whoever waits for it sees it on standard error."""
    with ExitStack() as stack:
        yield _Bar(what, total, stack).tell


class _Bar:
    """Shows itself only when the work takes long: most does not."""

    def __init__(self, what: str, total: int, stack: ExitStack) -> None:
        self._what = what
        self._total = total
        self._stack = stack
        self._began = monotonic()
        self._shown: tuple[Progress, TaskID] | None = None

    def tell(self, done: int) -> None:
        if self._shown is None:
            if not sys.stderr.isatty() or monotonic() - self._began < _PATIENCE_S:
                return
            self._shown = self._show()
        progress, task = self._shown
        progress.update(task, completed=done)

    def _show(self) -> tuple[Progress, TaskID]:
        from rich.console import Console  # noqa: PLC0415 - for those who have to wait
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._stack.enter_context(progress)
        return progress, progress.add_task(self._what, total=self._total)
