"""Times, durations, outcomes and statuses in the words the program shows everywhere."""

from __future__ import annotations

import re
from textwrap import wrap
from unicodedata import combining, normalize

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.interval import DAY_MS, HOUR_MS, MINUTE_MS
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model import Outcome, Run, Situation, SkipReason, StatusReason
from halo_scheduler.wording import runs
from halo_scheduler.wording.measures import moment_in_words
from halo_scheduler.wording.messages import OUTCOMES, SKIP_REASONS

_LONGEST_LINE = 300
_LONGEST_TOOLTIP = 2_000
_WHOLE_LINE = 80
# Where Qt would recognise markup, unless this invisible character follows.
_MARKUP = re.compile(r"<(?=[A-Za-z!?/])|&(?=lt;)")
_WORD_JOINER = "\u2060"
# Longer runs of digits are ids or hashes, not numbers.
_NUMBERS = re.compile(r"([0-9]{1,15})")


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("Wording", text)


def one_line(text: str, longest: int = _LONGEST_LINE) -> str:
    """Return an untrusted text as one short line of plain text."""
    return plain_line(text, longest)


def plain_tooltip(text: str) -> str:
    """Return a text as a tooltip that Qt does not interpret as markup; screen readers read it unchanged."""
    shown = text if len(text) <= _LONGEST_TOOLTIP else f"{text[:_LONGEST_TOOLTIP]}…"
    lines = (plain_line(line, _LONGEST_TOOLTIP) for line in shown.split("\n"))
    # Qt does not wrap plain tooltips.
    wrapped = "\n".join(part for line in lines for part in _wrapped(line))
    return _MARKUP.sub(f"\\g<0>{_WORD_JOINER}", wrapped)


def _wrapped(line: str) -> list[str]:
    parts = wrap(line, _WHOLE_LINE, expand_tabs=False, replace_whitespace=False, break_on_hyphens=False)
    return parts or [""]


def natural_key(name: str) -> tuple[str | int, ...]:
    """Return a key that sorts "job 2" before "job 10", and "Überprüfung" next to "Updates"."""
    letters = (one for one in normalize("NFKD", name.casefold()) if not combining(one))
    parts = _NUMBERS.split("".join(letters))
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts))


def ago(at: int, now_ms: int) -> str:
    """Return how long ago an instant was: "just now", "4 min ago", "2 h ago", then the day."""
    past_ms = now_ms - at
    if past_ms < MINUTE_MS:
        return tr("just now")
    if past_ms < HOUR_MS:
        return tr("{minutes} min ago").format(minutes=past_ms // MINUTE_MS)
    if past_ms < DAY_MS // 2:
        return tr("{hours} h ago").format(hours=past_ms // HOUR_MS)
    return moment_in_words(at, now_ms, has_seconds=False)


def sentence_case(words: str) -> str:
    """Return a text with its first letter capitalised."""
    return words[:1].upper() + words[1:]


def status_advice(situation: Situation) -> str:
    """Return what the user should do about a job's status; empty for most."""
    is_assistants = situation.needs_review and situation.reason is StatusReason.ASSISTANT
    return tr("An assistant created or edited this job. Review it, then resume it.") if is_assistants else ""


def outcome_words(outcome: Outcome) -> str:
    """Return how a run ended, in a word or two."""
    return tr(OUTCOMES[outcome].title)


def reason_words(reason: SkipReason) -> str:
    """Return why a job did not run."""
    return tr(SKIP_REASONS[reason])


def run_words(run: Run) -> str:
    """Return how a run ended and why, in one line."""
    return sentence_case(one_line(runs.run_words(run)))


def size_words(count: int) -> str:
    """Return a number of bytes in a readable unit."""
    size, unit = float(count), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if size < 1024:  # noqa: PLR2004 - the step between units
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"  # noqa: PLR2004
