"""What the end of a process means: its outcome, what it said about itself, and what it asks."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import replace

from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.spool import Spool
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.model import Outcome, ProcessAction, SkipReason

SIGNAL_BASE = 128
UNSEEN_END = "ended while Halo was not running, exit code unknown"
_BY_ITSELF = frozenset({Outcome.SUCCESS, Outcome.FAILURE, Outcome.SKIPPED})


def outcome_of(action: ProcessAction, code: int | None) -> tuple[Outcome, SkipReason | None, str]:
    """Return what an exit code means; None is one that nobody knows."""
    if code is None:
        return Outcome.INTERRUPTED, None, UNSEEN_END
    if code in action.success_codes:
        return Outcome.SUCCESS, None, ""
    if code == action.no_work_code:
        return Outcome.SKIPPED, SkipReason.NO_WORK, ""
    return Outcome.FAILURE, None, f"it ended with exit code {code}{_signal_name(code)}"


def without_secrets(ended: Ended, action: ProcessAction) -> Ended:
    """Return an end whose output follows when the secrets of its run are at hand; what it asks may not wait."""
    question = _question_of_code(ended) if asks_by_code(ended, action) else ""
    return replace(ended, question=question, needs_secrets=action.secret_names)


def with_said(ended: Ended, action: ProcessAction, spool: Spool, redactor: Redactor) -> Ended:
    """Return an end with what was said before it, as far as somebody listened, and with what it asks."""
    said = spool.said()
    question = said.question
    if not question and asks_by_code(ended, action):
        with suppress(OSError):
            question = spool.last_line(redactor)
        question = "\n".join(filter(None, [_question_of_code(ended), question]))
    return replace(
        ended,
        cost=said.cost,
        question=question,
        proposal=said.proposal,
        note=joined(ended.note, said.fault),
    )


def asks_by_code(ended: Ended, action: ProcessAction) -> bool:
    """Tell whether a run asks for somebody with its exit code; that of one that was stopped says nothing."""
    code = action.needs_input_code
    return code is not None and ended.exit_code == code and ended.outcome in _BY_ITSELF


def joined(*sentences: str) -> str:
    """Return several notes as one."""
    return "; ".join(filter(None, sentences))


def _question_of_code(ended: Ended) -> str:
    return f"It ended with exit code {ended.exit_code} and asks for you."


def _signal_name(code: int) -> str:
    if code <= SIGNAL_BASE:
        return ""
    try:
        return f" ({signal.Signals(code - SIGNAL_BASE).name})"
    except ValueError:
        return ""
