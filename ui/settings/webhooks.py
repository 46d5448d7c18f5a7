"""The webhooks page: the listener's state, and the addresses of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QSignalBlocker, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QPushButton, QSpinBox, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.changes import Change, ChangeKind
from halo_scheduler.model.settings import Settings
from halo_scheduler.model.webhooks import LOOPBACK, JobWebhook, Place, WebhookStatus
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.webhooks import (
    OPEN_WARNING,
    curl_line,
    masked_address,
    open_words,
    signature_words,
)
from ui.style.theme import GRID, HALF, MARGIN, Appearance, scaled
from ui.style.wording import one_line
from ui.widgets.labels import button, label

from .basic_pages import Switch
from .page import Card, Confirmation, CopyField, Page, Row, SettingsLink, sentence

_FIELD_WIDTH = 96
_LOWEST_PORT, _HIGHEST_PORT = 1_024, 65_535
_LONGEST_NAME = 50
# The listener opens and closes soon after a change, without a notification.
_AGAIN_MS = 2_000


@dataclass(frozen=True, slots=True)
class _Shown:
    """The data of the page besides the settings."""

    status: WebhookStatus
    place: Place
    jobs: tuple[JobWebhook, ...]


class WebhooksPage(Page):
    """Turns webhooks on and creates addresses of jobs; a new address is shown until the page is left."""

    def __init__(self, link: SettingsLink, appearance: Appearance) -> None:
        super().__init__()
        self._link = link
        self._appearance = appearance
        self._shown: _Shown | None = None
        self._fresh: dict[str, str] = {}
        self._last_made = ""
        self._confirmation: Confirmation | None = None
        self.add_title(
            self.tr("Webhooks"),
            self.tr(
                "Other programs can start jobs over HTTP. Halo opens a port only while this is on "
                "and a job has a webhook."
            ),
        )
        self._add_place()
        self.add(label(self.tr("Addresses"), "strong"))
        self._message = label("", "error", name="webhooksError", wrap=True)
        self._message.hide()
        self.add(self._message)
        self._card = Card()
        self._card.setObjectName("webhookJobs")
        self.add(self._card)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.timeout.connect(self.refresh)
        link.follow(self._show_settings)
        link.backend.changed.connect(self._notice)

    def refresh(self) -> None:
        """Load the listener's state and the jobs."""
        self._link.backend.ask(_read, self._show, self._fail, owner=self)
        if self.isVisible():
            self._again.start(_AGAIN_MS)

    # --- The listener --------------------------------------------------------------------------------

    def _add_place(self) -> None:
        self._switch = Switch(self._appearance, "webhooksSwitch", self.tr("Receive webhooks"))
        self._switch_row = Row(self.tr("Receive &webhooks"), " ", self._switch)
        self._switch_row.hint.setObjectName("webhooksOpen")
        self._switch.toggled.connect(
            lambda is_on: self._link.change(self._switch_row.show_error, webhooks=is_on)
        )
        self._port = QSpinBox()
        self._port.setObjectName("webhookPortSpin")
        self._port.setRange(_LOWEST_PORT, _HIGHEST_PORT)
        self._port.setFixedWidth(scaled(_FIELD_WIDTH))
        self._port.setKeyboardTracking(False)
        self._port.lineEdit().setTextMargins(HALF, 0, 0, 0)
        self._port_row = Row(
            self.tr("&Port"), self.tr("This also changes the webhook addresses."), self._port
        )
        self._port.valueChanged.connect(
            lambda value: self._link.change(self._port_row.show_error, webhook_port=value)
        )
        self._close_off = button(self.tr("&This computer only"), name="webhooksLocalButton")
        self._address_row = Row("", OPEN_WARNING, self._close_off)
        self._close_off.clicked.connect(
            lambda: self._link.change(self._address_row.show_error, webhook_address=LOOPBACK)
        )
        card = Card()
        card.add(self._switch_row)
        card.add(self._port_row)
        self.add(card)
        self._open_card = Card()
        self._open_card.setObjectName("webhooksOpenCard")
        self._open_card.add(self._address_row)
        self.add(self._open_card)

    def _show_settings(self, settings: Settings) -> None:
        with QSignalBlocker(self._switch), QSignalBlocker(self._port):
            self._switch.setChecked(settings.webhooks)
            self._port.setValue(settings.webhook_port)
        place = Place(settings.webhook_address, settings.webhook_port)
        self._open_card.setVisible(not place.is_local)
        self._address_row.show_title(
            self.tr("Open to other computers ({address})").format(address=settings.webhook_address)
        )
        if self.isVisible():
            self.refresh()

    def _notice(self, change: Change) -> None:
        if change.kind in (ChangeKind.JOB, ChangeKind.ENGINE) and self.isVisible():
            self.refresh()

    # --- The jobs ------------------------------------------------------------------------------------

    def _show(self, shown: _Shown) -> None:
        words = open_words(shown.status)
        words = f"{words[:1].upper()}{words[1:]}"
        is_faulty = shown.status.listener is not None and not shown.status.is_listening
        self._switch_row.show_hint("" if is_faulty else words)
        self._switch_row.show_error(words if is_faulty else "")
        if shown == self._shown:
            return
        has_same_jobs = self._shown is not None and (self._shown.jobs, self._shown.place) == (
            shown.jobs,
            shown.place,
        )
        self._shown = shown
        if not has_same_jobs:
            self._fill(shown)

    def _fill(self, shown: _Shown) -> None:
        self._confirmation = None
        self._card.clear()
        for job in shown.jobs:
            row, made = self._row(job, shown.place)
            self._card.add(row)
            token = self._fresh.get(job.job_id)
            if token is not None:
                self._insert_address(row, job, curl_line(shown.place, token))
            made.clicked.connect(partial(self._ask_or_make, row, job))
        if not shown.jobs:
            self._card.add(
                Row(
                    self.tr("No job has a webhook"),
                    self.tr("Choose “Webhook” on the When page of a job to give it one."),
                    None,
                )
            )

    def _row(self, job: JobWebhook, place: Place) -> tuple[Row, QPushButton]:
        name = one_line(job.name, _LONGEST_NAME)
        if job.webhook is None:
            text, hint = self.tr("Make address"), self.tr("No address yet")
        else:
            text = self.tr("Rotate…")
            hint = f"{masked_address(place, job.webhook)} · {signature_words(job.webhook)}"
        made = button(
            text,
            name="rotateWebhookButton",
            accessible=self.tr("{text} {name}").format(text=text.rstrip("…"), name=name),
        )
        row = Row(name.replace("&", "&&"), hint, made)
        row.setObjectName("webhookRow")
        return row, made

    def _insert_address(self, row: Row, job: JobWebhook, line: str) -> None:
        made = self._new_address(job, line)
        self._card.insert_below(row, made)
        if job.job_id == self._last_made:
            self._last_made = ""
            QTimer.singleShot(0, made, lambda: self._scroll_to(made))

    def _scroll_to(self, made: QWidget) -> None:
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        self.ensureWidgetVisible(made)

    def _new_address(self, job: JobWebhook, line: str) -> QWidget:
        made = QWidget()
        made.setObjectName("newWebhook")
        box = QVBoxLayout(made)
        box.setContentsMargins(MARGIN, 0, MARGIN, GRID + HALF)
        box.setSpacing(HALF)
        name = one_line(job.name, _LONGEST_NAME)
        title = self.tr("Command that starts {name}").format(name=name)
        box.addWidget(CopyField(self._appearance, line, name="curl", title=title))
        words = self.tr("Copy it now: the address is shown only once. Anyone who has it can start the job.")
        box.addWidget(label(words, "warn", wrap=True))
        return made

    def _ask_or_make(self, row: Row, job: JobWebhook) -> None:
        self._drop_confirmation()
        if job.webhook is None:
            self._make(job.job_id)
            return
        confirmation = Confirmation(
            self.tr("This creates a new address for {name}. The old one stops working at once.").format(
                name=one_line(job.name, _LONGEST_NAME)
            ),
            self.tr("Rotate"),
        )
        confirmation.confirmed.connect(partial(self._make, job.job_id))
        confirmation.cancelled.connect(self._drop_confirmation)
        self._card.insert_below(row, confirmation)
        self._confirmation = confirmation
        confirmation.take_focus()

    def _make(self, job_id: str) -> None:
        self._link.backend.ask(
            lambda scheduler: scheduler.webhooks.make_address(job_id),
            partial(self._take_token, job_id),
            self._fail,
            owner=self,
        )

    def _take_token(self, job_id: str, token: str) -> None:
        self._fresh[job_id] = token
        self._last_made = job_id
        self._shown = None
        self.refresh()

    def _fail(self, error: SchedulerError) -> None:
        self._drop_confirmation()
        self._message.setText(sentence(error))
        self._message.show()

    def _drop_confirmation(self) -> None:
        self._message.hide()
        if self._confirmation is not None:
            self._confirmation.hide()
            self._confirmation.deleteLater()
            self._confirmation = None

    # --- Qt ------------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._again.start(_AGAIN_MS)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        self._again.stop()
        if self._fresh:
            self._fresh.clear()
            self._shown = None


def _read(scheduler: Scheduler) -> _Shown:
    part = scheduler.webhooks
    return _Shown(part.status(), part.place, tuple(part.list()))
