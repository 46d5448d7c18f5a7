"""The tray menu: filled from the last known state, so that it opens at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from halo_scheduler.wording.schedules import describe_when
from halo_scheduler.wording.status import waiting_words
from ui.style.theme import Appearance, Tone
from ui.style.wording import one_line
from ui.widgets.pauses import PauseChoice, add_pause_choices, pause_end

from .state import LONGEST_LINE, MOST_LISTED, NEXT_LISTED, WAITING_LISTED, TrayState, Underway, status_line

_MOST_RUNNING = 5
_LONGEST_TEXT = 48


class TrayMenu(QMenu):
    """Emits what the user wants; it changes nothing itself.

    Its entries are made once and shown or hidden as needed: removing submenus while the system shows them has
    crashed, and a tray host refers to entries by their number.
    """

    open_requested = Signal()
    job_requested = Signal(str)
    history_requested = Signal()
    settings_requested = Signal()
    quit_requested = Signal()
    run_requested = Signal(str)
    stop_requested = Signal(str)
    pause_all_requested = Signal(object)
    resume_all_requested = Signal()
    questions_requested = Signal()
    opened = Signal()

    def __init__(self, appearance: Appearance, now_ms: Callable[[], int]) -> None:
        super().__init__()
        self._appearance = appearance
        self._now_ms = now_ms
        self._latest = self._shown = TrayState()
        self._is_open = False
        self._icons: list[tuple[QAction, str, Tone]] = []
        self.setObjectName("trayMenu")
        self._make_status()
        self._make_running()
        self._make_waiting()
        self._make_next()
        self._make_acts()
        self._make_fixed()
        self._draw_icons()
        self._fill()
        self.aboutToShow.connect(self._prepare)
        self.aboutToHide.connect(self._note_closed)
        appearance.changed.connect(self._draw_icons)

    @property
    def is_open(self) -> bool:
        """Whether it is open, as far as the tray host reports it."""
        return self._is_open

    def show_state(self, state: TrayState) -> None:
        """Show this state from now on; an open menu keeps its entries, so that a click hits what it aimed at."""
        self._latest = state
        if not self._is_open or _entries(state) == _entries(self._shown):
            self._fill()

    def _prepare(self) -> None:
        self._fill()
        self._is_open = True
        self.opened.emit()

    def _note_closed(self) -> None:
        # Refilled only at the next change: the click that closed the menu is still to come.
        self._is_open = False

    # --- Made once -----------------------------------------------------------------------------------

    def _make_status(self) -> None:
        self._asking = self._entry("", "mark-asks", "trayAskingAction", Tone.WARN)
        self._asking.triggered.connect(self._show_questions)
        self._status = self.addAction("")
        self._status.setObjectName("trayStatusAction")
        self._status.setEnabled(False)
        self._failures = self._entry("", "warning", "trayFailuresAction", Tone.WARN)
        self._failures.triggered.connect(self.history_requested)

    def _make_running(self) -> None:
        self._above_running = self.addSeparator()
        self._running = [self._running_menu(slot) for slot in range(_MOST_RUNNING)]
        self._more = self._entry("", "window", "trayMoreAction")
        self._more.triggered.connect(self.open_requested)

    def _running_menu(self, slot: int) -> QMenu:
        submenu = self._submenu("", "mark-running", f"trayRunningMenu{slot}", Tone.RUNNING)
        stop = submenu.addAction(self.tr("&Stop"))
        stop.setObjectName("trayStopAction")
        stop.triggered.connect(partial(self._stop, slot))
        show = submenu.addAction(self.tr("Show in &window"))
        show.setObjectName("trayShowAction")
        show.triggered.connect(partial(self._show_running, slot))
        self._icons += [(stop, "stop", Tone.TEXT), (show, "window", Tone.TEXT)]
        return submenu

    def _make_waiting(self) -> None:
        self._above_waiting = self.addSeparator()
        self._waiting = [
            self._entry("", "mark-late", f"trayWaitingAction{slot}", Tone.WARN)
            for slot in range(WAITING_LISTED)
        ]
        for slot, action in enumerate(self._waiting):
            action.triggered.connect(partial(self._show_waiting, slot))
        self._more_waiting = self._entry("", "window", "trayMoreWaitingAction")
        self._more_waiting.triggered.connect(self.open_requested)

    def _make_next(self) -> None:
        self._above_next = self.addSeparator()
        self._next = [
            self._entry("", "clock", f"trayNextAction{slot}", Tone.MUTED) for slot in range(NEXT_LISTED)
        ]
        for slot, action in enumerate(self._next):
            action.triggered.connect(partial(self._show_next, slot))

    def _make_acts(self) -> None:
        self.addSeparator()
        self._run_menu = self._submenu(self.tr("&Run now"), "run", "trayRunMenu")
        self._runnable = [self._run_menu.addAction("") for _ in range(MOST_LISTED)]
        for slot, action in enumerate(self._runnable):
            action.setObjectName(f"trayRunAction{slot}")
            action.triggered.connect(partial(self._run, slot))
        self._above_choose = self._run_menu.addSeparator()
        self._choose = self._run_menu.addAction(self.tr("Choose in window…"))
        self._choose.setObjectName("trayChooseAction")
        self._choose.triggered.connect(self.open_requested)
        self._icons.append((self._choose, "window", Tone.TEXT))
        self._pause_menu = self._submenu(self.tr("&Pause all"), "pause", "trayPauseMenu")
        add_pause_choices(self._pause_menu, self._pause)
        self._resume = self._entry(self.tr("R&esume all"), "resume", "trayResumeAction")
        self._resume.triggered.connect(self.resume_all_requested)

    def _make_fixed(self) -> None:
        self.addSeparator()
        open_window = self._entry(self.tr("&Open Halo"), "window", "trayOpenAction")
        open_window.triggered.connect(self.open_requested)
        history = self._entry(self.tr("&History"), "history", "trayHistoryAction")
        history.triggered.connect(self.history_requested)
        settings = self._entry(self.tr("&Settings"), "settings", "traySettingsAction")
        settings.triggered.connect(self.settings_requested)
        self.addSeparator()
        leave = self._entry(self.tr("&Quit"), "quit", "trayQuitAction")
        leave.triggered.connect(self.quit_requested)

    def _entry(self, text: str, icon: str, name: str, tone: Tone = Tone.TEXT) -> QAction:
        made = self.addAction(text)
        made.setObjectName(name)
        self._icons.append((made, icon, tone))
        return made

    def _submenu(self, text: str, icon: str, name: str, tone: Tone = Tone.TEXT) -> QMenu:
        made = QMenu(text, self)
        made.setObjectName(name)
        self.addMenu(made)
        self._icons.append((made.menuAction(), icon, tone))
        return made

    def _draw_icons(self) -> None:
        for made, icon, tone in self._icons:
            made.setIcon(self._appearance.icon(icon, tone))

    # --- Filled when something changes or it opens ---------------------------------------------------

    def _fill(self) -> None:
        state = self._shown = self._latest
        now_ms = self._now_ms()
        _tell(self._asking, self._asking_words(len(state.asking)))
        # Entries of their own are not repeated in the status line.
        rest = replace(state, unseen_failures=0, asking=())
        _tell(self._status, _plain(status_line(rest, now_ms, names_waiting=False), LONGEST_LINE))
        _tell(self._failures, self._failure_words(state.unseen_failures))
        self._fill_running(state)
        self._fill_waiting(state)
        upcoming = () if state.is_paused else state.upcoming
        nexts = [f"{_plain(one.job.name)} — {describe_when(one.at, now_ms)}" for one in upcoming]
        _tell_all(self._next, nexts)
        self._above_next.setVisible(bool(nexts))
        self._fill_acts(state)

    def _fill_running(self, state: TrayState) -> None:
        listed = [_running_words(run) for run in state.running[:_MOST_RUNNING]]
        _tell_all([submenu.menuAction() for submenu in self._running], listed)
        more = len(state.running) - len(listed)
        _tell(self._more, self.tr("{count} more…").format(count=more) if more else "")
        self._above_running.setVisible(bool(listed))

    def _fill_waiting(self, state: TrayState) -> None:
        now_ms = self._now_ms()
        listed = [
            f"{_plain(one.job.name)} — {_plain(waiting_words(one.waiting, now_ms))}" for one in state.waiting
        ]
        _tell_all(self._waiting, listed)
        more = state.waiting_jobs.count - len(listed)
        _tell(self._more_waiting, self.tr("{count} more waiting…").format(count=more) if more else "")
        self._above_waiting.setVisible(bool(listed))

    def _fill_acts(self, state: TrayState) -> None:
        busy = {run.job.id for run in state.running}
        _tell_all(self._runnable, [_plain(job.name) for job in state.runnable])
        for action, job in zip(self._runnable, state.runnable, strict=False):
            action.setEnabled(job.id not in busy)
        is_cut = state.job_count > len(state.runnable)
        self._above_choose.setVisible(is_cut)
        self._choose.setVisible(is_cut)
        self._run_menu.menuAction().setEnabled(bool(state.runnable))
        self._pause_menu.menuAction().setVisible(not state.is_paused)
        self._pause_menu.menuAction().setEnabled(bool(state.active_count or state.running))
        self._resume.setVisible(state.is_paused)

    def _failure_words(self, count: int) -> str:
        if count <= 1:
            return self.tr("1 new failure") if count else ""
        return self.tr("{count} new failures").format(count=count)

    def _asking_words(self, count: int) -> str:
        if count <= 1:
            return self.tr("&Needs you: 1 question…") if count else ""
        return self.tr("&Needs you: {count} questions…").format(count=count)

    # --- What is wanted ------------------------------------------------------------------------------

    def _show_questions(self) -> None:
        self.open_requested.emit()
        self.questions_requested.emit()

    def _stop(self, slot: int) -> None:
        self.stop_requested.emit(self._shown.running[slot].run_id)

    def _show_running(self, slot: int) -> None:
        self._open_job(self._shown.running[slot].job.id)

    def _show_waiting(self, slot: int) -> None:
        self._open_job(self._shown.waiting[slot].job.id)

    def _show_next(self, slot: int) -> None:
        self._open_job(self._shown.upcoming[slot].job.id)

    def _run(self, slot: int) -> None:
        self.run_requested.emit(self._shown.runnable[slot].id)

    def _open_job(self, job_id: str) -> None:
        self.open_requested.emit()
        self.job_requested.emit(job_id)

    def _pause(self, choice: PauseChoice) -> None:
        self.pause_all_requested.emit(pause_end(choice, self._now_ms()))


def _entries(state: TrayState) -> tuple[object, ...]:
    """Return what determines the set of entries, whatever their text."""
    return (
        [run.run_id for run in state.running],
        [waiting.job.id for waiting in state.waiting],
        state.waiting_jobs.count > len(state.waiting),
        [upcoming.job.id for upcoming in state.upcoming],
        state.runnable,
        state.is_paused,
        bool(state.unseen_failures),
        bool(state.asking),
    )


def _tell_all(actions: list[QAction], texts: list[str]) -> None:
    for slot, action in enumerate(actions):
        _tell(action, texts[slot] if slot < len(texts) else "")


def _tell(action: QAction, text: str) -> None:
    """Show an entry with this text; an empty text hides it."""
    if text and text != action.text():
        action.setText(text)
    action.setVisible(bool(text))


def _running_words(run: Underway) -> str:
    name = _plain(run.job.name)
    return name if run.progress is None else f"{name} — {run.progress:.0%}"


def _plain(text: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text for a menu, with "&" escaped."""
    return one_line(text, longest).replace("&", "&&")
