"""Everything the details pane shows of one job, read in one query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from halo_scheduler.grammar.text import ShownText
from halo_scheduler.model import Job, JobStatus, Outcome, Run, Situation, SkipReason
from halo_scheduler.model.plans import Topic
from halo_scheduler.model.settings import Quiet
from halo_scheduler.model.words import BY_SCHEDULE
from halo_scheduler.rules.chains import Chain, WaitingRun
from halo_scheduler.rules.statistics import Usage
from halo_scheduler.schedule.calendar import QuietHours
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.lint import Reviewer
from ui.backend.backend import NO_ENDS, Ends, ended_job, ended_run, ended_situation
from ui.backend.questions import MOST_READ, plain_lines
from ui.main_window.table.cells import next_runs
from ui.widgets.directive_lines import without_directives

NEXT_RUNS = 5
RECENT_RUNS = 8
OUTPUT_LINES = 12
_LOOKED_THROUGH = 100
_TAIL_BYTES = 65_536
_LONGEST_LINE = 400
_NO_CHAIN = Chain()
_BEGUN = frozenset(Outcome) - {Outcome.SKIPPED, Outcome.MISSED}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetails:
    """One job with its next runs, the reason, its past runs and its last output."""

    job: Job
    situation: Situation
    next_runs: tuple[int, ...] = ()
    quiet: Mapping[int, Quiet] = field(default_factory=dict)
    """The quiet hours that each of these falls in, if any."""
    why: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    output: str = ""
    output_run_id: str | None = None
    questions: tuple[str, ...] = ()
    """Its open questions, oldest first, as plain lines."""
    usage: Usage | None = None
    default_agent: str = ""
    chain: Chain = _NO_CHAIN
    chain_waits: tuple[WaitingRun, ...] = ()
    """Its waiting runs that another job triggered, the longest waiting first."""
    caused_waits: Mapping[str, int] = field(default_factory=dict)
    """The number of waiting runs that this job triggered, by job id."""
    notes: tuple[str, ...] = ()
    """Warnings about hidden characters and about names that look like its own."""

    @property
    def running(self) -> Run | None:
        """The current run."""
        return next((run for run in self.runs if run.outcome is Outcome.RUNNING), None)


def read_details(scheduler: Scheduler, job_id: str, ends: Ends = NO_ENDS) -> JobDetails | None:
    """Read a job's details; None when it is gone."""
    job, situation = scheduler.get_job(job_id), scheduler.jobs.situations([job_id]).get(job_id)
    if job is None or situation is None:
        return None
    waits = scheduler.runs.waiting_in_chains()
    runs = _recent_runs(scheduler, job)
    spoke = _last_begun(scheduler, job_id, runs)
    asked = scheduler.questions.list(limit=MOST_READ)
    usage = scheduler.jobs.usage(job_id)
    # The next runs are those after the daily limit.
    since = usage.resets_at if situation.blocker is SkipReason.CAP else None
    settings = scheduler.settings.read()
    coming = next_runs(scheduler, job, QuietHours(settings.quiet_times), NEXT_RUNS, since)
    return JobDetails(
        job=ended_job(job, ends),
        situation=ended_situation(situation, ends),
        questions=tuple(plain_lines(one.text) for one in asked if one.job_id == job_id),
        usage=usage,
        default_agent=settings.default_agent,
        next_runs=tuple(at for at, _quiet in coming),
        quiet={at: quiet for at, quiet in coming if quiet is not None},
        # Waiting, hints, chains and errors have their own sections.
        why=_why(scheduler, job),
        runs=tuple(ended_run(run, ends) for run in runs),
        output="" if spoke is None else last_lines(_output(scheduler, job, spoke)),
        output_run_id=None if spoke is None else spoke.id,
        chain=scheduler.jobs.chain(job_id),
        chain_waits=tuple(one for one in waits if one.job_id == job_id),
        caused_waits=Counter(one.job_id for one in waits if one.cause_job_id == job_id),
        notes=tuple(Reviewer(known.name for known in scheduler.jobs.names()).notes(job.spec)),
    )


def _recent_runs(scheduler: Scheduler, job: Job) -> list[Run]:
    """Return the last runs, including a current run however many were skipped since."""
    runs = scheduler.get_run_log(job.id, RECENT_RUNS)
    if job.status is not JobStatus.RUNNING or any(run.outcome is Outcome.RUNNING for run in runs):
        return runs
    return [*scheduler.get_run_log(job.id, 1, outcome=Outcome.RUNNING), *runs][:RECENT_RUNS]


def _last_begun(scheduler: Scheduler, job_id: str, runs: Sequence[Run]) -> Run | None:
    """Return the last run that may have output, looking beyond the given runs if needed."""
    found = next((run for run in runs if run.started_at is not None and run.outcome in _BEGUN), None)
    if found is not None or len(runs) < RECENT_RUNS:
        return found
    begun = scheduler.get_run_log(job_id, _LOOKED_THROUGH, outcomes=_BEGUN)
    return next((run for run in begun if run.started_at is not None), None)


def _why(scheduler: Scheduler, job: Job) -> tuple[str, ...]:
    """Return why the job runs when it does; nothing if only the schedule decides, as its section says that."""
    told = tuple(scheduler.jobs.why(job.id, topics=[Topic.PLAN]).sentences)
    is_plain = len(told) == 1 and job.next_source in BY_SCHEDULE and job.status is JobStatus.IDLE
    return () if is_plain and job.waiting_for is None else told


def _output(scheduler: Scheduler, job: Job, run: Run) -> bytes:
    """Return what a run printed, without the lines that Halo read."""
    output = scheduler.get_output(run.id)
    return without_directives(output[-_TAIL_BYTES:]) if job.spec.reads_lines else output


def last_lines(output: bytes, most: int = OUTPUT_LINES) -> str:
    """Return the end of a run's output as plain text."""
    shown = ShownText()
    text = shown.feed(output[-_TAIL_BYTES:]) + shown.end()
    lines = [line.rstrip() for line in text.rstrip().split("\n")][-most:]
    return "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines)


def cancel_waiting(scheduler: Scheduler, run_ids: Iterable[str]) -> None:
    """Cancel the chain runs that still wait; runs that have started meanwhile continue."""
    waiting = {one.run_id for one in scheduler.runs.waiting_in_chains()}
    for run_id in run_ids:
        if run_id in waiting:
            scheduler.cancel_run(run_id)
