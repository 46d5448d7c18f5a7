"""Rules of a state machine for jobs that adapt to their surroundings, and what must then be true."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule
from machine import Bench

from halo_scheduler import Outcome, Run, Trigger
from halo_scheduler.errors import JobNotFoundError, ScheduleError
from halo_scheduler.model import (
    NO_DETAILS,
    Condition,
    Follower,
    FollowOn,
    JobStatus,
    Network,
    PathExists,
    SkipReason,
    WaitingFor,
)
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.schedule.calendar import quiet_at
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord

GROUP = "calm"
DISK = PathExists(path="/mnt/backup")
NAS = Network(host="nas.local", port=22)
_FAILED = {Outcome.FAILURE, Outcome.TIMEOUT, Outcome.INTERRUPTED}
_FOLLOWED = {
    FollowOn.SUCCESS: {Outcome.SUCCESS},
    FollowOn.FAILURE: _FAILED,
    FollowOn.ALWAYS: {Outcome.SUCCESS, Outcome.CANCELLED, *_FAILED},
}
_JOBS = Bundle("jobs")


class SurroundedMachine(RuleBasedStateMachine):
    """Flips conditions, sets quiet times and links jobs at random."""

    bench: Bench
    starts_seen: int
    ends_seen: set[str]

    @rule(condition=st.sampled_from([DISK, NAS]), truth=st.sampled_from([True, True, False, None]))
    def flip(self, condition: Condition, truth: bool | None) -> None:
        self.bench.surroundings.truths[condition] = truth
        self.bench.tick()

    @rule(minutes=st.sampled_from([0, 1, 10, 600]), group=st.sampled_from([None, GROUP]))
    def keep_quiet(self, minutes: int, group: str | None) -> None:
        """Have a quiet time that has just begun, or none."""
        now = self.bench.clock.now_ms()
        start, end = (_time(now), _time(now + minutes * 60_000))
        times = [QuietTime(group=group, start=start, end=end, timezone="UTC")] if minutes else []
        self.bench.scheduler.settings.change(quiet_times=tuple(times))
        self.bench.tick()

    @rule(first=_JOBS, second=_JOBS, on=st.sampled_from(FollowOn))
    def follow(self, first: str, second: str, on: FollowOn) -> None:
        record = self._record(first)
        others = [follower for follower in record.spec.followers if follower.job_id != second]
        try:
            self.bench.scheduler.update_job(first, followers=(*others, Follower(job_id=second, on=on)))
        except JobNotFoundError:
            assert record.removed_at is not None
        except ScheduleError as error:
            assert "in a loop" in str(error) or "after itself" in str(error) or "in the trash" in str(error)

    @precondition(lambda self: hasattr(self, "bench") and bool(self._waiting_runs()))
    @rule(data=st.data())
    def cancel_waiting(self, data: st.DataObject) -> None:
        self.bench.scheduler.cancel_run(data.draw(st.sampled_from(self._waiting_runs())))

    @rule(job_id=_JOBS)
    def clear_hints(self, job_id: str) -> None:
        try:
            self.bench.scheduler.clear_hints(job_id)
        except JobNotFoundError:
            assert self.bench.scheduler.get_job(job_id) is None

    def _waiting_runs(self) -> list[str]:
        """Return the chain runs that wait, by job and age: their ids are by chance."""
        waiting = self.bench.scheduler.runs.waiting_in_chains()
        return [run.run_id for run in sorted(waiting, key=lambda run: (run.job_id, run.at))]

    def _record(self, job_id: str) -> JobRecord:
        record = self.bench.scheduler._store.jobs.get(job_id)
        assert record is not None
        return record

    def _is_met(self, record: JobRecord) -> bool:
        return all(self.bench.surroundings.truths.get(item) for item in record.spec.policy.conditions)

    def _is_quiet(self, record: JobRecord, at: int) -> bool:
        times = self.bench.scheduler.settings.read().quiet_times
        return quiet_at(times, record.spec.group, at) is not None

    # --- What must be true ---------------------------------------------------------------------------

    @invariant()
    def nothing_started_by_itself_that_had_to_wait(self) -> None:
        if not hasattr(self, "bench"):
            return
        for run in self.bench.started[self.starts_seen :]:
            record = self._record(run.job_id)
            if run.trigger in (Trigger.SCHEDULE, Trigger.CHAIN):
                assert self._is_met(record), run
                assert not self._is_quiet(record, run.started_at or 0), run
        self.starts_seen = len(self.bench.started)

    @invariant()
    def who_waits_says_truly_for_what(self) -> None:
        if not hasattr(self, "bench"):
            return
        now = self.bench.clock.now_ms()
        jobs = self.bench.scheduler.list_jobs()
        running = sum(job.status is JobStatus.RUNNING for job in jobs)
        running += sum(job.status is JobStatus.RUNNING for job in self.bench.scheduler.list_removed())
        for job in jobs:
            record = self._record(job.id)
            if job.waiting_for is None:
                assert job.waiting_details == NO_DETAILS
                continue
            assert job.status is JobStatus.IDLE, job
            assert job.next_run_at is not None, job
            assert job.next_run_at <= now, job
            assert (job.waiting_details == NO_DETAILS) == (job.waiting_for is WaitingFor.AT_CAPACITY)
            match job.waiting_for:
                case WaitingFor.AT_CAPACITY:
                    assert running == self.bench.max_concurrent
                case WaitingFor.QUIET_TIME:
                    assert self._is_quiet(record, now)
                case WaitingFor.CONDITION:
                    assert not self._is_met(record)
                    self._check_deadline(record, now)

    def _check_deadline(self, record: JobRecord, now: int) -> None:
        deadline_ms = record.spec.policy.condition_deadline_ms
        assert (record.waits_until is None) == (deadline_ms is None)
        if record.waits_until is None or deadline_ms is None:
            return
        assert record.waits_until <= now + deadline_ms
        if record.waits_until <= now:
            # Only a look is still waited for.
            truths = self.bench.surroundings.truths
            assert all(truths.get(item, False) is not False for item in record.spec.policy.conditions)

    @invariant()
    def the_loop_may_sleep(self) -> None:
        if hasattr(self, "bench"):
            assert self.bench.scheduler.engine.get_engine().delay_ms() > 0

    @invariant()
    def every_end_was_followed_once(self) -> None:
        if not hasattr(self, "bench"):
            return
        log = self.bench.scheduler.get_run_log(limit=100_000)
        caused = [(run.caused_by, run.job_id) for run in log if run.caused_by is not None]
        assert len(caused) == len(set(caused))
        queued = self.bench.scheduler.runs.waiting_in_chains()
        waiting = [(run.caused_by, run.job_id) for run in queued if run.caused_by]
        assert len(waiting) == len(set(waiting))
        assert set(waiting).isdisjoint(caused)
        asked = {*caused, *waiting, *self._broken_links(asked={*caused, *waiting})}
        for run in log:
            is_over = run.outcome is not Outcome.RUNNING and run.id not in self.ends_seen
            if is_over and not self._may_be_tried_again(run, log):
                self.ends_seen.add(run.id)
                self._check_followers(run, log, asked)

    def _broken_links(self, asked: set[tuple[str | None, str]]) -> set[tuple[str | None, str]]:
        """Return which followers of which runs the journal says did not run; one that was skipped has a run."""
        store = self.bench.scheduler._store
        found: set[tuple[str | None, str]] = set()
        for record in [*store.jobs.all(), *store.jobs.all(removed=True)]:
            for event in store.events.of_kinds(record.id, [EventKind.CHAIN_BROKEN]):
                link = (event.detail["run_id"], event.detail["follower"])
                assert link not in found, link
                is_skipped = event.detail["reason"] in (SkipReason.PAUSED, SkipReason.DISABLED)
                assert is_skipped == (link in asked), event
                found.add(link)
        return found

    def _check_followers(self, run: Run, log: list[Run], asked: set[tuple[str | None, str]]) -> None:
        # What was skipped was no attempt: the one before it was the last.
        is_last = run.started_at is not None and _later_outcomes(run, log) <= {Outcome.SKIPPED}
        for follower in self._record(run.job_id).spec.followers:
            is_followed = is_last and run.outcome in _FOLLOWED[follower.on]
            assert ((run.id, follower.job_id) in asked) == is_followed, (run, follower)

    def _may_be_tried_again(self, run: Run, log: list[Run]) -> bool:
        """Tell whether another attempt is planned or under way; until that is decided, nothing follows."""
        record = self._record(run.job_id)
        is_planned = (record.slot_at, record.attempt) == (run.slot_at, run.attempt + 1)
        is_slot = run.trigger is Trigger.SCHEDULE and run.slot_at is not None
        waiting = run.event_id and self.bench.scheduler._store.requests.waiting_event(run.event_id)
        return bool((is_slot and is_planned) or waiting or Outcome.RUNNING in _later_outcomes(run, log))


def _later_outcomes(run: Run, log: list[Run]) -> set[Outcome]:
    """Return what became of the later attempts for the slot or the event of a run, as far as they started."""
    cause = _cause(run)
    later = [found for found in log if _cause(found) == cause and found.attempt > run.attempt]
    return {found.outcome for found in later if cause and found.started_at is not None}


def _cause(run: Run) -> tuple[str, object] | None:
    """Return what all attempts have in common; None if there is only one."""
    if run.event_id is not None:
        return run.job_id, run.event_id
    is_slot = run.trigger is Trigger.SCHEDULE and run.slot_at is not None
    return (run.job_id, run.slot_at) if is_slot else None


def _time(at: int) -> str:
    return datetime.fromtimestamp(at // 1_000, UTC).strftime("%H:%M")
