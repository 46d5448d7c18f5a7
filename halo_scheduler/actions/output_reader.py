"""A growing output: when to poll it, whether it fills the disk, and reading it."""

from __future__ import annotations

import os
from typing import Self

from halo_scheduler.actions.spool import Spool, gap_words, spool_folder
from halo_scheduler.grammar.redaction import RedactedStream, Redactor
from halo_scheduler.host.disk_space import DiskSpace, data_from, disk_space, hole_from, read_at
from halo_scheduler.model import Outcome, ProcessAction
from halo_scheduler.model.messages import MessageKind, Messages, message
from halo_scheduler.store.secrets import SecretError, SecretStore
from halo_scheduler.store.store import Store

_FIRST_POLL_MS = 250
_QUIET_POLL_MS = 1_000
_BUSY_POLL_MS = 500
_SHORTEST_MS = 20
_NOTABLE_BYTES = 256 << 10
_BUSY_BYTES = 4 << 20
# How much a program can print per millisecond.
_FASTEST_BYTES_PER_MS = 1 << 20
_MOST_PRESSES = 10
_CHUNK = 1 << 20
_NOT_YET = b"[the output follows as soon as the keyring gives the secrets that must be taken out of it]\n"


class Growth:
    """Watches the growth of one run's output."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._size = 0
        self._looked_at = 0
        self._elapsed_ms = 1
        self._presses = 0
        self._has_filled = False
        self._before: tuple[int, DiskSpace] | None = None
        """The output's size and the space that was free then; None if they were not measured since the last poll."""
        self.grown = 0
        """The growth between the last two polls."""

    def begin(self, now_ms: int, *, known_bytes: int = 0) -> int:
        """Start with the current size; return the time of the first poll: early on a disk that fills quickly.

        The output of a fast program is not known yet, so the first poll must come in time for it.
        """
        self._size, self._looked_at = known_bytes, now_ms
        space = self._measure(self._spool.size())
        if space is None:
            return now_ms + _FIRST_POLL_MS
        until_full_ms = space.room // _FASTEST_BYTES_PER_MS
        return now_ms + _between(_SHORTEST_MS, until_full_ms // 2, _FIRST_POLL_MS)

    def poll(self, now_ms: int) -> None:
        """Measure the growth since the last poll, and whether it has filled the disk."""
        size = self._spool.size()
        self._has_filled |= self._has_used_up(size)
        self.grown, self._size = size - self._size, size
        self._elapsed_ms, self._looked_at = max(1, now_ms - self._looked_at), now_ms
        self._before = None
        space = self._measure(size) if self.grown > _NOTABLE_BYTES else None
        is_pressed = space is not None and space.is_full
        self._presses = self._presses + 1 if is_pressed else 0
        self._has_filled |= is_pressed

    @property
    def fills_disk(self) -> bool:
        """Whether it kept filling the disk, although its output was cut repeatedly."""
        return self._presses >= _MOST_PRESSES

    def notes(self) -> Messages:
        """Return the note for a failed run that the disk had no space for its output."""
        is_full = self._has_filled or self._has_used_up(self._spool.size())
        space = self._space()
        is_full = is_full or (space is not None and space.is_full)
        return (message(MessageKind.DISK_WAS_FULL),) if is_full else ()

    def next_poll_at(self) -> int:
        """Return the next poll time: before the disk can be full at this rate."""
        return self._looked_at + self._pause_ms()

    def _pause_ms(self) -> int:
        if self.grown <= _NOTABLE_BYTES:
            return _QUIET_POLL_MS
        longest_ms = _BUSY_POLL_MS if self.grown > _BUSY_BYTES else _QUIET_POLL_MS
        # The program may have filled the disk, and given up, since the poll that then freed space.
        size = self._spool.size()
        self._has_filled |= self._has_used_up(size)
        space = self._measure(size)
        if space is None:
            return longest_ms
        until_full_ms = space.room * self._elapsed_ms // self.grown
        return _between(_SHORTEST_MS, until_full_ms // 2, longest_ms)

    def _measure(self, size: int) -> DiskSpace | None:
        space = self._space()
        self._before = None if space is None else (size, space)
        return space

    def _has_used_up(self, size: int) -> bool:
        """Return whether the output has taken the space that was free when it was last measured."""
        if self._before is None:
            return False
        before, space = self._before
        return DiskSpace(space.total, space.free - (size - before)).is_full

    def _space(self) -> DiskSpace | None:
        return disk_space(self._spool.folder)


def _between(low: int, value: int, high: int) -> int:
    return min(max(low, value), high)


class SpoolReader:
    """Reads one output from its beginning, redacted."""

    def __init__(self, path: str, redactor: Redactor) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self._stream: RedactedStream = redactor.stream()
        self._position = 0

    def read(self) -> bytes:
        """Return the next chunk since the last call; empty if there is nothing new."""
        while True:
            before = self._position
            piece = self._next_piece()
            # A whole chunk may be buffered while more follows.
            if piece or self._position == before:
                return piece

    def _next_piece(self) -> bytes:
        gap = self._passed_cut()
        start = data_from(self._descriptor, self._position)
        if start > self._position:
            gap += gap_words(start - self._position)
        if gap:
            self._stream.leave_gap()
        chunk = read_at(self._descriptor, _CHUNK, start)
        # Checked after reading: the hole may have been punched in between.
        chunk = chunk[: hole_from(self._descriptor, start) - start]
        self._position = start + len(chunk)
        return gap + self._stream.feed(chunk)

    def _passed_cut(self) -> bytes:
        """Continue from the end of a truncated file, on a disk without sparse files."""
        size = os.fstat(self._descriptor).st_size
        if size >= self._position:
            return b""
        lost, self._position = self._position - size, size
        return gap_words(lost)

    def end(self) -> bytes:
        """Return the buffered rest at the end of the output."""
        return self._stream.end()

    def close(self) -> None:
        os.close(self._descriptor)


class OutputFollower:
    """Reads a run's output from its beginning, from the spool or, after the run, from the store."""

    def __init__(self, store: Store, run_id: str, secrets: SecretStore) -> None:
        self._store = store
        self._run_id = run_id
        self._secrets = secrets
        self._reader: SpoolReader | None = None
        self._is_from_store = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._reader is not None:
            self._reader.close()

    def read(self) -> bytes:
        """Return the next chunk; empty if there is nothing new yet.

        SecretError if the output may contain secrets that cannot be read, and so not be redacted.
        """
        if self._is_from_store:
            return b""
        if self._reader is None and self.is_run_over():
            self._is_from_store = True
            stored = self._store.outputs.read(self._run_id)
            return stored or (_NOT_YET if self._waits_for_secrets() else b"")
        self._reader = self._reader or self._open()
        if self._reader is None:
            # The run has not started, or it just ended and its output has moved.
            return self.read() if self.is_run_over() else b""
        return self._reader.read()

    def end(self) -> bytes:
        """Return the buffered rest after the run has ended and all output was read."""
        return b"" if self._reader is None else self._reader.end()

    def is_run_over(self) -> bool:
        """Return whether the run has ended or does not exist."""
        run = self._store.runs.get(self._run_id)
        return run is None or run.outcome is not Outcome.RUNNING

    def _waits_for_secrets(self) -> bool:
        return self._spool().exists() and not self._store.outputs.has(self._run_id)

    def _spool(self) -> Spool:
        return Spool(spool_folder(self._store.database.path), self._run_id)

    def _open(self) -> SpoolReader | None:
        spool = self._spool()
        if not spool.exists():
            return None  # Without anything to show, no secret is asked for.
        try:
            return SpoolReader(spool.output_path, self._redactor(spool))
        except FileNotFoundError:
            return None  # Not yet there, or just gone into the store.

    def _redactor(self, spool: Spool) -> Redactor:
        """Return the redactor for the secrets that the run was given."""
        run = self._store.runs.get(self._run_id)
        ticket = spool.read_ticket()
        record = self._store.jobs.get(run.job_id) if run is not None else None
        action = ticket.action if ticket is not None else record and record.spec.action
        if run is None or not isinstance(action, ProcessAction) or not action.secret_names:
            return Redactor()
        read = self._secrets.reader(action.secret_names, unchanged_since=run.started_at)
        try:
            return Redactor(read().values())
        except SecretError as error:
            raise SecretError(message(MessageKind.OUTPUT_NOT_SHOWN, error=error.message)) from error
