"""The strip at the bottom: who runs the jobs, what comes next, pausing everything."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QMenu, QPushButton
from pytestqt.qtbot import QtBot

from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText
from ui.widgets.pauses import PauseChoice
from ui.widgets.status_strip import EngineShown, StatusStrip, Summary


@pytest.fixture
def strip(qtbot: QtBot) -> StatusStrip:
    made = StatusStrip(Appearance())
    qtbot.addWidget(made)
    return made


def _words(strip: StatusStrip) -> str:
    words = strip.findChild(WrappedText, "statusWords")
    assert words is not None
    return words.text()


def _button(strip: StatusStrip, name: str) -> QPushButton:
    button = strip.findChild(QPushButton, name)
    assert button is not None
    return button


@pytest.mark.parametrize(
    ("engine", "summary", "expected"),
    [
        (EngineShown("starting"), Summary(), "Starting…"),
        (
            EngineShown("stopping"),
            Summary(running=1, next_name="backup", next_when="at 9:00"),
            "Running 1 job · no other jobs start: Halo is quitting",
        ),
        (EngineShown("none", "The disk is full."), Summary(), "The disk is full."),
        (EngineShown("none"), Summary(), "Nothing is running your jobs."),
        (EngineShown("here"), Summary(ready=1), "Idle"),
        (
            EngineShown("here"),
            Summary(running=2, ready=1, next_name="backup", next_when="at 14:05"),
            "Running 2 jobs · next: backup at 14:05",
        ),
        (EngineShown("here"), Summary(running=1), "Running 1 job"),
        (
            EngineShown("here"),
            Summary(
                ready=2,
                waiting="backup waiting for AC power",
                next_name="a",
                next_when="now",
            ),
            "Idle · backup waiting for AC power · next: a now",
        ),
        (EngineShown("here"), Summary(paused=2), "All jobs are paused"),
        (
            EngineShown("elsewhere", "Jobs are run by halo daemon (process 123)."),
            Summary(ready=1),
            "Idle · Jobs are run by halo daemon (process 123).",
        ),
    ],
)
def test_the_current_activity_in_words(
    strip: StatusStrip, engine: EngineShown, summary: Summary, expected: str
) -> None:
    strip.show_engine(engine)
    strip.show_summary(summary)
    assert _words(strip) == expected


def test_failures_are_counted_and_can_be_shown(qtbot: QtBot, strip: StatusStrip) -> None:
    failing = _button(strip, "failingButton")
    assert failing.isHidden()
    strip.show_summary(Summary(ready=3, failing=1))
    assert failing.text() == failing.accessibleName() == "1 failing"
    strip.show_summary(Summary(ready=3, failing=2))
    assert failing.text() == "2 failing"
    with qtbot.waitSignal(strip.failing_wanted):
        failing.click()


def test_an_engine_that_can_be_started_has_a_button(qtbot: QtBot, strip: StatusStrip) -> None:
    start = _button(strip, "startEngineButton")
    for engine in (EngineShown("starting"), EngineShown("here"), EngineShown("none", "halo.db was replaced")):
        strip.show_engine(engine)
        assert start.isHidden()
    strip.show_engine(EngineShown("none", can_start=True))
    assert not start.isHidden()
    with qtbot.waitSignal(strip.start_wanted):
        start.click()


def test_one_click_pauses_everything_and_another_resumes_it(qtbot: QtBot, strip: StatusStrip) -> None:
    strip.show_summary(Summary(ready=2))
    with qtbot.waitSignal(strip.pause_wanted) as told:
        _button(strip, "pauseAllButton").click()
    assert told.args == [PauseChoice.UNTIL_RESUMED]
    strip.show_summary(Summary(paused=2, running=1))
    assert _button(strip, "pauseAllButton").isHidden()
    with qtbot.waitSignal(strip.resume_wanted):
        _button(strip, "resumeAllButton").click()


def test_a_pause_for_a_time_can_be_chosen(qtbot: QtBot, strip: StatusStrip) -> None:
    menu = strip.findChild(QMenu, "pauseAllMenu")
    assert menu is not None
    with qtbot.waitSignal(strip.pause_wanted) as told:
        menu.actions()[0].trigger()
    assert told.args == [PauseChoice.HOUR]


def test_without_jobs_there_is_nothing_to_pause(strip: StatusStrip) -> None:
    strip.show_summary(Summary())
    assert _button(strip, "pauseAllButton").isHidden()
    assert _button(strip, "resumeAllButton").isHidden()
