"""Halo Scheduler: run jobs on time, exactly once, and know what happened."""

from typing import TYPE_CHECKING

from halo_scheduler.errors import (
    CronParseError,
    IntervalParseError,
    JobNotFoundError,
    PhraseParseError,
    ScheduleError,
    SchedulerError,
    SchedulerShutdownError,
    ScheduleTriggerError,
)

if TYPE_CHECKING:
    from halo_scheduler.day_sources.looking_up import look_up_days
    from halo_scheduler.grammar.interval import parse_interval
    from halo_scheduler.model import (
        After,
        Backoff,
        Calendar,
        Callback,
        Command,
        Cron,
        Entry,
        Every,
        Follower,
        FollowOn,
        Hints,
        HttpRequest,
        Idle,
        Job,
        Limits,
        Load,
        MainsPower,
        Manual,
        Network,
        Once,
        OnChat,
        OnFile,
        OnSession,
        OnWebhook,
        Outcome,
        Overlap,
        PathExists,
        Plan,
        Policy,
        Prompt,
        Reminder,
        Retry,
        Run,
        Several,
        Shift,
        Source,
        Trigger,
        action_from_dict,
        schedule_from_dict,
    )
    from halo_scheduler.schedule.governor import plan_next_run
    from halo_scheduler.schedule.next_run import (
        calculate_next_trigger,
        count_due,
        is_schedule_due,
        next_run,
        previous_run,
    )
    from halo_scheduler.schedule.spoken import parse_schedule
    from halo_scheduler.service.engine_control import Status
    from halo_scheduler.service.runs import RunStats
    from halo_scheduler.service.scheduler import Scheduler
    from halo_scheduler.wording.lint import lint
    from halo_scheduler.wording.schedules import describe, describe_when

__all__ = [
    "After",
    "Backoff",
    "Calendar",
    "Callback",
    "Command",
    "Cron",
    "CronParseError",
    "Entry",
    "Every",
    "FollowOn",
    "Follower",
    "Hints",
    "HttpRequest",
    "Idle",
    "IntervalParseError",
    "Job",
    "JobNotFoundError",
    "Limits",
    "Load",
    "MainsPower",
    "Manual",
    "Network",
    "OnChat",
    "OnFile",
    "OnSession",
    "OnWebhook",
    "Once",
    "Outcome",
    "Overlap",
    "PathExists",
    "PhraseParseError",
    "Plan",
    "Policy",
    "Prompt",
    "Reminder",
    "Retry",
    "Run",
    "RunStats",
    "ScheduleError",
    "ScheduleTriggerError",
    "Scheduler",
    "SchedulerError",
    "SchedulerShutdownError",
    "Several",
    "Shift",
    "Source",
    "Status",
    "Trigger",
    "action_from_dict",
    "calculate_next_trigger",
    "count_due",
    "describe",
    "describe_when",
    "is_schedule_due",
    "lint",
    "look_up_days",
    "next_run",
    "parse_interval",
    "parse_schedule",
    "plan_next_run",
    "previous_run",
    "schedule_from_dict",
]

# Where each is, if not among the values of the model.
_PLACES = {
    "calculate_next_trigger": "schedule.next_run",
    "count_due": "schedule.next_run",
    "describe": "wording.schedules",
    "describe_when": "wording.schedules",
    "is_schedule_due": "schedule.next_run",
    "lint": "wording.lint",
    "look_up_days": "day_sources.looking_up",
    "next_run": "schedule.next_run",
    "parse_interval": "grammar.interval",
    "parse_schedule": "schedule.spoken",
    "plan_next_run": "schedule.governor",
    "previous_run": "schedule.next_run",
    "RunStats": "service.runs",
    "Scheduler": "service.scheduler",
    "Status": "service.engine_control",
}


def __getattr__(name: str) -> object:
    """Import a public name on first access, so that importing the package stays cheap."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - once for each name

    found = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES.get(name, 'model')}"), name)
    return found
