"""Queries over past runs: pages, last runs, counts; fast with a million runs."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from halo_scheduler.model import Outcome, Run, Trigger
from halo_scheduler.model.words import ERRORS
from halo_scheduler.store.connection import Database, Row, Value
from halo_scheduler.store.runs import COLUMNS, DURATION, run_of

_AT = "ifnull(started_at, finished_at)"
_RUN_COLUMNS = ", ".join(f"run.{name}" for name in COLUMNS)
_SHOWN_FAILURE = "trigger <> 'test' AND job_id IN (SELECT id FROM scheduler_jobs WHERE removed_at IS NULL)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs to show: None matches all; `before` is the last run of the previous page."""

    job_id: str | None = None
    outcomes: Collection[Outcome] | None = None
    trigger: Trigger | None = None
    since: int | None = None
    until: int | None = None
    before: str | None = None


class RunHistory:
    """Reads recorded runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def log(self, chosen: RunFilter, limit: int) -> list[Run]:
        """Return runs, newest first: those of one job in recorded order, others by time."""
        sql, values = self._page(chosen, limit)
        rows = (
            self._database.rows(
                f"SELECT {_RUN_COLUMNS} FROM ({sql}) AS page JOIN scheduler_run_log AS run ON run.seq = page.page_seq "
                "ORDER BY page.position DESC, page.page_seq DESC",
                values,
            )
            if sql
            else []
        )
        return [run_of(row) for row in rows]

    def outputs(self, chosen: RunFilter, limit: int) -> list[tuple[str, Outcome, bytes | None]]:
        """Return a page of runs in log order, each with its id, outcome and output, if any."""
        sql, values = self._page(chosen, limit)
        rows = (
            self._database.rows(
                "SELECT run.id, run.outcome, output.content "
                f"FROM ({sql}) AS page JOIN scheduler_run_log AS run ON run.seq = page.page_seq "
                "LEFT JOIN scheduler_run_output AS output ON output.run_id = run.id "
                "ORDER BY page.position DESC, page.page_seq DESC",
                values,
            )
            if sql
            else []
        )
        return [(run_id, Outcome(outcome), _unpacked(content)) for run_id, outcome, content in rows]

    def _page(self, chosen: RunFilter, limit: int) -> tuple[str, list[Value]]:
        """Return the indexed query for a page of runs; None if it is certainly empty."""
        last: Row | None = None
        if chosen.before is not None:
            last = self._database.row(
                f"SELECT seq, {_AT} FROM scheduler_run_log WHERE id = ?", [chosen.before]
            )
            if last is None:
                return "", []
        outcomes = None if chosen.outcomes is None else list(dict.fromkeys(chosen.outcomes))
        if outcomes == []:
            return "", []
        if chosen.job_id is not None or outcomes is None:
            return _one_page(chosen, outcomes, last, limit)
        # One index per outcome, merged, so that nothing needs a full sort.
        parts = [_one_page(chosen, [outcome], last, limit) for outcome in outcomes]
        sql = " UNION ALL ".join(f"SELECT * FROM ({part})" for part, _ in parts)
        values = [value for _, found in parts for value in found]
        return f"SELECT * FROM ({sql}) ORDER BY position DESC, page_seq DESC LIMIT ?", [*values, limit]

    def get_many(
        self, run_ids: Iterable[str], outcomes: Sequence[Outcome] = tuple(Outcome)
    ) -> dict[str, Run]:
        """Return the runs with these ids; with outcomes, only those that have one of them."""
        rows = self._database.rows(
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run WHERE id IN (SELECT value FROM json_each(?)) "
            f"AND outcome IN ({', '.join('?' * len(outcomes))})",
            [json.dumps(list(run_ids)), *outcomes],
        )
        return {run.id: run for run in map(run_of, rows)}

    def caused_by(self, run_id: str) -> list[Run]:
        """Return the runs started by the end of a run, in recorded order."""
        rows = self._database.rows(
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run INDEXED BY scheduler_run_log_caused_by "
            "WHERE caused_by = ? ORDER BY seq",
            [run_id],
        )
        return [run_of(row) for row in rows]

    def of_slots(self, job_id: str, since: int, until: int, limit: int) -> list[Run]:
        """Return the runs whose slots lie in a span, in order."""
        rows = self._database.rows(
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run "
            "WHERE job_id = ? AND slot_at >= ? AND slot_at < ? ORDER BY slot_at, attempt LIMIT ?",
            [job_id, since, until, limit],
        )
        return [run_of(row) for row in rows]

    def slot_before(self, job_id: str, at: int) -> Run | None:
        """Return the last attempt of the last slot before an instant."""
        row = self._database.row(
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run "
            "WHERE job_id = ? AND slot_at < ? ORDER BY slot_at DESC, attempt DESC LIMIT 1",
            [job_id, at],
        )
        return None if row is None else run_of(row)

    def slot_after(self, job_id: str, at: int) -> Run | None:
        """Return the first attempt of the first slot after an instant."""
        row = self._database.row(
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run "
            "WHERE job_id = ? AND slot_at > ? ORDER BY slot_at, attempt LIMIT 1",
            [job_id, at],
        )
        return None if row is None else run_of(row)

    def under_way_at(self, job_id: str, at: int) -> Run | None:
        """Return the run of a job that was active at an instant; test runs do not count."""
        row = self._database.row(
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run INDEXED BY scheduler_run_log_job "
            "WHERE job_id = ? AND started_at <= ? AND (finished_at > ? OR outcome = 'running') "
            "AND trigger <> 'test' ORDER BY seq DESC LIMIT 1",
            [job_id, at, at],
        )
        return None if row is None else run_of(row)

    def started_beside(self, job_id: str, since: int, until: int) -> tuple[Run | None, Run | None]:
        """Return the last run of a job that started before a span, and the first after it; no test runs."""
        sql = (
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run INDEXED BY scheduler_run_log_job "
            "WHERE job_id = ? AND trigger <> 'test' AND started_at"
        )
        before = self._database.row(f"{sql} < ? ORDER BY started_at DESC LIMIT 1", [job_id, since])
        after = self._database.row(f"{sql} >= ? ORDER BY started_at LIMIT 1", [job_id, until])
        return None if before is None else run_of(before), None if after is None else run_of(after)

    def newest(self, job_id: str) -> Run | None:
        """Return a job's newest run, ended or not; test runs do not count."""
        row = self._database.row(
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run "
            "WHERE job_id = ? AND trigger <> 'test' ORDER BY seq DESC LIMIT 1",
            [job_id],
        )
        return None if row is None else run_of(row)

    def last_real(self, job_id: str) -> Run | None:
        """Return a job's newest ended run that really ran; test runs do not count."""
        row = self._database.row(
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run INDEXED BY scheduler_run_log_job "
            "WHERE job_id = ? AND outcome NOT IN ('running', 'skipped', 'missed') AND trigger <> 'test' "
            "ORDER BY seq DESC LIMIT 1",
            [job_id],
        )
        return None if row is None else run_of(row)

    def last_ended(self, job_ids: Iterable[str], limit: int = 1) -> list[Run]:
        """Return the newest ended runs of each job, newest first, without test runs."""
        return [run_of(row) for row in self._last_ended(_RUN_COLUMNS, job_ids, limit)]

    def trends(self, job_ids: Iterable[str], limit: int) -> list[tuple[str, str, Outcome, int | None, int]]:
        """Return job, id, outcome, duration and instant of the newest ended runs of each job, newest first."""
        columns = f"run.job_id, run.id, run.outcome, {DURATION}, {_AT}"
        rows = self._last_ended(columns, job_ids, limit)
        return [(job_id, run_id, Outcome(word), took_ms, at) for job_id, run_id, word, took_ms, at in rows]

    def _last_ended(self, columns: str, job_ids: Iterable[str], limit: int) -> list[Row]:
        return self._database.rows(
            f"SELECT {columns} FROM json_each(?) AS wanted JOIN scheduler_run_log AS run ON run.seq IN ("
            "SELECT seq FROM scheduler_run_log WHERE job_id = wanted.value "
            "AND outcome <> 'running' AND trigger <> 'test' ORDER BY seq DESC LIMIT ?) "
            "ORDER BY run.seq DESC",
            [json.dumps(list(dict.fromkeys(job_ids))), limit],
        )

    # --- Unseen failures -----------------------------------------------------------------

    def newest_seq(self) -> int:
        row = self._database.row("SELECT max(seq) FROM scheduler_run_log")
        return 0 if row is None or row[0] is None else int(row[0])

    def seqs_under_way(self) -> list[int]:
        return [
            seq
            for (seq,) in self._database.rows("SELECT seq FROM scheduler_run_log WHERE outcome = 'running'")
        ]

    def failures_after(self, seq: int, also: Sequence[int], limit: int) -> list[Run]:
        """Return failures recorded after a run, or among given runs, newest first; no tests, no removed jobs."""
        newest = [
            "SELECT * FROM (SELECT seq FROM scheduler_run_log INDEXED BY scheduler_run_log_outcome "
            f"WHERE outcome = '{outcome}' AND outcome <> 'running' AND seq > ? AND {_SHOWN_FAILURE} "
            f"ORDER BY {_AT} DESC LIMIT ?)"
            for outcome in ERRORS
        ]
        rows = self._database.rows(
            f"SELECT {_RUN_COLUMNS} FROM scheduler_run_log AS run "
            f"WHERE seq IN ({' UNION ALL '.join(newest)} UNION ALL SELECT value FROM json_each(?)) "
            f"AND outcome IN (SELECT value FROM json_each(?)) AND {_SHOWN_FAILURE} "
            f"ORDER BY {_AT} DESC, seq DESC LIMIT ?",
            [*(seq, limit) * len(ERRORS), json.dumps(list(also)), json.dumps(ERRORS), limit],
        )
        return [run_of(row) for row in rows]

    # --- Counts --------------------------------------------------------------------------------------

    def oldest_at(self) -> int | None:
        row = self._database.row(f"SELECT min({_AT}) FROM scheduler_run_log")
        return None if row is None else row[0]

    def count_spans(
        self, spans: Sequence[tuple[int, int]], outcomes: Sequence[Outcome]
    ) -> list[tuple[int, Outcome, int]]:
        """Return the number of ended runs per span and outcome, as (span index, outcome, count)."""
        rows = self._database.rows(
            "SELECT span.key, wanted.value, (SELECT count(*) FROM scheduler_run_log "
            f"WHERE outcome = wanted.value AND outcome <> 'running' AND {_AT} >= span.value ->> 0 "
            f"AND {_AT} < span.value ->> 1) AS found "
            "FROM json_each(?) AS span, json_each(?) AS wanted WHERE found > 0",
            [json.dumps(list(spans)), json.dumps(list(outcomes))],
        )
        return [(int(index), Outcome(outcome), int(count)) for index, outcome, count in rows]

    def count_steps(
        self, step_ms: int, since: int, until: int, *, job_id: str | None, trigger: Trigger | None
    ) -> list[tuple[int, Outcome, int]]:
        """Return the number of ended runs of a job or a trigger per time step since the epoch.

        Without a job, a trigger of None means every trigger except the schedule.
        """
        which: list[tuple[str, Value]] = [(f"{_AT} >= ?", since), (f"{_AT} < ?", until)]
        which += [("job_id = ?", job_id)] if job_id is not None else []
        which += [("trigger = ?", trigger)] if trigger is not None else []
        literals = ["outcome <> 'running'"]
        literals += ["trigger <> 'schedule'"] if job_id is None else []
        index = "scheduler_run_log_trigger" if job_id is None else "scheduler_run_log_job"
        rows = self._database.rows(
            f"SELECT {_AT} / ? AS step, outcome, count(*) FROM scheduler_run_log INDEXED BY {index} "
            f"WHERE {' AND '.join([*literals, *(text for text, _ in which)])} GROUP BY step, outcome",
            [step_ms, *(value for _, value in which)],
        )
        return [(int(step), Outcome(outcome), int(count)) for step, outcome, count in rows]

    def caught_up(self, after_at: int, until_at: int) -> list[str]:
        """Return the runs that caught up slots of a downtime."""
        rows = self._database.rows(
            "SELECT id FROM scheduler_run_log "
            "WHERE source = 'catch-up' AND slot_at > ? AND slot_at <= ? ORDER BY slot_at, seq",
            [after_at, until_at],
        )
        return [str(run_id) for (run_id,) in rows]

    def missed(self, after_at: int, until_at: int) -> list[str]:
        """Return the runs recorded as missed in a span of time."""
        rows = self._database.rows(
            "SELECT id FROM scheduler_run_log "
            f"WHERE outcome = 'missed' AND outcome <> 'running' AND {_AT} > ? AND {_AT} <= ? ORDER BY {_AT}, seq",
            [after_at, until_at],
        )
        return [str(run_id) for (run_id,) in rows]


