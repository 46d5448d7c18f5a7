"""What a run proposes about its own job, read key by key from a line or from an object."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_interval, require_text, require_whole
from halo_scheduler.grammar.english import shown
from halo_scheduler.grammar.interval import HOUR_MS, MAX_INTERVAL_MS
from halo_scheduler.grammar.text import printed_line
from halo_scheduler.model import Proposal
from halo_scheduler.model.plans import LONGEST_REASON, require_ttl

_KEYS = ("every", "next", "ttl", "reason")
_PAIR = re.compile(r'[ \t]+([A-Za-z0-9_.-]+)=(?:"((?:[^"\\]|\\["\\])*)"|([^ \t"]+))')
_ESCAPED = re.compile(r'\\(["\\])')
_EXPECTED = 'write it like ::halo every=5m ttl=1h reason="queue is long"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
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

    def and_then(self, later: Wish) -> Wish:
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


NO_WISH: Final = Wish()


def read_wish(pairs: Sequence[tuple[str, str]]) -> Wish:
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
    return Wish(reason=reason, **found)


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
