"""Notifications: what each can be about, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from halo_scheduler.grammar.english import clock_time, counted, short_date, shortened
from halo_scheduler.grammar.interval import DAY_MS
from halo_scheduler.grammar.text import plain_line, shown_text
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Job, Outcome, Question, Run, Situation, SituationKind
from halo_scheduler.model.alarms import Alarm, AlarmKind, StoreTrouble
from halo_scheduler.wording.faults import trouble_text, trouble_title
from halo_scheduler.wording.measures import duration_in_words
from halo_scheduler.wording.messages import OUTCOMES
from halo_scheduler.wording.status import disabled_words, next_sentence, status_words

_LONGEST_TITLE = 60
_SHORTEST_NAME = 24
_LONGEST_TEXT = 200
_LONGEST_ERROR = 140
_MOST_NAMED = 3
_TAIL_BYTES = 4_096


class NoticeKind(StrEnum):
    """What a notice is about."""

    FAILED = "failed"
    RECOVERED = "recovered"
    DISABLED = "disabled"
    SUCCEEDED = "succeeded"
    NEEDS_INPUT = "needs-input"
    CAPPED = "capped"
    NOT_RUN = "not-run"
    """Its conditions were not met in time."""
    TROUBLED = "troubled"
    """There is trouble with watching one of its events."""
    CHAIN_BROKEN = "chain-broken"
    GAP = "gap"
    STORE = "store"
    """The store cannot be written."""
    STUCK = "stuck"
    """The engine hangs or starts nothing."""
    HINT = "hint"
    """Something to know about the program itself."""


class NoticeAction(StrEnum):
    """The extra button of a notice, beside opening its subject."""

    SHOW_OUTPUT = "show-output"
    RUN_AGAIN = "run-again"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notification: a short plain title and text, and the job and runs it is about."""

    kind: NoticeKind
    title: str
    text: str
    job_id: str | None = None
    job_name: str = ""
    run_ids: tuple[str, ...] = ()

    @property
    def actions(self) -> tuple[NoticeAction, ...]:
        """The actions offered; none if it covers several jobs."""
        return () if self.job_id is None else _ACTIONS.get(self.kind, ())


_ACTIONS = {
    NoticeKind.FAILED: (NoticeAction.SHOW_OUTPUT, NoticeAction.RUN_AGAIN, NoticeAction.PAUSE),
    NoticeKind.DISABLED: (NoticeAction.SHOW_OUTPUT, NoticeAction.RUN_AGAIN),
    NoticeKind.SUCCEEDED: (NoticeAction.SHOW_OUTPUT,),
}
SAYS_LAST_LINE = frozenset({NoticeKind.SUCCEEDED, NoticeKind.FAILED, NoticeKind.DISABLED})
OF_MANY = {
    NoticeKind.FAILED: "failed",
    NoticeKind.RECOVERED: "work again",
    NoticeKind.DISABLED: "were disabled",
    NoticeKind.SUCCEEDED: "succeeded",
    NoticeKind.NEEDS_INPUT: "need you",
    NoticeKind.CAPPED: "reached their daily limit",
    NoticeKind.NOT_RUN: "did not run",
    NoticeKind.TROUBLED: "have trouble with their events",
}


def run_notice(
    kind: NoticeKind,
    run: Run,
    job: Job,
    situation: Situation,
    *,
    question: Question | None = None,
    failures: int = 0,
) -> Notice:
    """Return the notification for a run; `failures` counts those before a success."""
    if question is not None:
        is_stopped = situation.kind is SituationKind.NEEDS_INPUT
        words = status_words(situation, run.finished_at or 0) if is_stopped else "needs you"
        return _notice(kind, job, words, question.text, run)
    words, text = _words(kind, run, job, situation, failures)
    return _notice(kind, job, words, text, run)


def _words(kind: NoticeKind, run: Run, job: Job, situation: Situation, failures: int) -> tuple[str, str]:
    """Return what follows the job's name in the title, and the text."""
    match kind:
        case NoticeKind.DISABLED:
            return f"was {disabled_words(situation)}", _reason(run, job.last_error)
        case NoticeKind.RECOVERED:
            return "works again", f"After {counted(failures, 'failure')}."
        case NoticeKind.SUCCEEDED:
            return "succeeded", f"Took {duration_in_words(run.duration_ms or 0)}."
        case NoticeKind.FAILED:
            words = "took too long" if run.outcome is Outcome.TIMEOUT else OUTCOMES[run.outcome].clause
        case NoticeKind.CAPPED:
            words = "reached its daily limit"
        case _:
            words = "did not run"
    has_next = kind in (NoticeKind.FAILED, NoticeKind.NOT_RUN)
    following = f" {next_sentence(situation, run.finished_at or 0)}" if has_next else ""
    return words, f"{_reason(run)}{following}"


