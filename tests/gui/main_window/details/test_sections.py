"""The parts of the detail pane."""

from __future__ import annotations

import pytest
from job_values import HOUR, MINUTE, NOW, make_run
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QLabel, QPlainTextEdit
from pytestqt.qtbot import QtBot

from halo_scheduler.model import Outcome, SkipReason
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.wording.messages import message_words
from ui.main_window.details.sections import NextRuns, OutputTail, RecentRuns, RunButton, run_at
from ui.style.theme import Appearance

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


def _label(section: NextRuns, name: str) -> QLabel:
    found = section.findChild(QLabel, name)
    assert found is not None
    return found


def test_the_next_runs_are_shown_relative_and_exactly(qtbot: QtBot) -> None:
    section = NextRuns(Appearance())
    qtbot.addWidget(section)
    section.show_times([NOW + 4 * MINUTE, NOW + 200 * 24 * HOUR], NOW)
    assert _label(section, "nextRun0").text() == "in 4 min"
    assert _label(section, "nextRunAt0").text() == "09:04"
    assert _label(section, "nextRun1").text() == "3 Aug at 10:00"
    assert _label(section, "nextRunAt1").text() == "Tue"
    assert _label(section, "nextRun2").isHidden()
    assert len(list(section.waits(NOW))) == 2


def test_a_run_to_be_skipped_says_so(qtbot: QtBot) -> None:
    section = NextRuns(Appearance())
    qtbot.addWidget(section)
    section.show_times([NOW + 4 * MINUTE, NOW + 8 * MINUTE], NOW, skips=True)
    assert _label(section, "nextRunAt0").text() == "09:04 · skipped"
    assert _label(section, "nextRunAt1").text() == "09:08"


def test_without_next_runs_their_heading_is_hidden(qtbot: QtBot) -> None:
    section = NextRuns(Appearance())
    qtbot.addWidget(section)
    section.show_times([], NOW)
    assert section.isHidden()


def test_a_run_is_dated_by_its_end_else_its_start_else_its_slot() -> None:
    assert run_at(make_run()) == make_run().finished_at
    assert run_at(make_run(Outcome.RUNNING, finished_at=None)) == make_run().started_at
    assert run_at(make_run(Outcome.MISSED, started_at=None, finished_at=None, slot_at=NOW)) == NOW


def test_a_recent_run_in_words(qtbot: QtBot) -> None:
    section = RecentRuns(Appearance())
    qtbot.addWidget(section)
    skipped = make_run(Outcome.SKIPPED, started_at=None, reason=SkipReason.NO_WORK, finished_at=NOW - HOUR)
    section.show_runs([make_run(), skipped], NOW)
    first, second, third, *_ = section.findChildren(RunButton)
    assert first.accessibleName() == "Succeeded, 4 min ago, 12 s"
    assert second.accessibleName() == "Skipped: there was nothing to do, 1 h ago"
    assert third.isHidden()
    assert not first.grab().isNull()


def test_a_run_without_output_is_marked(qtbot: QtBot) -> None:
    section = OutputTail()
    qtbot.addWidget(section)
    section.show_output("", has_run=True)
    text = section.findChild(QPlainTextEdit, "outputTail")
    assert text is not None
    assert text.toPlainText() == "No output."
    section.show_output("<b>one</b>\ntwo", has_run=True)
    assert text.toPlainText() == "<b>one</b>\ntwo"
    assert text.isReadOnly()


def test_a_recent_run_shows_its_item_and_cost(qtbot: QtBot) -> None:
    section = RecentRuns(Appearance())
    qtbot.addWidget(section)
    section.show_runs([make_run(cost=0.125, work_id="#7", work_title="Mend <b>it</b>")], NOW)
    (first, *_) = section.findChildren(RunButton)
    assert first.accessibleName() == "Succeeded · #7 · Mend <b>it</b>, 4 min ago, 0.125 · 12 s"
    assert "cost 0.125" in first.toolTip()
    assert "Mend <\u2060b>it<\u2060/b>" in first.toolTip()
    assert not first.grab().isNull()


