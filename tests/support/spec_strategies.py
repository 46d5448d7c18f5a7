"""Jobs of every kind, drawn by hypothesis."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from hypothesis import strategies as st

from halo_scheduler.model import (
    Action,
    After,
    Backoff,
    BodyKind,
    Calendar,
    Callback,
    Caps,
    CatchUp,
    Command,
    Condition,
    Cron,
    Entry,
    Every,
    FileEvent,
    Follower,
    FollowOn,
    HttpRequest,
    Idle,
    InQuietTime,
    JobSpec,
    Limits,
    Load,
    MainsPower,
    Manual,
    Network,
    Notify,
    Once,
    OnChat,
    OnFile,
    OnSession,
    OnWebhook,
    PathExists,
    Policy,
    Prompt,
    Redirects,
    Retry,
    Schedule,
    SessionEvent,
    Shift,
)
from halo_scheduler.model.actions import FolderSource, GithubSource, WorkSource
from halo_scheduler.model.chat import CHANNEL_PATTERN, PERSON_PATTERN
from halo_scheduler.model.schedules import Overlap
from halo_scheduler.model.settings import QuietTime, Weekday
from halo_scheduler.model.time_rules import Dated, calendar_for

TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20) | st.sampled_from(
    [
        "",
        "null",
        "yes",
        "0",
        "1.50",
        "~",
        "two\nlines\n",
        " \n",
        "# no comment",
        "a: b",
        "- x",
        "\ttab",
        "22:00",
    ]
)
LABELS = st.text(
    st.characters(exclude_categories=["C", "Zl", "Zp"], codec="utf-8"), min_size=1, max_size=20
).filter(str.strip) | st.sampled_from(["on", "null", "1", "a: b", "- x", "*", "backup"])
INTERVALS = st.builds(lambda number, unit: f"{number}{unit}", st.integers(1, 999), st.sampled_from("smhd"))
_MS = st.integers(1, 10**10)
_DELAYS = st.just(0) | _MS | _MS.map(lambda ms: ms - ms % 1000)
_MAPPINGS = st.dictionaries(LABELS.filter(lambda name: "=" not in name), TEXTS, max_size=3)
_CODES = {
    "success_codes": st.lists(st.integers(0, 9), min_size=1, max_size=3),
    "no_work_code": st.none() | st.integers(10, 99),
    "needs_input_code": st.none() | st.integers(100, 255),
    "grace": INTERVALS,
}

_NAMES = LABELS | st.sampled_from(["*.pdf", 'a "b"; c', '"', '""', "100%.txt", "x.", "ä b"])
EVENTS: st.SearchStrategy[Schedule] = st.one_of(
    st.builds(
        OnFile,
        st.builds(lambda root, name: f"{root}{name}", st.sampled_from(["/", "~/", "/srv/My in/"]), _NAMES),
        _NAMES.filter(lambda name: "/" not in name),
        st.sampled_from(FileEvent),
        INTERVALS,
    ),
    st.builds(OnFile, st.sampled_from(["/", "~", "~/Inbox"])),
    st.builds(OnSession, st.sampled_from(SessionEvent), st.none() | INTERVALS),
    st.just(OnWebhook()),
    st.builds(
        OnChat,
        st.from_regex(CHANNEL_PATTERN, fullmatch=True),
        st.lists(st.from_regex(PERSON_PATTERN, fullmatch=True), max_size=4).map(tuple),
    ),
)
SCHEDULES: st.SearchStrategy[Schedule] = st.one_of(
    st.builds(Every, INTERVALS),
    st.builds(After, INTERVALS),
    st.builds(
        Cron,
        st.sampled_from(["0 9 * * 1-5", "@daily", "*/5 * * * *", "0 0 9 L * MON#2"]),
        st.sampled_from([None, "Europe/Berlin"]),
    ),
    st.builds(Once, st.integers(1_900_000_000_000, 10**13) | st.just("2086-12-24T18:00:00+01:00")),
    st.just(Manual()),
)
SOURCES: st.SearchStrategy[WorkSource] = st.one_of(
    st.builds(FolderSource, path=LABELS.map("/{}".format)),
    st.builds(
        GithubSource,
        repository=st.just("owner/name"),
        token=st.sampled_from(["", "TOKEN"]),
        closes=st.booleans(),
    ),
)
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(
        Command,
        argv=st.lists(LABELS, min_size=1, max_size=3),
        directory=st.none() | LABELS,
        environment=_MAPPINGS,
        stdin=TEXTS,
        work_source=st.none() | SOURCES,
        **_CODES,
    ),
    st.builds(Command, line=TEXTS.filter(str.strip), shell=st.just("/bin/sh")),
    st.builds(
        HttpRequest,
        url=st.just("https://example.org/"),
        method=st.sampled_from(["GET", "POST"]),
        headers=st.just({"X-Key": "value", "Authorization": "Bearer ${secret:A}"}),
        body=TEXTS,
        expected_statuses=st.lists(st.integers(100, 599), max_size=3),
        redirects=st.sampled_from(Redirects),
    ),
    st.builds(
        HttpRequest, url=st.just("http://a"), body=st.just('{"a": 1}'), body_kind=st.sampled_from(BodyKind)
    ),
    st.builds(
        Prompt,
        text=TEXTS,
        agent=st.sampled_from(["", "claude", "codex"]),
        directory=st.none() | LABELS,
        environment=_MAPPINGS,
        work_source=st.none() | SOURCES,
        **_CODES,
    ),
    st.builds(Callback, LABELS | st.just("")),
)
CONDITIONS: st.SearchStrategy[Condition] = st.one_of(
    st.just(MainsPower()),
    st.just(Network()),
    st.builds(Network, host=st.sampled_from(["nas.local", "::1"]), port=st.integers(1, 65_535)),
    st.builds(Idle, idle=INTERVALS | st.just("10m")),
    st.builds(Load, below=st.floats(0.001, 10_000) | st.integers(1, 9)),
    st.builds(PathExists, path=LABELS.map("/{}".format)),
)
_PLAIN_POLICIES = st.builds(
    Policy,
    time_limit=st.none() | INTERVALS,
    catch_up=st.sampled_from(CatchUp),
    catch_up_max_age=st.none() | INTERVALS,
    max_errors=st.integers(0, 100),
    backoff=st.sampled_from(
        [Backoff.ladder(), Backoff.ladder(0, 6, 60_000), Backoff.double(), Backoff.none()]
    ),
    retry=st.builds(Retry, attempts=st.integers(0, 9), delay_ms=_DELAYS),
    limits=st.sampled_from([Limits(), Limits(min_ms=1, max_ms=2), Limits(max_ms=86_400_000)]),
    notify=st.sampled_from(Notify),
    caps=st.builds(
        Caps,
        runs_per_day=st.none() | st.integers(1, 1_000_000),
        cost_per_day=st.none() | st.floats(0.000001, 1_000_000) | st.integers(1, 1_000_000),
    ),
    reads_lines=st.none() | st.booleans(),
    conditions=st.lists(CONDITIONS, max_size=3, unique=True),
    condition_deadline=st.none() | INTERVALS,
    in_quiet_time=st.sampled_from(InQuietTime),
    keep_awake=st.booleans(),
    assistants_may_run=st.booleans(),
)
POLICIES = st.builds(
    lambda policy, spread, is_fixed: replace(policy, **spread, is_jitter_fixed=is_fixed),
    _PLAIN_POLICIES,
    st.one_of(
        st.integers(0, 10).map(lambda percent: {"jitter_percent": percent}),
        INTERVALS.map(lambda most: {"jitter": most}),
    ),
    st.booleans(),
)
_DATES = st.dates(date(1970, 1, 1), date(9998, 12, 31)).map(date.isoformat)
CALENDARS = st.builds(
    lambda only, excluded, dates, shift: Calendar(
        only=only, excluded=(*excluded, *dates), shift=shift if only or excluded or dates else None
    ),
    only=st.sampled_from([(), ("weekdays",), ("weekends", "2026-12-24")]),
    excluded=st.sampled_from([(), ("2026-12-25",)]),
    dates=st.lists(_DATES, max_size=3),
    shift=st.none() | st.sampled_from(Shift),
)
ENTRIES = st.one_of(
    st.builds(
        lambda schedule, calendar, **days: Entry(schedule, calendar=calendar_for(schedule, calendar), **days),
        SCHEDULES.filter(lambda schedule: isinstance(schedule, Dated)),
        CALENDARS,
        from_date=st.sampled_from([None, "1970-01-01", "2026-05-01"]),
        until_date=st.sampled_from([None, "2038-05-01", "9998-12-31"]),
    ),
    st.builds(
        Entry,
        EVENTS | SCHEDULES.filter(lambda schedule: not isinstance(schedule, After | Manual)),
        on_overlap=st.none() | st.sampled_from(Overlap),
    ),
    st.builds(Entry, st.builds(After, INTERVALS)),
)
SPECS = st.builds(
    JobSpec,
    name=LABELS,
    schedule=SCHEDULES | EVENTS | st.lists(ENTRIES, min_size=1, max_size=3, unique_by=lambda one: one.timing),
    action=ACTIONS,
    description=TEXTS,
    group=st.none() | LABELS,
    policy=st.just(Policy()) | POLICIES,
    anchor_at=st.integers(0, 10**13),
    enabled=st.booleans(),
    metadata=_MAPPINGS,
    parameters=st.dictionaries(st.sampled_from(["mode", "a_1", "z"]), TEXTS, max_size=3),
)
QUIET_TIMES = st.builds(
    QuietTime,
    name=st.just("") | LABELS,
    group=st.none() | LABELS,
    days=st.lists(st.sampled_from(Weekday), min_size=1, max_size=7),
    start=st.sampled_from(["22:00", "00:00", "08:30"]),
    end=st.sampled_from(["06:00", "24:00", "08:30"]),
    timezone=st.sampled_from([None, "Europe/Berlin"]),
)


@st.composite
def job_files(draw: st.DrawFn) -> dict[str, JobSpec]:
    """Some jobs by their ids, which follow each other without a circle."""
    specs = draw(st.lists(SPECS, max_size=4, unique_by=lambda spec: spec.name))
    found: dict[str, JobSpec] = {}
    for number, spec in enumerate(specs):
        earlier = draw(st.lists(st.sampled_from(sorted(found)), max_size=2, unique=True)) if found else []
        followers = tuple(Follower(job_id=job_id, on=draw(st.sampled_from(FollowOn))) for job_id in earlier)
        fields = {name: getattr(spec, name) for name in JobSpec.__dataclass_fields__}
        found[f"job-{number}"] = JobSpec(**{**fields, "followers": followers})
    return found
