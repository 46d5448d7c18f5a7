"""Questions of runs to people."""

from __future__ import annotations

from collections.abc import Iterable

from halo_scheduler.model import Question, QuestionState
from halo_scheduler.store.connection import Database, Row

_COLUMNS = (
    *("id", "job_id", "run_id", "asked_at", "text", "state"),
    *("answer", "settled_at", "answer_run_id", "work_id"),
)
_NOT_IN_TRASH = "job_id IN (SELECT id FROM scheduler_jobs WHERE removed_at IS NULL)"
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM scheduler_questions"


class QuestionTable:
    """Reads and writes questions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, questions: Iterable[Question]) -> None:
        """Store questions; those of deleted jobs are dropped."""
        self._database.run_many(
            f"INSERT INTO scheduler_questions ({', '.join(_COLUMNS)}) SELECT {', '.join('?' * len(_COLUMNS))} "
            "WHERE EXISTS (SELECT 1 FROM scheduler_jobs WHERE id = ?2)",
            [tuple(getattr(question, name) for name in _COLUMNS) for question in questions],
        )

    def get(self, question_id: str) -> Question | None:
        return self._one("WHERE id = ?", question_id)

    def of_run(self, run_id: str) -> Question | None:
        """Return the question of a run, or None."""
        return self._one("WHERE run_id = ?", run_id)

    def answered_by(self, run_id: str) -> Question | None:
        """Return the question whose answer a run got."""
        return self._one("WHERE answer_run_id = ?", run_id)

    def open_ones(self, limit: int = -1) -> list[Question]:
        """Return the open questions, oldest first; those of jobs in the trash are left out."""
        return self._many(f"WHERE state = 'open' AND {_NOT_IN_TRASH} ORDER BY seq LIMIT ?", limit)

    def newest(self, limit: int) -> list[Question]:
        """Return questions in any state, newest first; those of jobs in the trash are left out."""
        return self._many(f"WHERE {_NOT_IN_TRASH} ORDER BY seq DESC LIMIT ?", limit)

    def asked_by_jobs(self) -> dict[str, str]:
        """Return the oldest open question of each job that has one."""
        rows = self._database.rows(
            "SELECT job_id, text FROM scheduler_questions INDEXED BY scheduler_questions_open "
            "WHERE state = 'open' ORDER BY seq DESC"
        )
        return dict(rows)

    def settle(
        self,
        question_id: str,
        state: QuestionState,
        settled_at: int,
        *,
        answer: str = "",
        answer_run_id: str | None = None,
    ) -> bool:
        """Close an open question; return whether it was open."""
        self._database.rows(
            "UPDATE scheduler_questions SET state = ?, settled_at = ?, answer = ?, answer_run_id = ? "
            "WHERE id = ? AND state = 'open'",
            [state, settled_at, answer, answer_run_id, question_id],
        )
        return self._database.changes() == 1

    def reword(self, question_id: str, text: str) -> None:
        """Change the text of a question that is still open."""
        self._database.rows(
            "UPDATE scheduler_questions SET text = ? WHERE id = ? AND state = 'open'", [text, question_id]
        )

    def reopen(self, answer_run_id: str) -> Question | None:
        """Reopen the question whose answer will reach no run; return it, or None."""
        question = self.answered_by(answer_run_id)
        if question is None:
            return None
        self._database.rows(
            "UPDATE scheduler_questions SET state = 'open', settled_at = NULL, answer = '', answer_run_id = NULL "
            "WHERE id = ?",
            [question.id],
        )
        return self.get(question.id)

    def take_back(self, question_id: str) -> bool:
        """Reopen a dismissed question; return whether it was dismissed."""
        self._database.rows(
            "UPDATE scheduler_questions SET state = 'open', settled_at = NULL WHERE id = ? AND state = 'dismissed'",
            [question_id],
        )
        return self._database.changes() == 1

    def _one(self, condition: str, value: str) -> Question | None:
        row = self._database.row(f"{_SELECT} {condition}", [value])
        return None if row is None else _question_of(row)

    def _many(self, condition: str, *values: int) -> list[Question]:
        return [_question_of(row) for row in self._database.rows(f"{_SELECT} {condition}", values)]


def _question_of(row: Row) -> Question:
    values = dict(zip(_COLUMNS, row, strict=True))
    values["state"] = QuestionState(values["state"])
    return Question(**values)
