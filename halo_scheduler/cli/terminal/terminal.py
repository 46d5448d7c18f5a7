"""Marks, times, durations, tables and confirmations for the terminal."""

from __future__ import annotations

import gc
import json
import os
import shlex
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TextIO

import click

from halo_scheduler.grammar.english import MONTHS, short_date
from halo_scheduler.grammar.text import hidden_characters, is_shown_whole, shown_styled
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Outcome
from halo_scheduler.model.situation import SituationKind
from halo_scheduler.wording.status import awaited_words, status_words

if TYPE_CHECKING:
    from halo_scheduler.model.situation import Situation
    from halo_scheduler.service.scheduler import Scheduler


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
    SituationKind.TROUBLED: ("▲", "yellow"),
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
# Columns shrink to the first width, firm ones to the second, and only if that is not enough to the third.
_NARROW = 12
_FIRM = 24
_NARROWEST = 3
_SHORT_ID = 8
_TERMINAL = "/dev/tty"
_YES = {"y", "yes"}


def outcome_mark(outcome: Outcome | None) -> str:
    """Return the mark of an outcome; a space for a job that has not run."""
    return " " if outcome is None else _styled(*_OUTCOMES[outcome])


def status_mark(situation: Situation) -> str:
    """Return the mark of a job's status."""
    sign, colour = _KINDS[situation.kind]
    if situation.kind is SituationKind.DISABLED and situation.is_failing:
        sign, colour = "■", "red"
    return _styled(sign, colour)


@cache
def _styled(sign: str, colour: str | None) -> str:
    return click.style(sign, fg=colour)


def warn_not_running() -> None:
    """Warn that nothing will start, because no engine is running."""
    click.echo(f"{WAITS} {NOT_RUNNING}", err=True)


def warn_read_only(refusal: str) -> None:
    """Warn that the database can only be read, with the reason."""
    if refusal:
        click.echo(f"{WAITS} {refusal}; showing what is stored", err=True)


def open_to_read() -> Scheduler:
    """Open the default database; print a warning if it can only be read."""
    from halo_scheduler.service.scheduler import Scheduler  # noqa: PLC0415 - `halo list` does without it

    scheduler = Scheduler.open_to_read()
    warn_read_only(scheduler.refusal)
    return scheduler


def moment(at: int) -> str:
    """Return the local date and time of an instant."""
    local = local_time(at)
    return f"{short_date(local)} {local:%H:%M:%S}"


