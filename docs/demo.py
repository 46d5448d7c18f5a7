"""Make a database as a month of use leaves it, the same every time: for pictures, and for trying things out.

`python docs/demo.py FOLDER` makes one as of now, for the program to be started with HALO_HOME=FOLDER.
"""

from __future__ import annotations

import sys
import uuid
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from demo_agents import AGENT_STORIES
from demo_jobs import STORIES, Ending, Story, Task
from demo_surroundings import QUIET_TIMES, SURROUNDED_STORIES

from halo_scheduler.actions.spool import Spool, spool_folder
from halo_scheduler.clock import ManualClock, SystemClock
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_interval
from halo_scheduler.grammar.zone import find_zone, to_instant, to_wall, wall_seconds, wall_time
from halo_scheduler.model import (
    Follower,
    FollowOn,
    Outcome,
    PassedReason,
    Proposal,
    Question,
    Run,
    SkipReason,
    Source,
    StatusReason,
    Trigger,
    WaitingDetails,
    WaitingFor,
)
from halo_scheduler.model.messages import MessageKind, message, text_message
from halo_scheduler.rules.hints import hints_after
from halo_scheduler.rules.planning import plan, plan_after_run, plan_missed
from halo_scheduler.schedule.calendar import local_day
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.runs import RunEnd, Spent
from halo_scheduler.store.store import Store

# A Tuesday, two minutes past two in the afternoon in Berlin.
NOW_MS = 1_790_078_520_000
_OFF_HOURS = ((9.66, 9.9), (20.7, 20.9))
"""When the machine was off: from so many days ago, for so many days less."""
_GENERATION = 1
# So long ago somebody last looked at the window.
_UNSEEN_MS = 20 * MINUTE_MS
_PROGRESS, _PROGRESS_TEXT = 0.42, "20 310 of 48 612 files"
_FAILED = (Outcome.FAILURE, Outcome.TIMEOUT)
_ENDS = {FollowOn.SUCCESS: (Outcome.SUCCESS,), FollowOn.FAILURE: (*_FAILED, Outcome.INTERRUPTED)}
_NOTHING_SPENT = Spent(0, 0.0)
# So long ago, at most, somebody was asked.
_ASKED_MS = 2 * HOUR_MS


@dataclass(frozen=True, slots=True)
class _Past:
    """A run that is over, and what it printed."""

    run: Run
    output: str


def seed(path: Path, now_ms: int = NOW_MS) -> dict[str, str]:
    """Fill a new database; return the jobs' ids by their names."""
    stories = STORIES + AGENT_STORIES + SURROUNDED_STORIES
    lives = [_Life(story, number, now_ms) for number, story in enumerate(stories)]
    by_name = {life.story.spec.name: life for life in lives}
    for life in lives:
        life.live()
        if life.story.follows:
            life.follow(by_name[life.story.follows])
    store = Store.open(path, now_ms - 30 * DAY_MS)
    _fill(store, lives, now_ms)
    store.close()
    with Scheduler.open(path, clock=ManualClock(now_ms)) as scheduler:
        scheduler.set_group_limit("Backups", 1)
        scheduler.settings.change(
            autostart_asked=True,
            closing_explained=True,
            runs_kept_per_job=10_000,
            quiet_times=QUIET_TIMES,
        )
        for life in lives:
            if life.story.ending is Ending.PAUSED:
                scheduler.pause_job(life.record.id, _next_morning(now_ms))
            if life.story.ending is Ending.BY_ASSISTANT:
                scheduler.update_job(life.record.id, paused_by=StatusReason.ASSISTANT)
    return {life.record.spec.name: life.record.id for life in lives}


