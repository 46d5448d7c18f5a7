"""Words for a job's situation, the same on every surface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, assert_never

from halo_scheduler.grammar.english import counted, listed
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model.situation import SituationKind, Waiting
from halo_scheduler.model.words import JobStatus, Shortage, SkipReason, StatusReason, WaitingFor
from halo_scheduler.wording.schedules import describe_when

if TYPE_CHECKING:
    from halo_scheduler.model.situation import Capacity, Situation, WaitingDetails

_MOST_NAMED = 2
_MOST_HOLDERS = 3
_LONGEST_NAME = 60
_LONGEST_REASON = 120
_LONGEST_TROUBLE = 200
_MANUALLY = " · manual run"
_RESTING = (
    SituationKind.READY,
    SituationKind.FAILING,
    SituationKind.RETRYING,
    SituationKind.TROUBLED,
)
_HELD = {
    SkipReason.NEEDS_INPUT: "on hold until you answer",
    SkipReason.CAP: "daily limit reached",
}

_ENDS = {
    WaitingFor.PREVIOUS_RUN: ["Starts when its previous run ends."],
    WaitingFor.RESOURCES: ["Halo keeps trying to start it for a while."],
    WaitingFor.DISK_SPACE: ["Halo keeps trying to start it for a while."],
}


class ShortageWords(NamedTuple):
    """What the computer lacks, as a sentence and as it follows "waiting for"."""

    sentence: str
    awaited: str


SHORTAGES: dict[str, ShortageWords] = {
    Shortage.FILES: ShortageWords(
        "too many files are open on this computer", "free file descriptors to start"
    ),
    Shortage.PROCESSES: ShortageWords(
        "too many processes run on this computer", "room for another process to start"
    ),
    Shortage.MEMORY: ShortageWords("this computer has too little memory left", "free memory to start"),
    Shortage.DISK: ShortageWords("the disk is full", "free disk space to start"),
}


def status_words(situation: Situation, now_ms: int) -> str:
    """Return what a job is doing: "running", "paused until 18:00", "waiting for network", "ready"."""
    kind = situation.kind
    match kind:
        case SituationKind.NEEDS_INPUT:
            return _asking_words(situation, now_ms)
        case SituationKind.WAITING if situation.waiting is not None:
            return waiting_words(situation.waiting, now_ms)
        case SituationKind.DISABLED:
            return disabled_words(situation)
        case SituationKind.PAUSED:
            return _paused_words(situation, now_ms)
        case SituationKind.CAPPED:
            return _HELD[SkipReason.CAP]
        case _:
            return trouble_words(situation) if kind is SituationKind.TROUBLED else str(kind)


def trouble_words(situation: Situation) -> str:
    """Return the trouble with watching an event of a job: "trouble: ~/Inbox cannot be read"."""
    return f"trouble: {plain_line(situation.watch_trouble, _LONGEST_TROUBLE)}"


def next_words(situation: Situation, now_ms: int) -> str:
    """Return when a job runs next, or what keeps it from running: "in 4 min", "after backup", "manual only"."""
    match situation.kind:
        case SituationKind.NEEDS_INPUT if situation.waiting is not None:
            # A requested run starts before the answer.
            return waiting_words(situation.waiting, now_ms)
        case SituationKind.NEEDS_INPUT if situation.status is JobStatus.IDLE:
            return _HELD[SkipReason.NEEDS_INPUT]
        case SituationKind.TROUBLED:
            return f"trouble · {_planned_words(situation, now_ms)}"
        case kind if kind in _RESTING:
            return _planned_words(situation, now_ms)
        case SituationKind.RUNNING | SituationKind.WAITING | SituationKind.NEEDS_INPUT:
            return status_words(situation, now_ms)
        case _:
            return f"{status_words(situation, now_ms)}{_later_words(situation, now_ms)}"


def status_sentence(situation: Situation, now_ms: int) -> str:
    """Return what a job is doing and what comes next: "ready, next run in 4 min"."""
    words = status_words(situation, now_ms)
    if situation.kind not in _RESTING:
        return words
    is_planned = situation.next_run_at is not None or situation.later_at is not None
    return f"{words}, {'next run ' if is_planned else ''}{_planned_words(situation, now_ms)}"


def next_sentence(situation: Situation, now_ms: int) -> str:
    """Return what comes next in words that stay true: "Next run: 18:00.", "Paused until 18:00."; "" if nothing does."""
    if situation.kind is SituationKind.DONE:
        return ""
    if situation.kind not in _RESTING:
        words = next_words(situation, now_ms)
        return f"{words[:1].upper()}{words[1:]}."
    if situation.later_at is not None and situation.is_later_next:
        return f"Next run: {_moment(situation.later_at, now_ms)}{_MANUALLY}."
    if situation.next_run_at is None:
        return ""
    return f"Next run: {_moment(situation.next_run_at, now_ms)}{_skip_words(situation, now_ms)}."


def waiting_words(waiting: Waiting, now_ms: int) -> str:
    """Return what a due run waits for: "waiting for network", "waiting: limit of web reached (1 of 1: sync)"."""
    if waiting.kind is WaitingFor.START:
        return "waiting to start"
    awaited = awaited_words(waiting, now_ms)
    return awaited if waiting.kind is WaitingFor.QUIET_TIME else f"waiting{_link(waiting)}{awaited}"


def waiting_sentences(waiting: Waiting, now_ms: int) -> list[str]:
    """Return since when a due run waits, and its deadline: "Due since 16:26.", "No deadline."."""
    verb = "Waiting" if waiting.is_manual else "Due"
    since = [] if waiting.since is None else [f"{verb} since {_moment(waiting.since, now_ms)}."]
    match waiting.kind:
        case WaitingFor.AT_CAPACITY:
            return [*since, *_limit_sentences(waiting.capacity)]
        case WaitingFor.QUIET_TIME:
            name = plain_line(waiting.details.name, _LONGEST_NAME)
            return [*since, f"Starts when quiet hours{f' “{name}”' if name else ''} end."]
        case WaitingFor.CONDITION if waiting.deadline is None:
            return [*since, "No deadline."]
        case WaitingFor.CONDITION:
            return [*since, skipped_sentence(waiting.deadline or now_ms, now_ms)]
        case _:
            return since + _ENDS.get(waiting.kind, [])


def manual_sentence(waiting: Waiting, now_ms: int) -> str:
    """Return what a pending manual run waits for, and since when."""
    since = "" if waiting.since is None else f" since {_moment(waiting.since, now_ms)}"
    return f"A manual run has been waiting{since}: {awaited_words(waiting, now_ms)}."


def pending_sentence(count: int) -> str:
    """Return how many queued runs of the schedule follow the next run."""
    times = "1 queued run follows" if count == 1 else f"{count} queued runs follow"
    return f"After that, {times}."


def later_sentence(times: Sequence[int], now_ms: int) -> str:
    """Return the times of a job's planned manual runs."""
    named = [_moment(at, now_ms) for at in times[:_MOST_HOLDERS]]
    named += [f"{len(times) - _MOST_HOLDERS} more times"] if len(times) > _MOST_HOLDERS else []
    return f"A manual run is planned for {listed(named)}."


