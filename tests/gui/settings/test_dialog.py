"""The settings: every change is one request, refused ones are told at their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import Scheduler, SchedulerError
from halo_scheduler.clock import ManualClock
from halo_scheduler.host.autostart import login_command
from halo_scheduler.model import Notify
from halo_scheduler.model.settings import Agent, QuietTime, Theme
from halo_scheduler.service.settings import Secrets
from ui.backend.backend import Backend
from ui.settings.basic_pages import Switch
from ui.settings.dialog import SettingsDialog
from ui.style.theme import Appearance

_NOW = 1_800_000_000_000
_DAY = 86_400_000
_GENERAL, _NOTIFICATIONS, _RUNNING, _QUIET_TIMES, _AGENTS, _ASSISTANTS, _WEBHOOKS, _CHAT = range(8)
_KEEPING, _BACKUPS, _SECRETS = range(8, 11)


class _Autostart:
    """An entry that is kept in memory."""

    def __init__(self) -> None:
        self.command: list[str] | None = None
        self.fault: str = ""

    def is_on(self) -> bool:
        return self.command is not None

    def is_current(self, command: Sequence[str]) -> bool:
        return self.command == list(command)

    def program(self) -> str:
        return "halo"

    def turn_on(self, command: Sequence[str]) -> None:
        if self.fault:
            raise SchedulerError(self.fault)
        self.command = list(command)

    def turn_off(self) -> None:
        self.command = None

    def where(self) -> str:
        return "in memory"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(_NOW)


@pytest.fixture
def scheduler(tmp_path: Path, clock: ManualClock) -> Iterator[Scheduler]:
    with Scheduler.open(tmp_path / "halo.db", clock=clock) as made:
        yield made


@pytest.fixture
def autostart() -> _Autostart:
    return _Autostart()


@pytest.fixture
def appearance(qapp: QApplication) -> Appearance:
    return Appearance(Theme.LIGHT, qapp)


@pytest.fixture
def dialog(
    scheduler: Scheduler, clock: ManualClock, appearance: Appearance, autostart: _Autostart, qtbot: QtBot
) -> SettingsDialog:
    parent = QObject(appearance)
    made = SettingsDialog(Backend.inline(scheduler, clock, parent), appearance, autostart)
    qtbot.addWidget(made)
    made.show()
    return made


def _find(dialog: QWidget, kind: type[QWidget], name: str) -> QWidget:
    found = dialog.findChild(kind, name)
    assert isinstance(found, kind)
    return found


def _switch(dialog: QWidget, name: str) -> Switch:
    found = _find(dialog, Switch, name)
    assert isinstance(found, Switch)
    return found


def _spin(dialog: QWidget, name: str) -> QSpinBox:
    found = _find(dialog, QSpinBox, name)
    assert isinstance(found, QSpinBox)
    return found


def _edit(dialog: QWidget, name: str) -> QLineEdit:
    found = _find(dialog, QLineEdit, name)
    assert isinstance(found, QLineEdit)
    return found


def _text(dialog: QWidget, name: str) -> str:
    found = _find(dialog, QLabel, name)
    assert isinstance(found, QLabel)
    return found.text()


def _buttons(dialog: QWidget, name: str) -> list[QPushButton]:
    return [one for one in dialog.findChildren(QPushButton, name) if one.isVisible()]


def _click(dialog: QWidget, qtbot: QtBot, name: str, index: int = 0) -> None:
    qtbot.waitUntil(lambda: len(_buttons(dialog, name)) > index)
    _buttons(dialog, name)[index].click()


def _turn_to(dialog: SettingsDialog, page: int) -> None:
    pages = _find(dialog, QListWidget, "settingsPages")
    assert isinstance(pages, QListWidget)
    pages.setCurrentRow(page)


class _Windows(QObject):
    """Notes which windows come up."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() is QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.names.append(f"{type(watched).__name__} {watched.objectName()}")
        return False


