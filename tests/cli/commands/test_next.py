"""`halo next` and `halo group`: what runs next, and how much of it at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asking import ask
from chain_waits import BEHIND, MAINS, let_chain_wait
from click.testing import CliRunner, Result

from halo_scheduler import Every, JobNotFoundError, Manual, Policy, SchedulerError
from halo_scheduler.cli import halo
from halo_scheduler.model import InQuietTime
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.service.scheduler import Scheduler


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _halo(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments)


def _words(*arguments: str) -> list[str]:
    """Return the lines below the heading with single blanks."""
    return [" ".join(line.split()) for line in _halo("next", *arguments).stdout.splitlines()[1:]]


def test_without_jobs_nothing_comes() -> None:
    done = _halo("next")
    assert (done.stdout, done.stderr) == ("no upcoming runs\n", "")


def test_the_next_runs_are_shown_with_their_jobs() -> None:
    with Scheduler.open() as scheduler:
        quick = scheduler.add_job("quick", Every("15m"))
        scheduler.add_job("slow", Every("40m"))
    done = _halo("next", "-n", "3")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[-1] for line in lines] == ["JOB", "quick", "quick", "slow"]
    assert "in 15 min" in done.stdout
    assert _halo("next", "--limit", "3").stdout == done.stdout
    # Without an engine it is only a plan.
    assert done.stderr == '▲ Halo isn\'t running; start it with "halo" or "halo daemon"\n'
    first, second = json.loads(_halo("next", "quick", "-n", "2", "--json").output)
    assert (first["job_id"], first["name"], first["source"]) == (quick, "quick", "every")
    assert (first["is_planned"], second["is_planned"]) == (True, False)
    assert second["at"] - first["at"] == 15 * 60_000


def test_a_frequent_job_is_summarised_so_that_others_stay_visible() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("often", Every("1m"))
        advised = scheduler.add_job("advised", Every("40m"))
        scheduler.add_job("seldom", Every("6h"))
        scheduler.propose_interval(advised, "50m", ttl="5h")
    first, second, third, last = _words("-n", "4")
    assert (first.endswith(" often"), last.endswith(" seldom")) == (True, True)
    assert second.endswith(" often then every minute")
    assert third.endswith(" advised then every 50 min, by hint")
    assert [run["goes_on"] for run in json.loads(_halo("next", "-n", "4", "--json").output)] == [
        False,
        True,
        True,
        False,
    ]


def test_the_reason_that_delays_a_run_is_shown() -> None:
    always = QuietTime(name="Always", start="00:00", end="24:00", timezone="UTC")
    with Scheduler.open() as scheduler:
        scheduler.add_job("waits", Every("15m"))
        scheduler.add_job("skips", Every("20m"), policy=Policy(in_quiet_time=InQuietTime.SKIP))
        asks = scheduler.add_job("asks", Every("25m"))
        ask(scheduler, asks)
        after = scheduler.add_job("after", Manual())
        scheduler.settings.change(quiet_times=(always,))
        let_chain_wait(scheduler, asks, after, MAINS)
    lines = _words("-n", "20")
    assert lines[0].endswith("now after waiting for AC power, after asks")
    assert any("waits waits in quiet hours Always until " in line for line in lines)
    assert any(line.endswith("skips will be skipped in quiet hours Always") for line in lines)
    assert any(line.endswith("asks on hold until you answer") for line in lines)
    assert all(line.startswith("▲") for line in lines)
    data = json.loads(_halo("next", "--json").output)
    assert (data[0]["name"], data[0]["trigger"], data[0]["waiting_reason"]) == (
        "after",
        "chain",
        "AC power",
    )
    assert data[1]["quiet_until"] > data[1]["at"]


def test_a_wrong_name_or_number_is_refused() -> None:
    assert isinstance(_halo("next", "nobody").exception, JobNotFoundError)
    for count in ("0", "1001", "many"):
        assert _halo("next", "-n", count).exit_code == 2


def test_groups_show_their_limits_and_jobs() -> None:
    assert _halo("group").output.startswith("no groups yet; put a job into one with: halo edit")
    with Scheduler.open() as scheduler:
        scheduler.add_job("backup", Manual(), group="night")
        scheduler.add_job("mirror", Manual(), group="night")
        scheduler.add_job("alone", Manual())
    assert _halo("group", "night", "--max-concurrent", "1").output == "night: at most 1 job at once\n"
    lines = [" ".join(line.split()) for line in _halo("group").output.splitlines()]
    assert lines == ["GROUP LIMIT RUNNING JOBS", "night 1 0 backup, mirror"]
    assert json.loads(_halo("group", "--json").output) == [
        json.loads(_halo("group", "night", "--json").output)
    ]
    assert json.loads(_halo("group", "night", "--json").output) == {
        "name": "night",
        "max_concurrent": 1,
        "running": 0,
        "jobs": ["backup", "mirror"],
    }
    assert _halo("group", "night", "--max-concurrent", "none").output == "night: no limit\n"
    assert "night no limit 0" in " ".join(_halo("group", "night").output.split())


def test_a_limit_may_come_before_the_jobs() -> None:
    assert "the group 'day' has no jobs yet" in _halo("group", "day", "--max-concurrent", "2").output
    assert "day    2      0        no jobs" in _halo("group").output


def test_an_unknown_group_suggests_the_nearest() -> None:
    _halo("group", "night", "--max-concurrent", "2")
    error = _halo("group", "nihgt").exception
    assert isinstance(error, SchedulerError)
    assert str(error) == "no such group: 'nihgt'; did you mean 'night'?"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--max-concurrent", "1"), "give the name of a group"),
        (("night", "--max-concurrent", "0"), "must be between 1 and 1000000, not 0"),
        (("night", "--max-concurrent", "99999999999999999999"), "must be between 1 and 1000000"),
        (("night", "--max-concurrent", "few"), "'few' is not a valid integer"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(arguments: tuple[str, ...], sentence: str) -> None:
    done = _halo("group", *arguments)
    assert done.exit_code == 2
    assert sentence in done.output
    assert json.loads(_halo("group", "--json").output) == []


def test_runs_that_pile_up_after_a_job_hide_nothing() -> None:
    with Scheduler.open() as scheduler:
        slow = scheduler.add_job("slow", Manual())
        quick = scheduler.add_job("quick", Every("1h"))
        for _ in range(7):
            let_chain_wait(scheduler, quick, slow, BEHIND)
    lines = _words("-n", "5")
    assert lines[0].endswith("now slow 7 runs, waiting for its previous run to end, after quick")
    assert " quick" in lines[1]
