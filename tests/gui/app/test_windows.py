"""The windows open one another, and do what the tray asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest
from asking import ask
from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QFileDialog, QListWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Manual, Outcome, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import JobStatus
from halo_scheduler.model.settings import Theme
from halo_scheduler.wording.notices import Notice, NoticeAction, NoticeKind
from ui.app.about import AboutDialog
from ui.app.greeting import Greeting
from ui.app.program_log import ProgramLog
from ui.app.windows import Windows
from ui.backend.backend import Backend
from ui.editor.job_editor import JobEditor
from ui.history.window import HistoryWindow
from ui.main_window.importing import ImportDialog
from ui.main_window.more_menu import HelpTopic
from ui.main_window.notes import Note
from ui.main_window.window import MainWindow
from ui.questions.card import QuestionCard
from ui.settings.dialog import SettingsDialog
from ui.style.theme import Appearance
from ui.tray.icon import Tray

_NOW = 1_800_000_000_000


class FakeAutostart:
    """Start at login, as far as a test needs it."""

    def __init__(self) -> None:
        self.is_set = False
        self.refusal = ""

    def is_on(self) -> bool:
        return self.is_set

    def is_current(self, command: Sequence[str]) -> bool:
        return bool(command)

    def program(self) -> str:
        return "halo"

    def turn_on(self, command: Sequence[str]) -> None:
        assert command
        if self.refusal:
            raise SchedulerError(self.refusal)
        self.is_set = True

    def turn_off(self) -> None:
        self.is_set = False

    def where(self) -> str:
        return "here"


class FakeEngine(QObject):
    """The engine's thread, as far as editors need it."""

    trial_output = Signal(int, bytes)
    trial_ended = Signal(int, object)


class Stage:
    """All windows on a real database."""

    def __init__(self, path: Path) -> None:
        self.clock = ManualClock(_NOW)
        self.scheduler = Scheduler.open(path, clock=self.clock)
        self.scheduler.on_job_due(lambda _job, _run: Future())
        self.backend = Backend.inline(self.scheduler, self.clock)
        appearance = Appearance(Theme.LIGHT)
        self.autostart = FakeAutostart()
        self.main = MainWindow(self.backend, appearance)
        self.windows = Windows(
            self.backend,
            appearance,
            self.main,
            engine=FakeEngine(),  # type: ignore[arg-type] # a stand-in
            autostart=self.autostart,
            log=ProgramLog(path),
        )
        self.tray = Tray(self.backend, appearance)
        self.windows.connect_tray(self.tray)


@pytest.fixture
def stage(tmp_path: Path, qtbot: QtBot) -> Iterator[Stage]:
    made = Stage(tmp_path / "halo.db")
    qtbot.addWidget(made.main)
    yield made
    made.windows.close_all()
    for window in QApplication.topLevelWidgets():
        if isinstance(window, JobEditor):
            window.accept()
    made.scheduler.close()


def _is_open(kind: type) -> bool:
    return any(isinstance(window, kind) and window.isVisible() for window in QApplication.topLevelWidgets())


def _is_noted(stage: Stage, name: str) -> bool:
    """Tell whether a note is shown; it is made when there is something to say."""
    found = stage.main.findChild(Note, name)
    return isinstance(found, Note) and found.isVisible()


def test_a_click_on_the_icon_shows_the_window_and_hides_it_again(stage: Stage, qtbot: QtBot) -> None:
    stage.tray.toggle_requested.emit()
    qtbot.waitUntil(stage.main.isActiveWindow)
    stage.tray.toggle_requested.emit()
    assert not stage.main.isVisible()
    stage.tray.toggle_requested.emit()
    assert stage.main.isVisible()


