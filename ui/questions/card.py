"""Open questions as a bar that announces them and as cards to answer them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from halo_scheduler.wording.measures import full_moment
from ui.backend.questions import OpenQuestion
from ui.style.marks import ASKS, Mark, Shape
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone, number_font, strong_font
from ui.style.wording import ago, one_line, plain_tooltip
from ui.widgets.labels import WrappedText, button, frame, label, set_words, with_shortcut
from ui.widgets.status_strip import MarkLabel

# A line's layout is slightly higher than its font.
_SPARE = 2
_QUESTION_LINES = 10
_LEAST_ANSWER, _MOST_ANSWER = 2, 8
_ANSWERED = Mark(Shape.CIRCLE, Tone.OK)
_SETTLED = Mark(Shape.CIRCLE, Tone.MUTED)
_SEND_KEYS = ("Ctrl+Return", "Ctrl+Enter")
_KEYS = "Ctrl+I"
_LONGEST_SUMMARY = 500
_NONE_LEFT = Mark(Shape.CIRCLE, Tone.OK)


class FittedText(QPlainTextEdit):
    """A text field that grows with its text; Tab leaves it."""

    def __init__(self, *, name: str, title: str, least_lines: int = 1, most_lines: int = 8) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._least_lines = least_lines
        self._most_lines = most_lines
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._fit())

    def set_invalid(self, invalid: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Frame the field as invalid, or not."""
        if self.property("invalid") is not invalid:
            self.setProperty("invalid", invalid)
            self.style().unpolish(self)
            self.style().polish(self)

    @property
    def is_cut(self) -> bool:
        """Whether there are more lines than fit."""
        return self._lines() > self._most_lines

    def _lines(self) -> int:
        # Qt measures plain text in wrapped lines, not in pixels.
        return round(self.document().documentLayout().documentSize().height())

    def _fit(self) -> None:
        shown = min(max(self._lines(), self._least_lines), self._most_lines)
        margins = round(2 * self.document().documentMargin())
        frame = max(self.height() - self.viewport().height(), 0)
        height = QFontMetrics(self.font()).lineSpacing() * shown + margins + frame + _SPARE
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)
        # Content that fits needs no scroll bar; one would cover the text while the field grows.
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if self.is_cut else policy.ScrollBarAlwaysOff
        )

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._fit()


class ReadText(FittedText):
    """A read-only text that can be copied; in the tab order only if it scrolls."""

    def __init__(self, *, name: str, title: str, most_lines: int = 8) -> None:
        super().__init__(name=name, title=title, most_lines=most_lines)
        self.setReadOnly(True)
        self.setProperty("kind", "read")
        self.document().setDocumentMargin(0)

    def _fit(self) -> None:
        super()._fit()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if self.is_cut else Qt.FocusPolicy.ClickFocus)


