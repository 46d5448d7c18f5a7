"""The tools with which assistants create and change jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import shell
from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # comes with the SDK, without types
from tool_calls import ACTIONS, SECRET_NAME, call, job_named

from halo_scheduler import (
    Backoff,
    Callback,
    Command,
    Cron,
    Every,
    HttpRequest,
    Manual,
    Once,
    Policy,
    Prompt,
    ScheduleError,
    SchedulerError,
)
from halo_scheduler.clock import ManualClock
from halo_scheduler.mcp.server import _TOOLS
from halo_scheduler.model import (
    Caps,
    Entry,
    Follower,
    FollowOn,
    InQuietTime,
    Limits,
    Network,
    PathExists,
    StatusReason,
)
from halo_scheduler.model.actions import GithubSource
from halo_scheduler.model.schedules import schedules_of
from halo_scheduler.service.scheduler import Scheduler

_NOW = 1_800_000_000_000


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(_NOW)) as opened:
        opened.settings.change(assistants_may_edit=True)
        yield opened


def _create(scheduler: Scheduler, **rest: Any) -> Any:
    whole = {
        "name": "made",
        "schedule": {"kind": "every", "every": "15m"},
        "action": {"kind": "command", "argv": ["true"]},
        **rest,
    }
    return call(scheduler, "create_job", **whole)


def test_a_job_is_created_as_our_json_says(scheduler: Scheduler) -> None:
    made = _create(
        scheduler,
        description="why",
        group="night",
        action={"kind": "prompt", "text": "hi {{date}}"},
        policy={"caps": {"runs_per_day": 2}},
    )
    job = job_named(scheduler, "made")
    assert (job.schedule, job.action, job.description, job.group) == (
        *(Every("15m"), Prompt(text="hi {{date}}"), "why", "night"),
    )
    assert job.policy == Policy(caps=Caps(runs_per_day=2))
    assert job.status_reason is StatusReason.ASSISTANT
    assert (made["job"]["id"], made["job"]["status_reason"]) == (job.id, "assistant")
    assert "until a person reviews" in made["said"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": ""}, "name: is empty"),
        ({"schedule": {"kind": "every", "every": "5x"}}, "schedule.every: cannot read the interval '5x'"),
        ({"schedule": {"kind": "cron", "cron": "* *"}}, "schedule.cron: "),
        ({"action": {"kind": "command", "argv": [""]}}, r"action.argv\[0\]: the program is empty"),
        ({"action": {"kind": "callback"}}, "action.kind: must be one of command, http, prompt"),
        ({"action": {"kind": "prompt", "text": "{{nope}}"}}, "action.text: there is no variable"),
        ({"action": {"kind": "prompt", "agent": "nope"}}, "action.agent: there is no agent named 'nope'"),
        ({"policy": {"caps": {"cost_per_day": -1}}}, "policy.caps.cost_per_day: must be above 0"),
        ({"enabled": True}, "enabled: is not a known field"),
        ({"paused_by": None}, "paused_by: is not a known field"),
    ],
)
def test_an_error_is_named_with_its_path(scheduler: Scheduler, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ScheduleError, match=sentence):
        _create(scheduler, **wrong)
    assert scheduler.list_jobs() == []


def test_only_the_given_fields_are_changed(scheduler: Scheduler) -> None:
    scheduler.add_job("job", Every("15m"), ACTIONS[0], group="night", policy=Policy(max_errors=9))
    before = job_named(scheduler, "job")
    changes = {"group": None, "action": {"directory": "/"}, "policy": {"jitter_percent": 3}}
    call(scheduler, "edit_job", job="job", **changes)
    after = job_named(scheduler, "job")
    assert isinstance(after.action, Command)
    assert isinstance(before.action, Command)
    assert (after.action.directory, after.action.environment) == ("/", before.action.environment)
    assert after.policy == Policy(max_errors=9, jitter_percent=3)
    assert (after.name, after.schedule, after.group) == ("job", Every("15m"), None)
    assert after.status_reason is StatusReason.ASSISTANT


def test_null_keeps_a_value_and_omitted_names_are_removed(scheduler: Scheduler) -> None:
    scheduler.add_job("job", Manual(), ACTIONS[0])
    call(scheduler, "edit_job", job="job", action={"environment": {"T": None, "NEW": "1"}})
    action = job_named(scheduler, "job").action
    assert isinstance(action, Command)
    assert action.environment == {"T": "${secret:BACKUP_KEY}", "NEW": "1"}


def test_another_kind_replaces_the_action(scheduler: Scheduler) -> None:
    scheduler.add_job("job", Manual(), ACTIONS[0])
    call(scheduler, "edit_job", job="job", action={"kind": "http", "url": "http://example.org"})
    assert job_named(scheduler, "job").action == HttpRequest(url="http://example.org")


def test_a_program_and_a_shell_line_take_each_others_place(scheduler: Scheduler) -> None:
    scheduler.add_job("job", Manual(), ACTIONS[1])
    call(scheduler, "edit_job", job="job", action={"argv": ["x", "y"], "stdin": ""})
    assert job_named(scheduler, "job").action == Command(argv=("x", "y"), directory="/")
    call(scheduler, "edit_job", job="job", action={"line": "a; b", "shell": "/bin/sh"})
    assert job_named(scheduler, "job").action == shell("a; b", directory="/")


def test_a_token_is_kept_with_its_source(scheduler: Scheduler) -> None:
    scheduler.add_job("job", Manual(), ACTIONS[2])
    source = {"kind": "github", "repository": "c/d", "token": None}
    call(scheduler, "edit_job", job="job", action={"work_source": source})
    action = job_named(scheduler, "job").action
    assert isinstance(action, Command)
    assert action.work_source == GithubSource(repository="c/d", token=SECRET_NAME)
    call(scheduler, "edit_job", job="job", action={"work_source": None})
    assert job_named(scheduler, "job").action == Command(argv=("x",))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "give a field to change"),
        ({"enabled": True}, "can't be changed; these can: name, schedule"),
        ({"metadata": {}}, "can't be changed"),
        ({"action": []}, "action: must be an object"),
        ({"action": {"environment": []}}, "action.environment: must be an object"),
        ({"action": {"environment": {"NOT": None}}}, "no stored value to keep"),
        ({"action": {"stdin": "x ${secret:***}"}}, r"^action\.stdin: .*omit this field to keep it"),
        ({"action": {"environment": {"X": "${secret:OTHER}"}}}, "cannot add secrets"),
        (
            {"action": {"work_source": {"kind": "github", "repository": "a/b", "token": "X"}}},
            "cannot add secrets",
        ),
        ({"action": {"kind": "callback"}}, "action.kind: must be one of"),
        ({"name": "taken"}, "there is already a job named 'taken'"),
        ({"schedule": {"kind": "once", "at": 5}}, "schedule.at: this time is in the past"),
        ({"group": 7}, "group: must be text, not 7"),
        ({"policy": {"time_limit": "soon"}}, "policy.time_limit: "),
    ],
)
def test_a_change_that_cannot_be_is_refused_entirely(
    scheduler: Scheduler, changes: dict[str, Any], sentence: str
) -> None:
    scheduler.add_job("job", Manual(), ACTIONS[0])
    scheduler.add_job("taken", Manual())
    before = scheduler.list_jobs()
    with pytest.raises(ScheduleError, match=sentence):
        call(scheduler, "edit_job", job="job", description="changed", **changes) if changes else call(
            scheduler, "edit_job", job="job"
        )
    assert scheduler.list_jobs() == before


def test_a_callback_can_be_renamed_but_not_written(scheduler: Scheduler) -> None:
    scheduler.add_job("job", Manual(), Callback("f"))
    with pytest.raises(ScheduleError, match=r"action\.kind"):
        call(scheduler, "edit_job", job="job", action={"name": "g"})
    call(scheduler, "edit_job", job="job", name="other")
    assert job_named(scheduler, "other").action == Callback("f")


def test_a_change_of_one_daily_limit_keeps_the_other(scheduler: Scheduler) -> None:
    policy = Policy(caps=Caps(runs_per_day=3), limits=Limits(min_ms=5))
    scheduler.add_job("job", Manual(), Command(argv=("x",)), policy=policy)
    call(scheduler, "edit_job", job="job", policy={"caps": {"cost_per_day": 2}})
    kept = job_named(scheduler, "job").policy
    assert (kept.caps, kept.limits) == (Caps(runs_per_day=3, cost_per_day=2), Limits(min_ms=5))
    call(scheduler, "edit_job", job="job", policy={"caps": {"runs_per_day": None}})
    assert job_named(scheduler, "job").policy.caps == Caps(cost_per_day=2)


def test_another_backoff_is_given_completely(scheduler: Scheduler) -> None:
    scheduler.add_job("job", Manual(), Command(argv=("x",)))
    call(scheduler, "edit_job", job="job", policy={"backoff": {"kind": "none"}})
    assert job_named(scheduler, "job").policy.backoff == Backoff.none()


def test_a_field_of_another_kind_is_refused_by_its_own_name(scheduler: Scheduler) -> None:
    scheduler.add_job("ask", Manual(), Prompt(text="x"))
    for name in ("argv", "line"):
        with pytest.raises(ScheduleError, match=rf"action\.{name}: is not a known field"):
            call(scheduler, "edit_job", job="ask", action={name: ["x"]})


# --- Surroundings ---------------------------------------------------------------------------------


def test_a_job_is_created_with_conditions_and_next_jobs(scheduler: Scheduler) -> None:
    report = scheduler.add_job("report", Manual())
    mend = scheduler.add_job("mend", Manual())
    conditions = [{"kind": "path", "path": "/mnt/backup"}, {"kind": "network", "host": "nas", "port": 22}]
    made = _create(
        scheduler,
        policy={
            "conditions": conditions,
            "condition_deadline": "2h",
            "in_quiet_time": "skip",
            "keep_awake": True,
        },
        followers=[{"job_id": "report"}, {"job_id": mend, "on": "failure"}],
    )
    job = job_named(scheduler, "made")
    assert job.policy == Policy(
        conditions=(PathExists(path="/mnt/backup"), Network(host="nas", port=22)),
        condition_deadline="2h",
        in_quiet_time=InQuietTime.SKIP,
        keep_awake=True,
    )
    assert job.followers == (Follower(job_id=report), Follower(job_id=mend, on=FollowOn.FAILURE))
    assert made["job"]["followers"][0] == {"job_id": report, "on": "success"}
    assert job.status_reason is StatusReason.ASSISTANT


def test_next_jobs_are_replaced_together_and_the_job_needs_a_review(scheduler: Scheduler) -> None:
    report, mend = (scheduler.add_job(name, Manual()) for name in ("report", "mend"))
    scheduler.add_job("job", Manual(), ACTIONS[0], followers=[Follower(job_id=report)])
    scheduler.remove_job(report)
    followers = [{"job_id": report}, {"job_id": "mend", "on": "always"}]
    call(scheduler, "edit_job", job="job", followers=followers)
    job = job_named(scheduler, "job")
    assert job.followers == (Follower(job_id=report), Follower(job_id=mend, on=FollowOn.ALWAYS))
    assert job.status_reason is StatusReason.ASSISTANT
    call(scheduler, "edit_job", job="job", followers=[])
    assert job_named(scheduler, "job").followers == ()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"followers": [{"job_id": "nope"}]}, "there is no job 'nope'"),
        ({"followers": [{"job_id": "job"}]}, "followers"),
        ({"followers": [{"job_id": "before"}]}, "job → before → job"),
        ({"followers": {"job_id": "before"}}, "followers: must be a list"),
        ({"followers": [{"job_id": "other", "on": "never"}]}, r"followers\[0\].on: must be one of"),
        ({"followers": [{"job_id": "other"}] * 2}, "the same job is listed twice"),
        ({"policy": {"conditions": [{"kind": "moon"}]}}, r"policy.conditions\[0\].kind: must be one of"),
        ({"policy": {"conditions": [{"kind": "path", "path": "x"}]}}, r"policy.conditions\[0\].path: "),
        ({"policy": {"condition_deadline": "soon"}}, "policy.condition_deadline: "),
        ({"policy": {"keep_awake": "yes"}}, "policy.keep_awake: "),
        ({"policy": {"in_quiet_time": "run"}}, "policy.in_quiet_time: must be one of wait, skip"),
        (
            {"policy": {"conditions": [{"kind": "path", "path": "/a\u202eb"}]}},
            "has invisible characters",
        ),
    ],
)
def test_surroundings_that_cannot_be_are_refused(
    scheduler: Scheduler, changes: dict[str, Any], sentence: str
) -> None:
    job_id = scheduler.add_job("job", Manual(), ACTIONS[0])
    scheduler.add_job("before", Manual(), followers=[Follower(job_id=job_id)])
    scheduler.add_job("other", Manual())
    before = scheduler.list_jobs()
    with pytest.raises(SchedulerError, match=sentence):
        call(scheduler, "edit_job", job="job", **changes)
    assert scheduler.list_jobs() == before


def test_parameters_are_declared_and_changed_together(scheduler: Scheduler) -> None:
    new = {"name": "job", "schedule": {"kind": "manual"}, "action": {"kind": "command", "argv": ["true"]}}
    seen = call(scheduler, "create_job", **new, parameters={"mode": "full"})
    assert seen["job"]["parameters"] == {"mode": "full"}
    seen = call(scheduler, "edit_job", job="job", parameters={"speed": "1"})
    assert seen["job"]["parameters"] == {"speed": "1"}
    with pytest.raises(ScheduleError, match=r"parameters\.speed: must be text"):
        call(scheduler, "edit_job", job="job", parameters={"speed": 1})


_TWO: list[dict[str, Any]] = [
    {"key": "morning", "kind": "cron", "cron": "0 9 * * *", "timezone": "Asia/Tokyo"},
    {"key": "2", "kind": "every", "every": "2h", "anchor_at": 5_000},
]


def test_several_schedules_keep_their_keys_and_anchors(scheduler: Scheduler) -> None:
    made = _create(scheduler, schedule=None, schedules=_TWO)
    assert made["job"]["schedules"] == _TWO
    assert job_named(scheduler, "made").schedules == (
        Entry(Cron("0 9 * * *", "Asia/Tokyo"), "morning"),
        Entry(Every("2h"), "2", 5_000),
    )
    changed = [{**_TWO[1], "every": "3h"}, _TWO[0]]
    assert call(scheduler, "edit_job", job="made", schedules=changed)["job"]["schedules"] == changed


def test_equal_schedules_without_a_key_keep_theirs_and_others_get_a_number(scheduler: Scheduler) -> None:
    _create(scheduler, schedule=None, schedules=_TWO)
    plain = [{"kind": "after", "after": "5m"}, {name: _TWO[0][name] for name in ("kind", "cron", "timezone")}]
    call(scheduler, "edit_job", job="made", schedules=plain)
    assert [entry.key for entry in job_named(scheduler, "made").schedules] == ["1", "morning"]


@pytest.mark.parametrize(
    ("schedules", "sentence"),
    [
        ([], "schedule: give either schedule, schedules or when"),
        ([{"kind": "every", "every": "5x"}], r"schedules\[0\].every: cannot read the interval"),
        ([_TWO[0], {**_TWO[1], "key": "morning"}], r"schedules\[1\].key: is the key of another schedule too"),
        (
            [_TWO[0], {"kind": "after", "after": "5m", "anchor_at": 5}],
            r"schedules\[1\].anchor_at: only `every`",
        ),
        ([{**_TWO[0], "from": "May"}], r"schedules\[0\].from: cannot read the date 'May'"),
        ([_TWO[0], {"kind": "manual"}], r"schedules\[1\].kind: a manual job has no other schedules"),
    ],
)
def test_an_error_in_several_schedules_is_named(
    scheduler: Scheduler, schedules: list[dict[str, Any]], sentence: str
) -> None:
    with pytest.raises(ScheduleError, match=sentence):
        _create(scheduler, schedule=None, schedules=schedules)
    assert scheduler.list_jobs() == []


def test_schedules_are_given_in_plain_words(scheduler: Scheduler) -> None:
    _create(scheduler, schedule=None, when="every weekday at 9 (Asia/Tokyo)")
    assert job_named(scheduler, "made").schedule == Cron("0 9 * * 1-5", "Asia/Tokyo")
    call(scheduler, "edit_job", job="made", when="every day at 9:00 and 14:30")
    assert schedules_of(job_named(scheduler, "made").schedule) == (
        Cron("0 9 * * *", "Asia/Tokyo"),
        Cron("30 14 * * *", "Asia/Tokyo"),
    )


def test_unclear_words_and_two_ways_at_once_are_refused(scheduler: Scheduler) -> None:
    with pytest.raises(ScheduleError, match="when: it is not clear"):
        _create(scheduler, schedule=None, when="every 2nd friday")
    with pytest.raises(ScheduleError, match="give either schedule, schedules or when"):
        _create(scheduler, when="every day at 9")
    _create(scheduler)
    with pytest.raises(ScheduleError, match="when: must be text"):
        call(scheduler, "edit_job", job="made", when=5)
    with pytest.raises(ScheduleError, match="give either schedule, schedules or when"):
        call(scheduler, "edit_job", job="made", when="every day at 9", schedules=_TWO)
    assert job_named(scheduler, "made").schedule == Every("15m")


def test_several_schedules_match_the_schema() -> None:
    create, edit = (Draft202012Validator(_TOOLS[name].schema) for name in ("create_job", "edit_job"))
    made = {"name": "x", "action": {"kind": "command", "argv": ["x"]}}
    assert create.is_valid(made | {"schedules": _TWO})
    assert create.is_valid(made | {"when": "every day at 9"})
    assert edit.is_valid({"job": "x", "schedules": _TWO})
    assert not create.is_valid(made | {"schedules": [{**_TWO[0], "anchor_at": 5}]})
    assert not create.is_valid(made | {"schedules": [{"kind": "manual"}]})
    assert create.is_valid(made | {"schedules": [{**_TWO[0], "on_overlap": "queue"}]})
    assert create.is_valid(made | {"schedules": [{**_TWO[0], "from": "2026-05-01", "until": "2026-12-31"}]})
    assert not create.is_valid(made | {"schedules": [{"kind": "once", "at": 5, "until": "2026-12-31"}]})
    days = {"only": ["weekdays"], "not": ["2026-12-24"], "shift": "next"}
    assert create.is_valid(made | {"schedules": [_TWO[0] | days]})
    assert not create.is_valid(made | {"schedules": [{"kind": "webhook"} | days]})
    assert not create.is_valid(
        made | {"schedules": [{"kind": "after", "after": "5m", "on_overlap": "queue"}]}
    )


def test_plain_words_count_from_the_time_of_the_scheduler(scheduler: Scheduler) -> None:
    _create(scheduler, schedule=None, when="in 20 minutes")
    schedule = job_named(scheduler, "made").schedule
    assert isinstance(schedule, Once)
    assert schedule.due_at == _NOW + 20 * 60_000


def test_an_assistant_gives_parameters_for_each_schedule(scheduler: Scheduler) -> None:
    given = [{"kind": "every", "every": "1h", "parameters": {"mode": "quick"}}, _TWO[0]]
    _create(scheduler, schedule=None, schedules=given, parameters={"mode": "full"})
    assert [entry.parameters for entry in job_named(scheduler, "made").schedules] == [{"mode": "quick"}, {}]
