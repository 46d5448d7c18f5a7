"""The kinds of work queues: a folder with one file per item, and the issues of a GitHub repository."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model.actions import FolderSource, GithubSource
from ui.backend.backend import Asked, Backend, Lane
from ui.editor.summary import joined
from ui.forms.fields import Field, Findings, Page
from ui.forms.fold import Fold
from ui.forms.inputs import DirectoryEdit, SecretPicker
from ui.forms.rows import explanations
from ui.style.theme import GRID, HALF, MARGIN, Appearance, mono_font
from ui.style.wording import one_line
from ui.widgets.arrange import show_if
from ui.widgets.labels import button, label, set_role

# While typing, nearly every prefix of a path is a missing folder.
_PATIENCE_MS = 400
_READY = "ready"
_FOLDER_PATH = "action.work_source.path"
_GITHUB_PATH = "action.work_source"
_DEFAULTS = GithubSource(repository="o/n")


class MissingFolder(QWidget):
    """Checks whether a work folder exists; hidden while it does."""

    noticed = Signal()
    """It is known whether the folder exists."""
    created = Signal()

    def __init__(self, backend: Backend, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._backend = backend
        self.is_missing = False
        self._path = ""
        self._asked: Asked | None = None
        self._words = label("", "warn", wrap=True, name=f"{name}Words")
        self._create = button(
            self.tr("Create folder"),
            name=f"{name}Create",
            tip=self.tr("Create the folder with a “ready” folder inside"),
        )
        self._create.setAutoDefault(False)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(self._words, 1)
        layout.addWidget(self._create)
        self._timer = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._timer.timeout.connect(self._check_now)
        self._create.clicked.connect(self._make)
        self.hide()

    def check(self, path: str) -> None:
        """Check a folder after a pause in typing."""
        self._path = path
        self._forget()
        self._set_missing(is_missing=False)
        self._timer.start()

    def _set_missing(self, *, is_missing: bool) -> None:
        self.is_missing = is_missing
        show_if(self, is_missing)

    def _forget(self) -> None:
        if self._asked is not None:
            self._asked.cancel()

    def _check_now(self) -> None:
        path = self._path
        self._asked = self._backend.ask(
            lambda _scheduler: _is_missing(path), self._show, self._ignore, owner=self, lane=Lane.SLOW
        )

    def _show(self, is_missing: bool) -> None:  # noqa: FBT001 - an answer
        set_role(self._words, "warn")
        self._words.setText(self.tr("This folder doesn't exist yet."))
        self._set_missing(is_missing=is_missing)
        self.noticed.emit()

    def _make(self) -> None:
        path = self._path
        self._forget()
        self._asked = self._backend.ask(
            lambda _scheduler: _why_not_made(path), self._show_made, self._ignore, owner=self, lane=Lane.SLOW
        )

    def _show_made(self, why_not: str) -> None:
        if why_not:
            set_role(self._words, "error")
            self._words.setText(
                self.tr("The folder couldn't be created: {reason}.").format(reason=one_line(why_not))
            )
            return
        self._set_missing(is_missing=False)
        self.created.emit()

    def _ignore(self, _error: SchedulerError) -> None:
        """Ignored: the request never uses the scheduler."""


def _is_missing(path: str) -> bool:
    """Return whether nothing exists at an absolute path; other errors are reported by the field."""
    try:
        place = Path(path).expanduser()
        place.stat()
    except FileNotFoundError:
        return place.is_absolute()
    except (OSError, RuntimeError, ValueError):
        return False
    return False


def _why_not_made(path: str) -> str:
    """Create a work folder; return why that failed, or an empty text."""
    try:
        (Path(path).expanduser() / _READY).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    except (RuntimeError, ValueError) as error:
        return str(error)
    return ""


class FolderForm(QWidget):
    """The folder, and an explanation of its subfolders."""

    changed = Signal()
    noticed = Signal()
    """It is now known whether the folder exists."""

    def __init__(self, backend: Backend, appearance: Appearance, page: Page) -> None:
        super().__init__()
        self._folder = DirectoryEdit(
            appearance, name="workFolder", title=self.tr("Work folder"), placeholder="~/tasks"
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GRID)
        layout.addWidget(
            page.watch_field(
                Field(self.tr("Folder"), self._folder, path=_FOLDER_PATH, subject=self.tr("The folder"))
            )
        )
        self._missing = MissingFolder(backend, name="workFolderMissing")
        layout.addWidget(self._missing)
        layout.addWidget(self._explanation())
        self._folder.changed.connect(self._announce_change)
        self._missing.noticed.connect(self.noticed)
        self._missing.created.connect(self.changed)

    def _explanation(self) -> QWidget:
        return explanations(
            ("ready/", self.tr("waiting items, one file each")),
            ("in-progress/", self.tr("item in progress")),
            ("done/", self.tr("finished items")),
            ("failed/", self.tr("failed items")),
        )

    def load(self, source: FolderSource) -> None:
        """Show a folder."""
        self._folder.line.setText(source.path)
        self._folder.line.setCursorPosition(0)

    def read(self, findings: Findings) -> FolderSource | None:
        """Return the folder, or None after recording the problems."""
        path = self._path
        if not path.strip():
            findings.miss(_FOLDER_PATH, self.tr("Choose a folder."))
            return None
        return findings.take("action.work_source", lambda: FolderSource(path=path))

    def _announce_change(self) -> None:
        self._missing.check(self._path)
        self.changed.emit()

    @property
    def _path(self) -> str:
        return self._folder.line.text().lstrip()

    def words(self) -> str:
        """Return a summary of the folder."""
        path = self._path.rstrip()
        if not path:
            return self.tr("a folder")
        words = self.tr("folder {path}").format(path=path)
        return joined(words, self.tr("doesn't exist yet") if self._missing.is_missing else "")


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
        self._comments = QCheckBox(self.tr("Comment on the issue when a run ends"))
        self._comments.setObjectName("workComments")
        self._server = Fold(appearance, self.tr("Server"), name="workServerFold")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(MARGIN)
        for widget in self._parts(backend, appearance, page):
            layout.addWidget(widget)
        self._closes.toggled.connect(self.changed)
        self._comments.toggled.connect(self.changed)
        for line in (self._repository, self._token, self._ready, self._in_progress, self._base_url):
            line.textChanged.connect(self._announce_change)
        self._fill_in(_DEFAULTS)
        self._repository.clear()

    def _parts(self, backend: Backend, appearance: Appearance, page: Page) -> list[QWidget]:
        repository = Field(
            self.tr("Repository"),
            self._repository,
            path=f"{_GITHUB_PATH}.repository",
            subject=self.tr("The repository"),
        )
        token = Field(
            self.tr("Token"),
            self._token_row(backend, appearance, page),
            path=f"{_GITHUB_PATH}.token",
            subject=self.tr("The secret's name"),
            target=self._token,
            hint=self.tr(
                "Name of the secret that holds the token. It needs write access to issues: taking one "
                "changes its labels."
            ),
        )
        ready = Field(
            self.tr("“Ready” label"), self._ready, path=f"{_GITHUB_PATH}.ready", subject=self.tr("The label")
        )
        in_progress = Field(
            self.tr("“In progress” label"),
            self._in_progress,
            path=f"{_GITHUB_PATH}.in_progress",
            subject=self.tr("The label"),
        )
        closes = Field("", self._closes, path=f"{_GITHUB_PATH}.closes", subject=self.tr("The choice"))
        comments = Field("", self._comments, path=f"{_GITHUB_PATH}.comments", subject=self.tr("The choice"))
        server = Field(
            self.tr("API URL"),
            self._base_url,
            path=f"{_GITHUB_PATH}.base_url",
            subject=self.tr("The URL"),
            hint=self.tr("For GitHub Enterprise Server: https://HOST/api/v3"),
        )
        for field in (repository, token, ready, in_progress, closes, comments, server):
            page.watch_field(field)
        labels = QWidget()
        row = QHBoxLayout(labels)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        row.addWidget(ready, 1)
        row.addWidget(in_progress, 1)
        self._server.add(server)
        return [repository, token, labels, closes, comments, self._server]

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
        self._comments.setChecked(source.comments)
        self._summarise()

    def read(self, findings: Findings) -> GithubSource | None:
        """Return the source, or None after recording the problems."""
        repository = self._repository.text().strip()
        if not repository:
            findings.miss(f"{_GITHUB_PATH}.repository", self.tr("Enter a repository, like owner/name."))
            return None
        return findings.take(
            _GITHUB_PATH,
            lambda: GithubSource(
                repository=repository,
                token=self._token.text().strip(),
                ready=self._ready.text(),
                in_progress=self._in_progress.text(),
                base_url=self._base_url.text().strip(),
                closes=self._closes.isChecked(),
                comments=self._comments.isChecked(),
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
