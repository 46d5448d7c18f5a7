"""What the cells of the job table say: shown, on hover, and spoken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.english import short_date, weekday_name
from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model import Job, JobStatus, Manual, Outcome, Run, Source, StatusReason, WaitingFor
from halo_scheduler.rules.statistics import TrendPoint
from halo_scheduler.schedule.quiet_times import Quiet
from halo_scheduler.wording.schedules import describe_when
from ui.backend.quiet_times import is_skipped
from ui.style.wording import (
    ago,
    at_moment,
    duration,
    is_assistants,
    moment,
    next_words,
    one_line,
    outcome_words,
    plain_tooltip,
    run_words,
    short_moment,
    status_advice,
    status_words,
    waited_for,
)
from ui.widgets.action_text import action_words, work_words

from .job_rows import Column, JobFacts, JobRow, schedule_words

_DAYS_BY_NAME = 7
_LONGEST_NAME = 60


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("JobWords", text)


def cell_text(column: Column, row: JobRow, facts: JobFacts, run: Run | None, now_ms: int) -> str:
    """Return what a cell shows; the trend is drawn."""
    job = row.job
    match column:
        case Column.NAME:
            return one_line(job.name)
        case Column.SCHEDULE:
            return one_line(pace_words(row))
        case Column.NEXT:
            return next_text(row, run, now_ms, facts.quiet)
        case Column.LAST:
            return last_text(job, facts, run, now_ms)
        case Column.TREND:
            return ""


def pace_words(row: JobRow) -> str:
    """Return a job's schedule; of one that has none, whether it runs after another."""
    if not row.after or not isinstance(row.job.schedule, Manual):
        return schedule_words(row.job.schedule)
    return tr("After another job") if len(row.after) == 1 else tr("After other jobs")


def _before_words(row: JobRow) -> str:
    """Return the job that one runs after; which ones there are of several is told in the pane."""
    return one_line(row.after[0], _LONGEST_NAME) if len(row.after) == 1 else tr("other jobs")


def next_text(row: JobRow, run: Run | None, now_ms: int, quiet: Quiet | None = None) -> str:
    """Return when a job runs next and whether that is quiet, or how far it has come."""
    job = row.job
    if job.status is JobStatus.RUNNING and not job.is_starting:
        progress = None if run is None else run.progress
        return (
            tr("running") if progress is None else tr("running, {percent}").format(percent=f"{progress:.0%}")
        )
    if job.waiting_for is not None:
        return _waiting_text(job)
    if job.status is JobStatus.DISABLED:
        return {StatusReason.DONE: tr("done"), StatusReason.ERRORS: tr("off after errors")}.get(
            job.status_reason or StatusReason.USER, tr("off")
        )
    return _pause_text(job, now_ms) if job.status is JobStatus.PAUSED else _idle_text(row, now_ms, quiet)


def _waiting_text(job: Job) -> str:
    if job.waiting_for is WaitingFor.QUIET_TIME:
        # Which one, and until when, is too long for a column.
        return tr("in a quiet time")
    return tr("waiting for {what}").format(what=waited_for(job))


def _idle_text(row: JobRow, now_ms: int, quiet: Quiet | None) -> str:
    if row.is_held:
        return tr("after your answer") if row.asks else tr("cap reached")
    if row.after and row.job.next_run_at is None:
        return tr("after {name}").format(name=_before_words(row))
    when = next_words(row.job, now_ms)
    # What becomes of it then is too long for a column.
    return when if quiet is None else tr("{when} · quiet").format(when=when)


def _pause_text(job: Job, now_ms: int) -> str:
    """Return until when a job is paused, as short as a column needs it: the time of today, else the day."""
    if job.paused_until is None:
        return tr("paused by assistant") if is_assistants(job) else tr("paused")
    local, today = local_time(job.paused_until), local_time(now_ms)
    days = (local.date() - today.date()).days
    when = short_date(local, year=False)
    if days == 0:
        when = f"{local:%H:%M}"
    elif 0 < days < _DAYS_BY_NAME:
        when = weekday_name(local)[:3]
    return tr("paused until {when}").format(when=when)


