"""The values of jobs and runs: frozen, validated on creation, with strict JSON in and out."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halo_scheduler.model.actions import (
        Action,
        BodyKind,
        Callback,
        Command,
        HttpRequest,
        ProcessAction,
        Prompt,
        Redirects,
        Reminder,
        action_from_dict,
    )
    from halo_scheduler.model.calendars import Calendar, Shift
    from halo_scheduler.model.conditions import (
        MOST_CONDITIONS,
        Condition,
        Idle,
        Load,
        MainsPower,
        Network,
        PathExists,
        condition_from_dict,
    )
    from halo_scheduler.model.events import (
        Event,
        FileEvent,
        OnChat,
        OnFile,
        OnSession,
        OnWebhook,
        SessionEvent,
    )
    from halo_scheduler.model.jobs import MOST_FOLLOWERS, SCHEMA_VERSION, Follower, Job, JobSpec, JobState
    from halo_scheduler.model.plans import Hints, Plan, Proposal, Rule, Step
    from halo_scheduler.model.policies import (
        Backoff,
        BackoffKind,
        Caps,
        CatchUp,
        InQuietTime,
        Limits,
        Notify,
        Policy,
        Retry,
        require_jitter,
    )
    from halo_scheduler.model.runs import Question, QuestionState, Run
    from halo_scheduler.model.schedules import Entry, Overlap, Schedule, Several, schedule_from_dict
    from halo_scheduler.model.situation import (
        NO_DETAILS,
        Capacity,
        Situation,
        SituationKind,
        StartCheck,
        Waiting,
        WaitingDetails,
    )
    from halo_scheduler.model.time_rules import SHORTEST_EVERY_MS, After, Cron, Every, Manual, Once
    from halo_scheduler.model.words import (
        ERRORS,
        FAILURES,
        PROBLEMS,
        FollowOn,
        HintSource,
        JobStatus,
        Outcome,
        PassedReason,
        SkipReason,
        Source,
        StatusReason,
        Trigger,
        WaitingFor,
    )
else:

    def __getattr__(name: str) -> object:
        """Load a class on first use."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - once for each name

        found = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
        return found


__all__ = [
    "ERRORS",
    "FAILURES",
    "MOST_CONDITIONS",
    "MOST_FOLLOWERS",
    "NO_DETAILS",
    "PROBLEMS",
    "SCHEMA_VERSION",
    "SHORTEST_EVERY_MS",
    "Action",
    "After",
    "Backoff",
    "BackoffKind",
    "BodyKind",
    "Calendar",
    "Callback",
    "Capacity",
    "Caps",
    "CatchUp",
    "Command",
    "Condition",
    "Cron",
    "Entry",
    "Event",
    "Every",
    "FileEvent",
    "FollowOn",
    "Follower",
    "HintSource",
    "Hints",
    "HttpRequest",
    "Idle",
    "InQuietTime",
    "Job",
    "JobSpec",
    "JobState",
    "JobStatus",
    "Limits",
    "Load",
    "MainsPower",
    "Manual",
    "Network",
    "Notify",
    "OnChat",
    "OnFile",
    "OnSession",
    "OnWebhook",
    "Once",
    "Outcome",
    "Overlap",
    "PassedReason",
    "PathExists",
    "Plan",
    "Policy",
    "ProcessAction",
    "Prompt",
    "Proposal",
    "Question",
    "QuestionState",
    "Redirects",
    "Reminder",
    "Retry",
    "Rule",
    "Run",
    "Schedule",
    "SessionEvent",
    "Several",
    "Shift",
    "Situation",
    "SituationKind",
    "SkipReason",
    "Source",
    "StartCheck",
    "StatusReason",
    "Step",
    "Trigger",
    "Waiting",
    "WaitingDetails",
    "WaitingFor",
    "action_from_dict",
    "condition_from_dict",
    "require_jitter",
    "schedule_from_dict",
]

# The module of each class, loaded on first use: creating all of them takes longer than a short command.
_NAMES = {
    "actions": "Action BodyKind Callback Command HttpRequest ProcessAction Prompt Redirects Reminder action_from_dict",
    "calendars": "Calendar Shift",
    "conditions": "Condition Idle Load MOST_CONDITIONS MainsPower Network PathExists condition_from_dict",
    "events": "Event FileEvent OnChat OnFile OnSession OnWebhook SessionEvent",
    "jobs": "Follower Job JobSpec JobState MOST_FOLLOWERS SCHEMA_VERSION",
    "plans": "Hints Plan Proposal Rule Step",
    "policies": "Backoff BackoffKind Caps CatchUp InQuietTime Limits Notify Policy Retry require_jitter",
    "runs": "Question QuestionState Run",
    "schedules": "Entry Overlap Schedule Several schedule_from_dict",
    "situation": "NO_DETAILS Capacity Situation SituationKind StartCheck Waiting WaitingDetails",
    "time_rules": "After Cron Every Manual Once SHORTEST_EVERY_MS",
    "words": (
        "ERRORS FAILURES PROBLEMS FollowOn HintSource JobStatus Outcome PassedReason SkipReason Source StatusReason "
        "Trigger WaitingFor"
    ),
}
_PLACES = {name: place for place, names in _NAMES.items() for name in names.split()}
