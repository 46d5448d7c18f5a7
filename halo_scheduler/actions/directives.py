"""Directives: lines of output that begin with `::`, parsed once while the output grows.

A directive is a complete line of at most 16 KiB.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_interval, require_text, require_whole
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import HOUR_MS, MAX_INTERVAL_MS
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.text import printed_line
from halo_scheduler.host.disk_space import data_from, hole_from, read_at
from halo_scheduler.model import Proposal
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.model.plans import LONGEST_REASON, require_ttl

_KEYS = ("every", "next", "ttl", "reason")
_PAIR = re.compile(r'[ \t]+([A-Za-z0-9_.-]+)=(?:"((?:[^"\\]|\\["\\])*)"|([^ \t"]+))')
_ESCAPED = re.compile(r'\\(["\\])')
_EXPECTED = 'write it like ::halo every=5m ttl=1h reason="queue is long"'
_COST = re.compile(rb"::cost[ \t]+([0-9]{1,7}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})[ \t]*\r?", re.ASCII)
_QUESTION = re.compile(rb"::needs-input[ \t]+([^\r\n]*\S[^\r\n]*)\r?")
_PROPOSAL = re.compile(rb"::halo((?![A-Za-z0-9_-])[^\r\n]*)\r?")
_OURS = re.compile(rb"::(?:cost|needs-input|halo)(?![A-Za-z0-9_-])")
_BEGINNING = re.compile(rb"\n::(?:cost|needs-input|halo)(?![A-Za-z0-9_-])")
_LONGEST_BEGINNING = len(b"\n::needs-input")
_MOST_LINES = 10_000
_TOO_MANY = message(MessageKind.TOO_MANY_LINES, most=_MOST_LINES)
_LONGEST_QUESTION = 2_000
_LONGEST_SHOWN = 80
_LONGEST_LINE = 16_384
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDirective:
    """The keys of `::halo` lines so far; defaults are applied at the end, because more lines may follow."""

    every_ms: int | None = None
    next_ms: int | None = None
    ttl_ms: int | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        for name in ("every_ms", "next_ms", "ttl_ms"):
            if getattr(self, name) is not None:
                require_whole(name, getattr(self, name), 1, MAX_INTERVAL_MS)
        if self.reason is not None:
            require_text("reason", self.reason, longest=LONGEST_REASON)

    def and_then(self, later: ScheduleDirective) -> ScheduleDirective:
        """Return this updated with later keys."""
        given = {item.name: getattr(later, item.name) for item in fields(later)}
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    @property
    def proposal(self) -> Proposal | None:
        """The resulting hint; None if nothing was proposed."""
        if self.every_ms is None and self.next_ms is None:
            return None
        return Proposal(
            every_ms=self.every_ms,
            next_ms=self.next_ms,
            ttl_ms=HOUR_MS if self.ttl_ms is None else self.ttl_ms,
            reason=self.reason or "",
        )


def read_wish(pairs: Sequence[tuple[str, str]]) -> ScheduleDirective:
    """Parse keys and values in any order; ScheduleError says what is wrong."""
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ScheduleError("a key appears twice")
    for key in given:
        if key not in _KEYS:
            raise ScheduleError(f"there is no key {shown(key)}; known are {', '.join(_KEYS)}")
    if "every" not in given and "next" not in given:
        raise ScheduleError("it needs every, next or both")
    found = {
        f"{key}_ms": require_interval(key, given[key]) for key in ("every", "next", "ttl") if key in given
    }
    if "ttl_ms" in found:
        require_ttl(found["ttl_ms"])
    reason = printed_line(given["reason"], LONGEST_REASON) if "reason" in given else None
    return ScheduleDirective(reason=reason, **found)


def pairs_in(text: str) -> list[tuple[str, str]]:
    """Return the keys and values after `::halo`; ScheduleError on invalid syntax."""
    position, pairs = 0, []
    text = text.rstrip(" \t")
    while (match := _PAIR.match(text, position)) is not None:
        quoted = match[2]
        pairs.append((match[1], match[3] if quoted is None else _ESCAPED.sub(r"\1", quoted)))
        position = match.end()
    if position < len(text) or not pairs:
        raise ScheduleError(_EXPECTED)
    return pairs


NO_SCHEDULE_DIRECTIVE: Final = ScheduleDirective()


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """The directives of some lines, combined; `fault` is the note on the first invalid one."""

    cost: float | None = None
    question: str = ""
    fault: Message | None = None
    wish: ScheduleDirective = NO_SCHEDULE_DIRECTIVE

    @property
    def proposal(self) -> Proposal | None:
        """The hint of the run for its own job."""
        return self.wish.proposal

    def and_then(self, later: Directives) -> Directives:
        """Return the directives of both, in this order."""
        costs = [cost for cost in (self.cost, later.cost) if cost is not None]
        questions = "\n".join(text for text in (self.question, later.question) if text)
        return Directives(
            cost=round(sum(costs), 9) if costs else None,
            question=questions[:_LONGEST_QUESTION],
            fault=self.fault or later.fault,
            wish=self.wish if later.wish is NO_SCHEDULE_DIRECTIVE else self.wish.and_then(later.wish),
        )

    def without_secrets(self, redactor: Redactor) -> Directives:
        """Return the same without secrets that only become visible in the decoded text."""
        reason = self.wish.reason
        return replace(
            self,
            question=redactor.text(self.question)[:_LONGEST_QUESTION],
            fault=self.fault and self.fault.changing_text(redactor.text),
            wish=replace(self.wish, reason=redactor.text(reason)[:LONGEST_REASON]) if reason else self.wish,
        )


NO_DIRECTIVES = Directives()


class LineReader:
    """Parses output chunk by chunk, each byte once; secrets are redacted from a line before it is parsed.

    Between chunks it keeps only the beginning of a possible directive. `said` has the directives found so far.
    """

    def __init__(self, redactor: Redactor, directives: Directives = NO_DIRECTIVES) -> None:
        self._redactor = redactor
        self.directives = directives
        self._lines = 0
        # As if a line had just ended, so that the first line counts too.
        self._held = b"\n"
        self._searched_to = 0

    @property
    def held_bytes(self) -> int:
        """How many bytes are kept for the next chunk."""
        return len(self._held)

    @property
    def unread_bytes(self) -> int:
        """How many of the last bytes may be the beginning of an unfinished directive."""
        return len(self._held) - self._searched_to

    def feed(self, piece: bytes) -> None:
        """Parse the next chunk."""
        self._search(self._held + piece, is_end=False)

    def leave_gap(self) -> None:
        """Continue after a gap, which may end inside a line or a secret."""
        self.skip(self._redactor.reach)

    def skip(self, count: int) -> None:
        """Discard the state, and start parsing only after this many of the following bytes."""
        self._held, self._searched_to = b"", count

    def end(self) -> Directives:
        """Return all directives; no more output follows."""
        self._search(self._held, is_end=True)
        return self.directives

    def _search(self, data: bytes, *, is_end: bool) -> None:
        """Parse the complete lines; a secret in one of them may extend beyond it on both sides."""
        reach = self._redactor.reach
        position = self._searched_to
        pending: int | None = None
        while self._lines < _MOST_LINES and (match := _BEGINNING.search(data, position)) is not None:
            first = match.start() + 1
            end = data.find(b"\n", first, first + _LONGEST_LINE + 1)
            is_long = end < 0 and len(data) - first > _LONGEST_LINE
            if not is_end and not is_long and (end < 0 or len(data) < end + reach):
                pending = match.start()
                break
            position = min(len(data), first + _LONGEST_LINE) if end < 0 else end
            line = self._redacted(data, first, position)
            self._take(_unreadable(line) if is_long else _read_line(line))
        self._keep(data, position, pending)

    def _redacted(self, data: bytes, first: int, behind: int) -> bytes:
        reach = self._redactor.reach
        start = max(0, first - reach)
        return self._redactor.redacted(data[start : behind + reach], first - start, behind - start)

    def _take(self, directives: Directives) -> None:
        self._lines += 1
        fault = _TOO_MANY if self._lines == _MOST_LINES else None
        self.directives = self.directives.and_then(directives.without_secrets(self._redactor)).and_then(
            Directives(fault=fault)
        )

    def _keep(self, data: bytes, position: int, pending: int | None) -> None:
        """Keep what the next chunk may continue, with as much before it as a secret can span."""
        next_search = max(position, len(data) - _LONGEST_BEGINNING) if pending is None else pending
        cut = max(0, min(next_search, len(data)) - self._redactor.reach)
        self._held, self._searched_to = data[cut:], next_search - cut


def _read_line(line: bytes) -> Directives:
    if not _OURS.match(line):
        return NO_DIRECTIVES
    if len(line) <= _LONGEST_LINE:
        if (cost := _COST.fullmatch(line)) is not None:
            return Directives(cost=float(cost[1]))
        if (question := _QUESTION.fullmatch(line)) is not None:
            text = printed_line(question[1].decode(errors="replace"), _LONGEST_QUESTION)
            return Directives(question=text)
        if (proposal := _PROPOSAL.fullmatch(line)) is not None:
            return _read_proposal(line, proposal[1])
    return _unreadable(line)


def _read_proposal(line: bytes, directives: bytes) -> Directives:
    try:
        return Directives(wish=read_wish(pairs_in(directives.decode(errors="replace"))))
    except ScheduleError as error:
        return _unreadable(line, str(error))


def _unreadable(line: bytes, why: str = "") -> Directives:
    shown = printed_line(line[:_LONGEST_LINE].decode(errors="replace"), _LONGEST_SHOWN)
    return Directives(fault=message(MessageKind.UNREADABLE_LINE, line=shown, why=why))


@dataclass(frozen=True, slots=True)
class Heard:
    """How far an output was read, and the directives found up to there."""

    position: int = 0
    said: Directives = NO_DIRECTIVES


class Hearing:
    """Reads the directives of an output while it is being written."""

    def __init__(self, redactor: Redactor, before: Heard) -> None:
        self._reader = LineReader(redactor, before.said)
        self._reach = redactor.reach
        # A secret may begin before the line it is in.
        self._position = max(0, before.position - self._reach)
        self._lowest = 0
        if before.position:
            self._reader.skip(before.position - self._position)

    @property
    def heard(self) -> Heard:
        """How far the output was read, with the directives so far."""
        return Heard(max(self._lowest, self._position - self._reader.unread_bytes), self._reader.directives)

    @property
    def needed_from(self) -> int:
        """The offset from which a successor needs the output."""
        return max(0, self.heard.position - self._reach)

    def is_behind(self, size: int) -> bool:
        """Return whether an output of this size has unread bytes."""
        return size != self._position

    def has_heard(self, size: int) -> bool:
        """Return whether the output was read up to this offset."""
        return self._position >= size

    def hear(self, descriptor: int, most_bytes: int) -> bool:
        """Read new output up to a limit; return whether there is more.

        Output written meanwhile does not count, so that a program that never pauses is not waited for.
        """
        if os.fstat(descriptor).st_size < self._position:
            self.skip_to(os.fstat(descriptor).st_size)
        while most_bytes > 0:
            start = data_from(descriptor, self._position)
            if start > self._position:
                self.skip_to(start)
            piece = read_at(descriptor, min(_CHUNK, most_bytes), start)
            # Checked after reading: the hole may have been punched in between.
            piece = piece[: hole_from(descriptor, start) - start]
            if not piece:
                self._pass_empty_end(descriptor)
                return False
            self._reader.feed(piece)
            self._position = start + len(piece)
            most_bytes -= len(piece)
        return True

    def _pass_empty_end(self, descriptor: int) -> None:
        """Skip to the end of an output that was only extended with a hole."""
        size = os.fstat(descriptor).st_size
        if hole_from(descriptor, self._position) == self._position < size:
            self.skip_to(size)

    def skip_to(self, position: int) -> None:
        """Continue at another offset: the output between is gone."""
        self._position = position
        self._reader.leave_gap()

    def pass_over(self, position: int, *, is_disk_full: bool) -> None:
        """Continue closer to the end, and note that much was not read."""
        if position > self._position:
            self.skip_to(position)
            fault = message(MessageKind.OUTPUT_NOT_SEARCHED, is_disk_full=is_disk_full)
            self._reader.directives = self._reader.directives.and_then(Directives(fault=fault))

    def follow_cut(self, at: int) -> None:
        """Continue where the output was truncated: what is written there follows what was read last."""
        self._position = self._lowest = at

    def end(self) -> Directives:
        """Return all directives; no more output follows."""
        return self._reader.end()
