"""Claiming: the atomic step that turns due jobs into running ones; always inside the engine's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from halo_scheduler.changes import Change, ChangeKind
from halo_scheduler.engine.recovery import one_job
from halo_scheduler.holds import Hold, Holds
from halo_scheduler.ids import new_run_id
from halo_scheduler.model import Outcome, Run, SkipReason, Source, StatusReason, Trigger
from halo_scheduler.planning import LATE_MS, UNPLANNABLE, passed_over, plan, plan_after_run, without_plan
from halo_scheduler.schedule.days import local_day
from halo_scheduler.schedule.interval import DAY_MS
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.jobs import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.runs import RunEnd
from halo_scheduler.store.store import Store

# Only today counts; some days more are kept for a clock that is set back.
_USAGE_KEPT_MS = 7 * DAY_MS
_TRIGGERS = {
    RequestKind.TRIGGER: Trigger.MANUAL,
    RequestKind.TEST: Trigger.TEST,
    RequestKind.ANSWER: Trigger.ANSWER,
}


class Claims:
    """Claims for one engine, whose generation every run carries."""

    def __init__(self, store: Store, generation: int, max_concurrent: Callable[[], int]) -> None:
        self._store = store
        self._generation = generation
        self._max_concurrent = max_concurrent
        self._news: list[Change] = []
        self._usage_kept_from = ""

    def claim(self, now_ms: int, running: Iterable[str | None]) -> list[tuple[JobRecord, Run]]:
        """Turn due jobs into running ones, the oldest slot first, as far as there are places.

        `running` are the groups of the runs under way.
        """
        in_group = Counter(running)
        places = self._max_concurrent() - in_group.total()
        claimed = self._claim_by_hand(now_ms, places)
        in_group.update(record.spec.group for record, _ in claimed)
        claimed += self._claim_due(
            now_ms, places - len(claimed), in_group, {record.id for record, _ in claimed}
        )
        self._store.runs.insert([run for _, run in claimed], self._generation)
        self._store.jobs.save_states([record for record, _ in claimed])
        self._store.jobs.mark_waiting(now_ms)
        self._forget_usage(now_ms)
        return claimed

    def _forget_usage(self, now_ms: int) -> None:
        """Delete, once a day, what was used up on days long past."""
        day = local_day(max(0, now_ms - _USAGE_KEPT_MS))
        if day != self._usage_kept_from:
            self._store.usage.forget_before(day)
            self._usage_kept_from = day

    def _claim_due(
        self, now_ms: int, places: int, in_group: Counter[str | None], seen: set[str]
    ) -> list[tuple[JobRecord, Run]]:
        limits = self._store.groups.limits()
        claimed: list[tuple[JobRecord, Run]] = []
        holds: Holds | None = None
        while len(claimed) < places:
            # Without group limits the oldest slots fill the places; with them, some may have to be passed by.
            page = self._store.jobs.due(now_ms, -1 if limits else places - len(claimed) + len(seen))
            fresh = [record for record in page if record.id not in seen]
            if not fresh:
                break
            holds = holds or Holds(self._store, now_ms)
            for record in fresh:
                seen.add(record.id)
                group = record.spec.group
                if len(claimed) < places and (group not in limits or in_group[group] < limits[group]):
                    found = self._claim_one(record, holds, now_ms)
                    claimed += [found] if found else []
                    in_group[group] += int(found is not None)
        return claimed

    def _claim_one(self, record: JobRecord, holds: Holds, now_ms: int) -> tuple[JobRecord, Run] | None:
        """Claim a due job, unless something holds it back.

        One whose slot had its run is planned anew, one that cannot be planned is disabled.
        """
        fallback: JobRecord | None = None
        with one_job(self._store, record.id, now_ms):
            if self._had_its_run(record):
                fallback = plan(without_plan(record), now_ms, self._store.runs.has_slot)
            elif (hold := holds.find(record)) is None:
                return self._to_run(record, now_ms)
            else:
                holds.note(record, hold)
                fallback = self._hold_back(record, hold, now_ms)
        if fallback is None:
            reason = StatusReason.ERRORS
            fallback = without_plan(record).evolve(disabled_reason=reason, last_error=UNPLANNABLE)
        self._store.jobs.save_states([fallback])
        return None

    def _hold_back(self, record: JobRecord, hold: Hold, now_ms: int) -> JobRecord:
        """Use up a slot without a run, and plan the next one as after a run."""
        claimed, run = self._to_run(record, now_ms)
        end = RunEnd(outcome=Outcome.SKIPPED, finished_at=now_ms, reason=hold.reason, error=hold.sentence)
        after = plan_after_run(claimed, run, end, self._store.runs.has_slot)
        self._skip(run, hold.reason, hold.sentence, now_ms)
        if after.disabled_reason is not None:
            self._store.events.append(
                now_ms, EventKind.JOB_DISABLED, record.id, reason=after.disabled_reason, errors=after.errors
            )
        return after.evolve(last_run_at=record.last_run_at)

    def _had_its_run(self, record: JobRecord) -> bool:
        """Whether a slot would be run a second time: only a clock that went back can bring it up again."""
        slot_at, last_slot_at = record.slot_at, record.last_slot_at
        if slot_at is None or last_slot_at is None or slot_at > last_slot_at:
            return False
        return self._store.runs.has_attempt(record.id, slot_at, record.attempt)

    def _to_run(self, record: JobRecord, now_ms: int) -> tuple[JobRecord, Run]:
        skipped = passed_over(record)
        run = Run(
            id=new_run_id(),
            job_id=record.id,
            trigger=Trigger.SCHEDULE,
            source=record.next_source or Source.MANUAL,
            slot_at=record.slot_at,
            attempt=record.attempt,
            started_at=now_ms,
            late_ms=max(0, now_ms - (record.next_run_at or now_ms)),
            passed_over=skipped,
            passed_reason=record.passed_reason if skipped else "",
        )
        claimed = record.evolve(
            run_id=run.id,
            next_run_at=None,
            next_source=None,
            slot_at=None,
            attempt=1,
            waiting_for=None,
            passed_reason="",
            counted_until=max(record.counted_until, record.slot_at or 0),
            last_slot_at=max(record.last_slot_at or 0, record.slot_at or 0),
            last_run_at=now_ms,
        )
        return claimed, run

    def _claim_by_hand(self, now_ms: int, places: int) -> list[tuple[JobRecord, Run]]:
        claimed: dict[str, tuple[JobRecord, Run]] = {}
        waiting: set[str] = set()
        while len(claimed) < places:
            page = self._store.requests.triggers(places - len(claimed) + len(waiting))
            fresh = [request for request in page if request.run_id not in waiting]
            if not fresh:
                break
            for request in fresh:
                record = self._store.jobs.get(request.job_id)
                is_free = record is None or (record.run_id is None and record.id not in claimed)
                if request.kind is RequestKind.ANSWER and not is_free:
                    waiting.add(request.run_id)
                    continue
                found = self._by_hand(request, record, now_ms, is_free=is_free)
                if found is not None:
                    claimed[request.job_id] = found
                if found is not None and request.kind is RequestKind.TEST:
                    self._store.requests.begin_test(request.run_id)
                else:
                    self._store.requests.close(request)
        return list(claimed.values())

    def _by_hand(
        self, request: Request, record: JobRecord | None, now_ms: int, *, is_free: bool
    ) -> tuple[JobRecord, Run] | None:
        if record is None or record.removed_at is not None:
            # Nobody is there to be answered; should the job come back, its question is open again.
            self._store.questions.reopen(request.run_id)
            return None
        run = Run(
            id=request.run_id,
            job_id=record.id,
            trigger=_TRIGGERS[request.kind],
            source=Source.MANUAL,
            started_at=now_ms,
            late_ms=max(0, now_ms - request.at),
        )
        if not is_free:
            self._skip(run, SkipReason.ALREADY_RUNNING, "", now_ms)
            return None
        if request.kind is not RequestKind.TEST:
            return record.evolve(run_id=run.id, last_run_at=now_ms), run
        spec = request.spec
        if spec is None:
            self._skip(run, SkipReason.UNSUPPORTED_TYPE, "what was to be tried cannot be read", now_ms)
            return None
        # Only what is run is the edited job's: its own columns are not written.
        return record.evolve(run_id=run.id, spec=replace(spec, group=record.spec.group)), run

    def _skip(self, run: Run, reason: SkipReason, error: str, now_ms: int) -> None:
        """Record that a run that was asked for does not start."""
        skipped = replace(run, outcome=Outcome.SKIPPED, reason=reason, error=error, started_at=None)
        self._insert([replace(skipped, finished_at=now_ms)])

    def _insert(self, ended: list[Run]) -> None:
        """Record runs that ended before they started."""
        self._store.runs.insert(ended, self._generation)
        self._news += [Change(ChangeKind.RUN_FINISHED, job_id=run.job_id, run_id=run.id) for run in ended]

    def take_news(self) -> list[Change]:
        """Return what was recorded beside the runs that were claimed, once."""
        news, self._news = self._news, []
        return news

    def drop_stale_requests(self, now_ms: int) -> None:
        """Do not start by hand today what someone asked for while no engine was there to hear it.

        An answer is never too late: its job waits for it.
        """
        for request in self._store.requests.triggers():
            if now_ms - request.at <= LATE_MS or request.kind is RequestKind.ANSWER:
                continue
            if self._store.jobs.get(request.job_id) is None:
                continue
            run = Run(
                id=request.run_id,
                job_id=request.job_id,
                trigger=_TRIGGERS[request.kind],
                source=Source.MANUAL,
                outcome=Outcome.SKIPPED,
                reason=SkipReason.MISSED,
                error="Halo was not running when this was asked for",
                finished_at=now_ms,
            )
            self._insert([run])
            self._store.requests.close(request)