def broken_chain_notice(run: Run, job: Job, name: str, *, is_removed: bool) -> Notice:
    """Return the notification that the job `name` could not start after a run."""
    return Notice(
        kind=NoticeKind.CHAIN_BROKEN,
        title=plain_line(f"{name} did not run after {job.name}", _LONGEST_TITLE),
        text=f"It was deleted. Restore it, or remove it from the next jobs of {shortened(job.name)}."
        if is_removed
        else "An internal error kept it from starting. See the program log.",
        job_id=job.id,
        run_ids=(run.id,),
    )


def event_trouble_notice(job: Job, trouble: str) -> Notice:
    """Return the notification for trouble with watching an event."""
    return _notice(NoticeKind.TROUBLED, job, "has trouble with its event", _sentence(trouble))


def downtime_notice(
    began_at: int, ended_at: int, *, was_off: bool, caught_up: int, missed: int, run_ids: tuple[str, ...]
) -> Notice:
    """Return the notification for a time in which Halo was off or the computer slept."""
    # Only a downtime of a day or more needs dates.
    has_dates = ended_at - began_at >= DAY_MS
    moments = (local_time(at).replace(second=0) for at in (began_at, ended_at))
    began, ended = (
        f"{short_date(moment, year=False)} {clock_time(moment)}" if has_dates else clock_time(moment)
        for moment in moments
    )
    what = "Halo was off" if was_off else "The computer slept"
    return Notice(
        kind=NoticeKind.GAP,
        title=plain_line(f"{what} {began}–{ended}", _LONGEST_TITLE),
        text=_downtime_text(caught_up, missed),
        run_ids=run_ids,
    )


def _downtime_text(caught_up: int, missed: int) -> str:
    if not caught_up:
        return f"{counted(missed, 'run')} missed"
    words = f"{counted(caught_up, 'run')} caught up"
    return f"{words}, {missed} missed" if missed else words


def alarm_notice(alarm: Alarm) -> Notice:
    """Return the notification for an engine that hangs or starts nothing."""
    what, why = {
        AlarmKind.SILENT: ("Halo isn't running your jobs", "It hasn't responded for 2 minutes."),
        AlarmKind.STARVED: ("Halo isn't starting due jobs", "Nothing has started for 2 minutes."),
    }[alarm.kind]
    return Notice(
        kind=NoticeKind.STUCK,
        title=what,
        text=f"{why} Halo is trying to recover. If jobs stay late, restart it.",
    )


def store_notice(trouble: StoreTrouble, path: Path, now_ms: int) -> Notice:
    """Return the notification for a store that cannot be written."""
    return Notice(
        kind=NoticeKind.STORE,
        title=trouble_title(trouble),
        text=plain_line(trouble_text(trouble, path, now_ms), _LONGEST_TEXT),
    )


def merged_notice(kind: NoticeKind, notices: Sequence[Notice]) -> Notice:
    """Return one notification for those of several jobs."""
    names = list(dict.fromkeys(shortened(notice.job_name) for notice in notices))
    others = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED]) + (f" and {others} more" if others > 0 else "")
    count = len({notice.job_id for notice in notices})
    return Notice(
        kind=kind,
        title=f"{count} jobs {OF_MANY[kind]}",
        text=plain_line(listed, _LONGEST_TEXT),
        run_ids=tuple(run_id for notice in notices for run_id in notice.run_ids),
    )


def with_last_line(notice: Notice, output: bytes) -> Notice:
    """Return a notification with the last line of its run's output; unchanged without output.

    For a success the line replaces the text; for a failure it follows the exit code.
    """
    lines = shown_text(output[-_TAIL_BYTES:]).splitlines()
    last = next((line for line in reversed(lines) if line.strip() and not line.startswith("::")), "")
    if not last or notice.kind not in SAYS_LAST_LINE:
        return notice
    line = plain_line(last, _LONGEST_TEXT)
    return replace(notice, text=line if notice.kind is NoticeKind.SUCCEEDED else f"{notice.text}\n{line}")


def _reason(run: Run, error: str = "") -> str:
    text = plain_line(run.error or error, _LONGEST_ERROR)
    if not text and run.exit_code is not None:
        text = f"exit code {run.exit_code}"
    return _sentence(text or "no error message")


def _sentence(text: str) -> str:
    line = plain_line(text, _LONGEST_TEXT)
    return f"{line[:1].upper()}{line[1:]}" + ("" if line.endswith((".", "!", "?", "…")) else ".")


def _notice(kind: NoticeKind, job: Job, words: str, text: str, run: Run | None = None) -> Notice:
    name = plain_line(job.name, max(_LONGEST_TITLE - len(words) - 1, _SHORTEST_NAME))
    return Notice(
        job_name=job.name,
        kind=kind,
        title=f"{name} {words}",
        text=plain_line(text, _LONGEST_TEXT),
        job_id=job.id,
        run_ids=() if run is None else (run.id,),
    )
