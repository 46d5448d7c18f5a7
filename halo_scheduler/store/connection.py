"""The connection to the database: private files, safe settings, errors a user can act on."""

from __future__ import annotations

import errno
import os
import sys
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
    StoreReadOnlyError,
    StoreReplacedError,
    StoreUnavailableError,
)
from halo_scheduler.host.disk_space import disk_space
from halo_scheduler.host.private_files import FILE_MODE, require_private_database, require_readable_database

_BUSY_TIMEOUT_MS = 5_000
_BETWEEN_LOOKS_S = 0.01
_READING_TIMEOUT_MS = 1_000
# A new journal needs about as much.
_LEAST_FREE = 64 << 10
_AS_IT_IS = "mode=ro&immutable=1"
_SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    # A tick may write thousands of rows here and there: with room for their pages, none is read or written twice.
    "PRAGMA cache_size = -8000",
    # And what it wrote is copied into the main file now and then, not after each such tick.
    "PRAGMA wal_autocheckpoint = 4000",
)

_READ_WRITE, _CREATE = apsw.SQLITE_OPEN_READWRITE, apsw.SQLITE_OPEN_CREATE
_TABLES = "SELECT name, rootpage FROM sqlite_schema ORDER BY name"

Row = tuple[Any, ...]
Value = str | int | float | bytes | None


class _Content(NamedTuple):
    """What changes whenever somebody writes to a file."""

    size: int
    written_ns: int


class Database:
    """One open database, used by the thread that opened it."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self.path = path
        self._connection = connection
        self.identity = _identity(path)
        """What tells this file from every other that may come into its place; "" when it is gone."""
        self._journals = _journals(path)
        self._content = _content(path)
        self.refusal = ""
        """Why it can only be read, if somebody wanted to write: a sentence."""

    @classmethod
    def open(cls, path: Path, *, must_exist: bool = False) -> Self:
        """Open or create the file, readable by its owner only, whatever the umask.

        With `must_exist`, a file that is gone stays gone: an engine's helper must not put an empty one in its place.
        """
        with translated(path):
            if not must_exist:
                _make_private(path)
            connection = apsw.Connection(str(path), flags=_READ_WRITE | (0 if must_exist else _CREATE))
            connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
            _set_journal(connection)
            for setting in _SETTINGS:
                connection.execute(setting).fetchall()
            # Damage shows at the first look into the schema, and should show here.
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        return cls(path, connection)

    @classmethod
    def open_for_reading(cls, path: Path) -> Self:
        """Open a file that is there, as it is; nothing is written, made or changed, whatever is asked."""
        with translated(path):
            require_readable_database(path)
            # Without a journal nobody has it open, and SQLite need not make one: it would leave it behind.
            if not path.with_name(f"{path.name}-wal").exists():
                return cls(path, _reading_connection(path, _AS_IT_IS))
            try:
                return cls(path, _reading_connection(path, "mode=ro"))
            except (apsw.CantOpenError, apsw.IOError):
                # A journal on a disk that is read-only or full: what it holds is out of reach, but not the rest.
                return cls(path, _reading_connection(path, _AS_IT_IS))

    @classmethod
    def open_as_it_is(cls, path: Path) -> Self:
        """Open a file for reading by itself, wherever it lies: a journal beside it is not looked at."""
        with translated(path):
            return cls(path, _reading_connection(path, _AS_IT_IS))

    def close(self) -> None:
        """Close; a second time does nothing."""
        if self._is_taken_over():
            # SQLite would delete the journals by their names, and they may be those of others by now.
            with suppress(apsw.ConnectionClosedError):
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._connection.close()

    def _is_taken_over(self) -> bool:
        """Tell whether another database, or another one's journals, are in the place of ours."""
        pairs = zip(_journals(self.path), self._journals, strict=True)
        return _identity(self.path) not in ("", self.identity) or any(
            now not in ("", ours) for now, ours in pairs
        )

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Run one statement to its end and return its rows."""
        try:
            return self._connection.execute(sql, tuple(values)).fetchall()
        except apsw.Error as error:
            raise _translation(self.path, error) from error

    def row(self, sql: str, values: Sequence[Value] = ()) -> Row | None:
        """Return the first row, if there is one."""
        rows = self.rows(sql, values)
        return rows[0] if rows else None

    def run_script(self, script: str) -> None:
        """Run several statements."""
        with translated(self.path):
            self._connection.execute(script).fetchall()

    def run_many(self, sql: str, values: Iterable[Sequence[Value]]) -> None:
        """Run one statement with many sets of values, each of which is made when its turn comes."""
        try:
            self._connection.executemany(sql, values).fetchall()
        except apsw.Error as error:
            raise _translation(self.path, error) from error

    def changes(self) -> int:
        """Return how many rows the last statement changed."""
        return self._connection.changes()

    def reuse_journal(self) -> None:
        """Copy the journal into the main file as far as nobody reads it, so that its room can be used again."""
        self.rows("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let everything inside see one moment, without keeping others from writing."""
        with self._between("BEGIN DEFERRED"):
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let everything inside happen or nothing; inside another transaction it belongs to that one."""
        if self._connection.in_transaction:
            yield
            return
        self.require_in_place()
        with self._between("BEGIN IMMEDIATE"):
            self._require_intact()
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let everything inside read the same state, whatever others write meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        with self._between("BEGIN DEFERRED"):
            yield

    def require_in_place(self) -> None:
        """Raise StoreReplacedError when others find another file, or other journals, than this connection has open.

        SQLite would go on writing into a file that nobody will ever find. It deletes the journals of a database only
        when its last connection is closed, so those of an open one never change.
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
        """Raise StoreDamagedError when somebody wrote over the file, which SQLite does not notice.

        Between checkpoints the file does not change. When it has, a new connection must find the same tables in the
        same places; nobody can move them meanwhile, because this is called inside a transaction.
        """
        content = _content(self.path)
        if content == self._content:
            return
        if not content.size or self._seen_by_others() != self.rows(_TABLES):
            self.require_in_place()  # It may have been replaced since the transaction was begun.
            raise StoreDamagedError(
                f"{self.path} was overwritten while it was in use; restore a backup with: halo backup restore --latest"
            )
        self._content = content

    def _seen_by_others(self) -> list[Row]:
        """Return what another process finds that opens the database now."""
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
            # A full disk may have rolled back already.
            if self._connection.in_transaction:
                self.rows("ROLLBACK")
            raise


