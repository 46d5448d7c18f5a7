"""The page of open questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from ui.backend.questions import OpenQuestion
from ui.style.theme import GRID, MARGIN, Appearance
from ui.widgets.arrange import put_after
from ui.widgets.countdown import until_ago_changes
from ui.widgets.labels import label

from .card import QuestionCard

_WIDEST = 760
# Each question has its own text field; more than this at once is not useful.
_MOST_CARDS = 30
# Text fields are slow to make; more at a time would be noticeable.
_AT_ONCE = 4
_SENT_MS = 4_000
_RESIZED_MS = 50


class NeedsYouPage(QWidget):
    """Shows questions, keeps the texts typed, and emits what the user wants."""

    answer_wanted = Signal(object, str)
    """An OpenQuestion and its answer."""
    dismiss_wanted = Signal(object)
    run_wanted = Signal(str)
    item_wanted = Signal(str)
    """The URL of a question's item."""
    left = Signal()
    """The user wants to see the jobs."""
    emptied = Signal()
    """The last question is gone."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("needsYouPage")
        self._appearance = appearance
        self._cards: dict[str, QuestionCard] = {}
        self._questions: tuple[OpenQuestion, ...] = ()
        self._wanted: str | None = None
        self._now_ms = 0
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self._add_cards)
        # After a resize lines wrap differently, which takes several turns of the event loop.
        self._resized = QTimer(self)
        self._resized.setSingleShot(True)
        self._resized.setInterval(_RESIZED_MS)
        self._resized.timeout.connect(self._keep_in_sight)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        self._area = QScrollArea()
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        outer.addWidget(self._area)
        self._area.setWidget(self._make_column())
        leave = QShortcut(QKeySequence("Esc"), self)
        leave.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        leave.activated.connect(self.left)

    def _make_column(self) -> QWidget:
        inner = QWidget()
        inner.setObjectName("needsYouContent")
        row = QHBoxLayout(inner)
        row.setContentsMargins(MARGIN, GRID, MARGIN, MARGIN)
        row.addStretch(1)
        narrow = QWidget()
        narrow.setMaximumWidth(_WIDEST)
        row.addWidget(narrow, 1000)
        row.addStretch(1)
        column = QVBoxLayout(narrow)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GRID + GRID // 2)
        words = self.tr("Jobs with open questions are on hold until you answer or dismiss them.")
        column.addWidget(label(words, "muted", name="needsYouWords", wrap=True))
        self._column = QVBoxLayout()
        self._column.setSpacing(GRID + GRID // 2)
        column.addLayout(self._column)
        self._more = label(role="muted", name="needsYouMore")
        self._more.setVisible(False)
        column.addWidget(self._more)
        column.addStretch(1)
        return inner

    # --- Showing ------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether nothing is shown, not even an answered question."""
        return not self._cards

    def show_questions(self, questions: Sequence[OpenQuestion], now_ms: int) -> None:
        """Show these questions; existing cards stay in place and keep their text."""
        self._now_ms = now_ms
        self._questions = tuple(questions)
        known = {question.id: question for question in questions}
        for question_id, card in list(self._cards.items()):
            if question_id in known:
                card.show_question(known[question_id])
                card.open_again()
            elif card.is_open:
                self._end(card)
        self._add_cards()
        self.show_times(now_ms)

    def show_sent(self, question_id: str, sentence: str) -> None:
        """Show what happens with an answer; the focus moves to the next question.

        The answered one stays in its place while others are open, so that none moves under the mouse.
        """
        card = self._cards.get(question_id)
        if card is not None:
            if _has_keys(card):
                self._focus_after(card)
            card.show_sent(sentence)
            if not any(other.is_open for other in self._cards.values()):
                QTimer.singleShot(_SENT_MS, self, self._drop_sent)

    def _drop_sent(self) -> None:
        """Remove the answered questions, unless others came meanwhile."""
        if not any(card.is_open for card in self._cards.values()):
            for question_id in [key for key, card in self._cards.items() if card.is_sent]:
                self.drop(question_id)

    def drop(self, question_id: str) -> None:
        """Remove an answered or dismissed question."""
        self._questions = tuple(one for one in self._questions if one.id != question_id)
        card = self._cards.pop(question_id, None)
        if card is None:
            return
        if _has_keys(card):
            self._focus_after(card)
        self._column.removeWidget(card)
        card.hide()
        card.deleteLater()
        self._add_cards()
        if not self._cards:
            self.emptied.emit()

    def show_refusal(self, question_id: str, sentence: str) -> None:
        """Show why an answer was refused."""
        card = self._cards.get(question_id)
        if card is not None:
            card.show_refusal(sentence)

    def show_times(self, now_ms: int) -> None:
        """Show how long ago each question was asked."""
        self._now_ms = now_ms
        for card in self._cards.values():
            card.show_time(now_ms)

    def waits(self, now_ms: int) -> Iterator[int | None]:
        """Return how long each shown time stays valid."""
        return (until_ago_changes(card.question.asked_at, now_ms) for card in self._cards.values())

    def focus_question(self, question_id: str | None = None) -> None:
        """Focus a question; without an id, the first one."""
        self._wanted = question_id
        self._add_cards()
        waiting = [card for card in self._in_order() if card.is_open]
        card = self._cards.get(question_id or "") or next(iter(waiting), None)
        if card is not None:
            card.focus_field()
            self._bring_into_sight(card)

    def _bring_into_sight(self, card: QuestionCard) -> None:
        # After the layout has placed it.
        QTimer.singleShot(0, card, partial(self._area.ensureWidgetVisible, card, 0, MARGIN))

    def _keep_in_sight(self) -> None:
        """Keep the focused field visible when sizes change."""
        written = next((card for card in self._cards.values() if _has_keys(card)), None)
        if written is not None:
            self._bring_into_sight(written)

    # --- Cards --------------------------------------------------------------------------------------

    def _add_cards(self) -> None:
        """Make cards for the first questions and the wanted one: a few now, the others later."""
        room = _MOST_CARDS - len(self._cards)
        missing = [question for question in self._questions if question.id not in self._cards]
        chosen = [
            question for place, question in enumerate(missing) if place < room or question.id == self._wanted
        ]
        # A stable sort: the wanted one first, the rest by age.
        for question in sorted(chosen, key=lambda question: question.id != self._wanted)[:_AT_ONCE]:
            self._add_card(question)
        if len(chosen) > _AT_ONCE:
            self._later.start()
        elif self._wanted in self._cards:
            # Cards added above have moved it.
            self._bring_into_sight(self._cards[self._wanted])
            self._wanted = None
        left_over = len(missing) - len(chosen)
        self._more.setText(self.tr("{count} more appear as you answer these.").format(count=left_over))
        self._more.setVisible(left_over > 0)

    def _add_card(self, question: OpenQuestion) -> None:
        card = QuestionCard(self._appearance, question)
        card.answer_wanted.connect(lambda text: self.answer_wanted.emit(card.question, text))
        card.dismiss_wanted.connect(lambda: self.dismiss_wanted.emit(card.question))
        card.run_wanted.connect(lambda: self.run_wanted.emit(card.question.run_id))
        card.item_wanted.connect(lambda: self.item_wanted.emit(card.question.item_url))
        card.closed.connect(partial(self.drop, question.id))
        before = [other for other in self._in_order() if other.question.asked_at <= question.asked_at]
        self._column.insertWidget(len(before), card)
        # Shown now, not in the next turn: the tab order skips widgets that are not visible yet.
        card.show()
        if before:
            put_after(before[-1].last_control, card)
        card.show_time(self._now_ms)
        self._cards[question.id] = card

    def _end(self, card: QuestionCard) -> None:
        """Remove a question that was answered elsewhere; a text typed for it stays until it is closed."""
        if card.answer.strip():
            card.show_settled_elsewhere()
        else:
            self.drop(card.question.id)

    def _in_order(self) -> list[QuestionCard]:
        """Return the cards from top to bottom."""
        return sorted(self._cards.values(), key=self._column.indexOf)

    def _focus_after(self, card: QuestionCard) -> None:
        """Move the focus to the next question below, else to the first."""
        cards = [other for other in self._in_order() if other.is_open and other is not card]
        place = self._column.indexOf(card)
        below = [other for other in cards if self._column.indexOf(other) > place]
        if cards:
            following = (below or cards)[0]
            following.take_keys_from(card)
            self._bring_into_sight(following)
        else:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    # --- Qt -----------------------------------------------------------------------------------------

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        for question_id in [key for key, card in self._cards.items() if card.is_sent]:
            self.drop(question_id)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._resized.start()


def _has_keys(card: QuestionCard) -> bool:
    # Without a focus widget there is no ancestor.
    return card.isAncestorOf(card.window().focusWidget())