def test_no_part_comes_up_as_a_window_of_its_own_first(
    scheduler: Scheduler, clock: ManualClock, appearance: Appearance, qapp: QApplication, qtbot: QtBot
) -> None:
    scheduler.settings.change(quiet_times=(QuietTime(name="Nights"),))
    backend = Backend.inline(scheduler, clock, QObject(appearance))
    windows = _Windows()
    qapp.installEventFilter(windows)
    dialog = SettingsDialog(backend, appearance, _Autostart())
    qtbot.addWidget(dialog)
    dialog.show()
    for page in range(_SECRETS + 1):
        _turn_to(dialog, page)
    qtbot.waitUntil(lambda: dialog.findChild(QWidget, "quietTimeRow") is not None)
    qtbot.waitUntil(lambda: dialog.findChild(QWidget, "agentRow") is not None)
    qapp.removeEventFilter(windows)
    assert windows.names == ["SettingsDialog settingsDialog"]


# --- General -----------------------------------------------------------------------------------------


def test_start_at_login_is_switched_at_once(
    dialog: SettingsDialog, autostart: _Autostart, qtbot: QtBot
) -> None:
    switch = _switch(dialog, "autostartSwitch")
    qtbot.waitUntil(switch.isEnabled)
    assert not switch.isChecked()
    switch.click()
    qtbot.waitUntil(switch.isEnabled)
    assert autostart.command == login_command()
    switch.click()
    qtbot.waitUntil(switch.isEnabled)
    assert autostart.command is None


def test_a_refused_start_at_login_is_reported_and_taken_back(
    dialog: SettingsDialog, autostart: _Autostart, qtbot: QtBot
) -> None:
    switch = _switch(dialog, "autostartSwitch")
    qtbot.waitUntil(switch.isEnabled)
    autostart.fault = "cannot write the entry"
    switch.click()
    qtbot.waitUntil(switch.isEnabled)
    assert not switch.isChecked()
    assert _text(dialog, "autostartSwitchError") == "Cannot write the entry"


def test_an_entry_for_another_data_folder_is_fixed(
    dialog: SettingsDialog, autostart: _Autostart, qtbot: QtBot
) -> None:
    autostart.command = ["/old/python", "-m", "ui"]
    _turn_to(dialog, _RUNNING)
    _turn_to(dialog, _GENERAL)
    qtbot.waitUntil(_switch(dialog, "autostartSwitch").isChecked)
    assert autostart.command == login_command()


def test_starting_hidden_is_stored(dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot) -> None:
    qtbot.waitUntil(_switch(dialog, "autostartSwitch").isEnabled)
    _switch(dialog, "startHiddenSwitch").click()
    qtbot.waitUntil(lambda: scheduler.settings.read().start_hidden)


def test_a_theme_is_put_on_at_once(
    dialog: SettingsDialog, scheduler: Scheduler, appearance: Appearance, qtbot: QtBot
) -> None:
    qtbot.waitUntil(_switch(dialog, "autostartSwitch").isEnabled)
    _click(dialog, qtbot, "themeDarkButton")
    assert appearance.is_dark
    qtbot.waitUntil(lambda: scheduler.settings.read().theme is Theme.DARK)


def test_a_change_made_elsewhere_is_shown(dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot) -> None:
    _turn_to(dialog, _RUNNING)
    qtbot.waitUntil(lambda: _spin(dialog, "maxConcurrentSpin").value() == 5)
    scheduler.settings.change(max_concurrent=9, start_hidden=True)
    qtbot.waitUntil(lambda: _spin(dialog, "maxConcurrentSpin").value() == 9)
    assert _switch(dialog, "startHiddenSwitch").isChecked()


# --- Notifications, running, keeping -----------------------------------------------------------------


