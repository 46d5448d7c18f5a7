"""The pages of plain settings: General, Notifications, Concurrency."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.autostart import Autostart, login_command
from halo_scheduler.model import Notify
from halo_scheduler.model.settings import Settings, Theme
from halo_scheduler.service.scheduler import Scheduler
from ui.style.theme import GRID, HALF, MARGIN, Appearance, scaled
from ui.style.wording import plain_tooltip
from ui.widgets.labels import button, label

from .page import Card, Page, Row, SettingsLink, sentence

_WIDTH, _HEIGHT = 40, 22
_KNOB_INSET = 4
_RING = 3
_INDENT = 24
_FIELD_WIDTH = 96
_MOST_AT_ONCE = 1_000
_USUAL_LIMIT = "2h"


class Switch(QCheckBox):
    """A check box drawn as a switch; the position of the knob shows the state, not only the colour."""

    def __init__(
        self, appearance: Appearance, name: str, accessible: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.setObjectName(name)
        self.setAccessibleName(accessible)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        appearance.changed.connect(self.update)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(_WIDTH + 2 * _RING, _HEIGHT + 2 * _RING)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return self.sizeHint()

    def hitButton(self, pos: QPoint) -> bool:  # noqa: N802
        return self.rect().contains(pos)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        colours = self._appearance.colours
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(_RING, (self.height() - _HEIGHT) / 2, _WIDTH, _HEIGHT)
        is_on = self.isChecked() and self.isEnabled()
        painter.setPen(QPen(QColor(colours.accent if is_on else colours.muted), 1))
        painter.setBrush(QColor(colours.accent if is_on else colours.sunken))
        painter.drawRoundedRect(track.adjusted(0.5, 0.5, -0.5, -0.5), _HEIGHT / 2, _HEIGHT / 2)
        side = _HEIGHT - 2 * _KNOB_INSET
        left = track.right() - side - _KNOB_INSET if self.isChecked() else track.left() + _KNOB_INSET
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.on_accent if is_on else colours.muted))
        painter.drawEllipse(QRectF(left, track.top() + _KNOB_INSET, side, side))
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            ring = track.adjusted(-2, -2, 2, 2)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)
        painter.end()


class GeneralPage(Page):
    """Start-up and appearance."""

    def __init__(self, link: SettingsLink, appearance: Appearance, autostart: Autostart) -> None:
        super().__init__()
        self._link = link
        self._appearance = appearance
        self._autostart = autostart
        self._was_on_at_login = False
        self._themes = QButtonGroup(self)
        self.add_title(self.tr("General"))
        self._add_start()
        self._add_theme()
        link.follow(self._show)

    def refresh(self) -> None:
        """Read whether Halo starts at login: the system settings may have changed it."""
        autostart = self._autostart

        def work(_scheduler: Scheduler) -> bool:
            is_on = autostart.is_on()
            if is_on and not autostart.is_current(login_command()):
                # The program was moved or replaced: update the entry.
                autostart.turn_on(login_command())
            return is_on

        self._link.backend.ask(work, self._show_login, self._refuse_login, owner=self)

    def _add_start(self) -> None:
        card = Card()
        self._login = Switch(self._appearance, "autostartSwitch", self.tr("Start Halo when I log in"))
        self._login.setEnabled(False)
        self._login_row = Row(
            self.tr("Start Halo when I &log in"),
            self.tr("Halo starts in the tray. Jobs only run while Halo is running."),
            self._login,
        )
        self._login.toggled.connect(self._switch_login)
        self._hidden = Switch(self._appearance, "startHiddenSwitch", self.tr("Start hidden"))
        self._hidden_row = Row(
            self.tr("Start &hidden"),
            self.tr("Start in the tray even when opened manually."),
            self._hidden,
        )
        self._hidden.toggled.connect(
            lambda is_on: self._link.change(self._hidden_row.show_error, start_hidden=is_on)
        )
        card.add(self._login_row)
        card.add(self._hidden_row)
        self.add(card)

    def _add_theme(self) -> None:
        choices = QWidget()
        choices.setObjectName("themeChoice")
        box = QHBoxLayout(choices)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(HALF)
        for theme, text in (
            (Theme.SYSTEM, self.tr("S&ystem")),
            (Theme.LIGHT, self.tr("Li&ght")),
            (Theme.DARK, self.tr("&Dark")),
        ):
            made = button(text, name=f"theme{theme.value.capitalize()}Button")
            made.setCheckable(True)
            made.setProperty("theme", theme.value)
            self._themes.addButton(made)
            box.addWidget(made)
        self._theme_row = Row(self.tr("Theme"), self.tr(""), choices, buddy=self._themes.buttons()[0])
        self._themes.buttonClicked.connect(self._choose_theme)
        card = Card()
        card.add(self._theme_row)
        self.add(card)

    def _show(self, settings: Settings) -> None:
        with QSignalBlocker(self._hidden):
            self._hidden.setChecked(settings.start_hidden)
        for made in self._themes.buttons():
            made.setChecked(made.property("theme") == settings.theme.value)
        self._appearance.choose(settings.theme)

    def _choose_theme(self, chosen: QPushButton) -> None:
        theme = Theme(str(chosen.property("theme")))
        self._appearance.choose(theme)
        self._link.change(self._theme_row.show_error, theme=theme)

    # --- Start at login ------------------------------------------------------------------------------

    def _switch_login(self, is_wanted: bool) -> None:  # noqa: FBT001 - a slot of `toggled`
        autostart = self._autostart
        self._login.setEnabled(False)

        def work(_scheduler: Scheduler) -> bool:
            if is_wanted:
                autostart.turn_on(login_command())
            else:
                autostart.turn_off()
            return autostart.is_on()

        self._link.backend.ask(work, self._show_login, self._refuse_login, owner=self)

    def _show_login(self, is_on: bool) -> None:  # noqa: FBT001 - the answer
        self._login_row.show_error("")
        self._set_login(is_on)
        self._login.setToolTip(plain_tooltip(self._autostart.where()))

    def _refuse_login(self, error: SchedulerError) -> None:
        """Show the error, and the previous state."""
        self._login_row.show_error(sentence(error))
        self._set_login(self._was_on_at_login)

    def _set_login(self, is_on: bool) -> None:  # noqa: FBT001
        self._was_on_at_login = is_on
        with QSignalBlocker(self._login):
            self._login.setChecked(is_on)
        self._login.setEnabled(True)


class NotificationsPage(Page):
    """None, failures or all."""

    def __init__(self, link: SettingsLink) -> None:
        super().__init__()
        self._link = link
        self._choices = QButtonGroup(self)
        self.add_title(self.tr("Notifications"), self.tr("When Halo shows a desktop notification."))
        card = Card()
        card.add(self._choice(Notify.NONE, self.tr("&None"), self.tr("")))
        card.add(
            self._choice(
                Notify.FAILURES,
                self.tr("&Failures"),
                self.tr("When a job starts failing, recovers, needs input or reaches a daily limit."),
            )
        )
        card.add(self._choice(Notify.ALL, self.tr("&All runs"), self.tr("Successful runs too.")))
        self.add(card)
        self._error = label("", "error", name="notifyError", wrap=True)
        self._error.hide()
        self.add(self._error)
        self.add_remark(
            self.tr("Jobs can override this under Options. You're always told when a job is disabled.")
        )
        self._choices.buttonClicked.connect(self._choose)
        link.follow(self._show)

    def _choice(self, notify: Notify, text: str, hint: str) -> QWidget:
        made = QRadioButton(text)
        made.setObjectName(f"notify{notify.value.capitalize()}Radio")
        made.setAccessibleDescription(hint)
        made.setProperty("notify", notify.value)
        self._choices.addButton(made)
        words = label(hint, "small", wrap=True)
        words.setContentsMargins(_INDENT, 0, 0, 0)
        holder = QWidget()
        box = QVBoxLayout(holder)
        box.setContentsMargins(MARGIN, GRID + HALF, MARGIN, GRID + HALF)
        box.setSpacing(HALF)
        box.addWidget(made)
        if hint:
            box.addWidget(words)
        return holder

    def _show(self, settings: Settings) -> None:
        for made in self._choices.buttons():
            made.setChecked(made.property("notify") == settings.notify.value)

    def _choose(self, chosen: QRadioButton) -> None:
        self._link.change(self._show_error, notify=Notify(str(chosen.property("notify"))))

    def _show_error(self, text: str) -> None:
        self._error.setText(text)
        self._error.setVisible(bool(text))


class ConcurrencyPage(Page):
    """The global limit, and the time limit of new jobs."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__()
        self._link = link
        self.add_title(self.tr("Concurrency"))
        card = Card()
        card.add(self._concurrency_row())
        card.add(self._limit_row(appearance))
        self.add(card)
        self.add_remark(self.tr("Groups can have their own limit (Groups menu)."))
        link.follow(self._show)

    def _concurrency_row(self) -> Row:
        self._concurrency = QSpinBox()
        self._concurrency.setObjectName("maxConcurrentSpin")
        self._concurrency.setRange(1, _MOST_AT_ONCE)
        self._concurrency.setFixedWidth(scaled(_FIELD_WIDTH))
        self._concurrency.setKeyboardTracking(False)
        self._concurrency.lineEdit().setTextMargins(HALF, 0, 0, 0)
        self._concurrency_setting = Row(
            self.tr("Jobs running at the &same time"),
            self.tr("Others wait in line, oldest first."),
            self._concurrency,
        )
        self._concurrency.valueChanged.connect(
            lambda value: self._link.change(self._concurrency_setting.show_error, max_concurrent=value)
        )
        return self._concurrency_setting

    def _limit_row(self, appearance: Appearance) -> Row:
        self._has_limit = Switch(appearance, "timeLimitSwitch", self.tr("Give new jobs a time limit"))
        self._limit = QLineEdit()
        self._limit.setObjectName("timeLimitEdit")
        self._limit.setFixedWidth(scaled(_FIELD_WIDTH))
        self._limit.setPlaceholderText(self.tr("none"))
        self._limit.setAccessibleName(self.tr("Default time limit"))
        both = QWidget()
        box = QHBoxLayout(both)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(GRID)
        box.addWidget(self._has_limit)
        box.addWidget(self._limit)
        self._limit_setting = Row(
            self.tr("Default &time limit"),
            self.tr("Longer runs are stopped. Enter 30m, 2h or 1d. Jobs can have their own."),
            both,
            buddy=self._limit,
        )
        self._has_limit.toggled.connect(self._switch_limit)
        self._limit.editingFinished.connect(self._change_limit)
        return self._limit_setting

    def _show(self, settings: Settings) -> None:
        with QSignalBlocker(self._concurrency):
            self._concurrency.setValue(settings.max_concurrent)
        with QSignalBlocker(self._has_limit):
            self._has_limit.setChecked(settings.default_time_limit is not None)
        self._limit.setEnabled(settings.default_time_limit is not None)
        self._limit.setText(settings.default_time_limit or "")

    def _switch_limit(self, is_on: bool) -> None:  # noqa: FBT001 - a slot of `toggled`
        self._link.change(self._limit_setting.show_error, default_time_limit=_USUAL_LIMIT if is_on else None)

    def _change_limit(self) -> None:
        # Turning the limit off also ends editing of the field; ignore that.
        if self._limit.isEnabled() and self._has_limit.isChecked():
            self._link.change(self._limit_setting.show_error, default_time_limit=self._limit.text().strip())
