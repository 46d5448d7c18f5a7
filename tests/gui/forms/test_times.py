"""Instants as they are typed, and the anchors of intervals."""

from __future__ import annotations

import pytest

from halo_scheduler import Once
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.grammar.zone import local_time
from ui.forms.times import clock_words, iso_text, midnight, typed_text

_SUMMER = 1_784_000_000_000
_WINTER = 1_767_000_000_123


@pytest.mark.parametrize(
    ("every_ms", "words"),
    [
        (900_000, "on the quarter hour (00:00, 00:15, 00:30 …)"),
        (1_800_000, "on the half hour (00:00, 00:30, 01:00 …)"),
        (3_600_000, "on the hour (00:00, 01:00, 02:00 …)"),
        (7_200_000, "from midnight (00:00, 02:00, 04:00 …)"),
        (86_400_000, "at midnight"),
        (10_000, "from midnight"),
        (172_800_000, "from midnight"),
        (57_600_000, "from midnight (00:00, 16:00 …)"),
    ],
)
def test_round_times_have_a_name(every_ms: int, words: str) -> None:
    assert clock_words(every_ms) == words


@pytest.mark.usefixtures("machine_in_berlin")
@pytest.mark.parametrize("now_ms", [_SUMMER, _WINTER])
def test_midnight_is_the_machines(now_ms: int) -> None:
    at = midnight(now_ms)
    assert 0 <= now_ms - at < 86_400_000
    assert f"{local_time(at):%H:%M:%S}" == "00:00:00"


@pytest.mark.usefixtures("machine_in_berlin")
@pytest.mark.parametrize(
    ("at", "text"), [(_SUMMER, "2026-07-14T05:33:20+02:00"), (_WINTER, "2025-12-29T10:20:00+01:00")]
)
def test_an_instant_is_stored_with_its_offset(at: int, text: str) -> None:
    assert iso_text(at) == text
    assert Once(text).due_at == at // 1_000 * 1_000


@pytest.mark.parametrize(("zone", "text"), [("America/St_Johns", "-02:30"), ("Asia/Kathmandu", "+05:45")])
def test_odd_offsets_are_kept(monkeypatch: pytest.MonkeyPatch, zone: str, text: str) -> None:
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    monkeypatch.setattr("ui.forms.times.find_zone", lambda _name: ZoneInfo(zone))
    assert iso_text(_SUMMER).endswith(text)


@pytest.mark.usefixtures("machine_in_berlin")
@pytest.mark.parametrize("at", [_SUMMER, 1_784_001_600_000])
def test_an_instant_is_shown_in_the_form_in_which_it_is_typed(at: int) -> None:
    assert parse_when(typed_text(at), 0) == at
