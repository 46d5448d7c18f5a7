"""The HTTP request of a job."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.model import BodyKind, HttpRequest, Redirects
from ui.backend.backend import Backend
from ui.editor.summary import joined
from ui.forms.choices import Choice, Choices
from ui.forms.fields import Field, Findings, Page
from ui.forms.fold import Fold
from ui.forms.inputs import PlainText, SecretPicker, read_numbers, write_numbers
from ui.forms.rows import PairsEdit
from ui.forms.templates import UNTYPED_URL
from ui.style.theme import GRID, HALF, MARGIN, Appearance, mono_font
from ui.widgets.arrange import show_if

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_LINES = 6
_WITHOUT_BODY = ("GET", "HEAD")
_EMPTY_URLS = ("", "http://", "https://")


class HttpForm(QWidget):
    """Method, URL, headers, body, and which responses count as success."""

    changed = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, page: Page, parent: QWidget) -> None:
        super().__init__(parent)
        self._build_address()
        self._headers = PairsEdit(
            backend,
            appearance,
            name="headers",
            key_title=self.tr("Header"),
            add_title=self.tr("Add a header"),
            examples=("Authorization", "Bearer ${secret:TOKEN}"),
            ignore_case=True,
        )
        self._headers.secret_wanted.connect(page.secret_wanted)
        self._build_body(backend, appearance, page)
        self._build_answer()
        self._answer = Fold(appearance, self.tr("Response and redirects"), name="answerFold")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MARGIN)
        for field in self._fields():
            page.watch_field(field)
            layout.addWidget(field)
        for field in self._answer_fields():
            page.watch_field(field)
            self._answer.add(field)
        layout.addWidget(self._answer)
        self._connect()

    def _fields(self) -> list[Field]:
        address = QWidget()
        address.setObjectName("addressRow")
        row = QHBoxLayout(address)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(self._method)
        row.addWidget(self._url, 1)
        return [
            Field(
                self.tr("URL"),
                address,
                path="action.url",
                also_path="action.method",
                subject=self.tr("The URL"),
                target=self._url,
            ),
            Field(
                self.tr("Headers"),
                self._headers,
                path="action.headers",
                subject=self.tr("The header"),
                hint=self.tr("Use the key to insert a secret. Only its name is stored here."),
            ),
            self._body_field,
        ]

    def _answer_fields(self) -> list[Field]:
        return [
            Field(
                self.tr("Success status codes"),
                self._statuses,
                path="action.expected_statuses",
                subject=self.tr("The status code"),
            ),
            Field(
                self.tr("Redirects"), self._redirects, path="action.redirects", subject=self.tr("The choice")
            ),
        ]

    def _build_address(self) -> None:
        self._method = QComboBox()
        self._method.setObjectName("method")
        self._method.setAccessibleName(self.tr("Method"))
        self._method.setEditable(True)
        self._method.addItems(_METHODS)
        line = self._method.lineEdit()
        if line is not None:
            line.setAccessibleName(self._method.accessibleName())
        self._method.setFixedWidth(112)
        self._url = QLineEdit()
        self._url.setObjectName("url")
        self._url.setAccessibleName(self.tr("URL"))
        self._url.setPlaceholderText("https://example.org/ping")
        self._url.setFont(mono_font(self._url.font()))

    def _build_body(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        self._kind = Choices(
            appearance,
            (Choice(BodyKind.TEXT, self.tr("Text")), Choice(BodyKind.JSON, "JSON")),
            name="bodyKind",
            title=self.tr("Body type"),
        )
        self._body = PlainText(name="body", title=self.tr("Body"))
        self._body.setFont(mono_font(self._body.font()))
        self._body.setFixedHeight(self._body.fontMetrics().lineSpacing() * _LINES)
        picker = SecretPicker(backend, appearance, self, name="bodySecret")
        picker.picked.connect(self._body.insertPlainText)
        picker.new_wanted.connect(page.secret_wanted)
        self._body_part = QWidget()
        self._body_part.setObjectName("bodyPart")
        head = QHBoxLayout()
        head.setSpacing(HALF)
        head.addWidget(self._kind, 1)
        head.addWidget(picker.button)
        layout = QVBoxLayout(self._body_part)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addLayout(head)
        layout.addWidget(self._body)
        self._body_field = Field(
            self.tr("Body"),
            self._body_part,
            path="action.body",
            subject=self.tr("The body"),
            target=self._body,
        )

    def _build_answer(self) -> None:
        self._statuses = QLineEdit()
        self._statuses.setObjectName("expectedStatuses")
        self._statuses.setAccessibleName(self.tr("Success status codes"))
        self._statuses.setPlaceholderText(self.tr("200 to 299"))
        self._statuses.setMaximumWidth(240)
        self._redirects = QComboBox()
        self._redirects.setObjectName("redirects")
        self._redirects.setAccessibleName(self.tr("Redirects"))
        self._redirects.setMaximumWidth(240)
        for value, words in (
            (Redirects.SAME_HOST, self.tr("Follow on the same host")),
            (Redirects.ANY, self.tr("Follow anywhere")),
            (Redirects.NONE, self.tr("Don't follow")),
        ):
            self._redirects.addItem(words, value)

    def _connect(self) -> None:
        self._method.editTextChanged.connect(self._announce_change)
        self._url.textChanged.connect(self._announce_change)
        self._headers.changed.connect(self._announce_change)
        self._kind.chosen.connect(self._announce_change)
        self._body.textChanged.connect(self._announce_change)
        self._statuses.textChanged.connect(self._announce_change)
        self._redirects.currentIndexChanged.connect(self._announce_change)

    def load(self, request: HttpRequest | None) -> None:
        """Show a request."""
        if request is not None:
            self._method.setEditText(request.method)
            self._url.setText("" if request.url == UNTYPED_URL else request.url)
            self._url.setCursorPosition(0)
            self._headers.set_pairs(request.headers)
            self._kind.choose(request.body_kind)
            self._body.show_text(request.body)
            self._statuses.setText(write_numbers(request.expected_statuses))
            self._redirects.setCurrentIndex(self._redirects.findData(request.redirects))
        self._summarise()
        self._show_body()

    def read(self, findings: Findings) -> HttpRequest | None:
        """Return the request, or None after recording the problems."""
        headers = findings.take("action.headers", self._headers.pairs)
        statuses = findings.take("action.expected_statuses", lambda: read_numbers(self._statuses.text()))
        url = self._url.text().strip()
        if url in _EMPTY_URLS:
            findings.miss("action.url", self.tr("Enter a URL."))
            return None
        body = self._body.toPlainText()
        # An empty body is not JSON, but valid.
        kind = BodyKind(self._kind.value) if body else BodyKind.TEXT
        request = findings.take(
            "action",
            lambda: HttpRequest(
                url=url,
                method=self._method.currentText().strip(),
                headers=headers or {},
                body=body,
                body_kind=kind,
                expected_statuses=statuses or (),
                redirects=self._redirects.currentData(),
            ),
        )
        return None if headers is None or statuses is None else request

    def _announce_change(self) -> None:
        self._summarise()
        self._show_body()
        self.changed.emit()

    def _show_body(self) -> None:
        has_none = self._method.currentText().strip().upper() in _WITHOUT_BODY
        show_if(self._body_field, not has_none or bool(self._body.toPlainText()))

    def _summarise(self) -> None:
        statuses = self._statuses.text().strip()
        self._answer.set_summary(
            joined(
                self.tr("Success: {statuses}").format(statuses=statuses or "2xx"),
                self._redirects.currentText().lower(),
            )
        )
