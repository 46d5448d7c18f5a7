"""Marks, times, durations and tables for the terminal."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import click

from halo_scheduler.grammar.english import short_date
from halo_scheduler.grammar.interval import HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.text import hidden_characters, is_shown_whole, shown_styled
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Outcome
from halo_scheduler.model.situation import SituationKind

if TYPE_CHECKING:
    from halo_scheduler.model.situation import Situation

_OUTCOMES = {
    Outcome.RUNNING: ("▸", "blue"),
    Outcome.SUCCESS: ("●", "green"),
    Outcome.FAILURE: ("■", "red"),
    Outcome.TIMEOUT: ("■", "red"),
    Outcome.CANCELLED: ("◌", None),
    Outcome.SKIPPED: ("◌", None),
    Outcome.MISSED: ("▲", "yellow"),
    Outcome.INTERRUPTED: ("■", "yellow"),
}
_KINDS = {
    SituationKind.RUNNING: ("▸", "blue"),
    SituationKind.NEEDS_INPUT: ("◆", "yellow"),
    SituationKind.WAITING: ("▲", "yellow"),
    SituationKind.DONE: ("◌", None),
    SituationKind.DISABLED: ("◌", None),
    SituationKind.PAUSED: ("⏸", None),
    SituationKind.CAPPED: ("▲", "yellow"),
    SituationKind.RETRYING: ("▲", "yellow"),
    SituationKind.FAILING: ("▲", "yellow"),
    SituationKind.READY: ("●", "green"),
}
ASKS = click.style("◆", fg="yellow")
"""The mark of an open question."""
WAITS = click.style("▲", fg="yellow")
"""The mark of a waiting run, and of warnings."""
NOT_RUNNING = 'Halo isn\'t running; start it with "halo" or "halo daemon"'
# Combining marks and format characters.
_TAKE_NO_ROOM = {"Mn", "Me", "Cf"}
_GAP = "  "
# Columns shrink to the first width, and only if that is not enough to the second.
_NARROW = 12
_NARROWEST = 3
_SHORT_ID = 8
_LEAST_COST = 0.0001


def outcome_mark(outcome: Outcome | None) -> str:
    """Return the mark of an outcome; a space for a job that has not run."""
    return " " if outcome is None else click.style(_OUTCOMES[outcome][0], fg=_OUTCOMES[outcome][1])


def status_mark(situation: Situation) -> str:
    """Return the mark of a job's status."""
    sign, colour = _KINDS[situation.kind]
    if situation.kind is SituationKind.DISABLED and situation.is_failing:
        sign, colour = "■", "red"
    return click.style(sign, fg=colour)


def warn_not_running() -> None:
    """Warn that nothing will start, because no engine is running."""
    click.echo(f"{WAITS} {NOT_RUNNING}", err=True)


def warn_read_only(refusal: str) -> None:
    """Warn that the database can only be read, with the reason."""
    if refusal:
        click.echo(f"{WAITS} {refusal}; showing what is stored", err=True)


def moment(at: int) -> str:
    """Return the local date and time of an instant."""
    local = local_time(at)
    return f"{short_date(local)} {local:%H:%M:%S}"


def duration(milliseconds: int | None) -> str:
    """Return a duration: "0.4 s", "12 s", "3 min 5 s", "2 h 10 min"."""
    if milliseconds is None:
        return ""
    if milliseconds < 10 * SECOND_MS:
        return f"{milliseconds / SECOND_MS:.1f} s"
    seconds = milliseconds // SECOND_MS
    if milliseconds < MINUTE_MS:
        return f"{seconds} s"
    if milliseconds < HOUR_MS:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds // 60 % 60} min"


def cost_words(cost: float) -> str:
    """Return an amount, without a currency because none is known: "0.12", "1,204.00", "0.0004"."""
    if 0 < cost < _LEAST_COST:
        return f"below {_LEAST_COST}"
    if cost >= 1:
        return f"{cost:,.2f}"
    # Amounts below a hundredth add up over a day.
    whole, _, part = f"{cost:.4f}".partition(".")
    return f"{whole}.{part[:2]}{part[2:].rstrip('0')}"