def _fill(store: Store, lives: list[_Life], now_ms: int) -> None:
    past = sorted(
        (past for life in lives for past in life.past),
        key=lambda past: past.run.started_at or past.run.finished_at or 0,
    )
    with store.transaction():
        store.jobs.insert([life.record for life in lives])
        for life in lives:
            store.events.append(
                life.record.created_at, EventKind.JOB_ADDED, life.record.id, name=life.record.spec.name
            )
        store.runs.insert([one.run for one in past], _GENERATION)
        store.outputs.insert([_stored(one) for one in past if one.output])
        seen = sum((one.run.started_at or 0) < now_ms - _UNSEEN_MS for one in past)
        store.settings.set_failures_seen(seen, [])
        store.questions.insert([life.question for life in lives if life.question is not None])
        today = local_day(now_ms)
        store.usage.add([(life.record.id, today, life.spent[today]) for life in lives if today in life.spent])
    for one in past:
        if one.run.outcome is Outcome.RUNNING:
            spool = Spool(spool_folder(store.database.path), one.run.id)
            with open(spool.create(), "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(one.output.encode())


def _stored(past: _Past) -> StoredOutput:
    content = past.output.encode()
    return StoredOutput(run_id=past.run.id, content=zlib.compress(content), total_bytes=len(content))


def _next_morning(now_ms: int) -> int:
    zone = find_zone(None)
    wall = wall_time(to_wall(zone, (now_ms + DAY_MS) // SECOND_MS)).replace(hour=8, minute=0, second=0)
    return to_instant(zone, wall_seconds(wall)) * SECOND_MS


class _Life:
    """A job from the day it was made until now, planned as the engine plans."""

    def __init__(self, story: Story, number: int, now_ms: int) -> None:
        self.story = story
        self.past: list[_Past] = []
        self.spent: dict[str, Spent] = {}
        self.question: Question | None = None
        self._now_ms = now_ms
        self._rng = Random(number)  # noqa: S311 - the same every time is what is wanted
        made_at = (now_ms - round(story.days * DAY_MS)) // HOUR_MS * HOUR_MS
        spec = replace(story.spec, anchor_at=made_at)
        record = JobRecord(
            id=str(uuid.UUID(int=self._rng.getrandbits(128), version=4)),
            created_at=made_at,
            updated_at=made_at,
            spec=spec,
            counted_until=made_at,
        )
        self._slots: set[int] = set()
        self.record = plan(record, made_at, self._is_taken)

    def _is_taken(self, _job_id: str, slot_at: int) -> bool:
        return slot_at in self._slots

    def live(self) -> None:
        """Go through all slots up to now."""
        for days_ago in self.story.by_hand:
            self._run_beside(Trigger.MANUAL, self._now_ms - round(days_ago * DAY_MS))
        while self.record.next_run_at is not None and self.record.next_run_at <= self._now_ms:
            if self._is_last() and self.story.ending in (Ending.RUNNING, Ending.WAITING):
                self._leave_open(self.record.next_run_at)
                return
            self._pass_slot(self.record.next_run_at)
        if self.story.question:
            self._ask()
        if self.story.proposes is not None:
            self._propose(self.story.proposes)

    def follow(self, before: _Life) -> None:
        """Run after each run of another job that ended so."""
        follower = Follower(job_id=self.record.id, on=self.story.follows_on)
        spec = before.record.spec
        before.record = before.record.evolve(spec=replace(spec, followers=(*spec.followers, follower)))
        # An attempt that was followed by another was not the end.
        last = {past.run.slot_at: past.run for past in before.past}
        for run in last.values():
            has_begun = run.started_at is not None and run.started_at > self.record.created_at
            if has_begun and run.finished_at is not None and run.outcome in _ENDS[follower.on]:
                self._run_beside(Trigger.CHAIN, run.finished_at + 40, caused_by=run.id)

    def _propose(self, proposal: Proposal) -> None:
        """Let the last run propose something about its job."""
        last = self.past[-1]
        every, ttl = format_interval(proposal.every_ms or 0), format_interval(proposal.ttl_ms)
        line = f'::halo every={every} ttl={ttl} reason="{proposal.reason}"\n'
        self.past[-1] = _Past(replace(last.run, proposal=proposal), f"{last.output}{line}")
        ended_at = last.run.finished_at or 0
        hinted = self.record.evolve(hints=hints_after(self.record.hints, proposal, ended_at))
        self.record = plan(hinted, ended_at, self._is_taken)

    def _is_last(self) -> bool:
        at = self.record.next_run_at
        return at is not None and self._now_ms - at < 10 * MINUTE_MS

    def _ask(self) -> None:
        """Let the last run leave its question, and its item, if it has one, be the last one."""
        last = self.past[-1]
        run = last.run if not self.story.tasks else _with_task(last.run, self.story.tasks[-1])
        self.past[-1] = _Past(run, f"{last.output}::needs-input {self.story.question}\n")
        self.question = Question(
            id=f"{self._rng.getrandbits(128):032x}",
            job_id=run.job_id,
            run_id=run.id,
            asked_at=run.finished_at or 0,
            text=self.story.question,
            work_id=run.work_id,
        )

    def _pass_slot(self, at: int) -> None:
        woken_at = self._woken_at(at)
        if self._is_capped(at):
            self._skip_for_cap(at)
        elif woken_at is None:
            self._run(at + self._rng.randrange(1, 9), self.record.next_source or Source.CRON)
        else:
            self._miss_slot(woken_at)

    def _is_capped(self, at: int) -> bool:
        most = self.story.spec.policy.caps.runs_per_day
        return most is not None and self.spent.get(local_day(at), _NOTHING_SPENT).runs >= most

    def _skip_for_cap(self, at: int) -> None:
        most = self.story.spec.policy.caps.runs_per_day
        why = message(MessageKind.RUN_LIMIT, runs=most, limit=most)
        end = RunEnd(outcome=Outcome.SKIPPED, finished_at=at + 2, reason=SkipReason.CAP, message=why)
        self._end(self._new_run(self.record.next_source or Source.CRON, None), end, "")

    def _miss_slot(self, woken_at: int) -> None:
        caught_up = plan_missed(self.record, woken_at, PassedReason.DOWNTIME, self._is_taken)
        if caught_up is not None:
            self.record = caught_up
            self._run(woken_at + self._rng.randrange(900, 4_000), Source.CATCH_UP)
            return
        end = RunEnd(outcome=Outcome.MISSED, finished_at=woken_at, message=message(MessageKind.MISSED))
        self._end(self._new_run(Source.CRON, None), end, "")

    def _woken_at(self, at: int) -> int | None:
        """Return when the machine was switched on again, if it was off then."""
        for since, until in _OFF_HOURS:
            begins, ends = (self._now_ms - round(days * DAY_MS) for days in (until, since))
            if begins <= at < ends:
                return ends
        return None

    def _new_run(self, source: Source, started_at: int | None) -> Run:
        record = self.record
        return Run(
            id=f"{self._rng.getrandbits(128):032x}",
            job_id=record.id,
            trigger=Trigger.SCHEDULE,
            source=source,
            slot_at=record.slot_at,
            attempt=record.attempt,
            started_at=started_at,
            late_ms=0 if started_at is None else max(0, started_at - (record.next_run_at or started_at)),
        )

    def _run(self, started_at: int, source: Source) -> None:
        outcome = self._outcome_at(started_at)
        run = self._new_run(source, started_at)
        task = self._task(outcome)
        if task is not None:
            run = _with_task(run, task)
        self._end(run, self._end_of(outcome, started_at), self.story.prints(self._rng, outcome))

    def _task(self, outcome: Outcome) -> Task | None:
        tasks = self.story.tasks[:-1] if self.story.question else self.story.tasks
        if not tasks or outcome is Outcome.SKIPPED:
            return None
        return tasks[len(self.past) % len(tasks)]

    def _outcome_at(self, at: int) -> Outcome:
        if self._now_ms - at < self.story.broken_for_ms:
            return Outcome.FAILURE
        drawn = self._rng.random()
        if self.story.question and self._now_ms - at < _ASKED_MS:
            return Outcome.SUCCESS
        for outcome, share in self.story.odds.items():
            if drawn < share:
                return outcome
            drawn -= share
        return Outcome.SUCCESS

    def _end_of(self, outcome: Outcome, started_at: int) -> RunEnd:
        story = self.story
        finished_at = started_at + self._duration_ms(outcome)
        is_http = story.http_status is not None
        error, code = "", None if is_http else 0
        if outcome is Outcome.FAILURE:
            error, code = story.error, None if is_http else story.exit_code
        elif outcome is Outcome.TIMEOUT:
            error, code = f"it was still running after {story.spec.policy.time_limit}", None
        elif outcome is Outcome.CANCELLED:
            error, code = "stopped by you", None
        elif outcome is Outcome.SKIPPED:
            code = None if story.tasks else 4
        status = story.http_status if outcome is Outcome.FAILURE else 200
        return RunEnd(
            outcome=outcome,
            finished_at=finished_at,
            reason=SkipReason.NO_WORK if outcome is Outcome.SKIPPED else None,
            message=text_message(error),
            exit_code=code,
            http_status=status if is_http else None,
            cost=self._cost(outcome),
        )

    def _cost(self, outcome: Outcome) -> float | None:
        if self.story.costs is None or outcome is Outcome.SKIPPED:
            return None
        return round(self._rng.uniform(*self.story.costs), 2)

    def _duration_ms(self, outcome: Outcome) -> int:
        shortest, longest = self.story.took_s
        if outcome is Outcome.TIMEOUT:
            return self.story.spec.policy.time_limit_ms or HOUR_MS
        share = self._rng.betavariate(2, 4)
        if outcome in (Outcome.CANCELLED, Outcome.SKIPPED, *_FAILED):
            shortest, longest = shortest / 3, longest / 2
        return round((shortest + share * (longest - shortest)) * SECOND_MS)

    def _end(self, run: Run, end: RunEnd, output: str) -> None:
        ended = replace(
            run,
            outcome=end.outcome,
            finished_at=end.finished_at,
            reason=end.reason,
            message=end.message,
            exit_code=end.exit_code,
            http_status=end.http_status,
            cost=end.cost,
        )
        self.past.append(_Past(ended, output))
        self._spend(ended)
        if run.slot_at is not None:
            self._slots.add(run.slot_at)
        started = self.record.evolve(
            run_id=run.id,
            next_run_at=None,
            last_slot_at=run.slot_at or self.record.last_slot_at,
            counted_until=max(self.record.counted_until, run.slot_at or 0),
            last_run_at=run.started_at or self.record.last_run_at,
        )
        self.record = plan_after_run(started, run, end, self._is_taken)

    def _spend(self, run: Run) -> None:
        if run.started_at is not None and run.outcome is not Outcome.SKIPPED:
            day = local_day(run.started_at)
            before = self.spent.get(day, _NOTHING_SPENT)
            self.spent[day] = Spent(before.runs + 1, before.cost + (run.cost or 0.0))

    def _run_beside(self, trigger: Trigger, at: int, *, caused_by: str | None = None) -> None:
        """Record a run beside the schedule; it leaves the plan as it is."""
        run = Run(
            id=f"{self._rng.getrandbits(128):032x}",
            job_id=self.record.id,
            trigger=trigger,
            source=Source.MANUAL,
            started_at=at,
            caused_by=caused_by,
        )
        outcome = Outcome.SUCCESS if caused_by is None else self._outcome_at(at)
        end = self._end_of(outcome, at)
        before = self.record
        self._end(run, end, self.story.prints(self._rng, outcome))
        self.record = before.evolve(last_outcome=end.outcome, last_run_at=at)

    def _leave_open(self, at: int) -> None:
        if self.story.ending is Ending.WAITING:
            limit_ms = self.story.spec.policy.condition_deadline_ms
            self.record = self.record.evolve(
                waiting_for=WaitingFor.CONDITION if self.story.waits_for else WaitingFor.AT_CAPACITY,
                waiting_details=WaitingDetails(conditions=self.story.waits_for),
                waits_until=None if limit_ms is None else at + limit_ms,
            )
            return
        started_at = at + 4
        run = self._new_run(self.record.next_source or Source.CRON, started_at)
        run = replace(run, progress=_PROGRESS, progress_text=_PROGRESS_TEXT)
        text = self.story.prints(self._rng, Outcome.SUCCESS)
        self.past.append(_Past(run, text.split("\n\n", maxsplit=1)[0] + "\n"))
        self.record = self.record.evolve(
            run_id=run.id,
            next_run_at=None,
            next_source=None,
            last_slot_at=run.slot_at,
            counted_until=max(self.record.counted_until, run.slot_at or 0),
            last_run_at=started_at,
        )


def _with_task(run: Run, task: Task) -> Run:
    return replace(run, work_id=task.id, work_title=task.title, work_url=task.url)


def main() -> None:
    """Fill a folder given on the command line."""
    if len(sys.argv) != 2:  # noqa: PLR2004 - the program and its one argument
        sys.exit("Usage: python docs/demo.py FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(mode=0o700, parents=True)
    jobs = seed(folder / "halo.db", SystemClock().now_ms())
    sys.stdout.write(f"{len(jobs)} jobs; now start: HALO_HOME={folder} halo\n")


if __name__ == "__main__":
    main()
