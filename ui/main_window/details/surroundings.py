"""The sections of the details pane for hints and conditions."""

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
    """Return a translated text."""
    return QCoreApplication.translate("HintWords", text)


def hint_line(job: Job, now_ms: int) -> str:
    """Return the active hint, "Every 5 minutes, until 15:05", or nothing."""
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
    # "until" beside a single run would read as its end.
    words = tr("{what}, until {when}") if hints.next_at is None else tr("{what} (active until {when})")
    return words.format(what=f"{what[:1].upper()}{what[1:]}", when=until)


def hint_origin(job: Job) -> str:
    """Return who gave the hint, and the reason given."""
    source = job.hints.source
    who = "" if source is None else tr("From {whom}").format(whom=source_words(source))
    return ": ".join(filter(None, [who, one_line(job.hints.reason, _LONGEST_REASON)]))


def source_words(source: HintSource) -> str:
    """Return who gave a hint."""
    return {
        HintSource.USER: tr("you"),
        HintSource.PROGRAM: tr("a program"),
        HintSource.ASSISTANT: tr("an assistant"),
        HintSource.JOB: tr("the job itself"),
    }[source]


def _tr(text: str) -> str:
    return QCoreApplication.translate("DetailSurroundings", text)


class Hint(Section):
    """The active hint, with a button that clears it."""

    clear_wanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(_tr("Hint"))
        self.setObjectName("hintSection")
        self._expires_at: int | None = None
        self._what = WrappedText(appearance, name="hintWhat")
        self._origin = WrappedText(appearance, name="hintOrigin", tone=Tone.MUTED, most_lines=_REASON_LINES)
        self._clear = clear = button(
            _tr("Clear"), name="clearHintButton", kind="link", tip=_tr("Clear this hint")
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
        """The widgets in tab order."""
        return [self._clear]

    def waits(self, now_ms: int) -> Iterator[int | None]:
        """Yield how long the hint stays active."""
        if self._expires_at is not None and self._expires_at > now_ms:
            yield self._expires_at - now_ms

    def show_hint(self, job: Job, now_ms: int) -> None:
        """Show the active hint; hidden without one."""
        self._expires_at = job.hints.expires_at
        what = hint_line(job, now_ms)
        if not what and self._clear.hasFocus():
            # Otherwise pressing the same key again would trigger the next widget.
            self.focusPreviousChild()
        self.setVisible(bool(what))
        self._what.set_text(what)
        self._origin.set_text(hint_origin(job) if what else "")


class StartsOnly(Section):
    """The job's conditions, and how long a due run waits for them."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(_tr("Conditions"))
        self._conditions = WrappedText(appearance, name="detailConditions", most_lines=_CONDITION_LINES)
        self._deadline = WrappedText(appearance, name="detailDeadline", tone=Tone.MUTED)
        for part in (self._conditions, self._deadline):
            self.column.addWidget(part)
            part.setVisible(False)
        self.setVisible(False)

    def show_policy(self, policy: Policy) -> None:
        """Show the conditions, one per line; hidden without any."""
        self.setVisible(bool(policy.conditions))
        self._conditions.set_text("\n".join(map(describe_condition, policy.conditions)))
        limit_ms = policy.condition_deadline_ms
        words = _tr("Waits up to {time}, then the run is skipped.")
        is_told = bool(policy.conditions) and limit_ms is not None
        self._deadline.set_text(words.format(time=duration_in_words(limit_ms or 0)) if is_told else "")
