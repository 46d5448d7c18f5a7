"""The facts of a run in words: when it was planned, why then, how it went, and which runs are related to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus

from PySide6.QtCore import QCoreApplication, QObject, Signal

from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.model import Outcome, PassedReason, Run, SkipReason, Source, Trigger
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.schedule.passed_over import read_summary
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.measures import amount_words, took_words
from ui.backend.backend import Asked, Backend
from ui.backend.questions import item_words, web_address
from ui.style.wording import (
    moment,
    one_line,
    outcome_words,
    proposal_words,
    reason_words,
    short_moment,
    trigger_words,
)

from .choice import JobName, job_names, run_at
from .run_cells import job_words

_RUN_KINDS = (ChangeKind.RUN_STARTED, ChangeKind.RUN_FINISHED)
_NAMELESS = JobName("", is_removed=True)
_LONGEST_TEXT = 1_000
_LONGEST_ADDRESS = 8_000


@dataclass(frozen=True, slots=True)
class Relative:
    """A run of another job."""

    run_id: str
    job: JobName
    at: int
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """The runs before and after a run in a chain.

    `waiting` are the jobs whose triggered runs have not started; `followers` the jobs that may still be triggered.
    """

    cause: Relative | None = None
    caused: tuple[Relative, ...] = ()
    waiting: tuple[JobName, ...] = ()
    followers: frozenset[str] = frozenset()


NO_RELATIONS = Relations()


class RelationsReader(QObject):
    """Keeps the relations of one run up to date."""

    read = Signal()

    def __init__(self, backend: Backend, parent: QObject) -> None:
        super().__init__(parent)
        self._backend = backend
        self._run: Run | None = None
        self._found = NO_RELATIONS
        self._asked: Asked | None = None
        self._is_stale = False
        backend.changed.connect(self._note)

    @property
    def found(self) -> Relations:
        """The relations as far as they are loaded."""
        return self._found

    def follow(self, run: Run | None) -> None:
        """Follow this run from now on; the same run is loaded again."""
        if run is None or self._run is None or run.id != self._run.id:
            self._found = NO_RELATIONS
        self._run = run
        self._ask()

    def _note(self, change: Change) -> None:
        is_kin = change.job_id is None or change.job_id in self._found.followers
        if self._run is not None and change.kind in _RUN_KINDS and is_kin:
            self._ask()

    def _ask(self) -> None:
        run = self._run
        self._is_stale = self._asked is not None
        if run is not None and self._asked is None:
            self._asked = self._backend.ask(
                lambda scheduler: (run.id, read_relations(scheduler, run)),
                self._take,
                lambda _error: self._take(("", NO_RELATIONS)),
                owner=self,
            )

    def _take(self, answer: tuple[str, Relations]) -> None:
        self._asked = None
        run_id, found = answer
        if self._run is not None and run_id == self._run.id:
            self._found = found
            self.read.emit()
        if self._is_stale:
            self._ask()


def read_relations(scheduler: Scheduler, run: Run) -> Relations:
    """Return the relations of a run; runs no longer in the log are left out."""
    cause = None if run.caused_by is None else scheduler.get_run(run.caused_by)
    caused = scheduler.runs.caused_by(run.id)
    job = scheduler.get_job(run.job_id)
    waiting = [one for one in scheduler.runs.waiting_in_chains() if one.caused_by == run.id]
    relatives = [*caused, *([] if cause is None else [cause])]
    job_ids = {one.job_id for one in relatives} | {one.job_id for one in waiting}
    names = job_names(scheduler, job_ids) if job_ids else {}

    def relative(one: Run) -> Relative:
        return Relative(one.id, names.get(one.job_id, _NAMELESS), run_at(one), one.outcome)

    return Relations(
        cause=None if cause is None else relative(cause),
        caused=tuple(map(relative, caused)),
        waiting=tuple(names.get(one.job_id, _NAMELESS) for one in waiting),
        followers=frozenset() if job is None else frozenset(one.job_id for one in job.followers),
    )


@dataclass(frozen=True, slots=True)
class Fact:
    """One line: what it is, and what it was; some texts are there to be copied, some addresses to be opened.

    One with a `run_id` leads to that run; `aside` is said behind it.
    """

    name: str
    value: str
    copied: str = ""
    address: str = ""
    run_id: str = ""
    aside: str = ""


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("RunFacts", text)


def facts_of(run: Run, now_ms: int, relations: Relations = NO_RELATIONS) -> list[Fact]:
    """Return everything that is known of a run but what it printed."""
    found = [
        (tr("Planned for"), moment(run.slot_at) if run.slot_at is not None else ""),
        (tr("Started"), _started(run)),
        (_ended_name(run), _ended(run)),
        (tr("Took"), _took(run, now_ms)),
        (tr("Ended with"), _end_code(run)),
        (tr("Cost"), amount_words(run.cost)),
        (tr("Try"), str(run.attempt) if run.attempt > 1 else ""),
        (tr("Started by"), "" if relations.cause is not None or run.started_at is None else _who(run)),
        (tr("Why then"), source_words(run.source) if run.trigger is Trigger.SCHEDULE else ""),
        (tr("Passed over"), passed_words(run)),
        (tr("Proposed"), proposal_words(run.proposal)),
        (tr("Note"), _text(run.note)),
    ]
    # What it was about tells more than when it was.
    return [
        *_item_facts(run),
        *(Fact(name, value) for name, value in found if value),
        *_chain_facts(run, relations, now_ms),
    ]


def _chain_facts(run: Run, relations: Relations, now_ms: int) -> list[Fact]:
    """Return which run came before this one in a chain, and which ones after it; each leads there."""
    facts = []
    cause = relations.cause
    if cause is not None:
        when = tr("run of {when}").format(when=short_moment(cause.at, now_ms))
        # One that was skipped never ran.
        name = tr("After") if run.started_at is None else tr("Ran after")
        facts.append(Fact(name, job_words(cause.job), run_id=cause.run_id, aside=when))
    then = []
    for one in relations.caused:
        ended = f"{outcome_words(one.outcome).lower()}, {short_moment(one.at, now_ms)}"
        then.append(Fact("", job_words(one.job), run_id=one.run_id, aside=ended))
    words = tr("{name}, which waits for its turn")
    then += [Fact("", words.format(name=job_words(job))) for job in relations.waiting]
    if then:
        then[0] = replace(then[0], name=tr("Then"))
    return facts + then


def _item_facts(run: Run) -> list[Fact]:
    """Return what a run worked on and where that can be seen."""
    item = item_words(run.work_id, run.work_title)
    facts = [Fact(tr("Worked on"), item)] if item else []
    if run.work_url:
        # What is pasted into a terminal must not bring a line break with it.
        copied = one_line(run.work_url, _LONGEST_ADDRESS)
        address = web_address(run.work_url)
        facts.append(Fact(tr("Its address"), _text(copied), copied=copied, address=address))
    return facts


def problem_of(run: Run) -> str:
    """Return the sentence on what went wrong or why nothing ran, or nothing."""
    if run.error:
        return as_sentence(_text(run.error))
    if run.reason is not None:
        return as_sentence(tr("It did not run: {reason}").format(reason=reason_words(run.reason)))
    return {
        Outcome.FAILURE: tr("It failed without a word on why."),
        Outcome.TIMEOUT: tr("It took longer than its time limit and was stopped."),
        Outcome.MISSED: tr("Halo was not running at its time."),
        Outcome.INTERRUPTED: tr("Halo was ended while it ran, so how it went is not known."),
    }.get(run.outcome, "")


def advice_of(run: Run) -> str:
    """Return what can be done about it, or nothing."""
    if run.reason in (SkipReason.PAUSED, SkipReason.DISABLED) and run.trigger is Trigger.CHAIN:
        return tr("Resume it, so that it runs after the other job again, or take it out there.")
    if run.reason in _REASONED:
        return _advice_of_reason(run.reason)
    return {
        Outcome.FAILURE: tr("See below what it printed. Then run it again, or change the job."),
        Outcome.TIMEOUT: tr("Give it more time in the job, or see below where it got stuck."),
        Outcome.MISSED: tr("Run it now if it is still needed."),
        Outcome.INTERRUPTED: tr("See how far it got, and run it again if it is safe to."),
    }.get(run.outcome, "")


# What is to be done depends on the reason more than on the outcome.
_REASONED = (
    SkipReason.CAP,
    SkipReason.NEEDS_INPUT,
    SkipReason.SOURCE_UNAVAILABLE,
    SkipReason.CONDITION,
    SkipReason.QUIET_TIME,
)


def _advice_of_reason(reason: SkipReason) -> str:
    return {
        SkipReason.CAP: tr(
            "Its schedule goes on tomorrow. Until then you can run it manually or raise its daily limit."
        ),
        SkipReason.NEEDS_INPUT: tr("Answer the question or dismiss it; then its schedule goes on."),
        SkipReason.SOURCE_UNAVAILABLE: tr(
            "It asks again at its next time. If it stays so, check where its work comes from in the job."
        ),
        SkipReason.CONDITION: tr(
            "Manual runs ignore conditions. If this happens often, let the job wait longer."
        ),
        SkipReason.QUIET_TIME: tr("Manual runs ignore quiet hours. The job can also wait until they end."),
    }[reason]


def source_words(source: Source) -> str:
    """Return why a run was planned for just this instant."""
    return {
        Source.EVERY: tr("its schedule, counted from its start"),
        Source.AFTER: tr("its schedule, counted from the end of the run before"),
        Source.CRON: tr("its schedule"),
        Source.ONCE: tr("its one time"),
        Source.HINT_INTERVAL: tr("the pace of a hint"),
        Source.HINT_ONCE: tr("the time of a hint"),
        Source.CLAMPED_MIN: tr("the shortest time allowed between two runs"),
        Source.CLAMPED_MAX: tr("the longest time allowed between two runs"),
        Source.BACKOFF: tr("it waited longer after errors"),
        Source.RETRY: tr("another try after it failed"),
        Source.CATCH_UP: tr("it caught up on what was missed"),
        Source.PAUSED: tr("its pause was over"),
        Source.MANUAL: tr("it was asked for"),
    }[source]


def passed_words(run: Run) -> str:
    """Return how many times were passed over before a run, and why."""
    if not run.passed_over:
        return ""
    return " · ".join(
        f"{_times(count)}: {words}" if (words := _why_passed(reason)) else _times(count)
        for reason, count in read_summary(run.passed_reason, run.passed_over).items()
    )


def _times(count: int) -> str:
    return tr("1 time") if count == 1 else tr("{count} times").format(count=f"{count:,}")


def _why_passed(reason: str) -> str:
    known: dict[str, str] = {
        PassedReason.RUNNING: tr("it was still running"),
        PassedReason.BACKOFF: tr("it waited after errors"),
        PassedReason.HINT: tr("a hint gave another time"),
        PassedReason.LIMITS: tr("its limits allowed no earlier time"),
        PassedReason.PAUSED: tr("it was paused"),
        PassedReason.DISABLED: tr("it was switched off"),
        PassedReason.EDITED: tr("the job was changed"),
        PassedReason.DOWNTIME: tr("Halo was not running"),
        PassedReason.SLEEP: tr("the computer slept"),
        PassedReason.DELAYED: tr("Halo was suspended or held up"),
        PassedReason.AT_CAPACITY: tr("as many runs as allowed were under way"),
        PassedReason.CONDITION: tr("it waited for its conditions"),
        PassedReason.QUIET_TIME: tr("it waited for the end of quiet hours"),
        PassedReason.RESOURCES: tr("the computer had no resources to start it"),
        PassedReason.DISK_FULL: tr("the disk was too full to start it"),
        PassedReason.OUTAGE: tr("the database could not be written"),
        PassedReason.CLOCK_WENT_BACK: tr("the clock was set back"),
        PassedReason.ZONE_CHANGED: tr("the computer moved to another time zone"),
    }
    return known.get(reason, one_line(reason))


def _started(run: Run) -> str:
    if run.started_at is None:
        return ""
    if not run.is_late:
        return moment(run.started_at)
    return tr("{when} ({late} late)").format(when=moment(run.started_at), late=took_words(run.late_ms))


def _ended_name(run: Run) -> str:
    return tr("Recorded") if run.started_at is None else tr("Ended")


def _ended(run: Run) -> str:
    return "" if run.finished_at is None else moment(run.finished_at)


def _took(run: Run, now_ms: int) -> str:
    if run.outcome is Outcome.RUNNING and run.started_at is not None:
        seconds = max(0, now_ms - run.started_at) // SECOND_MS * SECOND_MS
        return tr("{time} so far").format(time=took_words(seconds))
    return took_words(run.duration_ms)


def _end_code(run: Run) -> str:
    if run.http_status is not None:
        return tr("HTTP status {status}").format(status=_http(run.http_status))
    if run.exit_code is None:
        return ""
    return tr("exit code {code}").format(code=run.exit_code)


def _http(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _who(run: Run) -> str:
    words = {
        Trigger.SCHEDULE: tr("its schedule"),
        Trigger.MANUAL: tr("you, manually"),
        Trigger.CHAIN: tr("another job that ended"),
        Trigger.ANSWER: tr("your answer"),
        Trigger.TEST: tr("a test in the editor"),
    }
    return words.get(run.trigger) or trigger_words(run.trigger)


def _text(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def as_sentence(text: str) -> str:
    """Return a text that begins and ends as a sentence does; names of hosts, files and programs stay as they are."""
    text = text.strip()
    ending = "" if text.endswith((".", "!", "?", "…", ":")) else "."
    first = text.split(maxsplit=1)[0] if text else ""
    begin = text[:1].upper() if first.rstrip(",;").isalpha() else text[:1]
    return f"{begin}{text[1:]}{ending}"
