"""Days that are looked up outside: stored with a job, refreshed daily, kept while they cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from machine import START, Bench

from halo_scheduler import Cron, Entry, ScheduleError, Several
from halo_scheduler.engine import maintenance
from halo_scheduler.engine.handle import Handle
from halo_scheduler.model import Calendar, JobStatus, Shift
from halo_scheduler.store.events import EventKind

_DAY = 24 * 3_600_000
_NINE = START + 9 * 3_600_000
_DAILY = Cron("0 9 * * *", timezone="UTC")

pytestmark = pytest.mark.usefixtures("machine_in_utc")


@pytest.fixture
def bench(
    tmp_path: Path,
    dead_processes: None,  # noqa: ARG001 - they die before it opens
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Bench]:
    # What other threads would do is done at once.
    monkeypatch.setattr(Handle, "submit", lambda _handle, work: work())
    found = Bench(tmp_path / "halo.db")
    yield found
    found.close()


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Return a calendar file without days."""
    return _written(tmp_path / "days.ics")


def _written(file: Path, *numbers: int) -> Path:
    """Write a calendar file with some days, counted from the start."""
    events = "".join(
        f"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:{_day(number).replace('-', '')}\r\nEND:VEVENT\r\n"
        for number in numbers
    )
    file.write_text(f"BEGIN:VCALENDAR\r\n{events}END:VCALENDAR\r\n")
    return file


def _day(number: int) -> str:
    return date.fromtimestamp((START + number * _DAY) / 1_000).isoformat()  # noqa: DTZ012 - the machine is in UTC


def _without(file: Path, **more: object) -> list[Entry]:
    return [Entry(_DAILY, calendar=Calendar(excluded=(f"ics {file}",), **more))]  # type: ignore[arg-type]


def _next(bench: Bench, job_id: str) -> int | None:
    return bench.job(job_id).next_run_at


def _refresh(bench: Bench) -> None:
    """Let a day pass, in which the days are looked up and stored."""
    bench.tick(_DAY)
    bench.tick()


def _kinds(bench: Bench, kind: EventKind) -> list[dict[str, object]]:
    return [event.detail for event in bench.scheduler._store.events.of_kinds(None, [kind])]


def test_a_saved_job_keeps_to_the_days_of_its_file(bench: Bench, days: Path) -> None:
    _written(days, 0, 1)
    job_id = bench.scheduler.add_job("tea", _without(days))
    assert _next(bench, job_id) == _NINE + 2 * _DAY
    days.unlink()
    # What the job has already is not read again.
    bench.scheduler.update_job(job_id, description="hot", schedule=_without(days, shift=Shift.NEXT))
    assert _next(bench, job_id) == _NINE + 2 * _DAY
    assert [found.slot_at for found in bench.tick(3 * _DAY)] == [_NINE + 2 * _DAY]


def test_an_unreadable_calendar_file_is_refused_at_save(bench: Bench, tmp_path: Path, days: Path) -> None:
    gone = tmp_path / "gone.ics"
    with pytest.raises(ScheduleError, match="cannot be read: No such file or directory") as error:
        bench.scheduler.add_job("tea", _without(gone))
    assert error.value.path == "schedule.not"
    job_id = bench.scheduler.add_job("tea", _without(days))
    with pytest.raises(ScheduleError, match="cannot be read") as error:
        bench.scheduler.update_job(job_id, schedule=[Entry(_DAILY), *_without(gone)])
    assert error.value.path == "schedules[1].not"
    with pytest.raises(ScheduleError, match="none of its times is on these days"):
        bench.scheduler.add_job("never", [Entry(_DAILY, calendar=Calendar(only=(f"ics {days}",)))])
    assert [job.name for job in bench.scheduler.list_jobs()] == ["tea"]
    assert [stored.source for stored in bench.scheduler._store.day_sources.all()] == [f"ics {days}"]


def test_days_are_refreshed_daily_and_jobs_replanned(bench: Bench, days: Path) -> None:
    job_id = bench.scheduler.add_job("tea", _without(days))
    bench.tick()
    assert _next(bench, job_id) == _NINE
    _written(days, 1)
    [run] = bench.tick(9 * 3_600_000)
    bench.end(run)
    assert _next(bench, job_id) == _NINE + _DAY
    bench.tick(15 * 3_600_000)
    bench.tick()
    assert _next(bench, job_id) == _NINE + 2 * _DAY
    assert _kinds(bench, EventKind.DAYS_CHANGED) == [{"source": f"ics {days}"}]


