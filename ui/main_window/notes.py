"""Notes above the content: a sentence, perhaps an action, and a close button."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from halo_scheduler.host.crash_file import Crash, dismiss_crash
from halo_scheduler.model.alarms import StoreTrouble
from halo_scheduler.wording.faults import trouble_text, trouble_title
from halo_scheduler.wording.measures import when_in_words
from ui.backend.backend import Backend
from ui.style.theme import GRID, HALF, MARGIN, Appearance, Tone
from ui.widgets.arrange import put_after
from ui.widgets.labels import WrappedText, button, frame, icon_button, tint
from ui.widgets.signs import LineIcon

UNDO_MS = 10_000
# The notes take at most this share of the window, each at most so many lines.
_SHARE, _MOST_LINES = 0.4, 4
_BY_IMPORTANCE = (
    "storeNote",
    "crashNote",
    "messageNote",
    "quittingNote",
    "importedNote",
    "newsNote",
    "closingNote",
    "autostartNote",
)


class UndoBar(QWidget):
    """Shows what was done, with an undo button, for a few seconds."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self.setObjectName("undoBar")
        self._undo_it: Callable[[], object] | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        box = frame("bar")
        row.addWidget(box)
        inner = QHBoxLayout(box)
        inner.setContentsMargins(MARGIN, HALF, GRID, HALF)
        inner.setSpacing(GRID)
        self._icon = LineIcon(appearance, "trash", Tone.MUTED)
        inner.addWidget(self._icon)
        self._text = WrappedText(appearance, name="undoText", most_lines=1)
        inner.addWidget(self._text, 1)
        self._undo = button(self.tr("Undo"), name="undoButton", shortcut="Ctrl+Z")
        tint(self._undo, appearance, "undo")
        self._undo.clicked.connect(self._take_back)
        inner.addWidget(self._undo)
        close = icon_button(appearance, "close", self.tr("Close"), name="undoClose")
        close.clicked.connect(self.close_bar)
        inner.addWidget(close)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(UNDO_MS)
        self._timer.timeout.connect(self.close_bar)
        self.setVisible(False)

    def offer(self, text: str, undo: Callable[[], object], icon: str = "trash") -> None:
        """Show what was done and offer to undo it."""
        self._undo_it = undo
        self._icon.set_icon(icon, Tone.MUTED)
        self._text.set_text(text)
        self.setVisible(True)
        self._timer.start()

    def close_bar(self) -> None:
        """Hide the bar and its undo button."""
        self._timer.stop()
        self._undo_it = None
        self.setVisible(False)

    def _take_back(self) -> None:
        undo = self._undo_it
        self.close_bar()
        if undo is not None:
            undo()


class Note(QWidget):
    """One sentence with a quiet background; hidden while it is empty."""

    acted = Signal()
    acted_otherwise = Signal()
    wanted_changed = Signal()
    """It has something to say, or no longer."""

    def __init__(
        self,
        appearance: Appearance,
        *,
        name: str,
        icon: str,
        tone: Tone,
        act: str = "",
        other_act: str = "",
        can_close: bool = True,
    ) -> None:
        super().__init__()
        self.setObjectName(name)
        self.is_wanted = False
        """Whether it has something to say; without room it is hidden nevertheless."""
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, 0, MARGIN, GRID)
        box = frame("note")
        box.setProperty("tone", tone.value)
        outer.addWidget(box)
        row = QHBoxLayout(box)
        row.setContentsMargins(GRID + HALF, HALF, HALF, HALF)
        row.setSpacing(GRID)
        row.addWidget(LineIcon(appearance, icon, tone))
        self._text = WrappedText(appearance, name=f"{name}Text", most_lines=_MOST_LINES)
        row.addWidget(self._text, 1)
        for words, suffix, acted in (
            (act, "Action", self.acted),
            (other_act, "OtherAction", self.acted_otherwise),
        ):
            if words:
                way_out = button(words, name=f"{name}{suffix}", kind="link")
                way_out.clicked.connect(acted)
                row.addWidget(way_out)
        if can_close:
            close = icon_button(appearance, "close", self.tr("Close"), name=f"{name}Close")
            close.clicked.connect(lambda: self._want(is_wanted=False))
            row.addWidget(close)
        self.setVisible(False)

    def text(self) -> str:
        return self._text.text()

    def show_text(self, text: str) -> None:
        """Show a sentence; an empty one hides the note."""
        self._text.set_text(text)
        self._want(is_wanted=bool(text))

    def _want(self, *, is_wanted: bool) -> None:
        self.is_wanted = is_wanted
        self.setVisible(is_wanted)
        self.wanted_changed.emit()


