"""What runs ask, in the job window: seen at once, answered with few keys, kept true."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask, question_of
from finding import child
from job_values import MINUTE, NOW
from machine import Bench
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import Manual, QuestionState, Trigger
from halo_scheduler.model.settings import Theme
from halo_scheduler.service.runs import Questions
from halo_scheduler.service.scheduler import Scheduler
from ui.backend.backend import Backend
from ui.main_window.notes import UndoBar
from ui.main_window.table.job_view import JobView
from ui.main_window.window import MainWindow
from ui.questions.card import NeedsYouBar, QuestionCard
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText

_CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


@pytest.fixture
def backend(bench: Bench, qapp: QApplication) -> Backend:
    return Backend.inline(bench.scheduler, bench.clock, qapp)


@pytest.fixture
def window(qtbot: QtBot, backend: Backend) -> MainWindow:
    made = MainWindow(backend, Appearance(Theme.LIGHT))
    qtbot.addWidget(made)
    return made


@pytest.fixture
def job_id(bench: Bench) -> str:
    return bench.scheduler.add_job("fix", Manual())


def _open(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window._loader.loaded):
        window.show()
    qtbot.waitUntil(lambda: not window._needs_you._is_asking)


def _bar(window: MainWindow) -> NeedsYouBar | None:
    found = window.findChild(NeedsYouBar)
    return found if isinstance(found, NeedsYouBar) and found.isVisible() else None


def _cards(window: MainWindow) -> list[QuestionCard]:
    found = [card for card in window.findChildren(QuestionCard) if card.isVisible()]
    return sorted(found, key=lambda card: card.question.asked_at)


def _click(window: MainWindow, name: str) -> None:
    child(window, QAbstractButton, name).click()


def _show_list(qtbot: QtBot, window: MainWindow) -> QuestionCard:
    """Open the list, and return its first card."""
    qtbot.waitUntil(lambda: _bar(window) is not None)
    _click(window, "needsYouButton")
    qtbot.waitUntil(lambda: bool(_cards(window)))
    return _cards(window)[0]


def _field(card: QuestionCard) -> QPlainTextEdit:
    return child(card, QPlainTextEdit, "answerField")


def test_without_questions_there_is_nothing_to_be_seen(qtbot: QtBot, window: MainWindow, job_id: str) -> None:
    assert job_id
    _open(qtbot, window)
    assert window.findChild(NeedsYouBar) is None
    assert window.findChild(QuestionCard) is None


def test_a_question_is_seen_while_the_window_is_open(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    _open(qtbot, window)
    ask(bench.scheduler, job_id, "Which branch?")
    qtbot.waitUntil(lambda: _bar(window) is not None)
    assert child(window, WrappedText, "needsYouSummary").text() == "fix asks: Which branch?"
    assert child(window, JobView, "jobTable").isVisible()


def test_the_bar_cuts_names_only_by_the_width_there_is(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    names = [f"Sort the mailing list threads and answer the easy ones, part {part}" for part in "AB"]
    for name in names:
        ask(bench.scheduler, bench.scheduler.add_job(name, Manual()), "Which one?")
    assert job_id
    _open(qtbot, window)
    qtbot.waitUntil(lambda: _bar(window) is not None)
    words = child(window, WrappedText, "needsYouSummary")
    assert words.text() == f"2 questions from {names[0]}, {names[1]}"
    assert all(name in words.toolTip() for name in names)


def test_two_keys_and_the_words_answer_a_question(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    asked = ask(bench.scheduler, job_id)
    bench.tick()
    _open(qtbot, window)
    qtbot.waitUntil(lambda: _bar(window) is not None)
    QTest.keyClick(window, Qt.Key.Key_I, _CTRL)
    qtbot.waitUntil(lambda: window.focusWidget().objectName() == "answerField")
    QTest.keyClicks(window.focusWidget(), "main")
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Return, _CTRL)
    qtbot.waitUntil(lambda: question_of(bench.scheduler, asked).state is QuestionState.ANSWERED)
    assert question_of(bench.scheduler, asked).answer == "main"
    (card,) = _cards(window)
    sentence = child(card, WrappedText, "questionSentence")
    qtbot.waitUntil(lambda: sentence.text().endswith("\nAnswer sent. Starting fix."))
    (run,) = bench.tick()
    assert run.trigger is Trigger.ANSWER


def test_after_the_last_answer_the_jobs_are_there_again(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.questions.page._SENT_MS", 1)
    ask(bench.scheduler, job_id)
    _open(qtbot, window)
    card = _show_list(qtbot, window)
    _field(card).setPlainText("main")
    child(card, QPushButton, "answerButton").click()
    view = child(window, JobView, "jobTable")
    qtbot.waitUntil(view.isVisible)
    qtbot.waitUntil(lambda: _bar(window) is None)
    assert window.focusWidget() is view


def test_a_dismissed_question_can_be_taken_back(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    asked = ask(bench.scheduler, job_id)
    _open(qtbot, window)
    child(_show_list(qtbot, window), QPushButton, "dismissButton").click()
    qtbot.waitUntil(lambda: question_of(bench.scheduler, asked).state is QuestionState.DISMISSED)
    qtbot.waitUntil(lambda: _bar(window) is None)
    bar = child(window, UndoBar)
    assert bar.isVisible()
    assert child(window, WrappedText, "undoText").text() == "Dismissed the question from “fix”."
    _click(window, "undoButton")
    qtbot.waitUntil(lambda: _bar(window) is not None)
    assert question_of(bench.scheduler, asked).state is QuestionState.OPEN
    assert len(bench.scheduler.questions.list()) == 1


def test_a_dismissal_is_undone_with_the_keys_too(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    first, second = (ask(bench.scheduler, job_id, text) for text in "ab")
    _open(qtbot, window)
    dismiss = child(_show_list(qtbot, window), QPushButton, "dismissButton")
    dismiss.setFocus()
    QTest.keyClick(dismiss, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: question_of(bench.scheduler, first).state is QuestionState.DISMISSED)
    qtbot.waitUntil(lambda: len(_cards(window)) == 1)
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Z, _CTRL)
    qtbot.waitUntil(lambda: question_of(bench.scheduler, first).state is QuestionState.OPEN)
    assert question_of(bench.scheduler, second).state is QuestionState.OPEN


def test_a_question_answered_elsewhere_disappears(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    first, second = (ask(bench.scheduler, job_id, text) for text in ("one?", "two?"))
    _open(qtbot, window)
    _show_list(qtbot, window)
    _field(_cards(window)[1]).setPlainText("half an ans")
    bench.scheduler.questions.answer(first.id, "yes")
    qtbot.waitUntil(lambda: [card.question.id for card in _cards(window)] == [second.id])
    assert _cards(window)[0].answer == "half an ans"


def test_an_answer_that_comes_too_late_is_not_lost(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask(bench.scheduler, job_id)
    _open(qtbot, window)
    card = _show_list(qtbot, window)
    # Nothing is heard of it before the answer is sent.
    monkeypatch.setattr(bench.scheduler._session, "changed", lambda *_: None)
    bench.scheduler.questions.answer(asked.id, "theirs")
    _field(card).setPlainText("mine")
    child(card, QPushButton, "answerButton").click()
    qtbot.waitUntil(lambda: not card.is_open)
    assert card.answer == "mine"
    assert "wasn't sent" in child(card, WrappedText, "questionSentence").text()
    assert question_of(bench.scheduler, asked).answer == "theirs"


def test_a_refused_answer_says_why_beside_its_field(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(bench.scheduler, job_id)
    _open(qtbot, window)
    card = _show_list(qtbot, window)

    def refuse(_self: Scheduler, _question_id: str, _text: str) -> str:
        raise StoreUnavailableError("the database is locked")

    monkeypatch.setattr(Questions, "answer", refuse)
    _field(card).setPlainText("main")
    child(card, QPushButton, "answerButton").click()
    sentence = child(card, WrappedText, "questionSentence")
    qtbot.waitUntil(lambda: sentence.text() == "The database is locked")
    assert card.answer == "main"
    assert not _field(card).isReadOnly()


def test_escape_returns_to_the_jobs_and_keeps_the_typed_text(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    ask(bench.scheduler, job_id)
    _open(qtbot, window)
    _field(_show_list(qtbot, window)).setPlainText("half")
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    view = child(window, JobView, "jobTable")
    qtbot.waitUntil(view.isVisible)
    assert window.focusWidget() is view
    assert _show_list(qtbot, window).answer == "half"


def test_searching_shows_the_jobs_again(qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str) -> None:
    ask(bench.scheduler, job_id)
    _open(qtbot, window)
    _show_list(qtbot, window)
    search = child(window, QLineEdit, "searchField")
    search.setFocus()
    QTest.keyClicks(search, "f")
    assert child(window, JobView, "jobTable").isVisible()
    assert window.focusWidget() is search


def test_the_run_that_asked_is_shown(qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str) -> None:
    asked = ask(bench.scheduler, job_id)
    _open(qtbot, window)
    with qtbot.waitSignal(window.run_shown_requested) as told:
        child(_show_list(qtbot, window), QPushButton, "questionRunButton").click()
    assert told.args == [asked.run_id]


def test_questions_asked_while_hidden_are_shown_later(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    _open(qtbot, window)
    window.hide()
    ask(bench.scheduler, job_id)
    assert not window._needs_you._gather.isActive()
    assert not window._needs_you._is_asking
    window.show()
    qtbot.waitUntil(lambda: _bar(window) is not None)


def test_the_age_of_a_question_is_updated(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    ask(bench.scheduler, job_id)
    _open(qtbot, window)
    when = child(_show_list(qtbot, window), QLabel, "questionWhen")
    assert when.text() == "just now"
    bench.clock.advance(2 * MINUTE)
    window._count_seconds()
    assert when.text() == "2 min ago"


def test_a_job_that_is_renamed_or_deleted_changes_its_question(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    ask(bench.scheduler, job_id, "Which?")
    _open(qtbot, window)
    bench.scheduler.update_job(job_id, name="mend")
    words = child(window, WrappedText, "needsYouSummary")
    qtbot.waitUntil(lambda: words.text() == "mend asks: Which?")
    bench.scheduler.remove_job(job_id)
    qtbot.waitUntil(lambda: _bar(window) is None)
    bench.scheduler.restore_job(job_id)
    qtbot.waitUntil(lambda: _bar(window) is not None)


def test_the_selected_job_leads_to_its_own_question(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    ask(bench.scheduler, bench.scheduler.add_job("another", Manual()), "theirs?")
    ask(bench.scheduler, job_id, "ours?")
    _open(qtbot, window)
    window.select_job(job_id)
    qtbot.waitUntil(lambda: window.findChild(QPushButton, "askedAnswerButton") is not None)
    _click(window, "askedAnswerButton")
    qtbot.waitUntil(lambda: _focused_question(window) == "ours?")


def _focused_question(window: MainWindow) -> str:
    cards = [card for card in _cards(window) if card.isAncestorOf(window.focusWidget())]
    return cards[0].question.text if cards else ""


def test_the_menu_of_a_job_leads_to_its_question(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str
) -> None:
    ask(bench.scheduler, bench.scheduler.add_job("another", Manual()), "theirs?")
    ask(bench.scheduler, job_id, "ours?")
    _open(qtbot, window)
    window.select_job(job_id)
    answer = child(window, QAction, "answerAction")
    qtbot.waitUntil(answer.isEnabled)
    answer.trigger()
    qtbot.waitUntil(lambda: _focused_question(window) == "ours?")


def test_after_a_reading_that_failed_the_list_is_read_when_it_is_wanted(
    qtbot: QtBot, bench: Bench, window: MainWindow, job_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _open(qtbot, window)

    def refuse(_scheduler: Scheduler) -> tuple[()]:
        raise StoreUnavailableError("the database is locked")

    with monkeypatch.context() as broken:
        broken.setattr("ui.questions.needs_you.read_questions", refuse)
        with qtbot.waitSignal(window._needs_you.refused):
            ask(bench.scheduler, job_id)
    window.show_questions()
    qtbot.waitUntil(lambda: bool(_cards(window)))
