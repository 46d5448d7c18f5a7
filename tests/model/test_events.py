"""Events: their fields, their JSON, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from halo_scheduler import (
    Entry,
    Every,
    Manual,
    OnChat,
    OnFile,
    OnSession,
    OnWebhook,
    ScheduleError,
    Several,
    next_run,
)
from halo_scheduler.model import Event, FileEvent, JobSpec, SessionEvent, schedule_from_dict
from halo_scheduler.model.schedules import events_of, gives_times
from halo_scheduler.schedule.next_run import count_due, previous_run


@pytest.mark.parametrize(
    ("event", "form"),
    [
        (
            OnFile("~/Inbox"),
            {"kind": "file", "path": "~/Inbox", "match": "*", "on": "appears", "settle": "2s"},
        ),
        (
            OnFile("/srv/in", "*.pdf", FileEvent.VANISHES, "10s"),
            {"kind": "file", "path": "/srv/in", "match": "*.pdf", "on": "vanishes", "settle": "10s"},
        ),
        (OnSession(SessionEvent.BOOT), {"kind": "session", "on": "boot", "delay": None}),
        (OnSession(SessionEvent.LOGIN, "5m"), {"kind": "session", "on": "login", "delay": "5m"}),
        (OnWebhook(), {"kind": "webhook"}),
        (OnChat("family/direct"), {"kind": "chat", "channel": "family/direct", "from": []}),
        (
            OnChat("a/C01", ("@Anna", "12", "12")),
            {"kind": "chat", "channel": "a/C01", "from": ["12", "@anna"]},
        ),
    ],
)
def test_events_are_read_from_the_json_they_write(event: Event, form: dict[str, Any]) -> None:
    assert event.to_dict() == form
    assert schedule_from_dict(form) == event


def test_omitted_fields_have_defaults() -> None:
    assert schedule_from_dict({"kind": "file", "path": "/a"}) == OnFile("/a")
    assert schedule_from_dict({"kind": "session", "on": "wake"}) == OnSession(SessionEvent.WAKE)


def test_intervals_are_read() -> None:
    assert OnFile("/a", settle="1m").settle_ms == 60_000
    assert OnSession(SessionEvent.BOOT).delay_ms == 0
    assert OnSession(SessionEvent.BOOT, "5m").delay_ms == 300_000


@pytest.mark.parametrize(
    ("form", "refusal"),
    [
        ({"kind": "file"}, "path: is missing"),
        ({"kind": "file", "path": "Inbox"}, "path: must be an absolute path that begins with / or ~/"),
        ({"kind": "file", "path": "/a\nb"}, "path: must be a single line without control characters"),
        ({"kind": "file", "path": "/a", "match": ""}, "match: must be a pattern for names"),
        ({"kind": "file", "path": "/a", "match": "b/*.pdf"}, "match: must be a pattern for names"),
        ({"kind": "file", "path": "/a", "on": "burns"}, "on: must be one of appears, changes, vanishes"),
        ({"kind": "file", "path": "/a", "settle": "0s"}, "settle: the interval '0s' is zero"),
        ({"kind": "session"}, "on: is missing"),
        ({"kind": "session", "on": "logout"}, "on: must be one of login, boot, wake, unlock, network, mains"),
        ({"kind": "session", "on": "boot", "delay": "soon"}, "delay: cannot read the interval"),
        ({"kind": "chat"}, "channel: is missing"),
        (
            {"kind": "chat", "channel": "family"},
            "channel: must be a bot and a conversation, like family/direct",
        ),
        ({"kind": "chat", "channel": "a/1", "from": "12"}, "from: must be a list, not '12'"),
        ({"kind": "chat", "channel": "a/1", "from": ["anna"]}, "from[0]: must be the id of a person"),
        ({"kind": "chat", "channel": "a/1", "from": ["1", 2]}, "from[1]: must be text, not 2"),
        ({"kind": "webhook", "port": 1}, "port: is not a known field"),
    ],
)
def test_bad_events_are_refused_with_the_field(form: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ScheduleError) as found:
        schedule_from_dict(form)
    assert str(found.value).startswith(refusal)


def test_events_have_no_times() -> None:
    event = OnWebhook()
    assert next_run(event, 0) is None
    assert previous_run(event, 0) is None
    assert count_due(event, 0, 10**15) == 0
    assert not gives_times(event)
    assert not gives_times(Manual())
    assert gives_times(Several((Entry(event), Entry(Every("1h")))))


def test_a_job_may_mix_times_and_events() -> None:
    spec = JobSpec(name="job", schedule=Several((Entry(Every("1h")), Entry(OnWebhook()))))
    assert [entry.key for entry in spec.events] == ["2"]
    assert next_run(spec.schedule, 0) == 3_600_000
    assert JobSpec.from_dict(spec.to_dict()) == spec


def test_who_may_write_is_no_first_day() -> None:
    event = OnChat("family/direct", ("12",))
    spec = JobSpec(name="job", schedule=Several((Entry(event), Entry(Every("1h"), from_date="2027-01-01"))))
    form = spec.to_dict()["schedules"]
    assert [entry["from"] for entry in form] == [["12"], "2027-01-01"]
    assert JobSpec.from_dict(spec.to_dict()) == spec
    assert event.bot == "family"


def test_an_only_event_has_no_key() -> None:
    assert events_of(OnWebhook()) == (Entry(OnWebhook()),)
    assert events_of(Every("1h")) == ()