class Notes(QWidget):
    """The notes above the job table, each made when it is first needed."""

    autostart_wanted = Signal()
    quitting_cancelled = Signal()
    review_wanted = Signal()
    """The user wants to see the imported jobs."""
    resume_wanted = Signal()
    """The user wants to resume the imported jobs."""

    def __init__(self, backend: Backend, appearance: Appearance, before: QWidget, parent: QWidget) -> None:
        """Take the widget that precedes the notes in the tab order."""
        super().__init__(parent)
        self._backend = backend
        self._imported_count = 0
        self._crash_path: Path | None = None
        backend.trouble_changed.connect(self._show_trouble)
        backend.crash_found.connect(self._say_of_crash)
        self.setObjectName("notes")
        self._appearance = appearance
        self._before = before
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._shown_from = parent
        parent.installEventFilter(self)

    def _fit(self) -> None:
        """Show the notes that have room, the most important first; the others follow when there is more."""
        room = round(self._shown_from.height() * _SHARE)
        rank = {name: place for place, name in enumerate(_BY_IMPORTANCE)}
        wanted = [note for note in self.findChildren(Note) if note.is_wanted]
        for place, note in enumerate(sorted(wanted, key=lambda note: rank[note.objectName()])):
            room -= note.heightForWidth(self._shown_from.width())
            note.setVisible(place == 0 or room >= 0)

    def say(self, text: str) -> None:
        """Show an error until it is closed; an empty text hides it."""
        if text or "_message" in vars(self):
            self._message.show_text(text)

    def say_news(self, text: str) -> None:
        """Show good news until it is closed; an empty text hides it."""
        if text or "_news" in vars(self):
            self._news.show_text(text)

    def say_of_closing(self, text: str) -> None:
        """Show what closing the window does; an empty text hides it."""
        if text or "_closing" in vars(self):
            self._closing.show_text(text)

    def say_of_imported(self, count: int) -> None:
        """Show how many imported jobs are paused, until they are resumed or this is closed."""
        if count == self._imported_count:
            return
        self._imported_count = count
        one = self.tr("1 imported job is paused until you review it.")
        many = self.tr("{count} imported jobs are paused until you review them.")
        text = one if count == 1 else many.format(count=count)
        if count or "_imported" in vars(self):
            self._imported.show_text(text if count else "")

    @cached_property
    def _imported(self) -> Note:
        made = Note(
            self._appearance,
            name="importedNote",
            icon="info",
            tone=Tone.ACCENT,
            act=self.tr("Review"),
            other_act=self.tr("Resume all"),
        )
        made.acted.connect(self.review_wanted)
        made.acted_otherwise.connect(self.resume_wanted)
        return self._added(made)

    def say_of_quitting(self, *, is_quitting: bool) -> None:
        """Show that Halo quits when current runs finish, and offer to cancel that."""
        if is_quitting or "_quitting" in vars(self):
            words = self.tr("Halo will quit when current runs finish. Quit again for other options.")
            self._quitting.show_text(words if is_quitting else "")

    @cached_property
    def _quitting(self) -> Note:
        made = Note(
            self._appearance,
            name="quittingNote",
            icon="info",
            tone=Tone.ACCENT,
            act=self.tr("Cancel quitting"),
            can_close=False,
        )
        made.acted.connect(self.quitting_cancelled)
        return self._added(made)

    def say_of_autostart(self, text: str) -> None:
        """Show that Halo does not start at login, and offer it; an empty text hides it."""
        if text or "_autostart" in vars(self):
            self._autostart.show_text(text)

    def _show_trouble(self, trouble: StoreTrouble | None) -> None:
        """Show the store's problem while it lasts."""
        if trouble is None:
            self._store.show_text("")
        else:
            text = trouble_text(trouble, self._backend.path, self._backend.now_ms())
            self._store.show_text(f"{trouble_title(trouble)}. {text}")

    def _say_of_crash(self, crash: Crash | None) -> None:
        """Show once that Halo crashed or had an internal error, and offer the crash file."""
        if crash is None:
            return
        self._crash_path = crash.path
        when = when_in_words(crash.at_ms, self._backend.now_ms())
        if crash.has_ended:
            words = self.tr("Halo ended unexpectedly {when}. The details are kept on this computer only.")
        else:
            words = self.tr("Halo had an internal error {when}. The details are kept on this computer only.")
        self._crash.show_text(words.format(when=when))

    def _open_crash(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._crash_path)))
        self._crash.show_text("")

    def _dismiss_crash(self) -> None:
        self._crash.show_text("")
        self._backend.ask(lambda scheduler: dismiss_crash(scheduler.path), owner=self)

    @cached_property
    def _crash(self) -> Note:
        made = Note(
            self._appearance,
            name="crashNote",
            icon="warning",
            tone=Tone.WARN,
            act=self.tr("Show"),
            other_act=self.tr("Dismiss"),
            can_close=False,
        )
        made.acted.connect(self._open_crash)
        made.acted_otherwise.connect(self._dismiss_crash)
        return self._added(made)

    @cached_property
    def _store(self) -> Note:
        return self._added(
            Note(self._appearance, name="storeNote", icon="error", tone=Tone.ERROR, can_close=False)
        )

    @cached_property
    def _message(self) -> Note:
        return self._added(Note(self._appearance, name="messageNote", icon="warning", tone=Tone.WARN))

    @cached_property
    def _news(self) -> Note:
        return self._added(Note(self._appearance, name="newsNote", icon="info", tone=Tone.ACCENT))

    @cached_property
    def _closing(self) -> Note:
        return self._added(Note(self._appearance, name="closingNote", icon="info", tone=Tone.ACCENT))

    @cached_property
    def _autostart(self) -> Note:
        made = Note(
            self._appearance,
            name="autostartNote",
            icon="info",
            tone=Tone.ACCENT,
            act=self.tr("Start at login"),
        )
        made.acted.connect(self.autostart_wanted)
        return self._added(made)

    def _added(self, note: Note) -> Note:
        # The newest note is on top.
        self._column.insertWidget(0, note)
        note.wanted_changed.connect(self._fit)
        put_after(self._before, note)
        return note

    # --- Qt -----------------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if watched is self._shown_from and event.type() is QEvent.Type.Resize:
            self._fit()
        return super().eventFilter(watched, event)
