"""The facts of a run as a grid of labels and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QFontMetrics, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.model import Question, QuestionState
from halo_scheduler.wording.measures import full_moment
from ui.backend.questions import plain_lines
from ui.style.marks import ASKS
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, strong_font
from ui.widgets.labels import WrappedText, button, icon_button, label
from ui.widgets.signs import ABOVE_LINK, LineIcon, LinkLine

from .facts import Fact

_LEAST_HEIGHT = 12 * GRID

_QUESTION_LINES, _ANSWER_LINES = 6, 4

_NOTHING = Fact("", "")
_MOST_LINES = 3


class YieldingArea(QScrollArea):
    """Scrolls one widget; its window never has to grow for it."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content = content
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.setWidget(content)
        content.setAutoFillBackground(False)
        # In the tab order only while there is something to scroll.
        self.verticalScrollBar().rangeChanged.connect(self._let_tab_stop)

    def _let_tab_stop(self, _least: int, most: int) -> None:
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if most else Qt.FocusPolicy.NoFocus)

    def _height(self) -> int:
        content, width = self._content, self.viewport().width()
        return content.heightForWidth(width) if content.hasHeightForWidth() else content.sizeHint().height()

    # --- Qt -----------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(self._content.sizeHint().width(), self._height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(self._content.minimumSizeHint().width(), min(_LEAST_HEIGHT, self._height()))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        # A scroll area already filters its widget's events.
        is_handled = super().eventFilter(watched, event)
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return is_handled


class QuestionNote(QFrame):
    """Shows a question; an open one can be answered on the questions page."""

    answer_requested = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("questionNote")
        self.setProperty("role", "note")
        self._icon = LineIcon(appearance, ASKS.shape, ASKS.tone)
        self._text = WrappedText(
            appearance, name="questionText", font=strong_font(self.font()), most_lines=_QUESTION_LINES
        )
        self._state = WrappedText(appearance, name="questionState", tone=Tone.MUTED)
        self._answer = WrappedText(appearance, name="questionAnswer", most_lines=_ANSWER_LINES)
        self._act = button(
            self.tr("Answer…"), name="answerQuestionButton", tip=self.tr("Answer or dismiss the question")
        )
        self._act.clicked.connect(self.answer_requested)
        self._lay_out()
        self.hide()

    def show_question(self, question: Question | None, *, is_own: bool = True) -> None:
        """Show the run's question, or the earlier question whose answer the run received, or nothing."""
        self.setVisible(question is not None)
        if question is None:
            return
        is_open = question.state is QuestionState.OPEN
        self._icon.set_icon(ASKS.shape, ASKS.tone if is_open else Tone.MUTED)
        self._text.set_text(plain_lines(question.text))
        self._state.set_text(self._state_words(question, is_own=is_own))
        self._answer.set_text(plain_lines(question.answer))
        self._act.setVisible(is_open)

    def _state_words(self, question: Question, *, is_own: bool) -> str:
        when = "" if question.settled_at is None else full_moment(question.settled_at)
        match question.state:
            case QuestionState.OPEN:
                return self.tr("The job is on hold until you answer.")
            case QuestionState.ANSWERED if is_own:
                return self.tr("Answered on {when}:").format(when=when)
            case QuestionState.ANSWERED:
                return self.tr("Asked by an earlier run, answered on {when}:").format(when=when)
            case QuestionState.DISMISSED:
                return self.tr("Dismissed on {when}.").format(when=when)

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(HALF)
        for widget in (self._text, self._state, self._answer):
            words.addWidget(widget)
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID + HALF, GRID, GRID, GRID)
        row.setSpacing(GRID)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        row.addWidget(self._act, 0, Qt.AlignmentFlag.AlignTop)


class FactsGrid(QWidget):
    """Labels left, values right; one value may have copy and open buttons, and some link to a run."""

    run_wanted = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._facts: tuple[Fact, ...] = ()
        self._rows: list[_FactRow] = []
        self._linked = _NOTHING
        # Made with everything else, so that they are in the tab order.
        self._copy = self._new_button("copy", self.tr("Copy URL"), "copyAddressButton")
        self._open = self._new_button("external", self.tr("Open in browser"), "openAddressButton")
        self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._linked.copied))
        self._open.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(self._linked.address)))
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(MARGIN)
        self._grid.setVerticalSpacing(HALF)
        self._grid.setColumnStretch(1, 1)

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """Replace the facts shown."""
        if tuple(facts) == self._facts:
            return
        self._facts = tuple(facts)
        while len(self._rows) < len(facts):
            self._rows.append(_FactRow(self._appearance, self._grid, len(self._rows), self.run_wanted.emit))
        for index, row in enumerate(self._rows):
            row.show_fact(facts[index] if index < len(facts) else _NOTHING)
        self._place_buttons()
        # Links are made late and put into the tab order here.
        for before, after in pairwise(
            [self._open, *(row.link for row in self._rows if row.link is not None)]
        ):
            QWidget.setTabOrder(before, after)

    def _place_buttons(self) -> None:
        """Put the buttons beside their value."""
        index = next((index for index, fact in enumerate(self._facts) if fact.copied), None)
        self._linked = _NOTHING if index is None else self._facts[index]
        if index is not None:
            self._rows[index].take_buttons(self._copy, self._open)
        self._copy.setVisible(bool(self._linked.copied))
        self._open.setVisible(bool(self._linked.address))

    def _new_button(self, icon: str, text: str, name: str) -> QToolButton:
        made = icon_button(self._appearance, icon, text, name=name)
        made.setParent(self)
        made.setProperty("kind", "inline")
        # No higher than a line of text.
        made.setMaximumHeight(QFontMetrics(self.font()).height() + HALF // 2)
        made.hide()
        return made


class _FactRow:
    """One fact: label, value, and space for buttons."""

    def __init__(
        self, appearance: Appearance, grid: QGridLayout, index: int, follow: Callable[[str], None]
    ) -> None:
        self._appearance = appearance
        self._follow = follow
        self._fact = _NOTHING
        self._name = label("", "muted")
        self._value = WrappedText(appearance, name="factValue", most_lines=_MOST_LINES)
        # Few values are links.
        self.link: LinkLine | None = None
        self._box = QHBoxLayout()
        self._box.setSpacing(HALF)
        self._box.addWidget(self._value, 1)
        grid.addWidget(self._name, index, 0, Qt.AlignmentFlag.AlignTop)
        grid.addLayout(self._box, index, 1)

    def show_fact(self, fact: Fact) -> None:
        self._fact = fact
        self._name.setText(fact.name)
        self._name.setVisible(bool(fact.name))
        self._name.setContentsMargins(0, ABOVE_LINK if fact.run_id else 0, 0, 0)
        self._value.set_text("" if fact.run_id else fact.value)
        # An empty label would keep half of the width.
        self._value.setVisible(bool(self._value.text()))
        self._value.setAccessibleName(f"{fact.name}: {fact.value}")
        if fact.run_id or self.link is not None:
            self._show_link(fact)

    def _show_link(self, fact: Fact) -> None:
        if self.link is None:
            self.link = LinkLine(self._appearance, name="factLink")
            self.link.clicked.connect(lambda: self._follow(self._fact.run_id))
            self._box.insertWidget(0, self.link, 1)
        self.link.setVisible(bool(fact.run_id))
        self.link.show_link(fact.value, fact.aside)

    def take_buttons(self, *buttons: QToolButton) -> None:
        for one in buttons:
            self._box.addWidget(one, 0, Qt.AlignmentFlag.AlignTop)