def skipped_sentence(deadline: int, now_ms: int) -> str:
    """Return what happens to a run whose conditions are not met in time."""
    from halo_scheduler.wording.measures import when_in_words  # noqa: PLC0415 - no list needs it

    return f"Skipped if it still waits {when_in_words(deadline, now_ms)}."


def waited_words(waiting: Waiting, now_ms: int) -> str:
    """Return what a run waited for before it started: "waited for network", "waited: limit reached"."""
    if waiting.kind is WaitingFor.QUIET_TIME:
        name = plain_line(waiting.details.name, _LONGEST_NAME)
        return f"waited for quiet hours to end{f' ({name})' if name else ''}"
    return f"waited{_link(waiting)}{awaited_words(waiting, now_ms)}"


def awaited_words(waiting: Waiting, now_ms: int) -> str:
    """Return what a due run waits for, in few words: "network", "limit of web reached (1 of 1: sync)"."""
    details = waiting.details
    match waiting.kind:
        case WaitingFor.AT_CAPACITY:
            return _reached_limit(waiting.capacity)
        case WaitingFor.CONDITION:
            from halo_scheduler.wording.conditions import waiting_words as unmet  # noqa: PLC0415 - few lists need it

            unknown = " (can't be checked right now)" if details.is_unobservable else ""
            return f"{plain_line(unmet(details.conditions), _LONGEST_REASON) or 'its conditions'}{unknown}"
        case WaitingFor.QUIET_TIME:
            return "quiet hours" if details.until is None else f"quiet until {_moment(details.until, now_ms)}"
        case WaitingFor.PREVIOUS_RUN:
            return "its previous run to end"
        case WaitingFor.OUTPUT:
            return f"the output of {plain_line(details.name, _LONGEST_NAME)}"
        case WaitingFor.START | WaitingFor.RESOURCES | WaitingFor.DISK_SPACE:
            return shortage_words(details)
        case _:
            assert_never(waiting.kind)


def shortage_words(details: WaitingDetails) -> str:
    """Return what the start of a claimed run waits for: "free memory to start"."""
    lacking = SHORTAGES.get(details.name)
    return "not started yet" if lacking is None else lacking.awaited


def _moment(at: int, now_ms: int) -> str:
    from halo_scheduler.wording.measures import moment_in_words  # noqa: PLC0415 - few lists need it

    return moment_in_words(at, now_ms, is_lasting=True)


