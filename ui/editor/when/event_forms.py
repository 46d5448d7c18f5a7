"""The forms of the events that start a job."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit

from halo_scheduler.model import Entry, FileEvent, OnChat, OnFile, OnSession, OnWebhook, SessionEvent
from halo_scheduler.model.chat import DIRECT, require_people
from ui.forms.fields import Field, Findings, Page
from ui.forms.inputs import DirectoryEdit, IntervalEdit
from ui.forms.rows import link, optional_interval, set_optional
from ui.style.theme import HALF, Appearance, mono_font
from ui.widgets.boxes import let_shrink
from ui.widgets.labels import label

from .schedule_forms import ScheduleForm

_NEW_DELAY = "1m"


class FileForm(ScheduleForm):
    """A folder, a pattern for file names, and the file event."""

    def __init__(self, appearance: Appearance, page: Page) -> None:
        super().__init__(page)
        self._folder = DirectoryEdit(
            appearance, name="watchedFolder", title=self.tr("Folder"), placeholder="~/Inbox"
        )
        self._match = QLineEdit("*")
        self._match.setObjectName("fileMatch")
        self._match.setAccessibleName(self.tr("File names"))
        self._match.setFont(mono_font(self._match.font()))
        self._on = _event_box(
            "fileEvent",
            self.tr("When a file"),
            (
                (FileEvent.APPEARS, self.tr("appears")),
                (FileEvent.CHANGES, self.tr("changes")),
                (FileEvent.VANISHES, self.tr("is removed")),
            ),
        )
        self._settle = IntervalEdit(self.tr("Unchanged for"), name="settle")
        self._settle.set_text(OnFile("/").settle)
        for field in (
            Field(self.tr("When a file"), self._on, path="schedule.on"),
            Field(
                self.tr("In the folder"),
                self._folder,
                path="schedule.path",
                subject=self.tr("The folder"),
                hint=self.tr("The path of the file is the input of the run."),
            ),
            Field(
                self.tr("File names"),
                self._match,
                path="schedule.match",
                subject=self.tr("The pattern"),
                hint=self.tr("* stands for any text: *.pdf"),
            ),
            Field(
                self.tr("Once it has been unchanged for"),
                self._settle,
                path="schedule.settle",
                subject=self.tr("The time"),
            ),
        ):
            self.column.addWidget(page.watch_field(field))
        self._folder.changed.connect(self.changed)
        self._match.textChanged.connect(self.changed)
        self._on.currentIndexChanged.connect(self.changed)
        self._settle.changed.connect(self.changed)

    def focus_first(self) -> None:
        self._folder.line.setFocus()

    def load(self, event: OnFile) -> None:
        """Show an event."""
        self._folder.line.setText(event.path)
        self._folder.line.setCursorPosition(0)
        self._match.setText(event.match)
        self._on.setCurrentIndex(self._on.findData(event.on))
        self._settle.set_text(event.settle)

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:  # noqa: ARG002 - not about times
        path = self._folder.line.text().strip()
        if not path:
            findings.miss("schedule.path", self.tr("Enter a folder."))
            return []
        return self.taken(
            findings,
            lambda: OnFile(
                path,
                self._match.text().strip() or "*",
                FileEvent(self._on.currentData()),
                self._settle.text,
            ),
        )


class SessionForm(ScheduleForm):
    """An event of the computer or the session, and a delay."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._on = _event_box(
            "sessionEvent",
            self.tr("When this happens"),
            (
                (SessionEvent.LOGIN, self.tr("You log in")),
                (SessionEvent.BOOT, self.tr("The computer starts")),
                (SessionEvent.WAKE, self.tr("The computer wakes up")),
                (SessionEvent.UNLOCK, self.tr("The screen is unlocked")),
                (SessionEvent.NETWORK, self.tr("The network comes up")),
                (SessionEvent.MAINS, self.tr("The computer is plugged in")),
            ),
        )
        self._has_delay = QCheckBox(self.tr("Delay by"))
        self._has_delay.setObjectName("hasSessionDelay")
        self._delay = IntervalEdit(self.tr("Delay"), name="sessionDelay")
        self._delay.set_text(_NEW_DELAY)
        set_optional(self._has_delay, self._delay, is_on=False)
        for field in (
            Field(self.tr("When this happens"), self._on, path="schedule.on"),
            Field(
                "",
                optional_interval("sessionDelayRow", self._has_delay, self._delay),
                path="schedule.delay",
                subject=self.tr("The delay"),
            ),
        ):
            self.column.addWidget(page.watch_field(field))
        self._on.currentIndexChanged.connect(self.changed)
        self._has_delay.toggled.connect(self.changed)
        self._delay.changed.connect(self.changed)

    def focus_first(self) -> None:
        self._on.setFocus()

    def load(self, event: OnSession) -> None:
        """Show an event."""
        self._on.setCurrentIndex(self._on.findData(event.on))
        self._delay.set_text(event.delay or _NEW_DELAY)
        set_optional(self._has_delay, self._delay, is_on=event.delay is not None)

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:  # noqa: ARG002 - not about times
        delay = self._delay.text if self._has_delay.isChecked() else None
        return self.taken(findings, lambda: OnSession(SessionEvent(self._on.currentData()), delay))


