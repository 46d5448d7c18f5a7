"""The parts of the pane beside the job table that show a job's chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from halo_scheduler.model import FollowOn, Waiting, WaitingFor
from halo_scheduler.rules.chains import GONE, ChainLink, LinkState, WaitingRun, alike
from halo_scheduler.wording.plans import FEWEST_PILED_UP
from halo_scheduler.wording.status import awaited_words, skipped_sentence
from ui.style.marks import Mark, Shape
from ui.style.theme import GRID, HALF, Appearance, Tone
from ui.style.wording import one_line, short_moment
from ui.widgets.labels import button, label
from ui.widgets.link_line import LinkLine
from ui.widgets.status_strip import MarkLabel
from ui.widgets.wrapped_text import WrappedText

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
    """Some jobs of a chain, each a link to it, with the ends that count and whether it can run."""

    job_wanted = Signal(str)

    def __init__(self, appearance: Appearance, title: str, name: str) -> None:
        super().__init__(title)
        self.setObjectName(name)
        self._appearance = appearance
        self._links: list[tuple[LinkLine, ChainLink]] = []
        self._last_told: tuple[Sequence[ChainLink], dict[FollowOn, str], Mapping[str, str]] = ((), {}, {})
        self._lines: list[LinkLine] = []
        self._most_shown: int | None = _MOST_SHOWN
        self._more = button("", name=f"{name}More", kind="link", tip=_tr("Show all of them"))
        self._more.clicked.connect(self._unfold)
        self._more.setVisible(False)
        self._box = QVBoxLayout()
        self._box.setSpacing(0)
        self.column.addLayout(self._box)
        self.column.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)
        self.setVisible(False)

    def fold(self) -> None:
        """Show only the first ones again, from the next time on."""
        self._most_shown = _MOST_SHOWN

    def show_links(
        self, links: Sequence[ChainLink], ends: dict[FollowOn, str], told: Mapping[str, str] = _NOTHING_TOLD
    ) -> None:
        """Show some jobs; `ends` are the words for what starts the later one, `told` what else is to say of some."""
        self._last_told = tuple(links), ends, told
        shown = links[: self._most_shown]
        while len(self._lines) < len(shown):
            self._add_line()
        self._links = list(zip(self._lines, shown, strict=False))
        for line, link in self._links:
            # Where room is short, what keeps it from running is what is read.
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
        """What the Tab key visits, from top to bottom."""
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
    """What the job runs after, with the runs that wait because of it."""

    cancel_wanted = Signal(object)
    """The ids of runs that wait and are not wanted any more."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, _tr("Runs after"), "runsAfter")
        self._waiting: list[_Waiting] = []
        self._waiting_place = QVBoxLayout()
        self._waiting_place.setSpacing(HALF)
        self.column.addLayout(self._waiting_place)
        self._more_waiting = label("", "muted", name="chainWaitsMore")
        # In line with the words above it.
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
        """Show the jobs before, and the runs that wait because one of them ended.

        `told` is what is said elsewhere that the job waits for.
        """
        ends = {
            FollowOn.SUCCESS: _tr("when it succeeds"),
            FollowOn.FAILURE: _tr("when it fails"),
            FollowOn.ALWAYS: _tr("whenever it ends"),
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
    """What runs after the job."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, _tr("Then runs"), "thenRuns")

    def show_after(self, links: Sequence[ChainLink], waits: Mapping[str, int] = _NOBODY_WAITS) -> None:
        """Show the jobs that run when this one has ended; `waits` is how many runs of each have not begun."""
        ends = {
            FollowOn.SUCCESS: _tr("when this succeeds"),
            FollowOn.FAILURE: _tr("when this fails"),
            FollowOn.ALWAYS: _tr("whenever this ends"),
        }
        words = _tr("{count} runs wait")
        told = {
            job_id: words.format(count=count) for job_id, count in waits.items() if count >= FEWEST_PILED_UP
        }
        self.show_links(links, ends, told)


class _Waiting(QWidget):
    """Runs that another job started and that wait for their turn; most often it is one."""

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
        """Show since when runs wait and, if that is not told elsewhere, for what; or nothing."""
        self.setVisible(bool(waits))
        if not waits:
            return
        self._run_ids = tuple(one.run_id for one in waits)
        self._text.set_text(_waiting_words(waits, now_ms, told))
        is_one = len(waits) == 1
        words = _tr("Cancel") if is_one else _tr("Cancel all")
        self.cancel.setText(words)
        self.cancel.setAccessibleName(words)
        self.cancel.setToolTip(_tr("Do not run it this time") if is_one else _tr("Do not run them this time"))


def _waiting_words(waits: Sequence[WaitingRun], now_ms: int, told: Waiting | None) -> str:
    first, count = waits[0].waiting, len(waits)
    is_told = told is not None and (told.kind, told.details) == (first.kind, first.details)
    is_behind = first.kind is WaitingFor.PREVIOUS_RUN
    words = _tr("A run after {name} has waited since {when}: {what}.")
    if count == 1:
        words = _tr("A run after {name} has waited since {when}.") if is_told else words
    elif is_behind:
        words = _tr("{count} runs after {name} wait, the first since {when}: one runs at a time.")
    else:
        words = _tr("{count} runs after {name} wait, the first since {when}: {what}.")
        words = _tr("{count} runs after {name} wait, the first since {when}.") if is_told else words
    sentence = words.format(
        count=count,
        name=_cause_name(waits[0]),
        when=short_moment(waits[0].at, now_ms),
        what=one_line(awaited_words(first, now_ms), _LONGEST_REASON),
    )
    is_pile = is_behind and count >= FEWEST_PILED_UP
    skipped = "" if first.deadline is None else skipped_sentence(first.deadline, now_ms)
    return " ".join(
        filter(None, [sentence, skipped, _tr("They come faster than they end.") if is_pile else ""])
    )


def _cause_name(waiting: WaitingRun) -> str:
    if waiting.cause_name == GONE:
        return _tr("a job that is gone")
    return _tr("“{name}”").format(name=one_line(waiting.cause_name, _LONGEST_NAME))


def _name(link: ChainLink) -> str:
    # Of a job that was deleted for good, only its number is left.
    is_gone = link.state is LinkState.REMOVED and link.name == link.job_id
    return _tr("a job that is gone") if is_gone else link.name


def _state_words(state: LinkState) -> str:
    return {
        LinkState.OK: "",
        LinkState.PAUSED: _tr("paused"),
        LinkState.DISABLED: _tr("switched off"),
        LinkState.REMOVED: _tr("deleted"),
    }[state]
