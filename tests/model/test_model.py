"""The values, their validation and their JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import (
    After,
    Backoff,
    Callback,
    Command,
    Cron,
    CronParseError,
    Every,
    Hints,
    HttpRequest,
    IntervalParseError,
    Job,
    Limits,
    Manual,
    Once,
    OnFile,
    Outcome,
    Plan,
    Policy,
    Prompt,
    Retry,
    Run,
    ScheduleError,
    Source,
    Trigger,
    action_from_dict,
    schedule_from_dict,
)
from halo_scheduler.errors import UnknownFieldError
from halo_scheduler.model import (
    Action,
    BodyKind,
    Calendar,
    Caps,
    CatchUp,
    HintSource,
    JobSpec,
    JobState,
    JobStatus,
    Notify,
    Redirects,
    Rule,
    Schedule,
    Shift,
    SkipReason,
    StatusReason,
    Step,
    WaitingFor,
)
from halo_scheduler.model.actions import FolderSource, GithubSource, WorkSource
from halo_scheduler.model.calendars import MOST_DAYS
from halo_scheduler.model.codec import OwnForm
from halo_scheduler.model.schedules import Entry, Several, combine, schedules_from_list
from halo_scheduler.model.time_rules import calendar_for
from halo_scheduler.model.words import Shortage

_TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)
_LABEL = st.text(st.characters(exclude_categories=["C", "Z"], codec="utf-8"), min_size=1, max_size=20)
_MAPPING = st.dictionaries(_LABEL.filter(lambda name: "=" not in name), _TEXT, max_size=3)
_INTERVAL = st.builds(lambda number, unit: f"{number}{unit}", st.integers(1, 999), st.sampled_from("smhd"))
_MS = st.integers(1, 10**10)

_SCHEDULES: st.SearchStrategy[Schedule] = st.one_of(
    st.builds(Every, _INTERVAL),
    st.builds(After, _INTERVAL),
    st.builds(Cron, st.sampled_from(["0 9 * * 1-5", "@daily"]), st.sampled_from([None, "Europe/Berlin"])),
    st.builds(Once, st.integers(0, 10**13) | st.just("2026-12-24T18:00:00+01:00")),
    st.just(Manual()),
)
_SOURCES: st.SearchStrategy[WorkSource] = st.one_of(
    st.builds(FolderSource, path=_LABEL.map("/{}".format)),
    st.builds(
        GithubSource,
        repository=st.just("owner/name"),
        token=st.sampled_from(["", "TOKEN"]),
        closes=st.booleans(),
        comments=st.booleans(),
    ),
)
_ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(
        Command,
        argv=st.lists(_LABEL, min_size=1, max_size=3),
        directory=st.none() | _LABEL,
        environment=_MAPPING,
        stdin=_TEXT,
        success_codes=st.lists(st.integers(0, 9), min_size=1),
        no_work_code=st.none() | st.integers(10, 99),
        needs_input_code=st.none() | st.integers(100, 255),
        grace=_INTERVAL,
        work_source=st.none() | _SOURCES,
    ),
    st.builds(Command, line=_LABEL, shell=st.just("/bin/sh")),
    st.builds(
        HttpRequest,
        url=st.just("https://example.org/"),
        method=st.sampled_from(["GET", "POST"]),
        headers=st.just({"X-Key": "value"}),
        body=_TEXT,
        expected_statuses=st.lists(st.integers(100, 599)),
        redirects=st.sampled_from(Redirects),
    ),
    st.builds(
        HttpRequest,
        url=st.just("http://a"),
        body=st.just('{"key": "${secret:A}"}'),
        body_kind=st.sampled_from(BodyKind),
    ),
    st.builds(
        Prompt,
        text=_TEXT.filter(lambda text: "{{" not in text),
        agent=st.just("") | _LABEL,
        directory=st.none() | _LABEL,
        environment=_MAPPING,
        success_codes=st.lists(st.integers(0, 9), min_size=1),
        no_work_code=st.none() | st.integers(10, 99),
        needs_input_code=st.none() | st.integers(100, 255),
        grace=_INTERVAL,
        work_source=st.none() | _SOURCES,
    ),
    st.builds(Prompt, text=st.just("{{date}} {{work.title}}"), work_source=_SOURCES),
    st.builds(Callback, _LABEL),
)
_POLICIES = st.builds(
    Policy,
    time_limit=st.none() | _INTERVAL,
    catch_up=st.sampled_from(CatchUp),
    catch_up_max_age=st.none() | _INTERVAL,
    max_errors=st.integers(0, 100),
    backoff=st.sampled_from([Backoff.ladder(), Backoff.ladder(5, 6), Backoff.double(), Backoff.none()]),
    retry=st.builds(Retry, attempts=st.integers(0, 9), delay_ms=_MS),
    limits=st.sampled_from([Limits(), Limits(min_ms=1, max_ms=2)]),
    jitter_percent=st.integers(0, 10),
    notify=st.sampled_from(Notify),
    caps=st.builds(
        Caps,
        runs_per_day=st.none() | st.integers(1, 1_000_000),
        cost_per_day=st.none() | st.floats(0.000001, 1_000_000) | st.integers(1, 1_000_000),
    ),
    reads_lines=st.none() | st.booleans(),
)
_SPECS = st.builds(
    JobSpec,
    name=_LABEL,
    schedule=_SCHEDULES,
    action=_ACTIONS,
    description=_TEXT,
    group=st.none() | _LABEL,
    policy=_POLICIES,
    anchor_at=st.integers(0, 10**13),
    enabled=st.booleans(),
    metadata=_MAPPING,
)


def _through_json(data: object) -> Any:
    return json.loads(json.dumps(data, allow_nan=False))


@given(_SPECS)
def test_a_spec_survives_json(spec: JobSpec) -> None:
    assert JobSpec.from_dict(_through_json(spec.to_dict())) == spec
    assert hash(spec) == hash(JobSpec.from_dict(spec.to_dict()))


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "every", "every": "15m"},
        {"kind": "after", "after": "5m"},
        {"kind": "cron", "cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
        {"kind": "once", "at": "2026-12-24T18:00:00+01:00"},
        {"kind": "once", "at": 1_798_131_600_000},
        {"kind": "manual"},
    ],
)
def test_a_schedule_is_written_as_it_was_read(data: dict[str, object]) -> None:
    assert schedule_from_dict(data).to_dict() == data


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (None, ScheduleError, "must be an object, not None"),
        ([], ScheduleError, "must be an object"),
        ({5: 5}, ScheduleError, "must have text as keys"),
        ({}, ScheduleError, "kind: is missing; write one of every, after, cron, once, manual"),
        ({"kind": "hourly"}, ScheduleError, "kind: must be one of every, after"),
        ({"kind": ["every"]}, ScheduleError, "kind: must be one of every, after"),
        ({"kind": "every"}, ScheduleError, "every: is missing"),
        ({"kind": "every", "every": 15}, ScheduleError, "every: must be text, not 15"),
        ({"kind": "every", "every": "15"}, IntervalParseError, "every: cannot read the interval '15'"),
        ({"kind": "webhook", "token": "x"}, UnknownFieldError, "token: is not a known field; there are none"),
        (
            {"kind": "every", "every": "15m", "at": 5},
            UnknownFieldError,
            "at: is not a known field; known are every",
        ),
        ({"kind": "after", "after": "x"}, IntervalParseError, "after: cannot read the interval"),
        ({"kind": "cron", "cron": "* *"}, CronParseError, "cron: cannot read the cron expression"),
        (
            {"kind": "cron", "cron": "@daily", "timezone": "Mars"},
            ScheduleError,
            "timezone: unknown time zone 'Mars'",
        ),
        ({"kind": "cron", "cron": "@daily", "timezone": 5}, ScheduleError, "timezone: must be text, not 5"),
        ({"kind": "once", "at": 1.5}, ScheduleError, "at: must be a whole number or text, not 1.5"),
        ({"kind": "once", "at": True}, ScheduleError, "at: must be a whole number or text, not True"),
        ({"kind": "once", "at": None}, ScheduleError, "at: must be a whole number or text, not None"),
        ({"kind": "once", "at": -1}, ScheduleError, "at: must be between 0 and"),
        ({"kind": "once", "at": "tomorrow"}, ScheduleError, "at: cannot read the instant 'tomorrow'"),
        ({"kind": "manual", "every": "5m"}, UnknownFieldError, "every: is not a known field"),
    ],
)
def test_a_bad_schedule_is_refused_by_field(data: object, error: type[ScheduleError], message: str) -> None:
    with pytest.raises(error) as caught:
        schedule_from_dict(data)
    assert message in str(caught.value)
    assert type(caught.value) is error


@pytest.mark.parametrize(
    "make",
    [
        lambda: Every("5x"),
        lambda: Every(5),  # type: ignore[arg-type] # what a caller without types may do
        lambda: After(""),
        lambda: Cron("x"),
        lambda: Cron(5),  # type: ignore[arg-type] # likewise
        lambda: Cron("@daily", timezone="Mars"),
        lambda: Once("tomorrow"),
        lambda: Once(1.5),  # type: ignore[arg-type] # likewise
    ],
)
def test_a_schedule_is_validated_when_made(make: Callable[[], object]) -> None:
    with pytest.raises(ScheduleError) as caught:
        make()
    assert caught.value.path


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "command"}, "argv: give either a program with arguments or a shell line"),
        ({"kind": "command", "argv": ["a"], "line": "b", "shell": "/bin/sh"}, "argv: give either"),
        ({"kind": "command", "argv": [" "]}, "argv[0]: the program is empty"),
        ({"kind": "command", "argv": "ls -l"}, "argv: must be a list, not 'ls -l'"),
        ({"kind": "command", "argv": ["a", 5]}, "argv[1]: must be text, not 5"),
        ({"kind": "command", "argv": ["a", "\0"]}, "argv[1]: must not contain a NUL character"),
        ({"kind": "command", "line": "ls"}, "shell: a shell line and its shell go together"),
        (
            {"kind": "command", "argv": ["a"], "shell": "/bin/sh"},
            "shell: a shell line and its shell go together",
        ),
        ({"kind": "command", "argv": ["a"], "directory": " "}, "directory: is empty"),
        ({"kind": "command", "argv": ["a"], "environment": []}, "environment: must be an object"),
        ({"kind": "command", "argv": ["a"], "environment": {"A": 1}}, "environment.A: must be text, not 1"),
        ({"kind": "command", "argv": ["a"], "environment": {"A=B": "1"}}, "environment: 'A=B' is not a name"),
        (
            {"kind": "command", "argv": ["a"], "success_codes": [256]},
            "success_codes[0]: must be between 0 and 255",
        ),
        (
            {"kind": "command", "argv": ["a"], "no_work_code": 0},
            "no_work_code: must not also be a success code",
        ),
        ({"kind": "command", "argv": ["a"], "grace": "soon"}, "grace: cannot read the interval"),
        (
            {"kind": "command", "argv": ["a", "x${secret:A}"]},
            "argv[1]: secrets cannot be used here; everybody can read a program's arguments",
        ),
        ({"kind": "command", "argv": ["a", "${secret:A"]}, "argv[1]: secrets cannot be used here"),
        (
            {"kind": "command", "line": "echo ${secret:A}", "shell": "/bin/sh"},
            "line: secrets cannot be used here",
        ),
        ({"kind": "command", "argv": ["a"], "stdin": "${secret:a b}"}, "stdin: 'a b' cannot name a secret"),
        (
            {"kind": "command", "argv": ["a"], "environment": {"A": "${secret:B"}},
            "environment.A: the reference '${secret:B' is not closed with a brace",
        ),
        (
            {"kind": "prompt", "environment": {"A": "${secret:}"}},
            "environment.A: '' cannot name a secret",
        ),
        (
            {"kind": "http", "url": "http://a/${secret:A}"},
            "url: secrets cannot be used here; put it into a header or the body",
        ),
        ({"kind": "http", "url": "http://me:pw@a"}, "url: must not carry a user name or password"),
        (
            {"kind": "http", "url": "http://a", "headers": {"A": "${secret:ä}"}},
            "headers.A: 'ä' cannot name a secret",
        ),
        (
            {"kind": "http", "url": "http://a", "body": "${secret:A"},
            "body: the reference '${secret:A' is not closed",
        ),
        ({"kind": "http", "url": "http://a", "body_kind": "xml"}, "body_kind: must be one of text, json"),
        ({"kind": "http", "url": "http://a", "body": "{", "body_kind": "json"}, "body: is not JSON: "),
        (
            {"kind": "http", "url": "http://a", "body": '{"a": ${secret:A}}', "body_kind": "json"},
            "body: is not JSON: ",
        ),
        ({"kind": "http"}, "url: is missing"),
        ({"kind": "http", "url": "file:///etc/passwd"}, "url: 'file:///etc/passwd' must begin with http"),
        ({"kind": "http", "url": "http://a", "method": "GET /"}, "method: 'GET /' is not one plain word"),
        (
            {"kind": "http", "url": "http://a", "headers": {"A B": "c"}},
            "headers: 'A B' is not one plain word",
        ),
        (
            {"kind": "http", "url": "http://a", "headers": {"A": "b\r\nC: d"}},
            "headers.A: must be a single line",
        ),
        (
            {"kind": "http", "url": "http://a", "expected_statuses": [99]},
            "expected_statuses[0]: must be between 100",
        ),
        (
            {"kind": "http", "url": "http://a", "redirects": "all"},
            "redirects: must be one of none, same-host, any",
        ),
        ({"kind": "prompt", "text": 5}, "text: must be text"),
        (
            {"kind": "prompt", "text": "{{dat}}"},
            "text: there is no variable '{{dat}}'; did you mean {{date}}?",
        ),
        ({"kind": "prompt", "text": "{{date"}, "text: the variable '{{date' is not closed with two braces"),
        ({"kind": "prompt", "text": "{{work.id}}"}, "text: '{{work.id}}' needs a work queue"),
        (
            {"kind": "prompt", "text": "Use ${secret:A}"},
            "text: secrets cannot be used here; an agent repeats what it reads",
        ),
        ({"kind": "prompt", "agent": "x" * 201}, "agent: is longer than 200 characters"),
        ({"kind": "prompt", "directory": ""}, "directory: is empty"),
        ({"kind": "prompt", "success_codes": []}, "success_codes: is empty"),
        ({"kind": "prompt", "needs_input_code": 256}, "needs_input_code: must be between 0 and 255"),
        ({"kind": "prompt", "needs_input_code": "1"}, "needs_input_code: must be a whole number"),
        (
            {"kind": "prompt", "needs_input_code": 5, "no_work_code": 5},
            "needs_input_code: must not also be the code for no work",
        ),
        ({"kind": "prompt", "grace": "soon"}, "grace: cannot read the interval"),
        ({"kind": "prompt", "work_source": "github"}, "work_source: must be an object"),
        (
            {"kind": "prompt", "work_source": {"kind": "jira"}},
            "work_source.kind: must be one of folder, github",
        ),
        (
            {"kind": "command", "argv": ["a"], "work_source": {"kind": "folder"}},
            "work_source.path: is missing",
        ),
        ({"kind": "reminder", "title": " "}, "title: is empty"),
        ({"kind": "reminder", "title": "a", "text": "${secret:A}"}, "text: secrets cannot be used here"),
        ({"kind": "callback", "name": 5}, "name: must be text"),
        ({"kind": "shell"}, "kind: must be one of command, http, prompt, reminder, callback"),
    ],
)
def test_a_bad_action_is_refused_by_field(data: object, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        action_from_dict(data)
    assert message in str(caught.value)


def test_the_grace_of_a_command_is_in_milliseconds() -> None:
    assert Command(argv=("a",)).grace_ms == 10_000
    assert Command(argv=("a",), grace="1m").grace_ms == 60_000
    assert Prompt(grace="1m").grace_ms == 60_000


def test_a_question_may_be_asked_with_success_or_failure() -> None:
    assert Prompt(needs_input_code=0).needs_input_code == 0
    assert Command(argv=("a",), needs_input_code=3).needs_input_code == 3


@pytest.mark.parametrize(
    ("action", "chosen", "is_read"),
    [
        (Prompt(), None, True),
        (Prompt(), False, False),
        (Command(argv=("a",)), None, False),
        (Command(argv=("a",)), True, True),
        (HttpRequest(url="http://a"), None, False),
        (HttpRequest(url="http://a"), True, True),
        (Callback(), None, False),
    ],
)
def test_lines_are_read_from_prompts_unless_chosen_otherwise(
    action: Action,
    chosen: bool | None,
    is_read: bool,
) -> None:
    spec = JobSpec(name="a", schedule=Manual(), action=action, policy=Policy(reads_lines=chosen))
    assert spec.reads_lines is is_read


@pytest.mark.parametrize(
    ("action", "names"),
    [
        (Command(argv=("a",), environment={"A": "$A"}, stdin="{secret:B}"), set()),
        (
            Command(
                argv=("a",),
                environment={"A": "x${secret:ONE}y", "B": "${secret:TWO}"},
                stdin="${secret:ONE}${secret:THREE}",
            ),
            {"ONE", "TWO", "THREE"},
        ),
        (HttpRequest(url="http://a"), set()),
        (
            HttpRequest(url="http://a", headers={"A": "Bearer ${secret:ONE}"}, body="${secret:TWO}"),
            {"ONE", "TWO"},
        ),
        (Prompt(text="do it"), set()),
        (Prompt(text="do it", environment={"KEY": "${secret:ONE}"}), {"ONE"}),
    ],
)
def test_an_action_knows_the_secrets_it_needs(
    action: Command | HttpRequest | Prompt, names: set[str]
) -> None:
    assert action.secret_names == names


def test_a_json_body_may_have_a_secret_in_its_text() -> None:
    request = HttpRequest(
        url="http://a",
        body='{"key": "${secret:A}"}',
        body_kind="json",  # type: ignore[arg-type] # the word will do
    )
    assert request.body_kind is BodyKind.JSON
    assert action_from_dict(_through_json(request.to_dict())) == request


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"time_limit": "long"}, "time_limit: cannot read the interval"),
        ({"time_limit": 5}, "time_limit: must be text, not 5"),
        ({"catch_up": "twice"}, "catch_up: must be one of once, skip, all, not 'twice'"),
        ({"catch_up_max_age": "0s"}, "catch_up_max_age: the interval '0s' is zero"),
        ({"max_errors": -1}, "max_errors: must be between 0 and"),
        ({"max_errors": True}, "max_errors: must be a whole number, not True"),
        ({"jitter": "1h", "jitter_percent": 5}, "jitter: give a duration or a percentage, not both"),
        ({"jitter": "soon"}, "jitter: cannot read the interval"),
        ({"is_jitter_fixed": 1}, "is_jitter_fixed: must be true or false, not 1"),
        ({"jitter_percent": 11}, "jitter_percent: must be between 0 and 10, not 11"),
        ({"notify": 5}, "notify: must be one of none, failures, all, settings, not 5"),
        ({"retry": {"attempts": "many"}}, "retry.attempts: must be a whole number"),
        ({"retry": {"delay": 5}}, "retry.delay: is not a known field; known are attempts, delay_ms"),
        ({"limits": {"min_ms": 5, "max_ms": 4}}, "limits.min_ms: must not be longer than the maximum"),
        ({"limits": {"min_ms": 0}}, "limits.min_ms: must be between 1 and"),
        ({"backoff": {"kind": "triple"}}, "backoff.kind: must be one of ladder, double, none"),
        ({"backoff": {"kind": "none", "delays_ms": [5]}}, "backoff.delays_ms: only a ladder has delays"),
        ({"backoff": {"delays_ms": [5, "x"]}}, "backoff.delays_ms[1]: must be a whole number"),
        ({"backoff": {"delays_ms": [-5]}}, "backoff.delays_ms[0]: must be between 0 and"),
        ({"backoff": {"delays_ms": [1] * 101}}, "backoff.delays_ms: a ladder has at most 100 delays"),
        ({"x" * 500: 1}, "is not a known field"),
        ({"caps": 3}, "caps: must be an object, not 3"),
        ({"caps": {"runs_per_day": 0}}, "caps.runs_per_day: must be between 1 and 1000000, not 0"),
        ({"caps": {"runs_per_day": 1.5}}, "caps.runs_per_day: must be a whole number, not 1.5"),
        ({"caps": {"cost_per_day": 0}}, "caps.cost_per_day: must be above 0 and at most 1000000, not 0"),
        ({"caps": {"cost_per_day": -0.5}}, "caps.cost_per_day: must be above 0"),
        ({"caps": {"cost_per_day": float("nan")}}, "caps.cost_per_day: must be above 0"),
        ({"caps": {"cost_per_day": float("inf")}}, "caps.cost_per_day: must be above 0"),
        ({"caps": {"cost_per_day": 10**400}}, "caps.cost_per_day: must be above 0"),
        ({"caps": {"cost_per_day": "5"}}, "caps.cost_per_day: must be a number, not '5'"),
        ({"caps": {"cost_per_day": True}}, "caps.cost_per_day: must be a number, not True"),
        ({"reads_lines": "yes"}, "reads_lines: must be true or false, not 'yes'"),
    ],
)
def test_a_bad_policy_is_refused_by_field(data: object, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        Policy.from_dict(data)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_policy_is_validated_when_made_and_takes_words_for_choices() -> None:
    assert Policy(catch_up="skip").catch_up is CatchUp.SKIP  # type: ignore[arg-type] # the word will do
    with pytest.raises(ScheduleError, match="notify"):
        Policy(notify="always")  # type: ignore[arg-type] # a wrong word


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (JobSpec, {"schedule": "every 5m"}, "schedule: must be a schedule, like Every('15m')"),
        (JobSpec, {"action": None}, "action: must be an action"),
        (JobSpec, {"policy": {}}, "policy: must be a Policy"),
        (JobSpec, {"enabled": "no"}, "enabled: must be true or false"),
        (Policy, {"backoff": None}, "backoff: must be a Backoff"),
        (Policy, {"retry": 3}, "retry: must be a Retry"),
        (Policy, {"limits": (1, 2)}, "limits: must be Limits"),
        (Policy, {"caps": 5}, "caps: must be Caps"),
        (Policy, {"reads_lines": 1}, "reads_lines: must be true, false or null"),
        (Caps, {"cost_per_day": "5"}, "cost_per_day: must be a number"),
        (Caps, {"cost_per_day": True}, "cost_per_day: must be a number"),
        (Prompt, {"work_source": "folder"}, "work_source: must be a FolderSource or a GithubSource"),
        (
            Command,
            {"argv": ["ls"], "work_source": 5},
            "work_source: must be a FolderSource or a GithubSource",
        ),
        (Command, {"argv": {"ls", "-l"}}, "argv: must be a list"),
        (Command, {"argv": ["ls"], "success_codes": []}, "success_codes: is empty"),
        (Command, {"line": "  ", "shell": "/bin/sh"}, "argv: give either"),
    ],
)
def test_values_of_the_wrong_type_are_refused(kind: Any, given: dict[str, Any], message: str) -> None:
    fine = {"name": "a", "schedule": Manual()} if kind is JobSpec else {}
    with pytest.raises(ScheduleError) as caught:
        kind(**fine | given)
    assert message in str(caught.value)


def test_a_hostile_key_cannot_break_out_of_the_message() -> None:
    for key in ("x\n\x1b[31mred", "\ud800", "x" * 5_000):
        with pytest.raises(ScheduleError) as caught:
            Policy.from_dict({key: 1})
        message = str(caught.value)
        assert message.isprintable()
        assert len(message) < 400


def test_an_empty_policy_is_the_default_one() -> None:
    policy = Policy.from_dict({})
    assert policy == Policy()
    assert (policy.time_limit_ms, policy.catch_up_max_age_ms) == (7_200_000, None)
    assert policy.backoff.delays_ms == (30_000, 60_000, 300_000, 900_000, 3_600_000)
    assert Policy(time_limit=None, catch_up_max_age="1d").time_limit_ms is None
    assert Policy(catch_up_max_age="1d").catch_up_max_age_ms == 86_400_000
    assert (policy.caps, policy.reads_lines) == (Caps(), None)


def test_a_whole_amount_of_money_is_kept_as_a_number_with_decimals() -> None:
    caps = Policy.from_dict({"caps": {"cost_per_day": 5}}).caps
    assert (caps.cost_per_day, type(caps.cost_per_day)) == (5.0, float)
    assert _through_json(caps.to_dict()) == {"runs_per_day": None, "cost_per_day": 5.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "name: is empty"),
        ({"name": "a\nb"}, "name: must be a single line"),
        ({"group": " "}, "group: is empty"),
        ({"anchor_at": -1}, "anchor_at: must be between 0"),
        ({"enabled": 1}, "enabled: must be true or false, not 1"),
        ({"metadata": {"a": None}}, "metadata.a: must be text, not None"),
        ({"schedule": {"kind": "every", "every": "x"}}, "schedule.every: cannot read the interval"),
        ({"action": {"kind": "command", "argv": [5]}}, "action.argv[0]: must be text"),
        ({"policy": {"retry": []}}, "policy.retry: must be an object"),
        ({"version": 3}, "version: must be 1 or 2; a newer one needs a newer Halo"),
        ({"version": True}, "version: must be 1 or 2"),
        ({"status": "idle"}, "status: is not a known field"),
    ],
)
def test_a_bad_spec_is_refused_by_path(change: dict[str, object], message: str) -> None:
    data = JobSpec(name="job", schedule=Every("5m")).to_dict() | change
    with pytest.raises(ScheduleError) as caught:
        JobSpec.from_dict(data)
    assert message in str(caught.value)


def test_a_spec_carries_the_version_of_its_schema() -> None:
    data = JobSpec(name="job", schedule=Every("5m")).to_dict()
    assert data["version"] == 1
    del data["version"]
    with pytest.raises(ScheduleError, match="version: is missing"):
        JobSpec.from_dict(data)
    with pytest.raises(ScheduleError, match="a job must be an object"):
        JobSpec.from_dict([data])


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": {"mode": "full"}},
        {"schedule": Several((Entry(Every("5m")),))},
        {"schedule": OnFile("~/Inbox")},
        {"policy": Policy(jitter="1h")},
        {"policy": Policy(jitter_percent=5, is_jitter_fixed=True)},
        {"policy": Policy(catch_up=CatchUp.ALL)},
    ],
)
def test_what_the_first_version_does_not_have_carries_the_second(changes: dict[str, Any]) -> None:
    assert dataclasses.replace(JobSpec(name="job", schedule=Every("5m")), **changes).to_dict()["version"] == 2


def test_a_job_is_its_spec_and_its_state() -> None:
    spec = JobSpec(name="job", schedule=Every("5m"), group="g")
    state = JobState(
        status=JobStatus.PAUSED,
        status_reason=StatusReason.USER,
        waiting_for=WaitingFor.CONDITION,
        errors=2,
        last_outcome=Outcome.FAILURE,
    )
    fields = {
        field.name: getattr(part, field.name) for part in (spec, state) for field in dataclasses.fields(part)
    }
    job = Job(id="1", **fields)
    assert (job.spec, job.state) == (spec, state)
    assert not {field.name for field in dataclasses.fields(spec)} & {
        field.name for field in dataclasses.fields(state)
    }


@pytest.mark.parametrize(
    "value",
    [
        Every("5m"),
        Policy(),
        JobSpec(name="a", schedule=Manual()),
        Job(id="1", name="a", schedule=Manual()),
        Plan(None, Source.MANUAL),
    ],
)
def test_values_are_frozen_and_slotted(value: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(value)[0].name, 5)
    assert not hasattr(value, "__dict__")


def test_an_interval_below_ten_seconds_is_kept_as_written_but_raised() -> None:
    assert (Every("5s").every, Every("5s").every_ms, Every("5s").is_raised) == ("5s", 10_000, True)
    assert (Every("10s").every_ms, Every("10s").is_raised) == (10_000, False)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hints(interval_ms=0),
        lambda: Hints(next_at=-1),
        lambda: Hints(expires_at=10**15),
        lambda: Hints(reason="\0"),
    ],
)
def test_bad_hints_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ScheduleError):
        make()


def test_pace_and_single_run_of_advice_keep_their_own_reason_and_end() -> None:
    pace = Hints(interval_ms=60_000, expires_at=1_000, reason="queue is long", source=HintSource.PROGRAM)
    run = Hints(next_at=500, expires_at=2_000, reason="try again", source=HintSource.ASSISTANT)
    for both in (pace.with_advice(run), run.with_advice(pace)):
        assert (both.expires_at, both.reason, both.source) == (1_000, "queue is long", HintSource.PROGRAM)
        assert (both.next_expires_at, both.next_reason, both.next_source) == (2_000, "try again", run.source)
        assert (both.pace_at(999), both.run_at(999), both.pace_at(1_000), both.run_at(1_000)) == (
            *(60_000, 500),
            *(None, 500),
        )
        assert both.counting(999) == both
        assert both.counting(1_500) == run
        assert both.without_source(HintSource.ASSISTANT) == pace
        assert both.counting(1_999) != Hints()
        assert both.counting(2_000) == Hints()
    # What is advised anew replaces what was advised of its kind.
    assert pace.with_advice(dataclasses.replace(pace, reason="other")).reason == "other"


def test_a_plan_can_be_written_down() -> None:
    plan = Plan(5, Source.EVERY, trail=(Step(Rule.BASELINE, 5, Source.EVERY),))
    assert plan.to_dict() == {
        "at": 5,
        "source": "every",
        "attempt": 1,
        "trail": [{"rule": "baseline", "at": 5, "source": "every", "duration_ms": None}],
        "keys": [],
    }


def test_a_run_lasts_from_its_start_to_its_end() -> None:
    run = Run(id="1", job_id="2", trigger=Trigger.SCHEDULE, source=Source.EVERY)
    assert (run.outcome, run.duration_ms) == (Outcome.RUNNING, None)
    assert dataclasses.replace(run, started_at=5).duration_ms is None
    assert dataclasses.replace(run, started_at=5, finished_at=12).duration_ms == 7


def test_the_vocabulary_is_the_documented_one() -> None:
    assert set(Outcome) == {
        "running",
        "success",
        "failure",
        "timeout",
        "cancelled",
        "skipped",
        "missed",
        "interrupted",
    }
    assert set(Trigger) == {"schedule", "event", "manual", "chain", "answer", "test"}
    assert {"hint-interval", "hint-once", "clamped-min", "clamped-max", "catch-up"} <= set(Source)
    assert {"at_capacity", "no_work", "needs_input", "unsupported_type"} <= set(SkipReason)


def test_a_run_waits_for_missing_resources() -> None:
    assert {shortage: shortage.waiting_for for shortage in Shortage} == {
        Shortage.FILES: WaitingFor.RESOURCES,
        Shortage.PROCESSES: WaitingFor.RESOURCES,
        Shortage.MEMORY: WaitingFor.RESOURCES,
        Shortage.DISK: WaitingFor.DISK_SPACE,
    }


def test_a_job_file_gives_one_schedule_or_several() -> None:
    data = {
        **JobSpec(name="tea", schedule=Every("1h"), action=Callback("tea")).to_dict(),
        "schedules": [{"kind": "every", "every": "2h"}],
    }
    with pytest.raises(ScheduleError, match="give either `schedule` or `schedules`"):
        JobSpec.from_dict(data)


def test_a_value_with_a_form_of_its_own_reads_it_by_itself() -> None:
    with pytest.raises(NotImplementedError):
        OwnForm.from_form({})


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (
            {"from": "1 May 2026"},
            "schedules[0].from: cannot read the date '1 May 2026'; write it like 2026-12-31",
        ),
        ({"until": "2026-02-30"}, "schedules[0].until: there is no such date as 2026-02-30"),
        ({"until": "1969-12-31"}, "schedules[0].until: must be between 1970 and 9998"),
        ({"until": 5}, "schedules[0].until: must be text, not 5"),
        (
            {"from": "2026-05-02", "until": "2026-05-01"},
            "schedules[0].until: must not be before the first day",
        ),
        (
            {"kind": "once", "at": 5, "from": "2026-05-02"},
            "schedules[0].from: only `every`, `after` and `cron`",
        ),
    ],
)
def test_wrong_days_of_a_schedule_are_refused(form: dict[str, Any], message: str) -> None:
    with pytest.raises(ScheduleError) as refusal:
        schedules_from_list([{"kind": "every", "every": "1h"} | form if "kind" not in form else form])
    assert message in str(refusal.value)


def test_the_same_schedule_may_have_other_days() -> None:
    parts = (Entry(Every("1h"), until_date="2026-05-01"), Entry(Every("1h"), from_date="2026-06-01"))
    several = combine(parts)
    assert isinstance(several, Several)
    assert schedules_from_list(several.to_dict()["schedules"]) == several
    with pytest.raises(ScheduleError, match="appears twice"):
        combine([parts[0], parts[0]])


def test_a_calendar_keeps_each_day_once_and_in_order() -> None:
    calendar = Calendar(only=["weekends", "2026-12-24", "weekends"], excluded=[], shift="next")  # type: ignore[arg-type]
    assert (calendar.only, calendar.shift) == (("2026-12-24", "weekends"), Shift.NEXT)
    assert calendar == Calendar(only=("2026-12-24", "weekends"), shift=Shift.NEXT)
    entry = Entry(Cron("0 9 1 * *"), calendar=calendar)
    assert entry.to_dict()["only"] == ["2026-12-24", "weekends"]
    assert Entry(Every("1h"), calendar=Calendar()).is_plain


def test_only_days_of_every_week_take_shifted_times() -> None:
    with pytest.raises(ScheduleError, match="days of every week to move to"):
        Calendar(only=("2026-12-24",), shift=Shift.NEXT)


def test_a_calendar_has_a_limited_number_of_days() -> None:
    with pytest.raises(ScheduleError, match=f"has at most {MOST_DAYS} days"):
        Calendar(excluded=("weekends",) * (MOST_DAYS + 1))


def test_a_once_takes_no_calendar() -> None:
    assert calendar_for(Once(1), Calendar(only=("weekdays",))) == Calendar()
    with pytest.raises(ScheduleError):
        Entry(Once(1), calendar=Calendar(only=("weekdays",)))
