"""The menu of the tray: built from what is known already, so that it opens at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from halo_scheduler.schedule.describe import describe_when

from .pauses import PauseChoice, add_pause_choices, pause_end
from .theme import Look, Tone
from .tray_state import MOST_LISTED, JobName, TrayState, Underway, status_line
from .wording import one_line

_MOST_RUNNING = 5
_LONGEST_TEXT = 60


class TrayMenu(QObject):
    """The tray's menu; it only says what is wanted."""

    open_requested = Signal()
    job_requested = Signal(str)
    history_requested = Signal()
    settings_requested = Signal()
    quit_requested = Signal()
    run_requested = Signal(str)
    stop_requested = Signal(str)
    pause_all_requested = Signal(object)
    resume_all_requested = Signal()
    opened = Signal()

    def __init__(self, look: Look, now_ms: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._now_ms = now_ms
        self._state = TrayState()
        self._entries: list[_Entry] = []
        self._actions: list[QAction] = []
        self._submenus: list[QMenu] = []
        self._menu = QMenu()
        self._menu.setObjectName("trayMenu")
        self._menu.setToolTipsVisible(True)
        self._menu.aboutToShow.connect(self._prepare)
        self._build()
        look.changed.connect(self._build)

    @property
    def menu(self) -> QMenu:
        return self._menu

    def show_state(self, state: TrayState) -> None:
        """Tell from now on how things are; an open menu keeps its order, so that no click goes astray."""
        self._state = state
        self._update()

    def _prepare(self) -> None:
        self._update()
        self.opened.emit()

    def _update(self) -> None:
        entries = self._dynamic_entries()
        if [entry.key for entry in entries] == [entry.key for entry in self._entries]:
            self._retell(entries)
        elif not self._menu.isVisible():
            self._build()

    def _retell(self, entries: list[_Entry]) -> None:
        self._entries = entries
        for action, entry in zip(self._actions, entries, strict=True):
            if action.text() != entry.text:
                action.setText(entry.text)

    # --- What stands in it ---------------------------------------------------------------------------

    def _dynamic_entries(self) -> list[_Entry]:
        state, now_ms = self._state, self._now_ms()
        entries = [_Entry("status", _plain(status_line(replace(state, unseen_failures=0), now_ms)), "")]
        if state.unseen_failures:
            entries.append(_Entry("failures", self._failure_words(state.unseen_failures), "warning"))
        entries += [
            _Entry(f"run {run.run_id}", _running_words(run), "mark-running", run)
            for run in state.running[:_MOST_RUNNING]
        ]
        if (more := len(state.running) - _MOST_RUNNING) > 0:
            entries.append(_Entry("more", self.tr("{count} more …").format(count=more), "window"))
        for upcoming in () if state.is_paused else state.upcoming:
            when = describe_when(upcoming.at, now_ms)
            text = f"{_plain(upcoming.job.name)} — {when}"
            entries.append(_Entry(f"next {upcoming.job.id}", text, "clock", upcoming.job))
        runnable = " ".join(f"{job.id}{job.name}" for job in state.runnable)
        entries.append(_Entry(f"run now {runnable}", self.tr("&Run now"), "run"))
        is_paused = state.is_paused
        pause = self.tr("R&esume all") if is_paused else self.tr("&Pause all")
        entries.append(
            _Entry(f"pause {is_paused} {state.active_count > 0}", pause, "resume" if is_paused else "pause")
        )
        return entries

    def _failure_words(self, count: int) -> str:
        if count == 1:
            return self.tr("1 failure you have not seen")
        return self.tr("{count} failures you have not seen").format(count=count)

    def _build(self) -> None:
        self._menu.clear()
        for submenu in self._submenus:
            submenu.deleteLater()
        self._submenus = []
        self._entries = self._dynamic_entries()
        self._actions = []
        section = ""
        for entry in self._entries:
            if section not in {"", entry.section}:
                self._menu.addSeparator()
            section = entry.section
            self._actions.append(self._add(entry))
        self._add_fixed()

    def _add(self, entry: _Entry) -> QAction:
        if isinstance(entry.subject, Underway):
            return self._add_running(entry, entry.subject)
        if entry.section == "act":
            return self._add_run_now(entry) if entry.key.startswith("run now") else self._add_pause(entry)
        action = self._plain_action(entry.text, entry.icon, entry.name)
        if isinstance(entry.subject, JobName):
            action.setIcon(self._look.icon(entry.icon, Tone.MUTED))
            action.triggered.connect(partial(self._open_job, entry.subject.id))
        elif entry.key == "status":
            action.setEnabled(False)
        elif entry.key == "failures":
            action.setIcon(self._look.icon("warning", Tone.WARN))
            action.triggered.connect(self.history_requested)
        else:
            action.triggered.connect(self.open_requested)
        return action

    def _add_running(self, entry: _Entry, run: Underway) -> QAction:
        submenu = self._submenu(entry, "runningMenu")
        submenu.menuAction().setIcon(self._look.icon(entry.icon, Tone.RUNNING))
        stop = submenu.addAction(self._look.icon("stop"), self.tr("&Stop"))
        stop.setObjectName("trayStopAction")
        stop.triggered.connect(partial(self.stop_requested.emit, run.run_id))
        show = submenu.addAction(self._look.icon("window"), self.tr("Show in &window"))
        show.triggered.connect(partial(self._open_job, run.job.id))
        return submenu.menuAction()

    def _add_run_now(self, entry: _Entry) -> QAction:
        submenu = self._submenu(entry, "trayRunMenu")
        state = self._state
        for job in state.runnable:
            action = submenu.addAction(_plain(job.name))
            action.triggered.connect(partial(self.run_requested.emit, job.id))
        if state.job_count > MOST_LISTED:
            submenu.addSeparator()
            choose = submenu.addAction(self._look.icon("window"), self.tr("Choose in window…"))
            choose.setObjectName("trayChooseAction")
            choose.triggered.connect(self.open_requested)
        submenu.menuAction().setEnabled(bool(state.runnable))
        return submenu.menuAction()

    def _add_pause(self, entry: _Entry) -> QAction:
        if self._state.is_paused:
            action = self._plain_action(entry.text, entry.icon, "trayResumeAction")
            action.triggered.connect(self.resume_all_requested)
            return action
        submenu = self._submenu(entry, "trayPauseMenu")
        add_pause_choices(submenu, self._pause)
        submenu.menuAction().setEnabled(bool(self._state.active_count or self._state.running))
        return submenu.menuAction()

    def _add_fixed(self) -> None:
        self._menu.addSeparator()
        open_window = self._plain_action(self.tr("&Open Halo"), "window", "trayOpenAction")
        open_window.triggered.connect(self.open_requested)
        self._menu.setDefaultAction(open_window)
        history = self._plain_action(self.tr("&History"), "history", "trayHistoryAction")
        history.triggered.connect(self.history_requested)
        settings = self._plain_action(self.tr("&Settings"), "settings", "traySettingsAction")
        settings.triggered.connect(self.settings_requested)
        self._menu.addSeparator()
        leave = self._plain_action(self.tr("&Quit"), "quit", "trayQuitAction")
        leave.triggered.connect(self.quit_requested)

    def _plain_action(self, text: str, icon: str, name: str) -> QAction:
        action = self._menu.addAction(text)
        action.setObjectName(name)
        if icon:
            action.setIcon(self._look.icon(icon))
        return action

    def _submenu(self, entry: _Entry, name: str) -> QMenu:
        submenu = QMenu(entry.text, self._menu)
        submenu.setObjectName(name)
        submenu.menuAction().setIcon(self._look.icon(entry.icon))
        self._menu.addMenu(submenu)
        self._submenus.append(submenu)
        return submenu

    # --- What is wanted ------------------------------------------------------------------------------

    def _open_job(self, job_id: str) -> None:
        self.open_requested.emit()
        self.job_requested.emit(job_id)

    def _pause(self, choice: PauseChoice) -> None:
        self.pause_all_requested.emit(pause_end(choice, self._now_ms()))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line that changes; with the same keys only the texts are told anew."""

    key: str
    text: str
    icon: str
    subject: JobName | Underway | None = None

    @property
    def section(self) -> str:
        if self.key.startswith(("run now ", "pause ")):
            return "act"
        if isinstance(self.subject, Underway) or self.key == "more":
            return "running"
        return "next" if self.subject is not None else "status"

    @property
    def name(self) -> str:
        return {
            "status": "trayStatusAction",
            "failures": "trayFailuresAction",
            "more": "trayMoreAction",
        }.get(self.key, "trayNextAction")


def _running_words(run: Underway) -> str:
    name = _plain(run.job.name)
    return name if run.progress is None else f"{name} — {run.progress:.0%}"


def _plain(text: str) -> str:
    """Return a text as a menu shows it: a single & would underline the next letter."""
    return one_line(text, _LONGEST_TEXT).replace("&", "&&")
