"""Inputs of one value: lists of numbers and intervals in one line, and plain text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QTextOption
from pytestqt.qtbot import QtBot

from halo_scheduler import ScheduleError
from ui.forms.inputs import (
    GrowingText,
    PlainText,
    ZonePicker,
    read_amount,
    read_intervals,
    read_numbers,
    write_amount,
    write_intervals,
    write_numbers,
)

_ENDLESS = "x" * 200_000
_AT_WORDS = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


@given(st.lists(st.integers(0, 599)).map(tuple))
def test_numbers_are_read_as_they_are_written(numbers: tuple[int, ...]) -> None:
    assert read_numbers(write_numbers(numbers)) == numbers


@pytest.mark.parametrize(("text", "expected"), [("0", (0,)), ("0 1;2", (0, 1, 2)), ("", ()), (" , ", ())])
def test_any_separator_will_do(text: str, expected: tuple[int, ...]) -> None:
    assert read_numbers(text) == expected


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "٣", "1, two", "9" * 5000])
def test_invalid_numbers_are_refused(text: str) -> None:
    with pytest.raises(ScheduleError, match="is not a whole number"):
        read_numbers(text)


@given(st.lists(st.integers(0, 10**6).map(lambda seconds: seconds * 1_000), min_size=1).map(tuple))
def test_intervals_are_read_as_they_are_written(delays_ms: tuple[int, ...]) -> None:
    assert read_intervals(write_intervals(delays_ms)) == delays_ms


def test_durations_below_a_second_are_shown_as_one_second() -> None:
    assert write_intervals((500, 60_000)) == "1s, 1m"


@pytest.mark.parametrize(
    ("text", "sentence"), [("", "enter at least one interval"), ("30s, 5x", "the unit is unknown")]
)
def test_bad_intervals_are_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ScheduleError, match=sentence):
        read_intervals(text)


@given(st.floats(0.000_000_001, 1_000_000).map(lambda amount: round(amount, 9)))
def test_amounts_are_read_as_they_are_written(amount: float) -> None:
    assert read_amount(write_amount(amount)) == pytest.approx(amount, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "amount"), [("2.50", 2.5), (" 3 ", 3), (".5", 0.5), ("2,5", 2.5), ("1.", 1), ("0", 0)]
)
def test_an_amount_is_read_as_people_write_it(text: str, amount: float) -> None:
    assert read_amount(text) == amount


@pytest.mark.parametrize(
    "text", ["", ".", "-1", "1e3", "1,000", "1.2.3", "nan", "inf", "\u0663", "$2", "9" * 400, "1 2"]
)
def test_invalid_amounts_are_refused(text: str) -> None:
    with pytest.raises(ScheduleError, match=r"amount.*like 2\.50"):
        read_amount(text)


def test_an_amount_has_two_figures_behind_the_point_or_as_many_as_it_needs() -> None:
    assert [write_amount(amount) for amount in (1, 2.5, 0.123456, 1_000_000)] == [
        "1.00",
        "2.50",
        "0.123456",
        "1000000.00",
    ]


def _paste(edit: PlainText, text: str) -> None:
    data = QMimeData()
    data.setText(text)
    edit.insertFromMimeData(data)


@pytest.fixture
def edit(qtbot: QtBot) -> PlainText:
    made = PlainText(name="text", title="Text")
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.mark.parametrize("put", [PlainText.show_text, _paste], ids=["shown", "pasted"])
def test_a_very_long_word_wraps_anywhere(edit: PlainText, put: Callable[[PlainText, str], None]) -> None:
    """Breaking it between words, as Qt does otherwise, would take some seconds here and minutes at full length."""
    put(edit, "some words")
    assert edit.wordWrapMode() is _AT_WORDS
    put(edit, f"a {_ENDLESS} b")
    assert edit.wordWrapMode() is QTextOption.WrapMode.WrapAnywhere
    assert _ENDLESS in edit.toPlainText()


def test_another_text_is_broken_between_words_again(edit: PlainText) -> None:
    edit.show_text(_ENDLESS)
    edit.show_text("some words")
    assert edit.wordWrapMode() is _AT_WORDS


def test_a_paste_of_words_does_not_bring_an_endless_one_back_to_words(edit: PlainText) -> None:
    edit.show_text(_ENDLESS)
    _paste(edit, "some words")
    assert edit.wordWrapMode() is QTextOption.WrapMode.WrapAnywhere


def test_a_text_grows_when_it_wraps_at_another_width(qtbot: QtBot) -> None:
    made = GrowingText(name="text", title="Text", least=1, most=50)
    qtbot.addWidget(made)
    made.resize(600, 40)
    made.show()
    made.show_text("some words " * 20)
    wide = made.height()
    made.resize(150, made.height())
    qtbot.waitUntil(lambda: made.height() > wide)
    assert made.verticalScrollBarPolicy() is Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    made.show_text("\n".join("x" * 60))
    assert made.verticalScrollBarPolicy() is Qt.ScrollBarPolicy.ScrollBarAsNeeded


@pytest.mark.parametrize("typed", ["new york", "New_Yor", "america/new y"])
def test_a_zone_is_found_with_blanks_and_without_its_continent(qtbot: QtBot, typed: str) -> None:
    picker = ZonePicker(name="zone")
    qtbot.addWidget(picker)
    completer = picker.completer()
    assert completer is not None
    completer.setCompletionPrefix(typed)
    assert completer.currentCompletion() == "America/New_York"
