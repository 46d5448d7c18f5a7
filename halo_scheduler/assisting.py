"""What is done on behalf of an assistant: a person has to look at what it made or changed before that can run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from halo_scheduler.asking import Asking
from halo_scheduler.changes import Change, ChangeKind
from halo_scheduler.errors import ScheduleError, SchedulerError, ScheduleTriggerError
from halo_scheduler.importing import Importing
from halo_scheduler.model import (
    Action,
    Command,
    HintSource,
    HttpRequest,
    JobSpec,
    Prompt,
    SkipReason,
    StatusReason,
)
from halo_scheduler.output_text import shown_text
from halo_scheduler.refusals import refuse_unobservable
from halo_scheduler.steering import Steering
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.work_sources import GithubSource, WorkSource

# What an assistant may say of a new job; that it is enabled, for one, is a person's to decide.
_GIVEN = ("name", "schedule", "action", "description", "group", "policy", "followers")
_UNSEEN = {
    StatusReason.ASSISTANT: "an assistant made or changed it",
    StatusReason.IMPORTED: "it was imported",
}


class Assisting(Importing, Steering, Asking):
    """Does for an assistant what it may do, each with its check in one transaction: there is no moment between."""

    def require_assistants_may_edit(self) -> None:
        """Refuse for an assistant what the settings do not allow it."""
        if not self._store.settings.read().assistants_may_edit:
            raise SchedulerError(
                "assistants may not create or change jobs here; a person can allow it in the settings"
            )

    def add_job_for_assistant(self, spec: JobSpec) -> str:
        """Store a job that is paused until a person resumes it, and return its id."""
        self.require_assistants_may_edit()
        refuse_unobservable([spec], (), self.check_condition)
        with self._store.transaction():
            self.require_assistants_may_edit()
            if _secret_names(spec.action):
                raise ScheduleError(
                    "an assistant cannot use secrets; leave them out, a person can add them", path="action"
                )
            _refuse_hiding(spec.to_dict())
            now_ms = self._clock.now_ms()
            given = {name: getattr(spec, name) for name in _GIVEN}
            record = self._new_record({**given, "paused_by": StatusReason.ASSISTANT}, now_ms)
            (job_id,) = self._add([record], now_ms)
        self._tell_of(job_id)
        return job_id

    def update_job_for_assistant(self, job_id: str, change: Callable[[JobSpec], Mapping[str, Any]]) -> None:
        """Change a job to what a function makes of its spec; it is then paused until a person resumes it."""
        self.require_assistants_may_edit()
        self._refuse_unobservable_change(job_id, change(self._existing(job_id).spec))
        with self._store.transaction():
            self.require_assistants_may_edit()
            record = self._existing(job_id)
            if self._store.requests.has_trigger(job_id):
                # It was asked for as it is: what somebody else makes of it meanwhile must not be run instead.
                raise ScheduleTriggerError(
                    f"{record.spec.name} is about to be run; change it when that run has begun",
                    SkipReason.ALREADY_RUNNING,
                )
            changes = change(record.spec)
            _refuse_new_secrets(record.spec.action, changes.get("action", record.spec.action))
            _refuse_hiding(replace(record.spec, **changes).to_dict(), record.spec.to_dict())
            self._update(job_id, changes, paused_by=StatusReason.ASSISTANT)
        self._tell_of(job_id)

    def pause_job_for_assistant(self, job_id: str, until: int | None = None) -> bool:
        """Pause a job; one that waits for a person goes on waiting, whatever was asked. Tell whether it was paused."""
        with self._store.transaction():
            if self._existing(job_id).status_reason in _UNSEEN:
                return False
            self.pause_job(job_id, until)
        self._tell_of(job_id)
        return True

    def resume_job_for_assistant(self, job_id: str) -> None:
        """Resume a job, unless it waits for a person."""
        with self._store.transaction():
            _refuse_unseen(self._existing(job_id))
            self.resume_job(job_id)
        self._tell_of(job_id)

    def propose_interval_for_assistant(self, job_id: str, interval: str, ttl: str, reason: str) -> None:
        """Advise a pace for a while, unless the job waits for a person."""
        with self._advising(job_id):
            self.propose_interval(job_id, interval, ttl, reason, source=HintSource.ASSISTANT)

    def propose_next_run_for_assistant(self, job_id: str, at: int, ttl: str, reason: str) -> None:
        """Advise one run at an instant, unless the job waits for a person."""
        with self._advising(job_id):
            self.propose_next_run(job_id, at, ttl, reason, source=HintSource.ASSISTANT)

    @contextmanager
    def _advising(self, job_id: str) -> Iterator[None]:
        with self._store.transaction():
            # Whoever looks at the job later would not know of advice on what it was before.
            _refuse_unseen(self._existing(job_id))
            yield
        self._tell_of(job_id)

    def trigger_for_assistant(self, job_id: str) -> str:
        """Ask for a run, unless the job waits for a person or its caps are used up; return the run's id."""
        with self._store.transaction():
            record = self._existing(job_id)
            _refuse_unseen(record)
            self._refuse_capped(record)
            run_id = self.trigger(job_id)
        self._tell_of(job_id)
        return run_id

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


def _refuse_unseen(record: JobRecord) -> None:
    reason = record.status_reason
    if reason in _UNSEEN:
        raise SchedulerError(
            f"{record.spec.name} waits for a person: {_UNSEEN[reason]}, and only a person can enable it; "
            "ask them to look at it and to resume it"
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
    """Refuse new texts of which a terminal or a window would not show all: a person decides by what is shown."""
    known = {text for _, text in _texts(before or {})}
    for path, text in _texts(after):
        if text not in known and shown_text(text.encode()) != text:
            raise ScheduleError(
                "has control characters that would hide a part of it; write it without them", path=path
            )


def _texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Give all texts of a spec, each with the path of its field."""
    match value:
        case str():
            yield path, value
        case dict():
            for key, item in value.items():
                yield path, key
                yield from _texts(item, f"{path}.{key}" if path else key)
        case list():
            for index, item in enumerate(value):
                yield from _texts(item, f"{path}[{index}]")


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
