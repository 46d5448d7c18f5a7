"""Several schedules of a job in the terminal: add, show, list, next, why, edit, export and preview."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from halo_scheduler import Cron, Every, Job, Several
from halo_scheduler.cli import halo
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
    assert "give either schedule or schedules" in refused.output


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
