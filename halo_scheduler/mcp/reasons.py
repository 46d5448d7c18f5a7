"""Why a job is as it is, in sentences: what explains its plan, and why runs failed or did not happen."""

from __future__ import annotations

from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Job, Outcome, Run, SkipReason
from halo_scheduler.service.lookup import open_questions
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.plans import Explanation, when_in_words

_RECENT = 10
_LONGEST = 500
_WORDS = {
    Outcome.FAILURE: "it failed",
    Outcome.TIMEOUT: "it was stopped, as it took too long",
    Outcome.CANCELLED: "it was stopped by somebody",
    Outcome.SKIPPED: "it was left out",
    Outcome.MISSED: "its time was missed",
    Outcome.INTERRUPTED: "it was interrupted",
}
_REASONS = {
    SkipReason.DISABLED: "it was disabled",
    SkipReason.PAUSED: "it was paused",
    SkipReason.ALREADY_RUNNING: "it was still running",
    SkipReason.AT_CAPACITY: "there was no place",
    SkipReason.NOT_DUE: "it was not due",
    SkipReason.NO_WORK: "there was nothing to do",
    SkipReason.CONDITION: "its conditions did not hold in time",
    SkipReason.QUIET_TIME: "it fell due in a quiet time",
    SkipReason.CAP: "it had reached its cap for the day",
    SkipReason.NEEDS_INPUT: "it waited for a person's answer",
    SkipReason.SOURCE_UNAVAILABLE: "its work items could not be fetched",
    SkipReason.MISSED: "Halo was not running",
    SkipReason.UNSUPPORTED_TYPE: "nothing here can run such a job",
}


def reasons(scheduler: Scheduler, job: Job, explanation: Explanation, now_ms: int) -> list[str]:
    """Return everything that keeps a job from running, or lets it run, and how its last runs ended."""
    runs = scheduler.get_run_log(job.id, limit=_RECENT)
    return [
        *_engine(scheduler),
        *explanation.sentences,
        *(
            f"It asked this {when_in_words(question.asked_at, now_ms)} and waits for a person's answer: "
            f"{plain_line(question.text, _LONGEST)}"
            for question in open_questions(scheduler, job.id)
        ),
        *(_ending(run, now_ms) for run in runs if run.outcome in _WORDS),
    ]


def _engine(scheduler: Scheduler) -> list[str]:
    if scheduler.status().state == "running":
        return []
    return ["Nothing runs the jobs at the moment: Halo is not running."]


def _ending(run: Run, now_ms: int) -> str:
    at = run.started_at or run.finished_at or run.slot_at or 0
    because = f", because {_REASONS[run.reason]}" if run.reason is not None else ""
    details = "; ".join(text for text in (run.error, run.note) if text)
    said = plain_line(f": {details}" if details else "", _LONGEST)
    when = when_in_words(at, now_ms)
    return f"{when[0].upper()}{when[1:]} {_WORDS[run.outcome]}{because}{said}."
