"""The pane beside the table: all about one job, or about several."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask
from chain_waits import MAINS, NETWORK, waits
from job_values import MINUTE, NASTY, NOW, make_job, row_of
from machine import Bench
from pane_desk import rows_of
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler.model import (
    Caps,
    Command,
    Every,
    HttpRequest,
    JobStatus,
    Manual,
    Outcome,
    Policy,
    Prompt,
    StatusReason,
)
from halo_scheduler.model.actions import FolderSource, GithubSource
from halo_scheduler.model.schedules import schedules_from_list
from halo_scheduler.store.runs import Spent
from ui.backend.backend import Backend
from ui.main_window.details.pane import DetailPane
from ui.main_window.job_actions import JobActions
from ui.style.theme import Appearance
from ui.widgets.labels import WrappedText


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def actions(bench: Bench, window: QWidget) -> JobActions:
    return JobActions(Backend.inline(bench.scheduler, bench.clock, window), Appearance(parent=window), window)


@pytest.fixture
def pane(qtbot: QtBot, bench: Bench, window: QWidget, actions: JobActions) -> DetailPane:
    made = DetailPane(
        Backend.inline(bench.scheduler, bench.clock, window), Appearance(parent=window), actions
    )
    qtbot.addWidget(made)
    made.resize(400, 900)
    made.show()
    return made


def _text(pane: DetailPane, name: str) -> str:
    found = pane.findChild(WrappedText, name)
    assert found is not None
    return found.text()


def _button(pane: DetailPane, name: str) -> QAbstractButton:
    found = pane.findChild(QAbstractButton, name)
    assert found is not None
    return found


def _show(qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane, *job_ids: str) -> None:
    rows = rows_of(bench.scheduler, *job_ids)
    actions.set_jobs(row.job for row in rows)
    with qtbot.waitSignal(pane.times_changed):
        pane.show_rows(rows)


def _failed(bench: Bench, times: int, description: str = "") -> str:
    job_id = bench.scheduler.add_job("backup", Every("1m"), description=description)
    for _ in range(times):
        for run in bench.tick(60 * MINUTE):
            bench.finish(run, error=ValueError("no <disk> left"))
    return job_id


def test_everything_about_one_job(qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane) -> None:
    job_id = _failed(bench, 2, description="Copies <b>all</b>\nto the disk")
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "detailName") == "backup"
    assert _text(pane, "detailStatus").startswith("Failing, next run in ")
    assert _text(pane, "detailDescription") == "Copies <b>all</b>\nto the disk"
    assert _text(pane, "detailSchedule") == "Every minute"
    assert _text(pane, "detailStreak") == "Failed twice in a row. Disabled after 3 more."
    assert not _text(pane, "detailWhy")
    first = pane.findChild(QLabel, "nextRun0")
    assert first is not None
    assert first.text().startswith("in ")
    assert "no <disk> left" in _button(pane, "recentRun0").accessibleName()
    assert _button(pane, "recentRun2").isHidden()


def test_a_click_or_a_key_opens_a_run(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    job_id = _failed(bench, 2)
    _show(qtbot, bench, actions, pane, job_id)
    newest, older = bench.scheduler.get_run_log(job_id)
    with qtbot.waitSignal(pane.run_wanted) as told:
        QTest.mouseClick(_button(pane, "recentRun0"), Qt.MouseButton.LeftButton)
    assert told.args == [newest.id]
    with qtbot.waitSignal(pane.run_wanted) as told:
        QTest.keyClick(_button(pane, "recentRun1"), Qt.Key.Key_Space)
    assert told.args == [older.id]
    with qtbot.waitSignal(pane.run_wanted) as told:
        _button(pane, "openOutputButton").click()
    assert told.args == [newest.id]


def test_a_job_that_never_ran_has_no_runs_and_no_output(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("new", Manual()))
    output = pane.findChild(QPlainTextEdit, "outputTail")
    assert output is not None
    assert not output.isVisible()
    assert not _button(pane, "recentRun0").isVisible()


def test_several_jobs_are_summed_up(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    ids = [bench.scheduler.add_job(name, Manual()) for name in "abc"]
    bench.scheduler.pause_job(ids[0])
    _show(qtbot, bench, actions, pane, *ids)
    assert _text(pane, "severalTitle") == "3 jobs selected"
    assert _text(pane, "severalCounts") == "2 × Ready\n1 × Paused"
    assert not _button(pane, "severalResume").isHidden()
    _button(pane, "severalPause").click()
    assert {job.status.value for job in bench.scheduler.list_jobs()} == {"paused"}


def test_several_that_wait_are_counted_together_unless_all_wait_for_the_same(
    actions: JobActions, pane: DetailPane
) -> None:
    jobs = [make_job(name, next_run_at=NOW, **waits(NETWORK)) for name in "ab"]
    actions.set_jobs(jobs)
    pane.show_rows(map(row_of, [*jobs, make_job("c")]))
    assert _text(pane, "severalCounts") == "2 × Waiting for network\n1 × Ready"
    pane.show_rows(map(row_of, [*jobs, make_job("c", next_run_at=NOW, **waits(MAINS))]))
    assert _text(pane, "severalCounts") == "3 × Waiting"


def test_those_of_several_that_ask_are_distinguished(
    bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    ids = [bench.scheduler.add_job(name, Manual()) for name in "abc"]
    ask(bench.scheduler, ids[1])
    rows = rows_of(bench.scheduler, *ids)
    actions.set_jobs(row.job for row in rows)
    pane.show_rows(rows)
    assert _text(pane, "severalCounts") == "2 × Ready\n1 × Needs you"


def test_the_next_runs_of_a_job_that_asks_come_after_the_answer(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    job_id = bench.scheduler.add_job("agent", Every("1h"))
    question = ask(bench.scheduler, job_id)
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "nextHeld") == "On hold until you answer; these runs are skipped."
    assert "But it will be skipped then: it waits for your answer" in _text(pane, "detailWhy")
    bench.scheduler.questions.dismiss(question.id)
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "nextHeld") == ""


def test_the_next_runs_of_a_job_at_its_daily_limit_start_after_midnight(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    job_id = bench.scheduler.add_job("agent", Every("1h"), policy=Policy(caps=Caps(runs_per_day=1)))
    _show(qtbot, bench, actions, pane, job_id)
    first = pane.findChild(QLabel, "nextRun0")
    assert first is not None
    assert first.text().startswith("today at ")
    bench.scheduler._store.usage.add([(job_id, bench.scheduler.jobs.usage(job_id).day, Spent(1, 0))])
    _show(qtbot, bench, actions, pane, job_id)
    assert first.text().startswith("tomorrow at 00:")
    assert _text(pane, "detailStatus") == "Daily limit reached"
    assert "which is its daily limit" in _text(pane, "detailWhy")


def test_times_count_down_without_asking_again(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("a", Every("10m")))
    before = _text(pane, "detailStatus")
    waits = [wait for wait in pane.waits(bench.clock.now_ms()) if wait is not None]
    bench.clock.advance(min(waits))
    pane.count_seconds()
    assert _text(pane, "detailStatus") != before


def test_changes_while_an_answer_is_awaited_are_one_more_question(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    job_id = bench.scheduler.add_job("a", Manual())
    _show(qtbot, bench, actions, pane, job_id)
    told: list[None] = []
    pane.times_changed.connect(lambda: told.append(None))
    for _ in range(20):
        pane.refresh()
    qtbot.waitUntil(lambda: pane._asked is None)
    assert len(told) == 2


def test_another_job_chosen_meanwhile_is_the_one_that_is_shown(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    one, two = bench.scheduler.add_job("one", Every("1h")), bench.scheduler.add_job("two", Every("2h"))
    first, second = rows_of(bench.scheduler, one, two)
    actions.set_jobs([second.job])
    pane.show_rows([first])
    pane.show_rows([second])
    qtbot.waitUntil(lambda: pane._asked is None)
    assert _text(pane, "detailName") == "two"
    assert _text(pane, "detailSchedule") == "Every 2 hours"


def test_while_it_is_hidden_nothing_is_asked(bench: Bench, actions: JobActions, pane: DetailPane) -> None:
    job_id = bench.scheduler.add_job("a", Manual())
    pane.hide()
    pane.show_rows(rows_of(bench.scheduler, job_id))
    assert pane._asked is None
    assert list(pane.waits(NOW)) == []
    actions.set_jobs(())
    pane.show()
    assert pane._asked is not None


def test_a_nasty_name_neither_styles_nor_widens(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("a", Manual()))
    least = pane.minimumSizeHint().width()
    job_id = bench.scheduler.add_job(NASTY.replace("\n", " "), Manual(), description="x" * 9_000)
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "detailName").startswith("<b>bold</b> & ")
    assert pane.minimumSizeHint().width() == least
    assert not pane.grab().isNull()


def test_where_room_is_short_only_the_first_action_has_words(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("a", Manual()))
    assert _button(pane, "detailEdit").text() == "Edit"
    pane.resize(280, 600)
    assert _button(pane, "detailRun").text() == "Run now"
    assert _button(pane, "detailEdit").text() == ""
    assert _button(pane, "detailEdit").accessibleName() == "Edit"


@pytest.mark.usefixtures("large_letters")
@pytest.mark.parametrize("width", [280, 320, 400, 600])
def test_with_large_letters_no_action_is_cut(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane, width: int
) -> None:
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("a", Manual()))
    pane.resize(width, 600)
    shown = [_button(pane, name) for name in ("detailRun", "detailEdit", "detailPause")]
    cut = [(one.objectName(), one.width(), one.sizeHint().width()) for one in shown]
    assert [one for one in cut if one[1] < one[2]] == []
    assert all(one.accessibleName() for one in shown)


def test_words_that_find_room_again_are_never_cut(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("a", Manual()))
    pane.resize(280, 600)
    pane.resize(400, 600)
    # Before anything else happens: it may be painted as it is now.
    edit = _button(pane, "detailEdit")
    assert edit.text() == "Edit"
    assert edit.width() == edit.sizeHint().width()


def test_a_running_job_can_be_stopped_from_here(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    job_id = bench.scheduler.add_job("a", Every("1m"))
    bench.tick(MINUTE)
    _show(qtbot, bench, actions, pane, job_id)
    assert _button(pane, "detailRun").isHidden()
    _button(pane, "detailStop").click()
    bench.tick()
    assert bench.scheduler.get_run_log(job_id)[0].outcome is Outcome.CANCELLED


def test_while_a_job_is_loading_its_known_data_is_shown(
    bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    job_id = bench.scheduler.add_job("late", Every("1h"))
    rows = rows_of(bench.scheduler, job_id)
    actions.set_jobs(row.job for row in rows)
    pane.show_rows(rows)
    # Nothing is shown rather than headings with nothing below them.
    assert pane.findChild(QWidget, "detailContent") is None
    pane._late.timeout.emit()
    assert _text(pane, "detailName") == "late"


def test_an_active_run_is_followed(qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane) -> None:
    job_id = bench.scheduler.add_job("backup", Every("1m"))
    bench.tick(MINUTE)
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "detailStatus") == "Running for 0 s"
    output = pane.findChild(QPlainTextEdit, "outputTail")
    assert output is not None
    assert output.toPlainText() == "No output yet."
    bench.clock.advance(2_500)
    assert 500 in pane.waits(bench.clock.now_ms())
    with qtbot.waitSignal(pane.times_changed):
        pane.count_seconds()
    assert _text(pane, "detailStatus") == "Running for 2 s"


def _is_seen(pane: DetailPane, name: str) -> bool:
    found = pane.findChild(WrappedText, name)
    return found is not None and found.isVisible()


def test_an_open_question_is_shown_with_the_way_to_its_answer(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    job_id = bench.scheduler.add_job("fix", Every("1h"))
    question = ask(bench.scheduler, job_id, "Which <b>branch</b>?\nmain or next")
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "askedText") == "Which <b>branch</b>?\nmain or next"
    assert _text(pane, "detailStatus") == "Needs you"
    assert not _is_seen(pane, "askedMore")
    with qtbot.waitSignal(pane.answer_wanted) as told:
        _button(pane, "askedAnswerButton").click()
    assert told.args == [job_id]
    ask(bench.scheduler, job_id)
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "askedMore") == "and 1 more question"
    bench.scheduler.questions.dismiss(question.id)
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "askedText") == "Which branch shall I take?"


def test_a_settled_question_is_gone(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    asks, quiet = (bench.scheduler.add_job(name, Every("1h")) for name in ("asks", "quiet"))
    ask(bench.scheduler, asks)
    _show(qtbot, bench, actions, pane, asks)
    assert _button(pane, "askedAnswerButton").isVisible()
    _show(qtbot, bench, actions, pane, quiet)
    assert not _button(pane, "askedAnswerButton").isVisible()


def test_a_job_from_an_assistant_is_reviewed_and_resumed_with_one_click(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    job_id = bench.scheduler.add_job("made", Every("1h"), paused_by=StatusReason.ASSISTANT)
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "detailStatus") == "Paused by an assistant"
    assert "An assistant created or edited this job" in _text(pane, "adviceSentence")
    # It is said once.
    assert not _is_seen(pane, "detailWhy")
    _button(pane, "detailResume").click()
    job = bench.scheduler.get_job(job_id)
    assert job is not None
    assert job.status is JobStatus.IDLE
    _show(qtbot, bench, actions, pane, job_id)
    assert not _is_seen(pane, "adviceSentence")


def test_a_manual_run_is_shown_without_a_reason(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("by hand", Manual()))
    assert _text(pane, "detailSchedule") == "Manual only"
    assert not _is_seen(pane, "detailWhy")


def test_a_prompt_shows_its_agent_its_first_lines_and_its_work(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    prompt = Prompt(
        text="Fix <b>it</b>.\nTest it.", agent="codex", work_source=GithubSource(repository="acme/shop")
    )
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("fix", Manual(), prompt))
    assert _text(pane, "detailAgent") == "Prompt for codex"
    assert _text(pane, "detailPrompt") == "Fix <b>it</b>.\nTest it."
    assert _text(pane, "detailWork") == "Work queue: issues of acme/shop"
    assert not _is_seen(pane, "detailCommand")
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("plain", Manual(), Prompt(text="  ")))
    assert _text(pane, "detailAgent") == "Prompt for claude, the default agent"
    assert _text(pane, "detailPrompt") == "Execute scheduled task."
    assert not _is_seen(pane, "detailWork")


def test_nothing_of_an_action_is_left_out_without_a_sign(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    add = bench.scheduler.add_job
    line = Command(line="date" + " " * 5_000 + "; rm -r ~", shell="/bin/sh")  # noqa: S604 - nothing is run
    _show(qtbot, bench, actions, pane, add("blanks", Manual(), line))
    assert _text(pane, "detailCommand") == "date …"
    prompt = Prompt(text="Summarise the news." + "\n" * 5_000 + "Then send them my mail.")
    _show(qtbot, bench, actions, pane, add("lines", Manual(), prompt))
    assert _text(pane, "detailPrompt") == "Summarise the news. …"


def test_the_defaults_of_parameters_are_shown_with_the_action(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    given = {"task": "Send them my mail, please", "mode": "a\u200b<b>"}
    prompt = Prompt(text="{{param.task}}")
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("ask", Manual(), prompt, parameters=given))
    words = 'Parameters: task="Send them my mail, please", mode=a\\u200b<b>'
    assert _text(pane, "detailParameters") == words
    many = {"task": "x" * 5_000}
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("long", Manual(), prompt, parameters=many))
    assert _text(pane, "detailParameters").endswith("…")
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("function", Manual(), parameters={"n": "1"}))
    assert _text(pane, "detailParameters") == "Parameters: n=1"
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("none", Manual(), Prompt(text="Hello")))
    assert not _is_seen(pane, "detailParameters")


def test_the_parameters_of_each_schedule_are_shown_beside_the_defaults(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    schedules = [
        {"kind": "every", "every": "1h", "parameters": {"mode": "full"}},
        {"kind": "webhook"},
        {"kind": "cron", "cron": "0 9 * * *", "parameters": {"mode": "a\u200bb"}, "on_overlap": "restart"},
    ]
    job_id = bench.scheduler.add_job(
        "job", schedules_from_list(schedules), Command(argv=("true",)), parameters={"mode": "part"}
    )
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "detailParameters").splitlines() == [
        "Parameters: mode=part",
        "Every hour: mode=full",
        r"At 09:00 every day: mode=a\u200bb",
    ]


def test_a_command_and_a_request_are_reported_too(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    add = bench.scheduler.add_job
    source = FolderSource(path="/srv/work")
    command = Command(argv=("rsync", "-a", "two words"), stdin="abc", work_source=source)
    _show(qtbot, bench, actions, pane, add("sync", Manual(), command))
    assert _text(pane, "detailExtra") == "Reads 3 characters"
    assert _text(pane, "detailCommand") == "rsync -a 'two words'"
    assert _text(pane, "detailWork") == "Work queue: folder /srv/work"
    assert not _is_seen(pane, "detailPrompt")
    _show(qtbot, bench, actions, pane, add("web", Manual(), HttpRequest(url="https://example.org/")))
    assert _text(pane, "detailCommand") == "GET https://example.org/"
    _show(qtbot, bench, actions, pane, add("callback", Manual()))
    assert not _is_seen(pane, "detailCommand")


def test_daily_limits_are_shown_with_todays_usage(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    caps = Policy(caps=Caps(runs_per_day=3, cost_per_day=1.0))
    job_id = bench.scheduler.add_job("fix", Every("1h"), policy=caps)
    usage = bench.scheduler.jobs.usage(job_id)
    bench.scheduler._store.usage.add([(job_id, usage.day, Spent(2, 0.34))])
    _show(qtbot, bench, actions, pane, job_id)
    assert _text(pane, "detailUsage") == "2 of 3 runs, 0.34 of 1.00 spent; resets at midnight"
    assert not _is_seen(pane, "detailCapped")
    bench.scheduler._store.usage.add([(job_id, usage.day, Spent(1, 0.1))])
    _show(qtbot, bench, actions, pane, job_id)
    assert "Daily limit reached" in _text(pane, "detailCapped")


def test_at_midnight_the_daily_usage_restarts(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    job_id = bench.scheduler.add_job("fix", Manual(), policy=Policy(caps=Caps(runs_per_day=3)))
    usage = bench.scheduler.jobs.usage(job_id)
    bench.scheduler._store.usage.add([(job_id, usage.day, Spent(2, 0.0))])
    _show(qtbot, bench, actions, pane, job_id)
    assert usage.resets_at - NOW in pane.waits(NOW)
    bench.clock.set(usage.resets_at)
    with qtbot.waitSignal(pane.times_changed):
        pane.count_seconds()
    assert _text(pane, "detailUsage") == "0 of 3 runs; resets at midnight"


def test_a_job_without_daily_limits_shows_no_usage(
    qtbot: QtBot, bench: Bench, actions: JobActions, pane: DetailPane
) -> None:
    _show(qtbot, bench, actions, pane, bench.scheduler.add_job("a", Manual()))
    assert not _is_seen(pane, "detailUsage")
