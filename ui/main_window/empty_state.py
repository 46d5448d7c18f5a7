"""The pages shown instead of an empty table: templates for a first job, or a way to clear the search."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QPainter, QPaintEvent, QPalette, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QGridLayout,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ui.forms.templates import TEMPLATES, Template
from ui.style.theme import GRID, MARGIN, Appearance, Tone, small_font, strong_font
from ui.widgets.labels import button, label, tint
from ui.widgets.signs import LineIcon

_CARD = QSize(260, 88)
_PICTURE = 88
_CARDS_IN_A_ROW = 2
_HEIGHT_WITH_PICTURE = 540


def _tr(text: str) -> str:
    return QCoreApplication.translate("Templates", text)


class TemplateCard(QAbstractButton):
    """A template as a button: icon, title and one sentence."""

    def __init__(self, appearance: Appearance, key: str, template: Template) -> None:
        super().__init__()
        self._appearance = appearance
        self._icon = template.icon
        self._sentence = _tr(template.sentence)
        self.setText(_tr(template.title))
        self.setObjectName(f"template-{key}")
        self.setAccessibleName(self.text())
        self.setAccessibleDescription(self._sentence)
        self.setToolTip(self._sentence)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(_CARD)
        appearance.changed.connect(self.update)

    # --- Qt -----------------------------------------------------------------------------------------

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802
        self.update()
        super().enterEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = self._appearance.colours
        is_lit = self.hasFocus() or self.underMouse()
        painter.setPen(QPen(QColor(colours.accent if is_lit else colours.line), 1))
        painter.setBrush(QColor(colours.hover if self.underMouse() else colours.raised))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), GRID, GRID)
        place = self.rect().adjusted(MARGIN, MARGIN, 0, 0)
        place.setSize(QSize(20, 20))
        self._appearance.icon(self._icon, Tone.ACCENT).paint(painter, place)
        words = self.rect().adjusted(MARGIN + 20 + GRID + 4, MARGIN, -MARGIN, -GRID)
        painter.setPen(self._appearance.colour(Tone.TEXT))
        painter.setFont(strong_font(self.font()))
        painter.drawText(words, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, self.text())
        painter.setPen(self._appearance.colour(Tone.MUTED))
        painter.setFont(small_font(self.font()))
        below = words.adjusted(0, painter.fontMetrics().height() + GRID - 2, 0, 0)
        flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
        painter.drawText(below, flags, self._sentence)


class EmptyState(QWidget):
    """Shown while there are no jobs: what Halo does, and templates to start from."""

    new_wanted = Signal(object)
    """The key of a template; None for an empty job."""
    import_wanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("emptyState")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        outer.addWidget(area)
        inner = QWidget()
        inner.setObjectName("emptyContent")
        area.setWidget(inner)
        column = QVBoxLayout(inner)
        column.setSpacing(GRID)
        column.addStretch(2)
        centre = Qt.AlignmentFlag.AlignHCenter
        self._picture = LineIcon(appearance, "halo", None, _PICTURE)
        column.addWidget(self._picture, 0, centre)
        column.addSpacing(MARGIN)
        column.addWidget(label(self.tr("No jobs yet"), "title", name="emptyTitle"), 0, centre)
        sentence = self.tr("Tell Halo what to run and when.")
        column.addWidget(label(sentence, "muted"), 0, centre)
        column.addSpacing(MARGIN)
        # The toolbar has the primary button.
        new = button(self.tr("New job"), name="emptyNewButton", tip=self.tr("New job (Ctrl+N)"))
        tint(new, appearance, "add")
        new.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        new.clicked.connect(lambda: self.new_wanted.emit(None))
        column.addWidget(new, 0, centre)
        take_in = button(self.tr("Import jobs, such as a crontab…"), name="emptyImportButton", kind="link")
        take_in.clicked.connect(self.import_wanted)
        column.addWidget(take_in, 0, centre)
        column.addSpacing(MARGIN * 2)
        column.addWidget(label(self.tr("Or start from a template"), "small"), 0, centre)
        column.addLayout(self._cards(appearance))
        column.addStretch(3)

    def _cards(self, appearance: Appearance) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(MARGIN)
        grid.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        for index, (key, template) in enumerate(TEMPLATES.items()):
            card = TemplateCard(appearance, key, template)
            card.clicked.connect(self._teller(key))
            grid.addWidget(card, index // _CARDS_IN_A_ROW, index % _CARDS_IN_A_ROW)
        return grid

    def _teller(self, key: str) -> object:
        return lambda: self.new_wanted.emit(key)

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        # In a low window the templates matter more than the picture.
        self._picture.setVisible(event.size().height() >= _HEIGHT_WITH_PICTURE)
        super().resizeEvent(event)


class NoMatch(QWidget):
    """Shown when no job matches the search and the filters."""

    clear_wanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("noMatch")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        # The background of the table it replaces.
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        column = QVBoxLayout(self)
        column.setSpacing(GRID)
        centre = Qt.AlignmentFlag.AlignHCenter
        column.addStretch(2)
        column.addWidget(LineIcon(appearance, "search", Tone.MUTED, 32), 0, centre)
        column.addWidget(label(self.tr("No matching jobs"), "strong"), 0, centre)
        column.addWidget(label(self.tr("Change the search or clear filters."), "muted"), 0, centre)
        column.addSpacing(GRID)
        clear = button(
            self.tr("Show all jobs"), name="clearSearchButton", tip=self.tr("Clear search and filters")
        )
        clear.clicked.connect(self.clear_wanted)
        column.addWidget(clear, 0, centre)
        column.addStretch(3)
