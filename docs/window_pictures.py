"""Take the pictures of the windows, of one theme, in a process of its own: the real ones, on the seeded database.

`python docs/window_pictures.py FOLDER light|dark [ENDING]`
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

from demo import NOW_MS, seed
from PySide6.QtCore import QPoint, QSize, QTimer
from PySide6.QtGui import QCursor, QFont, QFontDatabase, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QDialog, QScrollArea, QWidget

from halo_scheduler.clock import ManualClock
from halo_scheduler.conditions.probes import ConditionState
from halo_scheduler.host.autostart import system_autostart
from halo_scheduler.model import (
    Command,
    Condition,
    Cron,
    Entry,
    Job,
    JobSpec,
    MainsPower,
    OnFile,
    OnWebhook,
    Outcome,
    Several,
)
from halo_scheduler.model.settings import Settings, Theme
from halo_scheduler.model.webhooks import LOOPBACK, ListenerState, Place, WebhookStatus
from halo_scheduler.service.scheduler import Scheduler
from ui.app.greeting import Greeting
from ui.backend.backend import Backend
from ui.editor.draft import Draft, PageNumber
from ui.editor.job_editor import JobEditor
from ui.forms.templates import TEMPLATES
from ui.history.window import HistoryWindow
from ui.main_window.window import MainWindow
from ui.settings.dialog import SettingsDialog
from ui.style.theme import Appearance
from ui.tray.menu import TrayMenu
from ui.tray.state import TrayReader
from ui.widgets.status_strip import EngineShown

_FONTS = ("Inter", "Cantarell", "Noto Sans")
_POINTS = 10
_WINDOW = QSize(1280, 760)
_EDITOR = QSize(1000, 760)
_TALL = QSize(1000, 992)
_SETTLE_MS = 400
_SMALLEST_FILE = 0
_SORT = JobSpec(
    name="Sort scanned letters",
    schedule=OnFile("~/Inbox", match="*.pdf"),
    action=Command(argv=("sort-scans", "--by-year")),
)
_READ_ORDERS = JobSpec(
    name="Read orders",
    schedule=Several(
        (Entry(Cron("0 9 * * 1-5")), Entry(Cron("30 10 * * 6")), Entry(OnFile("~/Orders", match="*.csv")))
    ),
    action=Command(argv=("shop", "read-orders")),
)
T = TypeVar("T")


class Album:
    """Takes pictures and puts them into a folder."""

    def __init__(self, folder: Path, ending: str) -> None:
        self._folder = folder
        self._ending = ending

    def take(self, widget: QWidget, name: str) -> None:
        """Show a window until it has settled, and keep its picture."""
        widget.show()
        before = QImage()
        while (image := _grab(widget)) != before:
            before = image
        image.save(str(self._folder / f"{name}-{self._ending}.png"), quality=_SMALLEST_FILE)

    def take_and_close(self, widget: QWidget, name: str) -> None:
        self.take(widget, name)
        if isinstance(widget, QDialog):
            widget.done(0)
        widget.hide()
        # A form that is left alone would ask again for what it shows, after its database was closed.
        widget.deleteLater()


def _grab(widget: QWidget) -> QImage:
    QTest.qWait(_SETTLE_MS)
    return widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)


@contextmanager
def _backend(appearance: Appearance, *, is_empty: bool = False) -> Iterator[Backend]:
    """Open the seeded database, or an empty one, at the moment of the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "halo.db"
        if not is_empty:
            seed(path)
        clock = ManualClock(NOW_MS)
        with Scheduler.open(path, clock=clock) as scheduler:
            scheduler.settings.change(theme=Theme.DARK if appearance.is_dark else Theme.LIGHT)
            # What holds on the machine that takes the pictures is not what they tell of.
            patch.object(scheduler.jobs, "check_condition", _check_condition).start()
            yield Backend.inline(scheduler, clock)


def _check_condition(condition: Condition) -> ConditionState:
    if isinstance(condition, MainsPower):
        return ConditionState(True, False, "The machine runs on its battery.")
    return ConditionState(True, True, "nas.local:22 answers.")


def _window(backend: Backend, appearance: Appearance) -> MainWindow:
    window = MainWindow(backend, appearance)
    window.resize(_WINDOW)
    window.show_engine(EngineShown("here"))
    return window


def _take_main(
    album: Album, appearance: Appearance, name: str = "Check the shop", file: str = "window"
) -> None:
    with _backend(appearance) as backend:
        window = _window(backend, appearance)
        window.show()
        QTest.qWait(_SETTLE_MS)
        window.select_job(_id_of(backend, name))
        album.take_and_close(window, file)


