"""What to say of an instant that is no time of a job's schedule."""

from __future__ import annotations

from halo_scheduler.model import Manual, Once, Trigger
from halo_scheduler.rules.chains import chain_of, waiting_runs
from halo_scheduler.schedule.next_run import next_run, previous_run
from halo_scheduler.why.answer import Answer, Verdict
from halo_scheduler.why.assistant_acts import by_words
from halo_scheduler.why.downtime import spell_words
from halo_scheduler.why.inquiry import Inquiry, point_in
from halo_scheduler.why.runs import run_sentences
from halo_scheduler.why.timeline import Downtime
from halo_scheduler.wording.plans import Predecessor, ends_in_words
from halo_scheduler.wording.schedules import describe
from halo_scheduler.wording.status import awaited_words


def not_a_point(inquiry: Inquiry, spell: Downtime | None) -> Answer:
    """Return the answer for a span without a time of the schedule; `spell` is what kept the job from running, too."""
    schedule, anchor_at = inquiry.schedule, inquiry.spec.anchor_at
    also = [] if spell is None else [f"Besides, it {spell_words(inquiry, spell)}."]
    found = _waiting_after_another(inquiry) or _edited_into_it(inquiry)
    if found is not None:
        return found
    if isinstance(schedule, Manual):
        return inquiry.answer(Verdict.NOT_A_POINT, _by_hand(inquiry), *runs_beside(inquiry), *also)
    before = previous_run(schedule, inquiry.span.since - 1, anchor_at=anchor_at)
    after = next_run(schedule, inquiry.span.until - 1, anchor_at=anchor_at)
    return inquiry.answer(
        Verdict.NOT_A_POINT,
        not_a_point_sentence(inquiry, before, after),
        *runs_beside(inquiry),
        *also,
        point_before=before,
        point_after=after,
    )


def not_a_point_sentence(inquiry: Inquiry, before: int | None, after: int | None) -> str:
    """Return that an instant is no time of the schedule, and which ones are next to it."""
    if isinstance(inquiry.schedule, Once):
        return f"Its one time is another: {inquiry.moment(inquiry.schedule.due_at)}."
    beside = [inquiry.moment(at) for at in (before, after) if at is not None]
    nearest = f"; the nearest are {' and '.join(beside)}" if beside else ""
    return f"That is no time of its schedule, {describe(inquiry.schedule)}{nearest}."


def _waiting_after_another(inquiry: Inquiry) -> Answer | None:
    """Return the answer when a run after another job's was waiting for its turn then."""
    for wait in waiting_runs(inquiry.store):
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
    """Return the answer when only the schedule of today has that time."""
    edit = inquiry.timeline.next_move(inquiry.span.since)
    spec = inquiry.record.spec
    if edit is None or point_in(spec.schedule, spec.anchor_at, inquiry.span) is None:
        return None
    return inquiry.answer(
        Verdict.EDITED,
        f"That was no time of its schedule then, which was: {describe(inquiry.schedule)}.",
        f"It was changed at {inquiry.moment(edit.at)}{by_words(edit)}; now it is: {describe(spec.schedule)}.",
    )


def _by_hand(inquiry: Inquiry) -> str:
    before = chain_of(inquiry.store, inquiry.record).before
    if not before:
        return "It only runs manually: it has no schedule."
    words = ends_in_words([Predecessor(link.name, link.on) for link in before])
    return f"It has no schedule: it runs {words}, or manually."


def runs_beside(inquiry: Inquiry) -> list[str]:
    """Return when the runs next to an instant started."""
    before, after = inquiry.store.history.started_beside(
        inquiry.record.id, inquiry.span.since, inquiry.span.until
    )
    sentences = []
    if before is not None and before.started_at is not None:
        words = f"The last run before that started at {inquiry.moment(before.started_at)}"
        is_over = before.finished_at is not None
        words += f" and ended at {inquiry.moment(before.finished_at or 0)}" if is_over else " and goes on"
        sentences.append(f"{words}.")
    if after is not None and after.started_at is not None:
        sentences.append(f"The first run after that started at {inquiry.moment(after.started_at)}.")
    return sentences