def short_moment(at: int, now_ms: int) -> str:
    """Return the local time of an instant for a narrow terminal; without the year, and today without the day."""
    local = local_time(at)
    is_today = local.date() == local_time(now_ms).date()
    return f"{local:%H:%M:%S}" if is_today else f"{local.day} {MONTHS[local.month - 1][:3]} {local:%H:%M}"


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
    room = _terminal_width() - indent if sys.stdout.isatty() else 0
    if room < _NARROW or _width(text) <= room:
        return text
    from textwrap import wrap  # noqa: PLC0415 - only for long texts

    lines = wrap(text, room, break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines)


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    spare: Sequence[str] = (),
    firm: Sequence[str] = (),
    short: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Print aligned columns; on a terminal the widest ones shrink until the table fits.

    Before that, columns get their `short` cells, and the columns under the `spare` headings are dropped one by one.
    Columns under `firm` headings shrink last.
    """
    columns = [_escaped(column) for column in zip(headings, *rows, strict=True)]
    cells = list(zip(*columns, strict=True))
    widths = [max(map(_width, column)) for column in columns]
    if sys.stdout.isatty():
        room = _terminal_width()
        if short and sum(widths) + len(_GAP) * (len(widths) - 1) > room:
            for heading, column in short.items():
                columns[headings.index(heading)] = _escaped((heading, *column))
            cells = list(zip(*columns, strict=True))
            widths = [max(map(_width, column)) for column in columns]
        kept = _kept(headings, widths, room, spare, firm)
        cells = [tuple(row[place] for place in kept) for row in cells]
        widths = _fitted([widths[place] for place in kept], room, [headings[place] in firm for place in kept])
    lines = [_GAP.join(map(_padded, row, widths)).rstrip() for row in cells]
    # In one call: printing a thousand lines one by one takes as long as everything else.
    click.echo("\n".join([click.style(lines[0], dim=True), *lines[1:]]))


def print_json_list(items: Sequence[object]) -> None:
    """Print a list as JSON: indented on a terminal; in a pipe one item per line, which is faster."""
    if sys.stdout.isatty() or not items:
        click.echo(json.dumps(items, ensure_ascii=False, indent=2))
        return
    lines = ",\n".join(map(json.JSONEncoder(ensure_ascii=False).encode, items))
    click.echo(f"[\n{lines}\n]")


def job_data(data: dict[str, object], situation: Situation, now_ms: int) -> dict[str, object]:
    """Return the JSON data of a job with its situation in words."""
    waiting = situation.waiting
    return {
        **data,
        "waiting_reason": "" if waiting is None else awaited_words(waiting, now_ms),
        "situation": status_words(situation, now_ms),
    }


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Turn garbage collection off: everything that is read is needed until the command ends."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


def _terminal_width() -> int:
    import shutil  # noqa: PLC0415 - 2 ms that a list in a pipe does without

    return shutil.get_terminal_size().columns


def _escaped(column: tuple[str, ...]) -> tuple[str, ...]:
    """Escape the invisible characters of a column; checking all cells at once is faster, and most have none."""
    text = "\n".join(set(column))
    return column if shown_styled(text) == text else tuple(map(shown_styled, column))


def _kept(
    headings: Sequence[str], widths: list[int], room: int, spare: Sequence[str], firm: Sequence[str]
) -> list[int]:
    """Return the indexes of the columns that fit."""
    kept = list(range(len(headings)))
    least = [
        min(width, _FIRM if heading in firm else _NARROW)
        for heading, width in zip(headings, widths, strict=True)
    ]
    for heading in spare:
        if sum(least[place] for place in kept) + len(_GAP) * (len(kept) - 1) <= room:
            break
        kept.remove(headings.index(heading))
    return kept


def _fitted(widths: list[int], room: int, are_firm: Sequence[bool]) -> list[int]:
    """Return the widths of columns that fit; firm ones shrink after the others."""
    fitted = list(widths)
    for narrowest, firm in ((_NARROW, False), (_FIRM, True), (_NARROWEST, False), (_NARROWEST, True)):
        places = [place for place, is_firm in enumerate(are_firm) if is_firm is firm]
        while places and sum(fitted) + len(_GAP) * (len(fitted) - 1) > room:
            widest = max(places, key=fitted.__getitem__)
            if fitted[widest] <= narrowest:
                break
            fitted[widest] -= 1
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


def confirm(question: str) -> bool | None:
    """Ask at the terminal, even if standard input is a file; None without a terminal."""
    terminal = _open_terminal()
    if terminal is None:
        return None
    sys.stdout.flush()
    with closing(terminal):
        os.write(terminal.fileno(), f"{question} [y/N]: ".encode())
        answer = terminal.readline()
        if not answer.endswith("\n"):
            os.write(terminal.fileno(), b"\n")
    return answer.strip().lower() in _YES


def require_yes(question: str) -> None:
    """Stop unless the user confirms at the terminal; scripts without a terminal need --yes."""
    answer = confirm(question)
    if answer is None:
        raise click.ClickException("nothing was changed: there is no terminal for the question; add --yes")
    if not answer:
        raise click.ClickException("nothing was changed")


def _open_terminal() -> TextIO | None:
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR | getattr(os, "O_NOCTTY", 0))
    except OSError:
        # Windows has no such file, and a process may have a terminal only as standard input.
        if not sys.stdin.isatty():
            return None
        descriptor = os.dup(sys.stdin.fileno())
    return os.fdopen(descriptor, encoding="utf-8", errors="replace")
