"""Desktop notifications: which to show, and how they reach the desktop."""

from __future__ import annotations

import logging
import os
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSocketNotifier, Qt, QTimer, Signal

from halo_scheduler.grammar.interval import MINUTE_MS, SECOND_MS
from halo_scheduler.model import Outcome, Run, Source, Trigger
from halo_scheduler.model.alarms import Alarm, StoreTrouble, TroubleKind
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.rules.notices import NoticeGroups, chain_notices, gap_notice, notice_of, watch_notice
from halo_scheduler.rules.statistics import Gap
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.notices import (
    SAYS_LAST_LINE,
    Notice,
    NoticeAction,
    alarm_notice,
    store_notice,
    with_last_line,
)
from ui.backend.backend import Backend
from ui.style.icons import icon_path

if TYPE_CHECKING:
    from .service import NotificationService

_LOG = logging.getLogger(__name__)
# Starting the service may take the desktop some seconds.
_ANSWER_LIMIT_MS = 10 * SECOND_MS
_LEAVE_TO_ACTIVATE = "XDG_ACTIVATION_TOKEN"
_LOOKED_BACK = 50
_REMEMBERED = 1_000
# Missed and caught-up runs arrive together after a downtime; one notification covers all of them.
_GAP_SETTLES_MS = 4_000
# Jobs with the same slot fail within moments of each other; a notification can wait that long.
_GATHER_MS = 1_000
# A job that fills the disk as fast as Halo frees it makes the same trouble come and go every few seconds.
_NEW_TROUBLE_MS = 5 * MINUTE_MS


class Notifications(QObject):
    """Shows notices, and emits the one that was clicked.

    Connects to the bus with the first notice. Never blocks: the event loop watches the connection's descriptor.
    """

    opened = Signal(object)
    """The Notice that the user clicked."""
    acted = Signal(object, object)
    """A Notice and the NoticeAction that the user chose."""
    _clicked = Signal(object, str, str)
    _refused = Signal(object)

    def __init__(
        self,
        fallback: Callable[[Notice], None],
        parent: QObject | None = None,
        *,
        answer_limit_ms: int = _ANSWER_LIMIT_MS,
    ) -> None:
        """`fallback` shows a notice if the desktop has no notification service, or one that does not respond."""
        super().__init__(parent)
        self._fallback = fallback
        self._waiting: deque[Notice] = deque()
        self._service: NotificationService | None = None
        self._notifier: QSocketNotifier | None = None
        self._awaited: int | None = None
        self._answer_limit = QTimer(self)
        self._answer_limit.setSingleShot(True)
        self._answer_limit.setInterval(answer_limit_ms)
        self._answer_limit.timeout.connect(self._time_out)
        # Queued: a receiver may close this object, which must not happen while a bus message is handled.
        self._clicked.connect(self._open, Qt.ConnectionType.QueuedConnection)
        self._refused.connect(self._fall_back, Qt.ConnectionType.QueuedConnection)

    def show(self, notice: Notice) -> None:
        """Show a notice; it replaces an earlier one about the same job."""
        if sys.platform != "linux":
            self._refused.emit(notice)
            return
        self._waiting.append(notice)
        try:
            service = self._service or self._connect()
            service.show_waiting()
        except OSError as error:
            self._give_up(error)
        else:
            self._limit_wait(service.awaited)

    def close(self) -> None:
        """Disconnect from the bus; visible notifications stay."""
        self._waiting.clear()
        self._disconnect()

    def _connect(self) -> NotificationService:
        # Imported with the first notice, as most starts and other systems need no D-Bus client.
        from .service import NotificationService  # noqa: PLC0415

        service = self._service = NotificationService(
            self._waiting,
            icon=Path(icon_path("halo")).as_uri(),
            labels={
                "default": self.tr("Open"),
                NoticeAction.SHOW_OUTPUT: self.tr("Show output"),
                NoticeAction.RUN_AGAIN: self.tr("Run again"),
                NoticeAction.PAUSE: self.tr("Pause"),
            },
            clicked=self._clicked.emit,
            refused=self._refused.emit,
        )
        self._notifier = QSocketNotifier(service.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._take)
        return service

    def _take(self) -> None:
        if self._service is None:
            return
        try:
            self._service.take()
        except OSError as error:
            self._give_up(error)
        else:
            self._limit_wait(self._service.awaited)

    def _limit_wait(self, awaited: int | None) -> None:
        """Start the timeout of the current call."""
        if awaited is None:
            self._answer_limit.stop()
        elif awaited != self._awaited:
            self._answer_limit.start()
        self._awaited = awaited

    def _time_out(self) -> None:
        self._give_up("no reply on the bus")

    def _give_up(self, reason: object) -> None:
        """Disconnect and pass the waiting notices to the fallback; the next notice reconnects."""
        _LOG.info("the session bus shows no notices: %s", reason)
        self._disconnect()
        while self._waiting:
            self._refused.emit(self._waiting.popleft())

    def _disconnect(self) -> None:
        self._limit_wait(None)
        if self._notifier is not None:
            self._notifier.setEnabled(False)
            self._notifier.deleteLater()
            self._notifier = None
        if self._service is not None:
            self._service.close()
            self._service = None

    def _open(self, notice: Notice, action: str, token: str) -> None:
        # Under Wayland a window can be raised only with an activation token, which Qt reads from here.
        if token:
            os.environ[_LEAVE_TO_ACTIVATE] = token
        if action in tuple(NoticeAction) and action != NoticeAction.SHOW_OUTPUT:
            self.acted.emit(notice, NoticeAction(action))
        else:
            self.opened.emit(notice)
        os.environ.pop(_LEAVE_TO_ACTIVATE, None)

    def _fall_back(self, notice: Notice) -> None:
        self._fallback(notice)


