"""Whatever happens in whatever order: nothing twice, nothing lost, nothing stuck."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from eventful import CALLED, DECLARED, INPUTS, MOST_WAITING, VALUES, EventfulMachine, Given
from grid_account import GridAccount
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)
from machine import START, Bench
from surrounded import DISK, GROUP, NAS

from halo_scheduler import (
    After,
    Cron,
    Entry,
    Every,
    Manual,
    Once,
    OnChat,
    OnWebhook,
    Outcome,
    Overlap,
    Policy,
    Retry,
    Run,
    Several,
    Trigger,
)
from halo_scheduler.engine import handle
from halo_scheduler.errors import JobNotFoundError, ScheduleError, ScheduleTriggerError
from halo_scheduler.model import (
    Backoff,
    Calendar,
    Caps,
    CatchUp,
    Follower,
    FollowOn,
    InQuietTime,
    JobStatus,
    Proposal,
    Question,
    QuestionState,
    Schedule,
    Shift,
    StatusReason,
)
from halo_scheduler.model.chat import ChatBot, ChatServiceName
from halo_scheduler.model.schedules import combine, gives_times
from halo_scheduler.rules import event_requests
from halo_scheduler.rules.grid import has_after
from halo_scheduler.schedule.calendar import local_day

_MOVING = Calendar(excluded=("2025-01-01", "weekends"), shift=Shift.NEXT)
_QUICK = {"mode": "quick", "depth": "0"}
_EVENTS: st.SearchStrategy[Schedule | Several] = st.sampled_from(
    [
        OnWebhook(),
        combine([Every("1m"), OnWebhook()]),
        combine([OnChat("family/direct", ("12",)), Every("10m")]),
        combine([Entry(OnWebhook(), on_overlap=Overlap.SKIP), OnChat("family/direct", ("12",))]),
        combine([Entry(OnWebhook(), on_overlap=Overlap.LATEST, parameters={"mode": "hook"})]),
        combine([Entry(OnWebhook(), on_overlap=Overlap.RESTART), Entry(Every("90s"), parameters=_QUICK)]),
    ]
)
_SCHEDULES: st.SearchStrategy[Schedule | Several] = st.one_of(
    st.sampled_from(
        [
            combine([Every("1m"), Cron("* * * * *", timezone="UTC")]),
            combine([Every("40s"), Entry(Every("1h"), anchor_at=START + 7_000)]),
            combine([Cron("*/7 * * * *", timezone="UTC"), Cron("30 2 * * *", timezone="Europe/Berlin")]),
            combine([After("30s"), Cron("*/5 * * * *", timezone="UTC")]),
            # The machine begins on 1 January 2025 and seldom stays on that day.
            combine([Entry(Every("1m"), until_date="2025-01-01")]),
            combine([Entry(Every("1h"), from_date="2025-01-02"), Cron("*/7 * * * *", timezone="UTC")]),
            combine([Entry(After("10m"), from_date="2025-01-02", until_date="2025-01-02")]),
            combine([Entry(Every("1m"), calendar=Calendar(excluded=("2025-01-02",)))]),
            combine([Entry(Cron("0-59/7 1-23 * * *", timezone="UTC"), calendar=_MOVING)]),
            combine([Entry(Every("1m"), on_overlap=Overlap.QUEUE)]),
            combine(
                [Entry(Every("1m"), on_overlap=Overlap.LATEST), Entry(Every("40s"), on_overlap=Overlap.QUEUE)]
            ),
            combine([Entry(Cron("* * * * *", timezone="UTC"), on_overlap=Overlap.RESTART), Every("90s")]),
            combine(
                [Entry(Every("1m"), parameters=_QUICK), Entry(Every("40s"), parameters={"mode": "other"})]
            ),
            combine(
                [
                    Entry(Cron("*/5 * * * *", timezone="UTC"), parameters={"mode": "whole"}),
                    Entry(Every("1m"), parameters=_QUICK, on_overlap=Overlap.QUEUE),
                ]
            ),
        ]
    ),
    _EVENTS,
    st.sampled_from([Every("10s"), Every("1m"), Every("1h"), After("30s"), After("10m"), Manual()]),
    st.sampled_from([Cron("* * * * *", timezone="UTC"), Cron("30 2 * * *", timezone="Europe/Berlin")]),
)
_POLICIES = st.builds(
    Policy,
    time_limit=st.sampled_from(["1m", "2h", None]),
    catch_up=st.sampled_from(CatchUp),
    catch_up_limit=st.sampled_from([1, 3, 100]),
    catch_up_max_age=st.sampled_from([None, None, "5m", "3h"]),
    max_errors=st.sampled_from([0, 2, 5]),
    backoff=st.sampled_from(
        [Backoff.ladder(), Backoff.ladder(1_000, 90_000), Backoff.double(), Backoff.none()]
    ),
    retry=st.sampled_from([Retry(), Retry(attempts=2, delay_ms=5_000)]),
    caps=st.sampled_from([Caps(), Caps(), Caps(runs_per_day=1), Caps(runs_per_day=3, cost_per_day=1.0)]),
    conditions=st.sampled_from([(), (), (DISK,), (DISK, NAS)]),
    condition_deadline=st.sampled_from([None, "1m", "2h"]),
    in_quiet_time=st.sampled_from(InQuietTime),
)
_SPREADS: list[dict[str, Any]] = [
    *({}, {"jitter_percent": 10}, {"jitter": "1h"}),
    *({"jitter": "20s", "is_jitter_fixed": True}, {"jitter_percent": 10, "is_jitter_fixed": True}),
]
_POLICIES = st.builds(lambda policy, spread: replace(policy, **spread), _POLICIES, st.sampled_from(_SPREADS))
_GROUPS = st.sampled_from([None, GROUP])
_PROPOSALS = st.sampled_from([None, None, Proposal(every_ms=90_000), Proposal(next_ms=20_000, ttl_ms=30_000)])
_OUTCOMES = st.sampled_from([Outcome.SUCCESS, Outcome.FAILURE, Outcome.SKIPPED])
_STEPS = st.sampled_from([1, 999, 5_000, 30_000, 60_000, 3_600_000])


class SchedulerMachine(EventfulMachine):
    """Drives a scheduler at random, and compares what it records with what it must."""

    jobs = Bundle("jobs")

    @initialize(
        targets=(jobs, CALLED),
        first=_POLICIES,
        second=_POLICIES,
        on=st.sampled_from(FollowOn),
        schedule=st.sampled_from([Every("10s"), Every("1h"), Manual()]) | _EVENTS,
        on_overlap=st.sampled_from([None, *Overlap]),
    )
    def open(
        self,
        first: Policy,
        second: Policy,
        on: FollowOn,
        schedule: Schedule | Several,
        on_overlap: Overlap | None,
    ) -> MultipleResults[str]:
        """Begin with two jobs, of which one follows the other."""
        self.folder = tempfile.TemporaryDirectory()
        self.patch = patch.object(handle, "is_alive", lambda _pid, _start: False)
        self.patch.start()
        self.limit = patch.object(event_requests, "MOST_WAITING", MOST_WAITING)
        self.limit.start()
        self.bench = Bench(Path(self.folder.name) / "halo.db", max_concurrent=2)
        bot = ChatBot(name="family", service=ChatServiceName.TELEGRAM, secret="A")  # noqa: S106 - a name
        self.bench.scheduler.settings.change(chat_bots=(bot,))
        self.names = 0
        # Jobs that were never edited, while the clock never went back: there, every point counts.
        self.steady: dict[str, tuple[Schedule | Several, int]] = {}
        self.onces: dict[str, int] = {}
        self.starts_checked = self.starts_seen = 0
        self.ends_seen = set()
        self.bench.tick()
        follower = self._add(schedule, second, GROUP)
        job_id = self._add(combine([Every("1m"), Entry(OnWebhook(), on_overlap=on_overlap)]), first, None)
        self.bench.scheduler.update_job(job_id, followers=(Follower(job_id=follower, on=on),))
        return multiple(job_id, follower)

    def teardown(self) -> None:
        if hasattr(self, "bench"):
            self.bench.close()
            self.patch.stop()
            self.limit.stop()
            self.folder.cleanup()

    @rule(target=jobs, schedule=_SCHEDULES, policy=_POLICIES, group=_GROUPS)
    def add(
        self, schedule: Schedule | Several, policy: Policy, group: str | None
    ) -> str | MultipleResults[str]:
        try:
            return self._add(schedule, policy, group)
        except ScheduleError as error:
            assert _is_over(schedule, self.bench.clock.now_ms()), error
            return multiple()

    def _add(self, schedule: Schedule | Several, policy: Policy, group: str | None) -> str:
        self.names += 1
        # Ids in order: among jobs due at the same time, the id decides who gets a place.
        job_id = f"{self.names:04}"
        self.bench.scheduler.add_job(
            f"job {self.names}", schedule, policy=policy, job_id=job_id, group=group, parameters=DECLARED
        )
        self.steady[job_id] = (schedule, self.bench.clock.now_ms())
        return job_id

    @rule(job_id=jobs, outcomes=st.lists(_OUTCOMES, min_size=1, max_size=4), proposal=_PROPOSALS)
    def run_its_slots(self, job_id: str, outcomes: list[Outcome], proposal: Proposal | None) -> None:
        """Let the next slots of a job and their retries come and end, one after the other."""
        for outcome in outcomes:
            job = self.bench.scheduler.get_job(job_id)
            if job is None or job.next_run_at is None:
                return
            self.bench.tick(max(0, job.next_run_at - self.bench.clock.now_ms()))
            for run in self._open_runs():
                if run.job_id == job_id:
                    self.finish_so(run, outcome, proposal=proposal)

    @rule(targets=(jobs, CALLED), schedule=_EVENTS, policy=_POLICIES, group=_GROUPS)
    def add_called(self, schedule: Schedule | Several, policy: Policy, group: str | None) -> str:
        return self._add(schedule, policy, group)

    @rule(target=jobs, ahead_ms=_STEPS, policy=_POLICIES)
    def add_once(self, ahead_ms: int, policy: Policy) -> str:
        self.names += 1
        schedule = Once(self.bench.clock.now_ms() + ahead_ms)
        job_id = f"{self.names:04}"
        self.onces[job_id] = schedule.due_at
        return self.bench.scheduler.add_job(
            f"job {self.names}", schedule, policy=policy, job_id=job_id, parameters=DECLARED
        )

    @rule(job_id=jobs, schedule=_SCHEDULES)
    def edit(self, job_id: str, schedule: Schedule | Several) -> None:
        self.steady.pop(job_id, None)
        self.onces.pop(job_id, None)
        try:
            self.bench.scheduler.update_job(job_id, schedule=schedule)
        except JobNotFoundError:
            assert self.bench.scheduler.get_job(job_id) is None
        except ScheduleError as error:
            assert _is_over(schedule, self.bench.clock.now_ms()), error

    @rule(job_id=jobs, for_ms=st.none() | _STEPS)
    def pause(self, job_id: str, for_ms: int | None) -> None:
        until = None if for_ms is None else self.bench.clock.now_ms() + for_ms
        try:
            self.bench.scheduler.pause_job(job_id, until)
        except JobNotFoundError:
            assert self.bench.scheduler.get_job(job_id) is None

    @rule(job_id=jobs)
    def resume(self, job_id: str) -> None:
        try:
            self.bench.scheduler.resume_job(job_id)
        except JobNotFoundError:
            assert self.bench.scheduler.get_job(job_id) is None
        except ScheduleError as error:
            assert "only time is in the past" in str(error)

    @rule(job_id=jobs, skip=st.booleans())
    def skip_next(self, job_id: str, skip: bool) -> None:
        try:
            self.bench.scheduler.skip_next(job_id, skip=skip)
        except JobNotFoundError:
            assert self.bench.scheduler.get_job(job_id) is None
        except ScheduleError as error:
            assert "no next run" in str(error) or "isn't skipped" in str(error)

    @rule(job_id=jobs)
    def remove(self, job_id: str) -> None:
        self.steady.pop(job_id, None)
        if self.bench.scheduler.get_job(job_id) is not None:
            self.bench.scheduler.remove_job(job_id)

    @rule(job_id=jobs, content=INPUTS, values=VALUES)
    def trigger(self, job_id: str, content: bytes = b"", values: dict[str, str] | None = None) -> None:
        try:
            run_id = self.bench.scheduler.trigger(job_id, parameters=values, input=content)
            self.given[run_id] = Given(content, values or {})
        except JobNotFoundError:
            assert self.bench.scheduler.get_job(job_id) is None
        except ScheduleTriggerError:
            is_asked_for = self.bench.scheduler._store.requests.has_trigger(job_id)
            assert is_asked_for or any(run.job_id == job_id for run in self._open_runs())

    @rule(job_id=jobs, ahead_ms=_STEPS, content=INPUTS, values=VALUES)
    def trigger_later(self, job_id: str, ahead_ms: int, content: bytes, values: dict[str, str]) -> None:
        at = self.bench.clock.now_ms() + ahead_ms
        try:
            run_id = self.bench.scheduler.trigger(job_id, parameters=values, input=content, at=at)
            self.given[run_id] = Given(content, values)
        except JobNotFoundError:
            assert self.bench.scheduler.get_job(job_id) is None

    @rule()
    def cancel_later(self) -> None:
        for run in self.bench.scheduler.runs.later():
            self.bench.scheduler.cancel_run(run.run_id)

    @precondition(lambda self: bool(self.bench.open_runs))
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(self._open_runs()))
        self.bench.scheduler.cancel_run(run.id)
        self.bench.open_runs.pop(run.id).cancel()
        self.bench.tick()

    @rule(job_id=jobs, ahead_ms=_STEPS, is_pace=st.booleans())
    def hint(self, job_id: str, ahead_ms: int, is_pace: bool) -> None:
        self.steady.pop(job_id, None)
        try:
            if is_pace:
                self.bench.scheduler.propose_interval(job_id, f"{ahead_ms // 1_000 + 1}s", ttl="2h")
            else:
                self.bench.scheduler.propose_next_run(job_id, self.bench.clock.now_ms() + ahead_ms, ttl="2h")
        except JobNotFoundError:
            assert self.bench.scheduler.get_job(job_id) is None
        except ScheduleError as error:
            assert "takes no hints" in str(error)

    @rule()
    def restore(self) -> None:
        for job in self.bench.scheduler.list_removed():
            self.bench.scheduler.restore_job(job.id)

    @rule(by_ms=_STEPS)
    def advance(self, by_ms: int) -> None:
        self.bench.tick(by_ms)

    @rule(by_ms=st.sampled_from([100_000, 7_200_000, 86_400_000]))
    def sleep_or_jump_forward(self, by_ms: int) -> None:
        before = {run.job_id for run in self._open_runs()}
        started = [run.job_id for run in self.bench.tick(by_ms)]
        # At most one catch-up for each job, and none beside a run.
        assert len(started) == len(set(started))
        assert before.isdisjoint(started) or self._timed_out(before & set(started))

    @rule(by_ms=st.sampled_from([2_000, 100_000, 7_200_000]))
    def jump_back(self, by_ms: int) -> None:
        self.steady.clear()
        self.bench.tick(-by_ms)

    @rule(later_ms=st.sampled_from([0, 1_000, 90_000, 10_000_000]))
    def crash_and_reopen(self, later_ms: int) -> None:
        self.bench.crash()
        self.bench.tick(later_ms)

    @precondition(lambda self: bool(self.bench.open_runs))
    @rule(data=st.data(), outcome=st.sampled_from([None, Outcome.SUCCESS, Outcome.FAILURE, Outcome.SKIPPED]))
    def finish(self, data: st.DataObject, outcome: Outcome | None) -> None:
        run = data.draw(st.sampled_from(self._open_runs()))
        self.bench.finish(run, outcome)

    @precondition(lambda self: bool(self.bench.open_runs))
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(self._open_runs()))
        self.bench.finish(run, error=RuntimeError("boom"))

    @precondition(lambda self: bool(self.bench.open_runs))
    @rule(
        data=st.data(),
        outcome=_OUTCOMES,
        cost=st.sampled_from([None, 0.4, 2.0]),
        question=st.sampled_from(["", "Which?"]),
        proposal=_PROPOSALS,
    )
    def finish_with_words(
        self,
        data: st.DataObject,
        outcome: Outcome,
        cost: float | None,
        question: str,
        proposal: Proposal | None,
    ) -> None:
        run = data.draw(st.sampled_from(self._open_runs()))
        self.finish_so(run, outcome, cost=cost, question=question, proposal=proposal)

    def finish_so(
        self,
        run: Run,
        outcome: Outcome,
        *,
        cost: float | None = None,
        question: str = "",
        proposal: Proposal | None = None,
    ) -> None:
        if proposal is not None:
            self.steady.pop(run.job_id, None)
        self.bench.end(run, outcome, cost=cost, question=question, proposal=proposal)

    @rule(
        job_id=jobs,
        outcome=_OUTCOMES,
        cost=st.sampled_from([None, 0.4, 2.0]),
        question=st.sampled_from(["", "Which?"]),
    )
    def run_by_hand(self, job_id: str, outcome: Outcome, cost: float | None, question: str) -> None:
        self.trigger(job_id)
        self.bench.tick()
        for run in self._open_runs():
            if run.job_id == job_id:
                self.bench.end(run, outcome, cost=cost, question=question)

    @precondition(lambda self: bool(self._questions(QuestionState.OPEN)))
    @rule(data=st.data(), is_beside_a_run=st.booleans(), is_removed=st.booleans())
    def answer(self, data: st.DataObject, is_beside_a_run: bool, is_removed: bool) -> None:
        question = data.draw(st.sampled_from(self._questions(QuestionState.OPEN)))
        if is_beside_a_run:
            self.trigger(question.job_id)
            self.bench.tick()
        self.bench.scheduler.questions.answer(question.id, "this one")
        if is_removed:
            self.remove(question.job_id)
        self.bench.tick()

    @precondition(lambda self: bool(self._questions(QuestionState.OPEN)))
    @rule(data=st.data())
    def dismiss(self, data: st.DataObject) -> None:
        question = data.draw(st.sampled_from(self._questions(QuestionState.OPEN)))
        self.bench.scheduler.questions.dismiss(question.id)

    @precondition(lambda self: bool(self._questions(QuestionState.ANSWERED)))
    @rule(data=st.data())
    def take_back(self, data: st.DataObject) -> None:
        question = data.draw(st.sampled_from(self._questions(QuestionState.ANSWERED)))
        run_id = question.answer_run_id or ""
        if self.bench.scheduler.get_run(run_id) is None:
            self.bench.scheduler.cancel_run(run_id)

    def _questions(self, state: QuestionState) -> list[Question]:
        """Return questions by job and age: their ids are by chance."""
        if not hasattr(self, "bench"):
            return []
        found = self.bench.scheduler.questions.list(include_settled=True, limit=1_000)
        return [question for question in reversed(found) if question.state is state]

    def _open_runs(self) -> list[Run]:
        """Return the runs under way, by job: they start on threads, in whatever order."""
        runs = [run for run in self.bench.started if run.id in self.bench.open_runs]
        return sorted(runs, key=lambda run: (run.job_id, run.started_at or 0))

    def _timed_out(self, job_ids: set[str]) -> bool:
        return all(
            any(run.outcome is Outcome.TIMEOUT for run in self.bench.scheduler.get_run_log(job_id))
            for job_id in job_ids
        )

    @invariant()
    def nothing_ran_twice_or_early(self) -> None:
        if not hasattr(self, "bench"):
            return
        planned = [run for run in self.bench.started if run.slot_at is not None]
        slots = [(run.job_id, run.slot_at, run.attempt) for run in planned]
        assert len(slots) == len(set(slots))
        for run in planned:
            # A retry keeps its slot, which lies ahead again after the clock went back.
            assert run.attempt > 1 or run.started_at is None or run.started_at >= (run.slot_at or 0)

    @invariant()
    def nothing_started_that_was_to_be_held_back(self) -> None:
        if not hasattr(self, "bench"):
            return
        asking = {question.job_id for question in self._questions(QuestionState.OPEN)}
        for run in self.bench.started[self.starts_checked :]:
            job = self.bench.scheduler.get_job(run.job_id)
            by_itself = (Trigger.SCHEDULE, Trigger.CHAIN)
            is_under_way = self.bench.recorded(run.id).outcome is Outcome.RUNNING
            if run.trigger not in by_itself or job is None or not is_under_way:
                continue
            assert run.job_id not in asking
            # What runs is counted when it ends.
            spent = self.bench.scheduler._store.usage.of(run.job_id, local_day(run.started_at or 0))
            caps = job.policy.caps
            assert caps.runs_per_day is None or spent.runs < caps.runs_per_day
            assert caps.cost_per_day is None or spent.cost < caps.cost_per_day
        self.starts_checked = len(self.bench.started)

    @invariant()
    def what_today_used_up_is_what_the_log_says(self) -> None:
        if not hasattr(self, "bench"):
            return
        today = local_day(self.bench.clock.now_ms())
        for job in self.bench.scheduler.list_jobs():
            runs = [
                run
                for run in self.bench.scheduler.get_run_log(job.id, limit=100_000)
                if run.started_at is not None and local_day(run.started_at) == today
            ]
            counted = [run for run in runs if run.outcome is not Outcome.SKIPPED]
            usage = self.bench.scheduler.jobs.usage(job.id)
            assert usage.runs == len(counted)
            assert usage.cost == round(sum(run.cost or 0 for run in runs), 6)

    @invariant()
    def every_answer_has_one_run_or_waits_for_it(self) -> None:
        if not hasattr(self, "bench"):
            return
        waiting = {request.run_id for request in self.bench.scheduler._store.requests.triggers()}
        answered = self._questions(QuestionState.ANSWERED)
        for question in answered:
            run = self.bench.scheduler.get_run(question.answer_run_id or "")
            assert (run is not None) != (question.answer_run_id in waiting)
            assert run is None or run.trigger is Trigger.ANSWER
            assert run is None or run.outcome is not Outcome.SKIPPED or run.reason is None
        runs = self.bench.scheduler.get_run_log(limit=100_000, trigger=Trigger.ANSWER)
        known = {question.answer_run_id for question in answered}
        in_trash = {job.id for job in self.bench.scheduler.list_removed()}
        assert {run.id for run in runs if run.job_id not in in_trash} <= known

    @invariant()
    def every_run_is_recorded_once_and_ends(self) -> None:
        if not hasattr(self, "bench"):
            return
        log = self.bench.scheduler.get_run_log(limit=100_000)
        by_id = {run.id: run for run in log}
        assert len(by_id) == len(log)
        assert {run.id for run in self.bench.started} <= set(by_id)
        running = [run.job_id for run in log if run.outcome is Outcome.RUNNING]
        assert len(running) == len(set(running)) <= 2
        for run in log:
            if run.outcome is Outcome.RUNNING:
                assert run.id in self.bench.open_runs
            else:
                assert run.finished_at is not None

    @invariant()
    def no_job_is_stuck(self) -> None:
        if not hasattr(self, "bench"):
            return
        for job in self.bench.scheduler.list_jobs():
            is_waiting = job.status is JobStatus.IDLE and gives_times(job.schedule)
            assert (job.next_run_at is not None) or not is_waiting, job
            if job.status in (JobStatus.PAUSED, JobStatus.DISABLED):
                assert job.next_run_at is None

    @invariant()
    def the_slot_of_a_finished_once_has_its_outcome(self) -> None:
        if not hasattr(self, "bench"):
            return
        for job_id, due_at in self.onces.items():
            job = self.bench.scheduler.get_job(job_id)
            if job is None or job.status_reason is not StatusReason.DONE:
                continue
            runs = self.bench.scheduler.get_run_log(job_id, limit=1_000, trigger=Trigger.SCHEDULE)
            assert any(run.outcome is not Outcome.RUNNING for run in runs), (job, due_at)

    @invariant()
    def every_grid_point_is_accounted_for(self) -> None:
        if not hasattr(self, "bench"):
            return
        for job_id, (schedule, added_at) in self.steady.items():
            if isinstance(schedule, Every | Cron | Several) and not has_after(schedule):
                account = GridAccount(job_id, schedule, added_at, self._record(job_id).spec.policy)
                account.check(self.bench.scheduler.get_run_log(job_id, limit=100_000))


def _is_over(schedule: Schedule | Several, now_ms: int) -> bool:
    """Return whether the last time of all schedules has passed: such a job is refused."""
    days = [entry.until_date for entry in schedule.entries] if isinstance(schedule, Several) else [None]
    return all(day is not None and day < local_day(now_ms + 600_000) for day in days)


TestSchedulerMachine = SchedulerMachine.TestCase
TestSchedulerMachine.settings = settings(
    max_examples=int(os.environ.get("HALO_EXAMPLES", "40")),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
