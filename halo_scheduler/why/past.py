"""What a job did at an instant in the past."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.grammar.english import counted
from halo_scheduler.model import Outcome, Run, SkipReason, Source
from halo_scheduler.rules.pending import read_pending
from halo_scheduler.rules.statistics import explanation
from halo_scheduler.schedule.next_run import next_run
from halo_scheduler.store.events import EventKind
from halo_scheduler.store.history import RunFilter
from halo_scheduler.store.job_records import JobRecord
from halo_scheduler.store.store import Store
from halo_scheduler.why.calendar_days import moved_sentences
from halo_scheduler.why.inquiry import Answer, Inquiry, Span, Verdict
from halo_scheduler.why.journal import by_words, gap_at
from halo_scheduler.why.no_run import why_no_run
from halo_scheduler.why.runs import passed_sentence, run_sentences
from halo_scheduler.wording.schedules import describe

# A job that runs every second has more per minute; a few are enough.
_MOST_RUNS = 5
_BY_REASON = {
    SkipReason.PAUSED: Verdict.PAUSED,
    SkipReason.DISABLED: Verdict.DISABLED,
    SkipReason.MISSED: Verdict.MISSED,
}


def answer_past(store: Store, record: JobRecord, span: Span, now_ms: int) -> Answer:
    """Return what a job did in a past span, and why."""
    inquiry = Inquiry.make(store, record, span, now_ms)
    if span.until <= record.created_at:
        made_at = inquiry.moment(record.created_at)
        return inquiry.answer(
            Verdict.BEFORE_IT_EXISTED, f"The job did not exist then: it was created at {made_at}."
        )
    runs = _runs_of_slots(inquiry)
    others = [run for run in _runs_in_span(inquiry) if run.id not in {found.id for found in runs}]
    if runs:
        found = _of_runs(inquiry, runs)
    elif _is_still_due(inquiry):
        found = _still_due(inquiry)
    elif (turn := _turn(inquiry)) is not None:
        words = f"The run for that time is queued behind {counted(turn, 'other run')} of the job."
        found = inquiry.answer(Verdict.WAITING, words)
    elif others and inquiry.point is None:
        found, others = _of_runs(inquiry, others), []
    else:
        found = why_no_run(inquiry)
    return replace(found, sentences=(*found.sentences, *_beside(inquiry, found, others)))


# --- Runs ---------------------------------------------------------------------------------------------


def _runs_of_slots(inquiry: Inquiry) -> list[Run]:
    """Return the runs of the slots asked about; with jitter a slot lies a little after its time."""
    history, span = inquiry.store.history, inquiry.span
    found = history.of_slots(inquiry.record.id, span.since, span.until, _MOST_RUNS)
    if found or inquiry.point is None or not inquiry.spec.policy.has_jitter:
        return found
    following = next_run(inquiry.schedule, inquiry.point, anchor_at=inquiry.spec.anchor_at)
    if following is None:
        return []
    return history.of_slots(inquiry.record.id, span.until, following, _MOST_RUNS)


def _runs_in_span(inquiry: Inquiry) -> list[Run]:
    chosen = RunFilter(job_id=inquiry.record.id, since=inquiry.span.since, until=inquiry.span.until)
    return inquiry.store.history.log(chosen, _MOST_RUNS)[::-1]


def _of_runs(inquiry: Inquiry, runs: list[Run]) -> Answer:
    """Return the answer from some runs; all attempts of the first slot decide it together."""
    first = [run for run in runs if run.slot_at == runs[0].slot_at]
    last = first[-1] if runs[0].slot_at is not None else first[0]
    verdicts = [_verdict(run) for run in first]
    verdict = Verdict.LATE if Verdict.LATE in verdicts and last in first else _verdict(last)
    sentences: list[str] = []
    for run in runs:
        sentences += run_sentences(inquiry.store, run, inquiry.now_ms)
        sentences += _about_its_time(inquiry, run)
    return inquiry.answer(
        verdict, *sentences, *_next_attempt(inquiry, last), run_id=last.id, outcome=last.outcome
    )


def _verdict(run: Run) -> Verdict:
    if run.outcome is Outcome.MISSED:
        return Verdict.MISSED
    if run.outcome is Outcome.SKIPPED or run.started_at is None:
        return Verdict.SKIPPED if run.reason is None else _BY_REASON.get(run.reason, Verdict.SKIPPED)
    return Verdict.LATE if run.is_late else Verdict.RAN


def _about_its_time(inquiry: Inquiry, run: Run) -> list[str]:
    """Return more about a scheduled run's time: why it was late, and which times it covers."""
    if run.slot_at is None:
        return []
    sentences = []
    if not inquiry.span.has(run.slot_at) and run.attempt == 1:
        is_spread = inquiry.point is not None and inquiry.spec.policy.has_jitter
        why = ", with a random delay" if is_spread else ""
        sentences.append(f"It was scheduled for {inquiry.moment(run.slot_at)}{why}.")
    if run.is_late:
        sentences += _why_late(inquiry, run)
    if run.passed_over:
        sentences.append(passed_sentence(run))
    return sentences