def _take_running(album: Album, appearance: Appearance) -> None:
    _take_main(album, appearance, "Back up documents", "running")


def _take_waiting(album: Album, appearance: Appearance) -> None:
    """Show a job that waits, and one that follows a hint."""
    _take_main(album, appearance, "Copy photos to the NAS", "waiting")
    _take_main(album, appearance, "Sort incoming mail", "hint")


def _id_of(backend: Backend, name: str) -> str:
    return _job_of(backend, name).id


def _job_of(backend: Backend, name: str) -> Job:
    return _ask(backend, lambda scheduler: next(job for job in scheduler.list_jobs() if job.name == name))


def _ask(backend: Backend, work: Callable[[Scheduler], T]) -> T:
    """Return what the service answers, which comes in the next turn."""
    found: list[T] = []
    backend.ask(work, found.append)
    QTest.qWait(0)
    return found[0]


def _take_empty(album: Album, appearance: Appearance) -> None:
    with _backend(appearance, is_empty=True) as backend:
        album.take_and_close(_window(backend, appearance), "empty")


def _take_greeting(album: Album, _appearance: Appearance) -> None:
    album.take_and_close(Greeting(), "greeting")


def _take_editor(album: Album, appearance: Appearance) -> None:
    with _backend(appearance) as backend:
        editor = JobEditor(
            backend, appearance, Draft(spec=TEMPLATES["backup"].spec, groups=("Backups", "Home"))
        )
        for place in (PageNumber.WHAT, PageNumber.WHEN, PageNumber.FAILURE, PageNumber.OPTIONS):
            editor.turn_to(place)
            album.take(editor, f"editor-{place.name.lower()}")
        editor.deleteLater()


def _take_chain(album: Album, appearance: Appearance) -> None:
    """Show what a job waits for and what runs after one as their owner edits that, and a run of a chain."""
    with _backend(appearance) as backend:
        for name, place in (
            ("Copy photos to the NAS", PageNumber.CONDITIONS),
            ("Back up documents", PageNumber.NEXT_JOBS),
        ):
            editor = JobEditor(backend, appearance, _draft_of(backend, name))
            editor.turn_to(place)
            album.take_and_close(editor, f"editor-{place.name.lower()}")
        window = HistoryWindow(backend, appearance)
        window.resize(_WINDOW)
        job_id = _id_of(backend, "Verify the backup")
        runs = _ask(backend, lambda scheduler: scheduler.get_run_log(job_id, 1))
        window.show_run(runs[0].id)
        album.take_and_close(window, "chain-run")


def _draft_of(backend: Backend, name: str) -> Draft:
    job = _job_of(backend, name)
    settings = _ask(backend, lambda scheduler: scheduler.settings.read())
    groups = ("Backups", "Home", "Work")
    return Draft(spec=job.spec, job_id=job.id, is_new=False, settings=settings, groups=groups)


def _take_schedules(album: Album, appearance: Appearance) -> None:
    """Show a job that files start and one with several schedules, as their owner edits them."""
    with _backend(appearance) as backend:
        for name, spec in (("editor-events", _SORT), ("editor-several", _READ_ORDERS)):
            editor = JobEditor(backend, appearance, Draft(spec=spec))
            editor.resize(_TALL)
            editor.turn_to(PageNumber.WHEN)
            album.take_and_close(editor, name)


def _take_prompt(album: Album, appearance: Appearance) -> None:
    """Show a job for an agent as its owner edits it: what the agent is told, and what it may spend."""
    with _backend(appearance) as backend:
        editor = JobEditor(backend, appearance, _draft_of(backend, "Triage new issues"))
        editor.resize(_EDITOR)
        editor.show()
        QTest.qWait(_SETTLE_MS)
        _unfold(editor, "promptPreviewFold")
        album.take(editor, "editor-prompt")
        _unfold(editor, "workFold")
        album.take(editor, "editor-work")
        editor.turn_to(PageNumber.OPTIONS)
        QTest.qWait(_SETTLE_MS)
        _unfold(editor, "capsFold")
        album.take_and_close(editor, "editor-caps")


def _unfold(editor: JobEditor, name: str) -> None:
    """Show what a part of the form hides, with its page scrolled to it."""
    head = editor.findChild(QAbstractButton, name)
    part = None if head is None else head.parentWidget()
    if head is None or part is None:
        raise LookupError(f"there is nothing to unfold called {name}")
    head.setChecked(True)
    QTest.qWait(_SETTLE_MS)
    for page in editor.findChildren(QScrollArea):
        if page.isAncestorOf(head):
            page.ensureWidgetVisible(part)


