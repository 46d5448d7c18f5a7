"""The short lines of the editor."""

from __future__ import annotations

import pytest
from commands import shell

from halo_scheduler import Backoff, Callback, Command, HttpRequest, Policy, Prompt, Retry
from halo_scheduler.model import (
    Action,
    Caps,
    CatchUp,
    Condition,
    Follower,
    FollowOn,
    InQuietTime,
    MainsPower,
    Network,
    Notify,
)
from halo_scheduler.model.actions import FolderSource, GithubSource
from ui.editor.summary import (
    action_summary,
    conditions_summary,
    daily_limit_words,
    failure_summary,
    ladder_words,
    next_jobs_summary,
    options_summary,
    short_interval,
)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Command(argv=("echo", "a b")), "echo 'a b'"),
        (shell("echo a\necho b"), "echo a ↵ echo b"),
        (HttpRequest(url="https://example.org"), "GET https://example.org"),
        (Prompt(text="sum up"), "prompt: sum up"),
        (
            Prompt(text="fix it", work_source=GithubSource(repository="acme/shop")),
            "prompt: fix it · issues of acme/shop",
        ),
        (Command(argv=("make",), work_source=FolderSource(path="~/tasks")), "make · folder ~/tasks"),
        (Callback("f"), "function f"),
    ],
)
def test_an_action_on_one_line(action: Action, words: str) -> None:
    assert action_summary(action) == words


def test_a_long_command_is_cut() -> None:
    assert len(action_summary(Command(argv=("x" * 10_000,)))) <= 81


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(), "stops after 2 h · no retries"),
        (Policy(time_limit=None, retry=Retry(attempts=1)), "no time limit · 1 retry"),
        (Policy(time_limit="90s", retry=Retry(attempts=3)), "stops after 90 s · 3 retries"),
    ],
)
def test_the_summary_of_failures(policy: Policy, words: str) -> None:
    assert failure_summary(policy.time_limit, policy.retry) == words


@pytest.mark.parametrize(
    ("policy", "group", "enabled", "words"),
    [
        (Policy(notify=Notify.SETTINGS), None, True, "catches up once"),
        (
            Policy(catch_up=CatchUp.SKIP, notify=Notify.ALL),
            "web",
            True,
            "no catch-up · notifies about every run · web",
        ),
        (Policy(catch_up=CatchUp.ALL, notify=Notify.SETTINGS), None, True, "catches up each missed run"),
        (Policy(notify=Notify.NONE), None, False, "disabled · catches up once · no notifications"),
        (Policy(), None, True, "catches up once · notifies about failures"),
        (
            Policy(notify=Notify.SETTINGS, caps=Caps(runs_per_day=1)),
            None,
            True,
            "at most 1 run a day · catches up once",
        ),
        (
            Policy(notify=Notify.SETTINGS, keep_awake=True),
            None,
            True,
            "prevents sleep · catches up once",
        ),
        (
            Policy(notify=Notify.SETTINGS, assistants_may_run=False),
            None,
            True,
            "assistants can't run it · catches up once",
        ),
    ],
)
def test_the_rest(policy: Policy, group: str | None, enabled: bool, words: str) -> None:
    assert options_summary(policy, group, enabled=enabled) == words


@pytest.mark.parametrize(
    ("conditions", "deadline", "in_quiet_time", "words"),
    [
        ((), None, InQuietTime.WAIT, "none"),
        ((), "2h", InQuietTime.SKIP, "none · skipped in quiet hours"),
        ((MainsPower(), Network()), None, InQuietTime.WAIT, "AC power and network"),
        ((Network(host="nas", port=22),), "90m", InQuietTime.WAIT, "nas:22 to answer · waits up to 90 min"),
    ],
)
def test_the_summary_of_conditions(
    conditions: tuple[Condition, ...], deadline: str | None, in_quiet_time: InQuietTime, words: str
) -> None:
    assert conditions_summary(conditions, deadline, in_quiet_time) == words


def test_the_summary_of_next_jobs() -> None:
    followers = tuple(Follower(job_id=str(on), on=on) for on in FollowOn)
    names = ("a", "x" * 100, "")
    words = f"a on success · {'x' * 39}… on failure · a job always"
    assert next_jobs_summary(followers, names) == words
    assert next_jobs_summary((), ()) == "none"


def test_the_delays_after_failures_are_described_in_a_sentence() -> None:
    assert (
        ladder_words(Backoff.ladder())
        == "Waits 30 s, 1 min, 5 min, 15 min, then 1 h after each further failure."
    )
    assert ladder_words(Backoff.ladder(5_000)) == "Waits 5 s after each failure."
    assert ladder_words(Backoff.none()) == ""


def test_intervals_are_short() -> None:
    assert (short_interval("2h"), short_interval(90_000), short_interval(0), short_interval(500)) == (
        "2 h",
        "90 s",
        "0 s",
        "1 s",
    )


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        (Caps(), ""),
        (Caps(runs_per_day=5), "at most 5 runs a day"),
        (Caps(cost_per_day=0.005), "at most a cost of 0.005 a day"),
        (Caps(runs_per_day=1, cost_per_day=2), "at most 1 run and a cost of 2.00 a day"),
    ],
)
def test_the_summary_of_daily_limits(caps: Caps, words: str) -> None:
    assert daily_limit_words(caps) == words
