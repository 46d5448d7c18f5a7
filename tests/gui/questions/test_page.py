"""The list of questions: what it keeps, where the keys go, what it says is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from finding import child
from job_values import MINUTE, NASTY, NOW
from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from ui.backend.questions import OpenQuestion
from ui.questions.card import QuestionCard
from ui.questions.page import NeedsYouPage
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText


@pytest.fixture
def page(qtbot: QtBot) -> NeedsYouPage:
    made = NeedsYouPage(Appearance())
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    return made


def _question(number: int = 1, **fields: Any) -> OpenQuestion:
    given = {
        "id": f"q{number}",
        "job_id": "job",
        "run_id": f"run{number}",
        "job_name": "fix",
        "asked_at": NOW + number * MINUTE - 60 * MINUTE,
        "text": f"question {number}",
        **fields,
    }
    return OpenQuestion(**given)


def _show(page: NeedsYouPage, questions: Sequence[OpenQuestion]) -> None:
    page.show_questions(questions, NOW)
    _settle(page)


def _settle(page: NeedsYouPage) -> None:
    """Wait until there is a card for every question that gets one."""
    QTest.qWait(0)
    while page._later.isActive():
        QTest.qWait(0)


def _cards(page: NeedsYouPage) -> list[QuestionCard]:
    """Return the cards from top to bottom."""
    return page._in_order()


def _texts(page: NeedsYouPage) -> list[str]:
    return [card.question.text for card in _cards(page)]


def _field(card: QuestionCard) -> QPlainTextEdit:
    return child(card, QPlainTextEdit, "answerField")


def _focused(page: NeedsYouPage) -> str:
    focused = page.window().focusWidget()
    found = [card for card in _cards(page) if card.isAncestorOf(focused)]
    return found[0].question.id if found else ""


def _send_with_keys(card: QuestionCard, text: str) -> None:
    _field(card).setFocus()
    QTest.keyClicks(_field(card), text)
    QTest.keyClick(_field(card), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def test_a_question_is_shown_with_all_that_belongs_to_it(page: NeedsYouPage) -> None:
    _show(page, [_question(item="#7 · Broken", item_url="https://example.org/7")])
    (card,) = _cards(page)
    assert child(card, WrappedText, "questionJob").text() == "fix"
    assert child(card, QPlainTextEdit, "questionText").toPlainText() == "question 1"
    assert child(card, WrappedText, "questionItem").text() == "About #7 · Broken"
    assert child(card, QLabel, "questionWhen").text() == "59 min ago"
    assert child(card, QPushButton, "questionOpenItem").isVisible()
    assert not child(card, WrappedText, "questionSentence").isVisible()
    assert not child(card, QPushButton, "questionClose").isVisible()


def test_without_an_item_none_is_shown(page: NeedsYouPage) -> None:
    _show(page, [_question()])
    (card,) = _cards(page)
    assert not child(card, WrappedText, "questionItem").isVisible()
    assert not child(card, QPushButton, "questionOpenItem").isVisible()


def test_hostile_texts_are_shown_as_they_are_and_widen_nothing(page: NeedsYouPage) -> None:
    text = f"{NASTY}\n" + "y" * 5_000
    _show(page, [_question(text=text, job_name=NASTY, item=NASTY)])
    QTest.qWait(0)
    (card,) = _cards(page)
    assert child(card, QPlainTextEdit, "questionText").toPlainText() == text
    assert card.width() <= 760
    assert page._area.horizontalScrollBar().maximum() == 0
    # A long one scrolls inside of its card.
    assert card.height() < 600


def test_control_and_return_sends_the_answer(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question()])
    (card,) = _cards(page)
    with qtbot.waitSignal(page.answer_wanted) as told:
        _send_with_keys(card, "main")
    assert told.args == [card.question, "main"]


def test_return_alone_makes_a_new_line(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question()])
    (card,) = _cards(page)
    with qtbot.assertNotEmitted(page.answer_wanted):
        QTest.keyClicks(_field(card), "a")
        QTest.keyClick(_field(card), Qt.Key.Key_Return)
        QTest.keyClicks(_field(card), "b")
    assert card.answer == "a\nb"


@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_empty_answer_is_refused_beside_its_field(page: NeedsYouPage, qtbot: QtBot, text: str) -> None:
    _show(page, [_question()])
    (card,) = _cards(page)
    _field(card).setPlainText(text)
    with qtbot.assertNotEmitted(page.answer_wanted):
        child(card, QPushButton, "answerButton").click()
    sentence = child(card, WrappedText, "questionSentence")
    assert sentence.text() == "Enter an answer or dismiss the question."
    assert sentence.isVisible()
    assert _field(card).property("invalid") is True
    assert _focused(page) == "q1"
    QTest.keyClicks(_field(card), "a")
    assert sentence.text() == ""
    assert _field(card).property("invalid") is False


def test_an_answer_being_sent_is_not_sent_twice_and_keeps_its_text(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question()])
    (card,) = _cards(page)
    _send_with_keys(card, "main")
    with qtbot.assertNotEmitted(page.answer_wanted):
        _send_with_keys(card, "more")
    assert card.answer == "main"


def test_a_refused_answer_can_be_sent_again(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question()])
    (card,) = _cards(page)
    _send_with_keys(card, "main")
    page.show_refusal("q1", "The database is <locked>.")
    assert child(card, WrappedText, "questionSentence").text() == "The database is <locked>."
    with qtbot.waitSignal(page.answer_wanted) as told:
        _send_with_keys(card, "!")
    assert told.args[1] == "main!"


def test_a_sent_answer_shows_its_effect_and_disappears(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question(1), _question(2)])
    first = _cards(page)[0]
    first.focus_field()
    page.show_sent("q1", "fix starts now.")
    assert child(first, WrappedText, "questionSentence").text() == "fix starts now."
    assert not _field(first).isVisible()
    # The keys are already at the next one.
    assert _focused(page) == "q2"
    _show(page, [_question(2)])
    assert len(_cards(page)) == 2
    page.drop("q1")
    assert _texts(page) == ["question 2"]
    with qtbot.waitSignal(page.emptied):
        page.drop("q2")


def test_an_answered_card_keeps_its_position_while_others_are_open(
    page: NeedsYouPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.questions.page._SENT_MS", 1)
    _show(page, [_question(1), _question(2)])
    first = _cards(page)[0]
    QTest.keyClicks(_field(first), "main")
    page.show_sent("q1", "Answer sent.")
    qtbot.wait(50)  # Longer than an answered card of its own would stay.
    assert _cards(page)[0] is first
    assert child(first, WrappedText, "questionSentence").text() == "You answered: main\nAnswer sent."
    with qtbot.waitSignal(page.emptied):
        page.show_sent("q2", "Answer sent.")


def test_a_sent_answer_goes_by_itself(
    page: NeedsYouPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.questions.page._SENT_MS", 1)
    _show(page, [_question()])
    with qtbot.waitSignal(page.emptied):
        page.show_sent("q1", "fix starts now.")
    assert page.is_empty


def test_typed_text_is_kept_while_other_cards_change(page: NeedsYouPage) -> None:
    _show(page, [_question(1), _question(2)])
    second = _cards(page)[1]
    QTest.keyClicks(_field(second), "half an ans")
    second.focus_field()
    _show(page, [_question(2, job_name="renamed"), _question(3)])
    assert _texts(page) == ["question 2", "question 3"]
    assert _cards(page)[0] is second
    assert second.answer == "half an ans"
    assert child(second, WrappedText, "questionJob").text() == "renamed"
    assert _focused(page) == "q2"


def test_text_typed_for_a_question_settled_elsewhere_is_not_lost(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question()])
    (card,) = _cards(page)
    QTest.keyClicks(_field(card), "half an ans")
    _show(page, [])
    assert not card.is_open
    assert card.answer == "half an ans"
    assert "wasn't sent" in child(card, WrappedText, "questionSentence").text()
    assert not child(card, QPushButton, "answerButton").isVisible()
    with qtbot.assertNotEmitted(page.answer_wanted):
        _send_with_keys(card, "wer")
    with qtbot.waitSignal(page.emptied):
        child(card, QPushButton, "questionClose").click()


def test_a_question_that_is_open_again_can_be_answered_again(page: NeedsYouPage) -> None:
    _show(page, [_question()])
    (card,) = _cards(page)
    QTest.keyClicks(_field(card), "half")
    _show(page, [])
    _show(page, [_question()])
    (card,) = _cards(page)
    assert card.is_open
    assert card.answer == "half"
    assert child(card, QPushButton, "answerButton").isVisible()
    _send_with_keys(card, " more")
    assert card.answer == "half more"


def test_after_dismissing_a_question_the_next_one_is_focused(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question(1), _question(2)])
    first, second = _cards(page)
    dismiss = child(first, QPushButton, "dismissButton")
    dismiss.setFocus()
    with qtbot.waitSignal(page.dismiss_wanted) as told:
        dismiss.click()
    assert told.args == [first.question]
    page.drop("q1")
    assert page.window().focusWidget() is child(second, QPushButton, "dismissButton")


def test_the_run_and_the_item_are_opened(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question(item="#7", item_url="https://example.org/7")])
    (card,) = _cards(page)
    with qtbot.waitSignal(page.run_wanted) as run:
        child(card, QPushButton, "questionRunButton").click()
    assert run.args == ["run1"]
    with qtbot.waitSignal(page.item_wanted) as item:
        child(card, QPushButton, "questionOpenItem").click()
    assert item.args == ["https://example.org/7"]


def test_the_tab_order_follows_the_cards_including_later_ones(page: NeedsYouPage) -> None:
    _show(page, [_question(1)])
    _show(page, [_question(1), _question(2)])
    first, second = _cards(page)
    first.focus_field()
    seen = []
    for _ in range(6):
        QTest.keyClick(page.window().focusWidget(), Qt.Key.Key_Tab)
        seen.append(page.window().focusWidget().objectName())
    names = ["answerButton", "questionRunButton", "dismissButton"]
    assert seen == [*names, "answerField", *names[:2]]
    assert second.isAncestorOf(page.window().focusWidget())


def test_escape_goes_back_to_the_jobs(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question()])
    page.focus_question()
    with qtbot.waitSignal(page.left):
        QTest.keyClick(page.window().focusWidget(), Qt.Key.Key_Escape)


def test_a_wanted_question_is_brought_into_sight(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question(number) for number in range(1, 13)])
    page.focus_question("q11")
    assert _focused(page) == "q11"
    qtbot.waitUntil(lambda: _is_in_sight(page, _cards(page)[10]))


def test_the_text_being_typed_stays_visible_after_a_resize(page: NeedsYouPage, qtbot: QtBot) -> None:
    long_text = "a rather long question " * 20
    _show(page, [_question(number, text=long_text) for number in range(1, 13)])
    card = _cards(page)[5]
    page.focus_question("q6")
    qtbot.waitUntil(lambda: _is_in_sight(page, card))
    top, height = card.y(), card.height()
    page.resize(page.width() // 2, page.height())
    qtbot.waitUntil(lambda: card.height() > height and card.y() > top)
    qtbot.waitUntil(lambda: _is_in_sight(page, card))


def test_the_question_that_gets_the_keys_next_is_brought_into_sight(page: NeedsYouPage, qtbot: QtBot) -> None:
    page.resize(page.width(), 240)
    _show(page, [_question(number) for number in range(1, 4)])
    page.focus_question("q1")
    page.show_sent("q1", "Answered.")
    assert _focused(page) == "q2"
    qtbot.waitUntil(lambda: _is_in_sight(page, _cards(page)[1]))


def _is_in_sight(page: NeedsYouPage, card: QuestionCard) -> bool:
    area = page._area.viewport()
    return area.rect().contains(QRect(card.mapTo(area, QPoint()), card.size()))


def test_a_new_question_has_the_keys_at_once(page: NeedsYouPage) -> None:
    page.show_questions([_question()], NOW)
    page.focus_question()
    assert _cards(page)[0].isVisible()
    assert _focused(page) == "q1"


def test_without_a_given_question_the_oldest_is_first(page: NeedsYouPage) -> None:
    _show(page, [_question(1), _question(2)])
    page.focus_question()
    assert _focused(page) == "q1"


def test_of_very_many_the_rest_comes_as_the_first_are_settled(page: NeedsYouPage) -> None:
    questions = [_question(number) for number in range(1, 36)]
    _show(page, questions)
    assert len(_cards(page)) == 30
    more = child(page, QLabel, "needsYouMore")
    assert more.text() == "5 more appear as you answer these."
    page.focus_question("q34")
    assert _focused(page) == "q34"
    assert _texts(page)[-1] == "question 34"
    _show(page, questions[10:])
    assert _texts(page) == [question.text for question in questions[10:]]
    assert not more.isVisible()


def test_many_cards_are_made_a_few_at_a_time_the_wanted_one_first(page: NeedsYouPage, qtbot: QtBot) -> None:
    page.show_questions([_question(number) for number in range(1, 13)], NOW)
    assert _texts(page) == [f"question {number}" for number in range(1, 5)]
    page.focus_question("q11")
    assert _focused(page) == "q11"
    _settle(page)
    assert _texts(page) == [f"question {number}" for number in range(1, 13)]
    assert _focused(page) == "q11"
    assert child(_cards(page)[11], QLabel, "questionWhen").text() == "48 min ago"
    qtbot.waitUntil(lambda: _is_in_sight(page, _cards(page)[10]))


def test_no_timer_runs_while_a_question_is_only_read(page: NeedsYouPage, qtbot: QtBot) -> None:
    _show(page, [_question()])
    timers = page.findChildren(QTimer)
    assert all(timer.isSingleShot() for timer in timers)
    qtbot.waitUntil(lambda: not any(timer.isActive() for timer in timers))
    assert list(page.waits(NOW)) == [MINUTE]
