"""The facts of a run in words: its slot and what determined it, its result, and its related runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus

from PySide6.QtCore import QCoreApplication, QObject, Signal

from halo_scheduler.grammar.english import counted
from halo_scheduler.grammar.interval import SECOND_MS
from halo_scheduler.model import ERRORS, Outcome, Run, SkipReason, Trigger
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.jobs import parameter_words, proposal_words
from halo_scheduler.wording.measures import amount_words, full_moment, moment_in_words, took_words
from halo_scheduler.wording.runs import coalesced_words, rule_words, trigger_words
from ui.backend.backend import Asked, Backend
from ui.backend.questions import item_words, web_address
from ui.style.wording import one_line, outcome_words, reason_words

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
    """A label and a value, with an optional text to copy and an optional URL to open.

    With a `run_id` the value links to that run; `aside` is shown after it.
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
    """Return everything known about a run except its output."""
    found = [
        (tr("Scheduled for"), full_moment(run.slot_at) if run.slot_at is not None else ""),
        (tr("Started"), _started(run)),
        (_ended_name(run), _ended(run)),
        (tr("Duration"), _took(run, now_ms)),
        (tr("Result"), _end_code(run)),
        (tr("Cost"), amount_words(run.cost)),
        (tr("Attempt"), str(run.attempt) if run.attempt > 1 else ""),
        (
            tr("Trigger"),
            "" if relations.cause is not None or run.started_at is None else trigger_words(run.trigger),
        ),
        (tr("Parameters"), _text(parameter_words(run.parameters))),
        (tr("Input"), counted(run.input_bytes, "byte") if run.input_bytes else ""),
        (tr("Schedule"), rule_words(run.source) if run.trigger is Trigger.SCHEDULE else ""),
        (tr("Coalesced"), coalesced_words(run)),
        (tr("Hint"), proposal_words(run.proposal)),
        (tr("Note"), _text(run.note)),
    ]
    # The work item says more about a run than its times do.
    return [
        *_item_facts(run),
        *(Fact(name, value) for name, value in found if value),
        *_chain_facts(relations, now_ms),
    ]


def _chain_facts(relations: Relations, now_ms: int) -> list[Fact]:
    """Return the runs before and after this one in its chain, as links."""
    facts = []
    cause = relations.cause
    if cause is not None:
        when = tr("run of {when}").format(when=moment_in_words(cause.at, now_ms, has_seconds=False))
        facts.append(Fact(tr("Triggered by"), job_words(cause.job), run_id=cause.run_id, aside=when))
    then = []
    for one in relations.caused:
        ended = f"{outcome_words(one.outcome).lower()}, {moment_in_words(one.at, now_ms, has_seconds=False)}"
        then.append(Fact("", job_words(one.job), run_id=one.run_id, aside=ended))
    words = tr("{name} (waiting)")
    then += [Fact("", words.format(name=job_words(job))) for job in relations.waiting]
    if then:
        then[0] = replace(then[0], name=tr("Triggered"))
    return facts + then


def _item_facts(run: Run) -> list[Fact]:
    """Return the work item of a run and its URL."""
    item = item_words(run.work_id, run.work_title)
    facts = [Fact(tr("Work item"), item)] if item else []
    if run.work_url:
        # The URL may be pasted into a terminal, so it must not contain a line break.
        copied = one_line(run.work_url, _LONGEST_ADDRESS)
        address = web_address(run.work_url)
        facts.append(Fact(tr("URL"), _text(copied), copied=copied, address=address))
    return facts


def problem_of(run: Run) -> str:
    """Return what went wrong or why nothing ran, as a sentence; empty for neither."""
    if run.error:
        return as_sentence(_text(run.error))
    if run.reason is not None:
        return as_sentence(tr("Did not run: {reason}").format(reason=reason_words(run.reason)))
    return {
        Outcome.TIMEOUT: tr("Stopped at its time limit."),
        Outcome.MISSED: tr("Halo was off at the scheduled time."),
        Outcome.INTERRUPTED: tr("Halo ended during this run; its result is unknown."),
    }.get(run.outcome, tr("Failed without an error message.") if run.outcome in ERRORS else "")


def advice_of(run: Run) -> str:
    """Return what the user can do about it; empty for nothing."""
    if run.reason in (SkipReason.PAUSED, SkipReason.DISABLED) and run.trigger is Trigger.CHAIN:
        return tr("Resume this job, or remove it from the next jobs of the other one.")
    if run.reason in _REASONED:
        return _advice_of_reason(run.reason)
    return {
        Outcome.TIMEOUT: tr("Check the output for where it got stuck, or raise the time limit."),
        Outcome.MISSED: tr("Run it now if it's still needed."),
        Outcome.INTERRUPTED: tr("Check how far it got before running it again."),
    }.get(
        run.outcome, tr("Check the output, then run again or edit the job.") if run.outcome in ERRORS else ""
    )


# For these, the advice depends on the reason, not on the outcome.
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
            "Scheduled runs resume tomorrow. Until then, run it manually or raise the daily limit."
        ),
        SkipReason.NEEDS_INPUT: tr("Answer or dismiss the question to resume scheduled runs."),
        SkipReason.SOURCE_UNAVAILABLE: tr(
            "The next run tries again. If this keeps happening, check the job's work queue."
        ),
        SkipReason.CONDITION: tr(
            "Manual runs ignore conditions. If this happens often, let the job wait longer."
        ),
        SkipReason.QUIET_TIME: tr("Manual runs ignore quiet hours. The job can also wait until they end."),
    }[reason]


def _started(run: Run) -> str:
    if run.started_at is None:
        return ""
    if not run.is_late:
        return full_moment(run.started_at)
    return tr("{when} ({late} late)").format(when=full_moment(run.started_at), late=took_words(run.late_ms))


def _ended_name(run: Run) -> str:
    return tr("Recorded") if run.started_at is None else tr("Ended")


def _ended(run: Run) -> str:
    return "" if run.finished_at is None else full_moment(run.finished_at)


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


def _text(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def as_sentence(text: str) -> str:
    """Return a text with a capital and a full stop; names of hosts, files and programs stay as they are."""
    text = text.strip()
    ending = "" if text.endswith((".", "!", "?", "…", ":")) else "."
    first = text.split(maxsplit=1)[0] if text else ""
    begin = text[:1].upper() if first.rstrip(",;").isalpha() else text[:1]
    return f"{begin}{text[1:]}{ending}"
