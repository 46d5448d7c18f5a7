"""Decides which notifications to show."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import QObject, QTimer, Signal

from halo_scheduler.model import Outcome, Run, Source, Trigger
from halo_scheduler.model.alarms import Alarm
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.rules.notices import (
    Notice,
    NoticeKind,
    alarm_notice,
    chain_notices,
    gap_notice,
    notice_of,
    with_last_line,
)
from halo_scheduler.rules.statistics import Gap
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend

from .notifications import Notifications

_LOOKED_BACK = 50
_REMEMBERED = 1_000
# Missed and caught-up runs arrive together after a downtime; one notification covers all of them.
_GAP_SETTLES_MS = 4_000


class Alerts(QObject):
    """Turns finished runs and engine alarms into notifications."""

    alarm_told = Signal(object)
    """The Notice of an alarm."""

    def __init__(self, backend: Backend, notifications: Notifications, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._backend = backend
        self._notifications = notifications
        self._seen: deque[str] = deque(maxlen=_REMEMBERED)
        self._chains_told: deque[Notice] = deque(maxlen=_REMEMBERED)
        self._began_at = self._gaps_told_until = backend.now_ms()
        self._alarms_told: deque[Alarm] = deque(maxlen=_REMEMBERED)
        self._gap_timer = QTimer(self)
        self._gap_timer.setSingleShot(True)
        self._gap_timer.setInterval(_GAP_SETTLES_MS)
        self._gap_timer.timeout.connect(self._query_gaps)
        backend.changed.connect(self._take)

    def expect_gap(self) -> None:
        """Notify about the downtime that a started engine found, once its runs have settled."""
        self._gap_timer.start()

    def notify_alarm(self, alarm: Alarm) -> None:
        """Notify about an alarm once, although both the engine's thread and the journal report it."""
        if alarm not in self._alarms_told:
            self._alarms_told.append(alarm)
            notice = alarm_notice(alarm)
            self._notifications.show(notice)
            self.alarm_told.emit(notice)

    def _notify_alarms(self, alarms: list[Alarm]) -> None:
        for alarm in alarms:
            self.notify_alarm(alarm)

    def _take(self, change: Change) -> None:
        if change.kind is ChangeKind.ENGINE:
            since = self._began_at
            self._backend.ask(lambda scheduler: scheduler.runs.alarms(since), self._notify_alarms, owner=self)
        run_id = change.run_id
        if change.kind is not ChangeKind.RUN_FINISHED or run_id is None:
            return
        # A run is announced again when a next job of it turns out to be gone.
        if run_id not in self._seen:
            self._seen.append(run_id)
            self._backend.ask(lambda scheduler: _notice_for(scheduler, run_id), self._notify, owner=self)
        self._backend.ask(lambda scheduler: _chain_notices(scheduler, run_id), self._notify_chain, owner=self)

    def _notify(self, judged: tuple[Notice | None, bool]) -> None:
        notice, is_after_gap = judged
        if notice is not None:
            self._notifications.show(notice)
        if is_after_gap:
            self._gap_timer.start()

    def _notify_chain(self, notices: list[Notice]) -> None:
        for notice in notices:
            if notice not in self._chains_told:
                self._chains_told.append(notice)
                self._notifications.show(notice)

    def _query_gaps(self) -> None:
        since = self._gaps_told_until
        self._backend.ask(lambda scheduler: scheduler.runs.gaps(since), self._notify_gaps, owner=self)

    def _notify_gaps(self, gaps: list[Gap]) -> None:
        for gap in reversed([gap for gap in gaps if gap.ended_at >= self._gaps_told_until]):
            self._gaps_told_until = gap.ended_at + 1
            self._notifications.show(gap_notice(gap))


def _notice_for(scheduler: Scheduler, run_id: str) -> tuple[Notice | None, bool]:
    """Return the notification for a run, and whether the run follows a downtime."""
    run = scheduler.get_run(run_id)
    job = None if run is None else scheduler.get_job(run.job_id)
    if run is None or job is None:
        return None, False
    is_after_gap = run.outcome is Outcome.MISSED or run.source is Source.CATCH_UP
    log = scheduler.get_run_log(job.id, limit=_LOOKED_BACK, before=run.id)
    earlier = [past for past in log if _counts(past)]
    question = scheduler.questions.of_run(run.id)
    notice = notice_of(run, job, earlier, scheduler.settings.read(), question)
    if notice is not None and notice.kind is NoticeKind.SUCCEEDED:
        notice = with_last_line(notice, scheduler.get_output(run.id))
    return notice, is_after_gap


def _chain_notices(scheduler: Scheduler, run_id: str) -> list[Notice]:
    """Return the notifications for next jobs that are gone."""
    broken = scheduler.runs.broken_links(run_id)
    run = scheduler.get_run(run_id) if broken else None
    job = None if run is None else scheduler.get_job(run.job_id)
    if run is None or job is None:
        return []
    return chain_notices(run, job, broken, scheduler.settings.read())


def _counts(run: Run) -> bool:
    return run.outcome is not Outcome.RUNNING and run.trigger is not Trigger.TEST
