"""The bar that says who waits for an answer."""

from __future__ import annotations

import pytest
from finding import child
from job_values import NASTY
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from ui.questions.card import NeedsYouBar
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText


@pytest.fixture
def bar(qtbot: QtBot) -> NeedsYouBar:
    made = NeedsYouBar(Appearance())
    qtbot.addWidget(made)
    made.resize(800, 48)
    return made


def _words(bar: NeedsYouBar) -> str:
    return child(bar, WrappedText, "needsYouSummary").text()


def test_it_is_there_only_while_something_is_asked(bar: NeedsYouBar) -> None:
    assert bar.isHidden()
    bar.show_questions([("fix", "Which?")])
    assert not bar.isHidden()
    bar.show_questions([])
    assert bar.isHidden()


def test_one_question_is_notified_at_once(bar: NeedsYouBar) -> None:
    bar.show_questions([("fix", "Which\nbranch?")])
    assert _words(bar) == "fix asks: Which ↵ branch?"


def test_several_are_counted_and_named_by_their_jobs(bar: NeedsYouBar) -> None:
    bar.show_questions([("fix", "a"), ("triage", "b"), ("fix", "c")])
    assert _words(bar) == "3 questions from fix, triage"


def test_hostile_words_stay_one_plain_line(bar: NeedsYouBar) -> None:
    bar.show_questions([(NASTY, NASTY)])
    assert "<b>bold</b>" in _words(bar)
    assert "\u202e" not in _words(bar)
    assert bar.minimumSizeHint().width() < 600


def test_its_button_opens_the_list_and_goes_back(bar: NeedsYouBar, qtbot: QtBot) -> None:
    button = child(bar, QPushButton, "needsYouButton")
    assert "Ctrl+I" in button.toolTip()
    with qtbot.waitSignal(bar.list_wanted) as told:
        button.click()
    assert told.args == [True]
    bar.set_open(True)
    assert button.text() == "Back to jobs"
    assert button.accessibleName() == "Back to jobs"
    assert button.shortcut().toString() == "Ctrl+I"
    with qtbot.waitSignal(bar.list_wanted) as told:
        button.click()
    assert told.args == [False]


def test_a_card_stays_above_the_list(bar: NeedsYouBar) -> None:
    bar.show_questions([("fix", "Which?")])
    bar.set_open(True)
    bar.show_questions([])
    assert not bar.isHidden()
    assert _words(bar) == "No open questions."
    bar.set_open(False)
    assert bar.isHidden()
