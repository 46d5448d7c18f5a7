"""The program log: a private file of limited size, and the newest lines in memory."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import deque
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType

from halo_scheduler.host.crash_file import without_secrets
from halo_scheduler.host.private_files import make_private_folder

_KEPT_LINES = 500
_LARGEST_BYTES = 1_000_000
_OLD_FILES = 2
_LONGEST_RECORD = 4_000
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_LOG = logging.getLogger(__name__)


class ProgramLog(logging.Handler):
    """Collects the program's log records; nothing is sent anywhere."""

    def __init__(self, database: Path) -> None:
        """Write to `logs/halo.log` beside a database."""
        super().__init__(logging.INFO)
        self.setFormatter(_Formatter(_FORMAT))
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._path = database.parent / "logs" / "halo.log"
        self._file: logging.Handler | None = None
        self._early: deque[logging.LogRecord] = deque(maxlen=_KEPT_LINES)

    @property
    def path(self) -> Path:
        """The log file, if it can be written."""
        return self._path

    def start(self) -> None:
        """Start logging, including unhandled exceptions."""
        root = logging.getLogger()
        root.addHandler(self)
        root.setLevel(logging.INFO)
        sys.excepthook = _log_escaped
        threading.excepthook = _log_escaped_in_thread

    def open_file(self) -> None:
        """Write to the file from now on, beginning with the records so far."""
        if self._file is not None:
            return
        try:
            make_private_folder(self._path.parent)
            self._file = _private_file(self._path)
        except OSError as error:
            _LOG.warning("Can't write the log file; logging to memory only: %s", error)
            return
        self._file.setFormatter(self.formatter)
        for record in self._early:
            self._file.handle(record)
        self._early.clear()

    def stop(self) -> None:
        """Stop logging and close the file."""
        logging.getLogger().removeHandler(self)
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        self.close()

    def lines(self) -> list[str]:
        """Return the newest records, oldest first."""
        with self.lock or threading.RLock():
            return list(self._lines)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.append(self.format(record))
            if self._file is not None:
                self._file.handle(record)
            else:
                self._early.append(record)
        except Exception:  # noqa: BLE001 - as every handler does: a record must not end the program
            self.handleError(record)

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # A disk that is full or read-only takes no last lines.
                self._file.close()
            self._file = None
        super().close()


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = without_secrets(super().format(record))
        return text if len(text) <= _LONGEST_RECORD else f"{text[:_LONGEST_RECORD]}…"


def _private_file(path: Path) -> logging.Handler:
    """Return a rotating log file that only its owner can read."""
    from logging.handlers import RotatingFileHandler  # noqa: PLC0415 - not before the first window

    class PrivateFile(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            # Created by us first, so that it is never readable by others.
            os.close(os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            return Path(self.baseFilename).open("a", encoding=self.encoding, errors=self.errors)

        def handleError(self, _record: logging.LogRecord) -> None:  # noqa: N802
            # On a full disk the record is still kept in memory; a traceback on stderr would not help.
            pass

    return PrivateFile(
        path, maxBytes=_LARGEST_BYTES, backupCount=_OLD_FILES, encoding="utf-8", errors="replace"
    )


def _log_escaped(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.__excepthook__(kind, error, trace)
    if not issubclass(kind, KeyboardInterrupt):
        _LOG.critical("Unhandled error.", exc_info=(kind, error, trace))


def _log_escaped_in_thread(escaped: threading.ExceptHookArgs) -> None:
    threading.__excepthook__(escaped)
    if escaped.exc_value is not None and escaped.exc_type is not SystemExit:
        name = escaped.thread.name if escaped.thread is not None else "?"
        error = (escaped.exc_type, escaped.exc_value, escaped.exc_traceback)
        _LOG.critical("Unhandled error in the thread %s.", name, exc_info=error)