@pytest.mark.parametrize("notify", [Notify.NONE, Notify.ALL])
def test_which_notices_come_is_stored(
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot, notify: Notify
) -> None:
    _turn_to(dialog, _NOTIFICATIONS)
    radio = _find(dialog, QRadioButton, "notifyFailuresRadio")
    assert isinstance(radio, QRadioButton)
    qtbot.waitUntil(radio.isChecked)
    chosen = _find(dialog, QRadioButton, f"notify{notify.value.capitalize()}Radio")
    assert isinstance(chosen, QRadioButton)
    chosen.click()
    qtbot.waitUntil(lambda: scheduler.settings.read().notify is notify)


def test_a_default_time_limit_is_stored(dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot) -> None:
    _turn_to(dialog, _RUNNING)
    limit = _edit(dialog, "timeLimitEdit")
    qtbot.waitUntil(lambda: limit.text() == "2h")
    limit.setText(" 30m ")
    QTest.keyClick(limit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: scheduler.settings.read().default_time_limit == "30m")
    assert dialog.isVisible()


def test_a_bad_time_limit_is_reported_beside_it_and_taken_back(
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot
) -> None:
    _turn_to(dialog, _RUNNING)
    limit = _edit(dialog, "timeLimitEdit")
    qtbot.waitUntil(lambda: limit.text() == "2h")
    limit.setText("soon")
    QTest.keyClick(limit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: limit.text() == "2h")
    assert _text(dialog, "timeLimitEditError").startswith("Cannot read the interval 'soon'")
    assert scheduler.settings.read().default_time_limit == "2h"


def test_no_time_limit_can_be_chosen(dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot) -> None:
    _turn_to(dialog, _RUNNING)
    switch = _switch(dialog, "timeLimitSwitch")
    qtbot.waitUntil(switch.isChecked)
    switch.click()
    qtbot.waitUntil(lambda: scheduler.settings.read().default_time_limit is None)
    qtbot.waitUntil(lambda: not _edit(dialog, "timeLimitEdit").isEnabled())


@pytest.mark.parametrize(
    ("page", "name", "field", "stored"),
    [
        (_RUNNING, "maxConcurrentSpin", "max_concurrent", 12),
        (_KEEPING, "runsKeptSpin", "runs_kept_per_job", 12),
        (_KEEPING, "daysKeptSpin", "runs_kept_days", 12),
        (_KEEPING, "outputKeptSpin", "output_kept_bytes", 12 << 20),
    ],
)
def test_a_number_is_stored(  # noqa: PLR0917 - what is given and what comes of it
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot, page: int, name: str, field: str, stored: int
) -> None:
    qtbot.waitUntil(_switch(dialog, "autostartSwitch").isEnabled)
    _turn_to(dialog, page)
    _spin(dialog, name).setValue(12)
    qtbot.waitUntil(lambda: getattr(scheduler.settings.read(), field) == stored)


def test_the_size_of_the_database_is_reported(dialog: SettingsDialog, qtbot: QtBot) -> None:
    _turn_to(dialog, _KEEPING)
    qtbot.waitUntil(lambda: "Currently using" in _text(dialog, "databaseSizeLabel"))


# --- Backups -----------------------------------------------------------------------------------------


def test_a_backup_is_made_and_listed(dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot) -> None:
    _turn_to(dialog, _BACKUPS)
    _click(dialog, qtbot, "makeBackupButton")
    qtbot.waitUntil(lambda: len(_buttons(dialog, "restoreButton")) == 1)
    assert len(scheduler.backups.list()) == 1
    assert _text(dialog, "backupToldLabel") == "✓ Backup created"


def test_going_back_needs_a_second_word(
    dialog: SettingsDialog, scheduler: Scheduler, clock: ManualClock, qtbot: QtBot
) -> None:
    older = scheduler.backups.make()
    clock.advance(_DAY)
    scheduler.backups.make()
    _turn_to(dialog, _BACKUPS)
    with qtbot.assertNotEmitted(dialog.restore_requested):
        _click(dialog, qtbot, "restoreButton", 1)
    assert "kept in a file" in _text(dialog, "confirmationText")
    with qtbot.waitSignal(dialog.restore_requested) as asked:
        _click(dialog, qtbot, "confirmButton")
    assert asked.args == [older.path]


