"""What is done on behalf of an assistant: a person has to look at what it made or changed before that can run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halo_scheduler.errors import ScheduleError, SchedulerError, ScheduleTriggerError
from halo_scheduler.grammar.english import UNNAMED_ASSISTANT
from halo_scheduler.grammar.text import hidden_words
from halo_scheduler.model import (
    Action,
    Command,
    HintSource,
    HttpRequest,
    JobSpec,
    Policy,
    Prompt,
    SkipReason,
    StatusReason,
)
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import AssistantAccess
from halo_scheduler.model.work_source import GithubSource, WorkSource
from halo_scheduler.rules.admission import refuse_unobservable
from halo_scheduler.service.imports import Importing
from halo_scheduler.service.pauses import Steering
from halo_scheduler.service.questions import Asking
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.transfer.review import texts_in

if TYPE_CHECKING:
    from halo_scheduler.why.assistant_acts import AssistantAct

# What an assistant may say of a new job; that it is enabled, for one, is a person's to decide.
_GIVEN = ("name", "schedule", "action", "description", "group", "policy", "followers")
_LONGEST_NAME = 60
_NOT_ALLOWED = {
    AssistantAccess.RUN: "assistants may only look at jobs here; a person can allow more in the settings",
    AssistantAccess.EDIT: "assistants may not create or change jobs here; a person can allow it in the settings",
}
_UNSEEN = {
    StatusReason.ASSISTANT: "an assistant made or changed it",
    StatusReason.IMPORTED: "it was imported",
}


class Assisting(Importing, Steering, Asking):
    """Does for an assistant what it may do, each with its check in one transaction: there is no moment between."""

    @contextmanager
    def acting_for(self, assistant: str) -> Iterator[None]:
        """Record in the journal that what is done inside is done by the assistant of that name."""
        with self._store.events.on_behalf_of(assistant_name(assistant)):
            yield

    def require_assistants_may(self, access: AssistantAccess) -> None:
        """Refuse what the settings do not allow assistants to do."""
        if not self._store.settings.read().assistants.includes(access):
            raise SchedulerError(_NOT_ALLOWED[access])

    def get_assistant_acts(self, limit: int = 100, *, job_id: str | None = None) -> list[AssistantAct]:
        """Return what assistants did, the newest first; with a job, what they did with that one."""
        from halo_scheduler.why.assistant_acts import assistant_acts  # noqa: PLC0415 - for those who ask

        return assistant_acts(self._store, limit, job_id)

    def add_job_for_assistant(self, spec: JobSpec) -> str:
        """Store a job that is paused until a person resumes it, and return its id."""
        self.require_assistants_may(AssistantAccess.EDIT)
        refuse_unobservable([spec], (), self.check_condition)
        with self._assisting(AssistantAccess.EDIT):
            if _secret_names(spec.action):
                raise ScheduleError(
                    "an assistant cannot use secrets; leave them out, a person can add them", path="action"
                )
            _refuse_hiding(spec.to_dict())
            _refuse_deciding_consent(Policy(), spec.policy)
            now_ms = self._clock.now_ms()
            given = {name: getattr(spec, name) for name in _GIVEN}
            record = self._new_record({**given, "paused_by": StatusReason.ASSISTANT}, now_ms)
            (job_id,) = self._add([record], now_ms)
        self._tell_of(job_id)
        return job_id

    def update_job_for_assistant(self, job_id: str, change: Callable[[JobSpec], Mapping[str, Any]]) -> None:
        """Change a job to what a function makes of its spec; it is then paused until a person resumes it.

        Refused while the job runs or is about to: what runs, and what follows it, is what a person has reviewed.
        """
        self.require_assistants_may(AssistantAccess.EDIT)
        self._refuse_unobservable_change(job_id, change(self._existing(job_id).spec))
        with self._assisting(AssistantAccess.EDIT):
            record = self._existing(job_id)
            self._refuse_under_way(record)
            changes = change(record.spec)
            _refuse_new_secrets(record.spec.action, changes.get("action", record.spec.action))
            _refuse_hiding(replace(record.spec, **changes).to_dict(), record.spec.to_dict())
            _refuse_deciding_consent(record.spec.policy, changes.get("policy", record.spec.policy))
            self._update(job_id, changes, paused_by=StatusReason.ASSISTANT)
        self._tell_of(job_id)

    def _refuse_under_way(self, record: JobRecord) -> None:
        """Refuse to change a job whose run would end, be retried or be taken up again by what it is changed to."""
        is_running = record.run_id is not None
        if is_running or self._store.requests.has_trigger(record.id):
            state = "is running" if is_running else "is about to run"
            raise ScheduleTriggerError(
                f"{record.spec.name} {state}; change it when that run has ended", SkipReason.ALREADY_RUNNING
            )

    def pause_job_for_assistant(self, job_id: str, until: int | None = None) -> bool:
        """Pause a job, unless a person's pause or review holds it already. Tell whether it was paused."""
        with self._assisting(AssistantAccess.RUN):
            record = self._existing(job_id)
            if record.status_reason in _UNSEEN or self._is_stopped_by_person(record):
                return False
            self.pause_job(job_id, until)
        self._tell_of(job_id)
        return True

    def resume_job_for_assistant(self, job_id: str) -> None:
        """Resume a job that an assistant paused, or that errors disabled."""
        with self._starting(job_id):
            self.resume_job(job_id)

    def propose_interval_for_assistant(self, job_id: str, interval: str, ttl: str, reason: str) -> None:
        """Advise a pace for a while."""
        _refuse_hiding({"reason": reason})
        with self._starting(job_id):
            self.propose_interval(job_id, interval, ttl, reason, source=HintSource.ASSISTANT)

    def propose_next_run_for_assistant(self, job_id: str, at: int, ttl: str, reason: str) -> None:
        """Advise one run at an instant."""
        _refuse_hiding({"reason": reason})
        with self._starting(job_id):
            self.propose_next_run(job_id, at, ttl, reason, source=HintSource.ASSISTANT)

    def clear_hints_for_assistant(self, job_id: str) -> None:
        """Forget all advice; the job may then be due sooner."""
        with self._starting(job_id):
            self.clear_hints(job_id, source=HintSource.ASSISTANT)

    def trigger_for_assistant(self, job_id: str) -> str:
        """Ask for a run, unless the job's caps are used up; return the run's id."""
        with self._starting(job_id) as record:
            self._refuse_capped(record)
            run_id = self.trigger(job_id)
            now_ms = self._clock.now_ms()
            self._store.events.append(now_ms, EventKind.RUN_REQUESTED, job_id, run_id=run_id)
        return run_id

    @contextmanager
    def _assisting(self, access: AssistantAccess) -> Iterator[None]:
        """Act for an assistant in one transaction, if the settings allow that."""
        assistant = self._store.events.assistant or UNNAMED_ASSISTANT
        with self._store.transaction(), self._store.events.on_behalf_of(assistant):
            self.require_assistants_may(access)
            yield

    @contextmanager
    def _starting(self, job_id: str) -> Iterator[JobRecord]:
        """Do something that may start a job, if people let assistants do that with it."""
        with self._assisting(AssistantAccess.RUN):
            record = self._existing(job_id)
            _refuse_unseen(record)
            if self._is_stopped_by_person(record):
                state = "disabled" if record.disabled_reason is StatusReason.USER else "paused"
                raise SchedulerError(
                    f"a person {state} {record.spec.name}, and only a person can let it run again"
                )
            self._refuse_without_consent(record)
            yield record
        self._tell_of(job_id)

    def _is_stopped_by_person(self, record: JobRecord) -> bool:
        if record.disabled_reason is StatusReason.USER:
            return True
        return record.paused and not self._is_paused_by_assistant(record)

    def _refuse_without_consent(self, record: JobRecord) -> None:
        """Refuse to start a job if a person has not agreed to that, for it and for all that runs after it."""
        for found in self._with_followers(record):
            if found.spec.policy.assistants_may_run:
                continue
            after = "" if found.id == record.id else f", which runs after {record.spec.name}"
            raise SchedulerError(
                f"assistants may not run {found.spec.name}{after}; a person can allow it in that job's settings"
            )

    def _refuse_capped(self, record: JobRecord) -> None:
        """Refuse what a person could still start by hand: nobody watches what an assistant spends."""
        usage = self.get_usage(record.id)
        if usage.caps.runs_per_day is not None and usage.runs >= usage.caps.runs_per_day:
            raise ScheduleTriggerError(
                f"{record.spec.name} has used up its runs for today; a person can still run it",
                SkipReason.CAP,
            )
        if usage.caps.cost_per_day is not None and usage.cost >= usage.caps.cost_per_day:
            raise ScheduleTriggerError(
                f"{record.spec.name} has used up what it may cost today; a person can still run it",
                SkipReason.CAP,
            )

    def _tell_of(self, job_id: str) -> None:
        # What was told inside the transaction came before anybody could see the change.
        self._changed(Change(ChangeKind.JOB, job_id=job_id))


