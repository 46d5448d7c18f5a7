"""What the pane shows of a job's chain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chain_waits import BEHIND, LIMIT, NETWORK, let_chain_wait
from job_values import MINUTE, NOW
from pane_desk import PaneDesk
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from halo_scheduler.model import Every, Follower, FollowOn, Manual
from halo_scheduler.rules.chains import ChainLink, LinkState
from ui.main_window.details.chain import ThenRuns
from ui.style.theme import Appearance
from ui.widgets.signs import LinkLine

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


@pytest.fixture
def desk(qtbot: QtBot, tmp_path: Path) -> Iterator[PaneDesk]:
    made = PaneDesk(qtbot, tmp_path / "halo.db")
    yield made
    made.bench.close()


def test_jobs_of_a_chain_are_links_with_their_blocker(desk: PaneDesk, qtbot: QtBot) -> None:
    scheduler = desk.scheduler
    off, gone = (scheduler.add_job(name, Manual(), enabled=name != "off") for name in ("off", "gone"))
    last = scheduler.add_job("la<b>st</b>", Manual())
    followers = (
        Follower(job_id=last, on=FollowOn.ALWAYS),
        Follower(job_id=off, on=FollowOn.FAILURE),
        Follower(job_id=gone),
    )
    middle = scheduler.add_job("middle", Manual(), followers=followers)
    first = scheduler.add_job("first", Every("1h"), followers=(Follower(job_id=middle),))
    scheduler.remove_job(gone)
    scheduler.pause_job(first)
    desk.show(middle)
    assert desk.text("detailStatus") == "Ready, after first"
    assert desk.button("runsAfter0").accessibleName() == "first, paused · on success"
    assert desk.button("thenRuns0").accessibleName() == "la<b>st</b>, always"
    assert desk.button("thenRuns1").accessibleName() == "off, disabled · on failure"
    assert desk.button("thenRuns2").accessibleName() == "gone, deleted · on success"
    assert not desk.button("thenRuns2").isEnabled()
    # It is told once that nothing but other jobs and hands start it.
    assert not desk.is_shown("detailSchedule")
    assert not desk.is_shown("detailWhy")
    for name, job_id in (("thenRuns0", last), ("runsAfter0", first)):
        with qtbot.waitSignal(desk.pane.job_wanted) as told:
            desk.button(name).click()
        assert told.args == [job_id]
    assert desk.pane.concerns({last})
    assert not desk.pane.concerns({middle})


def test_a_chain_run_that_waits_is_reported_and_can_be_cancelled(
    desk: PaneDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = desk.scheduler.add_job("then", Manual())
    first = desk.scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    let_chain_wait(desk.scheduler, first, then, NETWORK, NOW + 60 * MINUTE)
    desk.show(then)
    assert desk.text("detailStatus") == "Waiting for network"
    told = "A run after “first” has waited since 09:00. Skipped if it still waits at 10:00."
    assert desk.text("chainWaits0") == told
    assert not desk.is_shown("waitingSentence")
    cancelled: list[str] = []
    monkeypatch.setattr(desk.scheduler, "cancel_run", cancelled.append)
    desk.button("cancelChainRun0").click()
    assert cancelled == [desk.scheduler.runs.waiting_in_chains()[0].run_id]


def test_each_of_several_chain_runs_shows_its_reason_unless_the_job_does(desk: PaneDesk) -> None:
    then = desk.scheduler.add_job("then", Manual())
    first = desk.scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    for reason in (NETWORK, LIMIT):
        let_chain_wait(desk.scheduler, first, then, reason)
    desk.show(then)
    assert desk.text("detailStatus") == "Waiting for network"
    assert desk.text("chainWaits0") == "A run after “first” has waited since 09:00."
    assert desk.text("chainWaits1") == "A run after “first” has waited since 09:00: limit reached."


def test_runs_after_one_job_that_pile_up_are_described_as_one_and_cancelled_together(
    desk: PaneDesk, qtbot: QtBot
) -> None:
    then = desk.scheduler.add_job("then", Manual())
    first = desk.scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    for _ in range(12):
        let_chain_wait(desk.scheduler, first, then, BEHIND)
        desk.bench.clock.advance(MINUTE)
    desk.show(then)
    told = "12 runs wait to start after “first”, the first since 09:00: one runs at a time."
    assert desk.text("chainWaits0") == f"{told} Runs arrive faster than they finish."
    assert not desk.is_shown("chainWaits1")
    cancel = desk.button("cancelChainRun0")
    assert cancel.text() == "Cancel all"
    other = desk.scheduler.add_job("other", Manual(), followers=(Follower(job_id=then),))
    let_chain_wait(desk.scheduler, other, then, BEHIND)
    cancel.click()
    qtbot.waitUntil(lambda: len(desk.scheduler.runs.waiting_in_chains()) == 1)
    assert desk.scheduler.runs.waiting_in_chains()[0].cause_job_id == other


def test_the_job_before_also_shows_that_runs_after_it_pile_up(desk: PaneDesk) -> None:
    then = desk.scheduler.add_job("then", Manual())
    first = desk.scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    other = desk.scheduler.add_job("other", Manual(), followers=(Follower(job_id=then),))
    for _ in range(2):
        let_chain_wait(desk.scheduler, first, then)
        let_chain_wait(desk.scheduler, other, then)
    desk.show(first)
    assert desk.links("thenRuns") == ["then, on success"]
    let_chain_wait(desk.scheduler, first, then)
    desk.show(first)
    assert desk.links("thenRuns") == ["then, 3 runs waiting · on success"]


def test_a_chain_run_that_has_started_is_not_cancelled_with_waiting_ones(
    desk: PaneDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = desk.scheduler.add_job("then", Manual())
    first = desk.scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    for _ in range(2):
        let_chain_wait(desk.scheduler, first, then)
    desk.show(then)
    waiting = desk.scheduler.runs.waiting_in_chains()
    monkeypatch.setattr(desk.scheduler.runs, "waiting_in_chains", lambda: waiting[1:])
    cancelled: list[str] = []
    monkeypatch.setattr(desk.scheduler, "cancel_run", cancelled.append)
    desk.button("cancelChainRun0").click()
    assert cancelled == [waiting[1].run_id]


def test_several_runs_say_when_the_first_is_skipped(desk: PaneDesk) -> None:
    then = desk.scheduler.add_job("then", Manual())
    first = desk.scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    for _ in range(3):
        let_chain_wait(desk.scheduler, first, then, NETWORK, NOW + 60 * MINUTE)
    desk.show(then)
    told = "3 runs wait to start after “first”, the first since 09:00. Skipped if it still waits at 10:00."
    assert desk.text("chainWaits0") == told


def test_of_runs_after_many_jobs_the_first_are_shown_and_the_rest_counted(desk: PaneDesk) -> None:
    scheduler = desk.scheduler
    then, other = scheduler.add_job("then", Manual()), scheduler.add_job("other", Manual())
    for number in range(5):
        first = scheduler.add_job(f"first {number}", Manual(), followers=(Follower(job_id=then),))
        let_chain_wait(scheduler, first, then, NETWORK)
        before = scheduler.add_job(f"before {number}", Manual(), followers=(Follower(job_id=other),))
        if number < 4:
            let_chain_wait(scheduler, before, other)
    desk.show(then)
    assert desk.is_shown("chainWaits2")
    more = desk.pane.findChild(QLabel, "chainWaitsMore")
    assert more is not None
    assert more.isVisible()
    assert more.text() == "and 2 more runs"
    desk.show(other)
    assert more.text() == "and 1 more run"
    desk.show(before)
    assert not more.isVisible()


def test_the_tab_order_includes_links_created_later(desk: PaneDesk) -> None:
    scheduler = desk.scheduler
    then = scheduler.add_job("then", Manual())
    job_id = scheduler.add_job("a", Every("1h"), followers=(Follower(job_id=then),))
    scheduler.propose_interval(job_id, "2m")
    before = scheduler.add_job("before", Manual(), followers=(Follower(job_id=job_id),))
    let_chain_wait(scheduler, before, job_id)
    desk.show(job_id)
    wanted = ["detailMore", "runsAfter0", "cancelChainRun0", "clearHintButton", "thenRuns0", "recentRun0"]
    order, stop = ["detailMore"], desk.button("detailMore").nextInFocusChain()
    while isinstance(stop, QWidget) and stop.objectName() != "detailMore":
        order.append(stop.objectName())
        stop = stop.nextInFocusChain()
    assert [name for name in order if name in wanted] == wanted


def test_of_many_jobs_the_first_are_shown_until_the_rest_is_wanted(desk: PaneDesk) -> None:
    scheduler = desk.scheduler
    followers = tuple(
        Follower(job_id=scheduler.add_job(f"job {number:02}", Manual())) for number in range(20)
    )
    many = scheduler.add_job("many", Manual(), followers=followers)
    few = scheduler.add_job("few", Manual(), followers=followers[:1])
    desk.show(many)
    assert desk.links("thenRuns") == [f"job {number:02}, on success" for number in range(8)]
    more = desk.button("thenRunsMore")
    assert more.text() == "and 12 more"
    more.setFocus()
    more.click()
    assert len(desk.links("thenRuns")) == 20
    assert not more.isVisible()
    # Where the keyboard was, the rest begins.
    assert desk.button("thenRuns8").hasFocus()
    # What is read anew stays unfolded; another job does not.
    desk.show(many)
    assert len(desk.links("thenRuns")) == 20
    desk.show(few)
    assert len(desk.links("thenRuns")) == 1
    desk.show(many)
    assert len(desk.links("thenRuns")) == 8


def test_a_job_that_was_deleted_for_good_has_no_name_left(qtbot: QtBot) -> None:
    section = ThenRuns(Appearance())
    qtbot.addWidget(section)
    section.show_after([ChainLink(job_id="1234", name="1234", on=FollowOn.SUCCESS, state=LinkState.REMOVED)])
    line = section.findChild(LinkLine)
    assert line is not None
    assert line.accessibleName() == "a deleted job, deleted · on success"
