"""Advice on when a job runs next, as it is shown in a terminal."""

from __future__ import annotations

from halo_scheduler.model import Hints, Proposal
from halo_scheduler.wording.plans import ADVISERS, duration_in_words, moment_in_words, when_in_words


def hint_words(hints: Hints, now_ms: int) -> str:
    """Return the advice that still counts: "every 5 min, from you, until 14:05: queue is long"."""
    parts = [] if hints.interval_ms is None else [f"every {duration_in_words(hints.interval_ms)}"]
    parts += [] if hints.next_at is None else [f"a run {when_in_words(hints.next_at, now_ms)}"]
    if not parts or hints.expires_at is None or not hints.count_at(now_ms):
        return ""
    giver = "" if hints.source is None else f", from {ADVISERS[hints.source]}"
    reason = f": {hints.reason}" if hints.reason else ""
    return f"{' and '.join(parts)}{giver}, until {moment_in_words(hints.expires_at, now_ms)}{reason}"


def proposal_words(proposal: Proposal) -> str:
    """Return what a run proposed: "every 5 min for 1 h, the next after 10 min (queue is long)"."""
    parts = []
    if proposal.every_ms is not None:
        pace, ttl = duration_in_words(proposal.every_ms), duration_in_words(proposal.ttl_ms)
        parts.append(f"every {pace} for {ttl}")
    if proposal.next_ms is not None:
        parts.append(f"the next after {duration_in_words(proposal.next_ms)}")
    reason = f" ({proposal.reason})" if proposal.reason else ""
    return f"{', '.join(parts)}{reason}" if parts else ""
