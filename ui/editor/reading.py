"""The form as a whole, read at one moment: the spec it makes, or what keeps it from making one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from halo_scheduler.model import Action, JobSpec, Policy, Schedule
from ui.editor.conditions.page import Waits, WaitsPage
from ui.editor.next_jobs.page import AfterPage, Afterwards
from ui.editor.what.page import What, WhatPage
from ui.editor.when.page import When, WhenPage
from ui.forms.problems import Findings, Problem

from .draft import Draft
from .failure_page import Trouble, TroublePage
from .options_page import Also, AlsoPage
from .summary import action_summary, after_summary, also_summary, trouble_summary, waits_summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the pages say; None where something is wrong."""

    name: str | None
    action: Action | None
    description: str | None
    when: When | None
    waits: Waits | None
    trouble: Trouble | None
    after: Afterwards | None
    also: Also | None
    policy: Policy | None
    spec: JobSpec | None
    problems: tuple[Problem, ...]

    @property
    def what(self) -> What:
        """What the first of the pages says."""
        return What(self.name, self.description, self.action)

    @property
    def is_enabled(self) -> bool:
        """Whether the job is switched on; it is while that cannot be told."""
        return self.also is None or self.also.enabled

    def stand_in(self, schedule: Schedule) -> JobSpec:
        """Return as much of a spec as there is, for a schedule of another job."""
        if self.name is None or self.action is None:
            raise ValueError("a job needs a name and an action")
        return JobSpec(
            name=self.name,
            schedule=schedule,
            action=self.action,
            description=self.description or "",
            policy=self.policy or Policy(),
            group=None if self.also is None else self.also.group,
            enabled=self.is_enabled,
            followers=() if self.after is None else self.after.followers,
        )

    def summaries(self, when_words: str) -> tuple[str, ...]:
        """Return what each page says on one line; nothing where it cannot be read."""
        waits, trouble, after, also = self.waits, self.trouble, self.after, self.also
        return (
            "" if self.action is None else action_summary(self.action),
            "" if self.when is None else when_words,
            "" if waits is None else waits_summary(waits.conditions, waits.deadline, waits.in_quiet_time),
            "" if trouble is None else trouble_summary(trouble.time_limit, trouble.retry),
            "" if after is None else after_summary(after.followers, after.names),
            "" if also is None else also_summary(also.policy, also.group, enabled=also.enabled),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The pages of one editor."""

    what: WhatPage
    when: WhenPage
    waits: WaitsPage
    trouble: TroublePage
    after: AfterPage
    also: AlsoPage

    def all(self) -> tuple[WhatPage, WhenPage, WaitsPage, TroublePage, AfterPage, AlsoPage]:
        """Return them in their order."""
        return self.what, self.when, self.waits, self.trouble, self.after, self.also


def read_pages(draft: Draft, pages: Pages, now_ms: int) -> Reading:
    """Read all pages; the order of what is wrong is the order of the pages."""
    findings = Findings()
    said = pages.what.read(findings)
    times = pages.when.read(findings, now_ms)
    surroundings = pages.waits.read(findings)
    troubles = pages.trouble.read(findings)
    afterwards = pages.after.read(findings)
    rest = pages.also.read(findings)
    reading = Reading(
        name=said.name,
        action=said.action,
        description=said.description,
        when=times,
        waits=surroundings,
        trouble=troubles,
        after=afterwards,
        also=rest,
        policy=_policy(draft, surroundings, troubles, rest),
        spec=None,
        problems=(),
    )
    if not findings.problems:
        reading = replace(reading, spec=findings.take("", lambda: _spec(draft, reading, now_ms)))
    return replace(reading, problems=tuple(findings.problems))


def _policy(draft: Draft, waits: Waits | None, trouble: Trouble | None, also: Also | None) -> Policy | None:
    if waits is None or trouble is None or also is None:
        return None
    # What this form does not know of a policy stays as it is.
    return replace(
        draft.start_spec().policy,
        time_limit=trouble.time_limit,
        retry=trouble.retry,
        backoff=trouble.backoff,
        max_errors=trouble.max_errors,
        catch_up=also.policy.catch_up,
        catch_up_max_age=also.policy.catch_up_max_age,
        limits=also.policy.limits,
        jitter_percent=also.policy.jitter_percent,
        notify=also.policy.notify,
        caps=also.policy.caps,
        reads_lines=also.policy.reads_lines,
        keep_awake=also.policy.keep_awake,
        assistants_may_run=also.policy.assistants_may_run,
        conditions=waits.conditions,
        condition_deadline=waits.deadline,
        in_quiet_time=waits.in_quiet_time,
    )


def _spec(draft: Draft, reading: Reading, now_ms: int) -> JobSpec:
    when = reading.when
    schedule = draft.start_spec().schedule if when is None else when.schedule
    return replace(
        reading.stand_in(schedule),
        anchor_at=now_ms if when is None else when.anchor_at,
        metadata=draft.start_spec().metadata,
    )
