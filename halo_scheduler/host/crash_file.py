"""The crash file: what is known about the end of a program that ended unexpectedly; kept on this computer only.

While a program runs it has a private file with its version and system. Python's fault handler writes the stacks of all
threads to it on a fatal signal, and our hooks write unhandled errors. A program that ends normally deletes it.
"""

from __future__ import annotations

import faulthandler
import os
import platform
import re
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from halo_scheduler.errors import SchedulerError
from halo_scheduler.host.private_files import FILE_MODE, make_private_folder
from halo_scheduler.host.process import is_alive, own_identity

_RUNNING = re.compile(r"crash-([0-9]{1,10})\.txt")
_KEPT = "crash.txt"
_LARGEST_BYTES = 64 << 10
_LONGEST_ERROR = 8 << 10
_HEAD_END = b"\n---\n"
_CLOSED = b"End of the file.\n"
_PROCESS = re.compile(r"^Process: ([0-9]+) (.*)$", re.MULTILINE)
# Errors are worded without secrets; this catches those that a library's error may quote.
_SECRETS = (
    (re.compile(r"(://[^/\s:@]*):[^/\s@]+@"), r"\1:***@"),
    (
        re.compile(
            r"(?i)\b((?:authorization|password|passwd|secret|token|api[_-]?key)\b[\"']?\s*[=:]\s*)(?:(?:bearer|basic)\s+)?[^\s,;&]+"
        ),
        r"\1***",
    ),
)
_ENDED_BY = "Ended by an unhandled error"
_END = re.compile(rf"^(?:Fatal Python error|Windows fatal exception|{_ENDED_BY})", re.MULTILINE)
# Lines of a stack say nothing about what a person does, unlike the message of an error.
_STACK_LINE = re.compile(r"^(?:\s+File |\s{4}\S|Thread |Current thread |Fatal |Traceback |Extension modules)")
# Of our files the path in the program is kept, of others the name.
_FOLDER = re.compile(r'(?<=^  File ")(?:.*[/\\](?=(?:halo_scheduler|ui)[/\\])|[^"]*[/\\])')
_ERROR_LINE = re.compile(r"^([A-Za-z_][\w.]*)(?::.*)?$")


def without_secrets(text: str) -> str:
    """Return a text without anything that looks like a password or a token."""
    for pattern, shown in _SECRETS:
        text = pattern.sub(shown, text)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """A crash file of an earlier program; `is_new` until it was reported to the user."""

    path: Path
    at_ms: int
    text: str
    is_new: bool

    @property
    def has_ended(self) -> bool:
        """Whether the program ended by it, rather than reporting an error and running on."""
        return _END.search(self.text) is not None

    @property
    def shareable_lines(self) -> list[str]:
        """The stacks without what may name jobs, folders or people."""
        found = [line for line in self.text.partition(_HEAD_END.decode())[2].splitlines() if line.strip()]
        shown = (line if _STACK_LINE.match(line) else _kind_of(line) for line in found)
        return [_FOLDER.sub("", line) for line in shown if line]


def _kind_of(line: str) -> str:
    match = _ERROR_LINE.match(line)
    return match[1] if match and match[1][0].isupper() else ""


@contextmanager
def crash_file(database: Path, program: str, version: str) -> Iterator[None]:
    """Keep a crash file beside a database while the block runs; it stays if that ends by an error or a fatal signal."""
    path = database.parent / "logs" / f"crash-{os.getpid()}.txt"
    try:
        make_private_folder(path.parent)
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, FILE_MODE), "r+b", buffering=0)
    except OSError:
        yield  # The program runs without such a file.
        return
    _remove_empty(database)
    recorder = _Recorder(file, program, version)
    is_free = not faulthandler.is_enabled()  # Otherwise the user has sent the stacks elsewhere.
    if is_free:
        faulthandler.enable(file)
    try:
        with recorder.hooks():
            yield
    except SchedulerError:
        raise  # Its message tells the user what to do; it is not a bug.
    except Exception as error:
        recorder.record(_ENDED_BY, type(error), error, error.__traceback__)
        raise
    finally:
        if is_free:
            faulthandler.disable()
        with suppress(OSError), file:
            if recorder.has_recorded:
                file.write(_CLOSED)
        if not recorder.has_recorded:
            with suppress(OSError):
                path.unlink()