def _take_needs_you(album: Album, appearance: Appearance) -> None:
    with _backend(appearance) as backend:
        window = _window(backend, appearance)
        window.show()
        QTest.qWait(_SETTLE_MS)
        window.select_job(_id_of(backend, "Triage new issues"))
        window.show_questions()
        album.take_and_close(window, "needs-you")


def _take_history(album: Album, appearance: Appearance) -> None:
    with _backend(appearance) as backend:
        window = HistoryWindow(backend, appearance)
        window.resize(_WINDOW)
        window.show_job(None)
        album.take(window, "history")
        job_id = _id_of(backend, "Build and test main")
        failed = _ask(backend, lambda scheduler: scheduler.get_run_log(job_id, 1, outcome=Outcome.FAILURE))
        window.show_run(failed[0].id)
        album.take(window, "output")
        asked = _ask(backend, lambda scheduler: scheduler.questions.list())
        window.show_run(asked[0].run_id)
        album.take_and_close(window, "question")


def _take_settings(album: Album, appearance: Appearance) -> None:
    with _backend(appearance) as backend:
        dialog = SettingsDialog(backend, appearance, system_autostart())
        album.take(dialog, "settings")
        dialog.show_agents()
        album.take(dialog, "agents")
        dialog.show_quiet_times()
        album.take_and_close(dialog, "quiet-times")


def _take_webhooks(album: Album, appearance: Appearance) -> None:
    """Show the settings of webhooks, with a job that has one."""
    with _backend(appearance) as backend:
        _ask(backend, _add_webhook)
        # No port is opened for a picture.
        patch.object(_ask(backend, lambda scheduler: scheduler.webhooks), "status", _webhook_status).start()
        dialog = SettingsDialog(backend, appearance, system_autostart())
        dialog.show_webhooks()
        album.take_and_close(dialog, "webhooks")


def _add_webhook(scheduler: Scheduler) -> None:
    scheduler.add_job("Deploy the shop", OnWebhook(), Command(argv=("deploy", "shop")))
    scheduler.settings.change(webhooks=True)


def _webhook_status() -> WebhookStatus:
    place = Place(LOOPBACK, Settings().webhook_port)
    return WebhookStatus(
        place=place, listener=ListenerState(place=place, since=NOW_MS), is_running=True, jobs=1
    )


def _take_tray(album: Album, appearance: Appearance) -> None:
    with _backend(appearance) as backend:
        menu = TrayMenu(appearance, backend.now_ms)
        backend.ask(lambda scheduler: TrayReader().read(scheduler, None), menu.show_state)
        QTest.qWait(_SETTLE_MS)
        QTimer.singleShot(_SETTLE_MS, lambda: album.take_and_close(menu, "tray"))
        menu.popup(QPoint(40, 40))
        QTest.qWait(3 * _SETTLE_MS)


_PICTURES: dict[str, Callable[[Album, Appearance], None]] = {
    "window": _take_main,
    "running": _take_running,
    "waiting": _take_waiting,
    "empty": _take_empty,
    "greeting": _take_greeting,
    "editor": _take_editor,
    "schedules": _take_schedules,
    "prompt": _take_prompt,
    "chain": _take_chain,
    "needs-you": _take_needs_you,
    "history": _take_history,
    "settings": _take_settings,
    "webhooks": _take_webhooks,
    "tray": _take_tray,
}


def main(folder: Path, theme: Theme, ending: str, wanted: list[str]) -> None:
    """Take all pictures of a theme, or those that are wanted."""
    application = QApplication(sys.argv[:1])
    there = QFontDatabase.families()
    for family in _FONTS:
        if family in there:
            application.setFont(QFont(family, _POINTS))
            break
    appearance = Appearance(theme)
    appearance.apply()
    # A text cursor that blinks would look different each time.
    application.setCursorFlashTime(0)
    # Nothing is hovered.
    QCursor.setPos(application.primaryScreen().geometry().bottomRight())
    album = Album(folder, ending)
    for name in wanted or _PICTURES:
        _PICTURES[name](album, appearance)


if __name__ == "__main__":
    os.environ["TZ"] = "Europe/Berlin"
    main(Path(sys.argv[1]), Theme(sys.argv[2]), sys.argv[3], sys.argv[4:])
    # Taking Qt apart object by object is slow, and nothing is left to do.
    sys.stdout.flush()
    os._exit(0)
