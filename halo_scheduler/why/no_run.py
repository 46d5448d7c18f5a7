"""Why a job had no run at an instant in the past."""

from __future__ import annotations

from halo_scheduler.grammar.english import UNNAMED_ASSISTANT, assistant_words, counted
from halo_scheduler.model import (
    After,
    Once,
    Outcome,
    PassedReason,
    Run,
    Source,
    StatusReason,
    Trigger,
)
from halo_scheduler.model.schedules import gives_times
from halo_scheduler.rules.chains import chain_of, waiting_runs
from halo_scheduler.rules.situation import due_waiting
from halo_scheduler.schedule.passed_over import reason_at
from halo_scheduler.why.calendar_days import left_out_sentences
from halo_scheduler.why.inquiry import Answer, Downtime, Inquiry, SpellKind, Verdict, point_in, points_beside
from halo_scheduler.why.journal import by_words, gap_at
from halo_scheduler.why.runs import passed_reasons, run_sentences
from halo_scheduler.wording.plans import Predecessor, ends_in_words, events_sentence
from halo_scheduler.wording.runs import passed_words
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import awaited_words, shortage_words

_VERDICTS = {
    SpellKind.PAUSED: Verdict.PAUSED,
    SpellKind.DISABLED: Verdict.DISABLED,
    SpellKind.REMOVED: Verdict.REMOVED,
}
_COUNTED_LATER = "Times that pass meanwhile are coalesced into the next run."


def of_spell(inquiry: Inquiry, downtime: Downtime) -> Answer:
    """Return the answer for a time in which the job could not run."""
    return inquiry.answer(_VERDICTS[downtime.kind], f"It {spell_words(inquiry, downtime)}.")


def spell_words(inquiry: Inquiry, downtime: Downtime) -> str:
    """Return "was paused from 08:00 to 10:00"."""
    since = inquiry.moment(downtime.since)
    is_over = downtime.until is not None and downtime.until <= inquiry.now_ms
    if is_over:
        when = f"from {since} to {inquiry.moment(downtime.until or 0)}"
    else:
        when = f"since {since}"
        when += "" if downtime.until is None else f", until {inquiry.moment(downtime.until)}"
    verb = "was" if is_over else "has been"
    match downtime.kind:
        case SpellKind.REMOVED:
            return f"{verb} in the trash {when}"
        case SpellKind.PAUSED:
            return f"{verb} paused {when}{_why_paused(downtime)}"
        case SpellKind.DISABLED:
            return f"{verb} disabled {when}{_why_disabled(downtime)}"


def _why_paused(downtime: Downtime) -> str:
    if downtime.reason is StatusReason.IMPORTED:
        return ", because it was imported"
    who = assistant_words(downtime.assistant or UNNAMED_ASSISTANT)
    if downtime.reason is StatusReason.ASSISTANT:
        return f", because {who} had created or changed it"
    return "" if downtime.assistant is None else f", by {who}"


def _why_disabled(downtime: Downtime) -> str:
    match downtime.reason:
        case StatusReason.ERRORS if downtime.errors:
            times = f" {counted(downtime.errors, 'time')} in a row" if downtime.errors > 1 else ""
            return f", after it had failed{times}"
        case StatusReason.ERRORS:
            return ", because it could not run"
        case StatusReason.DONE:
            return ", because its only time had passed"
        case _:
            return ""


def not_a_point(inquiry: Inquiry, spell: Downtime | None) -> Answer:
    """Return the answer for a span without a time of the schedule; `spell` also kept the job from running."""
    schedule, anchor_at = inquiry.schedule, inquiry.spec.anchor_at
    also = [] if spell is None else [f"Also, it {spell_words(inquiry, spell)}."]
    found = _waiting_after_another(inquiry) or _edited_into_it(inquiry)
    if found is not None:
        return found
    if not gives_times(schedule):
        return inquiry.answer(Verdict.NOT_A_POINT, _by_hand(inquiry), *runs_beside(inquiry), *also)
    before, after = points_beside(schedule, anchor_at, inquiry.span)
    return inquiry.answer(
        Verdict.NOT_A_POINT,
        *left_out_sentences(inquiry),
        not_a_point_sentence(inquiry, before, after),
        *runs_beside(inquiry),
        *also,
        point_before=before,
        point_after=after,
    )


