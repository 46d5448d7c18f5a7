"""Previews: what an agent would read if its job started now."""

from __future__ import annotations

from halo_scheduler.engine.occasions import occasion_of
from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import JobSpec, Prompt
from halo_scheduler.prompt_text import NOTHING_TO_SAY, render
from halo_scheduler.schedule.describe import local_time
from halo_scheduler.store.store import Store

_SAMPLES = {
    "question": "(what the agent asked)",
    "answer": "(your answer)",
    "work.id": "(the item's id)",
    "work.title": "(the item's title)",
    "work.url": "(the item's address)",
    "work.body": "(the item's description)",
    "work.labels": "(the item's labels)",
}


def preview_prompt(store: Store, spec: JobSpec, job_id: str | None, now_ms: int) -> str:
    """Return the rendered prompt of a job; words in brackets stand for what is not known before it starts."""
    if not isinstance(spec.action, Prompt):
        raise ScheduleError("only a prompt can be previewed", path="action")
    occasion = occasion_of(store, job_id or "", spec, None)
    moment = local_time(now_ms)
    values = {
        **_SAMPLES,
        "date": moment.strftime("%Y-%m-%d"),
        "time": moment.strftime("%H:%M"),
        "slot": moment.isoformat(),
        "job.name": spec.name,
        "last.outcome": occasion.last_outcome,
        "last.output": occasion.last_output,
    }
    text = render(spec.action.text, values)
    if not text.strip():
        text = NOTHING_TO_SAY
    return text
