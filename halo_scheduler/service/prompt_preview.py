"""Previews: what an agent would read if its job started now."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.actions.prompt import compose
from halo_scheduler.actions.run_context import context_of
from halo_scheduler.actions.run_services import ChainCause
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.templates import variables_in
from halo_scheduler.model import JobSpec, Manual, Prompt
from halo_scheduler.store.store import Store
from halo_scheduler.work_sources.item import Item

_ITEM = Item(
    id="(its number or file name)",
    title="(the item's title)",
    url="(where it can be seen)",
    body="(its description)",
    labels=("(its labels)",),
)
_QUESTION, _ANSWER = "(what the agent asked)", "(what you answered)"
_CAUSE = ChainCause(
    job_name="(the job before this one)",
    run_id="(the id of its run)",
    outcome="(how it ended)",
    output=b"(what it printed)",
)


def preview_prompt(store: Store, spec: JobSpec, job_id: str | None, now_ms: int) -> str:
    """Return a job's prompt, filled in; words in brackets stand for what is not known before a run starts."""
    prompt = spec.action
    if not isinstance(prompt, Prompt):
        raise ScheduleError("only a prompt can be previewed", path="action")
    context = context_of(store, job_id or "", spec, None)
    used = variables_in(prompt.text)
    if used & {"question", "answer"}:
        context = replace(context, question=_QUESTION, answer=_ANSWER)
    if any(name.startswith("chain.") for name in used):
        context = replace(context, chain=_CAUSE)
    return compose(
        prompt,
        job_name=spec.name,
        started_at=now_ms,
        slot_at=None if isinstance(spec.schedule, Manual) else now_ms,
        context=context,
        item=None if prompt.work_source is None else _ITEM,
    )
