"""The parts of the pane beside the job table that tell what a job adapts to."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.grammar.interval import interval_in_words
from halo_scheduler.model import HintSource, Job, Policy
from halo_scheduler.wording.conditions import describe_condition
from halo_scheduler.wording.plans import duration_in_words
from ui.style.theme import GRID, HALF, Appearance, Tone
from ui.style.wording import at_moment, one_line, short_moment
from ui.widgets.labels import button
from ui.widgets.wrapped_text import WrappedText

from .sections import BESIDE_LINK, Section

_LONGEST_REASON = 300

_REASON_LINES = 3
_CONDITION_LINES = 12


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


def _tr(text: str) -> str:
    return QCoreApplication.translate("DetailSurroundings", text)


class Hint(Section):
    """What somebody advised on when the job runs; it can be forgotten."""

    clear_wanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(_tr("Hint"))
        self.setObjectName("hintSection")
        self._expires_at: int | None = None
        self._what = WrappedText(appearance, name="hintWhat")
        self._origin = WrappedText(appearance, name="hintOrigin", tone=Tone.MUTED, most_lines=_REASON_LINES)
        self._clear = clear = button(
            _tr("Clear"), name="clearHintButton", kind="link", tip=_tr("Forget this hint")
        )
        clear.clicked.connect(self.clear_wanted)
        note = QFrame()
        note.setProperty("role", "note")
        row = QHBoxLayout(note)
        row.setContentsMargins(GRID, HALF - 2, HALF, GRID)
        row.setSpacing(GRID)
        words = QVBoxLayout()
        words.setContentsMargins(0, BESIDE_LINK, 0, 0)
        words.setSpacing(HALF)
        words.addWidget(self._what)
        words.addWidget(self._origin)
        row.addLayout(words, 1)
        row.addWidget(clear, 0, Qt.AlignmentFlag.AlignTop)
        self.column.addWidget(note)
        self.setVisible(False)

    @property
    def stops(self) -> list[QWidget]:
        """What the Tab key visits."""
        return [self._clear]

    def waits(self, now_ms: int) -> Iterator[int | None]:
        """Return for how long the advice counts."""
        if self._expires_at is not None and self._expires_at > now_ms:
            yield self._expires_at - now_ms

    def show_hint(self, job: Job, now_ms: int) -> None:
        """Show the advice that counts now, or nothing."""
        self._expires_at = job.hints.expires_at
        what = hint_line(job, now_ms)
        if not what and self._clear.hasFocus():
            # What comes after it may well do something when the same key is pressed once more.
            self.focusPreviousChild()
        self.setVisible(bool(what))
        self._what.set_text(what)
        self._origin.set_text(hint_origin(job) if what else "")


class StartsOnly(Section):
    """What must hold before the job starts by itself, and for how long it waits for that."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(_tr("Starts only"))
        self._conditions = WrappedText(appearance, name="detailConditions", most_lines=_CONDITION_LINES)
        self._deadline = WrappedText(appearance, name="detailDeadline", tone=Tone.MUTED)
        for part in (self._conditions, self._deadline):
            self.column.addWidget(part)
            part.setVisible(False)
        self.setVisible(False)

    def show_policy(self, policy: Policy) -> None:
        """Show the conditions of a job, one in a line; nothing for most jobs."""
        self.setVisible(bool(policy.conditions))
        self._conditions.set_text("\n".join(map(describe_condition, policy.conditions)))
        limit_ms = policy.condition_deadline_ms
        words = _tr("It waits for that {time} at most; then the run is skipped.")
        is_told = bool(policy.conditions) and limit_ms is not None
        self._deadline.set_text(words.format(time=duration_in_words(limit_ms or 0)) if is_told else "")
