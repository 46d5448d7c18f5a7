"""What the surroundings say to a job that could start: a quiet time, its conditions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Self

from halo_scheduler.engine.candidates import Candidate
from halo_scheduler.grammar.english import clock_time, listed, weekday_name
from halo_scheduler.grammar.interval import DAY_MS, interval_in_words
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import NO_DETAILS, Condition, InQuietTime, SkipReason, WaitingDetails, WaitingFor
from halo_scheduler.model.quiet_times import Quiet, QuietTime
from halo_scheduler.rules.blockers import Hold
from halo_scheduler.schedule.quiet_times import quiet_at
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.wording.conditions import describe_condition, waiting_words

if TYPE_CHECKING:
    from halo_scheduler.conditions.surroundings import Finding, Surroundings

_LOG = logging.getLogger(__name__)
# A look takes seconds at most. What is not known after that long will not be known soon.
_LOOK_MS = 10_000


class Wait(NamedTuple):
    """What a job waits for: a kind and its parameters; `until` is when its conditions must hold."""

    waiting_for: WaitingFor
    details: WaitingDetails = NO_DETAILS
    until: int | None = None


class _Rest(NamedTuple):
    """A quiet time in words, as many jobs keep quiet together."""

    quiet: Quiet
    name: str
    end: str

    @classmethod
    def of(cls, quiet: Quiet | None, now_ms: int) -> Self | None:
        if quiet is None:
            return None
        moment = local_time(quiet.until)
        day = f"on {weekday_name(moment)} " if quiet.until - now_ms >= DAY_MS else ""
        return cls(quiet, f"the quiet time {quiet.by.name}".rstrip(), f"{day}at {clock_time(moment)}")


class StartConditions:
    """Looks around for the jobs of one engine; nobody is asked about anything that no job needs to know."""

    def __init__(self, store: Store, make_surroundings: Callable[[], Surroundings]) -> None:
        """`make_surroundings` is called only when a job has conditions."""
        self._store = store
        self._make_surroundings = make_surroundings
        self._surroundings: Surroundings | None = None
        self._now_ms = 0
        self._quiet_times: tuple[QuietTime, ...] = ()
        self._quiet: dict[str | None, _Rest | None] = {}
        self.quiet_groups: frozenset[str] = frozenset()
        """The groups that must be quiet now by a quiet time of their own."""
        self.is_all_quiet = False
        """Whether every job must be quiet now."""
        self._found: dict[Condition, Finding] = {}
        self._unknown_since: dict[Condition, int] = {}
        self._last_known: dict[Condition, bool] = {}
        self._last_fault: str | None = None
        self._awaited: set[Condition] = set()
        self._wakes_at: list[int] = []

    def begin(self, now_ms: int) -> None:
        """Forget what was seen at the last tick."""
        self._now_ms = now_ms
        self._quiet_times = self._store.settings.quiet_times()
        self._quiet = {}
        quiet = {time.group for time in self._quiet_times if quiet_at([time], time.group, now_ms)}
        self.is_all_quiet = None in quiet
        self.quiet_groups = frozenset(group for group in quiet if group is not None)
        self._found = {}
        # What nobody waited for since the last tick is looked at as for the first time.
        self._unknown_since = {item: at for item, at in self._unknown_since.items() if item in self._awaited}
        self._last_known = {item: held for item, held in self._last_known.items() if item in self._awaited}
        self._awaited = set()
        self._wakes_at = []

    @property
    def wakes_at(self) -> int | None:
        """The next instant at which something that is waited for changes without anybody telling."""
        return min((at for at in self._wakes_at if at > self._now_ms), default=None)

    def look(self, candidate: Candidate, *, has_place: bool) -> Wait | Hold | None:
        """Return what a job waits for, or why it gives up its slot; None when it may start."""
        rest = self._rest_of(candidate.record.spec.group)
        if rest is not None:
            return self._keep_quiet(candidate, rest)
        if not candidate.record.spec.policy.conditions:
            return None
        return self._ask_for_conditions(candidate, has_place=has_place)

    def follow(self) -> None:
        """Have the system followed as far as jobs wait since this tick, and no further."""
        if self._surroundings is None:
            return
        try:
            self._surroundings.watch(frozenset(self._awaited))
        except Exception as error:  # noqa: BLE001 - whatever it was: what is claimed by now must begin
            self._tell_of_fault(error)

    def close(self) -> None:
        """Follow nothing any more."""
        if self._surroundings is not None:
            self._surroundings.close()
            self._surroundings = None

    def keep_in_view(self, record: JobRecord) -> None:
        """Follow the conditions of a job that lacks a place: they must still hold when it gets one."""
        self._awaited.update(record.spec.policy.conditions)

    def note_on(self, record: JobRecord, how: str) -> str:
        """Return what a run that somebody asked for is to say about what it did not wait for."""
        words: list[str] = []
        rest, conditions = self._rest_of(record.spec.group), record.spec.policy.conditions
        if rest is not None:
            words.append(f"in {rest.name if rest.quiet.by.name else 'a quiet time'}")
        if conditions and record.waiting_for is WaitingFor.CONDITION:
            words.append(f"although it waits for {waiting_words(record.waiting_details.conditions)}")
        elif conditions:
            noun = "condition" if len(conditions) == 1 else "conditions"
            words.append(f"without asking for its {noun} ({', '.join(map(describe_condition, conditions))})")
        return f"started {how} {' and '.join(words)}" if words else ""

    # --- Quiet times ---------------------------------------------------------------------------------

    def _rest_of(self, group: str | None) -> _Rest | None:
        if not self._quiet_times:
            return None
        if group not in self._quiet:
            quiet = quiet_at(self._quiet_times, group, self._now_ms)
            self._quiet[group] = _Rest.of(quiet, self._now_ms)
        return self._quiet[group]

    def _keep_quiet(self, candidate: Candidate, rest: _Rest) -> Wait | Hold:
        if candidate.record.spec.policy.in_quiet_time is InQuietTime.SKIP:
            return Hold(SkipReason.QUIET_TIME, f"it was to start in {rest.name}, which ends {rest.end}")
        self._wakes_at.append(rest.quiet.until)
        details = WaitingDetails(name=rest.quiet.by.name, until=rest.quiet.until)
        return Wait(WaitingFor.QUIET_TIME, details, candidate.waits_until)

    # --- Conditions ----------------------------------------------------------------------------------

    def _ask_for_conditions(self, candidate: Candidate, *, has_place: bool) -> Wait | Hold | None:
        policy = candidate.record.spec.policy
        found = {condition: self._find(condition) for condition in policy.conditions}
        unmet = {condition: finding for condition, finding in found.items() if finding.holds is not True}
        failed = {condition: finding for condition, finding in unmet.items() if finding.holds is False}
        if not unmet or (not failed and not has_place and candidate.lacks_a_place):
            # What held a while ago is looked at once more; nothing is lost by waiting for the place meanwhile.
            return None
        until = self._deadline(candidate)
        # While a look is under way, what was so before is still said; what did hold is not, unless all did.
        named = {item: unmet[item] for item in unmet if not self._last_known.get(item)} or unmet
        if until is not None and until <= self._now_ms and (failed or self._is_lost(unmet)):
            return Hold(SkipReason.CONDITION, _why_given_up(named, policy.condition_deadline_ms or 0))
        self._awaited.update(policy.conditions)
        self._wakes_at += [] if until is None else [until, *self._lost_at(unmet)]
        details = WaitingDetails(conditions=tuple(named), is_unobservable=self._is_unobservable(named))
        return Wait(WaitingFor.CONDITION, details, until)

    def _deadline(self, candidate: Candidate) -> int | None:
        """Return until when a job waits: kept from when it began to, unless the clock went back or it was edited."""
        deadline_ms = candidate.record.spec.policy.condition_deadline_ms
        if deadline_ms is None:
            return None
        latest = self._now_ms + deadline_ms
        return latest if candidate.waits_until is None else min(candidate.waits_until, latest)

    def _find(self, condition: Condition) -> Finding:
        finding = self._found.get(condition)
        if finding is None:
            finding = self._found[condition] = self._ask(condition)
            since = self._unknown_since.pop(condition, self._now_ms)
            if finding.holds is None:
                self._unknown_since[condition] = min(since, self._now_ms)
            else:
                self._last_known[condition] = finding.holds
        return finding

    def _ask(self, condition: Condition) -> Finding:
        try:
            self._surroundings = self._surroundings or self._make_surroundings()
            return self._surroundings.find(condition, self._now_ms)
        except Exception as error:  # noqa: BLE001 - whatever it was: unknown is never true, and no job's fault
            from halo_scheduler.conditions.surroundings import Finding  # noqa: PLC0415 - loaded by now

            self._tell_of_fault(error)
            return Finding(None, f"it could not be looked at: {error}")

    def _tell_of_fault(self, error: Exception) -> None:
        """Log what went wrong in looking around; the same fault once, not at every tick."""
        if str(error) != self._last_fault:
            _LOG.error("A condition could not be looked at.", exc_info=error)
            self._last_fault = str(error)

    def _lost_at(self, conditions: dict[Condition, Finding]) -> list[int]:
        """Return from when on nobody waits for a look at conditions any more."""
        return [self._unknown_since[item] + _LOOK_MS for item in conditions if item in self._unknown_since]

    def _is_lost(self, unknown: dict[Condition, Finding]) -> bool:
        """Tell whether looks at conditions had their time: an engine that just woke up has not looked yet."""
        return all(at <= self._now_ms for at in self._lost_at(unknown))

    def _is_unobservable(self, conditions: dict[Condition, Finding]) -> bool:
        return bool(self._lost_at(conditions)) and self._is_lost(conditions)


def _why_given_up(unmet: dict[Condition, Finding], deadline_ms: int) -> str:
    states = listed([finding.words for finding in unmet.values() if finding.words] or ["it is not there"])
    return f"it waited {interval_in_words(deadline_ms)} for {waiting_words(unmet)}: {states}"
