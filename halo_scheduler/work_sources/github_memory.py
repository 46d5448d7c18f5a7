"""Caches GitHub's responses between runs: unchanged pages, and the rate limit."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.model.actions import GithubSource
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.work_sources.item import Item, SourceError

if TYPE_CHECKING:
    from halo_scheduler.work_sources.web import Answer

_MOST_PAGES = 64
_MOST_LIMITS = 64
_LONGEST_WAIT_MS = 24 * 3_600 * SECOND_MS
_WAIT_UNTOLD_MS = 60 * SECOND_MS
_FORBIDDEN, _TOO_MANY = 403, 429
_LONGEST_NUMBER = 12

_Key = TypeVar("_Key")
_Kept = TypeVar("_Kept")


@dataclass(frozen=True, slots=True)
class Page:
    """A cached page of issues and its ETag."""

    etag: str
    items: tuple[Item, ...]
    next_url: str


@dataclass(frozen=True, slots=True)
class _Limit:
    """The remaining requests and when the limit resets."""

    remaining: int
    until: int


class GithubMemory:
    """A cache shared by all sources and threads of a work desk; the oldest entries are evicted first."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._pages: _Recent[tuple[GithubSource, str], Page] = _Recent(_MOST_PAGES)
        self._commented: _Recent[str, bool] = _Recent(_MOST_PAGES)
        # Requests are counted for each token, whatever repository they are about.
        self._limits: _Recent[tuple[str, str], _Limit] = _Recent(_MOST_LIMITS)

    def has_commented(self, key: str) -> bool:
        """Tell whether the comment of a claim was posted."""
        return self._commented.get(key) is not None

    def keep_commented(self, key: str) -> None:
        self._commented.put(key, True)

    def page(self, source: GithubSource, url: str) -> Page | None:
        """Return a cached page."""
        return self._pages.get((source, url))

    def keep_page(self, source: GithubSource, url: str, page: Page) -> None:
        """Cache a page."""
        self._pages.put((source, url), page)

    def require_requests(self, source: GithubSource, needed: int) -> None:
        """Refuse work that needs more requests than remain."""
        limit, now_ms = self._limits.get(_counted_for(source)), self._now_ms()
        # An end in the far future dates from before the clock was set back.
        if (
            limit is None
            or limit.remaining >= needed
            or not now_ms < limit.until <= now_ms + _LONGEST_WAIT_MS
        ):
            return
        raise SourceError(
            message(MessageKind.RATE_LIMIT, until=limit.until, has_some_left=limit.remaining > 0)
        )

    def note_limit(self, source: GithubSource, answer: Answer, said: str) -> bool:
        """Record the rate limit from a response; return whether the request was refused because of it."""
        now_ms = self._now_ms()
        refused_for_ms = _refused_for_ms(answer, said, now_ms)
        if refused_for_ms is not None:
            self._limits.put(_counted_for(source), _Limit(0, now_ms + refused_for_ms))
            return True
        known = self._limits.get(_counted_for(source))
        if known is not None and known.remaining == 0 and known.until > now_ms:
            return False  # An answer that was on its way when another was refused changes nothing.
        remaining, reset = _number(answer, "x-ratelimit-remaining"), _number(answer, "x-ratelimit-reset")
        if remaining is not None and reset is not None:
            self._limits.put(_counted_for(source), _Limit(remaining, now_ms + _within_a_day(reset, now_ms)))
        return False


def _counted_for(source: GithubSource) -> tuple[str, str]:
    return source.base_url, source.token


def _refused_for_ms(answer: Answer, said: str, now_ms: int) -> int | None:
    """Return how long to stop sending requests; None if the response is not about the rate limit."""
    if answer.status not in {_FORBIDDEN, _TOO_MANY}:
        return None
    if (wait_s := _number(answer, "retry-after")) is not None:
        return min(max(wait_s, 1) * SECOND_MS, _LONGEST_WAIT_MS)
    reset = _number(answer, "x-ratelimit-reset")
    if _number(answer, "x-ratelimit-remaining") == 0 and reset is not None:
        return _within_a_day(reset, now_ms)
    is_limit = answer.status == _TOO_MANY or "rate limit" in said.lower()
    return _WAIT_UNTOLD_MS if is_limit else None


def _within_a_day(reset_s: int, now_ms: int) -> int:
    return min(max(reset_s * SECOND_MS - now_ms, SECOND_MS), _LONGEST_WAIT_MS)


def _number(answer: Answer, header: str) -> int | None:
    text = answer.headers.get(header, "").strip()
    is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_number else None


class _Recent(Generic[_Key, _Kept]):
    """A cache of limited size that evicts the least recently used entry."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key) -> _Kept | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: _Key, kept: _Kept) -> None:
        with self._lock:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