def not_a_point_sentence(inquiry: Inquiry, before: int | None, after: int | None) -> str:
    """Return that an instant is not a time of the schedule, with the neighbouring times."""
    if isinstance(inquiry.schedule, Once):
        return f"It runs once, at another time: {inquiry.moment(inquiry.schedule.due_at)}."
    beside = [inquiry.moment(at) for at in (before, after) if at is not None]
    nearest = f"; the nearest are {' and '.join(beside)}" if beside else ""
    return f"That time is not on its schedule, {describe(inquiry.schedule)}{nearest}."


def _waiting_after_another(inquiry: Inquiry) -> Answer | None:
    """Return the answer if a chain run was waiting then."""
    for wait in waiting_runs(inquiry.store, inquiry.now_ms):
        if wait.job_id == inquiry.record.id and wait.at < inquiry.span.until:
            words = awaited_words(wait.waiting, inquiry.now_ms)
            return inquiry.answer(
                Verdict.WAITING,
                f"A run after {wait.cause_name} was waiting then, and still is: {words}.",
            )
    _, run = inquiry.store.history.started_beside(inquiry.record.id, inquiry.span.since, inquiry.span.until)
    if run is None or run.started_at is None or run.trigger is not Trigger.CHAIN:
        return None
    if run.started_at - run.late_ms >= inquiry.span.until:
        return None
    return inquiry.answer(
        Verdict.WAITING,
        "A run was waiting then.",
        *run_sentences(inquiry.store, run, inquiry.now_ms),
        run_id=run.id,
    )


def _edited_into_it(inquiry: Inquiry) -> Answer | None:
    """Return the answer if only the current schedule has that time."""
    edit = inquiry.timeline.next_move(inquiry.span.since)
    spec = inquiry.record.spec
    if edit is None or point_in(spec.schedule, spec.anchor_at, inquiry.span) is None:
        return None
    return inquiry.answer(
        Verdict.EDITED,
        f"That time was not on its schedule then: {describe(inquiry.schedule)}.",
        f"It was changed {inquiry.when(edit.at)}{by_words(edit)}; now it is: {describe(spec.schedule)}.",
    )


def _by_hand(inquiry: Inquiry) -> str:
    before = chain_of(inquiry.store, inquiry.record).before
    if inquiry.spec.events:
        return events_sentence(inquiry.schedule)
    if not before:
        return "It only runs manually: it has no schedule."
    words = ends_in_words([Predecessor(link.name, link.on) for link in before])
    return f"It has no schedule: it runs {words}, or manually."


def runs_beside(inquiry: Inquiry) -> list[str]:
    """Return when the runs before and after an instant started."""
    before, after = inquiry.store.history.started_beside(
        inquiry.record.id, inquiry.span.since, inquiry.span.until
    )
    sentences = []
    if before is not None and before.started_at is not None:
        words = f"The last run before that started {inquiry.when(before.started_at)}"
        is_over = before.finished_at is not None
        words += f" and ended {inquiry.when(before.finished_at or 0)}" if is_over else " and is still running"
        sentences.append(f"{words}.")
    if after is not None and after.started_at is not None:
        sentences.append(f"The first run after that started {inquiry.when(after.started_at)}.")
    return sentences


