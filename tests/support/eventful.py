"""Rules of a state machine for events that start jobs, and what must then be true."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, invariant, rule
from surrounded import SurroundedMachine

from halo_scheduler import Trigger
from halo_scheduler.rules.event_requests import Accepted, Happening, Refused, accept

_JOBS = Bundle("jobs")


class EventfulMachine(SurroundedMachine):
    """Lets events happen at random: each has one run, waits for it, or is refused."""

    accepted: dict[str, str]

    @rule(job_id=_JOBS, again=st.booleans())
    def happen(self, job_id: str, again: bool) -> None:
        """Let each event of a job happen, and perhaps be reported twice."""
        record = self._record(job_id)
        for entry in record.spec.events:
            self.accepted = getattr(self, "accepted", {})
            happening = Happening(
                job_id=job_id,
                key=entry.key,
                event_id=f"{job_id}-{len(self.accepted)}",
                at=self.bench.clock.now_ms(),
            )
            found = self._accept(happening)
            if again:
                assert self._accept(happening) == found
            assert isinstance(found, Accepted) == record.is_active
            if isinstance(found, Accepted) and not found.is_folded:
                self.accepted[happening.event_id] = found.run_id
        self.bench.tick()

    def _accept(self, happening: Happening) -> Accepted | Refused:
        store = self.bench.scheduler._store
        with store.transaction():
            return accept(store, happening)

    @invariant()
    def every_event_has_one_run_or_waits_for_it(self) -> None:
        store = self.bench.scheduler._store if hasattr(self, "bench") else None
        if store is None or not getattr(self, "accepted", {}):
            return
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
        started = [run.event_id for run in self.bench.started if run.trigger is Trigger.EVENT]
        assert set(started) <= set(getattr(self, "accepted", {}))
