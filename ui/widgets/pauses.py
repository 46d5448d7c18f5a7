"""The three durations of a pause, used in every menu."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from halo_scheduler.grammar.interval import HOUR_MS
from halo_scheduler.grammar.when import parse_when
from halo_scheduler.grammar.zone import local_time

# Before this hour, "tomorrow morning" means the morning of the same day.
_END_OF_NIGHT = 5
_MORNING = "8:00"


class PauseChoice(StrEnum):
    """How long a pause lasts."""

    HOUR = "hour"
    MORNING = "morning"
    UNTIL_RESUMED = "until-resumed"


def pause_words(choice: PauseChoice) -> str:
    """Return the menu text of a choice."""
    return {
        PauseChoice.HOUR: QCoreApplication.translate("Pauses", "For 1 hour"),
        PauseChoice.MORNING: QCoreApplication.translate("Pauses", "Until tomorrow morning, 8:00"),
        PauseChoice.UNTIL_RESUMED: QCoreApplication.translate("Pauses", "Until I resume"),
    }[choice]


def pause_end(choice: PauseChoice, now_ms: int) -> int | None:
    """Return when a pause that starts now ends; None if it lasts until resumed."""
    match choice:
        case PauseChoice.HOUR:
            return now_ms + HOUR_MS
        case PauseChoice.MORNING:
            is_night = local_time(now_ms).hour < _END_OF_NIGHT
            return parse_when(f"today {_MORNING}" if is_night else f"tomorrow {_MORNING}", now_ms)
        case PauseChoice.UNTIL_RESUMED:
            return None


def add_pause_choices(menu: QMenu, chosen: Callable[[PauseChoice], object]) -> None:
    """Add the three choices to a menu."""
    for choice in PauseChoice:
        action = QAction(pause_words(choice), menu)
        action.setObjectName(f"pause-{choice}")
        action.triggered.connect(_chooser(chosen, choice))
        menu.addAction(action)


def _chooser(chosen: Callable[[PauseChoice], object], choice: PauseChoice) -> Callable[[], object]:
    return lambda: chosen(choice)