def short_id(run_id: str) -> str:
    """Return a prefix of an id that is long enough to find it."""
    return run_id[:_SHORT_ID]


def typed(name: str) -> str:
    """Return a name quoted for a shell."""
    quoted = _ansi_quoted(name) if not is_shown_whole(name) else shlex.quote(name)
    return f"-- {quoted}" if name.startswith("-") else quoted


def _ansi_quoted(name: str) -> str:
    """Return a name in $'…' quotes with invisible characters escaped."""
    signs = (
        sign if sign.isascii() or not hidden_characters(sign) else f"\\U{ord(sign):08x}" for sign in name
    )
    return "$'" + "".join(f"\\{sign}" if sign in "\\'" else sign for sign in signs) + "'"


def folded(text: str, indent: int) -> str:
    """Wrap a text to the terminal with a hanging indent; in a pipe it stays one line."""
    room = shutil.get_terminal_size().columns - indent if sys.stdout.isatty() else 0
    if room < _NARROW or _width(text) <= room:
        return text
    from textwrap import wrap  # noqa: PLC0415 - only for long texts

    lines = wrap(text, room, break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str] = ()) -> None:
    """Print aligned columns; on a terminal the widest ones shrink until the table fits.

    If that is not enough, the columns under the `spare` headings are dropped one by one.
    """
    cells = [headings, *([shown_styled(cell) for cell in row] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        kept = _kept(headings, widths, room, spare)
        cells = [[row[place] for place in kept] for row in cells]
        widths = _fitted([widths[place] for place in kept], room)
    lines = [_GAP.join(map(_padded, row, widths)).rstrip() for row in cells]
    # In one call: printing a thousand lines one by one takes as long as everything else.
    click.echo("\n".join([click.style(lines[0], dim=True), *lines[1:]]))


def print_json_list(items: Sequence[object]) -> None:
    """Print a list as JSON: indented on a terminal; in a pipe one item per line, which is faster."""
    if sys.stdout.isatty() or not items:
        click.echo(json.dumps(items, ensure_ascii=False, indent=2))
        return
    lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
    click.echo(f"[\n{lines}\n]")


def _kept(headings: Sequence[str], widths: list[int], room: int, spare: Sequence[str]) -> list[int]:
    """Return the indexes of the columns that fit."""
    kept = list(range(len(headings)))
    for heading in spare:
        least = sum(min(widths[place], _NARROW) for place in kept) + len(_GAP) * (len(kept) - 1)
        if least <= room:
            break
        kept.remove(headings.index(heading))
    return kept


def _fitted(widths: list[int], room: int) -> list[int]:
    fitted = list(widths)
    for narrowest in (_NARROW, _NARROWEST):
        while sum(fitted) + len(_GAP) * (len(fitted) - 1) > room and max(fitted) > narrowest:
            fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _padded(cell: str, width: int) -> str:
    room = width - _width(cell)
    return cell + " " * room if room >= 0 else _shortened(click.unstyle(cell), width)


def _shortened(text: str, width: int) -> str:
    """Shorten a text to a width, with an ellipsis."""
    taken = 0
    for index, sign in enumerate(text):
        if taken + _columns(sign) > width - 1:
            return f"{text[:index]}…{' ' * (width - 1 - taken)}"
        taken += _columns(sign)
    return text


@lru_cache(maxsize=4096)
def _width(text: str) -> int:
    """Return the width of a text in columns, without its colours."""
    plain = click.unstyle(text) if "\x1b" in text else text
    return len(plain) if plain.isascii() else sum(map(_columns, plain))


def _columns(sign: str) -> int:
    """Return the width of a character: two columns for East Asian ones, none for combining ones."""
    if unicodedata.category(sign) in _TAKE_NO_ROOM:
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1
