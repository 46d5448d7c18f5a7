"""The texts of the job table's cells: displayed, in tooltips, and for screen readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from halo_scheduler.model import (
    After,
    InQuietTime,
    Job,
    JobStatus,
    Manual,
    Outcome,
    Run,
    Schedule,
    Several,
    Situation,
    SituationKind,
    SkipReason,
)
from halo_scheduler.model.settings import Quiet
from halo_scheduler.rules.statistics import TrendPoint
from halo_scheduler.schedule.calendar import QuietHours
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.measures import full_moment, moment_in_words, took_words, when_in_words
from halo_scheduler.wording.runs import rule_words
from halo_scheduler.wording.status import (
    next_words,
    status_sentence,
    status_words,
    trouble_words,
    waiting_sentences,
)
from ui.style.wording import (
    ago,
    one_line,
    outcome_words,
    plain_tooltip,
    run_words,
    sentence_case,
    status_advice,
)
from ui.widgets.job_text import action_words, work_words

from .job_rows import Column, JobFacts, JobRow, Section, schedule_words, short_schedule_words

_LONGEST_NAME = 60


def is_skipped(job: Job) -> bool:
    """Return whether a job skips runs in quiet hours instead of delaying them."""
    return job.policy.in_quiet_time is InQuietTime.SKIP


def next_runs(
    scheduler: Scheduler, job: Job, hours: QuietHours, count: int, since: int | None = None
) -> list[tuple[int, Quiet | None]]:
    """Return the next slots of a job, each with the quiet hours it falls in.

    Slots that pass while a run waits for quiet hours to end are coalesced.
    """
    found: list[tuple[int, Quiet | None]] = []
    while len(found) < count:
        times = scheduler.jobs.next_runs(job.id, count - len(found), since=since)
        since = None
        for at in times:
            quiet = hours.find(job.group, at)
            found.append((at, quiet))
            if quiet is not None and not is_skipped(job):
                since = quiet.until + 1
                break
        # The later slots depend on when that run ends, which is unknown.
        if since is None or isinstance(job.schedule, After):
            break
    return found


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("JobWords", text)


def heading(column: Column) -> str:
    """Return a column's heading."""
    return {
        Column.NAME: tr("Job"),
        Column.SCHEDULE: tr("When"),
        Column.NEXT: tr("Next run"),
        Column.LAST: tr("Last run"),
        Column.TREND: tr("Last 20 runs"),
    }[column]


def usual_text(column: Column) -> str:
    """Return a typical text of a column, which determines its width; empty for a painted column."""
    return {
        Column.SCHEDULE: tr("2 h after it ends"),
        Column.NEXT: tr("tomorrow at 00:00"),
        Column.LAST: tr("yesterday 00:00 00 min"),
    }.get(column, "")


def section_words(section: Section) -> str:
    """Return the heading of a group, with its number of jobs."""
    name = tr("No group") if section.group is None else one_line(section.group)
    return f"{name} ({section.count:,})"


def cell_text(column: Column, row: JobRow, facts: JobFacts, run: Run | None, now_ms: int) -> str:
    """Return the text of a cell; empty for the trend, which is drawn."""
    match column:
        case Column.NAME:
            return one_line(row.job.name)
        case Column.SCHEDULE:
            return one_line(pace_words(row, short_schedule_words))
        case Column.NEXT:
            return next_text(row.situation, run, now_ms)
        case Column.LAST:
            return last_text(row, facts, run, now_ms)
        case Column.TREND:
            return ""


def pace_words(row: JobRow, words: Callable[[Schedule | Several], str] = schedule_words) -> str:
    """Return a job's schedule or, for a manual job, whether another job triggers it."""
    after = row.situation.after
    if not after or not isinstance(row.job.schedule, Manual):
        return words(row.job.schedule)
    return tr("After another job") if len(after) == 1 else tr("After other jobs")


def next_text(situation: Situation, run: Run | None, now_ms: int) -> str:
    """Return when a job runs next, or the progress of its current run."""
    words = next_words(situation, now_ms)
    if situation.kind is not SituationKind.RUNNING or run is None or run.progress is None:
        return words
    return f"{words}, {run.progress:.0%}"


