"""The log of runs: one row per attempt, and each job's daily usage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from halo_scheduler.model import Outcome, PassedReason, Proposal, Run, SkipReason, Source, Trigger
from halo_scheduler.model.codec import decode
from halo_scheduler.model.messages import (
    Message,
    Messages,
    read_messages,
    stored_message,
    stored_messages,
    text_message,
)
from halo_scheduler.store.connection import Database, Row, Value
from halo_scheduler.store.job_lines import COST_DECIMALS

COLUMNS = (
    *("id", "job_id", "slot_at", "attempt", "trigger", "source", "outcome", "reason", "error"),
    *("started_at", "finished_at", "clock_step_ms", "late_ms", "passed_over", "passed_reason"),
    *("exit_code", "http_status"),
    *("note", "progress", "progress_text", "cost", "work_id", "work_title", "work_url"),
    *("caused_by", "event_id", "input_bytes", "schedule_keys", "parameters", "proposal"),
)
DURATION = "finished_at - started_at - clock_step_ms"
_ERROR, _NOTE = COLUMNS.index("error"), COLUMNS.index("note")
# A tick may write thousands of runs; this is the fastest way.
_UP_TO_ERROR = attrgetter(*COLUMNS[:_ERROR])
_UP_TO_NOTE = attrgetter(*COLUMNS[_ERROR + 1 : _NOTE])
_UP_TO_KEYS = attrgetter(*COLUMNS[_NOTE + 1 : -3])
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM scheduler_run_log"
_INSERT = (
    f"INSERT INTO scheduler_run_log ({', '.join(COLUMNS)}, generation) "
    f"VALUES ({', '.join('?' * len(COLUMNS))}, ?)"
)
_HELD_BACK = (
    "outcome = 'skipped' AND ifnull(reason, '') "
    "IN ('cap', 'needs_input', 'no_work', 'condition', 'quiet_time')"
)
_MOST_SORTED = 10_000
# Two JSON lists as one, or whichever of the two there is.
_WITH_NOTE = "iif(? = '', note, iif(note = '', ?, rtrim(note, ']') || ',' || ltrim(?, '[')))"


class RunEnd(NamedTuple):
    """The end of a run.

    (A tuple, because a tick may create thousands.)
    """

    outcome: Outcome
    finished_at: int
    reason: SkipReason | None = None
    message: Message | None = None
    notes: Messages = ()
    exit_code: int | None = None
    http_status: int | None = None
    cost: float | None = None
    proposal: Proposal | None = None
    held_up_by: PassedReason | None = None
    """Why the computer could not start it at once; not stored with the run."""
    began_at: int | None = None
    """When a start that was held up succeeded; None if it did not."""
    clock_step_ms: int = 0
    """By how much the clock was set while it was active."""


class RunTable:
    """Reads and writes runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, runs: Sequence[Run], generation: int) -> None:
        self._database.run_many(_INSERT, ((*values_of(run), generation) for run in runs))

    def finish(self, ends: Sequence[tuple[str, RunEnd]]) -> None:
        """Write the ends of runs, once: runs that are not active stay unchanged, and earlier notes are kept.

        If the clock was set back meanwhile, a run ends no earlier than it began, and its duration stays what it was.
        """
        self._database.run_many(
            "UPDATE scheduler_run_log SET outcome = ?, reason = ?, error = ?, "
            "finished_at = max(?, ifnull(started_at, 0)), clock_step_ms = ?, "
            f"note = {_WITH_NOTE}, exit_code = ?, http_status = ?, cost = ?, proposal = ? "
            "WHERE id = ? AND outcome = 'running'",
            (
                (
                    *(end.outcome, end.reason, stored_message(end.message)),
                    *(end.finished_at, end.clock_step_ms),
                    *_thrice(stored_messages(end.notes)),
                    *(end.exit_code, end.http_status, end.cost, _text_of(end.proposal), run_id),
                )
                for run_id, end in ends
            ),
        )

    def add_note(self, run_id: str, note: Message) -> None:
        """Append a note to a run."""
        self._database.rows(
            f"UPDATE scheduler_run_log SET note = {_WITH_NOTE} WHERE id = ?",
            [*_thrice(stored_message(note)), run_id],
        )

    def save_start_wait(self, run_id: str, message: Message | None) -> None:
        """Write what the start of a run waits for; cleared once it has started. The run's end replaces it."""
        self._database.rows(
            "UPDATE scheduler_run_log SET error = ? WHERE id = ? AND outcome = 'running'",
            [stored_message(message), run_id],
        )

    def save_cost(self, run_id: str, cost: float) -> None:
        """Write the cost of a run that became known after its end."""
        self._database.rows("UPDATE scheduler_run_log SET cost = ? WHERE id = ?", [cost, run_id])

    def save_proposal(self, run_id: str, proposal: Proposal) -> None:
        """Write the hint of a run that became known after its end."""
        self._database.rows(
            "UPDATE scheduler_run_log SET proposal = ? WHERE id = ?", [_text_of(proposal), run_id]
        )

    def save_work(self, run_id: str, work_id: str, title: str, url: str) -> None:
        """Write which work item a run has taken."""
        self._database.rows(
            "UPDATE scheduler_run_log SET work_id = ?, work_title = ?, work_url = ? WHERE id = ?",
            [work_id, title, url, run_id],
        )

    def save_progress(self, news: Sequence[tuple[str, float, str]]) -> None:
        """Write the progress of runs."""
        self._database.run_many(
            "UPDATE scheduler_run_log SET progress = ?, progress_text = ? WHERE id = ? AND outcome = 'running'",
            [(fraction, text, run_id) for run_id, fraction, text in news],
        )

    def get(self, run_id: str) -> Run | None:
        row = self._database.row(f"{_SELECT} WHERE id = ?", [run_id])
        return None if row is None else run_of(row)

    def all_ids(self) -> list[str]:
        """Return the ids of all runs."""
        return [run_id for (run_id,) in self._database.rows("SELECT id FROM scheduler_run_log")]

    def is_scheduled(self, run_id: str | None) -> bool:
        """Return whether a run exists and was started by its job's schedule."""
        return bool(
            self._database.rows(
                "SELECT 1 FROM scheduler_run_log WHERE id = ? AND trigger = 'schedule'", [run_id]
            )
        )

    def was_running(self, job_id: str, at: int) -> bool:
        """Return whether a run of a job was active at an instant."""
        return bool(
            self._database.rows(
                "SELECT 1 FROM scheduler_run_log WHERE job_id = ? AND started_at <= ? "
                "AND (outcome = 'running' OR finished_at >= ?) ORDER BY seq DESC LIMIT 1",
                [job_id, at, at],
            )
        )

    def running(self) -> list[Run]:
        return [
            run_of(row) for row in self._database.rows(f"{_SELECT} WHERE outcome = 'running' ORDER BY seq")
        ]

    def count_running(self) -> int:
        row = self._database.row("SELECT count(*) FROM scheduler_run_log WHERE outcome = 'running'")
        return 0 if row is None else int(row[0])

    def running_by_group(self) -> dict[str, int]:
        rows = self._database.rows(
            "SELECT job.group_name, count(*) FROM scheduler_run_log AS run "
            "JOIN scheduler_jobs AS job ON job.id = run.job_id "
            "WHERE run.outcome = 'running' AND job.group_name IS NOT NULL GROUP BY job.group_name"
        )
        return {str(group): int(count) for group, count in rows}

    def has_slot(self, job_id: str, slot_at: int) -> bool:
        """Return whether a slot had a run with any outcome, even if that is pruned by now."""
        return bool(
            self._database.rows(
                "SELECT 1 FROM scheduler_run_log WHERE job_id = ? AND slot_at = ? "
                "UNION ALL SELECT 1 FROM scheduler_jobs WHERE id = ? AND pruned_until >= ? LIMIT 1",
                [job_id, slot_at, job_id, slot_at],
            )
        )

    def has_attempt(self, job_id: str, slot_at: int, attempt: int) -> bool:
        """Return whether a slot had this attempt."""
        return bool(
            self._database.rows(
                "SELECT 1 FROM scheduler_run_log WHERE job_id = ? AND slot_at = ? AND attempt = ?",
                [job_id, slot_at, attempt],
            )
        )

    def get_attempt(self, job_id: str, slot_at: int, attempt: int) -> Run | None:
        """Return one attempt of a slot."""
        row = self._database.row(
            f"{_SELECT} WHERE job_id = ? AND slot_at = ? AND attempt = ?", [job_id, slot_at, attempt]
        )
        return None if row is None else run_of(row)

    def get_event(self, event_id: str, attempt: int) -> Run | None:
        """Return one attempt of the run of an event."""
        row = self._database.row(f"{_SELECT} WHERE event_id = ? AND attempt = ?", [event_id, attempt])
        return None if row is None else run_of(row)

    def last_of_event(self, event_id: str) -> Run | None:
        """Return the last attempt of the run of an event."""
        row = self._database.row(f"{_SELECT} WHERE event_id = ? ORDER BY attempt DESC LIMIT 1", [event_id])
        return None if row is None else run_of(row)

    def ends(self, job_id: str, since: int | None) -> list[tuple[Outcome, int | None]]:
        """Return outcome and duration of a job's ended runs, newest first, without test runs."""
        rows = self._database.rows(
            f"SELECT outcome, {DURATION} FROM scheduler_run_log "
            "WHERE job_id = ? AND outcome <> 'running' AND trigger <> 'test' "
            "AND ifnull(started_at, finished_at) >= ? "
            "ORDER BY seq DESC",
            [job_id, since or 0],
        )
        return [(Outcome(outcome), duration_ms) for outcome, duration_ms in rows]

    def prune(self, *, keep_per_job: int, ended_before: int, most: int) -> int:
        """Delete a few old runs: more than are kept per job, or too old. Return how many."""
        rows = self._database.rows(
            "SELECT seq FROM scheduler_run_log INDEXED BY scheduler_run_log_at "
            "WHERE ifnull(started_at, finished_at) < ? AND finished_at < ? AND outcome <> 'running' LIMIT ?",
            [ended_before, ended_before, most],
        )
        if len(rows) < most:
            rows += self._beyond(keep_per_job, most - len(rows))
        chosen = json.dumps([row[0] for row in rows])
        self._database.rows(
            "UPDATE scheduler_jobs SET pruned_until = max(pruned_until, gone.slot_at) FROM ("
            "SELECT job_id, max(slot_at) AS slot_at FROM scheduler_run_log "
            "WHERE seq IN (SELECT value FROM json_each(?)) AND slot_at IS NOT NULL GROUP BY job_id"
            ") AS gone WHERE scheduler_jobs.id = gone.job_id",
            [chosen],
        )
        self._database.rows(
            "DELETE FROM scheduler_run_log WHERE seq IN (SELECT value FROM json_each(?))", [chosen]
        )
        return len(rows)

    def _beyond(self, keep_per_job: int, most: int) -> list[Row]:
        """Return some of the oldest runs of jobs with too many; the jobs are found by an index alone."""
        rows: list[Row] = []
        crowded = self._database.rows(
            "SELECT id, (SELECT count(*) FROM scheduler_run_log WHERE job_id = job.id) AS runs "
            "FROM scheduler_jobs AS job WHERE runs > ? LIMIT ?",
            [keep_per_job, most],
        )
        for job_id, count in crowded:
            # A job may be skipped at every slot for days: that must not push out its real runs. But the reason of
            # the latest skips must stay visible too.
            order, values = "seq", [job_id, min(count - keep_per_job, most - len(rows))]
            if count - keep_per_job <= _MOST_SORTED:
                order = f"NOT ({_HELD_BACK} AND seq <= ?3), seq"
                values.append(self._newest_but(keep_per_job // 4, job_id))
            rows += self._database.rows(
                "SELECT seq FROM (SELECT seq, outcome FROM scheduler_run_log INDEXED BY scheduler_run_log_job "
                f"WHERE job_id = ?1 ORDER BY {order} LIMIT ?2) WHERE outcome <> 'running'",
                values,
            )
        return rows

    def _newest_but(self, count: int, job_id: str) -> int:
        """Return the newest row of a job after skipping some; 0 if it has no more."""
        row = self._database.row(
            "SELECT seq FROM scheduler_run_log INDEXED BY scheduler_run_log_job "
            "WHERE job_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
            [job_id, count],
        )
        return 0 if row is None else int(row[0])


def values_of(run: Run) -> tuple[Value, ...]:
    """Return the values of a run in the order of `COLUMNS`."""
    return (
        *_UP_TO_ERROR(run),
        stored_message(run.message or text_message(run.error)),
        *_UP_TO_NOTE(run),
        stored_messages(run.notes or filter(None, [text_message(run.note)])),
        *_UP_TO_KEYS(run),
        ",".join(run.schedule_keys),
        json.dumps(dict(run.parameters), ensure_ascii=False) if run.parameters else "{}",
        _text_of(run.proposal),
    )


def _thrice(text: str) -> tuple[str, str, str]:
    """Return the values of `_WITH_NOTE`."""
    return text, text, text


def _text_of(proposal: Proposal | None) -> str | None:
    return None if proposal is None else json.dumps(proposal.to_dict(), ensure_ascii=False)


def run_of(row: Row) -> Run:
    """Return the run of a row with `COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    values["trigger"] = Trigger(values["trigger"])
    values["source"] = Source(values["source"])
    values["outcome"] = Outcome(values["outcome"])
    values["reason"] = values["reason"] and SkipReason(values["reason"])
    if values["error"]:
        messages, values["error"] = _read(values["error"])
        values["message"] = messages[0] if messages else None
    if values["note"]:
        values["notes"], values["note"] = _read(values["note"])
    values["schedule_keys"] = tuple(values["schedule_keys"].split(",")) if values["schedule_keys"] else ()
    values["parameters"] = json.loads(values["parameters"]) if values["parameters"] != "{}" else {}
    values["proposal"] = values["proposal"] and decode(Proposal, json.loads(values["proposal"]))
    return Run(**values)


@lru_cache(maxsize=1024)
def _read(stored: str) -> tuple[Messages, str]:
    """Return stored messages and their text."""
    from halo_scheduler.wording.messages import messages_words  # noqa: PLC0415 - most runs have none

    messages = read_messages(stored)
    return messages, messages_words(messages)


class Spent(NamedTuple):
    """A job's usage on a day."""

    runs: int
    cost: float


class UsageTable:
    """Counts runs and costs by job and local date, such as 2026-12-24."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, job_id: str, day: str) -> Spent:
        row = self._database.row(
            "SELECT runs, cost FROM scheduler_usage WHERE job_id = ? AND day = ?", [job_id, day]
        )
        return Spent(0, 0.0) if row is None else Spent(int(row[0]), round(float(row[1]), COST_DECIMALS))

    def add(self, spent: Iterable[tuple[str, str, Spent]]) -> None:
        """Add to the usage of jobs, each on its day; deleted jobs are ignored."""
        self._database.run_many(
            "INSERT INTO scheduler_usage (job_id, day, runs, cost) SELECT ?1, ?2, ?3, ?4 "
            "WHERE EXISTS (SELECT 1 FROM scheduler_jobs WHERE id = ?1) "
            "ON CONFLICT (job_id, day) DO UPDATE SET runs = runs + excluded.runs, cost = cost + excluded.cost",
            ((job_id, day, used.runs, used.cost) for job_id, day, used in spent),
        )

    def forget_before(self, day: str) -> None:
        """Delete usage before a day."""
        self._database.rows("DELETE FROM scheduler_usage WHERE day < ?", [day])