def _why_late(inquiry: Inquiry, run: Run) -> list[str]:
    """Return why a scheduled run started late, if that is recorded and the run does not say so itself."""
    store, now_ms = inquiry.store, inquiry.now_ms
    planned_at = (run.started_at or 0) - run.late_ms
    gap = gap_at(store, planned_at, now_ms)
    if gap is not None:
        caught_up = ": this run caught up" if run.source is Source.CATCH_UP else ""
        words = gap.words(now_ms)
        return [f"{words[:1].upper()}{words[1:]}{caught_up}."]
    busy = store.history.under_way_at(run.job_id, planned_at)
    if busy is not None and busy.id != run.id and busy.finished_at is not None:
        return [f"Another run of the job was active until {inquiry.moment(busy.finished_at)}."]
    return []


def _next_attempt(inquiry: Inquiry, run: Run) -> list[str]:
    """Return when a failed slot is retried, if it is."""
    record = inquiry.record
    if record.attempt <= 1 or record.slot_at != run.slot_at or record.next_run_at is None:
        return []
    return [f"Attempt {record.attempt} is scheduled for {inquiry.moment(record.next_run_at)}."]


# --- A due slot that has not started --------------------------------------------------------------


def _is_still_due(inquiry: Inquiry) -> bool:
    record = inquiry.record
    if record.next_run_at is None or record.slot_at is None or record.next_run_at > inquiry.now_ms:
        return False
    if inquiry.span.has(record.slot_at) or inquiry.span.has(record.next_run_at):
        return True
    following = inquiry.point and next_run(inquiry.schedule, inquiry.point, anchor_at=inquiry.spec.anchor_at)
    is_spread = inquiry.spec.policy.has_jitter
    return is_spread and following is not None and inquiry.span.until <= record.slot_at < following


def _turn(inquiry: Inquiry) -> int | None:
    """Return how many runs precede that of a pending point; None if the time is not a pending point."""
    points = read_pending(inquiry.record.pending)
    return next((turn for turn, point in enumerate(points, 1) if inquiry.span.has(point.at)), None)


def _still_due(inquiry: Inquiry) -> Answer:
    """Return what a job waits for if it was due then and still is."""
    sentences = explanation(inquiry.store, inquiry.record, inquiry.now_ms).sentences
    gap = gap_at(inquiry.store, inquiry.record.next_run_at or 0, inquiry.now_ms)
    if gap is not None:
        return inquiry.answer(Verdict.NOT_RUNNING, f"It is due, but {gap.words(inquiry.now_ms)}.", *sentences)
    is_waiting = inquiry.record.waiting_for is not None
    due = [] if is_waiting else [f"It has been due since {inquiry.moment(inquiry.record.next_run_at or 0)}."]
    return inquiry.answer(Verdict.WAITING, *sentences, *due)


# --- Circumstances -------------------------------------------------------------------------------


def _beside(inquiry: Inquiry, found: Answer, others: list[Run]) -> list[str]:
    """Return other events at that time, and changes since then."""
    sentences = moved_sentences(inquiry.schedule, inquiry.point, inquiry.now_ms)
    for run in others:
        sentences += run_sentences(inquiry.store, run, inquiry.now_ms)
    for event in inquiry.store.events.of_kinds(None, [EventKind.CLOCK_JUMP]):
        was_at = event.detail.get("was", 0)
        if event.at <= inquiry.span.since <= was_at:
            was, back = inquiry.moment(was_at), inquiry.moment(event.at)
            sentences.append(f"The clock was set back from {was} to {back} once, so that time came twice.")
    edit = inquiry.timeline.next_move(inquiry.span.since)
    if edit is not None and found.verdict is not Verdict.EDITED:
        sentences.append(
            f"Its schedule was changed since, {inquiry.when(edit.at)}{by_words(edit)}; "
            f"then it was: {describe(inquiry.schedule)}."
        )
    return sentences
