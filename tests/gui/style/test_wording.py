"""Times, durations, outcomes and statuses in words."""

from __future__ import annotations

import pytest
from PySide6 import QtGui
from PySide6.QtGui import QAccessible
from pytestqt.qtbot import QtBot

from halo_scheduler import Every, Outcome, Run, Source, Trigger
from halo_scheduler.model import JobStatus, Situation, SkipReason, StatusReason
from halo_scheduler.wording.measures import amount_words, took_words
from ui.style.wording import (
    ago,
    one_line,
    outcome_words,
    plain_tooltip,
    reason_words,
    run_words,
    size_words,
    status_advice,
)
from ui.widgets.labels import button

pytestmark = pytest.mark.usefixtures("machine_in_berlin")
_NOW = 1_795_003_500_000  # Wed 18 Nov 2026, 13:05 in Berlin
_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_EVERY = Every("15m")


def _run(
    outcome: Outcome, error: str = "", reason: SkipReason | None = None, progress: float | None = None
) -> Run:
    return Run(
        id="r",
        job_id="j",
        trigger=Trigger.SCHEDULE,
        source=Source.EVERY,
        outcome=outcome,
        error=error,
        reason=reason,
        progress=progress,
        progress_text="copying",
    )


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (None, ""),
        (400, "0.4 s"),
        (0, "< 0.1 s"),
        (49, "< 0.1 s"),
        (9_949, "9.9 s"),
        (9_950, "10 s"),
        (12_000, "12 s"),
        (185_000, "3 min 5 s"),
        (2 * _HOUR + 10 * _MINUTE, "2 h 10 min"),
        (3 * _DAY + 4 * _HOUR, "3 d 4 h"),
    ],
)
def test_durations(milliseconds: int | None, words: str) -> None:
    assert took_words(milliseconds) == words


@pytest.mark.parametrize(
    ("past_ms", "words"),
    [
        (1_000, "just now"),
        (4 * _MINUTE, "4 min ago"),
        (2 * _HOUR, "2 h ago"),
        (20 * _HOUR, "yesterday 17:05"),
        (3 * _DAY, "Sun 13:05"),
        (10 * _DAY, "8 Nov 13:05"),
    ],
)
def test_how_long_ago(past_ms: int, words: str) -> None:
    assert ago(_NOW - past_ms, _NOW) == words


@pytest.mark.parametrize(
    ("status", "reason", "advice"),
    [
        (
            JobStatus.PAUSED,
            StatusReason.ASSISTANT,
            "An assistant created or edited this job. Review it, then resume it.",
        ),
        (JobStatus.PAUSED, StatusReason.USER, ""),
        (JobStatus.DISABLED, StatusReason.USER, ""),
        (JobStatus.IDLE, None, ""),
    ],
)
def test_only_jobs_from_assistants_need_a_review(
    status: JobStatus, reason: StatusReason | None, advice: str
) -> None:
    assert status_advice(Situation(job_id="j", name="n", status=status, reason=reason)) == advice


def test_every_choice_has_words_of_its_own() -> None:
    for found in (
        [outcome_words(outcome) for outcome in Outcome],
        [reason_words(reason) for reason in SkipReason],
    ):
        assert len(set(found)) == len(found)
        assert all(found)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (_run(Outcome.FAILURE, "exit code 3"), "Failed: exit code 3"),
        (_run(Outcome.SKIPPED, reason=SkipReason.NO_WORK), "Skipped: there was nothing to do"),
        (_run(Outcome.SKIPPED, reason=SkipReason.QUIET_TIME), "Skipped: it fell in quiet hours"),
        (_run(Outcome.SKIPPED, reason=SkipReason.CAP), "Skipped: its daily limit was reached"),
        (_run(Outcome.SKIPPED, reason=SkipReason.NEEDS_INPUT), "Skipped: it was waiting for an answer"),
        (
            _run(Outcome.FAILURE, reason=SkipReason.SOURCE_UNAVAILABLE),
            "Failed: its work items could not be fetched",
        ),
        (_run(Outcome.RUNNING, progress=0.37), "Running 37% copying"),
        (_run(Outcome.SUCCESS), "Succeeded"),
        (_run(Outcome.CANCELLED, "stopped by the user"), "Stopped by the user"),
    ],
)
def test_how_a_run_ended(run: Run, words: str) -> None:
    assert run_words(run) == words


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (None, ""),
        (0, "0.00"),
        (0.12, "0.12"),
        (0.1 + 0.2, "0.30"),
        (0.125, "0.125"),
        (0.0004, "0.0004"),
        (0.00004, "below 0.0001"),
        (0.99999, "1.00"),
        (12.3456, "12.35"),
        (1_204, "1,204.00"),
        (1e6, "1,000,000.00"),
    ],
)
def test_costs(cost: float | None, words: str) -> None:
    assert amount_words(cost) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (900, "900 B"), (1536, "1.5 KB"), (64 << 20, "64 MB"), (1 << 40, "1.0 TB")],
)
def test_sizes(count: int, words: str) -> None:
    assert size_words(count) == words


@pytest.mark.parametrize(
    "text",
    ["<b>a & b</b>\nnext", "New job (Ctrl+N)", "a &lt; b", "<!doctype html>", "<i>x", "1 < 2", ""],
)
def test_a_tooltip_is_the_plain_text(text: str) -> None:
    tip = plain_tooltip(text)
    assert not QtGui.Qt.mightBeRichText(tip)
    assert tip.replace("\u2060", "") == text


def test_a_button_is_described_to_screen_readers_in_plain_text(qtbot: QtBot) -> None:
    made = button("&New <b>job</b>", name="new", shortcut="Ctrl+N")
    qtbot.addWidget(made)
    description = QAccessible.queryAccessibleInterface(made).text(QAccessible.Text.Description)
    assert description.replace("\u2060", "") == "New <b>job</b> (Ctrl+N)"


def test_a_long_tooltip_is_cut() -> None:
    assert len(plain_tooltip("x" * 10_000)) < 2_100


def test_one_line_has_no_line_breaks_and_no_direction_marks() -> None:
    assert one_line("a\nb\u202ec") == "a ↵ b\\u202ec"


def test_long_lines_of_a_tooltip_are_wrapped_and_short_ones_stay_complete() -> None:
    assert plain_tooltip("Paused until Wed 18 Nov 2026, 08:00:00\nby its schedule").count("\n") == 1
    assert max(map(len, plain_tooltip("word " * 60).split("\n"))) <= 80
    assert max(map(len, plain_tooltip("x" * 500).split("\n"))) <= 80


@pytest.mark.parametrize("reason", list(SkipReason))
def test_every_reason_why_a_job_did_not_run_has_words(reason: SkipReason) -> None:
    assert reason_words(reason)
