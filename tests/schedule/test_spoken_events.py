"""Events in plain words, as people type them, and what is refused."""

from __future__ import annotations

import pytest

from halo_scheduler import Every, OnChat, OnFile, OnSession, OnWebhook, parse_schedule
from halo_scheduler.errors import PhraseParseError
from halo_scheduler.model import FileEvent, Schedule, SessionEvent
from halo_scheduler.model.schedules import schedules_of

_NOW = 1_735_689_600_000
_LOGIN, _BOOT, _WAKE = (
    OnSession(event) for event in (SessionEvent.LOGIN, SessionEvent.BOOT, SessionEvent.WAKE)
)
_NETWORK, _MAINS = OnSession(SessionEvent.NETWORK), OnSession(SessionEvent.MAINS)


@pytest.mark.parametrize(
    ("phrase", "event"),
    [
        ("when a pdf appears in ~/Inbox", OnFile("~/Inbox", "*.pdf")),
        ("When a PDF appears in ~/Inbox.", OnFile("~/Inbox", "*.pdf")),
        ("whenever a new file arrives in /srv/in", OnFile("/srv/in")),
        ("when a csv file is added to ~/My Data", OnFile("~/My Data", "*.csv")),
        ("when a file changes in ~/notes", OnFile("~/notes", on=FileEvent.CHANGES)),
        ("when a file named todo.txt is modified in ~", OnFile("~", "todo.txt", FileEvent.CHANGES)),
        ('when a file like "a b*" disappears from "/x; y"', OnFile("/x; y", "a b*", FileEvent.VANISHES)),
        ("when files appear in ~/in and is unchanged for 1 minute", OnFile("~/in", settle="1m")),
        ("at login", _LOGIN),
        ("when I log in", _LOGIN),
        ("On logon.", _LOGIN),
        ("5 min after login", OnSession(SessionEvent.LOGIN, "5m")),
        ("at boot", _BOOT),
        ("at startup", _BOOT),
        ("when the computer starts", _BOOT),
        ("@reboot", _BOOT),
        ("half an hour after boot", OnSession(SessionEvent.BOOT, "30m")),
        ("when the computer wakes up", _WAKE),
        ("when my laptop wakes", _WAKE),
        ("on wake-up", _WAKE),
        ("when the screen is unlocked", OnSession(SessionEvent.UNLOCK)),
        ("on unlock", OnSession(SessionEvent.UNLOCK)),
        ("when the network comes up", _NETWORK),
        ("when I am online", _NETWORK),
        ("when the computer is plugged in", _MAINS),
        ("on mains power", _MAINS),
        ("when its webhook is called", OnWebhook()),
        ("by webhook", OnWebhook()),
        ("when somebody permitted writes to family/direct", OnChat("family/direct")),
        ("Whenever someone writes to family/-100123.", OnChat("family/-100123")),
        ("when 4711 writes to family/direct", OnChat("family/direct", ("4711",))),
        ("when @Anna, 12 or U0AB sends a message to a/C012", OnChat("a/C012", ("@anna", "12", "U0AB"))),
    ],
)
def test_phrases_that_people_type_name_events(phrase: str, event: Schedule) -> None:
    assert parse_schedule(phrase, now_ms=_NOW) == event


def test_events_and_times_can_share_one_phrase() -> None:
    found = parse_schedule('every hour; at login; when a file appears in "/a;b"', now_ms=_NOW)
    assert schedules_of(found) == (Every("1h"), _LOGIN, OnFile("/a;b"))


@pytest.mark.parametrize(
    ("phrase", "fault"),
    [
        ("when pigs fly", "this event is not understood"),
        ("when a pdf appears", "this event is not understood"),
        ("when a file appears in Inbox", "cannot watch the folder “Inbox”: it must be an absolute path"),
        ("when anna writes to family/direct", "name people by their id or @name"),
        ("when 12 writes to Family", "and a bot with a conversation"),
        ("soon after login", "“soon” is not a length of time"),
        ("when a file appears in ~/in and is unchanged for ever", "“ever” is not a length of time"),
    ],
)
def test_events_that_are_not_clear_are_refused(phrase: str, fault: str) -> None:
    with pytest.raises(PhraseParseError, match=fault):
        parse_schedule(phrase, now_ms=_NOW)