def last_text(job: Job, facts: JobFacts, run: Run | None, now_ms: int) -> str:
    """Return when the last run was; of one under way, since when it runs."""
    if job.status is JobStatus.RUNNING and not job.is_starting:
        since = run.started_at if run is not None else job.last_run_at
        return "" if since is None else tr("since {when}").format(when=short_moment(since, now_ms))
    at = last_at(job, facts)
    return tr("never") if at is None else ago(at, now_ms)


def last_at(job: Job, facts: JobFacts) -> int | None:
    """Return when the last run ended, or was to be."""
    if facts.last is not None:
        ended = facts.last.finished_at or facts.last.started_at or facts.last.slot_at
        if ended is not None:
            return ended
    return job.last_completed_at or job.last_run_at


def last_outcome(job: Job, facts: JobFacts, run: Run | None) -> Outcome | None:
    """Return how the last run ended, or that one is under way."""
    if (job.status is JobStatus.RUNNING or run is not None) and not job.is_starting:
        return Outcome.RUNNING
    return job.last_outcome if facts.last is None else facts.last.outcome


def short_duration(milliseconds: int | None) -> str:
    """Return how long something took in its largest unit: a column shows what can be compared at a glance."""
    if milliseconds is None or milliseconds < MINUTE_MS:
        return duration(milliseconds)
    minutes, hours = _rounded(milliseconds, MINUTE_MS), _rounded(milliseconds, HOUR_MS)
    if minutes < HOUR_MS // MINUTE_MS:
        return tr("{count} min").format(count=minutes)
    if hours < DAY_MS // HOUR_MS:
        return tr("{count} h").format(count=hours)
    return tr("{count} d").format(count=_rounded(milliseconds, DAY_MS))


