"""Rules of a state machine for events that start jobs and for what runs are given, and what must then be true."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, invariant, rule
from surrounded import SurroundedMachine

from halo_scheduler import Entry, Outcome, Overlap, Run, Several, Trigger
from halo_scheduler.model import Schedule, SkipReason
from halo_scheduler.model.messages import MessageKind
from halo_scheduler.rules.event_requests import Accepted, Happening, Refused, accept, joined_input

DECLARED = {"mode": "full", "depth": "1"}
MOST_WAITING = 3
"""How many events of one schedule wait, in the state machine."""
INPUTS = st.sampled_from([b"", b"/in/a.pdf\n", b"\xff\0\x1b[2J\n", b"x" * 90])
VALUES = st.sampled_from([{}, {"mode": "fast"}, {"mode": "", "depth": "{{input}} $(true)\n"}])
CALLED = Bundle("called")
"""Jobs that were added with events."""


@dataclass
class Given:
    """What a run was given: its input, the values somebody chose, and how many other events are counted on it."""

    content: bytes = b""
    values: dict[str, str] = field(default_factory=dict)
    folded: int = 0


class EventfulMachine(SurroundedMachine):
    """Lets events happen at random: each has one run, waits for it, or is refused."""

    steady: dict[str, tuple[Schedule | Several, int]]

    def __init__(self) -> None:
        super().__init__()
        self.numbers = count()
        self.accepted: dict[str, str] = {}
        """The run of each event that has one."""
        self.given: dict[str, Given] = {}
        """What runs were given, by the run; a retry is given what its first attempt was."""
        self.unstarted: set[str] = set()
        """Runs of events that were recorded as skipped at once."""

    @rule(
        job_id=CALLED,
        again=st.booleans(),
        burst=st.lists(st.tuples(INPUTS, VALUES), min_size=1, max_size=5),
        is_answered=st.booleans(),
        is_ticked=st.booleans(),
    )
    def happen(
        self,
        job_id: str,
        again: bool,
        burst: list[tuple[bytes, dict[str, str]]],
        is_answered: bool,
        is_ticked: bool,
    ) -> None:
        """Let each event of a job happen, perhaps in a burst, and perhaps be reported twice."""
        for content, values in burst:
            for entry in self._record(job_id).spec.events:
                happening = Happening(
                    job_id=job_id,
                    key=entry.key,
                    event_id=f"{job_id}-{next(self.numbers)}",
                    at=self.bench.clock.now_ms(),
                    input=content,
                    parameters=values,
                    is_answered=is_answered,
                )
                self._happen(entry, happening, again=again)
        if is_ticked:
            self.bench.tick()

    def _happen(self, entry: Entry, happening: Happening, *, again: bool) -> None:
        expected = self._expected(entry, happening)
        found = self._accept(happening)
        if isinstance(found, Accepted):
            assert expected in (None, found.run_id)
            self._note(entry, happening, found)
        else:
            assert found == expected
        if found == Refused(SkipReason.ALREADY_RUNNING):
            self._note_skipped(happening)
        elif again:
            assert self._accept(happening) == found

    def _expected(self, entry: Entry, happening: Happening) -> Refused | str | None:
        """Return why an event is to be refused, the waiting run that it is to share, or None for a run of its own."""
        record = self._record(happening.job_id)
        if not record.is_active:
            is_paused = record.paused and record.disabled_reason is None
            return Refused(SkipReason.PAUSED if is_paused else SkipReason.DISABLED)
        requests = self.bench.scheduler._store.requests.events()
        waiting = [one for one in requests if (one.job_id, one.schedule_key) == (record.id, entry.key)]
        first_attempts = [one for one in waiting if one.attempt == 1]
        match entry.on_overlap:
            case Overlap.SKIP if record.run_id is not None or first_attempts:
                return Refused(SkipReason.ALREADY_RUNNING)
            case Overlap.LATEST | Overlap.RESTART if first_attempts:
                (only,) = (one for one in first_attempts if one.run_id in self.given)
                return only.run_id
            case None | Overlap.QUEUE if first_attempts and len(waiting) >= MOST_WAITING:
                if happening.is_answered:
                    return Refused(SkipReason.AT_CAPACITY)
                return max(first_attempts, key=lambda one: list(self.given).index(one.run_id)).run_id
        return None

    def _note(self, entry: Entry, happening: Happening, found: Accepted) -> None:
        """Take in that an event was accepted: for a run of its own, or for one that waits."""
        self.accepted[happening.event_id] = found.run_id
        given, values = self.given.get(found.run_id), dict(happening.parameters)
        if given is None:
            self.given[found.run_id] = Given(happening.input, values)
        elif entry.on_overlap in (Overlap.LATEST, Overlap.RESTART):
            self.given[found.run_id] = Given(happening.input, values, given.folded + 1)
        else:
            given.content, given.folded = joined_input(given.content, happening.input), given.folded + 1

    def _note_skipped(self, happening: Happening) -> None:
        """Check that a skipped event has its record, which its sender is told of if it reports the event again."""
        again = self._accept(happening)
        assert isinstance(again, Accepted)
        run = self.bench.recorded(again.run_id)
        assert (run.outcome, run.reason) == (Outcome.SKIPPED, SkipReason.ALREADY_RUNNING)
        self.accepted[happening.event_id] = run.id
        self.given[run.id] = Given(happening.input, dict(happening.parameters))
        self.unstarted.add(run.id)

    def _accept(self, happening: Happening) -> Accepted | Refused:
        store = self.bench.scheduler._store
        with store.transaction():
            return accept(store, happening)

    @invariant()
    def every_event_has_one_run_or_waits_for_it(self) -> None:
        if not self.accepted:
            return
        store = self.bench.scheduler._store
        rows = store.database.rows(
            "SELECT id, event_id, attempt FROM scheduler_run_log WHERE event_id IS NOT NULL"
        )
        runs = {run_id for run_id, _, attempt in rows if attempt == 1}
        waiting = {request.run_id for request in store.requests.events() if request.attempt == 1}
        assert not runs & waiting
        assert runs | waiting == set(self.accepted.values())
        attempts = Counter((event_id, attempt) for _, event_id, attempt in rows)
        assert all(count == 1 for count in attempts.values())

    @invariant()
    def a_started_event_was_accepted(self) -> None:
        if not hasattr(self, "bench"):
            return
        started = [run for run in self.bench.started if run.trigger is Trigger.EVENT]
        assert {run.event_id for run in started} <= set(self.accepted)
        assert self.unstarted.isdisjoint(run.id for run in started)

    @invariant()
    def every_run_has_what_it_was_given(self) -> None:
        if not hasattr(self, "bench"):
            return
        for run in self.bench.scheduler.get_run_log(limit=100_000):
            first_id = self.accepted.get(run.event_id or "", run.id)
            given = self._given_to_asking(run) if run.trigger is Trigger.ANSWER else self.given.get(first_id)
            given = given or Given()
            assert self.bench.scheduler.runs.input(run.id) == given.content, run
            assert run.input_bytes == len(given.content), run
            if run.trigger is Trigger.SCHEDULE and run.started_at is None and not run.parameters:
                continue  # It may stand for several points, whatever each would have been given.
            assert run.parameters.keys() == DECLARED.keys(), run
            assert given.values.items() <= run.parameters.items(), run
            if run.job_id in self.steady and run.trigger is not Trigger.ANSWER:
                assert run.parameters == DECLARED | self._by_schedule(run) | given.values, run
            if run.trigger is Trigger.EVENT and run.attempt == 1:
                counts = [
                    note.params["count"] for note in run.notes if note.kind is MessageKind.EVENTS_FOLDED
                ]
                assert counts == [given.folded] * bool(given.folded), run

    def _given_to_asking(self, run: Run) -> Given:
        """Return what the run was given whose question another run answers: all its values."""
        question = self.bench.scheduler._store.questions.answered_by(run.id)
        asked = self.bench.recorded(question.run_id) if question is not None else run
        return Given(self.bench.scheduler.runs.input(asked.id), dict(asked.parameters))

    def _by_schedule(self, run: Run) -> dict[str, str]:
        """Return the values that the schedules of a run set: a later schedule wins."""
        schedule, values = self.steady[run.job_id][0], dict[str, str]()
        for entry in schedule.entries if isinstance(schedule, Several) else ():
            if entry.key in run.schedule_keys:
                values |= entry.parameters
        return values