def _asking_words(situation: Situation, now_ms: int) -> str:
    words = "needs you"
    # The answer does not remove other blockers.
    match situation.status:
        case JobStatus.PAUSED:
            return f"{words}, {_paused_words(situation, now_ms)}"
        case JobStatus.DISABLED:
            return f"{words}, {disabled_words(situation)}"
        case _:
            return words


def disabled_words(situation: Situation) -> str:
    """Return why a job is disabled: "disabled after 5 failures", "disabled: cannot be run", "done"."""
    match situation.reason:
        case StatusReason.DONE:
            return str(SituationKind.DONE)
        case StatusReason.ERRORS if situation.errors:
            return f"disabled after {counted(situation.errors, 'failure')}"
        case StatusReason.ERRORS:
            return "disabled: cannot be run"
        case StatusReason.IMPORTED | StatusReason.ASSISTANT:
            return "disabled, needs review"
        case _:
            return "disabled"


def _paused_words(situation: Situation, now_ms: int) -> str:
    until = situation.paused_until
    end = "" if until is None else f" until {_moment(until, now_ms)}"
    match situation.reason:
        case StatusReason.ASSISTANT | StatusReason.PAUSED_BY_ASSISTANT:
            return f"paused by an assistant{end}"
        case StatusReason.IMPORTED:
            return f"paused after import{end}"
        case _:
            return f"paused{end}"


def _later_words(situation: Situation, now_ms: int) -> str:
    """Return when a planned manual run of a job without scheduled runs starts."""
    at = situation.later_at
    return "" if at is None else f", manual run {describe_when(at, now_ms)}"


def _planned_words(situation: Situation, now_ms: int) -> str:
    if situation.later_at is not None and situation.is_later_next:
        return f"{describe_when(situation.later_at, now_ms)}{_MANUALLY}"
    if situation.next_run_at is None:
        return _after_words(situation)
    return f"{describe_when(situation.next_run_at, now_ms)}{_skip_words(situation, now_ms)}"


def _skip_words(situation: Situation, now_ms: int) -> str:
    """Return whether the planned run is skipped, with the run after it, or falls into quiet hours."""
    if situation.blocker is SkipReason.USER:
        then = "" if situation.then_at is None else f", then {describe_when(situation.then_at, now_ms)}"
        return f" · skipped{then}"
    if situation.quiet is None:
        return ""
    return f" · {'skipped' if situation.blocker is SkipReason.QUIET_TIME else 'quiet'}"


def _after_words(situation: Situation) -> str:
    names, events = situation.after, situation.events
    words = []
    if len(names) > _MOST_NAMED:
        words.append(f"after {counted(len(names), 'other job')}")
    elif names:
        words.append(f"after {listed([plain_line(name, _LONGEST_NAME) for name in names])}")
    if len(events) > _MOST_NAMED:
        words.append(f"on {counted(len(events), 'event')}")
    elif events:
        from halo_scheduler.wording.short_schedules import describe_shortly  # noqa: PLC0415 - few jobs have events

        words.append(f"on {listed([plain_line(describe_shortly(event), _LONGEST_NAME) for event in events])}")
    return ", ".join(words) or "manual only"


def _link(waiting: Waiting) -> str:
    return ": " if waiting.kind is WaitingFor.AT_CAPACITY else " for "


def _reached_limit(capacity: Capacity | None) -> str:
    """Return which limit is reached and which jobs use it: "limit of web reached (1 of 1: sync)"."""
    if capacity is None:
        return "limit reached"
    holders = capacity.holders
    names = [plain_line(name, _LONGEST_NAME) for name in holders[:_MOST_HOLDERS]]
    names += ["…"] if len(holders) > _MOST_HOLDERS else []
    running = f": {', '.join(names)}" if names else ""
    return f"{_limit_name(capacity)} reached ({capacity.running} of {capacity.limit}{running})"


def _limit_name(capacity: Capacity) -> str:
    return f"limit of {'all jobs' if capacity.group is None else plain_line(capacity.group, _LONGEST_NAME)}"


def _limit_sentences(capacity: Capacity | None) -> list[str]:
    """Return which limit is reached, when a run can start, and which jobs use the limit."""
    if capacity is None:
        return ["Limit reached. Starts when a run ends."]
    name = _limit_name(capacity)
    reached = f"{name[:1].upper()}{name[1:]} reached ({capacity.running} of {capacity.limit})."
    names = [plain_line(name, _LONGEST_NAME) for name in capacity.holders[:_MOST_HOLDERS]]
    others = len(capacity.holders) - len(names)
    names += [counted(others, "other")] if others else []
    return [f"{reached} Starts when a run ends.", *([f"Running: {listed(names)}."] if names else [])]