def test_each_button_of_a_notification_works(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"))
    notice = Notice(kind=NoticeKind.FAILED, title="backup failed", text="", job_id=job_id)
    stage.windows.act_on_notice(notice, NoticeAction.RUN_AGAIN)
    qtbot.waitUntil(lambda: stage.scheduler._store.requests.has_trigger(job_id))
    stage.windows.act_on_notice(notice, NoticeAction.PAUSE)
    qtbot.waitUntil(lambda: _status(stage, job_id) is JobStatus.PAUSED)


def _status(stage: Stage, job_id: str) -> JobStatus:
    job = stage.scheduler.get_job(job_id)
    assert job is not None
    return job.status


def test_a_job_is_watched_while_it_is_in_sight_in_the_active_window(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"))
    assert not stage.main.is_watching(job_id)
    stage.windows.show_main()
    qtbot.waitUntil(lambda: stage.main.is_watching(job_id))
    stage.main.hide()
    assert not stage.main.is_watching(job_id)


def test_the_window_opens_the_others(stage: Stage, qtbot: QtBot) -> None:
    stage.main.new_job_requested.emit(None)
    qtbot.waitUntil(lambda: _is_open(JobEditor))
    stage.main.history_requested.emit(None)
    qtbot.waitUntil(lambda: _is_open(HistoryWindow))
    stage.main.settings_requested.emit()
    qtbot.waitUntil(lambda: _is_open(SettingsDialog))
    stage.main.help_requested.emit(HelpTopic.ABOUT)
    assert _is_open(AboutDialog)
    stage.main.import_requested.emit()
    assert _is_open(ImportDialog)
    stage.main.export_requested.emit()
    assert stage.main.findChild(QFileDialog, "exportJobsDialog") is not None
    with qtbot.waitSignal(stage.windows.quit_requested):
        stage.main.quit_requested.emit()
    stage.windows.close_all()
    assert not any(map(_is_open, (HistoryWindow, SettingsDialog, AboutDialog, ImportDialog, MainWindow)))


class _Browser(QObject):
    """Opens what a desktop would open."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[QUrl] = []

    @Slot(QUrl)
    def open(self, address: QUrl) -> None:
        self.opened.append(address)


@pytest.fixture
def browser() -> Iterator[_Browser]:
    made = _Browser()
    QDesktopServices.setUrlHandler("file", made, "open")  # type: ignore[arg-type] # the stub wants bytes, Qt text
    yield made
    QDesktopServices.unsetUrlHandler("file")


def test_the_manual_opens_in_the_browser(
    stage: Stage, browser: _Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "index.html"
    monkeypatch.setattr("ui.app.windows.manual_page", lambda: page)
    stage.main.help_requested.emit(HelpTopic.MANUAL)
    assert browser.opened == [QUrl.fromLocalFile(str(page))]
    assert not _is_noted(stage, "messageNote")


def test_a_manual_that_is_not_built_is_reported(
    stage: Stage, browser: _Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.main.show()
    monkeypatch.setattr("ui.app.windows.manual_page", lambda: None)
    stage.main.help_requested.emit(HelpTopic.MANUAL)
    assert browser.opened == []
    assert _is_noted(stage, "messageNote")


@pytest.mark.parametrize(
    ("signal", "title"),
    [
        ("quiet_times_requested", "Quiet hours"),
        ("secrets_requested", "Secrets"),
        ("webhooks_requested", "Webhooks"),
        ("chat_requested", "Chat"),
    ],
)
def test_an_editor_opens_the_settings_at_a_page(stage: Stage, qtbot: QtBot, signal: str, title: str) -> None:
    for _ in range(2):
        getattr(stage.windows.editing, signal).emit()
        qtbot.waitUntil(lambda: _is_open(SettingsDialog))
        windows = (one for one in QApplication.topLevelWidgets() if one.isVisible())
        (dialog,) = (one for one in windows if isinstance(one, SettingsDialog))
        page = dialog.findChild(QListWidget, "settingsPages")
        assert page is not None
        assert page.currentItem().text() == title
        page.setCurrentRow(0)


def test_the_tray_shows_the_window(stage: Stage) -> None:
    stage.tray.open_requested.emit()
    assert stage.main.isVisible()


def test_the_tray_pauses_and_resumes_everything(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Every("1h"))

    def status() -> JobStatus:
        job = stage.scheduler.get_job(job_id)
        assert job is not None
        return job.status

    stage.tray.pause_all_requested.emit(None)
    qtbot.waitUntil(lambda: status() is JobStatus.PAUSED)
    stage.tray.resume_all_requested.emit()
    qtbot.waitUntil(lambda: status() is JobStatus.IDLE)


def test_the_tray_runs_and_stops_a_job(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("backup", Manual())
    stage.tray.run_requested.emit(job_id)
    qtbot.waitUntil(lambda: stage.scheduler.runs.waiting_of(job_id) is not None)
    stage.scheduler.tick()
    (run,) = stage.scheduler.runs.running()
    stage.tray.stop_requested.emit(run.id)
    qtbot.waitUntil(lambda: _stopped(stage, run.id))


def _stopped(stage: Stage, run_id: str) -> bool:
    stage.scheduler.tick()
    run = stage.scheduler.get_run(run_id)
    return run is not None and run.outcome is Outcome.CANCELLED


def _notice(run_ids: tuple[str, ...]) -> Notice:
    return Notice(kind=NoticeKind.FAILED, title="title", text="text", job_id="job", run_ids=run_ids)


@pytest.mark.parametrize("count", [1, 2])
def test_a_clicked_notice_opens_its_runs(stage: Stage, qtbot: QtBot, count: int) -> None:
    run_ids = tuple(f"run{number}" for number in range(count))
    stage.windows.show_notice(_notice(run_ids))
    qtbot.waitUntil(lambda: _is_open(HistoryWindow))


def test_a_clicked_notice_without_runs_opens_the_window(stage: Stage) -> None:
    stage.windows.show_notice(_notice(()))
    assert stage.main.isVisible()


def _focused_question(stage: Stage) -> str:
    """Return the question whose answer the keys would write."""
    focused = stage.main.focusWidget()
    cards = [card for card in stage.main.findChildren(QuestionCard) if card.isAncestorOf(focused)]
    return cards[0].question.text if cards and cards[0].isVisible() else ""


def test_a_clicked_question_opens_the_list_at_it(stage: Stage, qtbot: QtBot) -> None:
    job_id = stage.scheduler.add_job("fix", Manual())
    asked = [ask(stage.scheduler, job_id, text) for text in ("first", "second", "third")]
    notice = Notice(
        kind=NoticeKind.NEEDS_INPUT, title="t", text="t", job_id=job_id, run_ids=(asked[1].run_id,)
    )
    stage.windows.show_notice(notice)
    assert stage.main.isVisible()
    qtbot.waitUntil(lambda: _focused_question(stage) == "second")


def test_a_question_answered_before_the_click_is_reported_as_answered(stage: Stage, qtbot: QtBot) -> None:
    question = ask(stage.scheduler, stage.scheduler.add_job("fix", Manual()))
    stage.scheduler.questions.dismiss(question.id)
    stage.windows.show_notice(
        Notice(kind=NoticeKind.NEEDS_INPUT, title="t", text="t", run_ids=(question.run_id,))
    )
    qtbot.waitUntil(lambda: _is_noted(stage, "newsNote"))


def test_the_tray_opens_the_open_questions(stage: Stage, qtbot: QtBot) -> None:
    ask(stage.scheduler, stage.scheduler.add_job("fix", Manual()), "which?")
    stage.tray.open_requested.emit()
    stage.tray.questions_requested.emit()
    qtbot.waitUntil(lambda: _focused_question(stage) == "which?")


@pytest.mark.parametrize("is_wanted", [True, False])
def test_the_greetings_answer_is_kept(stage: Stage, qtbot: QtBot, is_wanted: bool) -> None:
    stage.main.show()
    stage.windows.greet()
    greeting = stage.main.findChild(Greeting)
    assert isinstance(greeting, Greeting)
    greeting.answered.emit(is_wanted)
    qtbot.waitUntil(lambda: stage.scheduler.settings.read().autostart_asked)
    qtbot.waitUntil(lambda: stage.autostart.is_set is is_wanted)
    qtbot.waitUntil(lambda: _is_noted(stage, "autostartNote") is not is_wanted)


def test_autostart_can_be_turned_on_after_declining(stage: Stage, qtbot: QtBot) -> None:
    stage.main.show()
    stage.windows.check_autostart()
    qtbot.waitUntil(lambda: _is_noted(stage, "autostartNote"))
    stage.main.autostart_requested.emit()
    qtbot.waitUntil(lambda: not _is_noted(stage, "autostartNote"))
    assert stage.autostart.is_set


def test_a_refused_start_at_login_says_why(stage: Stage, qtbot: QtBot) -> None:
    stage.main.show()
    stage.autostart.refusal = "the folder cannot be written"
    stage.main.autostart_requested.emit()
    qtbot.waitUntil(lambda: _is_noted(stage, "messageNote"))
