"""Keeping the table up to date: little is asked, one question at a time, and nothing while nobody looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask
from chain_waits import NETWORK, let_chain_wait
from job_values import NOW
from machine import Bench
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Caps, Every, Follower, FollowOn, Manual, Outcome, Policy
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.service.jobs import Jobs
from ui.backend.backend import Backend
from ui.main_window.job_loader import JobLoader
from ui.main_window.table.job_table import JobTableModel


class _Counting:
    """Passes everything on to a scheduler's jobs and counts what is asked of them."""

    def __init__(self, bench: Bench) -> None:
        self.asked: Counter[str] = Counter()
        self.jobs = _CountingJobs(bench.scheduler.jobs, self.asked)
        self._scheduler = bench.scheduler

    def __getattr__(self, name: str) -> object:
        return getattr(self._scheduler, name)


class _CountingJobs:
    def __init__(self, jobs: Jobs, asked: Counter[str]) -> None:
        self._jobs = jobs
        self._asked = asked

    def __getattr__(self, name: str) -> object:
        self._asked[name] += 1
        return getattr(self._jobs, name)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


@pytest.fixture
def counting(bench: Bench) -> _Counting:
    return _Counting(bench)


@pytest.fixture
def parent(qtbot: QtBot) -> QObject:  # noqa: ARG001 - an application
    return QObject()


@pytest.fixture
def backend(bench: Bench, counting: _Counting, parent: QObject) -> Backend:
    made = Backend.inline(bench.scheduler, bench.clock, parent)
    made._inline = counting  # type: ignore[assignment]  # counts what is asked
    return made


@pytest.fixture
def model(bench: Bench, parent: QObject) -> JobTableModel:
    return JobTableModel(bench.clock, parent)


@pytest.fixture
def in_sight() -> list[str]:
    return []


@pytest.fixture
def loader(backend: Backend, model: JobTableModel, in_sight: list[str], parent: QObject) -> JobLoader:
    return JobLoader(backend, model, lambda: list(in_sight), parent)


def _load(qtbot: QtBot, loader: JobLoader) -> None:
    with qtbot.waitSignal(loader.loaded):
        loader.set_watching(True)
    qtbot.waitUntil(lambda: not loader._is_asking)


def test_all_jobs_are_read_when_the_window_is_shown(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel
) -> None:
    bench.scheduler.add_jobs([{"name": f"job {index}", "schedule": Manual()} for index in range(1_200)])
    assert model.job_count == 0
    _load(qtbot, loader)
    assert loader.is_loaded
    assert model.job_count == 1_200


def test_nothing_is_read_while_the_window_is_hidden(
    qtbot: QtBot, bench: Bench, loader: JobLoader, counting: _Counting, model: JobTableModel
) -> None:
    _load(qtbot, loader)
    loader.set_watching(False)
    counting.asked.clear()
    bench.scheduler.add_job("new", Manual())
    assert not loader._gather.isActive()
    assert not counting.asked
    with qtbot.waitSignal(loader.updated):
        loader.set_watching(True)
    assert model.job_count == 1


def test_a_burst_of_changes_is_one_question(
    qtbot: QtBot, bench: Bench, loader: JobLoader, counting: _Counting, model: JobTableModel
) -> None:
    _load(qtbot, loader)
    counting.asked.clear()
    for index in range(50):
        bench.scheduler.add_job(f"job {index}", Manual())
    with qtbot.waitSignal(loader.updated) as told:
        pass
    assert counting.asked["get_many"] == 1
    assert counting.asked["in_pages"] == 0
    assert len((told.args or [()])[0]) == model.job_count == 50


def test_a_change_of_anything_reads_everything_again(
    qtbot: QtBot, backend: Backend, bench: Bench, loader: JobLoader, model: JobTableModel
) -> None:
    job_id = bench.scheduler.add_job("old name", Manual())
    _load(qtbot, loader)
    bench.scheduler._session._listeners.clear()
    bench.scheduler.update_job(job_id, name="new name")
    with qtbot.waitSignal(loader.loaded):
        backend.tell(Change(ChangeKind.JOB))
    job = model.job(job_id)
    assert job is not None
    assert job.name == "new name"


