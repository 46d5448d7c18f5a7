"""What a job says about itself in whole lines of its output: what it cost, what it asks, when it wants to run next.

A line counts from its first character to its last, and only if it has at most 16 KiB.
"""

from __future__ import annotations

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
from halo_scheduler.model import Proposal
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
_TOO_MANY = f"it said more than {_MOST_LINES:,} lines about itself; the rest was not read"
_LONGEST_QUESTION = 2_000
_LONGEST_SHOWN = 80
_LONGEST_LINE = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDirective:
    """The keys that were given; what was not has its default only in the end, as more may follow."""

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
        """Return what holds after more was said: the later counts, key by key."""
        given = {item.name: getattr(later, item.name) for item in fields(later)}
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    @property
    def proposal(self) -> Proposal | None:
        """What it comes to; None if nothing was proposed."""
        if self.every_ms is None and self.next_ms is None:
            return None
        return Proposal(
            every_ms=self.every_ms,
            next_ms=self.next_ms,
            ttl_ms=HOUR_MS if self.ttl_ms is None else self.ttl_ms,
            reason=self.reason or "",
        )


def read_wish(pairs: Sequence[tuple[str, str]]) -> ScheduleDirective:
    """Return what some keys and their values say, in whatever order; ScheduleError tells what is wrong."""
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ScheduleError("a key is there twice")
    for key in given:
        if key not in _KEYS:
            raise ScheduleError(f"there is no key {shown(key)}; known are {', '.join(_KEYS)}")
    if "every" not in given and "next" not in given:
        raise ScheduleError("it needs an every, a next, or both")
    found = {
        f"{key}_ms": require_interval(key, given[key]) for key in ("every", "next", "ttl") if key in given
    }
    if "ttl_ms" in found:
        require_ttl(found["ttl_ms"])
    reason = printed_line(given["reason"], LONGEST_REASON) if "reason" in given else None
    return ScheduleDirective(reason=reason, **found)


def pairs_in(text: str) -> list[tuple[str, str]]:
    """Return the keys and values behind `::halo`; ScheduleError when they are not written as they should be."""
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
    """What some lines said, added up; `fault` is a sentence on the first of them that could not be read."""

    cost: float | None = None
    question: str = ""
    fault: str = ""
    wish: ScheduleDirective = NO_SCHEDULE_DIRECTIVE

    @property
    def proposal(self) -> Proposal | None:
        """What it proposed about its own job."""
        return self.wish.proposal

    def and_then(self, later: Directives) -> Directives:
        """Return what was said before and after."""
        costs = [cost for cost in (self.cost, later.cost) if cost is not None]
        questions = "\n".join(text for text in (self.question, later.question) if text)
        return Directives(
            cost=round(sum(costs), 9) if costs else None,
            question=questions[:_LONGEST_QUESTION],
            fault=self.fault or later.fault,
            wish=self.wish if later.wish is NO_SCHEDULE_DIRECTIVE else self.wish.and_then(later.wish),
        )

    def without_secrets(self, redactor: Redactor) -> Directives:
        """Return the same without secrets that can be seen only in a text as it is shown."""
        reason = self.wish.reason
        return replace(
            self,
            question=redactor.text(self.question)[:_LONGEST_QUESTION],
            fault=redactor.text(self.fault),
            wish=replace(self.wish, reason=redactor.text(reason)[:LONGEST_REASON]) if reason else self.wish,
        )


NO_DIRECTIVES = Directives()


class LineReader:
    """Takes in an output piece by piece, and every byte once; secrets are taken out of a line before it is read.

    Between two pieces it keeps no more than the beginning of a line that may be one of ours. What it has said by
    then is `said`.
    """

    def __init__(self, redactor: Redactor, directives: Directives = NO_DIRECTIVES) -> None:
        self._redactor = redactor
        self.directives = directives
        self._lines = 0
        # As if a line had just ended: the first one begins here too.
        self._held = b"\n"
        self._searched_to = 0

    @property
    def held_bytes(self) -> int:
        """How many bytes are kept for the next piece."""
        return len(self._held)

    @property
    def unread_bytes(self) -> int:
        """How many of the last bytes may be the beginning of a line that is still to be read."""
        return len(self._held) - self._searched_to

    def feed(self, piece: bytes) -> None:
        """Take in what follows."""
        self._search(self._held + piece, is_end=False)

    def leave_gap(self) -> None:
        """Go on behind a gap: somewhere in a line, and perhaps in a secret."""
        self.skip(self._redactor.reach)

    def skip(self, count: int) -> None:
        """Forget what came before; of what follows, begin to read only after so many bytes."""
        self._held, self._searched_to = b"", count

    def end(self) -> Directives:
        """Return all that was said: nothing follows."""
        self._search(self._held, is_end=True)
        return self.directives

    def _search(self, data: bytes, *, is_end: bool) -> None:
        """Read the lines that are whole; a secret in one of them may reach beyond it on both sides."""
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
        fault = _TOO_MANY if self._lines == _MOST_LINES else ""
        self.directives = self.directives.and_then(directives.without_secrets(self._redactor)).and_then(
            Directives(fault=fault)
        )

    def _keep(self, data: bytes, position: int, pending: int | None) -> None:
        """Keep what the next piece may continue, and as much before it as a secret can reach."""
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
        return _unreadable(line, f" ({error})")


def _unreadable(line: bytes, why: str = "") -> Directives:
    shown = printed_line(line[:_LONGEST_LINE].decode(errors="replace"), _LONGEST_SHOWN)
    return Directives(fault=f"a line of its output could not be read: {shown}{why}")
