"""The general page: start at login, start hidden, theme."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.autostart import Autostart, login_command
from halo_scheduler.model.settings import Settings, Theme
from halo_scheduler.service.scheduler import Scheduler
from ui.style.theme import HALF, Appearance
from ui.style.wording import plain_tooltip
from ui.widgets.labels import button

from .link import SettingsLink
from .page import Card, Page, Row, sentence
from .switch import Switch


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