def test_escape_changes_nothing(dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot) -> None:
    scheduler.backups.make()
    _turn_to(dialog, _BACKUPS)
    _click(dialog, qtbot, "restoreButton")
    with qtbot.assertNotEmitted(dialog.restore_requested):
        QTest.keyClick(_buttons(dialog, "cancelButton")[0], Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not _buttons(dialog, "confirmButton"))
    assert dialog.isVisible()


def test_why_going_back_failed_is_reported(
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.backups.make()
    dialog.show_backups()
    _click(dialog, qtbot, "restoreButton")
    dialog.show_restore_busy()
    assert not _buttons(dialog, "makeBackupButton")[0].isEnabled()
    dialog.show_restore_error("the backup is damaged")
    assert _text(dialog, "backupToldLabel") == "the backup is damaged"
    assert _buttons(dialog, "makeBackupButton")[0].isEnabled()


def test_after_a_restore_the_dialog_keeps_working(
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.backups.make()
    dialog.show_backups()
    _click(dialog, qtbot, "restoreButton")
    dialog.show_restore_busy()
    scheduler.settings.change(max_concurrent=3)
    qtbot.waitUntil(_buttons(dialog, "makeBackupButton")[0].isEnabled)
    qtbot.waitUntil(lambda: not _buttons(dialog, "confirmButton"))


# --- Secrets -----------------------------------------------------------------------------------------


@pytest.fixture
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Secrets, "has_keyring", lambda _scheduler: False)


def _fill(dialog: SettingsDialog, name: str, value: str) -> None:
    _edit(dialog, "secretNameEdit").setText(name)
    _edit(dialog, "secretValueEdit").setText(value)


@pytest.mark.usefixtures("no_keyring")
def test_a_secret_is_added_to_the_private_file_where_there_is_no_keyring(
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot
) -> None:
    dialog.show_secrets()
    _click(dialog, qtbot, "addSecretButton")
    qtbot.waitUntil(lambda: "no keyring" in _text(dialog, "secretNote"))
    _fill(dialog, "API_TOKEN", "abcd1234")
    _click(dialog, qtbot, "saveSecretButton")
    qtbot.waitUntil(lambda: len(_buttons(dialog, "replaceSecretButton")) == 1)
    assert [(one.name, one.place.value) for one in scheduler.secrets.list()] == [("API_TOKEN", "file")]


@pytest.mark.usefixtures("no_keyring")
def test_the_value_is_masked_and_gone_after_saving(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_secrets()
    _click(dialog, qtbot, "addSecretButton")
    qtbot.waitUntil(lambda: bool(_text(dialog, "secretNote")))
    value = _edit(dialog, "secretValueEdit")
    assert value.echoMode() is QLineEdit.EchoMode.Password
    _fill(dialog, "API_TOKEN", "abcd1234")
    _click(dialog, qtbot, "saveSecretButton")
    qtbot.waitUntil(lambda: not value.isVisible())
    assert value.text() == ""
    assert not any("abcd1234" in one.text() for one in dialog.findChildren(QLabel))


@pytest.mark.usefixtures("no_keyring")
def test_a_refused_secret_is_reported_in_the_form(
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot
) -> None:
    dialog.show_secrets()
    _click(dialog, qtbot, "addSecretButton")
    qtbot.waitUntil(lambda: bool(_text(dialog, "secretNote")))
    _fill(dialog, "API_TOKEN", "abc")
    QTest.keyClick(_edit(dialog, "secretValueEdit"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: _text(dialog, "secretError").startswith("A secret needs at least"))
    assert scheduler.secrets.list() == []
    assert dialog.focusWidget() is _edit(dialog, "secretValueEdit")
    assert not _edit(dialog, "secretValueEdit").isReadOnly()


@pytest.mark.usefixtures("no_keyring")
def test_a_refused_name_gets_the_keyboard(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_secrets()
    _click(dialog, qtbot, "addSecretButton")
    qtbot.waitUntil(lambda: bool(_text(dialog, "secretNote")))
    _fill(dialog, "hook token", "abcd1234")
    _edit(dialog, "secretValueEdit").setFocus()
    QTest.keyClick(_edit(dialog, "secretValueEdit"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "cannot name a secret" in _text(dialog, "secretError"))
    assert dialog.focusWidget() is _edit(dialog, "secretNameEdit")


def test_saving_waits_for_a_name_and_a_value(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.show_secrets()
    _click(dialog, qtbot, "addSecretButton")
    save = _buttons(dialog, "saveSecretButton")[0]
    assert not save.isEnabled()
    _fill(dialog, "API_TOKEN", "")
    assert not save.isEnabled()
    _fill(dialog, "API_TOKEN", "abcd1234")
    assert save.isEnabled()


@pytest.mark.usefixtures("no_keyring")
def test_a_secret_is_replaced_under_its_name(
    dialog: SettingsDialog, scheduler: Scheduler, clock: ManualClock, qtbot: QtBot
) -> None:
    scheduler.secrets.set("API_TOKEN", "abcd1234", in_file=True)
    clock.advance(_DAY)
    dialog.show_secrets()
    _click(dialog, qtbot, "replaceSecretButton")
    qtbot.waitUntil(lambda: bool(_text(dialog, "secretNote")))
    assert not _edit(dialog, "secretNameEdit").isEnabled()
    _edit(dialog, "secretValueEdit").setText("efgh5678")
    _click(dialog, qtbot, "saveSecretButton")
    qtbot.waitUntil(lambda: scheduler.secrets.list()[0].changed_at == _NOW + _DAY)


def test_a_secret_is_removed_after_a_second_word(
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot
) -> None:
    scheduler.secrets.set("API_TOKEN", "abcd1234", in_file=True)
    dialog.show_secrets()
    _click(dialog, qtbot, "removeSecretButton")
    assert len(scheduler.secrets.list()) == 1
    _click(dialog, qtbot, "confirmButton")
    qtbot.waitUntil(lambda: not _buttons(dialog, "removeSecretButton"))
    assert scheduler.secrets.list() == []


# --- For everyone ------------------------------------------------------------------------------------


def test_every_control_has_a_name_for_everyone(dialog: SettingsDialog, qtbot: QtBot) -> None:
    qtbot.waitUntil(_switch(dialog, "autostartSwitch").isEnabled)
    for page in range(10):
        _turn_to(dialog, page)
    controls = [
        one
        for kind in (
            Switch,
            QSpinBox,
            QPushButton,
            QToolButton,
            QListWidget,
            QRadioButton,
            QLineEdit,
            QPlainTextEdit,
        )
        for one in dialog.findChildren(kind)
    ]
    assert len(controls) > 30
    nameless = [
        one.objectName()
        for one in controls
        if one.objectName() != "qt_spinbox_lineedit"
        and not (one.accessibleName() or getattr(one, "text", str)())
    ]
    assert nameless == []


def test_the_switch_is_drawn_otherwise_when_it_is_on(appearance: Appearance, qtbot: QtBot) -> None:
    switch = Switch(appearance, "aSwitch", "A switch")
    qtbot.addWidget(switch)
    switch.resize(switch.sizeHint())
    off = switch.grab().toImage()
    switch.setChecked(True)
    assert switch.grab().toImage() != off


def test_a_page_is_created_on_first_use_and_shows_current_values(
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot
) -> None:
    qtbot.waitUntil(_switch(dialog, "autostartSwitch").isEnabled)
    scheduler.settings.change(max_concurrent=7)
    qtbot.wait(0)
    assert dialog.findChild(QSpinBox, "maxConcurrentSpin") is None
    _turn_to(dialog, _RUNNING)
    qtbot.waitUntil(lambda: _spin(dialog, "maxConcurrentSpin").value() == 7)


def test_tab_visits_agents_that_came_late_before_closing(
    dialog: SettingsDialog, scheduler: Scheduler, qtbot: QtBot
) -> None:
    qtbot.waitUntil(_switch(dialog, "autostartSwitch").isEnabled)
    dialog.show_agents()
    scheduler.settings.change(agents=(Agent(name="late", argv=("cat",)),))
    qtbot.waitUntil(lambda: len(_remove_buttons(dialog)) == 1)
    order = _tab_order(dialog)
    assert _remove_buttons(dialog)[0] in order
    assert order[-1] is _find(dialog, QPushButton, "closeButton")


def _remove_buttons(dialog: QWidget) -> list[QToolButton]:
    return [one for one in dialog.findChildren(QToolButton, "removeAgentButton") if one.isVisible()]


def _tab_order(dialog: SettingsDialog) -> list[QWidget]:
    """Go from the list with the Tab key until there is what closes."""
    close = _find(dialog, QPushButton, "closeButton")
    order = [_find(dialog, QListWidget, "settingsPages")]
    order[0].setFocus()
    while order[-1] is not close:
        QTest.keyClick(dialog, Qt.Key.Key_Tab)
        focused = dialog.focusWidget()
        assert focused is not None
        assert focused not in order
        order.append(focused)
    return order


@pytest.mark.parametrize("page", [_GENERAL, _RUNNING, _QUIET_TIMES, _AGENTS, _ASSISTANTS, _BACKUPS])
def test_tab_leads_from_the_list_over_the_page_to_closing(
    dialog: SettingsDialog, qtbot: QtBot, page: int
) -> None:
    qtbot.waitUntil(_switch(dialog, "autostartSwitch").isEnabled)
    for row in (_KEEPING, page):
        _turn_to(dialog, row)
    assert len(_tab_order(dialog)) > 2


def test_a_small_dialog_scrolls(dialog: SettingsDialog, qtbot: QtBot) -> None:
    for row in range(_GENERAL, _SECRETS + 1):
        _turn_to(dialog, row)
        dialog.resize(480, 380)
        page = dialog._page(row)
        qtbot.waitUntil(page.isVisible)
        assert (dialog.width(), dialog.height()) == (480, 380)
        content = _find(page, QWidget, "pageContent")
        assert content.width() >= content.minimumSizeHint().width(), row
        assert page.horizontalScrollBar().maximum() == content.width() - page.viewport().width() > 0, row
        dialog.resize(640, 420)
        assert page.horizontalScrollBar().maximum() == 0, row
        wrapped = [one for one in page.findChildren(QLabel) if one.isVisible() and one.wordWrap()]
        assert [one.text() for one in wrapped if one.heightForWidth(one.width()) > one.height()] == []


@pytest.mark.usefixtures("large_letters")
def test_with_large_letters_the_titles_of_settings_are_whole(dialog: SettingsDialog, qtbot: QtBot) -> None:
    dialog.resize(600, 420)
    for row in range(_GENERAL, _SECRETS + 1):
        _turn_to(dialog, row)
        page = dialog._page(row)
        qtbot.waitUntil(page.isVisible)
        shown = [one for one in page.findChildren(QLabel) if one.isVisible()]
        assert [one.text() for one in shown if one.minimumSizeHint().width() > one.width()] == [], row


@pytest.mark.usefixtures("large_letters")
def test_with_large_letters_the_names_of_pages_are_whole(dialog: SettingsDialog) -> None:
    dialog.resize(1366, 768)
    pages = dialog.findChild(QListWidget, "settingsPages")
    assert pages is not None
    assert pages.item(_GENERAL).text() == "General"
    assert pages.sizeHintForColumn(0) <= pages.viewport().width()
    dialog.resize(776, 544)
    assert pages.item(_GENERAL).text() == ""


@pytest.mark.usefixtures("large_letters")
def test_with_large_letters_the_dialog_is_larger(dialog: SettingsDialog) -> None:
    assert dialog.width() > min(900, dialog.screen().availableSize().width() - 40)