def test_a_waiting_run_is_not_shown_as_late(qtbot: QtBot) -> None:
    section = NextRuns(Appearance())
    qtbot.addWidget(section)
    section.show_times([NOW - MINUTE, NOW + 4 * MINUTE], NOW, waits=True)
    assert _label(section, "nextRun0").text() == "waiting"
    assert _label(section, "nextRun1").text() == "in 4 min"


def test_only_one_run_of_a_job_waits_at_a_time(qtbot: QtBot) -> None:
    section = NextRuns(Appearance())
    qtbot.addWidget(section)
    section.show_times([NOW - 2 * MINUTE, NOW - MINUTE, NOW, NOW + MINUTE], NOW, waits=True)
    assert _label(section, "nextRun0").text() == "waiting"
    assert _label(section, "nextRun1").text() == "in 1 min"
    assert _label(section, "nextRun2").isHidden()


@pytest.mark.parametrize(
    ("ahead", "words", "rest"),
    [
        (4 * MINUTE, "in 4 min", "09:04"),
        (3 * HOUR, "today at 12:00", ""),
        (24 * HOUR, "tomorrow at 09:00", "Sat 16 Jan"),
        (3 * 24 * HOUR, "Monday at 09:00", "18 Jan"),
        (10 * 24 * HOUR, "25 Jan at 09:00", "Mon"),
    ],
)
def test_a_next_run_says_nothing_twice(qtbot: QtBot, ahead: int, words: str, rest: str) -> None:
    section = NextRuns(Appearance())
    qtbot.addWidget(section)
    section.show_times([NOW + ahead], NOW)
    assert (_label(section, "nextRun0").text(), _label(section, "nextRunAt0").text()) == (words, rest)


def test_exact_times_are_left_out_where_they_have_no_room(qtbot: QtBot) -> None:
    section = NextRuns(Appearance())
    qtbot.addWidget(section)
    section.show_times([NOW + 30 * HOUR], NOW)
    section.resize(500, 200)
    section.show()
    assert _label(section, "nextRunAt0").isVisible()
    section.resize(_label(section, "nextRun0").sizeHint().width() + 20, 200)
    assert section.width() < 300, "nothing keeps the section wider"
    assert not _label(section, "nextRunAt0").isVisible()
    assert _label(section, "nextRun0").toolTip(), "the exact time is on the tooltip"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (3, "Exit code 3"),
        (127, "Exit code 127: command not found"),
        (137, "Exit code 137: killed, perhaps out of memory"),
    ],
)
def test_the_exit_code_of_a_recent_run_comes_first(qtbot: QtBot, code: int, words: str) -> None:
    section = RecentRuns(Appearance())
    qtbot.addWidget(section)
    section.show_runs([make_run(Outcome.FAILURE, exit_code=code)], NOW)
    first = section.findChildren(RunButton)[0]
    assert first.text() == words
    # The number is not elided in the narrowest pane.
    first.resize(280, 24)
    assert QFontMetrics(first.font()).horizontalAdvance(f"Exit code {code}") < 160


def test_the_http_status_of_a_recent_run_comes_first(qtbot: QtBot) -> None:
    section = RecentRuns(Appearance())
    qtbot.addWidget(section)
    why = message(MessageKind.UNEXPECTED_STATUS, place="shop.example.com", answer="503 Busy", expected=[])
    section.show_runs([make_run(Outcome.FAILURE, message=why, error=message_words(why))], NOW)
    first = section.findChildren(RunButton)[0]
    assert first.text() == "HTTP status 503 Busy"
    assert "shop.example.com" in first.toolTip()


def test_long_lines_of_the_last_output_wrap_and_more_can_be_scrolled(qtbot: QtBot) -> None:
    section = OutputTail()
    qtbot.addWidget(section)
    section.resize(300, 400)
    section.show()
    section.show_output("tar: /srv/data: Cannot stat: No such file or directory, and so on", has_run=True)
    text = section.findChild(QPlainTextEdit, "outputTail")
    assert text is not None
    one_line = QFontMetrics(text.font()).lineSpacing()
    qtbot.waitUntil(lambda: text.height() > 2 * one_line)
    assert text.horizontalScrollBar().maximum() == 0
    section.show_output("word " * 500, has_run=True)
    assert text.verticalScrollBar().maximum() > 0
    assert text.verticalScrollBar().value() == text.verticalScrollBar().maximum()
