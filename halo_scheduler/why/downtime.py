"""Whiles in which a job could not run, in sentences."""

from __future__ import annotations

from halo_scheduler.grammar.english import UNNAMED_ASSISTANT, assistant_words, counted
from halo_scheduler.model import StatusReason
from halo_scheduler.why.answer import Answer, Verdict
from halo_scheduler.why.inquiry import Inquiry
from halo_scheduler.why.timeline import Spell, SpellKind

_VERDICTS = {
    SpellKind.PAUSED: Verdict.PAUSED,
    SpellKind.DISABLED: Verdict.DISABLED,
    SpellKind.REMOVED: Verdict.REMOVED,
}


def of_spell(inquiry: Inquiry, spell: Spell) -> Answer:
    """Return the answer that such a while gives."""
    return inquiry.answer(_VERDICTS[spell.kind], f"It {spell_words(inquiry, spell)}.")


def spell_words(inquiry: Inquiry, spell: Spell) -> str:
    """Return "was paused from 08:00 to 10:00"."""
    since = inquiry.moment(spell.since)
    is_over = spell.until is not None and spell.until <= inquiry.now_ms
    if is_over:
        when = f"from {since} to {inquiry.moment(spell.until or 0)}"
    else:
        when = f"since {since}"
        when += "" if spell.until is None else f", until {inquiry.moment(spell.until)}"
    verb = "was" if is_over else "has been"
    match spell.kind:
        case SpellKind.REMOVED:
            return f"{verb} in the trash {when}"
        case SpellKind.PAUSED:
            return f"{verb} paused {when}{_why_paused(spell)}"
        case SpellKind.DISABLED:
            return f"{verb} disabled {when}{_why_disabled(spell)}"


def _why_paused(spell: Spell) -> str:
    if spell.reason is StatusReason.IMPORTED:
        return ", as it was imported"
    who = assistant_words(spell.assistant or UNNAMED_ASSISTANT)
    if spell.reason is StatusReason.ASSISTANT:
        return f", as {who} had made or changed it"
    return "" if spell.assistant is None else f", by {who}"


def _why_disabled(spell: Spell) -> str:
    match spell.reason:
        case StatusReason.ERRORS if spell.errors:
            times = f" {counted(spell.errors, 'time')} in a row" if spell.errors > 1 else ""
            return f", after it had failed{times}"
        case StatusReason.ERRORS:
            return ", as it could not be run"
        case StatusReason.DONE:
            return ", as its one time was past"
        case _:
            return ""
