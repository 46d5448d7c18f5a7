"""Words for hints, as a terminal shows them."""

from __future__ import annotations

from halo_scheduler.model import Hints, Proposal
from halo_scheduler.wording.measures import duration_in_words, moment_in_words, when_in_words
from halo_scheduler.wording.plans import ADVISERS


def hint_words(hints: Hints, now_ms: int) -> str:
    """Return the active hints: "every 5 min, from you, until 14:05: queue is long"."""
    left = hints.counting(now_ms)
    found: dict[tuple[str, str], list[str]] = {}
    for part in (left.parts(pace=True, run=False), left.parts(pace=False, run=True)):
        if part.expires_at is None:
            continue
        what = (
            f"every {duration_in_words(part.interval_ms)}"
            if part.interval_ms is not None
            else f"a run {when_in_words(part.next_at or 0, now_ms)}"
        )
        giver = "" if part.source is None else f", from {ADVISERS[part.source]}"
        ending = f"{giver}, until {moment_in_words(part.expires_at, now_ms)}"
        found.setdefault((ending, part.reason), []).append(what)
    return "; ".join(
        f"{' and '.join(what)}{ending}{f': {reason}' if reason else ''}"
        for (ending, reason), what in found.items()
    )


def proposal_words(proposal: Proposal) -> str:
    """Return the hint of a run: "every 5 min for 1 h, the next after 10 min (queue is long)"."""
    parts = []
    if proposal.every_ms is not None:
        pace, ttl = duration_in_words(proposal.every_ms), duration_in_words(proposal.ttl_ms)
        parts.append(f"every {pace} for {ttl}")
    if proposal.next_ms is not None:
        parts.append(f"the next after {duration_in_words(proposal.next_ms)}")
    reason = f" ({proposal.reason})" if proposal.reason else ""
    return f"{', '.join(parts)}{reason}" if parts else ""
