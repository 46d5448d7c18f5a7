"""The sections of the details pane that show a job's chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.model import FollowOn, Waiting, WaitingFor
from halo_scheduler.rules.chains import GONE, ChainLink, LinkState, WaitingRun, alike
from halo_scheduler.wording.measures import moment_in_words
from halo_scheduler.wording.plans import FEWEST_PILED_UP
from halo_scheduler.wording.status import awaited_words, skipped_sentence
from ui.style.marks import Mark, Shape
from ui.style.theme import GRID, HALF, Appearance, Tone
from ui.style.wording import one_line
from ui.widgets.labels import WrappedText, button, label
from ui.widgets.signs import LinkLine
from ui.widgets.status_strip import MarkLabel

from .sections import BESIDE_LINK, Section

_MOST_SHOWN = 8
_MOST_WAITING = 3
_LONGEST_NAME = 60
_LONGEST_REASON = 120
_MARKS = {
    LinkState.OK: Mark(Shape.RING, Tone.MUTED),
    LinkState.PAUSED: Mark(Shape.BARS, Tone.PAUSED),
    LinkState.DISABLED: Mark(Shape.DASH, Tone.MUTED),
    LinkState.REMOVED: Mark(Shape.DOTTED, Tone.WARN),
}
_WAITS = Mark(Shape.TRIANGLE, Tone.WARN)
_MARK = 8
_NOTHING_TOLD: Mapping[str, str] = MappingProxyType({})
_NOBODY_WAITS: Mapping[str, int] = MappingProxyType({})


def _tr(text: str) -> str:
    return QCoreApplication.translate("DetailChain", text)


class Links(Section):
    """Jobs of a chain as links, each with its trigger and whether it can run."""

    job_wanted = Signal(str)

    def __init__(self, appearance: Appearance, title: str, name: str) -> None:
        super().__init__(title)
        self.setObjectName(name)
        self._appearance = appearance
        self._links: list[tuple[LinkLine, ChainLink]] = []
        self._last_told: tuple[Sequence[ChainLink], dict[FollowOn, str], Mapping[str, str]] = ((), {}, {})
        self._lines: list[LinkLine] = []
        self._most_shown: int | None = _MOST_SHOWN
        self._more = button("", name=f"{name}More", kind="link", tip=_tr("Show all"))
        self._more.clicked.connect(self._unfold)
        self._more.setVisible(False)
        self._box = QVBoxLayout()
        self._box.setSpacing(0)
        self.column.addLayout(self._box)
        self.column.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)
        self.setVisible(False)

    def fold(self) -> None:
        """Show only the first links the next time."""
        self._most_shown = _MOST_SHOWN

    def show_links(
        self, links: Sequence[ChainLink], ends: dict[FollowOn, str], told: Mapping[str, str] = _NOTHING_TOLD
    ) -> None:
        """Show links; `ends` words each trigger, `told` has further words by job id."""
        self._last_told = tuple(links), ends, told
        shown = links[: self._most_shown]
        while len(self._lines) < len(shown):
            self._add_line()
        self._links = list(zip(self._lines, shown, strict=False))
        for line, link in self._links:
            # If space is short, the reason it cannot run is what remains visible.
            parts = (_state_words(link.state), told.get(link.job_id, ""), ends[link.on])
            rest = " · ".join(filter(None, parts))
            leads = link.state is not LinkState.REMOVED
            line.show_link(_name(link), rest, mark=_MARKS[link.state], leads=leads)
        for index, line in enumerate(self._lines):
            line.setVisible(index < len(shown))
        more = len(links) - len(shown)
        words = _tr("and {count} more").format(count=more)
        self._more.setText(words)
        self._more.setAccessibleName(words)
        self._more.setVisible(more > 0)
        self.setVisible(bool(links))

    @property
    def stops(self) -> list[QWidget]:
        """The widgets in tab order."""
        return [*self._lines, self._more]

    def _unfold(self) -> None:
        had_focus = self._more.hasFocus()
        self._most_shown = None
        self.show_links(*self._last_told)
        if had_focus:
            self._lines[_MOST_SHOWN].setFocus()

    def _add_line(self) -> None:
        line = LinkLine(self._appearance, name=f"{self.objectName()}{len(self._lines)}")
        line.clicked.connect(self._follow)
        self._lines.append(line)
        self._box.addWidget(line)

    def _follow(self) -> None:
        sender = self.sender()
        for line, link in self._links:
            if line is sender:
                self.job_wanted.emit(link.job_id)


class RunsAfter(Links):
    """The jobs that trigger this one, and the runs waiting because of them."""

    cancel_wanted = Signal(object)
    """The ids of the waiting runs to cancel."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, _tr("Triggered by"), "runsAfter")
        self._waiting: list[_Waiting] = []
        self._waiting_place = QVBoxLayout()
        self._waiting_place.setSpacing(HALF)
        self.column.addLayout(self._waiting_place)
        self._more_waiting = label("", "muted", name="chainWaitsMore")
        # Aligned with the text above.
        self._more_waiting.setContentsMargins(1 + _MARK + GRID, 0, 0, 0)
        self._more_waiting.setVisible(False)
        self.column.addWidget(self._more_waiting)

    def show_before(
        self,
        links: Sequence[ChainLink],
        waits: Sequence[WaitingRun],
        now_ms: int,
        told: Waiting | None = None,
    ) -> None:
        """Show the jobs that trigger this one, and the runs waiting because one of them ended.

        `told` is the reason for waiting that the pane shows elsewhere.
        """
        ends = {
            FollowOn.SUCCESS: _tr("on success"),
            FollowOn.FAILURE: _tr("on failure"),
            FollowOn.ALWAYS: _tr("always"),
        }
        self.show_links(links, ends)
        groups = alike(waits)
        shown = groups[:_MOST_WAITING]
        while len(self._waiting) < len(shown):
            self._add_waiting()
        for index, one in enumerate(self._waiting):
            one.show_runs(shown[index] if index < len(shown) else (), now_ms, told)
        more = len(waits) - sum(map(len, shown))
        words = _tr("and 1 more run") if more == 1 else _tr("and {count} more runs")
        self._more_waiting.setText(words.format(count=more))
        self._more_waiting.setVisible(more > 0)
        self.setVisible(bool(links or waits))

    @property
    def stops(self) -> list[QWidget]:
        return [*super().stops, *(one.cancel for one in self._waiting)]

    def _add_waiting(self) -> None:
        made = _Waiting(self._appearance, len(self._waiting))
        made.cancel_wanted.connect(self.cancel_wanted)
        self._waiting.append(made)
        self._waiting_place.addWidget(made)


