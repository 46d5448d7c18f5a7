"""Searching what runs printed: page by page, newest first, so that whoever asked can stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from halo_scheduler.errors import SecretError
from halo_scheduler.grammar.text import shown_text
from halo_scheduler.model import Outcome, Run
from halo_scheduler.store.history import RunFilter, RunHistory

_PAGE = 50


def search(
    history: RunHistory,
    text: str,
    chosen: RunFilter,
    get_output: Callable[[str], bytes],
    is_cancelled: Callable[[], bool],
) -> Iterator[Run | None]:
    """Yield the runs whose output, as it is shown, has the text in it, whatever its case; None after each page."""
    wanted = text.casefold()
    while not is_cancelled():
        page = history.outputs(chosen, _PAGE)
        for run_id, outcome, stored in page:
            output = _live_output(run_id, get_output) if outcome is Outcome.RUNNING else stored
            if output and wanted in shown_text(output).casefold():
                yield from history.get_many([run_id]).values()
        if len(page) < _PAGE:
            return
        yield None
        chosen = replace(chosen, before=page[-1][0])


def _live_output(run_id: str, get_output: Callable[[str], bytes]) -> bytes:
    try:
        return get_output(run_id)
    except SecretError:
        return b""  # It can be searched once it has ended and its secrets were taken out.