def last_text(row: JobRow, facts: JobFacts, run: Run | None, now_ms: int) -> str:
    """Return when the last run was, or when the current one started."""
    if row.situation.kind is SituationKind.RUNNING:
        since = run.started_at if run is not None else row.job.last_run_at
        return (
            ""
            if since is None
            else tr("since {when}").format(when=moment_in_words(since, now_ms, has_seconds=False))
        )
    at = last_at(row.job, facts)
    return tr("never") if at is None else ago(at, now_ms)


def last_at(job: Job, facts: JobFacts) -> int | None:
    """Return when the last run ended or, if it never started, its slot."""
    if facts.last is not None:
        ended = facts.last.finished_at or facts.last.started_at or facts.last.slot_at
        if ended is not None:
            return ended
    return job.last_completed_at or job.last_run_at


def last_outcome(row: JobRow, facts: JobFacts) -> Outcome | None:
    """Return the outcome of the last run; RUNNING during a run."""
    if row.situation.kind is SituationKind.RUNNING:
        return Outcome.RUNNING
    return row.job.last_outcome if facts.last is None else facts.last.outcome


def short_duration(milliseconds: int | None) -> str:
    """Return a duration in its largest unit, so that a column can be compared at a glance."""
    if milliseconds is None or milliseconds < MINUTE_MS:
        return took_words(milliseconds)
    minutes, hours = _rounded(milliseconds, MINUTE_MS), _rounded(milliseconds, HOUR_MS)
    if minutes < HOUR_MS // MINUTE_MS:
        return tr("{count} min").format(count=minutes)
    if hours < DAY_MS // HOUR_MS:
        return tr("{count} h").format(count=hours)
    return tr("{count} d").format(count=_rounded(milliseconds, DAY_MS))