class Alerts(QObject):
    """Turns finished runs and engine alarms into notifications."""

    alarm_told = Signal(object)
    """The Notice of an alarm."""

    def __init__(
        self,
        backend: Backend,
        notifications: Notifications,
        parent: QObject | None = None,
        *,
        is_watched: Callable[[str], bool] = lambda _job_id: True,
    ) -> None:
        """`is_watched` returns whether the user is looking at a job."""
        super().__init__(parent)
        self._backend = backend
        self._is_watched = is_watched
        self._groups = NoticeGroups()
        self._gathered: list[Notice] = []
        self._gather = QTimer(self)
        self._gather.setSingleShot(True)
        self._gather.setInterval(_GATHER_MS)
        self._gather.timeout.connect(self._show_gathered)
        self._notifications = notifications
        self._seen: deque[str] = deque(maxlen=_REMEMBERED)
        self._chains_told: deque[Notice] = deque(maxlen=_REMEMBERED)
        self._watches_told: dict[str, Notice | None] = {}
        self._began_at = self._gaps_told_until = backend.now_ms()
        self._alarms_told: deque[Alarm] = deque(maxlen=_REMEMBERED)
        self._gap_timer = QTimer(self)
        self._gap_timer.setSingleShot(True)
        self._gap_timer.setInterval(_GAP_SETTLES_MS)
        self._gap_timer.timeout.connect(self._query_gaps)
        backend.changed.connect(self._take)
        self._trouble_told: TroubleKind | None = None
        self._trouble_over_at: int | None = None
        backend.trouble_changed.connect(self._notify_trouble)

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

    def _notify_trouble(self, trouble: StoreTrouble | None) -> None:
        """Notify once about a store that cannot be written, however many results wait and however often it returns."""
        now_ms = self._backend.now_ms()
        if trouble is None:
            self._trouble_over_at = now_ms
            return
        over_at, self._trouble_over_at = self._trouble_over_at, None
        if over_at is not None and abs(now_ms - over_at) >= _NEW_TROUBLE_MS:
            self._trouble_told = None
        if trouble.kind is TroubleKind.ALMOST_FULL and self._trouble_told is TroubleKind.FULL:
            return
        if trouble.kind is not self._trouble_told:
            self._notifications.show(store_notice(trouble, self._backend.path, now_ms))
        self._trouble_told = trouble.kind

    def _notify_alarms(self, alarms: list[Alarm]) -> None:
        for alarm in alarms:
            self.notify_alarm(alarm)

    def _take(self, change: Change) -> None:
        if change.kind is ChangeKind.ENGINE:
            since = self._began_at
            self._backend.ask(lambda scheduler: scheduler.runs.alarms(since), self._notify_alarms, owner=self)
        job_id, run_id = change.job_id, change.run_id
        if change.kind is ChangeKind.WATCH and job_id is not None:
            self._backend.ask(
                lambda scheduler: (job_id, _watch_notice(scheduler, job_id)), self._notify_watch, owner=self
            )
        if change.kind is not ChangeKind.RUN_FINISHED or run_id is None:
            return
        # A run is published again when one of its next jobs turns out to be missing.
        if run_id not in self._seen:
            self._seen.append(run_id)
            is_watched = change.job_id is None or self._is_watched(change.job_id)
            self._backend.ask(
                lambda scheduler: notice_for(scheduler, run_id, is_watched=is_watched),
                self._notify,
                owner=self,
            )
        self._backend.ask(lambda scheduler: _chain_notices(scheduler, run_id), self._notify_chain, owner=self)

    def _notify(self, judged: tuple[Notice | None, bool]) -> None:
        notice, is_after_gap = judged
        if notice is not None:
            self._collect(notice)
        if is_after_gap:
            self._gap_timer.start()

    def _notify_watch(self, found: tuple[str, Notice | None]) -> None:
        """Notify once about each trouble with an event, and again only after it had ended."""
        job_id, notice = found
        if notice is not None and notice != self._watches_told.get(job_id):
            self._collect(notice)
        self._watches_told[job_id] = notice

    def _collect(self, notice: Notice) -> None:
        self._gathered.append(notice)
        if not self._gather.isActive():
            self._gather.start()

    def _show_gathered(self) -> None:
        """Show the collected notices; several jobs with the same message share one notification."""
        gathered, self._gathered = self._gathered, []
        for notice in self._groups.fold(gathered, self._backend.now_ms()):
            self._notifications.show(notice)

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
            notice = gap_notice(gap)
            if notice is not None:
                self._notifications.show(notice)


