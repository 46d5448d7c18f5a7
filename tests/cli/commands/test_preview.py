"""`halo preview`, in this process."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from cases import utc_ms
from click.testing import CliRunner

from halo_scheduler.cli.commands.preview import preview

_FROM = ("--from", "2027-03-27T12:00:00Z")

pytestmark = pytest.mark.usefixtures("machine_in_berlin")


def _show(*arguments: str) -> str:
    return CliRunner().invoke(preview, arguments, catch_exceptions=False).output


def _data(*arguments: str) -> Any:
    return json.loads(_show(*arguments, "--json"))


def test_shows_words_times_and_notes() -> None:
    assert _show("--cron", "30 2 * * *", "--tz", "Europe/Berlin", *_FROM, "-n", "2") == (
        "at 02:30 every day (Europe/Berlin)\n"
        "\n"
        "  Sun 28 Mar 2027 03:00\n"
        "  Mon 29 Mar 2027 02:30\n"
        "\n"
        "● On 28 Mar 2027 the clocks go forward from 02:00 to 03:00: "
        "the run at 02:30 will start at 03:00, once.\n"
    )


def test_times_are_those_of_the_machine_unless_a_zone_is_given() -> None:
    assert "Sun 28 Mar 2027 09:00" in _show("--cron", "0 9 * * *", *_FROM)
    assert "Sun 28 Mar 2027 09:00" in _show("--cron", "0 9 * * *", "--tz", "Asia/Tokyo", *_FROM)


def test_times_in_another_zone_are_shown_beside_local_ones() -> None:
    assert _show("--cron", "0 9 * * *", "--tz", "Asia/Tokyo", *_FROM, "-n", "2") == (
        "at 09:00 every day (Asia/Tokyo)\n"
        "\n"
        "  Asia/Tokyo               local time\n"
        "  Sun 28 Mar 2027 09:00    01:00\n"
        "  Mon 29 Mar 2027 09:00    02:00\n"
    )


def test_json_has_epoch_milliseconds() -> None:
    data = _data("--every", "5s", "--anchor", "2027-03-27T12:00:01Z", *_FROM, "-n", "2")
    assert data["schedule"] == {"kind": "every", "every": "5s"}
    assert data["description"] == "every 10 seconds"
    assert data["runs"] == [utc_ms("2027-03-27T12:00:01Z"), utc_ms("2027-03-27T12:00:11Z")]
    assert [note["code"] for note in data["notes"]] == ["interval-raised"]


def test_every_counts_from_now_unless_an_anchor_is_given() -> None:
    assert _data("--every", "15m", *_FROM, "-n", "1")["runs"] == [utc_ms("2027-03-27T12:15Z")]


def test_of_after_only_the_first_run_is_known() -> None:
    assert _data("--after", "5m", *_FROM)["runs"] == [utc_ms("2027-03-27T12:00Z")]


def test_once_is_read_as_typed() -> None:
    assert _data("--once", "tomorrow 9:00", *_FROM)["runs"] == [utc_ms("2027-03-28T07:00Z")]
    assert _data("--once", "in 1h", *_FROM)["runs"] == [utc_ms("2027-03-27T13:00Z")]


def test_manual_has_no_times() -> None:
    assert _show("--manual") == "manual only\n"


def test_a_preview_starts_now_by_default_and_shows_relative_times() -> None:
    assert _show("--every", "15m", "-n", "1").splitlines()[2].endswith("in 15 min")


@pytest.mark.parametrize("start", ["2020-03-27T12:00:00Z", "2027-03-27T12:00:00Z"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo"])
def test_runs_from_another_time_than_now_have_no_distance(start: str, zone: str) -> None:
    shown = _show("--cron", "0 * * * *", "--tz", zone, "--from", start)
    assert not re.search(r"\b(in|today|tomorrow|now|overdue)\b", shown)