def why_no_run(inquiry: Inquiry) -> Answer:
    """Return why no run of a job started in the span asked about."""
    if not inquiry.is_readable:
        return inquiry.answer(Verdict.UNKNOWN, "The settings of the job at that time can no longer be read.")
    if inquiry.point is None and point_in(inquiry.schedule, inquiry.spec.anchor_at, inquiry.span) is not None:
        made_at = inquiry.moment(inquiry.record.created_at)
        sentence = f"The job was created at {made_at}; its first time is after that."
        return inquiry.answer(Verdict.BEFORE_IT_EXISTED, sentence)
    at = inquiry.span.since if inquiry.point is None else inquiry.point
    spell = inquiry.timeline.find(at)
    has_no_times = isinstance(inquiry.schedule, After)
    if spell is not None and (spell.kind is SpellKind.REMOVED or has_no_times or inquiry.point is not None):
        return of_spell(inquiry, spell)
    if inquiry.point is None and not has_no_times:
        return not_a_point(inquiry, spell)
    ways = _OF_AFTER if has_no_times else _OF_POINTS
    return next(found for find in ways if (found := find(inquiry, at)) is not None)


# --- A time of the schedule without a run ------------------------------------------------------------


def _asleep(inquiry: Inquiry, at: int) -> Answer | None:
    gap = gap_at(inquiry.store, at, inquiry.now_ms)
    if gap is None:
        return None
    words = gap.words(inquiry.now_ms)
    sentences = [f"{words[:1].upper()}{words[1:]}."]
    counting = _counting_run(inquiry, at)
    if counting is not None:
        sentences += _what_counted(inquiry, counting)
    return inquiry.answer(Verdict.NOT_RUNNING, *sentences, run_id=counting.id if counting else None)


def _counting_run(inquiry: Inquiry, at: int) -> Run | None:
    """Return the run that covers a time of the schedule without a run of its own."""
    history, job_id = inquiry.store.history, inquiry.record.id
    before = history.slot_before(job_id, at)
    if before is not None and before.outcome is Outcome.MISSED and (before.finished_at or 0) >= at:
        return before
    after = history.slot_after(job_id, at)
    return after if after is not None and after.passed_over else None


def _what_counted(inquiry: Inquiry, run: Run) -> list[str]:
    planned = inquiry.moment(run.slot_at or 0)
    others = counted(run.passed_over, "time")
    if run.outcome is Outcome.MISSED:
        return [f"It was coalesced into the missed run of {planned}, which covers {others} besides its own."]
    what = "it" if run.passed_over == 1 else f"{others}, including this one"
    return [
        f"The run scheduled for {planned} covers {what}.",
        *run_sentences(inquiry.store, run, inquiry.now_ms),
    ]


def _waiting(inquiry: Inquiry, at: int) -> Answer | None:
    """Return the answer if an earlier run was still waiting then: for a limit, conditions or quiet hours."""
    record = inquiry.record
    due_at, slot_at = record.next_run_at, record.slot_at
    if due_at is not None and due_at <= inquiry.now_ms and slot_at is not None and slot_at < at:
        waiting = due_waiting(inquiry.store.database, record)
        words = "" if waiting is None else f": {awaited_words(waiting, inquiry.now_ms)}"
        return inquiry.answer(
            Verdict.WAITING,
            f"The run scheduled for {inquiry.moment(due_at)} was waiting then, and still is{words}.",
            _COUNTED_LATER,
        )
    before = inquiry.store.history.slot_before(record.id, at)
    if before is None or before.attempt > 1:
        return None
    began_at = before.finished_at if before.outcome is Outcome.SKIPPED else before.started_at
    if began_at is None or began_at <= at:
        return None
    sentence = f"The run scheduled for {inquiry.moment(before.slot_at or 0)} was still waiting then."
    ended = run_sentences(inquiry.store, before, inquiry.now_ms)
    return inquiry.answer(Verdict.WAITING, sentence, *ended, run_id=before.id)


