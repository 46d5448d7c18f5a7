"""Why a time of a schedule was excluded or moved: the schedule excludes its day."""

from __future__ import annotations

from collections.abc import Iterator

from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Schedule, Several
from halo_scheduler.model.schedules import day_sources
from halo_scheduler.schedule.days import left_out_times, moved_times
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.why.inquiry import Inquiry
from halo_scheduler.wording.day_sources import source_words, why_left_out
from halo_scheduler.wording.measures import moment_in_words, when_in_words

_LONGEST_TROUBLE = 300


def left_out_sentences(inquiry: Inquiry) -> list[str]:
    """Return the times in the span that were excluded or moved, and why."""
    span = inquiry.span
    sentences = []
    for found in left_out_times(inquiry.schedule, span.since, span.until, inquiry.spec.anchor_at):
        verb = "was" if found.at <= inquiry.now_ms else "is"
        what = "excluded" if found.moved_to is None else f"moved to {inquiry.moment(found.moved_to)}"
        why = why_left_out(found.entry, found.day)
        sentences.append(f"{_first_upper(inquiry.moment(found.at))} {verb} {what}: {why}.")
    return sentences


def moved_sentences(schedule: Schedule | Several, at: int | None, now_ms: int) -> list[str]:
    """Return which times moved to an instant, and why."""
    moved = () if at is None else moved_times(schedule, at)
    return [
        f"It was moved from {moment_in_words(found.at, now_ms)}: {why_left_out(found.entry, found.day)}."
        for found in moved
    ]


def trouble_with_days(store: Store, record: JobRecord, now_ms: int) -> Iterator[str]:
    """Yield the day sources of a job that could not be refreshed; the last days are still used."""
    sources = day_sources(record.spec.schedule)
    for stored in store.day_sources.all() if sources else ():
        if stored.source in sources and stored.trouble:
            words, text = source_words(stored.source), plain_line(stored.trouble, _LONGEST_TROUBLE)
            read = when_in_words(stored.read_at, now_ms)
            yield f"{_first_upper(words)} can't be refreshed: {text}. The days read {read} are still used."


def _first_upper(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"
