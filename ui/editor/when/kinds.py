"""The choice of what starts a job: times, events, or only people and other jobs."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui.forms.choices import Choice, Choices
from ui.style.theme import GRID, Appearance
from ui.widgets.arrange import show_if

TIMES = "times"
EVERY = "every"
ONCE = "once"
AFTER = "after"
CRON = "cron"
FILE = "file"
SESSION = "session"
WEBHOOK = "webhook"
CHAT = "chat"
MANUAL = "manual"
ON_CLOCK = (TIMES, CRON)
"""The kinds with a time zone."""
EVENTS = (FILE, SESSION, WEBHOOK, CHAT)
_BY_TIME = "time"
_BY_EVENT = "event"
_COLUMNS = 3


class KindChooser(QWidget):
    """Cards for the kinds of schedules; shows one group, and each group keeps its choice."""

    chosen = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._group = Choices(
            appearance,
            (
                Choice(_BY_TIME, self.tr("At times")),
                Choice(_BY_EVENT, self.tr("On events")),
                Choice(MANUAL, self.tr("Manual only")),
            ),
            name="scheduleGroup",
            title=self.tr("Start"),
        )
        self._kinds = {
            _BY_TIME: Choices(
                appearance, self._time_cards(), name="scheduleKind", title=self.tr("When"), columns=_COLUMNS
            ),
            _BY_EVENT: Choices(
                appearance, self._event_cards(), name="eventKind", title=self.tr("Event"), columns=_COLUMNS
            ),
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._group)
        for cards in self._kinds.values():
            layout.addWidget(cards)
            cards.chosen.connect(self._announce)
        self._show_group()
        self._group.chosen.connect(self._change_group)

    def _time_cards(self) -> tuple[Choice, ...]:
        return (
            Choice(TIMES, self.tr("Times of day"), "calendar", self.tr("on chosen days")),
            Choice(EVERY, self.tr("Every"), "repeat", self.tr("15 min, 2 hours …")),
            Choice(ONCE, self.tr("Once"), "clock", self.tr("on one date")),
            Choice(AFTER, self.tr("After previous run"), "refresh", self.tr("fixed gap")),
            Choice(CRON, self.tr("Cron"), "terminal", self.tr("an expression")),
        )

    def _event_cards(self) -> tuple[Choice, ...]:
        return (
            Choice(FILE, self.tr("File"), "folder", self.tr("appears, changes …")),
            Choice(SESSION, self.tr("Computer"), "power", self.tr("login, wake-up …")),
            Choice(WEBHOOK, self.tr("Webhook"), "globe", self.tr("called by a program")),
            Choice(CHAT, self.tr("Chat"), "chat", self.tr("message to a bot")),
        )

    @property
    def value(self) -> str:
        """The chosen kind."""
        group = self._group.value
        return self._kinds[group].value if group in self._kinds else group

    def choose(self, kind: str) -> None:
        """Select a kind."""
        group = MANUAL if kind == MANUAL else _BY_EVENT if kind in EVENTS else _BY_TIME
        if group in self._kinds:
            self._kinds[group].choose(kind)
        self._group.choose(group)

    def focus_chosen(self) -> None:
        """Focus the selected card, or the group without cards."""
        self._kinds.get(self._group.value, self._group).focus_chosen()

    def _change_group(self) -> None:
        self._show_group()
        self._announce()

    def _show_group(self) -> None:
        for group, cards in self._kinds.items():
            show_if(cards, group == self._group.value)

    def _announce(self) -> None:
        self.chosen.emit(self.value)
