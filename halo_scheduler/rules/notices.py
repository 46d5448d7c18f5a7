"""Which notifications a run or a downtime calls for; one per incident."""

from __future__ import annotations

from collections.abc import Sequence

from halo_scheduler.grammar.interval import MINUTE_MS
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
    SkipReason,
    Source,
    StatusReason,
    Trigger,
)
from halo_scheduler.model.settings import Settings
from halo_scheduler.model.words import ERRORS
from halo_scheduler.rules.chains import BrokenLink
from halo_scheduler.rules.statistics import Gap, GapKind
from halo_scheduler.schedule.calendar import local_day
from halo_scheduler.wording.notices import (
    OF_MANY,
    Notice,
    NoticeKind,
    broken_chain_notice,
    downtime_notice,
    event_trouble_notice,
    merged_notice,
    run_notice,
)

# The triggers of runs whose failures count.
_COUNTED = (Trigger.SCHEDULE, Trigger.EVENT)
# A manual run this short is still being watched by the person who started it.
_WATCHED_MS = MINUTE_MS
# Halo was off for no longer than this when it was restarted.
_RESTART_MS = 5 * MINUTE_MS
_FEWEST_OF_MANY = 3
_Shown = tuple[int, Notice]


class NoticeGroups:
    """Merges notices of one kind if several jobs cause them within a minute.

    Every channel that notifies about runs uses this rule. A merged notice covers everything of its minute, so it
    replaces the notices shown before.
    """

    def __init__(self) -> None:
        self._recent: dict[NoticeKind, list[_Shown]] = {}

    def fold(self, notices: Sequence[Notice], now_ms: int) -> list[Notice]:
        """Return what to show for notices that came together."""
        folded: dict[NoticeKind, Notice] = {}
        single: list[Notice] = []
        for notice in notices:
            if notice.kind not in OF_MANY:
                single.append(notice)
                continue
            recent = _of_this_minute(self._recent.get(notice.kind, []), now_ms)
            self._recent[notice.kind] = [*recent, (now_ms, notice)]
        for kind in dict.fromkeys(notice.kind for notice in notices if notice.kind in OF_MANY):
            if _are_of_many(self._recent[kind]):
                folded[kind] = merged_notice(kind, [notice for _at, notice in self._recent[kind]])
        single += [notice for notice in notices if notice.kind in OF_MANY and notice.kind not in folded]
        return [*single, *folded.values()]


def _of_this_minute(shown: list[_Shown], now_ms: int) -> list[_Shown]:
    """Return the notices that a new one is merged with; none of a merged notice whose minute is over."""
    recent = [one for one in shown if now_ms - one[0] < MINUTE_MS]
    return [] if recent != shown and _are_of_many(shown) else recent


def _are_of_many(shown: list[_Shown]) -> bool:
    return len({notice.job_id for _at, notice in shown}) >= _FEWEST_OF_MANY


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
        return run_notice(NoticeKind.NEEDS_INPUT, run, job, situation, question=question)
    if _disabled_by(run, situation):
        return run_notice(NoticeKind.DISABLED, run, job, situation)
    if level is Notify.NONE or (is_watched and _is_short_manual(run)):
        return None
    return _how_it_ended(run, job, situation, previous, level)


def chain_notices(run: Run, job: Job, broken: Sequence[BrokenLink], settings: Settings) -> list[Notice]:
    """Return a notification for each next job that could not start because it is gone, once a day per job."""
    level = settings.notify if job.policy.notify is Notify.SETTINGS else job.policy.notify
    if level is Notify.NONE:
        return []
    return [
        broken_chain_notice(run, job, link.name, is_removed=link.is_removed)
        for link in broken
        if link.is_first_today
    ]


def watch_notice(job: Job, situation: Situation, settings: Settings) -> Notice | None:
    """Return the notification about trouble with watching an event; None if there is none."""
    level = settings.notify if job.policy.notify is Notify.SETTINGS else job.policy.notify
    if not situation.watch_trouble or level is Notify.NONE:
        return None
    return event_trouble_notice(job, situation.watch_trouble)


def gap_notice(gap: Gap) -> Notice | None:
    """Return the notification for downtime or sleep; None after a short restart."""
    if gap.ended_at - gap.began_at < _RESTART_MS and not gap.missed:
        return None
    return downtime_notice(
        gap.began_at,
        gap.ended_at,
        was_off=gap.kind is GapKind.OFF,
        caught_up=gap.caught_up,
        missed=gap.missed,
        run_ids=gap.run_ids,
    )


def _how_it_ended(
    run: Run, job: Job, situation: Situation, previous: Sequence[Run], level: Notify
) -> Notice | None:
    if run.outcome in ERRORS:
        return _failure(run, job, situation, previous)
    if run.outcome is Outcome.SUCCESS:
        return _success(run, job, situation, previous, level)
    return _skipped(run, job, situation, previous) if run.outcome is Outcome.SKIPPED else None


def _skipped(run: Run, job: Job, situation: Situation, previous: Sequence[Run]) -> Notice | None:
    """Notify once a day about skips the user can fix: a daily limit, unmet conditions, a broken chain."""
    if any(_is_such_a_skip(past, run) for past in previous):
        return None
    match run.reason:
        case SkipReason.CAP:
            return run_notice(NoticeKind.CAPPED, run, job, situation)
        case SkipReason.CONDITION:
            return run_notice(NoticeKind.NOT_RUN, run, job, situation)
        case SkipReason.PAUSED | SkipReason.DISABLED if run.trigger is Trigger.CHAIN:
            return run_notice(NoticeKind.CHAIN_BROKEN, run, job, situation)
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
    return run_notice(NoticeKind.FAILED, run, job, situation)


def _success(
    run: Run, job: Job, situation: Situation, previous: Sequence[Run], level: Notify
) -> Notice | None:
    streak = _streak(run, previous)
    if any(_was_told(failure, (run, *previous)) for failure in streak):
        return run_notice(NoticeKind.RECOVERED, run, job, situation, failures=len(streak))
    if isinstance(job.action, Reminder):
        return None  # It is a notification itself.
    return run_notice(NoticeKind.SUCCEEDED, run, job, situation) if level is Notify.ALL else None


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
