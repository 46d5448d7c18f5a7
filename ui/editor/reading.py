"""The pages of the editor read into a spec, or the problems that prevent one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Action, JobSpec, Policy, Schedule, Several
from ui.editor.conditions.page import ConditionPolicy, ConditionsPage
from ui.editor.next_jobs.page import NextJobs, NextJobsPage
from ui.editor.what.page import What, WhatPage
from ui.editor.when.page import When, WhenPage
from ui.forms.fields import Findings, Problem

from .draft import Draft
from .failure_page import FailurePage, FailurePolicy
from .options_page import Options, OptionsPage
from .summary import action_summary, conditions_summary, failure_summary, next_jobs_summary, options_summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The values of the pages; None where a page has problems."""

    name: str | None
    action: Action | None
    description: str | None
    when: When | None
    conditions: ConditionPolicy | None
    failure: FailurePolicy | None
    next_jobs: NextJobs | None
    options: Options | None
    policy: Policy | None
    spec: JobSpec | None
    problems: tuple[Problem, ...]
    parameters: Mapping[str, str]

    @property
    def what(self) -> What:
        """The values of the first page."""
        return What(self.name, self.description, self.action)

    @property
    def is_enabled(self) -> bool:
        """Whether the job is enabled; True while that page has problems."""
        return self.options is None or self.options.enabled

    def stand_in(self, schedule: Schedule | Several) -> JobSpec:
        """Return a spec with another schedule and defaults for what is still invalid."""
        if self.name is None or self.action is None:
            raise ValueError("a job needs a name and an action")
        return JobSpec(
            name=self.name,
            schedule=schedule,
            action=self.action,
            description=self.description or "",
            policy=self.policy or Policy(),
            group=None if self.options is None else self.options.group,
            enabled=self.is_enabled,
            followers=() if self.next_jobs is None else self.next_jobs.followers,
            parameters=self.parameters,
        )

    def for_test(self, start: JobSpec) -> JobSpec | None:
        """Return what a test run needs, which is a valid action; the rest comes from `start` while it is invalid."""
        if self.spec is not None or self.action is None:
            return self.spec
        with suppress(ScheduleError):  # The action may use a parameter that is not declared yet.
            return replace(
                start, name=self.name or start.name, action=self.action, policy=self.policy or start.policy
            )
        return None

    def summaries(self, when_words: str) -> tuple[str, ...]:
        """Return a one-line summary of each page; empty where it has problems."""
        conditions, failure, next_jobs, options = self.conditions, self.failure, self.next_jobs, self.options
        return (
            "" if self.action is None else action_summary(self.action),
            "" if self.when is None else when_words,
            ""
            if conditions is None
            else conditions_summary(
                conditions.conditions, conditions.condition_deadline, conditions.in_quiet_time
            ),
            "" if failure is None else failure_summary(failure.time_limit, failure.retry),
            "" if next_jobs is None else next_jobs_summary(next_jobs.followers, next_jobs.names),
            ""
            if options is None
            else options_summary(options.policy, options.group, enabled=options.enabled),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The pages of one editor."""

    what: WhatPage
    when: WhenPage
    conditions: ConditionsPage
    failure: FailurePage
    next_jobs: NextJobsPage
    options: OptionsPage

    def all(self) -> tuple[WhatPage, WhenPage, ConditionsPage, FailurePage, NextJobsPage, OptionsPage]:
        """Return the pages in order."""
        return self.what, self.when, self.conditions, self.failure, self.next_jobs, self.options


def read_pages(draft: Draft, pages: Pages, now_ms: int) -> Reading:
    """Read all pages; problems come in the order of the pages."""
    findings = Findings()
    what = pages.what.read(findings)
    when = pages.when.read(findings, now_ms)
    conditions = pages.conditions.read(findings)
    failure = pages.failure.read(findings)
    next_jobs = pages.next_jobs.read(findings)
    options = pages.options.read(findings)
    reading = Reading(
        name=what.name,
        action=what.action,
        description=what.description,
        when=when,
        conditions=conditions,
        failure=failure,
        next_jobs=next_jobs,
        options=options,
        policy=_policy(conditions, failure, options),
        spec=None,
        problems=(),
        parameters=draft.start_spec().parameters if options is None else options.parameters,
    )
    if not findings.problems:
        reading = replace(reading, spec=findings.take("", lambda: _spec(draft, reading, now_ms)))
    return replace(reading, problems=tuple(findings.problems))


def _policy(
    conditions: ConditionPolicy | None, failure: FailurePolicy | None, options: Options | None
) -> Policy | None:
    if conditions is None or failure is None or options is None:
        return None
    return replace(
        options.policy,
        **{field.name: getattr(page, field.name) for page in (conditions, failure) for field in fields(page)},
    )


def _spec(draft: Draft, reading: Reading, now_ms: int) -> JobSpec:
    when = reading.when
    schedule = draft.start_spec().schedule if when is None else when.schedule
    return replace(
        reading.stand_in(schedule),
        anchor_at=now_ms if when is None else when.anchor_at,
        metadata=draft.start_spec().metadata,
    )
