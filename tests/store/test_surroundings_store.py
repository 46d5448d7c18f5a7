"""What the database keeps of jobs that wait, and of runs that others cause."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from chain_waits import NETWORK, quiet, waits

from halo_scheduler import Every, Outcome, Policy, Run, Source, Trigger
from halo_scheduler.model import NO_DETAILS, JobSpec, PathExists, SkipReason, WaitingFor
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.store.history import RunFilter
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.store import Store

_NOW = 1_700_000_000_000
_DISK = Policy(conditions=(PathExists(path="/mnt/backup"),))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store.open(tmp_path / "halo.db", _NOW)
    yield found
    found.close()


def _due(
    job_id: str, at: int = _NOW, policy: Policy | None = None, *, group: str | None = None, **state: object
) -> JobRecord:
    spec = JobSpec(name=job_id, schedule=Every("15m"), policy=policy or Policy(), group=group)
    record = JobRecord(id=job_id, created_at=_NOW, updated_at=_NOW, spec=spec, counted_until=_NOW)
    return record.evolve(next_run_at=at, **state)


def _wish(number: int, payload: str = "cause", job_id: str = "b") -> Request:
    return Request(
        kind=RequestKind.CHAIN, job_id=job_id, run_id=f"run {number}", at=_NOW + number, payload=payload
    )


def test_due_jobs_are_read_page_by_page(store: Store) -> None:
    store.jobs.insert([_due("c", _NOW - 1), _due("b"), _due("a"), _due("later", _NOW + 1)])
    assert [record.id for record in store.jobs.due(_NOW, 2)] == ["c", "a"]
    assert [record.id for record in store.jobs.due(_NOW, 2, (_NOW, "a"))] == ["b"]
    assert store.jobs.due(_NOW, 2, (_NOW, "b")) == []


def test_only_jobs_that_wait_for_the_limit_alone_are_marked_and_each_once(store: Store) -> None:
    store.jobs.insert(
        [
            _due("new"),
            _due("was quiet", waits_until=5, **waits(quiet("Night", 5))),
            _due("waits", policy=_DISK, **waits(NETWORK)),
            _due("later", _NOW + 1),
            _due("runs", run_id="x"),
        ]
    )
    assert set(store.jobs.mark_waiting(_NOW)) == {"new", "was quiet"}
    assert store.jobs.mark_waiting(_NOW) == []
    marked = store.jobs.get("was quiet")
    assert marked is not None
    assert (marked.waiting_for, marked.waiting_details, marked.waits_until) == (
        WaitingFor.AT_CAPACITY,
        NO_DETAILS,
        None,
    )
    other = store.jobs.get("waits")
    assert other is not None
    assert other.waiting == NETWORK._replace(since=_NOW)


@pytest.mark.parametrize(
    ("read", "index"),
    [
        (lambda store: store.jobs.due_with_conditions(_NOW), "scheduler_jobs_due_with_conditions"),
        (lambda store: store.jobs.mark_waiting(_NOW), "scheduler_jobs_new_waiting"),
        (lambda store: store.jobs.mark_waiting(_NOW, but_for=["a"]), "scheduler_jobs_new_waiting"),
        (lambda store: store.jobs.due_in_group(_NOW, "a"), "scheduler_jobs_due_in_group"),
        (lambda store: store.jobs.due(_NOW, 5, (1, "a")), "scheduler_jobs_due"),
        (lambda store: store.requests.queued(_NOW), "scheduler_requests_queued"),
    ],
)
def test_queries_of_every_tick_use_an_index(
    store: Store, monkeypatch: pytest.MonkeyPatch, read: object, index: str
) -> None:
    assert callable(read)
    store.requests.append_chain_runs([_wish(1)])
    real = store.database.rows
    plans: list[str] = []

    def explain(sql: str, values: object = ()) -> list[object]:
        plans.extend(str(row[-1]) for row in real(f"EXPLAIN QUERY PLAN {sql}", values))  # type: ignore[arg-type]
        return real(sql, values)  # type: ignore[arg-type, return-value] # passed on as it came

    monkeypatch.setattr(store.database, "rows", explain)
    read(store)
    assert any(f"INDEX {index}" in plan for plan in plans)
    assert "USE TEMP B-TREE FOR ORDER BY" not in plans


def test_only_due_jobs_with_conditions_are_those_with_conditions(store: Store) -> None:
    store.jobs.insert([_due("plain"), _due("waits", policy=_DISK), _due("later", _NOW + 1, policy=_DISK)])
    assert [record.id for record in store.jobs.due_with_conditions(_NOW)] == ["waits"]


def test_the_next_instant_includes_the_end_of_a_wait(store: Store) -> None:
    store.jobs.insert([_due("waits", _NOW - 9, policy=_DISK, waits_until=_NOW + 7), _due("later", _NOW + 9)])
    assert store.jobs.next_instant(_NOW) == _NOW + 7


def test_a_run_causes_one_run_of_each_next_job_ever(store: Store) -> None:
    store.jobs.insert([_due("b"), _due("c")])
    run = Run(id="first", job_id="b", trigger=Trigger.CHAIN, source=Source.MANUAL, caused_by="cause")
    store.runs.insert([run], 1)
    with pytest.raises(apsw.ConstraintError):
        store.runs.insert([replace(run, id="second")], 1)
    store.runs.insert([replace(run, id="other", job_id="c"), replace(run, id="next", caused_by="later")], 1)
    assert [found.id for found in store.history.caused_by("cause")] == ["first", "other"]


def test_chain_runs_wait_by_the_age_of_their_cause_and_are_wanted_once(store: Store) -> None:
    store.requests.append_chain_runs([_wish(2, "late"), _wish(1, "early"), _wish(3, "early")])
    waiting = store.requests.queued(_NOW)
    assert [request.run_id for request in waiting] == ["run 1", "run 2"]
    assert store.requests.triggers() == store.requests.others() == []
    store.requests.save_waiting([replace(waiting[0], waits_until=7, **waits(NETWORK))])
    first, second = store.requests.queued(_NOW)
    assert (first.waiting_for, first.waiting_details, first.waits_until) == (*waits(NETWORK).values(), 7)
    assert (second.waiting_for, second.waiting_details, second.waits_until) == (None, NO_DETAILS, None)
    assert store.requests.find_queued("run 1") == first
    store.requests.close(first)
    assert store.requests.find_queued("run 1") is None
    assert store.requests.queued(_NOW) == [second]


_BY_HAND = message(MessageKind.TEXT, text="started manually")


def test_notes_of_an_active_run_are_kept_at_its_end(store: Store) -> None:
    store.jobs.insert([_due("1")])
    runs = [Run(id=name, job_id="1", trigger=Trigger.MANUAL, source=Source.MANUAL) for name in "abc"]
    store.runs.insert(runs, 1)
    store.runs.add_note("a", _BY_HAND)
    store.runs.add_note("b", _BY_HAND)
    left = (message(MessageKind.TEXT, text="it left a process"),)
    ends = {"a": left, "b": (), "c": left}
    store.runs.finish(
        [
            (name, RunEnd(outcome=Outcome.SUCCESS, finished_at=_NOW, notes=notes))
            for name, notes in ends.items()
        ]
    )
    notes = [found.note for found in map(store.runs.get, "abc") if found is not None]
    assert notes == ["started manually; it left a process", "started manually", "it left a process"]


def test_one_attempt_of_a_slot_is_found(store: Store) -> None:
    store.jobs.insert([_due("1")])
    runs = [
        Run(
            id=f"run {attempt}",
            job_id="1",
            trigger=Trigger.SCHEDULE,
            source=Source.EVERY,
            slot_at=5,
            attempt=attempt,
        )
        for attempt in (1, 2)
    ]
    store.runs.insert(runs, 1)
    assert store.runs.get_attempt("1", 5, 2) == runs[1]
    assert store.runs.get_attempt("1", 5, 3) is None


def test_quiet_hours_in_an_unknown_zone_do_not_affect_the_others(store: Store) -> None:
    nights, lunch = QuietTime(name="Nights"), QuietTime(name="Lunch", start="12:00", end="13:00")
    stored = [nights.to_dict(), {**nights.to_dict(), "timezone": "Mars/Olympus"}, 5, lunch.to_dict()]
    store.settings._set_text("quiet_times", json.dumps(stored))
    assert store.settings.quiet_times() == (nights, lunch)
    assert store.settings.read().quiet_times == (nights, lunch)


def test_an_invalid_list_of_quiet_hours_counts_as_none(store: Store) -> None:
    assert store.settings.quiet_times() == ()
    nights = QuietTime(name="Nights")
    store.settings.save({"quiet_times": (nights,)})
    assert store.settings.quiet_times() == (nights,)
    for text in ("{", '[{"start": "25:00"}]', '{"start": "22:00"}', ""):
        store.settings._set_text("quiet_times", text)
        assert store.settings.quiet_times() == ()


def test_slots_with_unmet_conditions_are_pruned_before_real_runs(store: Store) -> None:
    store.jobs.insert([_due("1")])
    reasons = [None, None, SkipReason.CONDITION, SkipReason.QUIET_TIME, None]
    runs = [
        Run(
            id=str(number),
            job_id="1",
            trigger=Trigger.SCHEDULE,
            source=Source.EVERY,
            slot_at=_NOW + number,
            outcome=Outcome.SUCCESS if reason is None else Outcome.SKIPPED,
            reason=reason,
            finished_at=_NOW + number,
        )
        for number, reason in enumerate(reasons)
    ]
    store.runs.insert(runs, 1)
    assert store.runs.prune(keep_per_job=3, ended_before=0, most=5) == 2
    assert [run.id for run in store.history.log(RunFilter(), 50)] == ["4", "1", "0"]


def test_jobs_of_groups_that_wait_for_something_else_are_not_marked(store: Store) -> None:
    store.jobs.insert([_due("plain"), _due("loud", group="loud"), _due("quiet", group="quiet")])
    assert [record.id for record in store.jobs.due_in_group(_NOW, "quiet")] == ["quiet"]
    assert set(store.jobs.mark_waiting(_NOW, but_for=["quiet"])) == {"plain", "loud"}
