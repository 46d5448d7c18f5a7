"""The bar at the bottom: Test run, the first problem, Cancel, Save; and the question before discarding."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QStackedWidget, QWidget

from ui.forms.seen import show_if
from ui.style.theme import GRID, ICON, MARGIN, Appearance, Tone
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.labels import button, label, tint, with_shortcut

_LONGEST = 110
SAVE_KEYS = "Ctrl+S"
TEST_KEYS = "Ctrl+T"


class Footer(QFrame):
    """Shows the buttons or, in their place, the question whether to discard changes."""

    test_wanted = Signal()
    save_wanted = Signal()
    cancel_wanted = Signal()
    discard_wanted = Signal()
    reason_clicked = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("editorFooter")
        self.setProperty("role", "bar")
        self._appearance = appearance
        self._icon = ("info", Tone.MUTED)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._buttons(appearance))
        self._stack.addWidget(self._question())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(MARGIN, GRID, MARGIN, GRID)
        layout.addWidget(self._stack)
        appearance.changed.connect(self._draw)

    def _buttons(self, appearance: Appearance) -> QWidget:
        made = QWidget()
        self._test = button(self.tr("Test run"), name="testButton")
        # The shortcut belongs to the window, so that it works before the delayed check enables the button.
        tip = self.tr("Run the job now with these settings; its schedule isn't affected")
        self._test.setToolTip(with_shortcut(tip, TEST_KEYS))
        self._test.setAutoDefault(False)
        self._test.setIconSize(QSize(ICON, ICON))
        tint(self._test, appearance, "run")
        self._remark = label("", "muted", name="saveRemark")
        self._remark.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._reason = button("", name="saveReason", kind="link", tip=self.tr("Go to the problem"))
        self._reason.setAutoDefault(False)
        self._reason.setIconSize(QSize(ICON, ICON))
        self._reason.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._reason.clicked.connect(self.reason_clicked)
        cancel = button(self.tr("Cancel"), name="cancelButton", tip=self.tr("Close without saving"))
        cancel.setAutoDefault(False)
        cancel.setToolTip(plain_tooltip(self.tr("Close without saving (Esc)")))
        self._save = button(self.tr("Save"), name="saveButton", kind="primary")
        self._save.setToolTip(with_shortcut(self.tr("Save"), SAVE_KEYS))
        self._save.setAutoDefault(False)
        layout = QHBoxLayout(made)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._test)
        layout.addSpacing(GRID)
        layout.addWidget(self._reason, 1)
        layout.addWidget(self._remark, 1)
        layout.addSpacing(GRID)
        layout.addWidget(cancel)
        layout.addWidget(self._save)
        self._test.clicked.connect(self.test_wanted)
        cancel.clicked.connect(self.cancel_wanted)
        self._save.clicked.connect(self.save_wanted)
        return made

    def _question(self) -> QWidget:
        made = QWidget()
        made.setObjectName("discardQuestion")
        self._keep = button(self.tr("Keep editing"), name="keepEditing", kind="primary")
        self._keep.setToolTip(plain_tooltip(self.tr("Keep editing (Esc)")))
        self._keep.setAutoDefault(False)
        discard = button(
            self.tr("Discard"),
            name="discardButton",
            kind="danger",
            tip=self.tr("Close without saving"),
            shortcut="Alt+D",
        )
        discard.setAutoDefault(False)
        layout = QHBoxLayout(made)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(label(self.tr("Discard changes?"), "strong"))
        layout.addStretch(1)
        layout.addWidget(self._keep)
        # Left of the focused button on screen, but after it in Tab order.
        layout.insertWidget(layout.count() - 1, discard)
        self._keep.clicked.connect(self.stop_asking)
        discard.clicked.connect(self.discard_wanted)
        return made

    @property
    def is_asking(self) -> bool:
        return self._stack.currentIndex() == 1

    def ask(self) -> None:
        """Ask whether to discard the changes."""
        self._stack.setCurrentIndex(1)
        self._keep.setFocus()

    def stop_asking(self) -> None:
        """Show the buttons again."""
        self._stack.setCurrentIndex(0)

    def _draw(self) -> None:
        self._reason.setIcon(self._appearance.icon(*self._icon))

    def show_problem(self, sentence: str, *, is_missing: bool = False) -> None:
        """Show the first problem; a click goes to its field."""
        shown = one_line(sentence, _LONGEST)
        self._reason.setText(shown.replace("&", "&&"))
        self._reason.setAccessibleName(shown or self.tr("Why the job can't be saved"))
        self._reason.setToolTip(plain_tooltip(sentence))
        self._icon = ("info", Tone.MUTED) if is_missing else ("error", Tone.ERROR)
        self._draw()
        show_if(self._reason, bool(sentence))
        show_if(self._remark, not sentence)

    def show_remark(self, text: str) -> None:
        """Show a remark in place of a problem."""
        self._remark.setText(text)

    @property
    def test_has_keyboard(self) -> bool:
        """Whether the test button has the focus."""
        return self._test.hasFocus()

    def focus_test(self) -> None:
        """Focus the test button."""
        self._test.setFocus()

    def allow(self, *, saving: bool, testing: bool) -> None:
        """Enable or disable the buttons."""
        self._save.setEnabled(saving)
        self._test.setEnabled(testing)
