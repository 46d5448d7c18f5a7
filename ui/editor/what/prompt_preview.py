"""What an agent will read: a prompt as it would be if a run started now."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import JobSpec
from ui.backend.backend import Asked, Backend
from ui.forms.fold import Fold
from ui.forms.plain_text import GrowingText
from ui.forms.problems import as_sentence
from ui.forms.seen import show_if
from ui.style.theme import Look
from ui.widgets.labels import label

_MOST_LINES = 10
_LONGEST = 20_000


class PromptPreview(QWidget):
    """Shows the rendered prompt of a job as it is being edited; folded, its first words."""

    def __init__(self, backend: Backend, look: Look, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._backend = backend
        self._asked: Asked | None = None
        self._fold = Fold(look, self.tr("What the agent reads"), name=f"{name}Fold")
        title = self.tr("What the agent reads")
        self._text = GrowingText(name=f"{name}Text", title=title, least=1, most=_MOST_LINES)
        self._text.setReadOnly(True)
        self._text.setProperty("kind", "read")
        self._text.document().setDocumentMargin(0)
        self._words = label("", "muted", wrap=True, name=f"{name}Words")
        self._fold.add(self._text)
        self._fold.add(self._words)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._fold)
        self.show_nothing()

    def look_ahead(self, spec: JobSpec, job_id: str | None) -> None:
        """Ask for the prompt of a job on another thread: what its last run printed is read from the disk."""
        self._forget()
        self._asked = self._backend.ask(
            lambda scheduler: scheduler.preview_prompt(spec, job_id), self._show, self._refuse, owner=self
        )

    def show_nothing(self) -> None:
        """Say that the prompt cannot be read yet: why stands beside what is wrong."""
        self._forget()
        self._say(self.tr("Shown once this page is in order."))

    def _forget(self) -> None:
        if self._asked is not None:
            self._asked.cancel()

    def _show(self, text: str) -> None:
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        if shown != self._text.toPlainText():
            place = self._text.verticalScrollBar().value()
            self._text.show_text(shown)
            self._text.verticalScrollBar().setValue(place)
        self._fold.set_summary(shown)
        show_if(self._words, is_wanted=False)
        show_if(self._text, is_wanted=True)

    def _refuse(self, error: SchedulerError) -> None:
        self._say(as_sentence("", str(error)))

    def _say(self, sentence: str) -> None:
        self._words.setText(sentence)
        self._fold.set_summary(sentence)
        show_if(self._text, is_wanted=False)
        show_if(self._words, is_wanted=True)
