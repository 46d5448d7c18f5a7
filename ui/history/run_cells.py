"""The cells of the run table."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache

from PySide6.QtCore import QCoreApplication

from halo_scheduler.model import Outcome, Run, Trigger
from halo_scheduler.wording.measures import full_moment, moment_in_words, took_words
from halo_scheduler.wording.runs import trigger_words
from ui.backend.questions import item_words
from ui.style.wording import (
    ago,
    one_line,
    outcome_words,
    plain_tooltip,
    run_words,
)

from .choice import JobName, run_at

# A shorter delay is not worth showing.


class Column(IntEnum):
    """The columns from left to right."""

    OUTCOME = 0
    JOB = 1
    WHEN = 2
    TOOK = 3
    HOW = 4


def tr(text: str) -> str:
    """Return a translated text."""
    return QCoreApplication.translate("RunTable", text)


def heading(column: int) -> str:
    """Return a column's heading."""
    return {
        Column.OUTCOME: tr("Outcome"),
        Column.JOB: tr("Job"),
        Column.WHEN: tr("When"),
        Column.TOOK: tr("Duration"),
        Column.HOW: tr("Started"),
    }[Column(column)]


def cell_text(run: Run, job: JobName, column: int, now_ms: int) -> str:
    """Return the text of a cell."""
    match Column(column):
        case Column.OUTCOME:
            return _outcome(run)
        case Column.JOB:
            return job_words(job)
        case Column.WHEN:
            return ago(run_at(run), now_ms)
        case Column.TOOK:
            return took_words(run.duration_ms)
        case Column.HOW:
            return how_words(run)


def cell_tip(run: Run, job: JobName, column: int) -> str:
    """Return the tooltip of a cell."""
    match Column(column):
        case Column.OUTCOME:
            return plain_tooltip(run_words(run))
        case Column.JOB:
            return plain_tooltip("\n".join(filter(None, [job_words(job), _item_tip(run)])))
        case Column.WHEN:
            return plain_tooltip(full_moment(run_at(run)))
        case Column.TOOK:
            return ""
        case Column.HOW:
            return plain_tooltip(_how_tip(run))


@lru_cache(maxsize=2_000)
def job_words(job: JobName) -> str:
    """Return a job's name, marked if the job is deleted."""
    name = one_line(job.name)
    return tr("{name} (deleted)").format(name=name) if job.is_removed else name


def how_words(run: Run) -> str:
    """Return the attempt, whether the run was late, and its trigger unless that is the schedule."""
    words = [] if run.trigger is Trigger.SCHEDULE else [trigger_words(run.trigger)]
    if run.attempt > 1:
        words.append(tr("attempt {number}").format(number=run.attempt))
    if run.is_late:
        words.append(tr("late"))
    return ", ".join(words) or trigger_words(run.trigger)


def file_name(run: Run, job: JobName) -> str:
    """Return a file name for a run's output."""
    plain = "".join(
        letter if letter.isalnum() or letter in " -_." else "_" for letter in one_line(job.name, 60)
    )
    at = full_moment(run_at(run)).replace(":", "-").replace(",", "")
    return f"{plain.strip(' .') or 'run'} {at}.log"


def _outcome(run: Run) -> str:
    words = outcome_words(run.outcome)
    if run.outcome is Outcome.RUNNING and run.progress is not None:
        return f"{words} {run.progress:.0%}"
    return words


def _item_tip(run: Run) -> str:
    item = item_words(run.work_id, run.work_title)
    return tr("item: {item}").format(item=item) if item else ""


def _how_tip(run: Run) -> str:
    words = trigger_words(run.trigger)
    if run.attempt > 1:
        words += ", " + tr("attempt {number}").format(number=run.attempt)
    if run.is_late:
        words += ", " + tr("{late} late").format(late=took_words(run.late_ms))
    if run.slot_at is not None:
        words += "\n" + tr("scheduled for {when}").format(
            when=moment_in_words(run.slot_at, run_at(run), has_seconds=False)
        )
    return words
