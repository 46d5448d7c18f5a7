"""The log of runs: one row for each attempt, written before the work starts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from halo_scheduler.model import Outcome, PassedReason, Proposal, Run, SkipReason, Source, Trigger
from halo_scheduler.model.codec import decode
from halo_scheduler.store.connection import Database, Row, Value

COLUMNS = (
    *("id", "job_id", "slot_at", "attempt", "trigger", "source", "outcome", "reason", "error"),
    *("started_at", "finished_at", "late_ms", "passed_over", "passed_reason", "exit_code", "http_status"),
    *("note", "progress", "progress_text", "cost", "work_id", "work_title", "work_url"),
    *("caused_by", "proposal"),
)
# A tick may write thousands: this is the quickest way to all of them.
_VALUES = attrgetter(*COLUMNS)
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
# One behind the other, whichever of the two there is.
_WITH_NOTE = "trim(note || '; ' || ?, '; ')"


class RunEnd(NamedTuple):
    """What became of a run.

    (A tuple, because thousands are made in a tick.)
    """

    outcome: Outcome
    finished_at: int
    reason: SkipReason | None = None
    error: str = ""
    note: str = ""
    exit_code: int | None = None
    http_status: int | None = None
    cost: float | None = None
    proposal: Proposal | None = None
    held_up_by: PassedReason | None = None
    """Why the machine could not start it at once; not stored with the run."""
    began_at: int | None = None
    """When a start that was held up succeeded; None if it did not."""


class RunTable:
    """Reads and writes runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, runs: Sequence[Run], generation: int) -> None:
        self._database.run_many(_INSERT, ((*_values_of(run), generation) for run in runs))

    def finish(self, ends: Sequence[tuple[str, RunEnd]]) -> None:
        """Write how runs ended, once: what is no longer running stays as it is, and so does what was noted before.

        When the clock was set back meanwhile, a run ends when it began: nothing takes less than no time.
        """
        self._database.run_many(
            "UPDATE scheduler_run_log SET outcome = ?, reason = ?, error = ?, "
            "finished_at = max(?, ifnull(started_at, 0)), "
            f"note = {_WITH_NOTE}, exit_code = ?, http_status = ?, cost = ?, proposal = ? "
            "WHERE id = ? AND outcome = 'running'",
            (
                (
                    *(end.outcome, end.reason, end.error, end.finished_at),
                    *(end.note, end.exit_code, end.http_status, end.cost, _text_of(end.proposal), run_id),
                )
                for run_id, end in ends
            ),
        )

    def add_note(self, run_id: str, note: str) -> None:
        """Write what was found out about a run, behind what is noted already."""
        self._database.rows(
            f"UPDATE scheduler_run_log SET note = {_WITH_NOTE} WHERE id = ?",
            [note, run_id],
        )

    def save_start_wait(self, run_id: str, sentence: str) -> None:
        """Write what the start of a run waits for; nothing once it has started. Its end replaces it."""
        self._database.rows(
            "UPDATE scheduler_run_log SET error = ? WHERE id = ? AND outcome = 'running'", [sentence, run_id]
        )

    def save_cost(self, run_id: str, cost: float) -> None:
        """Write what a run cost, when that was found out after it had ended."""
        self._database.rows("UPDATE scheduler_run_log SET cost = ? WHERE id = ?", [cost, run_id])

    def save_proposal(self, run_id: str, proposal: Proposal) -> None:
        """Write what a run proposed, when that was found out after it had ended."""
        self._database.rows(
            "UPDATE scheduler_run_log SET proposal = ? WHERE id = ?", [_text_of(proposal), run_id]
        )

    def save_work(self, run_id: str, work_id: str, title: str, url: str) -> None:
        """Write which item a run works on."""
        self._database.rows(
            "UPDATE scheduler_run_log SET work_id = ?, work_title = ?, work_url = ? WHERE id = ?",
            [work_id, title, url, run_id],
        )

    def save_progress(self, news: Sequence[tuple[str, float, str]]) -> None:
        """Write how far runs have come."""
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
        """Tell whether a run, if there is one, was started because its job was due."""
        return bool(
            self._database.rows(
                "SELECT 1 FROM scheduler_run_log WHERE id = ? AND trigger = 'schedule'", [run_id]
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
        """Tell whether a slot has had a run, of whatever outcome, be it still in the log or not."""
        return bool(
            self._database.rows(
                "SELECT 1 FROM scheduler_run_log WHERE job_id = ? AND slot_at = ? "
                "UNION ALL SELECT 1 FROM scheduler_jobs WHERE id = ? AND pruned_until >= ? LIMIT 1",
                [job_id, slot_at, job_id, slot_at],
            )
        )

    def has_attempt(self, job_id: str, slot_at: int, attempt: int) -> bool:
        """Tell whether a slot has had this attempt."""
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

    def ends(self, job_id: str, since: int | None) -> list[tuple[Outcome, int | None]]:
        """Return outcome and duration of a job's ended runs, newest first; test runs are left out."""
        rows = self._database.rows(
            "SELECT outcome, finished_at - started_at FROM scheduler_run_log "
            "WHERE job_id = ? AND outcome <> 'running' AND trigger <> 'test' "
            "AND ifnull(started_at, finished_at) >= ? "
            "ORDER BY seq DESC",
            [job_id, since or 0],
        )
        return [(Outcome(outcome), duration_ms) for outcome, duration_ms in rows]

    def prune(self, *, keep_per_job: int, ended_before: int, most: int) -> int:
        """Delete a few old runs: beyond a job's newest, or ended long ago. Return how many."""
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
        """Return some of the oldest runs of jobs that have too many: first the jobs, by an index alone."""
        rows: list[Row] = []
        crowded = self._database.rows(
            "SELECT id, (SELECT count(*) FROM scheduler_run_log WHERE job_id = job.id) AS runs "
            "FROM scheduler_jobs AS job WHERE runs > ? LIMIT ?",
            [keep_per_job, most],
        )
        for job_id, count in crowded:
            # A job may be held back at every slot for days: that must not drive out what it did before. But why
            # it did not run lately is to be seen too.
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
        """Return the newest row of a job but for so many; 0 when it has no more."""
        row = self._database.row(
            "SELECT seq FROM scheduler_run_log INDEXED BY scheduler_run_log_job "
            "WHERE job_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
            [job_id, count],
        )
        return 0 if row is None else int(row[0])


def _values_of(run: Run) -> tuple[Value, ...]:
    values: tuple[Value, ...] = _VALUES(run)
    return values if run.proposal is None else (*values[:-1], _text_of(run.proposal))


def _text_of(proposal: Proposal | None) -> str | None:
    return None if proposal is None else json.dumps(proposal.to_dict(), ensure_ascii=False)


def run_of(row: Row) -> Run:
    """Return the run of a row with `COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    values["trigger"] = Trigger(values["trigger"])
    values["source"] = Source(values["source"])
    values["outcome"] = Outcome(values["outcome"])
    values["reason"] = values["reason"] and SkipReason(values["reason"])
    values["proposal"] = values["proposal"] and decode(Proposal, json.loads(values["proposal"]))
    return Run(**values)
