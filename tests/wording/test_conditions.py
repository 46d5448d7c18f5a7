"""Conditions in words: when a job starts, and what it waits for."""

from __future__ import annotations

import pytest

from halo_scheduler.model.conditions import Condition, Idle, Load, MainsPower, Network, PathExists
from halo_scheduler.wording.conditions import describe_condition, waiting_words

_LONG = "/mnt/" + "x" * 200 + "/backup"


@pytest.mark.parametrize(
    ("condition", "when", "awaited"),
    [
        (MainsPower(), "on AC power", "AC power"),
        (Network(), "with a network", "network"),
        (Network(host="nas.local", port=22), "when nas.local:22 answers", "nas.local:22 to answer"),
        (Network(host="fe80::1", port=22), "when [fe80::1]:22 answers", "[fe80::1]:22 to answer"),
        (Idle(idle="10m"), "after 10 minutes without input", "10 min without input"),
        (Idle(idle="1h"), "after 1 hour without input", "1 h without input"),
        (Idle(idle="90s"), "after 90 seconds without input", "90 s without input"),
        (Idle(idle="2d"), "after 2 days without input", "2 days without input"),
        (Load(below=2), "with a load below 2", "a load below 2"),
        (Load(below=0.5), "with a load below 0.5", "a load below 0.5"),
        (PathExists(path="/mnt/backup"), "when /mnt/backup exists", "/mnt/backup to exist"),
    ],
)
def test_each_condition_has_its_words(condition: Condition, when: str, awaited: str) -> None:
    assert describe_condition(condition) == when
    assert waiting_words([condition]) == awaited


def test_several_are_joined_as_in_a_sentence() -> None:
    assert waiting_words([MainsPower(), Network()]) == "AC power and network"
    assert waiting_words((MainsPower(), Network(), Idle(idle="1m"))) == (
        "AC power, network and 1 min without input"
    )


def test_no_conditions_need_no_words() -> None:
    assert waiting_words([]) == ""


def test_a_long_path_is_shown_by_its_end() -> None:
    words = waiting_words([PathExists(path=_LONG)])
    assert words.startswith("…x")
    assert words.endswith("x/backup to exist")
    assert len(words) < 100
