"""The database connection: private files, safe settings, errors that tell the user what to do."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import apsw

from halo_scheduler.errors import (
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    StoreReplacedError,
    StoreUnavailableError,
)
from halo_scheduler.host.disk_space import disk_space
from halo_scheduler.host.private_files import FILE_MODE, require_private_database, require_readable_database

_BUSY_TIMEOUT_MS = 5_000
_BETWEEN_LOOKS_S = 0.01
_READING_TIMEOUT_MS = 1_000
# About the size of a new journal.
_LEAST_FREE = 64 << 10
_AS_IT_IS = "mode=ro&immutable=1"
_SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    # A tick may write thousands of scattered rows: a cache this large reads and writes each page once.
    "PRAGMA cache_size = -8000",
    # Checkpoint now and then, not after each such tick.
    "PRAGMA wal_autocheckpoint = 4000",
)

_READ_WRITE, _CREATE = apsw.SQLITE_OPEN_READWRITE, apsw.SQLITE_OPEN_CREATE
# Of SQLite's file header: the versions that say how to write and how to read the file.
_HEADER_SIZE, _JOURNAL_MODES, _WAL_MODES = 100, slice(18, 20), b"\2\2"
_TABLES = "SELECT name, rootpage FROM sqlite_schema ORDER BY name"

# Locks by which threads of one process take turns to write; SQLite itself would poll with sleeps of up to 0.1 s.
_TURNS: dict[str, threading.RLock] = {}

Row = tuple[Any, ...]
Value = str | int | float | bytes | None


class _Content(NamedTuple):
    """A fingerprint of a file that changes with every write."""

    size: int
    written_ns: int


class Database:
    """One open database, used only by the thread that opened it."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self.path = path
        self._connection = connection
        self.identity = _identity(path)
        """What tells this file from every other that may come into its place; "" when it is gone."""
        self._journals = _journals(path)
        self._content = _content(path)
        self._turn = _TURNS.setdefault(str(path), threading.RLock())
        self.refusal = ""
        """Why the database is read-only, as a sentence; empty if it can be written."""

    @classmethod
    def open(cls, path: Path, *, must_exist: bool = False) -> Self:
        """Open or create the file, readable by its owner only, whatever the umask.

        With `must_exist` a missing file is not created, so that a deleted database is not replaced by an empty one.
        """
        with translated(path):
            if not must_exist:
                _make_private(path)
            connection = apsw.Connection(str(path), flags=_READ_WRITE | (0 if must_exist else _CREATE))
            connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
            _set_journal(connection)
            for setting in _SETTINGS:
                connection.execute(setting).fetchall()
            # Reading the schema reveals damage; it should be reported here.
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        return cls(path, connection)

    @classmethod
    def open_for_reading(cls, path: Path) -> Self:
        """Open an existing file read-only; nothing is written, created or changed."""
        with translated(path):
            require_readable_database(path)
            # Without a journal no process has the file open. SQLite must not create one, as it would leave it behind.
            if not path.with_name(f"{path.name}-wal").exists():
                return cls(path, _reading_connection(path, _AS_IT_IS))
            try:
                return cls(path, _reading_connection(path, "mode=ro"))
            except (apsw.CantOpenError, apsw.IOError):
                # A journal on a read-only or full disk cannot be read; the main file can.
                return cls(path, _reading_connection(path, _AS_IT_IS))

    @classmethod
    def open_as_it_is(cls, path: Path) -> Self:
        """Open a file read-only as an immutable file, ignoring any journal beside it."""
        with translated(path):
            return cls(path, _reading_connection(path, _AS_IT_IS))

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        if self._is_taken_over():
            # SQLite deletes journals by name, and these may belong to another database by now.
            with suppress(apsw.ConnectionClosedError):
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close()

    def _is_taken_over(self) -> bool:
        """Return whether another database, or another one's journals, replaced ours."""
        pairs = zip(_journals(self.path), self._journals, strict=True)
        return _identity(self.path) not in ("", self.identity) or any(
            now not in ("", ours) for now, ours in pairs
        )

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Run one statement and return its rows."""
        try:
            return self._connection.execute(sql, tuple(values)).fetchall()
        except apsw.Error as error:
            raise _translation(self.path, error) from error

    def row(self, sql: str, values: Sequence[Value] = ()) -> Row | None:
        """Return the first row, or None."""
        rows = self.rows(sql, values)
        return rows[0] if rows else None

    def run_script(self, script: str) -> None:
        """Run several statements."""
        with translated(self.path):
            self._connection.execute(script).fetchall()

    def run_many(self, sql: str, values: Iterable[Sequence[Value]]) -> None:
        """Run one statement with many sets of values, generated lazily."""
        try:
            self._connection.executemany(sql, values).fetchall()
        except apsw.Error as error:
            raise _translation(self.path, error) from error

    def changes(self) -> int:
        """Return how many rows the last statement changed."""
        return self._connection.changes()

    def reuse_journal(self) -> None:
        """Checkpoint the journal into the main file as far as readers allow, so that its space is reused."""
        self.rows("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in a transaction; a nested one joins the outer one."""
        if self._connection.in_transaction:
            yield
            return
        has_turn = self._turn.acquire(timeout=_BUSY_TIMEOUT_MS / 1_000)
        try:
            self.require_in_place()
            with self._between("BEGIN IMMEDIATE"):
                self._require_intact()
                yield
        finally:
            if has_turn:
                self._turn.release()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read from one snapshot inside the block; concurrent writers are not blocked and not visible."""
        if self._connection.in_transaction:
            yield
            return
        with self._between("BEGIN DEFERRED"):
            yield

    def require_in_place(self) -> None:
        """Raise StoreReplacedError if the file or its journals were replaced since this connection opened them.

        SQLite would keep writing into the deleted file. It deletes the journals of a database only when the last
        connection closes, so those of an open database never change.
        """
        if _identity(self.path) != self.identity:
            raise StoreReplacedError(
                f"{self.path} was deleted or replaced while it was in use; start Halo again to use what is there now"
            )
        if any(self._journals) and _journals(self.path) != self._journals:
            raise StoreReplacedError(
                f"the journal of {self.path} ({self.path.name}-wal, {self.path.name}-shm) was deleted or replaced "
                "while it was in use; start Halo again to use what is there now"
            )

    def _require_intact(self) -> None:
        """Raise StoreDamagedError if another program overwrote the file, which SQLite does not notice.

        The file changes only at checkpoints. When it has changed, it must still be in WAL mode, which a backup is not,
        and a new connection must find the same tables on the same pages; they cannot move meanwhile, because this is
        called inside a transaction.
        """
        content = _content(self.path)
        if content == self._content:
            return
        if not self._is_in_wal_mode() or self._seen_by_others() != self.rows(_TABLES):
            self.require_in_place()  # It may have been replaced since the transaction was begun.
            raise StoreDamagedError(
                f"{self.path} was overwritten while it was in use; restore a backup with: halo backup restore --latest"
            )
        self._content = content

    def _is_in_wal_mode(self) -> bool:
        """Return whether the main file itself, without its journal, says so in its header."""
        is_complete, header = self._connection.read("main", 0, 0, _HEADER_SIZE)
        return is_complete and header[_JOURNAL_MODES] == _WAL_MODES

    def _seen_by_others(self) -> list[Row]:
        """Return what another process would find if it opened the database now."""
        with translated(self.path):
            connection = _reading_connection(self.path, "mode=ro")
            try:
                return connection.execute(_TABLES).fetchall()
            finally:
                connection.close()

    @contextmanager
    def _between(self, begin: str) -> Iterator[None]:
        self.rows(begin)
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            # A full disk may have rolled the transaction back already.
            if self._connection.in_transaction:
                self.rows("ROLLBACK")
            raise


def _set_journal(connection: apsw.Connection) -> None:
    """Switch to write-ahead logging, so that others can read during a write; the file remembers the mode.

    Retries while another process opens the new file, because SQLite's own busy timeout does not cover this step.
    """
    patience_ends = time.monotonic() + _BUSY_TIMEOUT_MS / 1_000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except apsw.BusyError:
            if time.monotonic() > patience_ends:
                raise
            time.sleep(_BETWEEN_LOOKS_S)
        else:
            return


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate errors of SQLite and the system into messages that say what to do."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise _translation(path, error) from error


_SENTENCES: tuple[tuple[tuple[type[Exception], ...], type[StoreError], str], ...] = (
    (
        (apsw.BusyError, apsw.LockedError),
        StoreLockedError,
        "{path} is in use by another program; try again in a moment",
    ),
    (
        (apsw.ReadOnlyError,),
        StoreReadOnlyError,
        "{path} cannot be written; check its permissions and its disk",
    ),
    ((apsw.FullError,), StoreFullError, "the disk of {path} is full; free some space and try again"),
    (
        (apsw.NotADBError, apsw.CorruptError),
        StoreDamagedError,
        "{path} is damaged or not a database; restore a backup with: halo backup restore --latest",
    ),
    ((apsw.SQLError,), StoreDamagedError, "{path} is not a Halo database ({error})"),
    (
        (FileExistsError, NotADirectoryError),
        StoreUnavailableError,
        "{path} cannot be used: there is a file in the place of its folder; choose another HALO_HOME",
    ),
    (
        (apsw.Error, OSError),
        StoreUnavailableError,
        "{path} cannot be used ({error}); check the folder and the disk",
    ),
)


def _translation(path: Path, error: Exception) -> Exception:
    if isinstance(error, (StoreError, apsw.ConstraintError)):
        return error  # Told already, or a promise of the schema that held: its caller understands it.
    error = _named(path, error)
    kind, sentence = next((kind, text) for causes, kind, text in _SENTENCES if isinstance(error, causes))
    # The system's message without its number and the path, which the sentence already has.
    said = error.strerror.lower() if isinstance(error, OSError) and error.strerror else error
    return kind(sentence.format(path=path, error=said))


def _named(path: Path, error: Exception) -> Exception:
    """Return the real cause of an error: SQLite does not always report a full or read-only disk as such."""
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EROFS:
        return apsw.ReadOnlyError(str(error))
    if number == errno.ENOSPC:
        return apsw.FullError(str(error))
    if isinstance(error, (apsw.IOError, apsw.CantOpenError)):
        if _is_on_read_only_disk(path):
            return apsw.ReadOnlyError(str(error))
        space = disk_space(str(path.parent))
        if space is not None and space.free < _LEAST_FREE:
            return apsw.FullError(str(error))
    return error


def _reading_connection(path: Path, how: str) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"{path.absolute().as_uri()}?{how}", flags=flags)
    try:
        connection.set_busy_timeout(_READING_TIMEOUT_MS)
        connection.execute("PRAGMA trusted_schema = OFF").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """Check every file that SQLite will open, because it would replay a journal planted by another user."""
    require_private_database(path)
    # SQLite gives its -wal and -shm files the permissions of the main file.
    # An existing file is not opened here: closing it would drop the locks of every other connection in this process.
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
    except FileExistsError:
        _require_writable(path)


def _require_writable(path: Path) -> None:
    """Raise the OSError that opening the file for writing would raise."""
    if os.access(path, os.W_OK):
        return
    code = errno.EROFS if _is_on_read_only_disk(path) else errno.EACCES
    raise OSError(code, os.strerror(code), str(path))


def _is_on_read_only_disk(path: Path) -> bool:
    if sys.platform == "win32":
        return False
    try:
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return True
        # After an error, ext4 on recent kernels refuses writes but does not set the flag.
        os.utime(path.parent)
    except OSError as error:
        return error.errno == errno.EROFS
    return False


def _journals(path: Path) -> list[str]:
    """Return the identities of a database's journals; "" for a missing one."""
    # Plain strings: this runs before each start, and a Path costs more than the call.
    name = str(path)
    return [_identity(name + "-wal"), _identity(name + "-shm")]


def _content(path: Path) -> _Content:
    try:
        status = path.stat()
    except FileNotFoundError:
        return _Content(0, 0)
    return _Content(status.st_size, status.st_mtime_ns)


def _identity(path: Path | str) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116 - see above
    except FileNotFoundError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"
