"""The pane of one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import ask
from finding import child
from past_runs import MINUTE, NOW, Past
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QFrame, QLabel, QProgressBar, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler import Outcome, Run, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.model import Follower, Manual, Question, Trigger
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import Theme
from ui.backend.backend import Backend
from ui.history.choice import JobName
from ui.history.facts_grid import YieldingArea
from ui.history.run_pane import RunPane
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText
from ui.widgets.output_view import OutputView
from ui.widgets.signs import LinkLine


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(NOW)) as scheduler:
        yield Past(scheduler)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def backend(past: Past, clock: ManualClock) -> Backend:
    return Backend.inline(past.scheduler, clock)


@pytest.fixture
def pane(backend: Backend, qtbot: QtBot) -> RunPane:
    appearance = Appearance(Theme.LIGHT)
    made = RunPane(backend, appearance)
    appearance.setParent(made)
    made.resize(500, 600)
    qtbot.addWidget(made)
    made.show()
    return made


def _title(pane: RunPane) -> str:
    return child(pane, QLabel, "runTitle").text()


def _words(pane: RunPane, name: str) -> str:
    return child(pane, WrappedText, name).text()


def _facts(pane: RunPane) -> list[str]:
    return [
        value.accessibleName() for value in pane.findChildren(WrappedText, "factValue") if value.isVisible()
    ]


def _is_shown(pane: RunPane, name: str) -> bool:
    return child(pane, QPushButton, name).isVisible()


def test_without_a_run_the_pane_explains_itself(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    assert child(pane, QLabel, "paneHint").isVisible()
    assert pane.findChild(OutputView) is None
    pane.show_run(past.run(past.job()), JobName("backup"))
    assert not child(pane, QLabel, "paneHint").isVisible()
    qtbot.waitUntil(lambda: pane.findChild(OutputView) is not None)
    assert child(pane, OutputView).isVisible()
    pane.show_run(None)
    assert child(pane, QLabel, "paneHint").isVisible()
    assert not child(pane, OutputView).isVisible()


def test_a_failure_shows_the_reason_and_advice(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    run = past.run(
        past.job(), outcome=Outcome.FAILURE, error="<b>no</b> space left", exit_code=28, output=b"log"
    )
    pane.show_run(run, JobName("backup"))
    assert [_title(pane), _words(pane, "runJob")] == ["Failed", "backup"]
    assert _words(pane, "runProblem") == "<b>no</b> space left."
    assert "run again" in _words(pane, "runAdvice")
    assert "Result: exit code 28" in _facts(pane)
    qtbot.waitUntil(lambda: child(pane, OutputView).text() == "log")


def test_a_success_needs_no_note(past: Past, pane: RunPane) -> None:
    pane.show_run(past.run(past.job()), JobName("backup"))
    assert not child(pane, QFrame, "runNote").isVisible()
    assert not _is_shown(pane, "stopButton")


def test_a_run_that_never_started_has_no_output(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    job = past.job()
    pane.show_run(past.run(job), JobName("backup"))
    qtbot.waitUntil(lambda: pane.findChild(OutputView) is not None)
    pane.show_run(past.run(job, outcome=Outcome.MISSED, started_at=None), JobName("backup"))
    assert not child(pane, OutputView).isVisible()
    assert child(pane, QPushButton, "runAgainButton").text() == "Run now"


def test_the_run_shortcut_works_with_every_button_text(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    job_id = past.job()
    with qtbot.waitActive(pane):
        pane.activateWindow()
    for outcome in (Outcome.MISSED, Outcome.SUCCESS):
        pane.show_run(past.run(job_id, outcome=outcome), JobName("backup"))
        with qtbot.waitSignal(pane.run_again_requested) as told:
            QTest.keySequence(pane, "Ctrl+R")
        assert told.args == [job_id]


def test_a_run_is_followed_while_it_runs(past: Past, backend: Backend, pane: RunPane, qtbot: QtBot) -> None:
    run = past.begin(past.job(), b"one\n", progress=0.4, progress_text="copying")
    pane.show_run(run, JobName("backup"))
    assert _is_shown(pane, "stopButton")
    assert not _is_shown(pane, "runAgainButton")
    assert child(pane, QProgressBar, "runProgress").value() == 40
    assert _words(pane, "runProgressText") == "copying"
    qtbot.waitUntil(lambda: child(pane, OutputView).text() == "one\n")
    past.write(run, b"two\n")
    past.end(run, b"one\ntwo\n")
    backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))
    qtbot.waitUntil(lambda: _title(pane) == "Succeeded")
    qtbot.waitUntil(lambda: child(pane, OutputView).text() == "one\ntwo")
    assert not _is_shown(pane, "stopButton")


def test_the_time_counts_only_while_it_is_seen(past: Past, pane: RunPane, clock: ManualClock) -> None:
    pane.show_run(past.begin(past.job()), JobName("backup"))
    assert pane._ticks.isActive()
    clock.set(NOW + MINUTE)
    pane._ticks.timeout.emit()
    assert "Duration: 1 min 0 s so far" in _facts(pane)
    pane.hide()
    assert not pane._ticks.isActive()


@pytest.mark.parametrize(
    ("button", "signal", "rest"),
    [
        ("runAgainButton", "run_again_requested", {}),
        ("editJobButton", "edit_job_requested", {}),
        ("stopButton", "stop_requested", {"outcome": Outcome.RUNNING, "finished_at": None}),
    ],
)
def test_buttons_emit_their_requests(
    button: str, signal: str, rest: dict[str, Any], past: Past, pane: RunPane
) -> None:
    run = past.run(past.job(), **rest)
    pane.show_run(run, JobName("backup"))
    spy = QSignalSpy(getattr(pane, signal))
    child(pane, QPushButton, button).click()
    assert spy.count() == 1
    assert spy.at(0) == [run.id if signal == "stop_requested" else run.job_id]


def test_a_job_in_the_trash_can_neither_run_nor_be_edited(past: Past, pane: RunPane) -> None:
    pane.show_run(past.run(past.job()), JobName("backup", is_removed=True))
    assert _words(pane, "runJob") == "backup (deleted)"
    for name in ("runAgainButton", "editJobButton"):
        assert not child(pane, QPushButton, name).isEnabled()


def test_texts_of_any_kind_break_nothing(past: Past, pane: RunPane) -> None:
    hostile = "<b>bold</b>\n\u202eturned 🎉 " + "x" * 10_000
    run = past.run(
        past.job(), outcome=Outcome.FAILURE, error=hostile, note=hostile, passed_over=2, passed_reason=hostile
    )
    pane.show_run(run, JobName(hostile))
    assert pane.minimumSizeHint().width() < 600
    assert "\u202e" not in _words(pane, "runProblem")
    assert pane.grab().width() == pane.grab().width()


def test_long_facts_scroll_instead_of_making_the_window_higher(
    past: Past, pane: RunPane, qtbot: QtBot
) -> None:
    job = past.job()
    pane.resize(500, 420)
    pane.show_run(past.run(job, output=b"text"), JobName("backup"))
    qtbot.waitUntil(lambda: pane.findChild(OutputView) is not None)
    area = child(pane, YieldingArea)
    assert area.verticalScrollBar().maximum() == 0
    assert area.focusPolicy() == Qt.FocusPolicy.NoFocus
    many = "word " * 300
    rest: dict[str, Any] = {"note": many, "work_title": many, "work_url": f"https://x.example/{'x' * 900}"}
    pane.show_run(past.run(job, outcome=Outcome.FAILURE, error=many, **rest), JobName("backup"))
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() > 0)
    assert pane.height() == 420
    assert area.focusPolicy() == Qt.FocusPolicy.StrongFocus


def test_the_same_run_keeps_its_output(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    run: Run = past.run(past.job(), output=b"text")
    pane.show_run(run, JobName("backup"))
    qtbot.waitUntil(lambda: child(pane, OutputView).text() == "text")
    pane.show_run(run, JobName("renamed"))
    assert child(pane, OutputView).text() == "text"
    assert _words(pane, "runJob") == "renamed"


def test_of_two_runs_in_a_row_the_output_is_the_last_ones(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    job = past.job()
    for text in (b"first", b"second"):
        pane.show_run(past.run(job, output=text), JobName("backup"))
    qtbot.waitUntil(lambda: pane.findChild(OutputView) is not None)
    qtbot.waitUntil(lambda: child(pane, OutputView).text() == "second")


def _address_buttons(pane: RunPane) -> list[str]:
    names = ("copyAddressButton", "openAddressButton")
    return [
        one.objectName()
        for one in pane.findChildren(QToolButton)
        if one.objectName() in names and one.isVisible()
    ]


def test_the_item_it_worked_on_can_be_copied_and_seen(
    past: Past, pane: RunPane, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    address = "https://tracker.example/issues/42"
    run = past.run(past.job(), work_id="42", work_title="Fix the login", work_url=address, cost=0.12)
    pane.show_run(run, JobName("backup"))
    assert {"Work item: 42 · Fix the login", f"URL: {address}", "Cost: 0.12"} <= set(_facts(pane))
    child(pane, QToolButton, "copyAddressButton").click()
    assert QGuiApplication.clipboard().text() == address
    child(pane, QToolButton, "openAddressButton").click()
    assert opened == [address]


def test_an_address_that_no_browser_shows_can_only_be_copied(past: Past, pane: RunPane) -> None:
    job = past.job()
    pane.show_run(past.run(job, work_url="https://tracker.example/1"), JobName("backup"))
    assert _address_buttons(pane) == ["copyAddressButton", "openAddressButton"]
    pane.show_run(past.run(job, work_url="file:///home/kim/1.md"), JobName("backup"))
    assert _address_buttons(pane) == ["copyAddressButton"]
    pane.show_run(past.run(job), JobName("backup"))
    assert _address_buttons(pane) == []


def _asked(past: Past, text: str = "Which branch?") -> tuple[Run, Question]:
    question = ask(past.scheduler, past.job(), text)
    run = past.scheduler.get_run(question.run_id)
    assert run is not None
    return run, question


def test_an_open_question_can_be_answered(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    run, _question = _asked(past)
    pane.show_run(run, JobName("backup"))
    qtbot.waitUntil(lambda: child(pane, QFrame, "questionNote").isVisible())
    assert _words(pane, "questionText") == "Which branch?"
    assert _words(pane, "questionState").startswith("The job is on hold")
    with qtbot.waitSignal(pane.answer_requested) as wanted:
        child(pane, QPushButton, "answerQuestionButton").click()
    assert wanted.args == [run.id]


def test_an_answer_is_shown_as_soon_as_it_was_given(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    run, question = _asked(past)
    pane.show_run(run, JobName("backup"))
    qtbot.waitUntil(lambda: _is_shown(pane, "answerQuestionButton"))
    past.scheduler.questions.answer(question.id, "main, please")
    qtbot.waitUntil(lambda: not _is_shown(pane, "answerQuestionButton"))
    assert _words(pane, "questionState").startswith("Answered on ")
    assert _words(pane, "questionAnswer") == "main, please"


def test_a_run_with_an_answer_names_its_question(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    asking, question = _asked(past)
    run_id = past.scheduler.questions.answer(question.id, "main, please")
    pane.show_run(past.run(asking.job_id, id=run_id, trigger=Trigger.ANSWER), JobName("backup"))
    qtbot.waitUntil(lambda: child(pane, QFrame, "questionNote").isVisible())
    assert _words(pane, "questionText") == "Which branch?"
    assert _words(pane, "questionState").startswith("Asked by an earlier run, answered on ")
    assert _words(pane, "questionAnswer") == "main, please"


def test_a_question_settled_while_hidden_is_updated_when_shown(
    past: Past, pane: RunPane, qtbot: QtBot
) -> None:
    run, question = _asked(past)
    pane.show_run(run, JobName("fix"))
    qtbot.waitUntil(lambda: _words(pane, "questionState").startswith("The job is on hold"))
    pane.hide()
    past.scheduler.questions.dismiss(question.id)
    pane.show()
    qtbot.waitUntil(lambda: _words(pane, "questionState").startswith("Dismissed on "))
    assert not _is_shown(pane, "answerQuestionButton")


def test_a_dismissed_question_is_shown_as_dismissed(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    run, question = _asked(past)
    past.scheduler.questions.dismiss(question.id)
    pane.show_run(run, JobName("backup"))
    qtbot.waitUntil(lambda: child(pane, QFrame, "questionNote").isVisible())
    assert _words(pane, "questionState").startswith("Dismissed on ")
    assert not _is_shown(pane, "answerQuestionButton")


def test_a_question_is_gone_with_the_run_that_left_it(
    past: Past, backend: Backend, pane: RunPane, qtbot: QtBot
) -> None:
    run, _question = _asked(past)
    pane.show_run(run, JobName("backup"))
    # What it asked is found while another run is shown, of which nothing is asked.
    pane.show_run(past.run(run.job_id, outcome=Outcome.SKIPPED), JobName("backup"))
    later: list[None] = []
    backend.ask(lambda _scheduler: None, later.append)
    qtbot.waitUntil(lambda: bool(later))
    assert not child(pane, QFrame, "questionNote").isVisible()


def test_a_question_of_any_kind_breaks_nothing(past: Past, pane: RunPane, qtbot: QtBot) -> None:
    run, question = _asked(past, "<b>bold</b>\n\u202eturned " + "x" * 1_900)
    past.scheduler.questions.answer(question.id, "<i>y</i>" + "y" * 90_000)
    pane.show_run(run, JobName("backup"))
    qtbot.waitUntil(lambda: child(pane, QFrame, "questionNote").isVisible())
    assert _words(pane, "questionText").startswith("<b>bold</b>\n")
    assert "\u202e" not in _words(pane, "questionText")
    assert child(pane, QFrame, "questionNote").height() < 400
    assert pane.minimumSizeHint().width() < 600


def _links(pane: RunPane) -> list[str]:
    return [link.accessibleName() for link in pane.findChildren(LinkLine) if link.isVisible()]


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_run_links_to_its_cause_and_its_effects(
    past: Past, backend: Backend, pane: RunPane, qtbot: QtBot
) -> None:
    last = past.job("mail")
    middle = past.scheduler.add_job("report", Manual(), followers=(Follower(job_id=last),))
    cause = past.run(past.job("<b>backup</b>"), NOW - 5 * MINUTE)
    run = past.run(middle, NOW - MINUTE, trigger=Trigger.CHAIN, caused_by=cause.id)
    pane.show_run(run, JobName("report"))
    qtbot.waitUntil(lambda: _links(pane) == ["<b>backup</b>, run of 08:55"])
    with qtbot.waitSignal(pane.run_wanted) as told:
        child(pane, LinkLine, "factLink").click()
    assert told.args == [cause.id]
    # It has all the room there is, beside its name.
    assert child(pane, LinkLine, "factLink").width() > pane.width() / 2
    # What it starts later is told when it comes.
    caused = past.run(last, NOW, trigger=Trigger.CHAIN, caused_by=run.id, outcome=Outcome.FAILURE)
    backend.tell(Change(ChangeKind.RUN_FINISHED, job_id=last, run_id=caused.id))
    qtbot.waitUntil(lambda: _links(pane)[1:] == ["mail, failed, 09:00"])
    # The Tab key visits them where they stand, before the output.
    stop: QWidget | None = child(pane, QToolButton, "openAddressButton")
    order: list[str] = []
    while len(order) < 4 and stop is not None:
        if stop.focusPolicy() & Qt.FocusPolicy.TabFocus:
            order.append(stop.accessibleName())
        stop = stop.nextInFocusChain()
    assert order[1:3] == _links(pane)
    pane.show_run(caused, JobName("mail"))
    qtbot.waitUntil(lambda: _links(pane) == ["report, run of 08:59"])
    pane.show_run(cause, JobName("backup"))
    qtbot.waitUntil(lambda: _links(pane) == ["report, succeeded, 08:59"])
    pane.show_run(past.run(past.job("alone")), JobName("alone"))
    qtbot.waitUntil(lambda: not _links(pane))
