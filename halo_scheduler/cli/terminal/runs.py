"""Runs as lines of text: outcome, reason, cost, hint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halo_scheduler.cli.terminal.terminal import cost_words
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Outcome, Run
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.hints import proposal_words

_ANOTHER = "another job"


def run_words(run: Run) -> str:
    """Return the outcome of a run and its reason, in one line."""
    if run.outcome is Outcome.RUNNING and run.error:
        return plain_line(run.error, 500)  # It has not been started yet.
    words = str(run.outcome)
    if run.reason is not None:
        words += f": {run.reason.replace('_', ' ')}"
    if run.outcome is Outcome.RUNNING and run.progress is not None:
        words += f" {run.progress:.0%} {run.progress_text}".rstrip()
    details = [detail for detail in (run.error, run.note) if detail]
    words = f"{words} ({'; '.join(details)})" if details else words
    if run.work_id:
        words += f", item {run.work_id}: {run.work_title}" if run.work_title else f", item {run.work_id}"
    if run.cost is not None:
        words += f", cost {cost_words(run.cost)}"
    if run.proposal is not None and (proposed := proposal_words(run.proposal)):
        words += f", hint: {proposed}"
    return plain_line(words, 500)


def causes_of(scheduler: Scheduler, runs: Sequence[Run]) -> dict[str, str]:
    """Return the names of the jobs that triggered some runs, by the id of the triggering run."""
    caused_by = {run.caused_by for run in runs if run.caused_by is not None}
    if not caused_by:
        return {}
    names = {job.id: job.name for job in (*scheduler.list_removed(), *scheduler.list_jobs())}
    return {
        run_id: names.get(run.job_id, _ANOTHER) for run_id, run in scheduler.runs.get_many(caused_by).items()
    }


def cause_words(run: Run, causes: Mapping[str, str]) -> str:
    """Return which job triggered a run: ", after backup"; nothing for other triggers."""
    return "" if run.caused_by is None else f", after {causes.get(run.caused_by, _ANOTHER)}"


def run_data(run: Run) -> dict[str, object]:
    """Return a run as JSON data."""
    return run.to_dict() | {"duration_ms": run.duration_ms}
