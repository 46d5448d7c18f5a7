"""Runs that somebody asks for: by hand, as a test, with an answer; or that are not wanted any more."""

from __future__ import annotations

import json

from halo_scheduler.errors import JobNotFoundError, ScheduleError, ScheduleTriggerError
from halo_scheduler.grammar.checks import require_kind, require_text
from halo_scheduler.model import (
    JobSpec,
    Outcome,
    Question,
    QuestionState,
    Run,
    SkipReason,
    Source,
    StatusReason,
    Trigger,
)
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.ids import new_run_id
from halo_scheduler.service.writing import Writer
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.requests import Request, RequestKind

_LONGEST_ANSWER = 100_000


class Asking(Writer):
    """Asks the engine for runs, and takes in what runs ask of people."""

    def trigger(self, job_id: str) -> str:
        """Ask for a run by hand and return its id; the engine starts it as soon as there is a place."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            record = self._existing(job_id)
            self._refuse_running(record)
            self._refuse_unseen(record, "run it")
            request = Request(
                kind=RequestKind.TRIGGER,
                job_id=job_id,
                run_id=new_run_id(),
                at=now_ms,
                payload=self._store.events.assistant or "",
            )
            self._store.requests.append(request)
        self._changed(Change(ChangeKind.JOB, job_id=job_id))
        return request.run_id

    def test_job(self, job_id: str, spec: JobSpec) -> str:
        """Ask for a test run of a job as it was edited, and return its id; the job itself stays as it is."""
        now_ms = self._clock.now_ms()
        require_kind("spec", spec, JobSpec, "a JobSpec")
        with self._store.transaction():
            self._refuse_running(self._existing(job_id))
            request = Request(
                kind=RequestKind.TEST,
                job_id=job_id,
                run_id=new_run_id(),
                at=now_ms,
                payload=json.dumps(spec.to_dict()),
            )
            self._store.requests.append(request)
        self._changed(Change(ChangeKind.JOB, job_id=job_id))
        return request.run_id

    def _refuse_running(self, record: JobRecord) -> None:
        if record.run_id is not None or self._store.requests.has_trigger(record.id):
            raise ScheduleTriggerError(f"{record.spec.name} is already running", SkipReason.ALREADY_RUNNING)

    def _refuse_unseen(self, record: JobRecord, what: str) -> None:
        """Refuse to start what nobody has looked at: whoever asks for it may mean the job that it was before."""
        if record.paused_by is StatusReason.ASSISTANT:
            raise ScheduleTriggerError(
                f"an assistant made or changed {record.spec.name}; look at it and resume it before you {what}",
                SkipReason.PAUSED,
            )

    def cancel_run(self, run_id: str) -> None:
        """Ask for a run to be stopped; one that has ended is left as it is."""
        now_ms = self._clock.now_ms()
        # Looked at inside: what waits now may be started by the engine while we wait for our turn to write.
        with self._store.transaction():
            run = self._store.runs.get(run_id)
            changes = self._withdraw(run_id, now_ms) if run is None else self._ask_to_stop(run, now_ms)
        self._changed(*changes)

    def _ask_to_stop(self, run: Run, now_ms: int) -> list[Change]:
        request = Request(kind=RequestKind.CANCEL, job_id=run.job_id, run_id=run.id, at=now_ms)
        self._store.requests.append(request)
        return [Change(ChangeKind.JOB, job_id=run.job_id)]

    def _withdraw(self, run_id: str, now_ms: int) -> list[Change]:
        """Take back a run that has not started; the question it was to answer is open again."""
        chain_run = self._store.requests.withdraw_chain_run(run_id)
        if chain_run is not None:
            return self._record_cancelled(chain_run, now_ms)
        if not self._store.requests.withdraw_trigger(run_id):
            raise JobNotFoundError(f"there is no run {run_id!r}")
        question = self._store.questions.reopen(run_id)
        if question is None:
            return []
        self._note(question, EventKind.QUESTION_REOPENED, now_ms)
        return [Change(ChangeKind.QUESTION, job_id=question.job_id)]

    def _record_cancelled(self, request: Request, now_ms: int) -> list[Change]:
        """Record that a chain run was not wanted: nobody asked for it, so nobody else would know of it."""
        told = Change(ChangeKind.JOB, job_id=request.job_id)
        if self._store.jobs.get(request.job_id) is None:
            return [told]
        run = Run(
            id=request.run_id,
            job_id=request.job_id,
            trigger=Trigger.CHAIN,
            source=Source.MANUAL,
            outcome=Outcome.CANCELLED,
            error="cancelled by the user before it started",
            finished_at=now_ms,
            caused_by=request.payload,
        )
        row = self._store.lease.read()
        self._store.runs.insert([run], 0 if row is None else row.generation)
        return [told, Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id)]

    # --- Questions -----------------------------------------------------------------------------------

    def answer_question(self, question_id: str, text: str) -> str:
        """Answer what a run asked and return the id of the run that is told; it starts once the job is free."""
        now_ms = self._clock.now_ms()
        answer = require_text("text", text, longest=_LONGEST_ANSWER).strip()
        if not answer:
            raise ScheduleError("the answer is empty; write one, or dismiss the question", path="text")
        run_id = new_run_id()
        with self._store.transaction():
            question = self._open_question(question_id)
            self._refuse_unseen(self._existing(question.job_id), "answer")
            self._store.questions.settle(
                question_id, QuestionState.ANSWERED, now_ms, answer=answer, answer_run_id=run_id
            )
            self._store.requests.append(
                Request(kind=RequestKind.ANSWER, job_id=question.job_id, run_id=run_id, at=now_ms)
            )
            self._note(question, EventKind.QUESTION_ANSWERED, now_ms, run_id=run_id)
        self._changed(
            Change(ChangeKind.QUESTION, job_id=question.job_id),
            Change(ChangeKind.JOB, job_id=question.job_id),
        )
        return run_id

    def dismiss_question(self, question_id: str) -> None:
        """Close a question without an answer: its job starts by itself again."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            question = self._open_question(question_id)
            self._store.questions.settle(question_id, QuestionState.DISMISSED, now_ms)
            self._note(question, EventKind.QUESTION_DISMISSED, now_ms)
        self._changed(Change(ChangeKind.QUESTION, job_id=question.job_id))

    def reopen_question(self, question_id: str) -> None:
        """Take back that a question was dismissed: it waits for an answer again."""
        now_ms = self._clock.now_ms()
        with self._store.transaction():
            question = self._store.questions.get(question_id)
            if question is None:
                raise JobNotFoundError(f"there is no question {question_id!r}")
            if not self._store.questions.take_back(question_id):
                raise ScheduleError(
                    f"only a dismissed question can be opened again; this one is {question.state}",
                    path="question",
                )
            self._note(question, EventKind.QUESTION_REOPENED, now_ms)
        self._changed(Change(ChangeKind.QUESTION, job_id=question.job_id))

    def _open_question(self, question_id: str) -> Question:
        question = self._store.questions.get(question_id)
        if question is None:
            raise JobNotFoundError(f"there is no question {question_id!r}")
        if question.state is not QuestionState.OPEN:
            raise ScheduleError(f"this question was already {question.state}", path="question")
        return question

    def _note(self, question: Question, kind: EventKind, now_ms: int, **detail: object) -> None:
        self._store.events.append(now_ms, kind, question.job_id, question=question.id, **detail)
