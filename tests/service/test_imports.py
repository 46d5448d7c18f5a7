"""Taking in what files say: all or nothing, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_strategies import LABELS, QUIET_TIMES, job_files

from halo_scheduler.clock import ManualClock
from halo_scheduler.conditions.probes import ConditionState
from halo_scheduler.errors import ScheduleError, SchedulerError
from halo_scheduler.model import (
    Command,
    Cron,
    Every,
    Follower,
    Idle,
    JobSpec,
    JobStatus,
    MainsPower,
    Manual,
    Once,
    PathExists,
    Policy,
    StatusReason,
)
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.events import EventKind
from halo_scheduler.transfer.document import read_document, write_document
from halo_scheduler.transfer.drafts import Draft, Drafts, NamedFollower
from halo_scheduler.transfer.job_files import export_all

_NOW = 1_800_000_000_000
_TRUE = Command(argv=("true",))


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(_NOW)) as opened:
        yield opened


def _draft(name: str, *followers: str, job_id: str | None = None, **fields: Any) -> Draft:
    spec = JobSpec(**{"name": name, "schedule": Cron("@daily"), "action": _TRUE, **fields})
    named = tuple(NamedFollower(name=follower) for follower in followers)
    return Draft(spec=spec, followers=named, job_id=job_id)


def _take_in(scheduler: Scheduler, *drafts: Draft, paused: bool = True, **rest: Any) -> None:
    scheduler.imports.apply(scheduler.imports.plan(Drafts(jobs=drafts, **rest)), paused=paused)


def test_new_jobs_start_paused_as_imported(scheduler: Scheduler) -> None:
    _take_in(scheduler, _draft("a"), _draft("b", enabled=False))
    a, b = sorted(scheduler.list_jobs(), key=lambda job: job.name)
    assert (a.status, a.status_reason, a.next_run_at) == (JobStatus.PAUSED, StatusReason.IMPORTED, None)
    assert (b.status, b.status_reason, b.enabled) == (JobStatus.DISABLED, StatusReason.IMPORTED, False)
    kinds = [event.kind for event in scheduler._store.events.of_job(a.id)]
    assert kinds == [EventKind.JOB_PAUSED, EventKind.JOB_ADDED]


def test_new_jobs_can_run_at_once_if_that_is_wanted(scheduler: Scheduler) -> None:
    _take_in(scheduler, _draft("a", schedule=Every("5m")), paused=False)
    (job,) = scheduler.list_jobs()
    assert (job.status, job.anchor_at, job.next_run_at) == (JobStatus.IDLE, _NOW, _NOW + 300_000)


def test_jobs_of_a_file_follow_each_other(scheduler: Scheduler) -> None:
    _take_in(scheduler, _draft("a", "b"), _draft("b"))
    a, b = sorted(scheduler.list_jobs(), key=lambda job: job.name)
    assert a.followers == (Follower(job_id=b.id),)


def test_a_changed_job_keeps_its_state(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("a", Every("5m"), _TRUE)
    scheduler.pause_job(job_id)
    _take_in(scheduler, _draft("a", schedule=Every("10m"), description="new"))
    job = scheduler.get_job(job_id)
    assert job is not None
    assert (job.schedule, job.description, job.status) == (Every("10m"), "new", JobStatus.PAUSED)
    assert job.status_reason is StatusReason.USER
    edited = scheduler._store.events.of_job(job_id)[0]
    assert (edited.kind, edited.detail["after"]["description"]) == (EventKind.JOB_EDITED, "new")


def test_a_changed_schedule_is_replanned(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("a", Every("5m"), _TRUE)
    _take_in(scheduler, _draft("a", schedule=Every("10m")))
    job = scheduler.get_job(job_id)
    assert job is not None
    assert job.next_run_at == _NOW + 600_000


def test_two_jobs_change_names(scheduler: Scheduler) -> None:
    first, second = (scheduler.add_job(name, Cron("@daily"), _TRUE) for name in ("one", "two"))
    _take_in(scheduler, _draft("two", job_id=first), _draft("one", job_id=second))
    jobs = scheduler.jobs.get_many([first, second])
    assert (jobs[first].name, jobs[second].name) == ("two", "one")


def test_a_new_job_takes_the_name_of_a_renamed_one(scheduler: Scheduler) -> None:
    old = scheduler.add_job("backup", Cron("@daily"), _TRUE)
    _take_in(scheduler, _draft("old backup", "backup", job_id=old), _draft("backup"))
    names = {job.name: job for job in scheduler.list_jobs()}
    assert names["old backup"].id == old
    assert names["old backup"].followers == (Follower(job_id=names["backup"].id),)


def test_quiet_hours_and_limits_are_imported(scheduler: Scheduler) -> None:
    nights = QuietTime(name="Nights")
    heard: list[Change] = []
    scheduler.subscribe(heard.append)
    _take_in(scheduler, quiet_times=(nights,), group_limits={"night": 2})
    assert scheduler.settings.read().quiet_times == (nights,)
    assert scheduler.jobs.group_limits() == {"night": 2}
    assert set(heard) == {Change(ChangeKind.SETTINGS), Change(ChangeKind.JOB)}


def test_a_fault_keeps_everything_out_unless_it_is_skipped(scheduler: Scheduler) -> None:
    plan = scheduler.imports.plan(Drafts(jobs=(_draft("a"), _draft("b", "nobody"))))
    with pytest.raises(SchedulerError, match=r"nothing was stored: .*there is no job named 'nobody'"):
        scheduler.imports.apply(plan)
    assert scheduler.list_jobs() == []
    scheduler.imports.apply(plan, skip_bad=True)
    assert [job.name for job in scheduler.list_jobs()] == ["a"]


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda scheduler: scheduler.add_job("b", Manual(), _TRUE),
        lambda scheduler: scheduler.update_job(scheduler.list_jobs()[0].id, description="other"),
        lambda scheduler: scheduler.remove_job(scheduler.list_jobs()[0].id),
        lambda scheduler: scheduler.set_group_limit("g", 3),
        lambda scheduler: scheduler.settings.change(quiet_times=(QuietTime(name="Nights", start="20:00"),)),
    ],
)
def test_an_outdated_import_plan_is_refused(
    scheduler: Scheduler, meanwhile: Callable[[Scheduler], object]
) -> None:
    scheduler.add_job("a", Manual(), _TRUE)
    drafts = Drafts(
        jobs=(_draft("a"), _draft("b")), group_limits={"g": 2}, quiet_times=(QuietTime(name="Nights"),)
    )
    plan = scheduler.imports.plan(drafts)
    meanwhile(scheduler)
    before = scheduler.list_jobs()
    with pytest.raises(SchedulerError, match="changed elsewhere in the meantime"):
        scheduler.imports.apply(plan)
    assert scheduler.list_jobs() == before


def test_unrelated_changes_do_not_invalidate_an_import_plan(scheduler: Scheduler) -> None:
    other = scheduler.add_job("other", Manual(), _TRUE)
    plan = scheduler.imports.plan(Drafts(jobs=(_draft("a"),)))
    scheduler.update_job(other, description="new")
    scheduler.imports.apply(plan)
    assert len(scheduler.list_jobs()) == 2


def test_all_or_nothing_is_stored(scheduler: Scheduler) -> None:
    """A time that passes between the question and the answer takes the whole file back."""
    clock = scheduler._clock
    assert isinstance(clock, ManualClock)
    plan = scheduler.imports.plan(
        Drafts(
            jobs=(_draft("a"), _draft("b", schedule=Once(_NOW + 1_000))),
            quiet_times=(QuietTime(name="Nights"),),
        )
    )
    clock.advance(2_000)
    with pytest.raises(ScheduleError, match="in the past"):
        scheduler.imports.apply(plan)
    assert scheduler.list_jobs() == []
    assert scheduler.settings.read().quiet_times == ()


def test_conditions_that_cannot_be_observed_here_are_faults(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def check(condition: object) -> ConditionState:
        asked.append(condition)
        return ConditionState(not isinstance(condition, MainsPower), None, "nobody here knows of AC power")

    monkeypatch.setattr(scheduler._session, "check_condition", check)
    idle = Policy(conditions=(Idle(), PathExists(path="/x")))
    mains = Policy(conditions=(Idle(), MainsPower()))
    plan = scheduler.imports.plan(
        Drafts(
            jobs=(_draft("a", policy=idle), replace(_draft("b", policy=mains), path="jobs[1]"), _draft("c"))
        )
    )
    assert [str(fault) for fault in plan.faults] == [
        "jobs[1].policy.conditions[1]: nobody here knows of AC power"
    ]
    assert list(plan.new_ids) == ["a", "c"]
    assert asked == [Idle(), MainsPower()]
    # What was left out stays so, whatever is asked when the rest is stored.
    scheduler.imports.apply(plan, skip_bad=True)
    assert {job.name for job in scheduler.list_jobs()} == {"a", "c"}


def test_each_kind_of_condition_is_probed_once(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def check(condition: object) -> ConditionState:
        asked.append(condition)
        return ConditionState(False, None, "nobody here knows")

    monkeypatch.setattr(scheduler._session, "check_condition", check)
    idle = [
        _draft(f"j{number}", policy=Policy(conditions=(Idle(idle=f"{number}m"),))) for number in range(1, 9)
    ]
    assert len(scheduler.imports.plan(Drafts(jobs=tuple(idle))).faults) == 8
    assert asked == [Idle(idle="1m")]


def test_conditions_that_a_job_has_already_are_not_asked_for(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = ConditionState(True, None, "")
    monkeypatch.setattr(scheduler._session, "check_condition", lambda _condition: known)
    policy = Policy(conditions=(MainsPower(),))
    scheduler.add_job("a", Cron("@daily"), _TRUE, policy=policy)
    unknown = ConditionState(False, None, "nobody here knows")
    monkeypatch.setattr(scheduler._session, "check_condition", lambda _condition: unknown)
    assert scheduler.imports.plan(Drafts(jobs=(_draft("a", policy=policy),))).unchanged == ("a",)


def test_progress_is_reported_up_to_the_last_job(scheduler: Scheduler) -> None:
    plan = scheduler.imports.plan(Drafts(jobs=tuple(_draft(f"job {number}") for number in range(501))))
    told: list[int] = []
    scheduler.imports.apply(plan, progress=told.append)
    assert told == [500, 501]


def test_pruned_jobs_go_into_the_trash(scheduler: Scheduler) -> None:
    scheduler.add_job("a", Cron("@daily"), _TRUE)
    scheduler.add_job("b", Manual(), _TRUE)
    plan = scheduler.imports.plan(Drafts(jobs=(_draft("a"),)), prune=True)
    scheduler.imports.apply(plan)
    assert [job.name for job in scheduler.list_jobs()] == ["a"]
    assert [job.name for job in scheduler.list_removed()] == ["b"]


def test_a_job_takes_the_name_of_one_that_is_pruned(scheduler: Scheduler) -> None:
    kept = scheduler.add_job("a", Cron("@daily"), _TRUE)
    scheduler.add_job("b", Manual(), _TRUE)
    draft = replace(_draft("b"), job_id=kept)
    scheduler.imports.apply(scheduler.imports.plan(Drafts(jobs=(draft,)), prune=True))
    assert [(job.id, job.name) for job in scheduler.list_jobs()] == [(kept, "b")]
    # With a fault nothing is pruned, and what is left of the plan is still true when it is stored.
    bad = scheduler.imports.plan(Drafts(jobs=(draft, replace(_draft("c"), job_id=kept))), prune=True)
    scheduler.imports.apply(bad, skip_bad=True)


@pytest.mark.usefixtures("stand_in_watchers")
@settings(max_examples=15, deadline=None)
@given(
    jobs=job_files(),
    quiet_times=st.lists(QUIET_TIMES, max_size=2, unique=True),
    limits=st.dictionaries(LABELS, st.integers(1, 9), max_size=2),
)
def test_an_export_can_be_imported_elsewhere_and_again(
    tmp_path_factory: pytest.TempPathFactory,
    jobs: dict[str, JobSpec],
    quiet_times: list[QuietTime],
    limits: dict[str, int],
) -> None:
    folder = tmp_path_factory.mktemp("transfer")
    with Scheduler.open(folder / "a.db", clock=ManualClock(_NOW)) as here:
        _store(here, jobs, quiet_times, limits)
        text = _exported(here)
        drafts = read_document(text.encode())
        assert here.imports.plan(drafts).is_empty
    with Scheduler.open(folder / "b.db", clock=ManualClock(_NOW + 5)) as there:
        _observe_everything(there)
        there.imports.apply(there.imports.plan(drafts))
        assert _exported(there) == text
        assert there.imports.plan(drafts).is_empty


def _store(
    scheduler: Scheduler, jobs: dict[str, JobSpec], quiet_times: list[QuietTime], limits: dict[str, int]
) -> None:
    _observe_everything(scheduler)
    fields = JobSpec.__dataclass_fields__
    scheduler.add_jobs(
        [
            {"job_id": job_id, **{name: getattr(spec, name) for name in fields}}
            for job_id, spec in jobs.items()
        ]
    )
    scheduler.settings.change(quiet_times=tuple(quiet_times))
    for group, limit in limits.items():
        scheduler.set_group_limit(group, limit)


def _observe_everything(scheduler: Scheduler) -> None:
    observable = ConditionState(True, None, "")
    vars(scheduler._session)["check_condition"] = lambda _condition: observable
    vars(scheduler._session)["why_unobservable"] = lambda _event: ""


def _exported(scheduler: Scheduler) -> str:
    jobs, settings_ = scheduler.list_jobs(), scheduler.settings.read()
    return write_document(export_all(jobs, settings_, scheduler.jobs.group_limits()).document)
