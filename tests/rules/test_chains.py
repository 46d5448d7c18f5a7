"""Chains of jobs as their owners make them: what is refused, what can be read of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from assistant import Assistant
from machine import START, Bench

from halo_scheduler import Every, JobNotFoundError, Manual, Outcome, Policy, Retry, ScheduleError
from halo_scheduler.conditions import probes
from halo_scheduler.conditions.probes import ConditionState
from halo_scheduler.model import (
    Condition,
    Follower,
    FollowOn,
    Idle,
    JobSpec,
    Load,
    MainsPower,
    Network,
    PathExists,
    SkipReason,
    StatusReason,
    WaitingFor,
)
from halo_scheduler.rules.chains import BrokenLink, Chain, ChainLink, LinkState, WaitingRun, find_cycle
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store

_MINUTE, _DAY = 60_000, 86_400_000
_MANUAL = Manual()

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


@pytest.fixture
def scheduler(bench: Bench) -> Scheduler:
    return bench.scheduler


def _after(*job_ids: str, on: FollowOn = FollowOn.SUCCESS) -> tuple[Follower, ...]:
    return tuple(Follower(job_id=job_id, on=on) for job_id in job_ids)


def _followers(scheduler: Scheduler, job_id: str) -> list[str]:
    job = scheduler.get_job(job_id)
    assert job is not None
    return [follower.job_id for follower in job.followers]


# --- What is refused ----------------------------------------------------------------------------------------


def test_a_next_job_must_exist(scheduler: Scheduler) -> None:
    with pytest.raises(ScheduleError, match=r"followers\[1\].job_id: there is no job 'nobody'") as caught:
        scheduler.add_job("backup", _MANUAL, followers=[*_after(scheduler.add_job("a", _MANUAL), "nobody")])
    assert caught.value.path == "followers[1].job_id"
    assert [job.name for job in scheduler.list_jobs()] == ["a"]


def test_a_next_job_in_the_trash_must_be_restored_first(scheduler: Scheduler) -> None:
    report = scheduler.add_job("report", _MANUAL)
    backup = scheduler.add_job("backup", _MANUAL)
    scheduler.remove_job(report)
    with pytest.raises(ScheduleError, match="report is in the trash; restore it first"):
        scheduler.update_job(backup, followers=_after(report))


def test_next_jobs_that_were_removed_stay_until_taken_out(scheduler: Scheduler) -> None:
    report, mail = (scheduler.add_job(name, _MANUAL) for name in ("report", "mail"))
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(report))
    scheduler.remove_job(report)
    scheduler._store.database.rows("DELETE FROM scheduler_jobs WHERE id = ?", [report])
    scheduler.update_job(backup, description="still there", followers=_after(report, mail))
    assert _followers(scheduler, backup) == [report, mail]


def test_a_job_cannot_follow_itself(scheduler: Scheduler) -> None:
    backup = scheduler.add_job("backup", _MANUAL)
    with pytest.raises(ScheduleError, match="backup → backup: a job cannot run after itself"):
        scheduler.update_job(backup, followers=_after(backup))
    with pytest.raises(ScheduleError, match="a job cannot run after itself"):
        scheduler.add_job("other", _MANUAL, job_id="me", followers=_after("me"))


def test_a_cycle_is_refused_with_its_names(scheduler: Scheduler) -> None:
    report = scheduler.add_job("report", _MANUAL)
    mail = scheduler.add_job("mail", _MANUAL, followers=_after(report, on=FollowOn.FAILURE))
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(mail, on=FollowOn.ALWAYS))
    with pytest.raises(ScheduleError, match="report → backup → mail → report: these jobs would start each"):
        scheduler.update_job(report, followers=_after(backup))
    assert _followers(scheduler, report) == []


def test_a_cycle_through_the_trash_is_refused(scheduler: Scheduler) -> None:
    report = scheduler.add_job("report", _MANUAL)
    mail = scheduler.add_job("mail", _MANUAL, followers=_after(report))
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(mail))
    scheduler.remove_job(mail)
    with pytest.raises(ScheduleError, match=r"report → backup → mail \(in the trash\) → report"):
        scheduler.update_job(report, followers=_after(backup))
    scheduler.restore_job(mail)
    assert _followers(scheduler, mail) == [report]


def test_restoring_a_job_checks_for_cycles_again(scheduler: Scheduler) -> None:
    report = scheduler.add_job("report", _MANUAL)
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(report))
    scheduler.remove_job(backup)
    record = scheduler._store.jobs.get(report)
    assert record is not None
    # As a database may be after a restored backup.
    scheduler._store.jobs.save_spec(report, replace(record.spec, followers=_after(backup)), START)
    with pytest.raises(ScheduleError, match="backup → report → backup"):
        scheduler.restore_job(backup)
    assert [job.id for job in scheduler.list_removed()] == [backup]


def test_restoring_a_job_does_not_require_its_next_jobs(scheduler: Scheduler) -> None:
    report = scheduler.add_job("report", _MANUAL)
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(report))
    for job_id in (report, backup):
        scheduler.remove_job(job_id)
    scheduler.restore_job(backup)
    assert [link.state for link in scheduler.jobs.chain(backup).after] == [LinkState.REMOVED]


def test_jobs_that_are_added_together_may_follow_each_other(scheduler: Scheduler) -> None:
    ids = scheduler.add_jobs(
        [
            {"name": "backup", "schedule": Every("1h"), "job_id": "1", "followers": _after("2")},
            {"name": "report", "schedule": _MANUAL, "job_id": "2"},
        ]
    )
    assert _followers(scheduler, ids[0]) == ["2"]
    with pytest.raises(ScheduleError, match="a → b → a"):
        scheduler.add_jobs(
            [
                {"name": "a", "schedule": _MANUAL, "job_id": "3", "followers": _after("4")},
                {"name": "b", "schedule": _MANUAL, "job_id": "4", "followers": _after("3")},
            ]
        )
    assert len(scheduler.list_jobs()) == 2


def test_a_new_job_that_others_already_name_closes_no_cycle(scheduler: Scheduler) -> None:
    report = scheduler.add_job("report", _MANUAL, job_id="report")
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(report))
    scheduler.remove_job(report)
    scheduler._store.database.rows("DELETE FROM scheduler_jobs WHERE id = ?", [report])
    with pytest.raises(ScheduleError, match="report → backup → report"):
        scheduler.add_job("report", _MANUAL, job_id="report", followers=_after(backup))
    scheduler.add_job("report", _MANUAL, job_id="report")


def test_renaming_a_job_leaves_its_chain(scheduler: Scheduler) -> None:
    report = scheduler.add_job("report", _MANUAL)
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(report))
    scheduler.update_job(report, name="summary")
    scheduler.update_job(backup, name="copy")
    assert [link.name for link in scheduler.jobs.chain(backup).after] == ["summary"]
    assert [link.name for link in scheduler.jobs.chain(report).before] == ["copy"]


def test_a_diamond_is_not_a_cycle(scheduler: Scheduler) -> None:
    end = scheduler.add_job("end", _MANUAL)
    sides = [scheduler.add_job(name, _MANUAL, followers=_after(end)) for name in ("left", "right")]
    scheduler.add_job("start", _MANUAL, followers=_after(*sides, end))


def test_a_very_long_chain_is_checked_and_reported_shortened() -> None:
    count = 5_000
    specs = {
        str(number): JobSpec(name=f"job {number}", schedule=_MANUAL, followers=_after(str(number + 1)))
        for number in range(count)
    }
    assert find_cycle(specs, ["0"]) is None
    closed = specs | {str(count): JobSpec(name="last", schedule=_MANUAL, followers=_after("0"))}
    cycle = find_cycle(closed, ["7"])
    assert cycle is not None
    assert (len(cycle), cycle[0], cycle[-1]) == (count + 2, "7", "7")


def test_a_long_cycle_is_reported_with_its_ends(scheduler: Scheduler) -> None:
    first = previous = scheduler.add_job("0", _MANUAL)
    for number in range(1, 12):
        previous = scheduler.add_job(str(number), _MANUAL, followers=_after(previous))
    with pytest.raises(ScheduleError, match="0 → 11 → 10 → 9 → … → 2 → 1 → 0: these"):
        scheduler.update_job(first, followers=_after(previous))


# --- Conditions that nobody can observe ---------------------------------------------------------------------------


class _Probe:
    """Looks at conditions: only AC power can be known here."""

    def __init__(self, store: Store) -> None:
        self.asked: list[Condition] = []
        self._store = store

    def check(self, condition: Condition) -> ConditionState:
        self.asked.append(condition)
        assert not self._store.database._connection.in_transaction
        is_known = isinstance(condition, MainsPower)
        return ConditionState(is_known, None, "Nothing tells here how long nobody has touched the machine.")


@pytest.fixture
def probe(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> _Probe:
    found = _Probe(scheduler._store)
    monkeypatch.setattr(probes, "check_condition", found.check)
    return found


def test_a_condition_that_cannot_be_observed_is_refused(scheduler: Scheduler, probe: _Probe) -> None:
    with pytest.raises(ScheduleError, match="Nothing tells here how long") as caught:
        scheduler.add_job("backup", _MANUAL, policy=Policy(conditions=(MainsPower(), Idle())))
    assert caught.value.path == "policy.conditions[1]"
    assert scheduler.list_jobs() == []
    assert probe.asked == [MainsPower(), Idle()]


def test_only_new_conditions_are_probed_on_an_edit(scheduler: Scheduler, probe: _Probe) -> None:
    job_id = scheduler.add_job("backup", _MANUAL)
    record = scheduler._store.jobs.get(job_id)
    assert record is not None
    old = replace(record.spec, policy=Policy(conditions=(Idle(),)))
    scheduler._store.jobs.save_spec(job_id, old, START)
    scheduler.update_job(job_id, policy=Policy(conditions=(Idle(), MainsPower())), description="x")
    assert probe.asked == [MainsPower()]
    with pytest.raises(ScheduleError, match="Nothing tells"):
        scheduler.update_job(job_id, policy=Policy(conditions=(Idle(idle="5m"),)))
    scheduler.update_job(job_id, name="other")
    assert len(probe.asked) == 2


def test_the_same_condition_of_many_jobs_is_probed_once(scheduler: Scheduler, probe: _Probe) -> None:
    policy = Policy(conditions=(MainsPower(),))
    scheduler.add_jobs([{"name": str(number), "schedule": _MANUAL, "policy": policy} for number in range(5)])
    assert probe.asked == [MainsPower()]


def test_conditions_that_every_system_can_observe_are_not_probed(scheduler: Scheduler, probe: _Probe) -> None:
    conditions = (Network(host="nas.local", port=22), PathExists(path="/mnt/disk"))
    scheduler.add_job("backup", _MANUAL, policy=Policy(conditions=conditions))
    assert probe.asked == []


def test_a_path_of_another_system_is_refused(scheduler: Scheduler) -> None:
    with pytest.raises(ScheduleError, match="is not an absolute path on this system") as caught:
        scheduler.add_job("backup", _MANUAL, policy=Policy(conditions=(PathExists(path="D:\\backup"),)))
    assert caught.value.path == "policy.conditions[0]"
    assert scheduler.list_jobs() == []
    scheduler.add_job("backup", _MANUAL, policy=Policy(conditions=(PathExists(path="~/backup"),)))


def test_conditions_given_by_an_assistant_are_probed_outside_its_transaction(
    scheduler: Scheduler, probe: _Probe
) -> None:
    spec = JobSpec(name="made", schedule=Every("1h"), policy=Policy(conditions=(MainsPower(),)))
    with pytest.raises(Exception, match="may not create"):
        Assistant(scheduler).add(spec)
    assert probe.asked == []
    scheduler.settings.change(assistants_may_edit=True)
    job_id = Assistant(scheduler).add(spec)
    job = scheduler.get_job(job_id)
    assert job is not None
    assert (job.status_reason, job.policy.conditions) == (StatusReason.ASSISTANT, (MainsPower(),))
    with pytest.raises(ScheduleError, match="Nothing tells"):
        Assistant(scheduler).update_job(job_id, policy=Policy(conditions=(Idle(),)))
    assert probe.asked == [MainsPower(), Idle()]


def test_a_condition_can_be_tried_before_it_is_used(scheduler: Scheduler, tmp_path: Path) -> None:
    there = scheduler.jobs.check_condition(PathExists(path=str(tmp_path)))
    gone = scheduler.jobs.check_condition(PathExists(path=str(tmp_path / "no")))
    assert (there.is_observable, there.holds, gone.holds) == (True, True, False)
    assert scheduler.jobs.check_condition(Load(below=10_000)).holds is True


# --- What can be read ---------------------------------------------------------------------------------------------


def test_a_chain_is_read_from_both_sides(scheduler: Scheduler) -> None:
    report, mail = (scheduler.add_job(name, _MANUAL) for name in ("report", "mail"))
    backup = scheduler.add_job(
        "backup", _MANUAL, followers=(*_after(report), *_after(mail, on=FollowOn.FAILURE))
    )
    sync = scheduler.add_job("a sync", _MANUAL, followers=_after(report, on=FollowOn.ALWAYS))
    assert scheduler.jobs.chain(backup) == Chain(
        after=(
            ChainLink(job_id=report, name="report", on=FollowOn.SUCCESS, state=LinkState.OK),
            ChainLink(job_id=mail, name="mail", on=FollowOn.FAILURE, state=LinkState.OK),
        )
    )
    assert scheduler.jobs.chain(report) == Chain(
        before=(
            ChainLink(job_id=sync, name="a sync", on=FollowOn.ALWAYS, state=LinkState.OK),
            ChainLink(job_id=backup, name="backup", on=FollowOn.SUCCESS, state=LinkState.OK),
        )
    )
    assert scheduler.jobs.chain(mail).after == ()
    with pytest.raises(JobNotFoundError):
        scheduler.jobs.chain("nobody")


def test_links_say_why_a_job_does_not_run(scheduler: Scheduler) -> None:
    names = ("paused", "disabled", "removed", "gone")
    ids = {name: scheduler.add_job(name, _MANUAL) for name in names}
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(*ids.values()))
    scheduler.pause_job(ids["paused"])
    scheduler.update_job(ids["disabled"], enabled=False)
    scheduler.remove_job(ids["removed"])
    scheduler._store.database.rows("DELETE FROM scheduler_jobs WHERE id = ?", [ids["gone"]])
    links = scheduler.jobs.chain(backup).after
    assert [(link.name, link.state) for link in links] == [
        ("paused", LinkState.PAUSED),
        ("disabled", LinkState.DISABLED),
        ("removed", LinkState.REMOVED),
        (ids["gone"], LinkState.REMOVED),
    ]
    scheduler.remove_job(backup)
    assert scheduler.jobs.chain(ids["paused"]).before == ()


def test_chain_runs_that_wait_are_listed_by_age(bench: Bench, scheduler: Scheduler) -> None:
    report = scheduler.add_job("report", _MANUAL)
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(report))
    scheduler.trigger(report)
    (busy,) = bench.tick()
    scheduler.trigger(backup)
    (cause,) = bench.tick(_MINUTE)
    bench.finish(cause)
    scheduler._store.requests.append(
        Request(
            kind=RequestKind.CHAIN, job_id=report, run_id="later", at=START + 2 * _MINUTE, payload="pruned"
        )
    )
    first, second = scheduler.runs.waiting_in_chains()
    assert first == WaitingRun(
        run_id=first.run_id,
        job_id=report,
        caused_by=cause.id,
        cause_job_id=backup,
        cause_name="backup",
        at=START + _MINUTE,
        waiting_for=WaitingFor.PREVIOUS_RUN,
    )
    assert (second.run_id, second.cause_job_id, second.cause_name) == ("later", "", "a deleted job")
    assert scheduler.jobs.explain(report).sentences[-2] == (
        "A run after backup has waited since 01:01: its previous run to end."
    )
    bench.finish(busy)
    assert [run.caused_by for run in bench.started[-1:]] == [cause.id]


def test_a_removed_next_job_is_a_broken_link_of_the_causing_run(bench: Bench, scheduler: Scheduler) -> None:
    report, mail = (scheduler.add_job(name, _MANUAL) for name in ("report", "mail"))
    backup = scheduler.add_job("backup", _MANUAL, followers=_after(report, mail))
    scheduler.remove_job(report)
    scheduler.pause_job(mail)
    found = []
    for _ in range(3):
        run_id = scheduler.trigger(backup)
        (run,) = bench.tick()
        assert scheduler.runs.broken_links(run_id) == []
        bench.finish(run)
        found.append(scheduler.runs.broken_links(run_id))
        bench.clock.advance(_DAY // 2)
    assert [[link.is_first_today for link in links] for links in found] == [[True], [False], [True]]
    assert found[0] == [BrokenLink(name="report", is_removed=True, is_first_today=True)]
    assert scheduler.runs.broken_links("nobody") == []
    (skipped, *_) = scheduler.get_run_log(mail)
    assert skipped.outcome is Outcome.SKIPPED


def test_the_effects_of_a_run_are_listed_including_skipped_ones(bench: Bench, scheduler: Scheduler) -> None:
    paused, then = scheduler.add_job("paused", _MANUAL), scheduler.add_job("then", _MANUAL)
    scheduler.pause_job(paused)
    first = scheduler.add_job("first", _MANUAL, followers=_after(paused, then))
    run_id = scheduler.trigger(first)
    (run,) = bench.tick()
    bench.finish(run, Outcome.SUCCESS)
    bench.tick()
    caused = {found.job_id: found.outcome for found in scheduler.runs.caused_by(run_id)}
    assert caused == {paused: Outcome.SKIPPED, then: Outcome.RUNNING}
    assert scheduler.runs.caused_by("nobody") == []


def test_another_deadline_counts_also_for_a_run_after_another_job_that_waits(bench: Bench) -> None:
    disk = PathExists(path="/mnt/disk")
    report = bench.scheduler.add_job(
        "report", _MANUAL, policy=Policy(conditions=(disk,), condition_deadline="1m")
    )
    cause = bench.scheduler.add_job("backup", _MANUAL, followers=_after(report))
    bench.scheduler.trigger(cause)
    bench.finish(bench.tick()[0])
    (waiting,) = bench.scheduler.runs.waiting_in_chains()
    assert waiting.waits_until == START + _MINUTE
    bench.scheduler.update_job(report, policy=Policy(conditions=(disk,), condition_deadline="10m"))
    bench.tick(2 * _MINUTE)
    (waiting,) = bench.scheduler.runs.waiting_in_chains()
    assert (waiting.waiting_details.conditions, waiting.waits_until) == ((disk,), START + 12 * _MINUTE)
    bench.tick(10 * _MINUTE)
    assert [run.reason for run in bench.scheduler.get_run_log(report)] == [SkipReason.CONDITION]


# --- A retry that does not come -------------------------------------------------------------------------------


def _disable(scheduler: Scheduler, job_id: str) -> None:
    scheduler.update_job(job_id, enabled=False)


def _give_other_times(scheduler: Scheduler, job_id: str) -> None:
    scheduler.update_job(job_id, schedule=Every("2h"))


def _give_another_policy(scheduler: Scheduler, job_id: str) -> None:
    scheduler.update_job(job_id, policy=Policy())


@pytest.mark.parametrize(
    "change",
    [
        Scheduler.pause_job,
        Scheduler.resume_job,
        Scheduler.remove_job,
        _disable,
        _give_other_times,
        _give_another_policy,
    ],
)
def test_an_edit_that_drops_the_retry_of_a_failed_run_triggers_its_next_jobs(
    bench: Bench, change: Callable[[Scheduler, str], None]
) -> None:
    alarm, tidy, cheer = (bench.scheduler.add_job(name, _MANUAL) for name in ("alarm", "tidy", "cheer"))
    followers = (
        *_after(alarm, on=FollowOn.FAILURE),
        *_after(tidy, on=FollowOn.ALWAYS),
        *_after(cheer, on=FollowOn.SUCCESS),
    )
    policy = Policy(retry=Retry(attempts=2, delay_ms=10 * _MINUTE))
    job_id = bench.scheduler.add_job("backup", Every("1h"), policy=policy, followers=followers)
    (failed,) = bench.tick(60 * _MINUTE)
    bench.finish(failed, Outcome.FAILURE)
    assert bench.scheduler.runs.waiting_in_chains() == []
    change(bench.scheduler, job_id)
    waiting = bench.scheduler.runs.waiting_in_chains()
    assert {(run.job_id, run.caused_by) for run in waiting} == {(alarm, failed.id), (tidy, failed.id)}
    assert sorted(run.job_id for run in bench.tick()) == sorted([alarm, tidy])


def test_a_change_that_leaves_the_retry_of_a_failed_run_starts_nothing(bench: Bench) -> None:
    alarm = bench.scheduler.add_job("alarm", _MANUAL)
    job_id = bench.scheduler.add_job(
        "backup",
        Every("1h"),
        policy=Policy(retry=Retry(attempts=1, delay_ms=10 * _MINUTE)),
        followers=_after(alarm, on=FollowOn.FAILURE),
    )
    (failed,) = bench.tick(60 * _MINUTE)
    bench.finish(failed, Outcome.FAILURE)
    bench.scheduler.update_job(job_id, description="of all disks")
    bench.scheduler.propose_interval(job_id, "5m")
    bench.scheduler.clear_hints(job_id)
    assert bench.tick() == []
    (again,) = bench.tick(10 * _MINUTE)
    assert (again.job_id, again.attempt) == (job_id, 2)
    bench.finish(again, Outcome.FAILURE)
    assert [(run.job_id, run.caused_by) for run in bench.started[2:]] == [(alarm, again.id)]


def test_a_dropped_retry_triggers_the_current_next_jobs(bench: Bench) -> None:
    alarm = bench.scheduler.add_job("alarm", _MANUAL)
    job_id = bench.scheduler.add_job(
        "backup",
        Every("1h"),
        policy=Policy(retry=Retry(attempts=1)),
        followers=_after(alarm, on=FollowOn.FAILURE),
    )
    (failed,) = bench.tick(60 * _MINUTE)
    bench.finish(failed, Outcome.FAILURE)
    bench.scheduler.update_job(job_id, schedule=Every("2h"), followers=())
    assert bench.scheduler.runs.waiting_in_chains() == []
