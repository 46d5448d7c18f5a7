"""A preview of the ready items of a work queue."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.english import counted
from halo_scheduler.model.work_source import WorkSource
from halo_scheduler.work_sources.item import Item
from ui.backend.backend import Asked, Backend, Lane
from ui.forms.problems import as_sentence
from ui.forms.seen import show_if
from ui.style.theme import GRID, HALF, Appearance
from ui.style.wording import one_line, plain_tooltip
from ui.widgets.labels import button, label, set_role, tint

_SHOWN = 6
_LONGEST_TITLE = 90
_LONGEST_ID = 30


class ReadyItems(QWidget):
    """Loads the items only on request: the queue may be remote."""

    wanted = Signal()
    """The user wants a preview; answer with `load` or `show_error`."""

    def __init__(self, backend: Backend, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._backend = backend
        self._asked: Asked | None = None
        self._is_loading = False
        self._button = button(self.tr("Preview"), name=f"{name}Look", tip=self.tr("Preview ready items"))
        self._button.setAutoDefault(False)
        tint(self._button, appearance, "search")
        self._words = label("", "muted", wrap=True, name=f"{name}Words")
        self._words.setMinimumWidth(GRID)
        self._rows = QVBoxLayout()
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(HALF)
        self._shown: list[QWidget] = []
        head = QHBoxLayout()
        head.setSpacing(GRID)
        head.addWidget(self._button, alignment=Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        head.addWidget(self._words, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addLayout(head)
        layout.addLayout(self._rows)
        self._button.clicked.connect(self._want)

    def _want(self) -> None:
        # Disabling the button meanwhile would move the focus away.
        if not self._is_loading:
            self.wanted.emit()

    def load(self, source: WorkSource) -> None:
        """Load the ready items of a source."""
        self.clear()
        self._show_message(self.tr("Loading…"), "muted")
        self._is_loading = True
        self._asked = self._backend.ask(
            lambda scheduler: scheduler.jobs.ready_items(source),
            self._show,
            self._refuse,
            owner=self,
            lane=Lane.SLOW,
        )

    def show_error(self, message: str) -> None:
        """Show why the items cannot be loaded."""
        self.clear()
        self._show_message(as_sentence("", message), "error")

    def clear(self) -> None:
        """Clear the list, which may be out of date."""
        if self._asked is not None:
            self._asked.cancel()
        self._is_loading = False
        self._show_message("", "muted")
        for row in self._shown:
            self._rows.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._shown = []

    def _show(self, items: list[Item]) -> None:
        self.clear()
        if not items:
            self._show_message(self.tr("No items ready."), "muted")
            return
        self._show_message(self.tr("{items} ready:").format(items=counted(len(items), "item")), "ok")
        rest = len(items) - _SHOWN
        for index, item in enumerate(items[:_SHOWN]):
            self._add_row(_item_row(item, index))
        if rest > 0:
            self._add_row(label(self.tr("and {count} more").format(count=rest), "muted"))

    def _add_row(self, row: QWidget) -> None:
        self._rows.addWidget(row)
        self._shown.append(row)

    def _refuse(self, error: SchedulerError) -> None:
        self.show_error(str(error))

    def _show_message(self, text: str, role: str) -> None:
        self._words.setText(one_line(text))
        set_role(self._words, role)
        show_if(self._words, bool(text))


def _item_row(item: Item, index: int) -> QWidget:
    made = QWidget()
    made.setObjectName(f"readyItem{index}")
    title = one_line(item.title, _LONGEST_TITLE)
    known_as = one_line(item.id, _LONGEST_ID)
    words = label(title or known_as)
    words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(GRID)
    if title and known_as not in ("", title):
        row.addWidget(_muted(known_as))
    row.addWidget(words, 1)
    labels = one_line(", ".join(item.labels), _LONGEST_ID)
    if labels:
        row.addWidget(_muted(labels))
    made.setToolTip(plain_tooltip("\n".join(filter(None, (item.title, item.url, item.note)))))
    made.setAccessibleName(" ".join(filter(None, (known_as, title, labels))))
    return made


def _muted(text: str) -> QLabel:
    return label(text, "muted")
