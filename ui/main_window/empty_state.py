"""The pages shown instead of an empty table: templates for a first job, or a way to clear the search."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QResizeEvent,
)
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

_LEAST_CARD = QSize(260, 88)
_CARD_LETTERS = 30
_CARD_ICON = 20
_TITLE_GAP = 2
_PICTURE = 88
_CARDS_IN_A_ROW = 2
_WRAPPED = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
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
        self._fit()
        appearance.changed.connect(self.update)

    def _fit(self) -> None:
        """Fit the size of the card to its words."""
        width = max(_LEAST_CARD.width(), _CARD_LETTERS * self.fontMetrics().averageCharWidth())
        self.setFixedWidth(width)
        self.setMinimumHeight(max(_LEAST_CARD.height(), self._places()[1].bottom() + 1 + MARGIN))

    def _places(self) -> tuple[QRect, QRect]:
        """Return the rectangles of the title and the sentence."""
        left = MARGIN + _CARD_ICON + GRID + 4
        room = QRect(left, MARGIN, self.width() - left - MARGIN, 10_000)
        title = QFontMetrics(strong_font(self.font())).boundingRect(room, _WRAPPED, self.text())
        below = room.adjusted(0, title.height() + _TITLE_GAP, 0, 0)
        return title, QFontMetrics(small_font(self.font())).boundingRect(below, _WRAPPED, self._sentence)

    # --- Qt -----------------------------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._fit()

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
        place.setSize(QSize(_CARD_ICON, _CARD_ICON))
        self._appearance.icon(self._icon, Tone.ACCENT).paint(painter, place)
        title, sentence = self._places()
        painter.setPen(self._appearance.colour(Tone.TEXT))
        painter.setFont(strong_font(self.font()))
        painter.drawText(title, _WRAPPED, self.text())
        painter.setPen(self._appearance.colour(Tone.MUTED))
        painter.setFont(small_font(self.font()))
        painter.drawText(sentence, _WRAPPED, self._sentence)


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
        self._buttons = (new, take_in)
        column.addSpacing(MARGIN * 2)
        column.addWidget(label(self.tr("Or start from a template"), "small"), 0, centre)
        self._grid = QGridLayout()
        self._grid.setSpacing(MARGIN)
        self._grid.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        column.addLayout(self._grid)
        column.addStretch(3)
        self._cards = [self._card(appearance, key, template) for key, template in TEMPLATES.items()]
        self._arrange(_CARDS_IN_A_ROW)

    def _card(self, appearance: Appearance, key: str, template: Template) -> TemplateCard:
        made = TemplateCard(appearance, key, template)
        # Cards in a row have the same height.
        made.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Minimum)
        made.clicked.connect(self._teller(key))
        return made

    def _arrange(self, columns: int) -> None:
        for index, card in enumerate(self._cards):
            self._grid.addWidget(card, index // columns, index % columns)
        self._grid.invalidate()

    def _teller(self, key: str) -> object:
        return lambda: self.new_wanted.emit(key)

    # --- Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        # In a low window the templates matter more than the picture.
        self._picture.setVisible(event.size().height() >= _HEIGHT_WITH_PICTURE)
        for one in self._buttons:
            # The minimum height of the style sheet would clip large fonts.
            one.setMinimumHeight(one.sizeHint().height())
        needed = _CARDS_IN_A_ROW * (self._cards[0].width() + MARGIN) + MARGIN * 2
        self._arrange(_CARDS_IN_A_ROW if needed <= event.size().width() else 1)
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