def notice_for(scheduler: Scheduler, run_id: str, *, is_watched: bool) -> tuple[Notice | None, bool]:
    """Return the notification for a run, and whether the run follows a downtime."""
    run = scheduler.get_run(run_id)
    job = None if run is None else scheduler.get_job(run.job_id)
    situation = None if job is None else scheduler.jobs.situations([job.id]).get(job.id)
    if run is None or job is None or situation is None:
        return None, False
    is_after_gap = run.outcome is Outcome.MISSED or run.source is Source.CATCH_UP
    log = scheduler.get_run_log(job.id, limit=_LOOKED_BACK, before=run.id)
    earlier = [past for past in log if _counts(past)]
    question = scheduler.questions.of_run(run.id)
    settings = scheduler.settings.read()
    notice = notice_of(run, job, situation, earlier, settings, question=question, is_watched=is_watched)
    if notice is not None and notice.kind in SAYS_LAST_LINE:
        notice = with_last_line(notice, scheduler.get_output(run.id))
    return notice, is_after_gap


def _chain_notices(scheduler: Scheduler, run_id: str) -> list[Notice]:
    """Return the notifications about missing next jobs."""
    broken = scheduler.runs.broken_links(run_id)
    run = scheduler.get_run(run_id) if broken else None
    job = None if run is None else scheduler.get_job(run.job_id)
    if run is None or job is None:
        return []
    return chain_notices(run, job, broken, scheduler.settings.read())


def _watch_notice(scheduler: Scheduler, job_id: str) -> Notice | None:
    """Return the notification about trouble with watching an event of a job."""
    job, situation = scheduler.get_job(job_id), scheduler.jobs.situations([job_id]).get(job_id)
    if job is None or situation is None:
        return None
    return watch_notice(job, situation, scheduler.settings.read())


def _counts(run: Run) -> bool:
    return run.outcome is not Outcome.RUNNING and run.trigger is not Trigger.TEST