class _Recorder:
    """Writes unhandled errors into a crash file, as far as it has room."""

    def __init__(self, file: BinaryIO, program: str, version: str) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._room = _LARGEST_BYTES
        self.has_recorded = False
        pid, start = own_identity()
        head = (
            f"Halo Scheduler {version} ({program}), Python {platform.python_version()}",
            f"System: {platform.system()} {platform.release()} ({platform.machine()})",
            f"Process: {pid} {start}",
        )
        file.write("\n".join(head).encode() + _HEAD_END)

    def record(
        self, title: str, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        text = without_secrets("".join(traceback.format_exception(kind, error, trace)))
        if len(text) > _LONGEST_ERROR:
            half = _LONGEST_ERROR // 2
            text = f"{text[:half]}\n…\n{text[-half:]}"
        said = f"{title}\n{text}\n".encode(errors="replace")
        with self._lock, suppress(OSError, ValueError):
            if len(said) <= self._room:
                self._file.write(said)
                self._room -= len(said)
                self.has_recorded = True

    @contextmanager
    def hooks(self) -> Iterator[None]:
        """Record errors that reach the interpreter, before its former hooks get them."""
        before, before_in_thread = sys.excepthook, threading.excepthook

        def escaped(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            if issubclass(kind, Exception):
                self.record("Unhandled error", kind, error, trace)
            before(kind, error, trace)

        def escaped_in_thread(given: threading.ExceptHookArgs) -> None:
            if given.exc_value is not None and issubclass(given.exc_type, Exception):
                name = given.thread.name if given.thread is not None else "?"
                title = f"Unhandled error in the thread {name}"
                self.record(title, given.exc_type, given.exc_value, given.exc_traceback)
            before_in_thread(given)

        sys.excepthook, threading.excepthook = escaped, escaped_in_thread
        try:
            yield
        finally:
            if sys.excepthook is escaped:
                sys.excepthook = before
            if threading.excepthook is escaped_in_thread:
                threading.excepthook = before_in_thread


def take_new_crash(database: Path) -> Crash | None:
    """Return the newest crash not reported yet, and mark it as reported."""
    crash = find_crash(database)
    if crash is None or not crash.is_new:
        return None
    return replace(crash, path=_keep(database, crash), is_new=False)


def find_crash(database: Path) -> Crash | None:
    """Return the newest crash file that a program left behind; changes nothing."""
    found = [crash for path in _crash_files(database) if (crash := _read(path)) is not None]
    return max(found, key=lambda crash: (crash.at_ms, crash.is_new), default=None)


def dismiss_crash(database: Path) -> None:
    """Delete the crash file that was reported."""
    with suppress(OSError):
        (database.parent / "logs" / _KEPT).unlink(missing_ok=True)


def _keep(database: Path, crash: Crash) -> Path:
    """Keep this crash as the only one; return its new path."""
    kept = database.parent / "logs" / _KEPT
    with suppress(OSError):
        crash.path.replace(kept)
        for path in _crash_files(database):
            if path != kept and not _is_in_use(path):
                path.unlink(missing_ok=True)
    return kept


def _remove_empty(database: Path) -> None:
    """Remove the files of programs that were killed without a fault of their own."""
    for path in _crash_files(database):
        text = _text_of(path)
        if text and not text.partition(_HEAD_END.decode())[2].strip() and not _is_in_use(path):
            with suppress(OSError):
                path.unlink()


def _crash_files(database: Path) -> list[Path]:
    try:
        found = sorted((database.parent / "logs").iterdir())
    except OSError:
        return []
    return [path for path in found if path.name == _KEPT or _RUNNING.fullmatch(path.name)]


def _is_in_use(path: Path) -> bool:
    text = _text_of(path)
    match = _PROCESS.search(text)
    if path.name == _KEPT or match is None or text.endswith(_CLOSED.decode()):
        return False
    return is_alive(int(match[1]), match[2])


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(2 * _LARGEST_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _read(path: Path) -> Crash | None:
    """Return the crash in a file; None if it is in use, or its program was killed without a fault of its own."""
    text = _text_of(path)
    if not text.partition(_HEAD_END.decode())[2].strip() or _is_in_use(path):
        return None
    try:
        at_ms = path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return None
    return Crash(path=path, at_ms=at_ms, text=text, is_new=path.name != _KEPT)
