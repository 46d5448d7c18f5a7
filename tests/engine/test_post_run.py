"""Clearing away after runs: what goes wrong there is nobody else's loss."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from commands import shell
from machine import Bench
from process_probe import until

from halo_scheduler import Every, Manual, Outcome, Policy, Run, Source, Trigger
from halo_scheduler.actions.spool import spool_folder
from halo_scheduler.engine import handle
from halo_scheduler.engine import post_run as settlement_module
from halo_scheduler.engine.post_run import Settlement, verdict_of
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.model import Question, QuestionState, SkipReason
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.store import Store
from halo_scheduler.work_sources.item import Verdict
from halo_scheduler.work_sources.work_desk import WorkDesk

_MINUTE, _HOUR = 60_000, 3_600_000


def test_a_fault_in_clearing_away_doubles_no_end_and_does_not_prevent_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    action = shell("echo ::cost 1; echo ::needs-input what now")
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        first = scheduler.add_job("first", Manual(), action, policy=Policy(reads_lines=True))
        second = scheduler.add_job("second", Manual(), shell("true"))
        scheduler.trigger(first)
        scheduler.tick()
        engine = scheduler.engine.get_engine()
        until(lambda: engine.wait_for_end(1))

        def stumble(_run_id: str) -> None:
            raise RuntimeError("can't start new thread")

        run_id = scheduler.trigger(second)
        with monkeypatch.context() as context:
            context.setattr(engine.resources, "clear_spool", stumble)
            scheduler.tick()
        assert "could not be cleaned up" in caplog.text

        def is_over() -> bool:
            engine.wait_for_end(1)
            scheduler.tick()
            run = scheduler.get_run(run_id)
            return run is not None and run.outcome is Outcome.SUCCESS

        until(is_over)
        assert scheduler.jobs.usage(first).cost == 1
        assert len(scheduler.questions.list()) == 1


# --- After a crash ------------------------------------------------------------------------------------


class _Claimed:
    """A run that has claimed an item, as a crash leaves it."""

    def __init__(self, folder: Path) -> None:
        self.items = folder / "items"
        for name in ("ready", "in-progress"):
            (self.items / name).mkdir(parents=True)
        (self.items / "ready" / "a.md").write_text("# Fix it")
        self.bench = Bench(folder / "halo.db")
        self.job_id = self.bench.scheduler.add_job("job", Every("1h"))
        (self.run,) = self.bench.tick(_HOUR)
        store = self.bench.scheduler._store
        desk = WorkDesk(spool_folder(folder / "halo.db"), lambda _names: dict, self.bench.clock.now_ms)
        desk.open(FolderSource(path=str(self.items))).claim(self.run.id)
        store.runs.save_work(self.run.id, "a.md", "Fix it", "")
        self.noted = ""

    def places(self) -> list[str]:
        return sorted(path.parent.name for path in self.items.glob("*/a.md"))

    def note(self) -> str:
        run = self.bench.scheduler.get_run(self.run.id)
        assert run is not None
        return run.note

    def tick_until(self, place: str) -> None:
        self._until(
            lambda: (
                self.places() == [place]
                and not self.bench.scheduler.engine.get_engine().resources.work_desk.claimed()
            )
        )

    def next_note(self) -> str:
        """Wait until something more is noted on the run, and return it all."""
        before, self.noted = self.noted, ""
        self._until(lambda: self.note() != before)
        self.noted = self.note()
        return self.noted

    def fail_again(self) -> None:
        """Wait for the next try, which is in vain."""
        settlement = self.bench.scheduler.engine.get_engine()._post_run.settlement
        self._until(lambda: settlement.due_at is not None)
        due_at = settlement.due_at or 0
        self.bench.tick(max(0, due_at - self.bench.clock.now_ms()))
        self._until(lambda: settlement.due_at not in (None, due_at))

    def _until(self, condition: Callable[[], bool]) -> None:
        engine = self.bench.scheduler.engine.get_engine()
        for _ in range(200):
            self.bench.tick()
            if condition():
                return
            engine.wait_for_end(0.05)
        raise AssertionError(self.places())


@pytest.fixture
def claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Claimed]:
    monkeypatch.setattr(handle, "is_alive", lambda _pid, _start: False)
    found = _Claimed(tmp_path)
    yield found
    found.bench.close()


def test_the_item_of_a_run_that_a_crash_interrupted_is_given_back(claimed: _Claimed) -> None:
    assert claimed.places() == ["in-progress"]
    claimed.bench.crash()
    claimed.tick_until("ready")
    run = claimed.bench.scheduler.get_run(claimed.run.id)
    assert run is not None
    assert run.outcome is Outcome.INTERRUPTED


def test_a_run_whose_engine_died_before_it_wrote_down_the_item_still_has_it(claimed: _Claimed) -> None:
    claimed.bench.scheduler._store.runs.save_work(claimed.run.id, "", "", "")
    claimed.bench.crash()
    claimed.tick_until("ready")
    run = claimed.bench.scheduler.get_run(claimed.run.id)
    assert run is not None
    assert (run.work_id, run.work_title) == ("a.md", "a.md")


@pytest.mark.parametrize(
    ("outcome", "place"),
    [(Outcome.SUCCESS, "done"), (Outcome.FAILURE, "failed"), (Outcome.CANCELLED, "ready")],
)
def test_an_item_whose_run_was_recorded_before_the_crash_goes_where_that_sends_it(
    claimed: _Claimed, outcome: Outcome, place: str
) -> None:
    claimed.bench.end(claimed.run, outcome)
    claimed.bench.crash()
    claimed.tick_until(place)


def test_an_item_of_an_unknown_run_is_released(claimed: _Claimed) -> None:
    claimed.bench.end(claimed.run)
    claimed.bench.scheduler._store.database.rows("DELETE FROM scheduler_run_log")
    claimed.bench.crash()
    claimed.tick_until("ready")


def test_a_source_that_is_gone_after_a_crash_does_not_prevent_starting(
    claimed: _Claimed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Settlement, "PAUSES_S", ())
    claimed.bench.end(claimed.run)
    shutil.rmtree(claimed.items)
    claimed.bench.crash()
    assert len(claimed.bench.tick(_HOUR)) == 1
    assert claimed.next_note().startswith("the item could not be reported as done")


# --- When the source cannot be told for long ----------------------------------------------------------


@pytest.fixture
def untold(claimed: _Claimed, monkeypatch: pytest.MonkeyPatch) -> _Claimed:
    """Have a run that ended well, and whose source is away; that was tried a first time."""
    monkeypatch.setattr(Settlement, "PAUSES_S", ())
    claimed.items.rename(claimed.items.with_name("away"))
    claimed.bench.end(claimed.run)
    claimed.bench.crash()
    assert "retrying for 7 days: the folder" in claimed.next_note()
    return claimed


def test_an_item_is_reported_once_its_source_is_back_and_the_run_notes_it(untold: _Claimed) -> None:
    untold.items.with_name("away").rename(untold.items)
    untold.bench.tick(_MINUTE - 1)
    assert untold.places() == ["in-progress"]
    untold.bench.tick(1)
    untold.tick_until("done")
    assert untold.next_note().endswith("; it has since been reported as done")


def test_each_try_waits_longer_than_the_last_and_the_run_says_it_once(untold: _Claimed) -> None:
    engine = untold.bench.scheduler.engine.get_engine()
    pauses: list[int] = []
    for _ in range(6):
        due_at = engine._post_run.settlement.due_at
        assert due_at is not None
        pauses.append((due_at - untold.bench.clock.now_ms()) // _MINUTE)
        untold.fail_again()
    assert pauses == [1, 5, 15, 60, 60, 60]
    assert untold.note().count("could not be") == 1


def test_the_loop_wakes_for_the_next_try(untold: _Claimed) -> None:
    engine = untold.bench.scheduler.engine.get_engine()
    untold.bench.clock.advance(_MINUTE - 5_000)
    assert engine.poll_delay_ms() == 5_000


def test_a_clock_that_is_set_back_does_not_put_off_the_next_try(untold: _Claimed) -> None:
    engine = untold.bench.scheduler.engine.get_engine()
    untold.bench.tick(-_HOUR)
    assert engine.poll_delay_ms() <= _MINUTE


def test_after_a_week_an_unreported_item_is_given_up_and_the_run_notes_it(untold: _Claimed) -> None:
    engine = untold.bench.scheduler.engine.get_engine()
    for _ in range(3):
        untold.fail_again()
    untold.bench.clock.advance(7 * 24 * _HOUR)
    assert engine.resources.work_desk.claimed() == {untold.run.id}
    untold.bench.tick()
    assert "within 7 days and is no longer retried" in untold.next_note()
    assert (engine.resources.work_desk.claimed(), engine._post_run.settlement.due_at) == (set(), None)


def test_a_clock_that_jumps_ahead_does_not_end_the_tries_at_once(untold: _Claimed) -> None:
    engine = untold.bench.scheduler.engine.get_engine()
    untold.bench.clock.advance(30 * 24 * _HOUR)
    untold.fail_again()
    assert engine.resources.work_desk.claimed() == {untold.run.id}


def test_a_later_engine_keeps_retrying_without_repeating_the_note(untold: _Claimed) -> None:
    untold.bench.crash()
    untold.fail_again()
    untold.bench.crash()
    untold.items.with_name("away").rename(untold.items)
    untold.tick_until("done")
    assert untold.next_note().endswith("; it has since been reported as done")
    assert untold.note().count("could not be") == 1


def test_an_error_while_reading_questions_prevents_no_run(
    claimed: _Claimed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_store: Store, _run_id: str) -> None:
        raise StoreUnavailableError("the database cannot be read")

    bench = claimed.bench
    bench.end(claimed.run)
    bench.scheduler.engine.get_engine()._post_run.settlement._held.add("a run")
    monkeypatch.setattr(settlement_module, "verdict_of", fail)
    with pytest.raises(StoreUnavailableError):
        bench.tick(_HOUR)
    until(lambda: len(bench.started) == 2)


# --- The verdict by what is recorded ------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    scheduler = Scheduler.open(tmp_path / "halo.db")
    scheduler.add_job("job", Manual(), job_id="1")
    yield scheduler._store
    scheduler.close()


_RUN = Run(id="r", job_id="1", trigger=Trigger.MANUAL, source=Source.MANUAL)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Outcome.RUNNING, None),
        (Outcome.SUCCESS, Verdict.DONE),
        (Outcome.FAILURE, Verdict.FAILED),
        (Outcome.TIMEOUT, Verdict.FAILED),
        (Outcome.CANCELLED, Verdict.RELEASED),
        (Outcome.SKIPPED, Verdict.RELEASED),
        (Outcome.MISSED, Verdict.RELEASED),
        (Outcome.INTERRUPTED, Verdict.RELEASED),
    ],
)
def test_the_outcome_decides_about_the_item(store: Store, outcome: Outcome, verdict: Verdict | None) -> None:
    store.runs.insert([replace(_RUN, outcome=outcome)], 1)
    assert verdict_of(store, "r") is verdict


def test_an_item_whose_claim_was_interrupted_is_released(store: Store) -> None:
    run = replace(_RUN, outcome=Outcome.FAILURE, reason=SkipReason.SOURCE_UNAVAILABLE)
    store.runs.insert([run], 1)
    assert verdict_of(store, "r") is Verdict.RELEASED


_QUESTION = Question(id="q", job_id="1", run_id="r", asked_at=0, text="?")


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.FAILURE])
def test_an_open_question_keeps_the_item(store: Store, outcome: Outcome) -> None:
    store.runs.insert([replace(_RUN, outcome=outcome)], 1)
    store.questions.insert([_QUESTION])
    assert verdict_of(store, "r") is None


def test_a_dismissed_question_gives_the_item_back(store: Store) -> None:
    store.runs.insert([replace(_RUN, outcome=Outcome.SUCCESS)], 1)
    store.questions.insert([replace(_QUESTION, state=QuestionState.DISMISSED)])
    assert verdict_of(store, "r") is Verdict.RELEASED


@pytest.mark.parametrize(
    ("answer", "verdict"), [(None, None), (Outcome.RUNNING, None), (Outcome.FAILURE, Verdict.RELEASED)]
)
def test_an_answered_question_keeps_the_item_for_the_run_with_the_answer(
    store: Store, answer: Outcome | None, verdict: Verdict | None
) -> None:
    store.runs.insert([replace(_RUN, outcome=Outcome.SUCCESS)], 1)
    store.questions.insert([replace(_QUESTION, state=QuestionState.ANSWERED, answer_run_id="a")])
    store.runs.insert([replace(_RUN, id="a", outcome=answer)] if answer else [], 1)
    assert verdict_of(store, "r") is verdict


def test_a_run_that_is_not_known_gives_its_item_back(store: Store) -> None:
    assert verdict_of(store, "never heard of") is Verdict.RELEASED
