"""What a run is told about its circumstances, and a preview of what an agent would read."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.actions.prompt import compose, last_lines
from halo_scheduler.actions.run_services import NO_CONTEXT, ChainCause, RunContext
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.templates import variables_in
from halo_scheduler.grammar.text import shown_text
from halo_scheduler.model import JobSpec, Manual, ProcessAction, Prompt, Run, Trigger
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


def context_of(store: Store, job_id: str, spec: JobSpec, run: Run | None) -> RunContext:
    """Return what a run that starts now is told; None is one that only might."""
    told = _told_of_question(store, run)
    prompt = spec.action
    if run is not None and run.caused_by is not None and isinstance(prompt, ProcessAction):
        told = replace(told, chain=_cause(store, run.caused_by))
    if not isinstance(prompt, Prompt):
        return told
    last = store.history.last_real(job_id)
    output = ""
    if last is not None and "last.output" in variables_in(prompt.text):
        output = shown_text(last_lines(store.outputs.read(last.id)))
    agent, no_agent = None, ""
    try:
        agent = store.settings.read().find_agent(prompt.agent)
    except ScheduleError as error:
        no_agent = error.message
    return replace(
        told,
        agent=agent,
        no_agent=no_agent,
        last_outcome="none" if last is None else last.outcome,
        last_output=output,
    )


def _told_of_question(store: Store, run: Run | None) -> RunContext:
    """Return what only a run with an answer is told."""
    question = None
    if run is not None and run.trigger is Trigger.ANSWER:
        question = store.questions.answered_by(run.id)
    if question is None:
        return NO_CONTEXT
    return RunContext(
        question=question.text,
        answer=question.answer,
        work_id=question.work_id,
        asked_by=question.run_id,
    )


def _cause(store: Store, run_id: str) -> ChainCause:
    """Return what is known of the run that started another one; it may have been deleted meanwhile."""
    run = store.runs.get(run_id)
    if run is None:
        return ChainCause(run_id=run_id)
    job = store.jobs.get(run.job_id)
    return ChainCause(
        job_id=run.job_id,
        job_name="" if job is None else job.spec.name,
        run_id=run_id,
        outcome=run.outcome,
        output=store.outputs.read(run_id),
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
