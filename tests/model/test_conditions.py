"""Conditions, followers, proposals and the source of hints as values: what is refused, and their JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import Every, Hints, Policy, ScheduleError
from halo_scheduler.model import FollowOn, HintSource, InQuietTime, JobSpec
from halo_scheduler.model.conditions import (
    MOST_CONDITIONS,
    Condition,
    Idle,
    Load,
    MainsPower,
    Network,
    PathExists,
    condition_from_dict,
)
from halo_scheduler.model.jobs import MOST_FOLLOWERS, Follower
from halo_scheduler.model.plans import Proposal

_CONDITIONS: st.SearchStrategy[Condition] = st.one_of(
    st.just(MainsPower()),
    st.just(Network()),
    st.builds(
        Network, host=st.sampled_from(["nas.local", "192.0.2.1", "fe80::1%eth0"]), port=st.integers(1, 65_535)
    ),
    st.builds(Idle, idle=st.sampled_from(["1s", "10m", "2 H"])),
    st.builds(Load, below=st.floats(0.001, 10_000) | st.integers(1, 10_000)),
    st.builds(PathExists, path=st.sampled_from(["/", "~", "~/x", "/mnt/ä b", "C:\\x", "\\\\nas\\share"])),
)


@given(_CONDITIONS)
def test_a_condition_survives_json(condition: Condition) -> None:
    written = json.loads(json.dumps(condition.to_dict(), allow_nan=False))
    assert condition_from_dict(written) == condition
    assert hash(condition_from_dict(written)) == hash(condition)


def test_a_condition_is_written_with_its_kind() -> None:
    assert Network(host="nas", port=22).to_dict() == {"kind": "network", "host": "nas", "port": 22}
    assert MainsPower().to_dict() == {"kind": "mains_power"}


def test_omitted_fields_have_their_defaults() -> None:
    assert condition_from_dict({"kind": "network"}) == Network()
    assert condition_from_dict({"kind": "idle"}) == Idle(idle="10m")
    assert Idle(idle="10m").idle_ms == 600_000


def test_a_whole_load_is_the_same_as_one_with_decimals() -> None:
    assert Load(below=2) == Load(below=2.0)
    assert type(Load(below=2).below) is float


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "kind: is missing"),
        ({"kind": "weather"}, "kind: must be one of"),
        (5, "must be an object"),
        ({"kind": "mains_power", "at": 5}, "at: is not a known field"),
        ({"kind": "network", "host": "nas"}, "port: give a host together with a port"),
        ({"kind": "network", "port": 22}, "host: give a host together with a port"),
        ({"kind": "network", "host": "nas", "port": 0}, "port: must be between 1 and 65535"),
        ({"kind": "network", "host": "nas", "port": 65_536}, "port: must be between 1 and 65535"),
        ({"kind": "network", "host": "nas", "port": True}, "port: must be a whole number"),
        ({"kind": "network", "host": "nas", "port": "22"}, "port: must be a whole number"),
        ({"kind": "network", "host": 5, "port": 22}, "host: must be text"),
        ({"kind": "network", "host": "a\nb", "port": 22}, "host: must be a single line"),
        ({"kind": "network", "host": "x" * 254, "port": 22}, "host: is longer than 253"),
        ({"kind": "idle", "idle": "0s"}, "idle: the interval '0s' is zero"),
        ({"kind": "idle", "idle": 600}, "idle: must be text"),
        ({"kind": "load"}, "below: is missing"),
        ({"kind": "load", "below": 0}, "below: must be above 0"),
        ({"kind": "load", "below": 10_001}, "below: must be above 0 and at most 10000"),
        ({"kind": "load", "below": float("nan")}, "below: must be above 0"),
        ({"kind": "load", "below": float("inf")}, "below: must be above 0"),
        ({"kind": "load", "below": 10**400}, "below: must be above 0"),
        ({"kind": "load", "below": "2"}, "below: must be a number"),
        ({"kind": "load", "below": True}, "below: must be a number"),
        ({"kind": "path"}, "path: is missing"),
        ({"kind": "path", "path": ""}, "path: must be an absolute path"),
        ({"kind": "path", "path": "backup"}, "path: must be an absolute path"),
        ({"kind": "path", "path": "~other/backup"}, "path: must be an absolute path"),
        ({"kind": "path", "path": "/a\0b"}, "path: must not contain a NUL"),
        ({"kind": "path", "path": "/a\nb"}, "path: must be a single line"),
        ({"kind": "path", "path": "/\ud800"}, "path: contains half of a character"),
        ({"kind": "path", "path": "/" + "x" * 4_096}, "path: is longer than 4096"),
    ],
)
def test_a_bad_condition_is_refused_by_field(data: object, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        condition_from_dict(data)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "host", [" nas", "nas ", "n as", "http://nas", "nas/x", "[::1]", "me@nas", "nas:22", "n\u00a0s"]
)
def test_a_host_with_extra_parts_is_refused(host: str) -> None:
    with pytest.raises(ScheduleError, match="host: must be a plain host name or address"):
        Network(host=host, port=22)


def test_a_policy_has_conditions_and_survives_json() -> None:
    policy = Policy(
        conditions=[MainsPower(), Load(below=1)],  # type: ignore[arg-type] # a list will do
        condition_deadline="2h",
        in_quiet_time="skip",  # type: ignore[arg-type] # the word will do
        keep_awake=True,
    )
    assert policy.conditions == (MainsPower(), Load(below=1))
    assert policy.in_quiet_time is InQuietTime.SKIP
    assert policy.condition_deadline_ms == 7_200_000
    assert Policy().condition_deadline_ms is None
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"conditions": "mains"}, "conditions: must be a list"),
        ({"conditions": (5,)}, "conditions[0]: must be a condition, like MainsPower()"),
        ({"conditions": (MainsPower(), MainsPower())}, "conditions[1]: the same condition appears twice"),
        (
            {"conditions": (Load(below=2), Load(below=2.0))},
            "conditions[1]: the same condition appears twice",
        ),
        (
            {"conditions": tuple(Load(below=n + 1) for n in range(MOST_CONDITIONS + 1))},
            "conditions: a job has at most 20 conditions",
        ),
        ({"condition_deadline": "soon"}, "condition_deadline: cannot read the interval"),
        ({"in_quiet_time": "sing"}, "in_quiet_time: must be one of wait, skip"),
        ({"keep_awake": 1}, "keep_awake: must be true or false"),
        ({"assistants_may_run": "no"}, "assistants_may_run: must be true or false"),
        ({"output_limit_bytes": -1}, "output_limit_bytes: must be between 0 and"),
    ],
)
def test_invalid_conditions_and_deadlines_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        Policy(**given)
    assert message in str(caught.value)


def test_a_condition_in_a_policys_json_is_refused_by_its_path() -> None:
    with pytest.raises(ScheduleError) as caught:
        Policy.from_dict({"conditions": [{"kind": "mains_power"}, {"kind": "load", "below": -1}]})
    assert "conditions[1].below: must be above 0" in str(caught.value)


def test_next_jobs_survive_json() -> None:
    followers = (Follower(job_id="1"), Follower(job_id="2", on=FollowOn.ALWAYS))
    spec = JobSpec(name="a", schedule=Every("5m"), followers=followers)
    assert JobSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    assert Follower(job_id="1", on="failure").on is FollowOn.FAILURE  # type: ignore[arg-type] # the word will do


@pytest.mark.parametrize(
    ("followers", "message"),
    [
        ("12", "followers: must be a list"),
        (("1",), "followers[0]: must be a Follower"),
        (
            (Follower(job_id="1"), Follower(job_id="1", on=FollowOn.FAILURE)),
            "followers[1]: the same job is listed twice; choose `always` instead",
        ),
        (
            tuple(Follower(job_id=str(n)) for n in range(MOST_FOLLOWERS + 1)),
            "followers: at most 20 jobs can follow one",
        ),
    ],
)
def test_invalid_next_jobs_are_refused(followers: Any, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        JobSpec(name="a", schedule=Every("5m"), followers=followers)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Follower(job_id=" "), "job_id: is empty"),
        (lambda: Follower(job_id="1", on="sometimes"), "on: must be one of success, failure, always"),  # type: ignore[arg-type] # a wrong word
        (lambda: Hints(source="stars"), "source: must be one of"),  # type: ignore[arg-type] # a wrong word
        (lambda: Proposal(every_ms=0), "every_ms: must be between 1 and"),
        (lambda: Proposal(next_ms=-1), "next_ms: must be between 1 and"),
        (lambda: Proposal(ttl_ms=0), "ttl_ms: must be between 1 and"),
        (lambda: Proposal(reason="\0"), "reason: must not contain a NUL"),
    ],
)
def test_bad_advice_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        make()
    assert message in str(caught.value)


def test_hints_name_their_source_and_values() -> None:
    assert Hints(source="assistant").source is HintSource.ASSISTANT  # type: ignore[arg-type] # the word will do
    assert Hints().source is None
    proposal = Proposal(every_ms=300_000, next_ms=600_000, reason="queue is long")
    assert (proposal.ttl_ms, Proposal(next_ms=1).every_ms) == (3_600_000, None)
