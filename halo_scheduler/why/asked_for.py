"""Who had asked for a run at the time, or the pace, at which it was planned."""

from __future__ import annotations

from halo_scheduler.grammar.english import assistant_words
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Run, Source
from halo_scheduler.store.events import Event, EventKind
from halo_scheduler.store.store import Store
from halo_scheduler.wording.plans import ADVISERS, duration_in_words

_LONGEST = 300


def asked_for(store: Store, run: Run) -> str:
    """Return why a run that was advised was planned for its slot; nothing for one that was not."""
    if run.slot_at is None or run.source not in (Source.HINT_INTERVAL, Source.HINT_ONCE):
        return ""
    is_pace = run.source is Source.HINT_INTERVAL
    advice = _find_advice(store, run, is_pace=is_pace)
    if advice is None:
        return f"a run was asked for at that {'pace' if is_pace else 'time'}"
    told = advice.detail.get("source")
    who = next((words for source, words in ADVISERS.items() if source == told), "a program")
    who = who if advice.assistant is None else assistant_words(advice.assistant)
    what = f"every {duration_in_words(advice.detail['interval_ms'])}" if is_pace else "at that time"
    reason = plain_line(str(advice.detail.get("reason") or ""), _LONGEST)
    return f"{who} asked for a run {what}{f' ({reason})' if reason else ''}"


def _find_advice(store: Store, run: Run, *, is_pace: bool) -> Event | None:
    """Return the newest advice that gives the slot: what came after the plan was made did not make it."""
    slot_at = run.slot_at or 0
    given = store.events.of_kinds(run.job_id, [EventKind.JOB_HINTED])
    if is_pace:
        fitting = [
            event for event in given if event.at <= slot_at - event.detail.get("interval_ms", slot_at + 1)
        ]
    else:
        fitting = [event for event in given if event.detail.get("next_at") == slot_at]
    return fitting[-1] if fitting else None
