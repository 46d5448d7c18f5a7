"""The issues of a GitHub repository as work queue."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.model.work_source import GithubSource
from ui.backend.backend import Backend
from ui.forms.fields import Field, Page
from ui.forms.fold import Fold
from ui.forms.problems import Findings
from ui.forms.secret_picker import SecretPicker
from ui.style.theme import GRID, HALF, MARGIN, Appearance, mono_font

_PATH = "action.work_source"
_DEFAULTS = GithubSource(repository="o/n")


class GithubForm(QWidget):
    """Repository, token and labels; the server is collapsed."""

    changed = Signal()

    def __init__(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self._repository = _line("workRepository", self.tr("Repository"), self.tr("owner/name"))
        self._token = _line("workToken", self.tr("Name of the token's secret"), self.tr("name of a secret"))
        self._ready = _line("workReady", self.tr("“Ready” label"), _DEFAULTS.ready)
        self._in_progress = _line("workInProgress", self.tr("“In progress” label"), _DEFAULTS.in_progress)
        self._base_url = _line("workBaseUrl", self.tr("API URL"), _DEFAULTS.base_url)
        self._closes = QCheckBox(self.tr("Close the issue when done"))
        self._closes.setObjectName("workCloses")
        self._server = Fold(appearance, self.tr("Server"), name="workServerFold")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MARGIN)
        for widget in self._parts(backend, appearance, page):
            layout.addWidget(widget)
        self._closes.toggled.connect(self.changed)
        for line in (self._repository, self._token, self._ready, self._in_progress, self._base_url):
            line.textChanged.connect(self._announce_change)
        self._fill_in(_DEFAULTS)
        self._repository.clear()

    def _parts(self, backend: Backend, appearance: Appearance, page: Page) -> list[QWidget]:
        repository = Field(
            self.tr("Repository"),
            self._repository,
            path=f"{_PATH}.repository",
            subject=self.tr("The repository"),
        )
        token = Field(
            self.tr("Token"),
            self._token_row(backend, appearance, page),
            path=f"{_PATH}.token",
            subject=self.tr("The secret's name"),
            target=self._token,
            hint=self.tr(
                "Name of the secret that holds the token. It needs write access to issues: taking one "
                "changes its labels."
            ),
        )
        ready = Field(
            self.tr("“Ready” label"), self._ready, path=f"{_PATH}.ready", subject=self.tr("The label")
        )
        in_progress = Field(
            self.tr("“In progress” label"),
            self._in_progress,
            path=f"{_PATH}.in_progress",
            subject=self.tr("The label"),
        )
        closes = Field("", self._closes, path=f"{_PATH}.closes", subject=self.tr("The choice"))
        server = Field(
            self.tr("API URL"),
            self._base_url,
            path=f"{_PATH}.base_url",
            subject=self.tr("The URL"),
            hint=self.tr("For GitHub Enterprise Server: https://HOST/api/v3"),
        )
        for field in (repository, token, ready, in_progress, closes, server):
            page.watch_field(field)
        labels = QWidget()
        row = QHBoxLayout(labels)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(ready, 1)
        row.addWidget(in_progress, 1)
        self._server.add(server)
        return [repository, token, labels, closes, self._server]

    def _token_row(self, backend: Backend, appearance: Appearance, page: Page) -> QWidget:
        picker = SecretPicker(backend, appearance, self, name="workTokenSecret")
        picker.named.connect(self._token.setText)
        picker.new_wanted.connect(page.secret_wanted)
        made = QWidget()
        made.setObjectName("workTokenRow")
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(HALF)
        row.addWidget(self._token, 1)
        row.addWidget(picker.button)
        return made

    def load(self, source: GithubSource) -> None:
        """Show a source."""
        self._fill_in(source)

    def _fill_in(self, source: GithubSource) -> None:
        for line, text in (
            (self._repository, source.repository),
            (self._token, source.token),
            (self._ready, source.ready),
            (self._in_progress, source.in_progress),
            (self._base_url, source.base_url),
        ):
            line.setText(text)
            line.setCursorPosition(0)
        self._closes.setChecked(source.closes)
        self._summarise()

    def read(self, findings: Findings) -> GithubSource | None:
        """Return the source, or None after recording the problems."""
        repository = self._repository.text().strip()
        if not repository:
            findings.miss(f"{_PATH}.repository", self.tr("Enter a repository, like owner/name."))
            return None
        return findings.take(
            _PATH,
            lambda: GithubSource(
                repository=repository,
                token=self._token.text().strip(),
                ready=self._ready.text(),
                in_progress=self._in_progress.text(),
                base_url=self._base_url.text().strip(),
                closes=self._closes.isChecked(),
            ),
        )

    def words(self) -> str:
        """Return a summary of the source."""
        repository = self._repository.text().strip()
        if not repository:
            return self.tr("GitHub issues")
        return self.tr("issues of {repository}").format(repository=repository)

    def _announce_change(self) -> None:
        self._summarise()
        self.changed.emit()

    def _summarise(self) -> None:
        self._server.set_summary(self._base_url.text().strip())


def _line(name: str, title: str, placeholder: str) -> QLineEdit:
    made = QLineEdit()
    made.setObjectName(name)
    made.setAccessibleName(title)
    made.setPlaceholderText(placeholder)
    made.setFont(mono_font(made.font()))
    return made
