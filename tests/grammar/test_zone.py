"""Time zones and their clock changes."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from cases import utc_ms
from hypothesis import given
from hypothesis import strategies as st
from timing import at_most_ms

from halo_scheduler import ScheduleError
from halo_scheduler.grammar import zone as zone_module
from halo_scheduler.grammar.zone import (
    CALENDAR_END_S,
    ClockChange,
    clock_changes,
    find_zone,
    machine_zone,
    offset_or_change,
    offset_s,
    read_machine_zone,
    to_instant,
    to_wall,
    wall_seconds,
    wall_time,
)

_BERLIN = ZoneInfo("Europe/Berlin")
_FORWARD = ClockChange(at_s=utc_ms("2027-03-28T01:00Z") // 1_000, before_s=3_600, after_s=7_200)
_BACK = ClockChange(at_s=utc_ms("2027-10-31T01:00Z") // 1_000, before_s=7_200, after_s=3_600)


def _wall_s(text: str) -> int:
    return utc_ms(text) // 1_000


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Mars/Phobos",
        "Europe",
        "../etc/passwd",
        "/etc/localtime",
        "Europe/Berlin\0",
        "\ud800",
        "x" * 10_000,
        "Europe//Berlin",
    ],
)
def test_a_bad_name_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(ScheduleError, match="unknown time zone") as caught:
        find_zone(name)
    assert len(str(caught.value)) < 200


@given(st.text())
def test_no_name_makes_the_search_stumble(name: str) -> None:
    with at_most_ms(50), suppress(ScheduleError):
        assert find_zone(name).key == name


@pytest.mark.usefixtures("machine_in_berlin")
def test_no_name_means_the_machines_zone() -> None:
    assert find_zone(None).key == "Europe/Berlin"


@pytest.mark.parametrize("nonsense", ["CET-1CEST", "Not/AZone"])
def test_an_unreadable_setting_falls_back_to_the_localtime_file_and_says_so(
    nonsense: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    target = tmp_path / "zoneinfo" / "Asia" / "Kolkata"
    target.parent.mkdir(parents=True)
    target.write_bytes(files("tzdata.zoneinfo.Asia").joinpath("Kolkata").read_bytes())
    (tmp_path / "localtime").symlink_to(target)
    monkeypatch.setattr(zone_module, "_LOCALTIME", tmp_path / "localtime")
    monkeypatch.setenv("TZ", nonsense)
    machine_zone.cache_clear()
    with caplog.at_level(logging.WARNING):
        found = machine_zone()
    machine_zone.cache_clear()
    assert found.key == "Asia/Kolkata"
    assert offset_s(found, 0) == 19_800
    assert "cannot be read" in caplog.text


def test_the_link_of_localtime_names_the_zone_without_loading_a_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "localtime").symlink_to("../usr/share/zoneinfo/Asia/Kolkata")
    monkeypatch.setattr(zone_module, "_LOCALTIME", tmp_path / "localtime")
    monkeypatch.setitem(sys.modules, "tzlocal", None)
    monkeypatch.delenv("TZ", raising=False)
    assert read_machine_zone().key == "Asia/Kolkata"


@pytest.mark.parametrize("target", [None, "/etc/alternatives/localtime"])
def test_a_localtime_without_a_name_is_left_to_the_library(
    target: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if target is not None:
        (tmp_path / "localtime").symlink_to(target)
    monkeypatch.setattr(zone_module, "_LOCALTIME", tmp_path / "localtime")
    monkeypatch.setattr("tzlocal.reload_localzone", lambda: _BERLIN)
    monkeypatch.delenv("TZ", raising=False)
    assert read_machine_zone() is _BERLIN


def test_without_any_setting_the_zone_is_utc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(zone_module, "_LOCALTIME", tmp_path / "missing")
    monkeypatch.setenv("TZ", "Not/AZone")
    machine_zone.cache_clear()
    assert machine_zone().key == "UTC"
    machine_zone.cache_clear()


def test_a_wall_time_is_skipped_or_repeated_by_its_clock_change() -> None:
    assert offset_or_change(_BERLIN, _wall_s("2027-03-28T01:59:59")) == 3_600
    assert offset_or_change(_BERLIN, _wall_s("2027-03-28T02:00:00")) == _FORWARD
    assert offset_or_change(_BERLIN, _wall_s("2027-03-28T02:59:59")) == _FORWARD
    assert offset_or_change(_BERLIN, _wall_s("2027-03-28T03:00:00")) == 7_200
    assert offset_or_change(_BERLIN, _wall_s("2027-10-31T02:00:00")) == _BACK
    assert offset_or_change(_BERLIN, _wall_s("2027-10-31T03:00:00")) == 3_600


def test_a_change_knows_the_wall_times_it_touches() -> None:
    assert (_FORWARD.is_forward, _BACK.is_forward) == (True, False)
    for change, day in ((_FORWARD, "2027-03-28"), (_BACK, "2027-10-31")):
        assert change.wall_start_s == _wall_s(f"{day}T02:00")
        assert change.wall_end_s == _wall_s(f"{day}T03:00")


def test_wall_times_become_instants() -> None:
    assert to_instant(_BERLIN, _wall_s("2027-01-01T00:00")) == _wall_s("2026-12-31T23:00")
    assert to_instant(_BERLIN, _wall_s("2027-03-28T02:30")) == _FORWARD.at_s
    assert to_instant(_BERLIN, _wall_s("2027-10-31T02:30")) == _wall_s("2027-10-31T00:30")


def test_half_an_hour_is_a_change_too() -> None:
    change = offset_or_change(ZoneInfo("Australia/Lord_Howe"), _wall_s("2026-10-04T02:15"))
    assert isinstance(change, ClockChange)
    assert change.after_s - change.before_s == 1_800


def test_the_changes_of_a_year_are_found() -> None:
    start = _wall_s("2027-01-01T00:00")
    assert list(clock_changes(_BERLIN, start, start + 365 * 86_400)) == [_FORWARD, _BACK]
    assert list(clock_changes(_BERLIN, _FORWARD.at_s, _BACK.at_s - 1)) == []
    assert list(clock_changes(_BERLIN, _FORWARD.at_s, _BACK.at_s)) == [_BACK]
    assert list(clock_changes(ZoneInfo("UTC"), start, start + 365 * 86_400)) == []


@given(
    st.integers(0, 4_000_000_000), st.sampled_from(["Europe/Berlin", "Pacific/Apia", "Asia/Kolkata", "UTC"])
)
def test_the_wall_clock_leads_back_to_the_instant_or_its_first_pass(instant_s: int, name: str) -> None:
    zone = ZoneInfo(name)
    back = to_instant(zone, to_wall(zone, instant_s))
    assert back == instant_s or to_wall(zone, back) == to_wall(zone, instant_s)
    assert back <= instant_s


@given(st.integers(0, 4_000_000_000))
def test_wall_seconds_are_the_inverse_of_wall_time(wall_s: int) -> None:
    assert wall_seconds(wall_time(wall_s)) == wall_s


@pytest.mark.parametrize(
    "name", ["Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Asia/Kathmandu"]
)
def test_the_offset_is_that_of_the_zone_around_each_clock_change(name: str) -> None:
    zone, year_s = ZoneInfo(name), utc_ms("2011-06-01T00:00Z") // 1_000
    changes = list(clock_changes(zone, year_s, year_s + 366 * 86_400))
    instants = [change.at_s + hours * 3_600 for change in changes for hours in range(-75, 76)]
    for instant_s in [year_s, *instants, *(change.at_s - 1 for change in changes)]:
        moment = datetime.fromtimestamp(instant_s, zone)
        assert timedelta(seconds=offset_s(zone, instant_s)) == moment.utcoffset()
        wall_s = wall_seconds(moment.replace(tzinfo=None))
        found = offset_or_change(zone, wall_s)
        assert found in changes if isinstance(found, ClockChange) else wall_s - found == instant_s


@pytest.mark.parametrize("instant_s", [-86_400, 0, CALENDAR_END_S - 1, CALENDAR_END_S + 86_400])
def test_the_offset_is_known_at_both_ends_of_the_calendar(instant_s: int) -> None:
    assert offset_s(ZoneInfo("Asia/Tokyo"), instant_s) == 9 * 3_600