class QuestionCard(QFrame):
    """Emits the user's answer or choice; the typed text stays until it is sent or discarded."""

    answer_wanted = Signal(str)
    """The answer; never empty."""
    dismiss_wanted = Signal()
    run_wanted = Signal()
    item_wanted = Signal()
    closed = Signal()
    """The card can be removed."""

    def __init__(self, appearance: Appearance, question: OpenQuestion, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("questionCard")
        self.setProperty("role", "card")
        self._question = question
        self._is_open = True
        self._is_busy = False
        self._is_settled_elsewhere = False
        self.is_sent = False
        """Whether its answer was sent."""
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, GRID + HALF, MARGIN, GRID + HALF)
        column.setSpacing(GRID)
        column.addLayout(self._header(appearance))
        self._text = ReadText(name="questionText", title=self.tr("Question"), most_lines=_QUESTION_LINES)
        column.addWidget(self._text)
        self._item = WrappedText(appearance, name="questionItem", tone=Tone.MUTED, most_lines=2)
        column.addWidget(self._item)
        self._field = self._make_field()
        column.addWidget(self._field)
        self._sentence = WrappedText(appearance, name="questionSentence")
        self._sentence.setVisible(False)
        column.addWidget(self._sentence)
        self._buttons = self._make_buttons()
        column.addWidget(self._buttons)
        self._close = button(self.tr("Close"), name="questionClose", tip=self.tr("Discard your text"))
        self._close.setVisible(False)
        self._close.clicked.connect(self.closed)
        column.addWidget(self._close, 0, Qt.AlignmentFlag.AlignLeft)
        self.show_question(question)

    # --- Building -----------------------------------------------------------------------------------

    def _header(self, appearance: Appearance) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(GRID)
        self._mark = MarkLabel(appearance)
        self._mark.set_mark(ASKS)
        row.addWidget(self._mark)
        self._name = WrappedText(appearance, name="questionJob", font=strong_font(self.font()), most_lines=1)
        row.addWidget(self._name, 1)
        self._when: QLabel = label(role="muted", name="questionWhen")
        self._when.setFont(number_font(self._when.font()))
        row.addWidget(self._when)
        return row

    def _make_field(self) -> FittedText:
        made = FittedText(
            name="answerField",
            title=self.tr("Answer"),
            least_lines=_LEAST_ANSWER,
            most_lines=_MOST_ANSWER,
        )
        keys = QKeySequence(_SEND_KEYS[0]).toString(QKeySequence.SequenceFormat.NativeText)
        made.setPlaceholderText(self.tr("Your answer ({keys} to send)").format(keys=keys))
        made.textChanged.connect(self._forget_refusal)
        for keys in _SEND_KEYS:
            shortcut = QShortcut(QKeySequence(keys), made)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(self._send)
        return made

    def _make_buttons(self) -> QWidget:
        box = QWidget()
        row = QHBoxLayout(box)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        answer = button(self.tr("Answer"), name="answerButton", kind="primary")
        tip = self.tr("Run the job with this answer")
        answer.setToolTip(with_shortcut(tip, _SEND_KEYS[0]))
        answer.clicked.connect(self._send)
        row.addWidget(answer)
        run = button(
            self.tr("Show run"),
            name="questionRunButton",
            kind="quiet",
            tip=self.tr("Show the run that asked, with its output"),
        )
        run.clicked.connect(self.run_wanted)
        row.addWidget(run)
        self._open = button(self.tr("Open item"), name="questionOpenItem", kind="quiet")
        self._open.clicked.connect(self.item_wanted)
        row.addWidget(self._open)
        row.addStretch(1)
        self._dismiss = button(
            self.tr("Dismiss"),
            name="dismissButton",
            kind="quiet",
            tip=self.tr("Close without answering; the job resumes its schedule"),
        )
        self._dismiss.clicked.connect(self._ask_to_dismiss)
        row.addWidget(self._dismiss)
        return box

    # --- Showing ------------------------------------------------------------------------------------

    @property
    def question(self) -> OpenQuestion:
        return self._question

    @property
    def last_control(self) -> QWidget:
        """The last widget in the tab order."""
        return self._close

    @property
    def is_open(self) -> bool:
        """Whether the question can still be answered."""
        return self._is_open

    @property
    def answer(self) -> str:
        """The text typed so far."""
        return self._field.toPlainText()

    def show_question(self, question: OpenQuestion) -> None:
        """Show a question; the text typed stays."""
        self._question = question
        self._name.set_text(question.job_name)
        if self._text.toPlainText() != question.text:
            self._text.setPlainText(question.text)
        self._field.setAccessibleName(self.tr("Answer to {job}").format(job=question.job_name))
        self._item.set_text(self.tr("About {item}").format(item=question.item) if question.item else "")
        self._item.setVisible(bool(question.item))
        self._open.setVisible(bool(question.item_url))
        self._open.setToolTip(plain_tooltip(question.item_url))

    def show_time(self, now_ms: int) -> None:
        """Show how long ago it was asked."""
        self._when.setText(ago(self._question.asked_at, now_ms))
        self._when.setToolTip(plain_tooltip(full_moment(self._question.asked_at)))

    def show_refusal(self, sentence: str) -> None:
        """Show beside the field why the answer was refused; it can be sent again."""
        self._set_busy(False)
        self._sentence.set_text(sentence, Tone.ERROR)
        self._field.set_invalid(True)
        self.focus_field()

    def show_sent(self, sentence: str) -> None:
        """Show what was answered, and what happens with it."""
        self._is_open, self.is_sent = False, True
        answer = one_line(self.answer, _LONGEST_SUMMARY)
        if answer:
            sentence = self.tr("You answered: {answer}\n{sentence}").format(answer=answer, sentence=sentence)
        self._field.setVisible(False)
        self._buttons.setVisible(False)
        self._mark.set_mark(_ANSWERED)
        self._sentence.set_text(sentence, Tone.OK)

    def show_settled_elsewhere(self) -> None:
        """Keep the text typed for a question that was answered elsewhere."""
        self._is_open, self._is_settled_elsewhere = False, True
        self._field.setReadOnly(True)
        self._field.set_invalid(False)
        self._buttons.setVisible(False)
        sentence = self.tr("Already answered elsewhere. Your text wasn't sent.")
        self._mark.set_mark(_SETTLED)
        self._sentence.set_text(sentence, Tone.WARN)
        self._close.setVisible(True)

    def open_again(self) -> None:
        """Accept answers again for a question that was reopened elsewhere."""
        if self._is_settled_elsewhere:
            self._is_open, self._is_settled_elsewhere = True, False
            self._set_busy(False)
            self._mark.set_mark(ASKS)
            self._sentence.set_text("")
            self._buttons.setVisible(True)
            self._close.setVisible(False)

    def focus_field(self) -> None:
        """Focus the answer field."""
        self._field.setFocus(Qt.FocusReason.OtherFocusReason)

    def take_keys_from(self, other: QuestionCard) -> None:
        """Take the focus from another card: on "Dismiss" if it was there, so that several can be dismissed in a row."""
        if other.window().focusWidget() is other._dismiss:
            self._dismiss.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.focus_field()

    def _send(self) -> None:
        if not self._is_open or self._is_busy:
            return
        if not self.answer.strip():
            self.show_refusal(self.tr("Enter an answer or dismiss the question."))
            return
        self._set_busy(True)
        self.answer_wanted.emit(self.answer)

    def _ask_to_dismiss(self) -> None:
        if not self._is_busy:
            self._set_busy(True)
            self.dismiss_wanted.emit()

    def _set_busy(self, busy: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Accept no input while the service works; the focus stays."""
        self._is_busy = busy
        self._field.setReadOnly(busy)

    def _forget_refusal(self) -> None:
        if self._is_open:
            self._sentence.set_text("")
            self._field.set_invalid(False)


class NeedsYouBar(QWidget):
    """Opens and closes the questions page; hidden while there are no questions."""

    list_wanted = Signal(bool)
    """Whether the page is wanted."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("needsYouBar")
        self._is_open = False
        self._count = 0
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, 0, MARGIN, GRID)
        box = frame("note")
        outer.addWidget(box)
        row = QHBoxLayout(box)
        row.setContentsMargins(GRID + HALF, HALF, HALF, HALF)
        row.setSpacing(GRID)
        self._mark = MarkLabel(appearance)
        row.addWidget(self._mark)
        self._title = label(self.tr("Needs you"), "strong", name="needsYouTitle")
        row.addWidget(self._title)
        self._words = WrappedText(appearance, name="needsYouSummary", font=self.font(), most_lines=1)
        row.addWidget(self._words, 1)
        self.button = button("", name="needsYouButton", shortcut=_KEYS)
        self.button.clicked.connect(lambda: self.list_wanted.emit(not self._is_open))
        row.addWidget(self.button)
        self._fit_button()
        self.setVisible(False)

    def show_questions(self, asked: Sequence[tuple[str, str]]) -> None:
        """Show the questions, each with its job's name."""
        self._count = len(asked)
        self._mark.set_mark(ASKS if asked else _NONE_LEFT)
        self._title.setVisible(bool(asked))
        self._words.set_text(self._summary(asked))
        self._fit()

    def set_open(self, is_open: bool) -> None:  # noqa: FBT001 - it is what the name says
        """Offer the way back while the page is shown."""
        self._is_open = is_open
        self._fit_button()
        self._fit()

    def _fit(self) -> None:
        # It stays above the open page even without questions, so that nothing moves.
        self.setVisible(self._count > 0 or self._is_open)

    def _summary(self, asked: Sequence[tuple[str, str]]) -> str:
        # Elided only where the width ends; the tooltip has the full text.
        names = list(dict.fromkeys(one_line(name, _LONGEST_SUMMARY) for name, _ in asked))
        if not asked:
            return self.tr("No open questions.")
        if len(asked) == 1:
            question = one_line(asked[0][1], _LONGEST_SUMMARY)
            return self.tr("{job} asks: {question}").format(job=names[0], question=question)
        return self.tr("{count} questions from {jobs}").format(count=len(asked), jobs=", ".join(names))

    def _fit_button(self) -> None:
        words = self.tr("Back to jobs") if self._is_open else self.tr("Answer…")
        tip = self.tr("Show the jobs") if self._is_open else self.tr("Show the questions")
        set_words(self.button, words)
        self.button.setAccessibleName(words)
        self.button.setToolTip(with_shortcut(tip, _KEYS))