def test_a_removed_job_disappears(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel
) -> None:
    job_id = bench.scheduler.add_job("a", Manual())
    bench.scheduler.add_job("b", Manual())
    _load(qtbot, loader)
    with qtbot.waitSignal(loader.updated):
        bench.scheduler.remove_job(job_id)
    assert [job.name for job in model.jobs()] == ["b"]


def test_trends_are_read_for_rows_in_sight_only(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel, in_sight: list[str]
) -> None:
    seen, unseen = bench.scheduler.add_job("a", Every("1m")), bench.scheduler.add_job("b", Every("1m"))
    for run in bench.tick(60_000):
        bench.finish(run)
    in_sight.append(seen)
    _load(qtbot, loader)
    qtbot.waitUntil(lambda: model.facts(seen) is not None)
    facts = model.facts(seen)
    assert facts is not None
    assert [point.outcome for point in facts.trend] == [Outcome.SUCCESS]
    assert facts.last is not None
    assert model.facts(unseen) is None
    in_sight.append(unseen)
    loader.load_visible()
    qtbot.waitUntil(lambda: model.facts(unseen) is not None)


def test_viewing_the_same_rows_again_reads_nothing(
    qtbot: QtBot, bench: Bench, loader: JobLoader, counting: _Counting, in_sight: list[str]
) -> None:
    in_sight.append(bench.scheduler.add_job("a", Manual()))
    _load(qtbot, loader)
    counting.asked.clear()
    loader.load_visible()
    assert not counting.asked


def test_a_run_is_followed_from_its_start_to_its_end(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel, in_sight: list[str]
) -> None:
    job_id = bench.scheduler.add_job("a", Every("1m"))
    in_sight.append(job_id)
    _load(qtbot, loader)
    (run,) = bench.tick(60_000)
    qtbot.waitUntil(lambda: model.run_of(job_id) is not None)
    bench.finish(run)
    qtbot.waitUntil(lambda: model.run_of(job_id) is None and not loader._is_asking)
    facts = model.facts(job_id)
    assert facts is not None
    assert facts.last is not None
    assert facts.last.id == run.id


def test_progress_alone_reads_no_jobs(  # noqa: PLR0917 - fixtures
    qtbot: QtBot, backend: Backend, bench: Bench, loader: JobLoader, counting: _Counting, model: JobTableModel
) -> None:
    job_id = bench.scheduler.add_job("a", Every("1m"))
    (run,) = bench.tick(60_000)
    _load(qtbot, loader)
    bench.scheduler._store.runs.save_progress([(run.id, 0.5, "half")])
    counting.asked.clear()
    backend.tell(Change(ChangeKind.RUN_PROGRESS, job_id=job_id, run_id=run.id))
    qtbot.waitUntil(lambda: (shown := model.run_of(job_id)) is not None and shown.progress == 0.5)
    assert counting.asked["get_many"] == 0


