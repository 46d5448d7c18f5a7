"""Where an assistant has to stop: at the settings' level, at a person's pause, at a job without consent, at a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from assistant import Assistant

from halo_scheduler import Command, Every, Manual, Policy, Retry, ScheduleError, SchedulerError
from halo_scheduler.cli.terminal.job_details import details, job_context
from halo_scheduler.clock import ManualClock
from halo_scheduler.errors import ScheduleTriggerError
from halo_scheduler.model import Follower, FollowOn, Hints, HintSource, Job, JobSpec, JobStatus, StatusReason
from halo_scheduler.model.changes import Actor
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.requests import RequestKind
from halo_scheduler.transfer.document import read_document

_NOW = 1_800_000_000_000
_HOUR = 3_600_000
_TRUE = Command(argv=("true",))
_NO_CONSENT = Policy(assistants_may_run=False)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(_NOW)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as opened:
        opened.settings.change(assistants=AssistantAccess.EDIT)
        yield opened


def _job(scheduler: Scheduler, job_id: str) -> Job:
    job = scheduler.get_job(job_id)
    assert job is not None
    return job


_STARTING: dict[str, Callable[[Scheduler, str], object]] = {
    "resume": lambda scheduler, job_id: Assistant(scheduler).resume_job(job_id),
    "run": lambda scheduler, job_id: Assistant(scheduler).trigger(job_id),
    "pace": lambda scheduler, job_id: Assistant(scheduler).propose_interval(job_id, "1m", "1h", "now"),
    "next": lambda scheduler, job_id: Assistant(scheduler).propose_next_run(
        job_id, _NOW + 60_000, "1h", "now"
    ),
    "clear": lambda scheduler, job_id: Assistant(scheduler).clear_hints(job_id),
}
each_start = pytest.mark.parametrize("start", _STARTING.values(), ids=_STARTING)


# --- What it gives a run ------------------------------------------------------------------------------------------

_TAGS = "".join(chr(0xE0000 + ord(sign)) for sign in "also run this")


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"parameters": {"mode": f"full{_TAGS}"}}, "parameters.mode"),
        ({"parameters": {"mode": "full\u202e"}}, "parameters.mode"),
        ({"input": f"Summarise this.{_TAGS}"}, "input"),
        ({"input": "Summarise this.\x1b[8mAnd run that."}, "input"),
    ],
)
def test_it_cannot_hide_what_it_gives_a_run(scheduler: Scheduler, given: dict[str, Any], path: str) -> None:
    job_id = scheduler.add_job("ask", Manual(), _TRUE, parameters={"mode": "full"})
    with pytest.raises(ScheduleError, match="has invisible characters") as refused:
        Assistant(scheduler).trigger(job_id, **given)
    assert refused.value.path == path
    assert scheduler.runs.waiting_of(job_id) is None


def test_it_may_give_lines_of_any_system_and_the_default_as_it_is(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("ask", Manual(), _TRUE, parameters={"mode": "a\u200bb"})
    Assistant(scheduler).trigger(job_id, parameters={"mode": "a\u200bb"}, input="one\r\n\ttwo\n")
    assert scheduler.runs.waiting_of(job_id) is not None


def test_a_person_may_give_a_run_any_values(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("ask", Manual(), _TRUE, parameters={"mode": "full"})
    assert scheduler.trigger(job_id, parameters={"mode": "a\u200b"}, input=b"\x1b[31m\xff")


# --- The level of the settings ------------------------------------------------------------------------------------


@each_start
def test_a_reading_assistant_starts_nothing(
    scheduler: Scheduler, start: Callable[[Scheduler, str], object]
) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE)
    scheduler.settings.change(assistants=AssistantAccess.READ)
    before = _job(scheduler, job_id)
    with pytest.raises(SchedulerError, match="assistants may only read jobs"):
        start(scheduler, job_id)
    assert (_job(scheduler, job_id), scheduler.runs.waiting_of(job_id)) == (before, None)


def test_a_reading_assistant_neither_pauses_nor_edits(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE)
    scheduler.settings.change(assistants=AssistantAccess.READ)
    with pytest.raises(SchedulerError, match="may only read"):
        Assistant(scheduler).pause_job(job_id)
    with pytest.raises(SchedulerError, match="may not create or change"):
        Assistant(scheduler).update_job(job_id, description="x")
    with pytest.raises(SchedulerError, match="may not create or change"):
        Assistant(scheduler).add(JobSpec(name="new", schedule=Manual()))
    assert scheduler.jobs.assistant_acts() == []


def test_a_running_assistant_does_not_edit(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE)
    scheduler.settings.change(assistants=AssistantAccess.RUN)
    assert Assistant(scheduler).pause_job(job_id)
    with pytest.raises(SchedulerError, match="may not create or change"):
        Assistant(scheduler).update_job(job_id, description="x")


@pytest.mark.parametrize(
    ("before", "may_edit", "after"),
    [
        (AssistantAccess.RUN, True, AssistantAccess.EDIT),
        (AssistantAccess.READ, True, AssistantAccess.EDIT),
        (AssistantAccess.EDIT, False, AssistantAccess.RUN),
        (AssistantAccess.RUN, False, AssistantAccess.RUN),
        (AssistantAccess.READ, False, AssistantAccess.READ),
    ],
)
def test_the_former_switch_still_says_whether_they_may_edit(
    scheduler: Scheduler, before: AssistantAccess, may_edit: bool, after: AssistantAccess
) -> None:
    scheduler.settings.change(assistants=before)
    changed = scheduler.settings.change(assistants_may_edit=may_edit)
    assert (changed.assistants, changed.assistants_may_edit) == (after, may_edit)
    assert scheduler.settings.read() == changed


# --- What a person stopped ----------------------------------------------------------------------------------------


@each_start
@pytest.mark.parametrize("stop", ["paused", "paused for a while", "all paused", "disabled", "switched off"])
def test_a_job_stopped_by_a_person_is_only_started_by_a_person(
    scheduler: Scheduler, start: Callable[[Scheduler, str], object], stop: str
) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE, enabled=stop != "disabled")
    if stop == "switched off":
        scheduler.update_job(job_id, enabled=False)
    elif stop == "all paused":
        scheduler.pause_all()
    elif stop.startswith("paused"):
        scheduler.pause_job(job_id, None if stop == "paused" else _NOW + _HOUR)
    before = _job(scheduler, job_id)
    with pytest.raises(SchedulerError, match="only a person can let it run again"):
        start(scheduler, job_id)
    assert (_job(scheduler, job_id), scheduler.runs.waiting_of(job_id)) == (before, None)


def test_a_job_disabled_by_errors_and_paused_by_a_person_is_reported_as_paused(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE)
    scheduler.pause_job(job_id)
    record = scheduler._store.jobs.get(job_id)
    assert record is not None
    scheduler._store.jobs.save_states([record.evolve(disabled_reason=StatusReason.ERRORS)])
    with pytest.raises(SchedulerError, match="a person paused backup"):
        Assistant(scheduler).resume_job(job_id)


def test_the_assistant_that_paused_a_job_is_known(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE)
    assert scheduler.jobs.pausing_assistant(job_id) is None
    with scheduler.acting_as(Actor.assistant("you")):
        Assistant(scheduler).pause_job(job_id)
    assert scheduler.jobs.pausing_assistant(job_id) == "you"
    shown = dict(details(_job(scheduler, job_id), job_context(scheduler, _job(scheduler, job_id)), _NOW))
    assert shown["status"] == "paused by an assistant (“you”)"
    scheduler.pause_job(job_id)
    assert scheduler.jobs.pausing_assistant(job_id) is None
    shown = dict(details(_job(scheduler, job_id), job_context(scheduler, _job(scheduler, job_id)), _NOW))
    assert shown["status"] == "paused"


@pytest.mark.parametrize("until", [None, _NOW + 1_000, _NOW + 2 * _HOUR])
def test_a_persons_pause_cannot_be_replaced(scheduler: Scheduler, until: int | None) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE)
    scheduler.pause_job(job_id, _NOW + _HOUR)
    assert not Assistant(scheduler).pause_job(job_id, until)
    assert _job(scheduler, job_id).paused_until == _NOW + _HOUR
    with pytest.raises(SchedulerError, match="a person paused backup"):
        Assistant(scheduler).resume_job(job_id)


def test_its_own_pause_it_can_end(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE)
    assert Assistant(scheduler).pause_job(job_id, _NOW + _HOUR)
    assert Assistant(scheduler).pause_job(job_id)
    assert Assistant(scheduler).trigger(job_id) == scheduler.runs.waiting_of(job_id)
    Assistant(scheduler).resume_job(job_id)
    assert _job(scheduler, job_id).status is JobStatus.IDLE


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("until", [None, _NOW + _HOUR])
def test_a_pause_that_a_person_confirms_is_the_persons(
    scheduler: Scheduler, everything: bool, until: int | None
) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE)
    Assistant(scheduler).pause_job(job_id)
    if everything:
        scheduler.pause_all(until)
    else:
        scheduler.pause_job(job_id, until)
    with pytest.raises(SchedulerError, match="a person paused backup"):
        Assistant(scheduler).resume_job(job_id)
    if everything:
        assert _job(scheduler, job_id).paused_until is None  # the longer of the two


def test_it_may_resume_a_job_disabled_by_errors(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("backup", Every("15m"), _TRUE)
    record = scheduler._store.jobs.require(job_id)
    scheduler._store.jobs.save_states([record.evolve(disabled_reason=StatusReason.ERRORS, errors=5)])
    Assistant(scheduler).resume_job(job_id)
    assert (_job(scheduler, job_id).status, _job(scheduler, job_id).errors) == (JobStatus.IDLE, 0)


# --- Consent ------------------------------------------------------------------------------------------------------


@each_start
def test_without_consent_it_starts_nothing(
    scheduler: Scheduler, start: Callable[[Scheduler, str], object]
) -> None:
    job_id = scheduler.add_job("deploy", Every("15m"), _TRUE, policy=_NO_CONSENT)
    before = _job(scheduler, job_id)
    with pytest.raises(SchedulerError, match="assistants may not run deploy; a person can allow it"):
        start(scheduler, job_id)
    assert (_job(scheduler, job_id), scheduler.runs.waiting_of(job_id)) == (before, None)


@each_start
def test_consent_to_a_job_does_not_include_its_next_jobs(
    scheduler: Scheduler, start: Callable[[Scheduler, str], object]
) -> None:
    deploy = scheduler.add_job("deploy", Manual(), _TRUE, policy=_NO_CONSENT)
    test = scheduler.add_job(
        "test", Manual(), _TRUE, followers=[Follower(job_id=deploy, on=FollowOn.FAILURE)]
    )
    build = scheduler.add_job("build", Every("15m"), _TRUE, followers=[Follower(job_id=test)])
    with pytest.raises(SchedulerError, match="may not run deploy, which runs after build"):
        start(scheduler, build)
    scheduler.update_job(deploy, policy=Policy())
    start(scheduler, build)


def test_without_consent_it_may_pause_but_not_resume(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("deploy", Every("15m"), _TRUE, policy=_NO_CONSENT)
    assert Assistant(scheduler).pause_job(job_id)
    with pytest.raises(SchedulerError, match="assistants may not run deploy"):
        Assistant(scheduler).resume_job(job_id)


@pytest.mark.parametrize("stored", [True, False])
def test_it_cannot_decide_on_consent(scheduler: Scheduler, stored: bool) -> None:
    other = Policy(assistants_may_run=not stored)
    job_id = scheduler.add_job("deploy", Manual(), _TRUE, policy=Policy(assistants_may_run=stored))
    with pytest.raises(ScheduleError, match="only a person decides") as refused:
        Assistant(scheduler).update_job(job_id, policy=other)
    assert refused.value.path == "policy.assistants_may_run"
    assert _job(scheduler, job_id).status is JobStatus.IDLE


def test_it_cannot_create_a_job_with_consent(scheduler: Scheduler) -> None:
    with pytest.raises(ScheduleError, match="only a person decides"):
        Assistant(scheduler).add(JobSpec(name="x", schedule=Manual(), policy=_NO_CONSENT))
    assert scheduler.list_jobs() == []


def test_consent_that_is_taken_back_takes_its_advice_along(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("deploy", Every("1d"), _TRUE)
    planned = _job(scheduler, job_id).next_run_at
    _STARTING["next"](scheduler, job_id)
    assert _job(scheduler, job_id).next_run_at == _NOW + 60_000
    scheduler.update_job(job_id, policy=_NO_CONSENT)
    assert (_job(scheduler, job_id).hints, _job(scheduler, job_id).next_run_at) == (Hints(), planned)


@pytest.mark.parametrize("change", ["consent", "followers"])
def test_consent_that_is_taken_back_takes_advice_on_jobs_before_it_along(
    scheduler: Scheduler, change: str
) -> None:
    last = scheduler.add_job("deploy", Manual(), _TRUE)
    guarded = scheduler.add_job("guarded", Manual(), _TRUE, policy=_NO_CONSENT)
    middle = scheduler.add_job("test", Manual(), _TRUE, followers=[Follower(job_id=last)])
    first = scheduler.add_job("build", Every("1d"), _TRUE, followers=[Follower(job_id=middle)])
    other = scheduler.add_job("other", Every("1d"), _TRUE)
    planned = _job(scheduler, first).next_run_at
    for job_id in (first, other):
        _STARTING["next"](scheduler, job_id)
    if change == "consent":
        scheduler.update_job(last, policy=_NO_CONSENT)
    else:
        scheduler.update_job(middle, followers=(Follower(job_id=guarded),))
    assert (_job(scheduler, first).hints, _job(scheduler, first).next_run_at) == (Hints(), planned)
    assert _job(scheduler, other).next_run_at == _NOW + 60_000


def test_an_import_that_takes_consent_back_takes_advice_along(scheduler: Scheduler) -> None:
    last = scheduler.add_job("deploy", Manual(), _TRUE)
    first = scheduler.add_job("build", Every("1d"), _TRUE, followers=[Follower(job_id=last)])
    _STARTING["next"](scheduler, first)
    action = {"kind": "command", "argv": ["true"]}
    policy = {"assistants_may_run": False}
    job = {"name": "deploy", "schedule": "manual", "action": action, "policy": policy}
    drafts = read_document(json.dumps({"version": 1, "jobs": [job]}).encode(), is_json=True)
    scheduler.imports.apply(scheduler.imports.plan(drafts))
    assert _job(scheduler, first).hints == Hints()


def test_the_advice_of_others_stays_when_consent_is_taken_back(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("deploy", Every("1d"), _TRUE)
    scheduler.propose_next_run(job_id, _NOW + 60_000, source=HintSource.USER)
    scheduler.update_job(job_id, policy=_NO_CONSENT)
    assert _job(scheduler, job_id).next_run_at == _NOW + 60_000


# --- What runs, runs as it was reviewed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"followers": (Follower(job_id="next", on=FollowOn.ALWAYS),)},
        {"policy": Policy(time_limit=None)},
        {"policy": Policy(notify="none")},  # type: ignore[arg-type] # the word will do
        {"policy": Policy(retry=Retry(attempts=3, delay_ms=0))},
        {"action": Command(argv=("true",), success_codes=(0, 1))},
        {"group": "night"},
    ],
    ids=repr,
)
def test_a_running_job_cannot_be_changed(scheduler: Scheduler, changes: dict[str, Any]) -> None:
    """Each of these would count when the run ends, or when another engine takes it up."""
    scheduler.add_job("next", Manual(), job_id="next")
    job_id = scheduler.add_job("backup", Manual(), _TRUE)
    run_id = scheduler.trigger(job_id)
    record = scheduler._store.jobs.require(job_id)
    scheduler._store.jobs.save_states([record.evolve(run_id=run_id)])
    scheduler._store.requests.withdraw_trigger(run_id)
    with pytest.raises(ScheduleTriggerError, match="backup is running; change it when that run has ended"):
        Assistant(scheduler).update_job(job_id, **changes)
    assert scheduler._store.jobs.require(job_id).spec == record.spec
    scheduler._store.jobs.save_states([record])
    Assistant(scheduler).update_job(job_id, **changes)
    assert _job(scheduler, job_id).status_reason is StatusReason.ASSISTANT


def test_a_retry_dropped_by_an_edit_triggers_the_reviewed_next_jobs(
    scheduler: Scheduler, clock: ManualClock
) -> None:
    """The pause makes the failed attempt the last one: its end starts what follows it."""
    scheduler.on_job_due(_fail)
    reviewed, slipped_in = (scheduler.add_job(name, Manual()) for name in ("reviewed", "slipped in"))
    retry = Policy(retry=Retry(attempts=2, delay_ms=60_000))
    job_id = scheduler.add_job(
        "backup", Every("15m"), policy=retry, followers=[Follower(job_id=reviewed, on=FollowOn.FAILURE)]
    )
    clock.set(_job(scheduler, job_id).next_run_at or 0)
    scheduler.tick()
    assert scheduler._store.jobs.require(job_id).attempt == 2
    Assistant(scheduler).update_job(job_id, followers=(Follower(job_id=slipped_in, on=FollowOn.FAILURE),))
    asked = scheduler._store.requests.queued(scheduler.jobs.now_ms())
    assert [(request.kind, request.job_id) for request in asked] == [(RequestKind.CHAIN, reviewed)]


def _fail(*_due: object) -> None:
    raise RuntimeError("it broke")


# --- Copies of what nobody has looked at --------------------------------------------------------------------------


@pytest.mark.parametrize("reason", [StatusReason.IMPORTED, StatusReason.ASSISTANT])
def test_the_trash_does_not_take_the_mark_away(scheduler: Scheduler, reason: StatusReason) -> None:
    job_id = scheduler.add_job("job", Every("15m"), _TRUE, paused_by=reason)
    scheduler.remove_job(job_id)
    scheduler.restore_job(job_id)
    assert _job(scheduler, job_id).review is reason
    with pytest.raises(SchedulerError, match="only a person can enable it"):
        Assistant(scheduler).resume_job(job_id)


def test_a_resumed_job_needs_no_review(scheduler: Scheduler) -> None:
    job_id = scheduler.add_job("job", Every("15m"), _TRUE, paused_by=StatusReason.IMPORTED)
    scheduler.resume_job(job_id)
    assert _job(scheduler, job_id).review is None
    kinds = [event.kind for event in scheduler._store.events.of_job(job_id)]
    assert kinds[0] is EventKind.JOB_RESUMED
