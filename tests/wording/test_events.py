"""Events in words."""

from __future__ import annotations

import pytest

from halo_scheduler import Entry, Every, OnChat, OnFile, OnSession, OnWebhook, Several, describe
from halo_scheduler.model import FileEvent, Schedule, SessionEvent
from halo_scheduler.schedule.normal import normal
from halo_scheduler.wording.short_schedules import describe_shortly


@pytest.mark.parametrize(
    ("event", "words", "short"),
    [
        (OnFile("~/Inbox"), "when a file appears in ~/Inbox", "new file in Inbox"),
        (
            OnFile("~/Inbox/", "*.pdf", FileEvent.CHANGES),
            "when a file named *.pdf changes in ~/Inbox/",
            "changed *.pdf in Inbox",
        ),
        (
            OnFile("/srv/My; in", 'a "b"', FileEvent.VANISHES, "1m"),
            'when a file named "a ""b""" vanishes from "/srv/My; in" and is unchanged for 1 minute',
            'a "b" gone from My; in',
        ),
        (OnFile("/"), "when a file appears in /", "new file in /"),
        (OnSession(SessionEvent.LOGIN), "at login", "login"),
        (OnSession(SessionEvent.BOOT, "5m"), "5 minutes after boot", "boot + 5 minutes"),
        (OnSession(SessionEvent.WAKE), "when the computer wakes up", "wake-up"),
        (OnSession(SessionEvent.UNLOCK), "when the screen is unlocked", "unlock"),
        (OnSession(SessionEvent.NETWORK), "when the network comes up", "network"),
        (
            OnSession(SessionEvent.MAINS, "1h"),
            "1 hour after the computer is plugged in",
            "AC power + 1 hour",
        ),
        (OnWebhook(), "when its webhook is called", "webhook"),
        (
            OnChat("family/direct"),
            "when somebody permitted writes to family/direct",
            "message to family/direct",
        ),
        (
            OnChat("family/-100123", ("12", "@anna", "7")),
            "when 12, 7 or @anna writes to family/-100123",
            "message to family/-100123",
        ),
    ],
)
def test_each_event_has_its_words(event: Schedule, words: str, short: str) -> None:
    assert describe(event) == words
    assert describe_shortly(event) == short


def test_events_are_combined_with_times() -> None:
    both = Several((Entry(Every("1h")), Entry(OnSession(SessionEvent.LOGIN))))
    assert describe(both) == "every hour; at login"
    assert describe_shortly(both) == "every hour, login"


def test_equal_events_have_the_same_meaning() -> None:
    assert normal(OnFile("/a", settle="60s")) == normal(OnFile("/a", settle="1m"))
    assert normal(OnFile("/a")) != normal(OnFile("/a", "*.pdf"))
    assert normal(OnSession(SessionEvent.BOOT, "60s")) == normal(OnSession(SessionEvent.BOOT, "1m"))
    assert normal(OnSession(SessionEvent.BOOT)) != normal(OnSession(SessionEvent.LOGIN))
    assert normal(OnWebhook()) == normal(OnWebhook())