def _under_way(inquiry: Inquiry, at: int) -> Answer | None:
    run = inquiry.store.history.under_way_at(inquiry.record.id, at)
    if run is None:
        return None
    counting = _counting_run(inquiry, at)
    if counting is not None and PassedReason.RUNNING not in passed_reasons(counting):
        return None  # It was claimed, but had not started yet.
    record = inquiry.record
    if run.id == record.run_id and record.job.is_starting:
        sentence = f"The previous run was still waiting for {shortage_words(record.waiting_details)} then."
        return inquiry.answer(Verdict.WAITING, sentence, _COUNTED_LATER, run_id=run.id)
    return inquiry.answer(
        Verdict.PASSED_OVER,
        "It was still running then; a job has only one run at a time.",
        *run_sentences(inquiry.store, run, inquiry.now_ms),
        *([_COUNTED_LATER] if counting is None and run.outcome is Outcome.RUNNING else []),
        run_id=run.id if counting is None else counting.id,
    )


def _edited_since(inquiry: Inquiry, at: int) -> Answer | None:
    """Return the answer if the job's times were changed before it ran again."""
    edit = inquiry.timeline.next_move(at)
    after = inquiry.store.history.slot_after(inquiry.record.id, at)
    if edit is None or (after is not None and (after.slot_at or 0) <= edit.at):
        return None
    return inquiry.answer(
        Verdict.EDITED,
        f"It had not run again when it was edited {inquiry.when(edit.at)}{by_words(edit)}, "
        "which dropped the times it had missed.",
        f"Before that, its schedule was: {describe(inquiry.schedule)}.",
    )


def _passed_over(inquiry: Inquiry, at: int) -> Answer | None:
    run = _counting_run(inquiry, at)
    if run is None:
        return None
    because = _because(inquiry, run, at)
    why = [f"It did not run then, because {because}."] if because else []
    return inquiry.answer(Verdict.PASSED_OVER, *why, *_what_counted(inquiry, run), run_id=run.id)


def _because(inquiry: Inquiry, run: Run, at: int) -> str:
    """Return why a run covers an earlier time; "" if the run itself says so."""
    others = [reason for reason in passed_reasons(run) if reason != PassedReason.RUNNING]
    if others:
        return " or ".join(filter(None, map(passed_words, others)))
    # No run was active, yet the last run's plan lay beyond that time.
    before = inquiry.store.history.slot_before(inquiry.record.id, at)
    if run.source in (Source.CLAMPED_MIN, Source.CLAMPED_MAX) or before is None:
        return ""
    if before.attempt > 1:
        return "the previous run was retried first"
    is_ended_then = before.finished_at is not None and before.finished_at >= at
    return "the previous run ended only then" if is_ended_then else ""


def _will_be_passed_over(inquiry: Inquiry, at: int) -> Answer | None:
    record = inquiry.record
    if record.next_run_at is None or record.slot_at is None or record.counted_until >= at:
        return None
    because = passed_words(reason_at(record.passed_reason, at))
    planned = inquiry.moment(record.next_run_at)
    return inquiry.answer(
        Verdict.PASSED_OVER,
        f"Its next run, scheduled for {planned}, covers it{f', because {because}' if because else ''}.",
    )


def _pruned(inquiry: Inquiry, at: int) -> Answer | None:
    """Return the answer if the slot had a run that was pruned."""
    if not inquiry.store.runs.has_slot(inquiry.record.id, at):
        return None
    return inquiry.answer(Verdict.UNKNOWN, "The run history no longer goes back that far.")


def _unknown(inquiry: Inquiry, _at: int) -> Answer:
    return inquiry.answer(Verdict.UNKNOWN, "It was due then, but nothing is recorded about it.")


def _after(inquiry: Inquiry, _at: int) -> Answer:
    """Return the answer for an `after` job, which has no times of its own."""
    sentence = f"It runs {describe(inquiry.schedule)}."
    return inquiry.answer(Verdict.NOT_A_POINT, sentence, *runs_beside(inquiry))


_OF_POINTS = (
    *(_asleep, _waiting, _under_way, _pruned),
    *(_edited_since, _passed_over, _will_be_passed_over, _unknown),
)

_OF_AFTER = (_asleep, _after)