def assistant_name(given: str) -> str:
    """Return the name of an assistant as one short line, without characters that cannot be seen."""
    seen = "".join(sign if sign.isprintable() else " " for sign in given[: 10 * _LONGEST_NAME])
    name = " ".join(seen.split()) or UNNAMED_ASSISTANT
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _refuse_unseen(record: JobRecord) -> None:
    reason = record.status_reason
    if reason in _UNSEEN:
        raise SchedulerError(
            f"{record.spec.name} waits for a person: {_UNSEEN[reason]}, and only a person can enable it; "
            "ask them to look at it and to resume it"
        )


def _refuse_deciding_consent(before: Policy, after: Policy) -> None:
    if before.assistants_may_run != after.assistants_may_run:
        raise ScheduleError(
            "only a person decides whether assistants may run a job", path="policy.assistants_may_run"
        )


def _refuse_new_secrets(before: Action, after: Action) -> None:
    if _secret_names(after) - _secret_names(before):
        raise ScheduleError(
            "an assistant cannot add secrets that were not there; a person can", path="action"
        )
    # Whoever looks at the job may well look at its items first, and that sends the token.
    if _goes_elsewhere(_work_source(before), _work_source(after)):
        raise ScheduleError(
            "the token would go to another address; only a person can change that",
            path="action.work_source.base_url",
        )


def _refuse_hiding(after: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
    """Refuse new texts with characters that nobody can see: a person decides by what is shown."""
    known = {text for _, text in texts_in(before or {})}
    for path, text in texts_in(after):
        if text not in known and (words := hidden_words(text)):
            raise ScheduleError(f"has invisible characters ({words}); write it without them", path=path)


def _goes_elsewhere(before: WorkSource | None, after: WorkSource | None) -> bool:
    """Tell whether a token would be sent to where it was not sent so far."""
    if not isinstance(after, GithubSource) or not after.token:
        return False
    return not isinstance(before, GithubSource) or before.base_url != after.base_url


def _secret_names(action: Action) -> frozenset[str]:
    if not isinstance(action, Command | HttpRequest | Prompt):
        return frozenset()
    source = _work_source(action)
    return action.secret_names | (frozenset() if source is None else source.secret_names)


def _work_source(action: Action) -> WorkSource | None:
    return action.work_source if isinstance(action, Command | Prompt) else None
