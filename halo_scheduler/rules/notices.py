"""The notifications that a run, a downtime or an engine alarm calls for; one per incident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from halo_scheduler.grammar.english import clock_time, counted, short_date, shortened
from halo_scheduler.grammar.interval import DAY_MS, MINUTE_MS
from halo_scheduler.grammar.text import plain_line, shown_text
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import (
    Job,
    JobStatus,
    Notify,
    Outcome,
    Question,
    QuestionState,
    Reminder,
    Run,
    Situation,
    SituationKind,
    SkipReason,
    Source,
    StatusReason,
    Trigger,
)
from halo_scheduler.model.alarms import Alarm, AlarmKind, StoreTrouble
from halo_scheduler.model.settings import Settings
from halo_scheduler.model.words import ERRORS
from halo_scheduler.rules.chains import BrokenLink
from halo_scheduler.rules.statistics import Gap, GapKind
from halo_scheduler.schedule.calendar import local_day
from halo_scheduler.wording.faults import trouble_text, trouble_title
from halo_scheduler.wording.measures import duration_in_words
from halo_scheduler.wording.messages import OUTCOMES
from halo_scheduler.wording.status import disabled_words, next_sentence, status_words

_LONGEST_TITLE = 60
# The triggers of runs whose failures count.
_COUNTED = (Trigger.SCHEDULE, Trigger.EVENT)
_SHORTEST_NAME = 24
_LONGEST_TEXT = 200
_LONGEST_ERROR = 140
_TAIL_BYTES = 4_096
# A manual run this short is still being watched by the person who started it.
_WATCHED_MS = MINUTE_MS
# Halo was off for no longer than this when it was restarted.
_RESTART_MS = 5 * MINUTE_MS


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
_OF_MANY = {
    NoticeKind.FAILED: "failed",
    NoticeKind.RECOVERED: "work again",
    NoticeKind.DISABLED: "were disabled",
    NoticeKind.SUCCEEDED: "succeeded",
    NoticeKind.NEEDS_INPUT: "need you",
    NoticeKind.CAPPED: "reached their daily limit",
    NoticeKind.NOT_RUN: "did not run",
    NoticeKind.TROUBLED: "have trouble with their events",
}
_FEWEST_OF_MANY = 3
SAYS_LAST_LINE = frozenset({NoticeKind.SUCCEEDED, NoticeKind.FAILED, NoticeKind.DISABLED})
_MOST_NAMED = 3


class NoticeGroups:
    """Merges notices of one kind if several jobs cause them within a minute.

    Every channel that notifies about runs uses this rule. A merged notice covers everything of its minute, so it
    replaces the notices shown before.
    """

    def __init__(self) -> None:
        self._recent: dict[NoticeKind, list[tuple[int, Notice]]] = {}

    def fold(self, notices: Sequence[Notice], now_ms: int) -> list[Notice]:
        """Return what to show for notices that came together."""
        folded: dict[NoticeKind, Notice] = {}
        single: list[Notice] = []
        for notice in notices:
            if notice.kind not in _OF_MANY:
                single.append(notice)
                continue
            recent = [one for one in self._recent.get(notice.kind, []) if now_ms - one[0] < MINUTE_MS]
            self._recent[notice.kind] = [*recent, (now_ms, notice)]
        for kind in dict.fromkeys(notice.kind for notice in notices if notice.kind in _OF_MANY):
            told = [notice for _at, notice in self._recent[kind]]
            if len({notice.job_id for notice in told}) >= _FEWEST_OF_MANY:
                folded[kind] = _folded(kind, told)
        single += [notice for notice in notices if notice.kind in _OF_MANY and notice.kind not in folded]
        return [*single, *folded.values()]


def _folded(kind: NoticeKind, notices: Sequence[Notice]) -> Notice:
    names = list(dict.fromkeys(shortened(notice.job_name) for notice in notices))
    others = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED]) + (f" and {others} more" if others > 0 else "")
    count = len({notice.job_id for notice in notices})
    return Notice(
        kind=kind,
        title=f"{count} jobs {_OF_MANY[kind]}",
        text=plain_line(listed, _LONGEST_TEXT),
        run_ids=tuple(run_id for notice in notices for run_id in notice.run_ids),
    )


def notice_of(
    run: Run,
    job: Job,
    situation: Situation,
    previous: Sequence[Run],
    settings: Settings,
    *,
    question: Question | None = None,
    is_watched: bool = True,
) -> Notice | None:
    """Return the notification for a finished run; `previous` are the job's earlier ended runs, newest first.

    The job's `situation` determines the words about its next run, as on every surface. A streak of failures is one
    incident: its first failure is notified, and the recovery. An open `question` takes precedence over the outcome.
    `is_watched` tells whether the job is on screen: then a short manual run needs no notification.
    """
    if run.trigger is Trigger.TEST or run.finished_at is None:
        return None
    level = settings.notify if job.policy.notify is Notify.SETTINGS else job.policy.notify
    if question is not None and question.state is QuestionState.OPEN and level is not Notify.NONE:
        is_stopped = situation.kind is SituationKind.NEEDS_INPUT
        words = status_words(situation, run.finished_at) if is_stopped else "needs you"
        return _notice(NoticeKind.NEEDS_INPUT, run, job, words, question.text)
    if _disabled_by(run, situation):
        words = f"was {disabled_words(situation)}"
        return _notice(NoticeKind.DISABLED, run, job, words, _reason(run, job.last_error))
    if level is Notify.NONE or (is_watched and _is_short_manual(run)):
        return None
    return _how_it_ended(run, job, situation, previous, level)


def chain_notices(run: Run, job: Job, broken: Sequence[BrokenLink], settings: Settings) -> list[Notice]:
    """Return a notification for each next job that could not start because it is gone, once a day per job."""
    level = settings.notify if job.policy.notify is Notify.SETTINGS else job.policy.notify
    if level is Notify.NONE:
        return []
    return [
        Notice(
            kind=NoticeKind.CHAIN_BROKEN,
            title=plain_line(f"{link.name} did not run after {job.name}", _LONGEST_TITLE),
            text=f"It was deleted. Restore it, or remove it from the next jobs of {shortened(job.name)}."
            if link.is_removed
            else "An internal error kept it from starting. See the program log.",
            job_id=job.id,
            run_ids=(run.id,),
        )
        for link in broken
        if link.is_first_today
    ]


def watch_notice(job: Job, situation: Situation, settings: Settings) -> Notice | None:
    """Return the notification about trouble with watching an event; None if there is none."""
    level = settings.notify if job.policy.notify is Notify.SETTINGS else job.policy.notify
    if not situation.watch_trouble or level is Notify.NONE:
        return None
    words = "has trouble with its event"
    return Notice(
        kind=NoticeKind.TROUBLED,
        title=f"{plain_line(job.name, max(_LONGEST_TITLE - len(words) - 1, _SHORTEST_NAME))} {words}",
        text=_sentence(plain_line(situation.watch_trouble, _LONGEST_TEXT)),
        job_id=job.id,
        job_name=job.name,
    )


def gap_notice(gap: Gap) -> Notice | None:
    """Return the notification for downtime or sleep; None after a short restart."""
    if gap.ended_at - gap.began_at < _RESTART_MS and not gap.missed:
        return None
    began, ended = local_time(gap.began_at), local_time(gap.ended_at)
    # Only a downtime of a day or more needs dates.
    has_dates = gap.ended_at - gap.began_at >= DAY_MS
    times = [
        f"{short_date(moment, year=False)} {clock_time(moment.replace(second=0))}"
        if has_dates
        else clock_time(moment.replace(second=0))
        for moment in (began, ended)
    ]
    what = "Halo was off" if gap.kind is GapKind.OFF else "The computer slept"
    return Notice(
        kind=NoticeKind.GAP,
        title=plain_line(f"{what} {times[0]}–{times[1]}", _LONGEST_TITLE),
        text=_gap_text(gap),
        run_ids=gap.run_ids,
    )


def _gap_text(gap: Gap) -> str:
    if not gap.caught_up:
        return f"{counted(gap.missed, 'run')} missed"
    caught_up = f"{counted(gap.caught_up, 'run')} caught up"
    return f"{caught_up}, {gap.missed} missed" if gap.missed else caught_up


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


def trouble_notice(trouble: StoreTrouble, path: Path, now_ms: int) -> Notice:
    """Return the notification for a store that cannot be written."""
    return Notice(
        kind=NoticeKind.STORE,
        title=trouble_title(trouble),
        text=plain_line(trouble_text(trouble, path, now_ms), _LONGEST_TEXT),
    )


def _how_it_ended(
    run: Run, job: Job, situation: Situation, previous: Sequence[Run], level: Notify
) -> Notice | None:
    if run.outcome in ERRORS:
        return _failure(run, job, situation, previous)
    if run.outcome is Outcome.SUCCESS:
        return _success(run, job, previous, level)
    return _skipped(run, job, situation, previous) if run.outcome is Outcome.SKIPPED else None


def _skipped(run: Run, job: Job, situation: Situation, previous: Sequence[Run]) -> Notice | None:
    """Notify once a day about skips the user can fix: a daily limit, unmet conditions, a broken chain."""
    if any(_is_such_a_skip(past, run) for past in previous):
        return None
    match run.reason:
        case SkipReason.CAP:
            return _notice(NoticeKind.CAPPED, run, job, "reached its daily limit", _reason(run))
        case SkipReason.CONDITION:
            text = f"{_reason(run)} {next_sentence(situation, run.finished_at or 0)}"
            return _notice(NoticeKind.NOT_RUN, run, job, "did not run", text)
        case SkipReason.PAUSED | SkipReason.DISABLED if run.trigger is Trigger.CHAIN:
            return _notice(NoticeKind.CHAIN_BROKEN, run, job, "did not run", _reason(run))
        case _:
            return None


def _is_such_a_skip(past: Run, run: Run) -> bool:
    """Return whether an earlier run was skipped on the same day for the same reason."""
    is_same_day = local_day(past.finished_at or 0) == local_day(run.finished_at or 0)
    return past.reason is run.reason and past.outcome is Outcome.SKIPPED and is_same_day


def _failure(run: Run, job: Job, situation: Situation, previous: Sequence[Run]) -> Notice | None:
    if run.trigger in _COUNTED and situation.next_source is Source.RETRY:
        return None  # The slot or the event may still get its run.
    if any(_was_told(failure, (run, *previous)) for failure in _streak(run, previous)):
        return None
    words = "took too long" if run.outcome is Outcome.TIMEOUT else OUTCOMES[run.outcome].clause
    return _notice(
        NoticeKind.FAILED, run, job, words, f"{_reason(run)} {next_sentence(situation, run.finished_at or 0)}"
    )


def _success(run: Run, job: Job, previous: Sequence[Run], level: Notify) -> Notice | None:
    streak = _streak(run, previous)
    if any(_was_told(failure, (run, *previous)) for failure in streak):
        failures = f"After {counted(len(streak), 'failure')}."
        return _notice(NoticeKind.RECOVERED, run, job, "works again", failures)
    if isinstance(job.action, Reminder):
        return None  # It is a notification itself.
    took = f"Took {duration_in_words(run.duration_ms or 0)}."
    return _notice(NoticeKind.SUCCEEDED, run, job, "succeeded", took) if level is Notify.ALL else None


def _streak(run: Run, previous: Sequence[Run]) -> list[Run]:
    """Return the failures before a run, back to the last success."""
    streak: list[Run] = []
    for earlier in previous:
        if earlier.outcome is Outcome.SUCCESS:
            break
        if earlier.outcome in ERRORS and earlier.id != run.id:
            streak.append(earlier)
    return streak


def _was_told(failure: Run, runs: Sequence[Run]) -> bool:
    """Return whether a failure was notified: not if it was watched, or if its slot was retried."""
    slot = (failure.slot_at, failure.event_id)
    was_retried = slot != (None, None) and any(
        (run.slot_at, run.event_id) == slot and run.attempt > failure.attempt for run in runs
    )
    return not was_retried and not _is_short_manual(failure)


def _is_short_manual(run: Run) -> bool:
    return run.trigger is Trigger.MANUAL and (run.duration_ms or 0) <= _WATCHED_MS


def _disabled_by(run: Run, situation: Situation) -> bool:
    """Return whether this run disabled the job; a later manual run does not repeat the notification."""
    is_disabled = situation.status is JobStatus.DISABLED and situation.reason is StatusReason.ERRORS
    last_run_at = situation.last_run_at
    is_newest = last_run_at is None or run.started_at is None or run.started_at >= last_run_at
    return is_disabled and is_newest and run.trigger in _COUNTED


def _reason(run: Run, error: str = "") -> str:
    text = plain_line(run.error or error, _LONGEST_ERROR)
    if not text and run.exit_code is not None:
        text = f"exit code {run.exit_code}"
    return _sentence(text or "no error message")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?", "…")) else ".")


def _notice(kind: NoticeKind, run: Run, job: Job, words: str, text: str) -> Notice:
    name = plain_line(job.name, max(_LONGEST_TITLE - len(words) - 1, _SHORTEST_NAME))
    return Notice(
        job_name=job.name,
        kind=kind,
        title=f"{name} {words}",
        text=plain_line(text, _LONGEST_TEXT),
        job_id=job.id,
        run_ids=(run.id,),
    )