def _rounded(milliseconds: int, unit_ms: int) -> int:
    """Return how many units that is, to the nearest."""
    return (milliseconds + unit_ms // 2) // unit_ms


def cell_tip(column: Column, row: JobRow, facts: JobFacts, run: Run | None, now_ms: int) -> str:
    """Return what a cell says on hover."""
    job = row.job
    match column:
        case Column.NAME:
            after = _before_words(row) if row.after else ""
            sentence = status_sentence(
                job, now_ms, asks=row.asks, is_capped=row.is_capped, after=after, quiet=facts.quiet
            )
            work = work_words(job.action)
            takes = tr("Takes its work from: {source}").format(source=work) if work else ""
            does = [action_words(job.action), takes]
            lines = [job.name, sentence, status_advice(job), *does, job.description]
        case Column.SCHEDULE:
            lines = [pace_words(row)]
        case Column.NEXT:
            lines = _next_lines(row, run, now_ms, facts.quiet)
        case Column.LAST:
            lines = _last_lines(job, facts, run)
        case Column.TREND:
            lines = [trend_sentence(facts.trend)]
    return plain_tooltip("\n".join(filter(None, lines)))


def _next_lines(row: JobRow, run: Run | None, now_ms: int, quiet: Quiet | None) -> list[str]:
    job, lines = row.job, []
    if run is not None and run.progress_text:
        lines.append(run.progress_text)
    if job.next_run_at is not None:
        is_due = job.waiting_for is not None and job.next_run_at <= now_ms
        lines.append((tr("Due since {when}") if is_due else "{when}").format(when=moment(job.next_run_at)))
    if job.paused_until is not None:
        lines.append(tr("Paused until {when}").format(when=moment(job.paused_until)))
    if job.next_source is not None and job.next_run_at is not None:
        lines.append(source_words(job.next_source))
    if job.waiting_for is not None:
        lines.append(_waiting_sentence(job))
    if row.asks:
        lines.append(tr("It does not start by itself before its question is answered or dismissed."))
    elif row.is_capped:
        lines.append(tr("It has reached its cap for today: this run will be skipped."))
    elif quiet is not None:
        lines.append(quiet_words(job, quiet, now_ms))
    return lines or [status_words(job)]


def _waiting_sentence(job: Job) -> str:
    """Return what a job waits for, and what happens then."""
    if job.waiting_for is WaitingFor.AT_CAPACITY:
        return tr("As many jobs as may are running; it starts when one ends.")
    words = tr("It waits for {what}, and starts then.")
    if job.is_starting:
        words = tr("It waits for {what}; that is tried again for a while.")
    return words.format(what=waited_for(job))


def quiet_words(job: Job, quiet: Quiet, now_ms: int) -> str:
    """Return what becomes of a run that is due in a quiet time."""
    words = tr("That is in {what}: it will be skipped.")
    if not is_skipped(job):
        words = tr("That is in {what}: it starts when that ends, {when}.")
    name = one_line(quiet.by.name, _LONGEST_NAME)
    what = tr("the quiet time {name}").format(name=name) if name else tr("a quiet time")
    return words.format(what=what, when=at_moment(quiet.until, now_ms))


def _last_lines(job: Job, facts: JobFacts, run: Run | None) -> list[str]:
    last = facts.last
    if job.status is JobStatus.RUNNING and run is not None:
        started = run.started_at
        return [run_words(run), "" if started is None else moment(started)]
    if last is None:
        return [] if job.last_run_at is None else [moment(job.last_run_at)]
    at = last_at(job, facts)
    took = tr("took {time}").format(time=duration(last.duration_ms)) if last.duration_ms is not None else ""
    return [run_words(last), "" if at is None else moment(at), took]


def spoken_text(column: Column, row: JobRow, facts: JobFacts, run: Run | None, now_ms: int) -> str:
    """Return what a screen reader says of a cell: marks and drawings in words too."""
    job = row.job
    text = cell_text(column, row, facts, run, now_ms)
    match column:
        case Column.NAME:
            group = tr("group {name}").format(name=one_line(job.group)) if job.group else ""
            return ", ".join(filter(None, [text, group, status_words(job, asks=row.asks)]))
        case Column.SCHEDULE:
            return text
        case Column.NEXT:
            return tr("next run: {when}").format(when=text)
        case Column.LAST:
            return _spoken_last(text, job, facts, run)
        case Column.TREND:
            return trend_sentence(facts.trend)


def _spoken_last(text: str, job: Job, facts: JobFacts, run: Run | None) -> str:
    outcome = last_outcome(job, facts, run)
    if outcome is None:
        return tr("last run: never")
    took = "" if facts.last is None else duration(facts.last.duration_ms)
    return ", ".join(filter(None, [tr("last run: {when}").format(when=text), outcome_words(outcome), took]))


def trend_sentence(trend: Iterable[TrendPoint]) -> str:
    """Return what a trend shows, in words."""
    points = list(trend)
    if not points:
        return tr("It has not run yet.")
    counts = Counter(point.outcome for point in points)
    ends = ", ".join(f"{count} {outcome_words(outcome).lower()}" for outcome, count in counts.most_common())
    times = [point.duration_ms for point in points if point.duration_ms is not None]
    took = (
        tr("Took {least} to {most}.").format(least=duration(min(times)), most=duration(max(times)))
        if times
        else ""
    )
    return "\n".join(
        filter(None, [tr("Last {count} runs: {ends}.").format(count=len(points), ends=ends), took])
    )


def status_sentence(
    job: Job,
    now_ms: int,
    run: Run | None = None,
    *,
    asks: bool = False,
    is_capped: bool = False,
    after: str = "",
    quiet: Quiet | None = None,
) -> str:
    """Return what a job is doing and what comes next: "Ready, runs in 4 min"; of a run, how far it has come.

    `after` names a job after which it runs; `quiet` is the quiet time that its planned run falls into.
    """
    is_running = job.status is JobStatus.RUNNING and not job.is_starting
    if is_running and run is not None and run.started_at is not None:
        return _running_sentence(run, now_ms - run.started_at)
    if asks and job.status is not JobStatus.RUNNING:
        return _asking_sentence(job)
    if job.status is JobStatus.IDLE and job.waiting_for is None:
        return _idle_sentence(job, now_ms, is_capped=is_capped, after=after, quiet=quiet)
    if job.waiting_for is not None:
        return tr("Waiting for {what}").format(what=waited_for(job))
    if job.status is JobStatus.PAUSED and job.paused_until is not None:
        return tr("Paused until {when}").format(when=short_moment(job.paused_until, now_ms))
    return status_words(job)


def _idle_sentence(job: Job, now_ms: int, *, is_capped: bool, after: str, quiet: Quiet | None) -> str:
    words = status_words(job)
    if is_capped:
        return tr("{status}, held back by its cap").format(status=words)
    if job.next_run_at is None and after:
        return tr("{status}, runs after {name}").format(status=words, name=after)
    if job.next_run_at is None:
        return tr("{status}, runs only by hand").format(status=words)
    if job.next_run_at <= now_ms:
        return words
    when = next_words(job, now_ms)
    if quiet is not None and is_skipped(job):
        return tr("{status}, due {when}, but that will be skipped").format(status=words, when=when)
    if quiet is not None:
        when = describe_when(quiet.until, now_ms)
    return tr("{status}, runs {when}").format(status=words, when=when)


def _asking_sentence(job: Job) -> str:
    words = tr("Needs you: it waits for your answer")
    # What else keeps it from running is not over with the answer.
    return words if job.status is JobStatus.IDLE else f"{words} · {status_words(job)}"


def _running_sentence(run: Run, so_far_ms: int) -> str:
    # Whole seconds: it counts before one's eyes.
    time = tr("{count} s").format(count=max(so_far_ms, 0) // SECOND_MS)
    words = tr("Running for {time}").format(time=time if so_far_ms < MINUTE_MS else duration(so_far_ms))
    progress = "" if run.progress is None else f"{run.progress:.0%}"
    return " · ".join(filter(None, [words, progress, one_line(run.progress_text)]))


def streak_sentence(job: Job) -> str:
    """Return how often a job failed in a row and what happens at the limit; nothing when it has not."""
    if not job.errors:
        return ""
    times = (
        tr("Failed once.")
        if job.errors == 1
        else tr("Failed {count} times in a row.").format(count=job.errors)
    )
    most = job.policy.max_errors
    if job.status is JobStatus.DISABLED:
        return tr("{times} It was switched off; resume it when it is fixed.").format(times=times)
    if most == 0:
        return tr("{times} It keeps trying, however often it fails.").format(times=times)
    left = most - job.errors
    if left == 1:
        return tr("{times} At the next failure it is switched off.").format(times=times)
    return tr("{times} After {count} more it is switched off.").format(times=times, count=max(left, 1))


def source_words(source: Source) -> str:
    """Return why a run is planned for just this instant, in a line."""
    return {
        Source.EVERY: tr("by its schedule"),
        Source.AFTER: tr("by its schedule"),
        Source.CRON: tr("by its schedule"),
        Source.ONCE: tr("its one time"),
        Source.HINT_INTERVAL: tr("at the pace of a hint"),
        Source.HINT_ONCE: tr("at the time of a hint"),
        Source.CLAMPED_MIN: tr("held back by its shortest pause"),
        Source.CLAMPED_MAX: tr("brought forward by its longest pause"),
        Source.BACKOFF: tr("waiting after an error"),
        Source.RETRY: tr("trying again after a failure"),
        Source.CATCH_UP: tr("catching up on a time that was missed"),
        Source.PAUSED: tr("when its pause is over"),
        Source.MANUAL: tr("by hand"),
    }[source]