class ThenRuns(Links):
    """The jobs that this one triggers."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, _tr("Next jobs"), "thenRuns")

    def show_after(self, links: Sequence[ChainLink], waits: Mapping[str, int] = _NOBODY_WAITS) -> None:
        """Show the next jobs; `waits` counts the waiting runs of each."""
        ends = {
            FollowOn.SUCCESS: _tr("on success"),
            FollowOn.FAILURE: _tr("on failure"),
            FollowOn.ALWAYS: _tr("always"),
        }
        words = _tr("{count} runs waiting")
        told = {
            job_id: words.format(count=count) for job_id, count in waits.items() if count >= FEWEST_PILED_UP
        }
        self.show_links(links, ends, told)


class _Waiting(QWidget):
    """Waiting runs that another job triggered, usually one."""

    cancel_wanted = Signal(object)

    def __init__(self, appearance: Appearance, index: int) -> None:
        super().__init__()
        self._run_ids: tuple[str, ...] = ()
        mark = MarkLabel(appearance, _MARK)
        mark.set_mark(_WAITS)
        left, middle = QVBoxLayout(), QVBoxLayout()
        left.setContentsMargins(1, GRID, 0, 0)
        left.addWidget(mark)
        left.addStretch(1)
        self._text = WrappedText(appearance, name=f"chainWaits{index}")
        middle.setContentsMargins(0, BESIDE_LINK, 0, 0)
        middle.addWidget(self._text)
        middle.addStretch(1)
        self.cancel = button("", name=f"cancelChainRun{index}", kind="link")
        self.cancel.clicked.connect(lambda: self.cancel_wanted.emit(self._run_ids))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addLayout(left)
        row.addLayout(middle, 1)
        row.addWidget(self.cancel, 0, Qt.AlignmentFlag.AlignTop)
        self.setVisible(False)

    def show_runs(self, waits: Sequence[WaitingRun], now_ms: int, told: Waiting | None) -> None:
        """Show since when runs wait and, unless the pane shows it elsewhere, for what."""
        self.setVisible(bool(waits))
        if not waits:
            return
        self._run_ids = tuple(one.run_id for one in waits)
        self._text.set_text(_waiting_words(waits, now_ms, told))
        is_one = len(waits) == 1
        words = _tr("Cancel") if is_one else _tr("Cancel all")
        self.cancel.setText(words)
        self.cancel.setAccessibleName(words)
        self.cancel.setToolTip(_tr("Cancel this run") if is_one else _tr("Cancel these runs"))


def _waiting_words(waits: Sequence[WaitingRun], now_ms: int, told: Waiting | None) -> str:
    first, count = waits[0].waiting, len(waits)
    is_told = told is not None and (told.kind, told.details) == (first.kind, first.details)
    is_behind = first.kind is WaitingFor.PREVIOUS_RUN
    words = _tr("A run after {name} has waited since {when}: {what}.")
    if count == 1:
        words = _tr("A run after {name} has waited since {when}.") if is_told else words
    elif is_behind:
        words = _tr("{count} runs wait to start after {name}, the first since {when}: one runs at a time.")
    else:
        words = _tr("{count} runs wait to start after {name}, the first since {when}: {what}.")
        words = _tr("{count} runs wait to start after {name}, the first since {when}.") if is_told else words
    sentence = words.format(
        count=count,
        name=_cause_name(waits[0]),
        when=moment_in_words(waits[0].at, now_ms, has_seconds=False),
        what=one_line(awaited_words(first, now_ms), _LONGEST_REASON),
    )
    is_pile = is_behind and count >= FEWEST_PILED_UP
    skipped = "" if first.deadline is None else skipped_sentence(first.deadline, now_ms)
    return " ".join(
        filter(None, [sentence, skipped, _tr("Runs arrive faster than they finish.") if is_pile else ""])
    )


def _cause_name(waiting: WaitingRun) -> str:
    if waiting.cause_name == GONE:
        return _tr("a deleted job")
    return _tr("“{name}”").format(name=one_line(waiting.cause_name, _LONGEST_NAME))


def _name(link: ChainLink) -> str:
    # Only the id of a purged job is known.
    is_gone = link.state is LinkState.REMOVED and link.name == link.job_id
    return _tr("a deleted job") if is_gone else link.name


def _state_words(state: LinkState) -> str:
    return {
        LinkState.OK: "",
        LinkState.PAUSED: _tr("paused"),
        LinkState.DISABLED: _tr("disabled"),
        LinkState.REMOVED: _tr("deleted"),
    }[state]
