"""Several schedules of a job in the terminal: add, show, list, next, why, edit, export and preview."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from halo_scheduler import Cron, Every, Job, Several
from halo_scheduler.cli import halo
from halo_scheduler.model import Calendar, Shift
from halo_scheduler.service.scheduler import Scheduler

_TEA = ("--cron", "0 9 * * *", "--cron", "30 14 * * *", "--tz", "UTC")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _halo(*arguments: str) -> str:
    result = CliRunner().invoke(halo, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def _tea(*options: str) -> Job:
    _halo("add", "tea", *(options or _TEA), "--", "true")
    return _job()


def _job() -> Job:
    with Scheduler.open() as scheduler:
        (job,) = scheduler.list_jobs()
        return job


def _data(*arguments: str) -> Any:
    return json.loads(_halo(*arguments, "--json"))


def test_several_options_are_one_job() -> None:
    words = _halo("add", "tea", *_TEA, "--every", "6h", "--", "true")
    assert "added tea: every 6 hours; at 09:00 every day (UTC); at 14:30 every day (UTC)" in words
    job = _job()
    assert [entry.key for entry in job.schedules] == ["1", "2", "3"]


def test_show_lists_each_with_its_key_and_json_has_the_list() -> None:
    _tea()
    shown = _halo("show", "tea")
    assert "1: at 09:00 every day (UTC)" in shown
    assert "2: at 14:30 every day (UTC)" in shown
    data = _data("show", "tea")
    assert data["schedule"] is None
    assert [(entry["key"], entry["cron"]) for entry in data["schedules"]] == [
        ("1", "0 9 * * *"),
        ("2", "30 14 * * *"),
    ]
    assert data["next_keys"] in (["1"], ["2"])


def test_list_has_short_words() -> None:
    _halo("add", "tea", "--cron", "0 9 * * *", "--cron", "30 14 * * *", "--", "true")
    assert "daily 09:00, 14:30" in _halo("list")


def test_next_has_the_times_of_all() -> None:
    _tea()
    runs = _data("next", "-n", "4")
    clocks = {run["at"] // 60_000 % (24 * 60) for run in runs}
    assert clocks == {9 * 60, 14 * 60 + 30}
    assert {run["source"] for run in runs} == {"cron"}


def test_why_names_the_schedule_of_the_next_run() -> None:
    job = _tea()
    words = "at 09:00 every day (UTC)" if job.next_keys == ("1",) else "at 14:30 every day (UTC)"
    assert f"({words})." in _halo("why", "tea")


def test_edit_replaces_all_and_keeps_the_keys_of_those_that_stay() -> None:
    _tea()
    _halo("edit", "tea", "--cron", "30 14 * * *", "--cron", "0 18 * * *")
    job = _job()
    assert [(entry.key, entry.schedule) for entry in job.schedules] == [
        ("2", Cron("30 14 * * *", "UTC")),
        ("1", Cron("0 18 * * *", "UTC")),
    ]
    _halo("edit", "tea", "--tz", "Europe/Berlin")
    assert {entry.schedule.timezone for entry in _job().schedules if isinstance(entry.schedule, Cron)} == {
        "Europe/Berlin"
    }
    _halo("edit", "tea", "--description", "x")
    assert isinstance(_job().schedule, Several)
    _halo("edit", "tea", "--every", "2h")
    assert _job().schedule == Every("2h")


def test_export_and_apply_keep_several_schedules(tmp_path: Path) -> None:
    before = _tea(*_TEA, "--every", "1h", "--anchor", "2026-11-18 03:00")
    text = _halo("export")
    assert "version: 2" in text
    assert "schedules:" in text
    assert "key:" not in text
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "tea.yaml").write_text(text)
    _halo("remove", "tea", "--yes")
    _halo("import", str(folder / "tea.yaml"), "--yes")
    after = _job()
    assert (after.schedule, after.anchor_at) == (before.schedule, before.anchor_at)


def test_a_file_with_one_schedule_is_written_as_before() -> None:
    _halo("add", "one", "--every", "15m", "--", "true")
    text = _halo("export")
    assert "version: 1\n" in text
    assert "every: 15m" in text
    assert "schedules" not in text


def test_a_file_names_its_keys_and_refuses_both_forms(tmp_path: Path) -> None:
    file = tmp_path / "tea.yaml"
    file.write_text(
        "version: 2\njobs:\n- name: tea\n  action: {kind: command, argv: ['true']}\n  schedules:\n"
        "  - {key: morning, cron: 0 9 * * *}\n  - {every: 2h, anchor: '2026-11-18T03:00:00Z'}\n"
    )
    result = CliRunner().invoke(halo, ["import", str(file), "--yes"])
    assert result.exit_code == 0, result.output
    entries = _job().schedules
    assert [entry.key for entry in entries] == ["morning", "1"]
    assert entries[1].anchor_at == 1_794_970_800_000
    file.write_text(
        "version: 2\njobs:\n- name: other\n  action: {kind: command, argv: ['true']}\n  schedule: manual\n"
        "  schedules: [{every: 1h}]\n"
    )
    refused = CliRunner().invoke(halo, ["import", str(file), "--yes"])
    assert "give either schedule, schedules or when" in refused.output


def test_a_crontab_has_a_line_for_each() -> None:
    _tea("--cron", "0 9 * * *", "--cron", "30 14 * * *")
    text = _halo("export", "--format", "crontab")
    assert "\n0 9 * * * true" in text
    assert "\n30 14 * * * true" in text


def test_preview_shows_the_times_of_all() -> None:
    words = _halo("preview", *_TEA, "--from", "2027-03-27T12:00:00Z", "-n", "3")
    assert words.startswith("at 09:00 every day (UTC); at 14:30 every day (UTC)\n")
    assert (
        words.index("27 Mar 2027 14:30") < words.index("28 Mar 2027 09:00") < words.index("28 Mar 2027 14:30")
    )
    both = _data("preview", "--after", "5m", "--cron", "0 9 * * *", "-n", "3")
    assert len(set(both["runs"])) == 3


def test_the_overlap_policy_is_edited_for_all_schedules_and_shown() -> None:
    job = _tea("--every", "15m", "--after", "5m", "--on-overlap", "queue")
    assert [entry.on_overlap for entry in job.schedules] == ["queue", None]
    assert "1: every 15 minutes, queued if the job still runs" in _halo("show", "tea")
    _halo("edit", "tea", "--on-overlap", "restart")
    assert [entry.on_overlap for entry in _job().schedules] == ["restart", None]
    assert _data("show", "tea")["schedules"][0]["on_overlap"] == "restart"
    assert "on_overlap: restart" in _halo("export", "--format", "yaml")


def test_nothing_overlaps_with_a_manual_job() -> None:
    result = CliRunner().invoke(halo, ["add", "tea", "--manual", "--on-overlap", "queue", "--", "true"])
    assert result.exit_code == 2
    assert "--on-overlap needs --every, --cron, --once, an event or times in --when" in result.output


# --- First and last days -------------------------------------------------------------------------------


def test_the_first_and_the_last_day_are_options() -> None:
    job = _tea(*_TEA, "--from-date", "1 May 2097", "--until-date", "2097-12-31")
    assert {(entry.from_date, entry.until_date) for entry in job.schedules} == {("2097-05-01", "2097-12-31")}
    assert "1: at 09:00 every day, from 1 May 2097 until 31 Dec 2097 (UTC)" in _halo("show", "tea")
    _halo("edit", "tea", "--from-date", "none")
    assert {(entry.from_date, entry.until_date) for entry in _job().schedules} == {(None, "2097-12-31")}
    _halo("edit", "tea", "--until-date", "none", "--cron", "0 9 * * *")
    assert _job().schedule == Cron("0 9 * * *", timezone="UTC")


def test_days_in_words_are_kept_and_shown() -> None:
    _halo("add", "tea", "--when", "every day at 9 and 14:30 until 31 Dec 2097", "--tz", "UTC", "--", "true")
    assert {entry.until_date for entry in _job().schedules} == {"2097-12-31"}
    _halo("edit", "tea", "--when", "every day at 9 until 31 Dec 2097")
    assert "daily 09:00 (UTC), until 31 Dec 2097" in _halo("list")
    found = _data("preview", "--when", "every day at 9 from 31 Dec 2097 to 1 Jan 2098 (UTC)", "-n", "9")
    assert len(found["runs"]) == 2


def test_a_single_run_keeps_out_of_the_days_of_other_schedules() -> None:
    job = _tea("--every", "1d", "--once", "2097-12-24 18:00", "--until-date", "2097-12-31")
    assert [entry.until_date for entry in job.schedules] == ["2097-12-31", None]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--once", "in 1h", "--until-date", "2097-01-01"), "days need --every, --after, --cron or --when"),
        (("--manual", "--from-date", "2097-01-01"), "days need --every, --after, --cron or --when"),
        (("--every", "1h", "--from-date", "soon"), "--from-date: write a date like 2027-05-01"),
        (("--every", "1h", "--until-date", "9:00"), "--until-date: write a date like 2027-05-01"),
        (("--every", "1h", "--until-date", "2020-01-01"), "--until-date: this time is in the past"),
        (
            ("--every", "1h", "--from-date", "2098-01-01", "--until-date", "2097-01-01"),
            "--until-date: must not be before the first day, 2098-01-01",
        ),
    ],
)
def test_impossible_days_are_refused(options: tuple[str, ...], reason: str) -> None:
    result = CliRunner().invoke(halo, ["add", "tea", *options, "--", "true"])
    assert result.exit_code != 0
    assert reason in f"{result.output}{result.exception}"


def test_a_crontab_notes_that_it_loses_limited_days() -> None:
    _tea(*_TEA, "--until-date", "2097-12-31")
    assert "# not kept: the days it is limited to" in _halo("export", "--format", "crontab")


def test_a_crontab_cannot_express_the_overlap_policy() -> None:
    _tea("--cron", "0 9 * * *", "--on-overlap", "queue")
    assert "# not kept: what it does on overlap" in _halo("export", "--format", "crontab")


# --- Calendars -----------------------------------------------------------------------------------------


def test_excluded_days_are_options() -> None:
    options = ("--cron", "0 9 1 * *", "--tz", "UTC", "--only-on", "weekdays", "--not-on", "24 Dec 2097")
    (entry,) = _tea(*options, "--not-on", "2097-12-31", "--shift", "next").schedules
    assert entry.calendar == Calendar(
        only=("weekdays",), excluded=("2097-12-24", "2097-12-31"), shift=Shift.NEXT
    )
    assert "not on 24 Dec 2097 or 31 Dec 2097, moved to the next allowed day (UTC)" in _halo("show", "tea")
    _halo("edit", "tea", "--shift", "none", "--not-on", "none")
    assert _job().schedules[0].calendar == Calendar(only=("weekdays",))
    _halo("edit", "tea", "--only-on", "none")
    assert _job().schedule == Cron("0 9 1 * *", timezone="UTC")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--every", "1h", "--not-on", "sunday"), "--not-on: write a date like 2027-05-01"),
        (("--every", "1h", "--only-on", "2020-01-01"), "--only-on: this time is in the past"),
        (("--every", "1h", "--shift", "next"), "--shift: needs excluded days"),
        (("--every", "1h", "--not-on", "weekends", "--shift", "next"), "--shift needs fixed times"),
        (("--cron", "0 9 * * SAT", "--only-on", "weekdays"), "none of its times is on these days"),
    ],
)
def test_impossible_calendars_are_refused(options: tuple[str, ...], reason: str) -> None:
    result = CliRunner().invoke(halo, ["add", "tea", *options, "--", "true"])
    assert result.exit_code != 0
    assert reason in f"{result.output}{result.exception}"
