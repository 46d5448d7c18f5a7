"""Recording the ends of runs and their effects on jobs, always inside the engine's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from halo_scheduler.actions.run_services import Ended, Late
from halo_scheduler.actions.spool import Output
from halo_scheduler.engine.recovery import JobFaultIsolation
from halo_scheduler.model import HintSource, Outcome, Proposal, Question, Run, StatusReason, Trigger
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.model.runs import new_question_id, new_run_id
from halo_scheduler.rules.chains import (
    ask_for_followers,
    ask_instead_of_event_retry,
    ask_instead_of_retry,
)
from halo_scheduler.rules.event_requests import earliest_start
from halo_scheduler.rules.hints import hints_after, takes_hints
from halo_scheduler.rules.planning import UNPLANNABLE, WAITED, event_retry_at, plan_after_run, plan_sooner
from halo_scheduler.schedule.calendar import local_day
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.runs import RunEnd, Spent
from halo_scheduler.store.store import Store


class Ending(NamedTuple):
    """A run, its result, and the question it asks, if any."""

    run: Run
    end: RunEnd
    question: str = ""


def ending_of(run: Run, ended: Ended, now_ms: int) -> Ending:
    """Return what is recorded about the end of a run."""
    end = RunEnd(
        outcome=ended.outcome,
        finished_at=now_ms if ended.finished_at is None else ended.finished_at,
        reason=ended.reason,
        message=ended.message,
        notes=ended.notes,
        exit_code=ended.exit_code,
        http_status=ended.http_status,
        cost=ended.cost,
        proposal=ended.proposal,
        held_up_by=None if ended.held_up_by is None else WAITED[ended.held_up_by],
        began_at=ended.began_at,
        clock_step_ms=ended.clock_step_ms,
    )
    return Ending(run, end, ended.question)


class Endings:
    """Records the ends of runs; the caller publishes the changes after the commit."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def record(self, endings: Sequence[Ending]) -> list[Change]:
        """Record ends with their usage, questions and hints, replan the jobs, and request chain runs."""
        if not endings:
            return []
        self._store.runs.finish([(ending.run.id, ending.end) for ending in endings])
        tests = [ending.run.id for ending in endings if ending.run.trigger is Trigger.TEST]
        self._store.requests.end_tests(tests)
        self._spend((ending.run, _spent(ending.run, ending.end)) for ending in endings)
        changes = self._plan_on(endings)
        for run, end, question in endings:
            changes += self._ask(run, question, end.finished_at)
        return changes

    def record_outputs(self, ends: Iterable[Ended]) -> None:
        """Store the output of runs, as far as it is known."""
        kept = [(ended.run_id, ended.output) for ended in ends if ended.output is not None]
        self._store.outputs.insert([_stored(run_id, output) for run_id, output in kept if output.total_bytes])

    def record_late(self, lates: Iterable[tuple[Run, Late]], now_ms: int) -> list[Change]:
        """Add to a recorded run what could be read only after its secrets were available for redaction."""
        changes: list[Change] = []
        for run, late in lates:
            self._store.outputs.insert([_stored(run.id, late.output)])
            if late.cost is not None:
                self._store.runs.save_cost(run.id, late.cost)
                self._spend([(run, Spent(0, late.cost))])
            if late.proposal is not None:
                changes += self._advise_late(run, late.proposal, now_ms)
            if late.note is not None:
                self._store.runs.add_note(run.id, late.note)
            if late.cost is not None or late.note is not None or late.proposal is not None:
                changes.append(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))
            changes += self._ask_late(run, late.question, now_ms)
        return changes

    def _ask_late(self, run: Run, text: str, now_ms: int) -> list[Change]:
        """Store the text of a question, even if the run is already known to ask one."""
        asked = self._store.questions.of_run(run.id) if text else None
        if asked is None:
            return self._ask(run, text, now_ms)
        self._store.questions.reword(asked.id, text)
        return [Change(ChangeKind.QUESTION, job_id=run.job_id, run_id=run.id)]

    def _spend(self, spent: Iterable[tuple[Run, Spent]]) -> None:
        """Add runs and costs to the usage of the local day on which each run began."""
        days: dict[int, str] = {}
        rows: list[tuple[str, str, Spent]] = []
        for run, used in spent:
            if run.started_at is None or not (used.runs or used.cost):
                continue
            # Many runs start in the same tick, so the day is looked up once.
            day = days.get(run.started_at) or days.setdefault(run.started_at, local_day(run.started_at))
            rows.append((run.job_id, day, used))
        self._store.usage.add(rows)

    def _ask(self, run: Run, text: str, asked_at: int) -> list[Change]:
        """Store the question of a run; test runs ask none."""
        if not text or run.trigger is Trigger.TEST:
            return []
        question = Question(
            id=new_question_id(),
            job_id=run.job_id,
            run_id=run.id,
            asked_at=asked_at,
            text=text,
            work_id=run.work_id,
        )
        self._store.questions.insert([question])
        self._store.events.append(
            asked_at, EventKind.QUESTION_ASKED, run.job_id, question=question.id, run_id=run.id
        )
        return [Change(ChangeKind.QUESTION, job_id=run.job_id, run_id=run.id)]

    def _plan_on(self, endings: Sequence[Ending]) -> list[Change]:
        """Replan the jobs of ended runs."""
        records = self._store.jobs.get_many({ending.run.job_id for ending in endings})
        saved: list[JobRecord] = []
        changes: list[Change] = []
        for run, end, _ in endings:
            record = records.get(run.job_id)
            if record is None or record.run_id != run.id:
                continue
            after: JobRecord | None = None
            with JobFaultIsolation(self._store, record.id, end.finished_at):
                after = plan_after_run(record, run, end, self._store.runs.has_slot)
            if after is None:
                # An error in planning must not leave the job running forever.
                after = record.evolve(
                    run_id=None,
                    restarts_at=None,
                    disabled_reason=StatusReason.ERRORS,
                    last_message=UNPLANNABLE,
                )
            if after.disabled_reason is not None and record.disabled_reason is None:
                self._note_disabled(after, end.finished_at)
            records[record.id] = after
            saved.append(after)
            changes.append(Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id))
            if end.proposal is not None:
                self._note_advice(run, after, end.proposal, end.finished_at)
            self._go_on_with_events(run, after, end)
            if not record.spec.followers:
                continue
            if end.outcome is Outcome.SKIPPED and run.event_id is not None:
                changes += ask_instead_of_event_retry(self._store, record, run)
            elif end.outcome is Outcome.SKIPPED:
                tried = record.evolve(slot_at=run.slot_at, attempt=run.attempt)
                changes += ask_instead_of_retry(self._store, tried)
            elif not _is_tried_again(run, after, end):
                changes += ask_for_followers(self._store, record, run, end.outcome, end.finished_at)
        self._store.jobs.save_states(saved)
        return changes

    def _go_on_with_events(self, run: Run, after: JobRecord, end: RunEnd) -> None:
        """Request the retry of a failed event, and delay the other events by the job's back-off."""
        if not after.spec.events or run.trigger not in (Trigger.EVENT, Trigger.SCHEDULE):
            return
        retry_at = event_retry_at(after, run, end)
        if retry_at is not None:
            self._store.requests.append_retry(run, new_run_id(), retry_at)
        start_at = earliest_start(after)
        if start_at > end.finished_at:
            self._store.requests.put_off_events(after.id, start_at)

    def _advise_late(self, run: Run, proposal: Proposal, now_ms: int) -> list[Change]:
        """Apply the hints of a run that became known after its end was recorded."""
        self._store.runs.save_proposal(run.id, proposal)
        record, recorded = self._store.jobs.get(run.job_id), self._store.runs.get(run.id)
        if record is None or recorded is None:
            return []
        ended_at = now_ms if recorded.finished_at is None else recorded.finished_at
        if run.trigger is not Trigger.TEST and takes_hints(record.spec, ended_at):
            advised = record.evolve(hints=hints_after(record.hints, proposal, ended_at))
            if not self._store.runs.is_scheduled(record.run_id):
                with JobFaultIsolation(self._store, record.id, now_ms):
                    advised = plan_sooner(advised, now_ms, self._store.runs.has_slot)
            self._store.jobs.save_states([advised])
            record = advised
        self._note_advice(run, record, proposal, ended_at)
        return [Change(ChangeKind.JOB, job_id=run.job_id)]

    def _note_advice(self, run: Run, record: JobRecord, proposal: Proposal, ended_at: int) -> None:
        """Record in the journal what a run proposed for its own job, or that the job ignores hints."""
        if run.trigger is Trigger.TEST:
            return
        if not takes_hints(record.spec, ended_at):
            self._store.runs.add_note(run.id, message(MessageKind.HINT_REFUSED))
            return
        hints = record.hints
        advice: dict[str, Any] = {
            "interval_ms": None if proposal.every_ms is None else hints.interval_ms,
            "next_at": None if proposal.next_ms is None else hints.next_at,
        }
        self._store.events.append(
            ended_at,
            EventKind.JOB_HINTED,
            run.job_id,
            source=HintSource.JOB,
            run_id=run.id,
            **{key: value for key, value in advice.items() if value is not None},
            expires_at=hints.next_expires_at if proposal.every_ms is None else hints.expires_at,
            reason=proposal.reason,
        )

    def _note_disabled(self, record: JobRecord, now_ms: int) -> None:
        self._store.events.append(
            now_ms, EventKind.JOB_DISABLED, record.id, reason=record.disabled_reason, errors=record.errors
        )


def _is_tried_again(run: Run, after: JobRecord, end: RunEnd) -> bool:
    """Return whether a retry follows, so that this attempt does not end its slot or event."""
    if run.event_id is not None:
        return event_retry_at(after, run, end) is not None
    return run.slot_at is not None and after.slot_at == run.slot_at and after.attempt > run.attempt


def _spent(run: Run, end: RunEnd) -> Spent:
    """Return what a run adds to its day's usage; test runs and skipped runs add nothing."""
    is_counted = run.trigger is not Trigger.TEST and end.outcome is not Outcome.SKIPPED
    return Spent(int(is_counted), end.cost or 0.0)


def _stored(run_id: str, output: Output) -> StoredOutput:
    return StoredOutput(run_id=run_id, content=output.content, total_bytes=output.total_bytes)
