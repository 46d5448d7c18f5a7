"""Whiles in which a job could not run, in sentences."""

from __future__ import annotations

from halo_scheduler.grammar.english import UNNAMED_ASSISTANT, assistant_words, counted
from halo_scheduler.model import StatusReason
from halo_scheduler.why.answer import Answer, Verdict
from halo_scheduler.why.inquiry import Inquiry
from halo_scheduler.why.timeline import Downtime, SpellKind

_VERDICTS = {
    SpellKind.PAUSED: Verdict.PAUSED,
    SpellKind.DISABLED: Verdict.DISABLED,
    SpellKind.REMOVED: Verdict.REMOVED,
}


def of_spell(inquiry: Inquiry, downtime: Downtime) -> Answer:
    """Return the answer that such a while gives."""
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
        return ", as it was imported"
    who = assistant_words(downtime.assistant or UNNAMED_ASSISTANT)
    if downtime.reason is StatusReason.ASSISTANT:
        return f", as {who} had made or changed it"
    return "" if downtime.assistant is None else f", by {who}"


def _why_disabled(downtime: Downtime) -> str:
    match downtime.reason:
        case StatusReason.ERRORS if downtime.errors:
            times = f" {counted(downtime.errors, 'time')} in a row" if downtime.errors > 1 else ""
            return f", after it had failed{times}"
        case StatusReason.ERRORS:
            return ", as it could not be run"
        case StatusReason.DONE:
            return ", as its one time was past"
        case _:
            return ""
