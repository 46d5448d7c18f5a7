"""Draw what a clock change does to a schedule, from the answers of `next_run` itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from zoneinfo import ZoneInfo

from halo_scheduler import Cron, Every, next_run
from halo_scheduler.model import Schedule

_ZONE = "Europe/Berlin"
_HOURS = 5
_LEFT, _WIDTH, _TOP, _ROW = 214, 560, 58, 40
_RADIUS = 6


@dataclass(frozen=True, slots=True)
class _Colours:
    text: str
    muted: str
    line: str
    dot: str
    band: str


THEMES = {
    "light": _Colours("#1f2430", "#667085", "#d0d5dd", "#3b5bdb", "#fff3bf"),
    "dark": _Colours("#e6e8ee", "#98a2b3", "#3a4150", "#91a7ff", "#4a4215"),
}


@dataclass(frozen=True, slots=True)
class _Picture:
    """A morning on which the clocks change, from an instant a while before."""

    title: str
    band: str
    begins: datetime
    changes: datetime


PICTURES = {
    "clocks-forward": _Picture(
        "28 March 2027, Berlin: at 02:00 the clocks go forward to 03:00",
        "02:00–03:00 doesn't exist",
        datetime(2027, 3, 27, 23, tzinfo=UTC),
        datetime(2027, 3, 28, 1, tzinfo=UTC),
    ),
    "clocks-back": _Picture(
        "31 October 2027, Berlin: at 03:00 the clocks go back to 02:00",
        "02:00–03:00 happens twice",
        datetime(2027, 10, 30, 23, tzinfo=UTC),
        datetime(2027, 10, 31, 1, tzinfo=UTC),
    ),
}
_ROWS: dict[str, Schedule] = {
    "fixed: 30 2 * * *": Cron("30 2 * * *", _ZONE),
    "wildcard: */30 * * * *": Cron("*/30 * * * *", _ZONE),
    "every 1h": Every("1h"),
}


def draw(name: str, theme: str) -> str:
    """Return a picture as SVG."""
    picture, colours = PICTURES[name], THEMES[theme]
    height = _TOP + _ROW * len(_ROWS) + 12
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 26} {height}" '
            'font-family="system-ui, sans-serif" font-size="13">'
        ),
        f"<title>{escape(picture.title)}</title>",
        _text(0, 16, picture.title, colours.text, 'font-weight="600"'),
        *_band(picture, colours, height),
        *_hours(picture, colours, height),
    ]
    for number, (label, schedule) in enumerate(_ROWS.items()):
        y = _TOP + _ROW * number + _ROW // 2
        parts.append(_text(0, y + 4, label, colours.text))
        parts.append(_line(_LEFT, y, _LEFT + _WIDTH, y, colours.line))
        parts += [
            f'<circle cx="{x:.1f}" cy="{y}" r="{_RADIUS}" fill="{colours.dot}"/>'
            for x in (_place(picture, at) for at in _runs(picture, schedule))
        ]
    return "\n".join([*parts, "</svg>", ""])


def write_all(folder: Path) -> None:
    """Write every picture in every theme."""
    for name in PICTURES:
        for theme in THEMES:
            (folder / f"{name}-{theme}.svg").write_text(draw(name, theme), encoding="utf-8")


def _band(picture: _Picture, colours: _Colours, height: int) -> list[str]:
    """Mark the instant of the change, or the hour that comes twice."""
    before = picture.changes - timedelta(hours=1)
    is_twice = _wall(before) == _wall(picture.changes)
    begins = _place(picture, before) if is_twice else _place(picture, picture.changes) - 3
    ends = _place(picture, picture.changes + timedelta(hours=1)) if is_twice else begins + 6
    middle = (begins + ends) / 2
    return [
        (
            f'<rect x="{begins:.1f}" y="{_TOP - 4}" width="{ends - begins:.1f}" height="{height - _TOP - 4}" '
            f'fill="{colours.band}"/>'
        ),
        _text(middle, 34, picture.band, colours.muted, 'text-anchor="middle" font-size="11"'),
    ]


def _hours(picture: _Picture, colours: _Colours, height: int) -> list[str]:
    parts = []
    for hour in range(_HOURS + 1):
        at = picture.begins + timedelta(hours=hour)
        x = _place(picture, at)
        parts.append(_line(x, _TOP - 4, x, height - 8, colours.line))
        parts.append(_text(x, 49, _wall(at), colours.muted, 'text-anchor="middle" font-size="11"'))
    return parts


def _runs(picture: _Picture, schedule: Schedule) -> list[datetime]:
    found: list[datetime] = []
    at: int | None = int(picture.begins.timestamp() * 1000) - 1
    while at is not None:
        at = next_run(schedule, at)
        moment = datetime.fromtimestamp((at or 0) / 1000, UTC)
        if moment > picture.begins + timedelta(hours=_HOURS):
            return found
        found.append(moment)
    return found


def _place(picture: _Picture, at: datetime) -> float:
    return _LEFT + (at - picture.begins) / timedelta(hours=_HOURS) * _WIDTH


def _wall(at: datetime) -> str:
    return at.astimezone(ZoneInfo(_ZONE)).strftime("%H:%M")


def _text(x: float, y: float, words: str, colour: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y}" fill="{colour}" {more}>{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}" stroke="{colour}"/>'