def _set_journal(connection: apsw.Connection) -> None:
    """Let others read while one writes: the file remembers that, so the first who opens it does it for all.

    Who opens a new file in the same moment is waited for here, because in this one step SQLite itself does not wait.
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
    """Turn what SQLite and the system say into a sentence that tells what to do."""
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise _translation(path, error) from error


_SENTENCES: tuple[tuple[tuple[type[Exception], ...], type[StoreError], str], ...] = (
    (
        (apsw.BusyError, apsw.LockedError),
        StoreUnavailableError,
        "{path} is in use by another program; try again in a moment",
    ),
    (
        (apsw.ReadOnlyError,),
        StoreReadOnlyError,
        "{path} cannot be written; check its permissions and its disk",
    ),
    ((apsw.FullError,), StoreFullError, "the disk of {path} is full; make some room and try again"),
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
    # Of what the system says, without its number and the path, which is there already.
    said = error.strerror.lower() if isinstance(error, OSError) and error.strerror else error
    return kind(sentence.format(path=path, error=said))


def _named(path: Path, error: Exception) -> Exception:
    """Return an error as what it comes from: SQLite does not always say that the disk is full or read-only."""
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EROFS:
        return apsw.ReadOnlyError(str(error))
    if number == errno.ENOSPC:
        return apsw.FullError(str(error))
    if isinstance(error, (apsw.IOError, apsw.CantOpenError)):
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
    """Check everything that SQLite will open before it does: it would replay a journal that somebody else planted."""
    require_private_database(path)
    # SQLite gives its -wal and -shm files the permissions of the main one.
    # One that exists is not opened here: closing it would drop the locks of every other connection in this process.
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
    except FileExistsError:
        _require_writable(path)


def _require_writable(path: Path) -> None:
    """Raise the OSError that opening the file for writing would raise."""
    if os.access(path, os.W_OK):
        return
    is_read_only = sys.platform != "win32" and bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    code = errno.EROFS if is_read_only else errno.EACCES
    raise OSError(code, os.strerror(code), str(path))


def _journals(path: Path) -> list[str]:
    """Return the identities of a database's journals; "" for one that is missing."""
    return [_identity(path.with_name(path.name + ending)) for ending in ("-wal", "-shm")]


def _content(path: Path) -> _Content:
    try:
        status = path.stat()
    except FileNotFoundError:
        return _Content(0, 0)
    return _Content(status.st_size, status.st_mtime_ns)


def _identity(path: Path) -> str:
    try:
        status = path.stat()
    except FileNotFoundError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"
