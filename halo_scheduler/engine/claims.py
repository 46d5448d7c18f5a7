"""Claiming: the atomic step that turns due jobs into running ones; always inside the engine's transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from halo_scheduler.changes import Change, ChangeKind
from halo_scheduler.engine.recovery import one_job
from halo_scheduler.ids import new_run_id
from halo_scheduler.model import Outcome, Run, SkipReason, Source, StatusReason, Trigger
from halo_scheduler.planning import LATE_MS, UNPLANNABLE, passed_over, plan, without_plan
from halo_scheduler.store.jobs import JobRecord
from halo_scheduler.store.requests import Request, RequestKind
from halo_scheduler.store.store import Store


class Claims:
    """Claims for one engine, whose generation every run carries."""

    def __init__(self, store: Store, generation: int, max_concurrent: Callable[[], int]) -> None:
        self._store = store
        self._generation = generation
        self._max_concurrent = max_concurrent
        self._news: list[Change] = []

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
        return claimed

    def _claim_due(
        self, now_ms: int, places: int, in_group: Counter[str | None], seen: set[str]
    ) -> list[tuple[JobRecord, Run]]:
        limits = self._store.groups.limits()
        claimed: list[tuple[JobRecord, Run]] = []
        while len(claimed) < places:
            # Without group limits the oldest slots fill the places; with them, some may have to be passed by.
            page = self._store.jobs.due(now_ms, -1 if limits else places - len(claimed) + len(seen))
            fresh = [record for record in page if record.id not in seen]
            if not fresh:
                break
            for record in fresh:
                seen.add(record.id)
                group = record.spec.group
                if len(claimed) < places and (group not in limits or in_group[group] < limits[group]):
                    found = self._claim_one(record, now_ms)
                    claimed += [found] if found else []
                    in_group[group] += int(found is not None)
        return claimed

    def _claim_one(self, record: JobRecord, now_ms: int) -> tuple[JobRecord, Run] | None:
        """Claim a due job; one whose slot had its run is planned anew, one that cannot be read is disabled."""
        fallback: JobRecord | None = None
        with one_job(self._store, record.id, now_ms):
            if not self._had_its_run(record):
                return self._to_run(record, now_ms)
            fallback = plan(without_plan(record), now_ms, self._store.runs.has_slot)
        if fallback is None:
            reason = StatusReason.ERRORS
            fallback = without_plan(record).evolve(disabled_reason=reason, last_error=UNPLANNABLE)
        self._store.jobs.save_states([fallback])
        return None

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
            counted_until=max(record.counted_until, record.slot_at or 0),
            last_slot_at=max(record.last_slot_at or 0, record.slot_at or 0),
            last_run_at=now_ms,
        )
        return claimed, run

    def _claim_by_hand(self, now_ms: int, places: int) -> list[tuple[JobRecord, Run]]:
        claimed: list[tuple[JobRecord, Run]] = []
        while len(claimed) < places:
            page = self._store.requests.triggers(places - len(claimed))
            for request in page:
                is_claimed = any(record.id == request.job_id for record, _ in claimed)
                found = self._by_hand(request, now_ms, is_claimed=is_claimed)
                claimed += [found] if found else []
                if found and request.kind is RequestKind.TEST:
                    self._store.requests.begin_test(request.run_id)
                else:
                    self._store.requests.close(request)
            if not page:
                break
        return claimed

    def _by_hand(self, request: Request, now_ms: int, *, is_claimed: bool) -> tuple[JobRecord, Run] | None:
        record = self._store.jobs.get(request.job_id)
        if record is None or record.removed_at is not None:
            return None
        run = Run(
            id=request.run_id,
            job_id=record.id,
            trigger=_trigger_of(request),
            source=Source.MANUAL,
            started_at=now_ms,
            late_ms=max(0, now_ms - request.at),
        )
        if record.run_id is not None or is_claimed:
            self._skip(run, SkipReason.ALREADY_RUNNING, "", now_ms)
            return None
        if request.kind is RequestKind.TRIGGER:
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
        """Do not start by hand today what someone asked for while no engine was there to hear it."""
        for request in self._store.requests.triggers():
            record = self._store.jobs.get(request.job_id)
            if now_ms - request.at <= LATE_MS or record is None:
                continue
            run = Run(
                id=request.run_id,
                job_id=request.job_id,
                trigger=_trigger_of(request),
                source=Source.MANUAL,
                outcome=Outcome.SKIPPED,
                reason=SkipReason.MISSED,
                error="Halo was not running when this was asked for",
                finished_at=now_ms,
            )
            self._insert([run])
            self._store.requests.close(request)


def _trigger_of(request: Request) -> Trigger:
    return Trigger.TEST if request.kind is RequestKind.TEST else Trigger.MANUAL
