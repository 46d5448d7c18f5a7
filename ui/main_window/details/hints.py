"""Advice on when a job runs, in words: what, until when, from whom."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from halo_scheduler.grammar.interval import interval_in_words
from halo_scheduler.model import HintSource, Job
from ui.style.wording import at_moment, one_line, short_moment

_LONGEST_REASON = 300


def tr(text: str) -> str:
    """Return a text in the user's language."""
    return QCoreApplication.translate("HintWords", text)


def hint_line(job: Job, now_ms: int) -> str:
    """Return the advice that counts now: "Every 5 minutes, until 15:05"; nothing when there is none."""
    hints = job.hints
    if not hints.count_at(now_ms) or hints.expires_at is None:
        return ""
    parts = []
    if hints.interval_ms is not None:
        parts.append(tr("every {time}").format(time=interval_in_words(hints.interval_ms).removeprefix("1 ")))
    if hints.next_at is not None:
        parts.append(tr("a run {when}").format(when=at_moment(hints.next_at, now_ms)))
    if not parts:
        return ""
    what = tr(" and ").join(parts)
    until = short_moment(hints.expires_at, now_ms)
    # "Until" beside a single run would be taken for its end.
    words = tr("{what}, until {when}") if hints.next_at is None else tr("{what}; it counts until {when}")
    return words.format(what=f"{what[:1].upper()}{what[1:]}", when=until)


def hint_origin(job: Job) -> str:
    """Return who gave the advice, with the reason that was given for it, if one was."""
    source = job.hints.source
    who = "" if source is None else tr("From {whom}").format(whom=source_words(source))
    return ": ".join(filter(None, [who, one_line(job.hints.reason, _LONGEST_REASON)]))


def source_words(source: HintSource) -> str:
    """Return who gives advice."""
    return {
        HintSource.USER: tr("you"),
        HintSource.PROGRAM: tr("a program"),
        HintSource.ASSISTANT: tr("an assistant"),
        HintSource.JOB: tr("the job itself"),
    }[source]
