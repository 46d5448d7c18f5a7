"""Why a job had no run at an instant in the past."""

from __future__ import annotations

from halo_scheduler.grammar.english import counted
from halo_scheduler.model import After, Outcome, PassedReason, Run, Source
from halo_scheduler.schedule.passed_over import reason_at
from halo_scheduler.why.answer import Answer, Verdict
from halo_scheduler.why.assistant_acts import by_words
from halo_scheduler.why.downtime import of_spell
from halo_scheduler.why.gaps import gap_at
from halo_scheduler.why.inquiry import Inquiry, point_in
from halo_scheduler.why.no_point import not_a_point, runs_beside
from halo_scheduler.why.runs import passed_reasons, passed_words, run_sentences
from halo_scheduler.why.timeline import SpellKind
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import awaited_words

_COUNTED_LATER = "What passes meanwhile is counted on the next run."


def why_no_run(inquiry: Inquiry) -> Answer:
    """Return why nothing of a job started in the span that is asked about."""
    if not inquiry.is_readable:
        return inquiry.answer(Verdict.UNKNOWN, "What the job was at that time can no longer be read.")
    if inquiry.point is None and point_in(inquiry.schedule, inquiry.spec.anchor_at, inquiry.span) is not None:
        made_at = inquiry.moment(inquiry.record.created_at)
        sentence = f"The job was made at {made_at}, and its first time is after that."
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


# --- A time of the schedule that was not used ------------------------------------------------------------


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
    """Return the run that stands for a time of the schedule that had none of its own."""
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
        return [f"It was counted with the missed run of {planned}, which stands for {others} beside its own."]
    what = "it" if run.passed_over == 1 else f"{others}, this one among them"
    return [
        f"The run planned for {planned} passed over {what}.",
        *run_sentences(inquiry.store, run, inquiry.now_ms),
    ]


def _waiting(inquiry: Inquiry, at: int) -> Answer | None:
    """Return the answer when an earlier run was still waiting then: for a place, a condition, a quiet time's end."""
    record = inquiry.record
    due_at, slot_at = record.next_run_at, record.slot_at
    if due_at is not None and due_at <= inquiry.now_ms and slot_at is not None and slot_at < at:
        words = "" if record.waiting is None else f": {awaited_words(record.waiting, inquiry.now_ms)}"
        return inquiry.answer(
            Verdict.WAITING,
            f"The run planned for {inquiry.moment(due_at)} was waiting then, and still is{words}.",
            _COUNTED_LATER,
        )
    before = inquiry.store.history.slot_before(record.id, at)
    if before is None or before.attempt > 1:
        return None
    began_at = before.finished_at if before.outcome is Outcome.SKIPPED else before.started_at
    if began_at is None or began_at <= at:
        return None
    sentence = f"The run planned for {inquiry.moment(before.slot_at or 0)} was still waiting then."
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
        sentence = f"The run before was still waiting for {record.waiting_details.name} then."
        return inquiry.answer(Verdict.WAITING, sentence, _COUNTED_LATER, run_id=run.id)
    return inquiry.answer(
        Verdict.PASSED_OVER,
        "It was still running then, and a job does not run twice at once.",
        *run_sentences(inquiry.store, run, inquiry.now_ms),
        *([_COUNTED_LATER] if counting is None and run.outcome is Outcome.RUNNING else []),
        run_id=run.id if counting is None else counting.id,
    )


def _edited_since(inquiry: Inquiry, at: int) -> Answer | None:
    """Return the answer when the job was given other times before it came to run again."""
    edit = inquiry.timeline.next_move(at)
    after = inquiry.store.history.slot_after(inquiry.record.id, at)
    if edit is None or (after is not None and (after.slot_at or 0) <= edit.at):
        return None
    return inquiry.answer(
        Verdict.EDITED,
        f"It had not run again when it was edited at {inquiry.moment(edit.at)}{by_words(edit)}, "
        "and what it had passed over was not counted any more.",
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
    """Return why a run passed over an earlier time, in words; nothing when the run says so itself."""
    others = [reason for reason in passed_reasons(run) if reason != PassedReason.RUNNING]
    if others:
        return " or ".join(filter(None, map(passed_words, others)))
    # No run was under way, yet the plan after the last one lay beyond that time.
    before = inquiry.store.history.slot_before(inquiry.record.id, at)
    if run.source in (Source.CLAMPED_MIN, Source.CLAMPED_MAX) or before is None:
        return ""
    if before.attempt > 1:
        return "the run before was tried again first"
    is_ended_then = before.finished_at is not None and before.finished_at >= at
    return "the run before ended only then" if is_ended_then else ""


def _will_be_passed_over(inquiry: Inquiry, at: int) -> Answer | None:
    record = inquiry.record
    if record.next_run_at is None or record.slot_at is None or record.counted_until >= at:
        return None
    because = passed_words(reason_at(record.passed_reason, at))
    planned = inquiry.moment(record.next_run_at)
    return inquiry.answer(
        Verdict.PASSED_OVER,
        f"Its next run, planned for {planned}, passes over it{f', because {because}' if because else ''}.",
    )


def _pruned(inquiry: Inquiry, at: int) -> Answer | None:
    """Return the answer when the slot counts as run, but its run was thrown away."""
    if not inquiry.store.runs.has_slot(inquiry.record.id, at):
        return None
    return inquiry.answer(Verdict.UNKNOWN, "The log of its runs does not go back that far any more.")


def _unknown(inquiry: Inquiry, _at: int) -> Answer:
    return inquiry.answer(Verdict.UNKNOWN, "It was due then, but nothing is recorded about it.")


def _after(inquiry: Inquiry, _at: int) -> Answer:
    """Return the answer for a job that runs so long after its last end: it has no times of its own."""
    sentence = f"It runs {describe(inquiry.schedule)}."
    return inquiry.answer(Verdict.NOT_A_POINT, sentence, *runs_beside(inquiry))


_OF_POINTS = (
    *(_asleep, _waiting, _under_way, _pruned),
    *(_edited_since, _passed_over, _will_be_passed_over, _unknown),
)
_OF_AFTER = (_asleep, _after)