def test_a_fault_is_reported_and_does_not_end_the_asking(  # noqa: PLR0917 - fixtures
    qtbot: QtBot,
    backend: Backend,
    bench: Bench,
    loader: JobLoader,
    model: JobTableModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _load(qtbot, loader)

    def fail(_job_ids: object) -> None:
        raise SchedulerError("the disk is gone")

    with monkeypatch.context() as patched, qtbot.waitSignal(backend.fault) as told:
        patched.setattr(bench.scheduler.jobs, "get_many", fail, raising=False)
        bench.scheduler.add_job("a", Manual())
    assert told.args == ["the disk is gone"]
    with qtbot.waitSignal(loader.updated):
        bench.scheduler.add_job("b", Manual())
    assert model.job_count == 1


def test_changes_of_the_engine_do_not_reload_the_table(
    qtbot: QtBot, backend: Backend, loader: JobLoader, counting: _Counting
) -> None:
    _load(qtbot, loader)
    counting.asked.clear()
    backend.tell(Change(ChangeKind.ENGINE))
    assert not loader._gather.isActive()
    assert not counting.asked


def test_runs_due_in_quiet_hours_are_known_as_soon_as_hours_are_added(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel, in_sight: list[str]
) -> None:
    in_sight.append(bench.scheduler.add_job("a", Every("1h")))
    _load(qtbot, loader)

    def is_quiet() -> bool:
        return next(model.rows()).situation.quiet is not None

    assert not is_quiet()
    all_day = QuietTime(start="00:00", end="24:00")
    bench.scheduler.settings.change(quiet_times=(all_day,))
    qtbot.waitUntil(is_quiet)
    bench.scheduler.settings.change(quiet_times=())
    qtbot.waitUntil(lambda: not is_quiet())


def test_jobs_that_wait_for_an_answer_are_known_at_once(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel
) -> None:
    asks, quiet = (bench.scheduler.add_job(name, Manual()) for name in ("asks", "quiet"))
    ask(bench.scheduler, asks)
    _load(qtbot, loader)
    assert {row.id: row.situation.question is not None for row in model.rows()} == {asks: True, quiet: False}


def test_a_question_and_its_answer_change_the_row_of_its_job(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel
) -> None:
    job_id = bench.scheduler.add_job("asks", Manual())
    _load(qtbot, loader)
    question = ask(bench.scheduler, job_id)
    qtbot.waitUntil(lambda: next(model.rows()).situation.question is not None)
    bench.scheduler.questions.dismiss(question.id)
    qtbot.waitUntil(lambda: next(model.rows()).situation.question is None)


def test_the_run_that_reaches_a_daily_limit_updates_its_row(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel
) -> None:
    caps = Policy(caps=Caps(runs_per_day=1))
    job_id = bench.scheduler.add_job("capped", Every("1m"), policy=caps)
    _load(qtbot, loader)
    assert not next(model.rows()).situation.is_held
    (run,) = bench.tick(60_000)
    bench.finish(run)
    qtbot.waitUntil(lambda: next(model.rows()).situation.is_held)
    bench.scheduler.update_job(job_id, policy=Policy())
    qtbot.waitUntil(lambda: not next(model.rows()).situation.is_held)


def test_a_run_that_another_job_started_and_that_waits_is_reported(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel
) -> None:
    first = bench.scheduler.add_job("first", Manual())
    then = bench.scheduler.add_job("then", Manual())
    let_chain_wait(bench.scheduler, first, then, NETWORK)
    _load(qtbot, loader)
    waiting = model.row_at(model.row_of(then)).situation.waiting
    assert waiting is not None
    assert (waiting.kind, waiting.details) == (NETWORK.kind, NETWORK.details)


def test_a_new_next_job_is_shown_in_the_other_row_at_once(
    qtbot: QtBot, bench: Bench, loader: JobLoader, model: JobTableModel
) -> None:
    then = bench.scheduler.add_job("then", Manual())
    first = bench.scheduler.add_job("first", Manual(), followers=(Follower(job_id=then),))
    _load(qtbot, loader)

    def after() -> tuple[str, ...]:
        return model.row_at(model.row_of(then)).situation.after

    assert after() == ("first",)
    bench.scheduler.update_job(first, name="renamed")
    qtbot.waitUntil(lambda: after() == ("renamed",))
    bench.scheduler.update_job(first, followers=())
    qtbot.waitUntil(lambda: after() == ())
    bench.scheduler.update_job(first, followers=(Follower(job_id=then, on=FollowOn.ALWAYS),))
    qtbot.waitUntil(lambda: after() == ("renamed",))
    bench.scheduler.remove_job(first)
    qtbot.waitUntil(lambda: after() == ())