def _one_page(
    chosen: RunFilter, outcomes: list[Outcome] | None, last: Row | None, limit: int
) -> tuple[str, list[Value]]:
    """Return the query for the row numbers of a page, and their position in the page order."""
    position = "seq" if chosen.job_id is not None else _AT
    conditions: list[tuple[str, list[Value]]] = [
        ("job_id = ?", _given(chosen.job_id)),
        (f"{_AT} >= ?", _given(chosen.since)),
        (f"{_AT} < ?", _given(chosen.until)),
        ("trigger = ?", _given(chosen.trigger)),
    ]
    if outcomes is not None:
        conditions.append((f"outcome IN ({', '.join('?' * len(outcomes))})", list(outcomes)))
    if last is not None and chosen.job_id is not None:
        conditions.append(("seq < ?", [last[0]]))
    elif last is not None:
        conditions.append((f"{_AT} <= ? AND ({_AT} < ? OR seq < ?)", [last[1], last[1], last[0]]))
    used = [(text, found) for text, found in conditions if found]
    literals, index = _way(chosen, outcomes)
    where = " AND ".join([*literals, *(text for text, _ in used)])
    sql = (
        f"SELECT seq AS page_seq, {position} AS position FROM scheduler_run_log {index} "
        f"{f'WHERE {where}' if where else ''} ORDER BY position DESC, seq DESC LIMIT ?"
    )
    return sql, [*(value for _, found in used for value in found), limit]


def _way(chosen: RunFilter, outcomes: list[Outcome] | None) -> tuple[list[str], str]:
    """Return the index that finds a page fastest, and its conditions; chosen here, as SQLite has no statistics."""
    if chosen.job_id is not None:
        return [], "INDEXED BY scheduler_run_log_job"
    if outcomes == [Outcome.RUNNING]:
        return ["outcome = 'running'"], "INDEXED BY scheduler_run_log_running"
    if chosen.trigger not in (None, Trigger.SCHEDULE):
        return ["trigger <> 'schedule'"], "INDEXED BY scheduler_run_log_trigger"
    if outcomes is not None:
        return ["outcome <> 'running'"], "INDEXED BY scheduler_run_log_outcome"
    return [], "INDEXED BY scheduler_run_log_at"


def _given(value: Value) -> list[Value]:
    return [] if value is None else [value]


def _unpacked(content: bytes | None) -> bytes | None:
    return content and zlib.decompress(content)
