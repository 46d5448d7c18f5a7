"""Exports runs to a CSV or JSON file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TextIO

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.text import json_text
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Run
from ui.style.wording import proposal_words

from .choice import JobName

COLUMNS = (
    *("run", "job", "job_id", "outcome", "reason", "error", "planned", "started", "finished", "duration_ms"),
    *("late_ms", "exit_code", "http_status", "attempt", "trigger", "source", "passed_over", "passed_reason"),
    *("note", "cost", "work_id", "work_title", "work_url", "caused_by", "proposed"),
)
# Spreadsheets read a cell that begins with these, even after blanks, as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "|", "%")
Page = tuple[list[Run], Mapping[str, JobName]]


class Format(StrEnum):
    """A file format; its value is the file name extension."""

    CSV = "csv"
    JSON = "json"


class ExportError(SchedulerError):
    """The file could not be written."""


def export(path: Path, kind: Format, pages: Iterable[Page]) -> Iterator[int]:
    """Write runs to a file, yielding the number written so far; the file is renamed into place once complete."""
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        # Spreadsheets read UTF-8 only with a byte order mark.
        encoding = "utf-8-sig" if kind is Format.CSV else "utf-8"
        with draft.open("x", encoding=encoding, newline="", errors="replace") as file:
            yield from (write_csv if kind is Format.CSV else write_json)(file, pages)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(f"could not write {path.name}: {reason}; choose another location") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_csv(file: TextIO, pages: Iterable[Page]) -> Iterator[int]:
    """Write runs as CSV, yielding the number written so far."""
    import csv  # noqa: PLC0415 - the history is there sooner without it

    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    count = 0
    for runs, names in pages:
        writer.writerows([_safe(value) for value in _row(run, names)] for run in runs)
        count += len(runs)
        yield count


def write_json(file: TextIO, pages: Iterable[Page]) -> Iterator[int]:
    """Write runs as a JSON list with times in milliseconds since 1970, yielding the number written so far."""
    count = 0
    file.write("[")
    for runs, names in pages:
        for run in runs:
            file.write(",\n" if count else "\n")
            file.write(json_text(_as_data(run, names)))
            count += 1
        yield count
    file.write("\n]\n")


def _as_data(run: Run, names: Mapping[str, JobName]) -> dict[str, object]:
    return {"job": _name(run, names), **run.to_dict(), "duration_ms": run.duration_ms}


def _row(run: Run, names: Mapping[str, JobName]) -> tuple[object, ...]:
    return (
        *(run.id, _name(run, names), run.job_id, run.outcome, run.reason, run.error),
        *(_local(run.slot_at), _local(run.started_at), _local(run.finished_at), run.duration_ms),
        *(run.late_ms, run.exit_code, run.http_status, run.attempt, run.trigger, run.source),
        *(run.passed_over, run.passed_reason, run.note),
        *(run.cost, run.work_id, run.work_title, run.work_url, run.caused_by),
        proposal_words(run.proposal),
    )


def _name(run: Run, names: Mapping[str, JobName]) -> str:
    name = names.get(run.job_id)
    return "" if name is None else name.name


def _local(at: int | None) -> str:
    """Return the local date and time in a format that spreadsheets understand."""
    return "" if at is None else f"{local_time(at):%Y-%m-%d %H:%M:%S}"


def _safe(value: object) -> object:
    """Return a cell that no spreadsheet reads as a formula; numbers are safe."""
    if value is None or isinstance(value, int | float):
        return "" if value is None else value
    text = str(value).replace("\x00", "\ufffd")
    return f"'{text}" if text.lstrip(" \u00a0\ufeff").startswith(_FORMULA_STARTS) else text
