"""Gathering what a run is told about its circumstances."""

from __future__ import annotations

from halo_scheduler.actions.prompt import LONGEST_LAST_OUTPUT
from halo_scheduler.actions.work import NO_OCCASION, Occasion
from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import JobSpec, Prompt, Run, Trigger
from halo_scheduler.output_text import shown_text
from halo_scheduler.prompt_text import variables_in
from halo_scheduler.store.store import Store


def occasion_of(store: Store, job_id: str, spec: JobSpec, run: Run | None) -> Occasion:
    """Return what a run that starts now is told; None is one that only might."""
    told = _told_of_question(store, run)
    prompt = spec.action
    if not isinstance(prompt, Prompt):
        return told
    last = store.history.last_real(job_id)
    output = ""
    if last is not None and "last.output" in variables_in(prompt.text):
        output = shown_text(_end_of(store.outputs.read(last.id)))
    agent, no_agent = None, ""
    try:
        agent = store.settings.read().find_agent(prompt.agent)
    except ScheduleError as error:
        no_agent = error.message
    return Occasion(
        agent=agent,
        no_agent=no_agent,
        last_outcome="none" if last is None else last.outcome,
        last_output=output,
        question=told.question,
        answer=told.answer,
        work_id=told.work_id,
        asked_by=told.asked_by,
    )


def _told_of_question(store: Store, run: Run | None) -> Occasion:
    """Return what only a run with an answer is told."""
    question = None
    if run is not None and run.trigger is Trigger.ANSWER:
        question = store.questions.answered_by(run.id)
    if question is None:
        return NO_OCCASION
    return Occasion(
        question=question.text,
        answer=question.answer,
        work_id=question.work_id,
        asked_by=question.run_id,
    )


def _end_of(output: bytes) -> bytes:
    """Return the last lines of what was printed; they begin whole, unless there is but one."""
    end = output[-LONGEST_LAST_OUTPUT:]
    return end if len(end) == len(output) else end.partition(b"\n")[2] or end