def test_days_are_refreshed_a_minute_later_if_there_is_no_thread(
    bench: Bench, days: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    job_id = bench.scheduler.add_job("tea", _without(days))
    bench.tick()
    _written(days, 1, 2)
    with monkeypatch.context() as context:
        context.setattr(Handle, "submit", fail)
        [run] = bench.tick(_DAY)
        bench.end(run)
    assert _next(bench, job_id) == _NINE + _DAY
    bench.tick(60_000)
    bench.tick()
    assert _next(bench, job_id) == _NINE + 3 * _DAY


def test_the_last_days_stay_while_a_file_cannot_be_read(bench: Bench, days: Path) -> None:
    _written(days, 0, 1, 2, 3)
    job_id = bench.scheduler.add_job("tea", _without(days))
    bench.tick()
    days.write_text("rubbish")
    _refresh(bench)
    _refresh(bench)
    assert _next(bench, job_id) == _NINE + 4 * _DAY
    told = _kinds(bench, EventKind.DAYS_TROUBLE)
    assert [str(one["text"]).partition("days.ics ")[2] for one in told] == [
        "is not a calendar: it does not begin with BEGIN:VCALENDAR"
    ]
    said = " ".join(bench.scheduler.jobs.why(job_id).sentences)
    assert "can't be refreshed: the calendar file" in said
    assert "are still used." in said
    _written(days, 4)
    _refresh(bench)
    assert "can't be refreshed" not in " ".join(bench.scheduler.jobs.why(job_id).sentences)
    assert _next(bench, job_id) == _NINE + 3 * _DAY


def test_a_job_without_days_ahead_waits_for_more(bench: Bench, days: Path) -> None:
    _written(days, 0)
    job_id = bench.scheduler.add_job("tea", [Entry(_DAILY, calendar=Calendar(only=(f"ics {days}",)))])
    run = bench.tick(_DAY - 1)[0]
    bench.end(run)
    job = bench.job(job_id)
    assert (job.status, job.next_run_at) == (JobStatus.IDLE, None)
    _written(days, 0, 5)
    _refresh(bench)
    assert _next(bench, job_id) == _NINE + 5 * _DAY


def test_a_save_replans_other_jobs_with_the_same_calendar_file(bench: Bench, days: Path) -> None:
    first = bench.scheduler.add_job("first", _without(days))
    assert _next(bench, first) == _NINE
    _written(days, 0)
    second = bench.scheduler.add_job("second", _without(days))
    assert _next(bench, first) == _next(bench, second) == _NINE + _DAY


def test_days_that_were_looked_up_are_stored_at_once(bench: Bench, days: Path) -> None:
    bench.scheduler.add_job("tea", _without(days))
    bench.tick()
    engine = bench.scheduler.engine.get_engine()
    assert engine.drain_inbox()
    bench.tick()
    assert not engine.drain_inbox()


def test_days_that_no_job_has_are_forgotten(bench: Bench, days: Path) -> None:
    job_id = bench.scheduler.add_job("tea", _without(days))
    bench.scheduler.update_job(job_id, schedule=_DAILY)
    bench.tick()
    assert bench.scheduler._store.day_sources.all() == []


def test_a_fault_of_a_library_is_stored_and_the_days_stay(
    bench: Bench, days: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_source: str, _now_ms: int) -> frozenset[date]:
        raise ZeroDivisionError("nought")

    job_id = bench.scheduler.add_job("tea", _without(days))
    monkeypatch.setattr(maintenance, "look_up_source", fail)
    bench.tick()
    bench.tick()
    assert _next(bench, job_id) == _NINE
    assert _kinds(bench, EventKind.DAYS_TROUBLE) == [
        {"source": f"ics {days}", "text": "an error occurred: nought"}
    ]


def test_why_names_the_excluded_or_moved_day(bench: Bench, days: Path) -> None:
    _written(days, 1)
    job_id = bench.scheduler.add_job("tea", _without(days))
    run = bench.tick(10 * 3_600_000)[0]
    bench.end(run)
    bench.tick(2 * _DAY)
    said = bench.scheduler.jobs.why(job_id, _NINE + _DAY).sentences[0]
    assert said == f'Yesterday 09:00 was excluded: it is a day in "{days}".'
    bench.scheduler.update_job(job_id, schedule=Several(tuple(_without(days, shift=Shift.NEXT))))
    moved = bench.scheduler.jobs.why(job_id, _NINE + _DAY)
    assert "excluded" in " ".join(moved.sentences)


def test_why_explains_a_next_run_that_was_moved(bench: Bench) -> None:
    entry = Entry(
        Cron("0 9 25 12 *", timezone="UTC"),
        calendar=Calendar(only=("business days DE",), shift=Shift.NEXT),
    )
    job_id = bench.scheduler.add_job("tea", [entry])
    at = _next(bench, job_id)
    assert at is not None
    ahead = " ".join(bench.scheduler.jobs.why(job_id, at).sentences)
    now = " ".join(bench.scheduler.jobs.why(job_id).sentences)
    for said in (ahead, now):
        assert "It was moved from" in said
        assert "it is not a business day in Germany." in said
