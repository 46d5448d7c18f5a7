"""An open job editor, and what tests do to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Backoff, Command, Cron, Limits, Policy, Prompt, Retry
from halo_scheduler.clock import ManualClock
from halo_scheduler.conditions.probes import ConditionState
from halo_scheduler.model import CatchUp, Condition, JobSpec, Notify
from halo_scheduler.model.settings import Theme
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.editor.draft import Draft
from ui.editor.frame import PageList
from ui.editor.job_editor import JobEditor
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText

NOW = 1_784_000_000_000
_W = TypeVar("_W", bound=QWidget)
FULL = JobSpec(
    name="Back up",
    description="every night",
    schedule=Cron("30 2 * * 1-5", "Europe/Berlin"),
    action=Command(
        argv=("rsync", "-a", "/a b", ""),
        directory="/srv",
        environment={"TOKEN": "${secret:T}", "EMPTY": ""},
        stdin="x\ny",
        success_codes=(0, 24),
        no_work_code=3,
        grace="15 S",
    ),
    group="backup",
    policy=Policy(
        time_limit="90m",
        catch_up=CatchUp.ONCE,
        catch_up_max_age="2d",
        max_errors=0,
        backoff=Backoff.ladder(500, 60_000),
        retry=Retry(attempts=2, delay_ms=1_500),
        limits=Limits(min_ms=60_000, max_ms=86_400_500),
        jitter_percent=5,
        notify=Notify.ALL,
    ),
    anchor_at=NOW - 12_345,
    enabled=False,
    metadata={"source": "elsewhere"},
    parameters={"mode": "full"},
)


class Desk:
    """An editor, and what it tells."""

    def keys(self, text: str) -> None:
        """Type where the keyboard is."""
        QTest.keyClicks(self._focused(), text)

    def key(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Press a key where the keyboard is."""
        QTest.keyClick(self._focused(), key, modifier)

    def _focused(self) -> QWidget:
        focused = self.editor.focusWidget()
        assert focused is not None
        return focused

    def __init__(self, editor: JobEditor) -> None:
        self.editor = editor
        self.saved: list[JobSpec] = []
        self.tests: list[JobSpec] = []
        self.stops = 0
        editor.saved.connect(self.saved.append)
        editor.test_requested.connect(self.tests.append)
        editor.test_stop_requested.connect(self._count_stop)

    def _count_stop(self) -> None:
        self.stops += 1

    def find(self, kind: type[_W], name: str) -> _W:
        found = self.editor.findChild(kind, name)
        assert found is not None, name
        return found

    def line(self, name: str) -> QLineEdit:
        return self.find(QLineEdit, name)

    def press(self, name: str) -> None:
        """Press a button that is there to be pressed."""
        found = self.find(QAbstractButton, name)
        assert found.isEnabled(), name
        found.click()
        self.settle()

    def write(self, name: str, text: str) -> None:
        self.line(name).setText(text)
        self.settle()

    def write_text(self, name: str, text: str) -> None:
        """Put a text of several lines in the place of what is there, as a paste would."""
        edit = self.find(QPlainTextEdit, name)
        edit.selectAll()
        edit.insertPlainText(text)
        self.settle()

    def label(self, name: str) -> str:
        """Return what a label says; nothing while it is hidden."""
        found = self.find(QWidget, name)
        assert isinstance(found, QLabel | WrappedText)
        return "" if found.isHidden() else found.text()

    def summary(self, name: str) -> str:
        """Return what the head of a folded part tells of it."""
        return self.find(QAbstractButton, name).accessibleDescription()

    def settle(self) -> None:
        """Let the form be read, and the look ahead arrive."""
        self.editor._check()
        QCoreApplication.processEvents()

    def error(self, name: str) -> str:
        """Return the sentence beside a control, which is seen once its page is."""
        found = self.editor.findChild(QLabel, f"{name}Error")
        return "" if found is None else found.text()

    @property
    def can_save(self) -> bool:
        return self.find(QAbstractButton, "saveButton").isEnabled()

    @property
    def reason(self) -> str:
        button, remark = self.find(QAbstractButton, "saveReason"), self.find(QLabel, "saveRemark")
        return button.text() if not button.isHidden() else remark.text()

    def save(self) -> JobSpec:
        self.settle()
        assert self.can_save, self.reason
        self.press("saveButton")
        return self.saved[-1]

    def fill_in(self) -> None:
        """Give a new job what it needs."""
        self.write("name", "job")
        self.write("commandLine", "true")

    @property
    def focus(self) -> str:
        """The name of what has the keyboard."""
        return self._focused().objectName()

    @property
    def pages(self) -> PageList:
        return self.find(PageList, "pageList")


class StandIn(Scheduler):
    """A scheduler whose surroundings are what a test says; all conditions hold unless it says otherwise."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.states: dict[Condition, ConditionState] = {}
        self.looked_at: list[Condition] = []
        self._session.check_condition = self._check  # type: ignore[method-assign] # the surroundings of a test

    def _check(self, condition: Condition) -> ConditionState:
        """Return what the test says of it."""
        self.looked_at.append(condition)
        holds = ConditionState(is_observable=True, holds=True, sentence="All is well.")
        return self.states.get(condition, holds)


class Bench:
    """Opens editors on a database of their own, at a time that stands still."""

    def __init__(self, folder: Path, qtbot: QtBot) -> None:
        self.clock = ManualClock(NOW)
        self.scheduler = StandIn.open(folder / "halo.db", clock=self.clock)
        self._backend = Backend.inline(self.scheduler, self.clock)
        self._appearance = Appearance(Theme.LIGHT)
        self._qtbot = qtbot

    def change_settings(self, **changes: Any) -> None:
        """Change the settings behind the back of whoever edits."""
        self.scheduler.settings.change(**changes)
        QCoreApplication.processEvents()

    def open(self, spec: JobSpec | None = None, **draft: Any) -> Desk:
        """Open an editor and let it finish."""
        editor = self.make(spec, **draft)
        editor.show()
        with self._qtbot.waitActive(editor):
            pass
        desk = Desk(editor)
        desk.settle()
        return desk

    def make(self, spec: JobSpec | None = None, **draft: Any) -> JobEditor:
        """Make an editor; one that is given a spec edits a stored job, unless it says otherwise."""
        is_new = bool(draft.pop("is_new", spec is None))
        job_id = draft.pop("job_id", None if is_new else "id")
        given = Draft(spec=spec, job_id=job_id, is_new=is_new, **draft)
        editor = JobEditor(self._backend, self._appearance, given)
        self._qtbot.addWidget(editor, before_close_func=lambda window: window.accept())
        return editor

    def close(self) -> None:
        self._backend.close()
        self.scheduler.close()


@contextmanager
def opened_bench(folder: Path, qtbot: QtBot) -> Iterator[Bench]:
    """Give a bench, and close it."""
    bench = Bench(folder, qtbot)
    yield bench
    bench.close()


def prompt_of(spec: JobSpec) -> Prompt:
    """Return the action of a job that is a prompt."""
    assert isinstance(spec.action, Prompt)
    return spec.action


def command_of(spec: JobSpec) -> Command:
    """Return the action of a job that is a command."""
    assert isinstance(spec.action, Command)
    return spec.action