def _rounded(milliseconds: int, unit_ms: int) -> int:
    """Return a duration in a unit, rounded to the nearest."""
    return (milliseconds + unit_ms // 2) // unit_ms


def cell_tip(column: Column, row: JobRow, facts: JobFacts, run: Run | None, now_ms: int) -> str:
    """Return the tooltip of a cell."""
    job = row.job
    match column:
        case Column.NAME:
            sentence = sentence_case(status_sentence(row.situation, now_ms))
            work = work_words(job.action)
            takes = tr("Work queue: {source}").format(source=work) if work else ""
            does = [action_words(job.action), takes]
            lines = [job.name, sentence, status_advice(row.situation), *does, job.description]
        case Column.SCHEDULE:
            lines = [pace_words(row)]
        case Column.NEXT:
            lines = _next_lines(row, run, now_ms)
        case Column.LAST:
            lines = _last_lines(row, facts, run)
        case Column.TREND:
            lines = [trend_sentence(facts.trend)]
    return plain_tooltip("\n".join(filter(None, lines)))


def _next_lines(row: JobRow, run: Run | None, now_ms: int) -> list[str]:
    job, situation, lines = row.job, row.situation, []
    if run is not None and run.progress_text:
        lines.append(run.progress_text)
    if situation.waiting is not None:
        lines.append(sentence_case(status_words(situation, now_ms)))
        lines += waiting_sentences(situation.waiting, now_ms)
    elif situation.next_run_at is not None:
        lines.append(full_moment(situation.next_run_at))
    if situation.paused_until is not None:
        lines.append(tr("Paused until {when}").format(when=full_moment(situation.paused_until)))
    if situation.next_source is not None and situation.next_run_at is not None:
        lines.append(sentence_case(rule_words(situation.next_source)))
    lines += _obstacle_lines(job, situation, now_ms)
    return lines or [sentence_case(status_words(situation, now_ms))]


def _obstacle_lines(job: Job, situation: Situation, now_ms: int) -> list[str]:
    """Return the obstacles of a planned run or an event's run."""
    lines = []
    if situation.kind is SituationKind.TROUBLED:
        lines.append(sentence_case(trouble_words(situation)))
    if situation.blocker is SkipReason.USER:
        lines.append(tr("This run will be skipped on request."))
    if situation.question is not None:
        lines.append(tr("On hold until its question is answered or dismissed."))
    elif situation.kind is SituationKind.CAPPED:
        lines.append(tr("Daily limit reached: this run will be skipped."))
    elif situation.quiet is not None:
        lines.append(quiet_words(job, situation.quiet, now_ms))
    return lines


def quiet_words(job: Job, quiet: Quiet, now_ms: int) -> str:
    """Return what happens to a run that is due in quiet hours."""
    words = tr("Falls in {what} and will be skipped.")
    if not is_skipped(job):
        words = tr("Falls in {what} and starts when they end, {when}.")
    name = one_line(quiet.by.name, _LONGEST_NAME)
    what = tr("the quiet hours {name}").format(name=name) if name else tr("quiet hours")
    return words.format(what=what, when=when_in_words(quiet.until, now_ms, has_seconds=False))


def _last_lines(row: JobRow, facts: JobFacts, run: Run | None) -> list[str]:
    job, last = row.job, facts.last
    if row.situation.kind is SituationKind.RUNNING and run is not None:
        started = run.started_at
        return [run_words(run), "" if started is None else full_moment(started)]
    if last is None:
        return [] if job.last_run_at is None else [full_moment(job.last_run_at)]
    at = last_at(job, facts)
    took = tr("took {time}").format(time=took_words(last.duration_ms)) if last.duration_ms is not None else ""
    return [run_words(last), "" if at is None else full_moment(at), took]


def spoken_text(column: Column, row: JobRow, facts: JobFacts, run: Run | None, now_ms: int) -> str:
    """Return the text of a cell for screen readers, with marks and drawings in words."""
    job = row.job
    text = cell_text(column, row, facts, run, now_ms)
    match column:
        case Column.NAME:
            group = tr("group {name}").format(name=one_line(job.group)) if job.group else ""
            status = sentence_case(status_words(row.situation, now_ms))
            return ", ".join(filter(None, [text, group, status]))
        case Column.SCHEDULE:
            return one_line(pace_words(row))
        case Column.NEXT:
            return tr("next run: {when}").format(when=text)
        case Column.LAST:
            return _spoken_last(text, row, facts)
        case Column.TREND:
            return trend_sentence(facts.trend)


def _spoken_last(text: str, row: JobRow, facts: JobFacts) -> str:
    outcome = last_outcome(row, facts)
    if outcome is None:
        return tr("last run: never")
    took = "" if facts.last is None else took_words(facts.last.duration_ms)
    return ", ".join(filter(None, [tr("last run: {when}").format(when=text), outcome_words(outcome), took]))


def trend_sentence(trend: Iterable[TrendPoint]) -> str:
    """Return a trend in words."""
    points = list(trend)
    if not points:
        return tr("No runs yet.")
    counts = Counter(point.outcome for point in points)
    ends = ", ".join(f"{count} {outcome_words(outcome).lower()}" for outcome, count in counts.most_common())
    times = [point.duration_ms for point in points if point.duration_ms is not None]
    took = (
        tr("Duration: {least} to {most}.").format(least=took_words(min(times)), most=took_words(max(times)))
        if times
        else ""
    )
    return "\n".join(
        filter(None, [tr("Last {count} runs: {ends}.").format(count=len(points), ends=ends), took])
    )


def live_status(situation: Situation, now_ms: int, run: Run | None = None) -> str:
    """Return the status of a job and what is next, "Ready, next run in 4 min", or the progress of its current run."""
    if situation.kind is SituationKind.RUNNING and run is not None and run.started_at is not None:
        return _running_sentence(run, now_ms - run.started_at)
    return sentence_case(status_sentence(situation, now_ms))


def _running_sentence(run: Run, so_far_ms: int) -> str:
    # Whole seconds: the text counts up while it is visible.
    time = tr("{count} s").format(count=max(so_far_ms, 0) // SECOND_MS)
    words = tr("Running for {time}").format(time=time if so_far_ms < MINUTE_MS else took_words(so_far_ms))
    progress = "" if run.progress is None else f"{run.progress:.0%}"
    return " · ".join(filter(None, [words, progress, one_line(run.progress_text)]))


def streak_sentence(job: Job) -> str:
    """Return how often a job failed in a row and what happens at the limit; empty if it did not fail."""
    if not job.errors:
        return ""
    times = {1: tr("Failed once."), 2: tr("Failed twice in a row.")}.get(
        job.errors, tr("Failed {count} times in a row.").format(count=job.errors)
    )
    most = job.policy.max_errors
    if job.status is JobStatus.DISABLED:
        return tr("{times} Disabled; resume it when it's fixed.").format(times=times)
    if most == 0:
        return tr("{times} Keeps running on schedule.").format(times=times)
    left = max(most - job.errors, 1)
    return tr("{times} Disabled after {count} more.").format(times=times, count=left)
