"""Stores the days of calendars, and replans the jobs whose days have changed."""

from __future__ import annotations

from collections.abc import Container, Iterable

from halo_scheduler.model import JobSpec, Schedule, Several
from halo_scheduler.model.calendars import Days
from halo_scheduler.model.schedules import day_sources, entries_of
from halo_scheduler.rules.edit import Edit
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store


def looked_up(schedule: Schedule | Several) -> Days:
    """Return the days that were looked up for schedules."""
    if not day_sources(schedule):
        return {}
    calendars = (entry.calendar for entry in entries_of(schedule))
    return {source: days for calendar in calendars for source, days in (calendar.days or {}).items()}


def affected_jobs(store: Store, sources: Iterable[str], now_ms: int) -> list[JobRecord]:
    """Return the jobs to replan because the days of sources changed; due slots and retries stay."""
    changed = frozenset(sources)
    if not changed:
        return []
    planned = (one for one in store.jobs.planned() if (one.next_run_at or 0) > now_ms and one.attempt == 1)
    waiting = (*planned, *store.jobs.unplanned())
    return [record for record in waiting if not changed.isdisjoint(day_sources(record.spec.schedule))]


def keep_days(edit: Edit, specs: Iterable[JobSpec], known: Container[str] = ()) -> None:
    """Store the days that were looked up for jobs, except `known` ones, and replan other jobs with the same sources."""
    found = {source: days for spec in specs for source, days in looked_up(spec.schedule).items()}
    table = edit.store.day_sources
    changed = [
        source
        for source, days in found.items()
        if source not in known and table.save(source, days, edit.now_ms)
    ]
    if changed:
        affected = affected_jobs(edit.store, changed, edit.now_ms)
        edit.save_each([(record, edit.plan(record)) for record in affected])