class WebhookForm(ScheduleForm):
    """No fields: a webhook gets its address in the settings once the job is saved."""

    settings_wanted = Signal()

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.column.setSpacing(HALF)
        self.column.addWidget(
            label(
                self.tr(
                    "Runs when another program calls this job's webhook. The body of the request is the run's input. "
                    "Once the job is saved, create its address in the settings."
                ),
                wrap=True,
            )
        )
        self._settings = link(self.tr("Webhook settings…"), name="webhookSettings")
        self._settings.clicked.connect(self.settings_wanted)
        self.column.addWidget(self._settings, alignment=Qt.AlignmentFlag.AlignLeft)

    def focus_first(self) -> None:
        self._settings.setFocus()

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:  # noqa: ARG002 - nothing to fill in
        return [Entry(OnWebhook())]


class ChatForm(ScheduleForm):
    """A bot, a conversation, and the people who may start the job."""

    settings_wanted = Signal()

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._channel = QLineEdit()
        self._channel.setObjectName("chatChannel")
        self._channel.setPlaceholderText(f"family/{DIRECT}")
        self._people = QLineEdit()
        self._people.setObjectName("chatPeople")
        self._people.setPlaceholderText("123456789, @anna")
        self._settings = link(self.tr("Chat settings…"), name="chatSettings")
        for field in (
            Field(
                self.tr("When somebody writes to"),
                self._channel,
                path="schedule.channel",
                subject=self.tr("This"),
                hint=self.tr(
                    "A bot and a conversation: family/direct for direct messages, family/-100123 for a group. "
                    "The message is the run's input; the run's output is the reply."
                ),
            ),
            Field(
                self.tr("Who may start the job"),
                self._people,
                path="schedule.people",
                subject=self.tr("This"),
                hint=self.tr(
                    "Ids or @names, separated by commas. If empty: the people permitted for the bot."
                ),
            ),
        ):
            self.column.addWidget(page.watch_field(field))
        self.column.addWidget(self._settings, alignment=Qt.AlignmentFlag.AlignLeft)
        self._channel.setAccessibleName(self.tr("When somebody writes to"))
        self._people.setAccessibleName(self.tr("Who may start the job"))
        self._settings.clicked.connect(self.settings_wanted)
        self._channel.textChanged.connect(self.changed)
        self._people.textChanged.connect(self.changed)

    def focus_first(self) -> None:
        self._channel.setFocus()

    def load(self, event: OnChat) -> None:
        """Show an event."""
        self._channel.setText(event.channel)
        self._people.setText(", ".join(event.from_))

    def read(self, findings: Findings, now_ms: int) -> list[Entry]:  # noqa: ARG002 - not about times
        channel = self._channel.text().strip()
        if not channel:
            findings.miss("schedule.channel", self.tr("Enter a bot and a conversation."))
            return []
        given = self._people.text().replace(",", " ").split()
        people = findings.take("schedule.people", lambda: require_people("", given))
        return [] if people is None else self.taken(findings, lambda: OnChat(channel, people))


def _event_box(name: str, title: str, events: Sequence[tuple[StrEnum, str]]) -> QComboBox:
    made = QComboBox()
    made.setObjectName(name)
    made.setAccessibleName(title)
    let_shrink(made)
    for event, words in events:
        made.addItem(words, event)
    return made
