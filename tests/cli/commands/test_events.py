"""Events in the terminal: add, show, list, why, preview and edit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import Every, Job, OnFile, OnSession, OnWebhook, ScheduleError
from halo_scheduler.cli import halo
from halo_scheduler.model import FileEvent, SessionEvent
from halo_scheduler.service.scheduler import Scheduler

pytestmark = pytest.mark.usefixtures("stand_in_watchers")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _invoke(*arguments: str) -> Result:
    return CliRunner().invoke(halo, arguments, catch_exceptions=False)


def _halo(*arguments: str) -> str:
    result = _invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def _job() -> Job:
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        return job


def _data(*arguments: str) -> Any:
    return json.loads(_halo(*arguments, "--json"))


def test_a_job_starts_when_files_appear() -> None:
    said = _halo("add", "sort", "--on-file", "~/Inbox", "--match", "*.pdf", "--settle", "10s", "--", "true")
    assert "added sort: when a file named *.pdf appears in ~/Inbox and is unchanged for 10 seconds" in said
    assert _job().schedule == OnFile("~/Inbox", "*.pdf", settle="10s")


def test_a_relative_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _halo("add", "sort", "--on-file", "in", "--file-event", "vanishes", "--", "true")
    assert _job().schedule == OnFile(str(tmp_path / "in"), on=FileEvent.VANISHES)


def test_events_may_be_repeated_and_are_combined_with_times() -> None:
    options = ("--every", "1h", "--on", "login", "--on", "boot", "--delay", "5m", "--webhook")
    _halo("add", "job", *options, "--on-overlap", "latest", "--", "true")
    assert tuple(entry.schedule for entry in _job().schedules) == (
        Every("1h"),
        OnSession(SessionEvent.LOGIN, "5m"),
        OnSession(SessionEvent.BOOT, "5m"),
        OnWebhook(),
    )


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (("--match", "*.pdf"), "--match needs --on-file"),
        (("--file-event", "changes"), "--file-event needs --on-file"),
        (("--settle", "1s"), "--settle needs --on-file"),
        (("--delay", "5m"), "--delay needs --on"),
        (("--on", "logout"), "'logout' is not one of 'login', 'boot'"),
        (("--webhook", "--manual"), "--manual needs no other schedule"),
        ((), "--on-file, --on, --webhook, --chat or --manual"),
    ],
)
def test_wrong_options_are_refused_by_their_name(options: tuple[str, ...], refusal: str) -> None:
    result = _invoke("add", "job", *options, "--", "true")
    assert result.exit_code == 2
    assert refusal in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (("--on-file", "~/in", "--match", "a/b"), "--match: must be a pattern for names"),
        (("--on-file", "~/in", "--settle", "x"), "--settle: cannot read the interval"),
        (("--on", "login", "--delay", "x"), "--delay: cannot read the interval"),
    ],
)
def test_wrong_values_are_refused_with_their_option(options: tuple[str, ...], refusal: str) -> None:
    with pytest.raises(ScheduleError, match=refusal):
        _invoke("add", "job", *options, "--", "true")


def test_listings_name_the_event() -> None:
    _halo("add", "job", "--on", "login", "--", "true")
    assert "on login" in _halo("list")
    assert "at login" in _halo("show", "job")
    assert "It runs at login." in _halo("why", "job")
    assert _data("show", "job")["schedule"] == {"kind": "session", "on": "login", "delay": None}
    assert "no upcoming runs" in _halo("next")


def test_a_preview_shows_the_event_in_words() -> None:
    assert _halo("preview", "--on", "wake") == "when the computer wakes up\n"


def test_an_edit_changes_the_event() -> None:
    _halo("add", "job", "--on", "login", "--", "true")
    _halo("edit", "job", "--on-file", "~/in")
    assert _job().schedule == OnFile("~/in")
