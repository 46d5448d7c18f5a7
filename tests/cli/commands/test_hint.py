"""`halo hint`: what it advises, what it refuses, and what it says is planned then."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import Every, Job, Manual
from halo_scheduler.cli import halo, main
from halo_scheduler.clock import SystemClock
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Hints, HintSource
from halo_scheduler.service.scheduler import Scheduler

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Scheduler.open() as scheduler:
        scheduler.add_job("poll", Every("30d"))
        scheduler.add_job("by hand", Manual())


def _hint(*arguments: str) -> Result:
    return CliRunner().invoke(halo, ["hint", *arguments])


def _exit_code(*arguments: str) -> object:
    with pytest.raises(SystemExit) as caught:
        main(["hint", *arguments])
    return caught.value.code


def _poll() -> Job:
    with Scheduler.open() as scheduler:
        (job,) = (job for job in scheduler.list_jobs() if job.name == "poll")
    return job


def _left(instant: int | None) -> int:
    """Return how far ahead an instant lies, to the minute."""
    assert instant is not None
    return round((instant - SystemClock().now_ms()) / _MINUTE) * _MINUTE


def test_a_pace_is_advised_by_a_person() -> None:
    result = _hint("poll", "--every", "5m", "--ttl", "2h", "--reason", "release day")
    assert result.exit_code == 0
    hints = _poll().hints
    assert (hints.interval_ms, hints.source, hints.reason) == (5 * _MINUTE, HintSource.USER, "release day")
    assert _left(hints.expires_at) == 2 * _HOUR
    first, *why = result.stdout.splitlines()
    assert first == "poll; next: in 5 min"
    assert any("You asked for a run every 5 min (release day)" in line for line in why)
    assert any("Hint active until" in line for line in why)


def test_a_run_is_advised_and_the_advice_counts_until_then() -> None:
    result = _hint("poll", "--at", "in 3h")
    assert "\n  You asked for a run " in result.stdout
    hints = _poll().hints
    assert (hints.source, hints.interval_ms, hints.reason) == (HintSource.USER, None, "")
    assert (_left(hints.next_at), _left(hints.expires_at)) == (3 * _HOUR, 3 * _HOUR)
    _hint("poll", "--at", "in 10m")
    assert _left(_poll().hints.expires_at) == _HOUR
    _hint("poll", "--at", "in 10m", "--ttl", "20m")
    assert _left(_poll().hints.expires_at) == 20 * _MINUTE


@pytest.mark.usefixtures("machine_in_berlin")
def test_a_time_is_read_as_everywhere() -> None:
    _hint("poll", "--at", "tomorrow 9:00")
    first = _poll().hints.next_at
    assert first is not None
    assert 0 < first - SystemClock().now_ms() <= 2 * _DAY
    assert local_time(first).strftime("%H:%M:%S") == "09:00:00"
    iso = datetime.fromtimestamp(first / 1_000 - 3_600, UTC).isoformat()
    _hint("poll", "--at", iso)
    assert _poll().hints.next_at == first - _HOUR


def test_advice_is_forgotten() -> None:
    before = _poll()
    _hint("poll", "--every", "5m")
    result = _hint("poll", "--clear")
    assert result.stdout.startswith("poll; next: ")
    assert "asked" not in result.stdout
    after = _poll()
    assert (after.hints, after.next_run_at) == (Hints(), before.next_run_at)


def test_a_pace_that_is_too_fast_is_raised_and_that_is_reported() -> None:
    result = _hint("poll", "--every", "2s")
    assert result.stderr == "2s is too short; using 10s\n"
    assert _poll().hints.interval_ms == 10_000


def test_advice_for_a_paused_job_says_that_it_waits() -> None:
    with Scheduler.open() as scheduler:
        scheduler.pause_job(_poll().id)
    result = _hint("poll", "--every", "5m")
    assert "It is paused until you resume it." in result.stdout
    assert "You asked for a run every 5 min, but it is paused." in result.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence", "code"),
    [
        (["poll"], "give exactly one of --every, --at and --clear", 2),
        (["poll", "--every", "5m", "--at", "in 5m"], "give exactly one of --every, --at and --clear", 2),
        (["poll", "--every", "5m", "--clear"], "give exactly one of --every, --at and --clear", 2),
        (["poll", "--clear", "--ttl", "1h"], "use --ttl and --reason with --every or --at", 2),
        (["poll", "--clear", "--reason", "x"], "use --ttl and --reason with --every or --at", 2),
        (["poll", "--every", "5"], "--every: cannot read the interval '5'", 2),
        (["poll", "--every", "5m", "--ttl", "0s"], "--ttl: the interval '0s' is zero", 2),
        (["poll", "--every", "5m", "--ttl", "367d"], "--ttl: a hint lasts 366d at most", 2),
        (["poll", "--every", "5m", "--reason", "a\nb"], "--reason: must be a single line", 2),
        (["poll", "--at", "soon"], "--at: cannot read the time 'soon'", 2),
        (["poll", "--at", "2020-01-01 10:00"], "--at: this time is in the past", 2),
        (["by hand", "--every", "5m"], "hints: a job without scheduled times takes no hints", 2),
        (["pol", "--every", "5m"], "there is no job 'pol'; did you mean 'poll'?", 3),
    ],
)
def test_invalid_hints_are_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str, code: int
) -> None:
    assert _exit_code(*arguments) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"halo: {sentence}")
    is_wrong_use = sentence.startswith(("give ", "use "))
    assert told.err.splitlines()[1:] == (["usage: halo hint [OPTIONS] NAME"] if is_wrong_use else [])
    assert _poll().hints == Hints()


def test_help_teaches_how_jobs_advise_themselves() -> None:
    text = _hint("--help").stdout
    assert "::halo every=5m" in text
    assert "halo hint poll --clear" in text
