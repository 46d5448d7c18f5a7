"""The spool: the output of a run, on disk from its first byte until it moves into the store.

Private files of each run: its output, which the child writes directly; its ticket, by which a later engine
recognises the process; its exit code, which the shim writes; the directives from parts that were cut out; and its
input.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from halo_scheduler.actions.directives import NO_DIRECTIVES, Directives, Heard, Hearing
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.text import last_progress, printed_line
from halo_scheduler.host.disk_space import data_from, disk_space, hole_from, punch_hole, read_at, used_bytes
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.model import Action, action_from_dict
from halo_scheduler.model.codec import decode
from halo_scheduler.model.messages import read_message, stored_message

_WINDOW = 65_536
_BLOCK = 4_096
_LAST_LINES = 16_384
# Kept even on a full disk: it is small, and more than what is stored of an output.
_ALWAYS_ALLOWED = 1 << 20
_OUTPUT, _CODE, _TICKET, _SAID = ".out", ".code", ".ticket", ".said"
_PROMPT, _WORK, _CAUSE, _INPUT = ".prompt", ".work", ".cause", ".input"
# The length of the longest exit code with its newline.
_NO_CODE = b"    "
_SUFFIXES = frozenset({_OUTPUT, _CODE, _TICKET, _SAID, _PROMPT, _WORK, _CAUSE, _INPUT})


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a run, compressed, and its original size."""

    content: bytes
    total_bytes: int

    @classmethod
    def of(cls, content: bytes, total_bytes: int) -> Output:
        return cls(zlib.compress(content), total_bytes)

    def text(self) -> bytes:
        """Return the output, as far as it is kept."""
        return zlib.decompress(self.content) if self.content else b""


_NO_OUTPUT = Output(b"", 0)


NOT_YET = 0


@dataclass(frozen=True, slots=True)
class Ticket:
    """Identifies a run's process for a later engine, once there is one, and what the run was asked to do."""

    pid: int
    process_start: str
    action: Action
    reads_lines: bool = False


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where an output was truncated, on a disk without sparse files, and how much was lost there."""

    at: int = sys.maxsize
    lost_bytes: int = 0


class Spool:
    """The files of one run."""

    def __init__(self, folder: Path, run_id: str) -> None:
        # Plain strings: every run has these, and a Path costs more than the file.
        self.folder = str(folder)
        self._stem = stem = f"{folder}{os.sep}{run_id}"
        self.output_path = stem + _OUTPUT
        self.code_path = stem + _CODE
        self.prompt_path = stem + _PROMPT
        self.work_path = stem + _WORK
        self.cause_path = stem + _CAUSE
        self.input_path = stem + _INPUT
        self._ticket_path = stem + _TICKET
        self._said_path = stem + _SAID
        self._read_to = 0
        self._is_within_line = False
        self._cut = _Cut()
        self._hearing: Hearing | None = None

    # --- Writing -------------------------------------------------------------------------------------

    def create(self) -> int:
        """Create the output file, and return a descriptor that only appends."""
        return self._open_new(self.output_path, os.O_APPEND)

    def _open_new(self, path: str, flags: int) -> int:
        """Open a new private file for writing, creating the folder if needed."""
        flags |= os.O_WRONLY | os.O_CREAT
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            make_private_folder(Path(self.folder))
            return os.open(path, flags, 0o600)

    def write(self, path: str, content: bytes) -> None:
        """Write one of the run's files; a crash of the computer ends the run too, so nothing needs to be synced."""
        with os.fdopen(self._open_new(path, os.O_TRUNC), "wb") as file:
            file.write(content)

    def reserve_code(self) -> None:
        """Create the exit code's file with its space allocated, so that it can be written even on a full disk."""
        self.write(self.code_path, _NO_CODE)

    def write_ticket(self, ticket: Ticket) -> None:
        """Write the ticket of the process."""
        data = {
            "pid": ticket.pid,
            "process_start": ticket.process_start,
            "action": ticket.action.to_dict(),
            "reads_lines": ticket.reads_lines,
        }
        self.write(self._ticket_path, json.dumps(data).encode())

    def remove(self) -> None:
        """Delete all files of the run."""
        for suffix in _SUFFIXES:
            with suppress(FileNotFoundError):
                os.unlink(self._stem + suffix)

    def empty(self) -> None:
        """Free the disk space of the output, which is stored elsewhere now."""
        with suppress(OSError):
            os.truncate(self.output_path, 0)

    def cap(self, most_bytes: int) -> bool:
        """Cut the middle out of an output that uses more than its limit, or more of the disk than allowed.

        Returns whether it did.
        """
        try:
            status = os.stat(self.output_path)
        except OSError:
            return False
        used = used_bytes(status)
        allowed = self._allowed(used, most_bytes)
        if used <= allowed:
            return False
        head = allowed // 4 // _BLOCK * _BLOCK
        tail_from = (status.st_size - allowed // 4) // _BLOCK * _BLOCK
        if self._hearing is not None:
            if allowed < most_bytes:
                self._hearing.pass_over(tail_from, is_disk_full=True)
            tail_from = min(tail_from, self._hearing.needed_from // _BLOCK * _BLOCK)
        if tail_from <= head:
            return False
        self._keep_heard()
        if punch_hole(self.output_path, head, tail_from - head):
            return True
        return self._cut_off(head, status.st_size)

    def _allowed(self, used: int, most_bytes: int) -> int:
        """Return how much disk space an output may use so that some stays free; always a little."""
        if used <= _ALWAYS_ALLOWED:
            return most_bytes
        space = disk_space(self.folder)
        return most_bytes if space is None else min(most_bytes, max(_ALWAYS_ALLOWED, used + space.room))

    def _cut_off(self, at: int, size: int) -> bool:
        """Truncate the file; the child continues at the new end."""
        if self._hearing is not None and self._hearing.is_behind(size):
            return False
        at = min(at, self._cut.at)
        self._cut = _Cut(at, self._cut.lost_bytes + size - at)
        os.truncate(self.output_path, at)
        if self._read_to > at:
            self._read_to, self._is_within_line = at, True
        if self._hearing is not None:
            self._hearing.follow_cut(at)
            self._keep_heard()
        return True

    # --- Directives -------------------------------------------------------------------------------------

    def listen(self, redactor: Redactor) -> None:
        """Read directives such as `::cost 0.12` from now on, continuing where an earlier reader stopped."""
        self._hearing = Hearing(redactor, self._read_heard())

    def hear(self, most_bytes: int) -> bool:
        """Read some new output; return whether there may be more, which is not cut out before it is read."""
        hearing = self._hearing
        if hearing is None or not hearing.is_behind(self.size()):
            return False
        descriptor = os.open(self.output_path, os.O_RDONLY)
        try:
            return hearing.hear(descriptor, most_bytes)
        finally:
            os.close(descriptor)

    def has_heard(self, size: int) -> bool:
        """Return whether the output was read up to here, or directives are not read at all."""
        return self._hearing is None or self._hearing.has_heard(size)

    def hear_at_once(self, most_bytes: int) -> None:
        """Read the new output now; of too much only the beginning and the end."""
        if self._hearing is not None and self.hear(most_bytes // 2):
            self._hearing.pass_over(self.size() - most_bytes // 2, is_disk_full=False)
            self.hear(most_bytes // 2)

    def said(self) -> Directives:
        """Return all directives of the ended run; none if they were not read."""
        return NO_DIRECTIVES if self._hearing is None else self._hearing.end()

    def _keep_heard(self) -> None:
        """Write down the directives of the part about to be cut out, because a later engine cannot read it."""
        if self._hearing is None:
            return
        heard = self._hearing.heard
        said = asdict(replace(heard.said, fault=None)) | {"fault": stored_message(heard.said.fault)}
        data = {"position": heard.position, "said": said}
        with suppress(OSError):  # On a full disk, more must be cut out.
            self.write(self._said_path, json.dumps(data).encode())

    def _read_heard(self) -> Heard:
        try:
            data = json.loads(_read(self._said_path))
            fault = read_message(data["said"].pop("fault", ""))
            return Heard(int(data["position"]), replace(decode(Directives, data["said"]), fault=fault))
        except (OSError, ValueError, KeyError, TypeError):
            return Heard()

    def last_line(self, redactor: Redactor) -> str:
        """Return the last non-empty line that is not a directive."""
        start = max(0, self.size() - _LAST_LINES - redactor.reach)
        if not self.exists():
            return ""
        tail = redactor.redacted(_read(self.output_path, start), redactor.reach if start else 0)
        lines = [line for line in tail.splitlines() if line.strip() and not line.startswith(b"::")]
        return redactor.text(printed_line(lines[-1].decode(errors="replace"))) if lines else ""

    # --- Reading -------------------------------------------------------------------------------------

    def read_ticket(self) -> Ticket | None:
        """Return the ticket, if a process was started and the ticket is complete."""
        try:
            data = json.loads(_read(self._ticket_path))
            action = action_from_dict(data["action"])
            return Ticket(
                int(data["pid"]), str(data["process_start"]), action, bool(data.get("reads_lines", False))
            )
        except (OSError, ValueError, KeyError, TypeError, ScheduleError):
            return None

    def read_code(self) -> tuple[int, int] | None:
        """Return the exit code that the shim wrote, and when, in epoch milliseconds; None if it did not."""
        try:
            text, newline, _ = _read(self.code_path).partition(b"\n")
            ended_at = os.stat(self.code_path).st_mtime_ns // 1_000_000
            return (int(text), ended_at) if newline else None
        except (OSError, ValueError):
            return None

    def was_started(self) -> bool:
        """Return whether the shim started the program; without a shim, whether anything was started."""
        with suppress(OSError):
            return _read(self.code_path) != _NO_CODE
        ticket = self.read_ticket()
        return self.exists() or (ticket is not None and ticket.pid != NOT_YET)

    def exists(self) -> bool:
        """Return whether there is an output file."""
        return os.path.exists(self.output_path)

    def size(self) -> int:
        try:
            return os.stat(self.output_path).st_size
        except OSError:
            return 0

    def new_progress(self, redactor: Redactor) -> tuple[float, str] | None:
        """Return the progress from the lines added since the last call, if any."""
        size = self.size()
        start = max(self._read_to, size - _WINDOW)
        if size <= self._read_to:
            return None
        data = _read(self.output_path, start, _WINDOW)
        whole = data[: data.rfind(b"\n") + 1]
        is_within_line = self._is_within_line or start > self._read_to
        self._read_to, self._is_within_line = start + len(whole), is_within_line and not whole
        found = last_progress(redactor.redacted(whole.partition(b"\n")[2] if is_within_line else whole))
        return None if found is None else (found[0], redactor.text(found[1]))

    def kept(self, most_bytes: Callable[[], int], redactor: Redactor) -> Output:
        """Return the output as it is stored: redacted, and without its middle if it is too long."""
        if not self.size() and not self._cut.lost_bytes:
            return _NO_OUTPUT
        descriptor = os.open(self.output_path, os.O_RDONLY)
        try:
            return _kept(descriptor, most_bytes(), redactor, self._cut)
        finally:
            os.close(descriptor)


def _read(path: str, start: int = 0, most: int | None = None) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return read_at(descriptor, os.fstat(descriptor).st_size if most is None else most, start)
    finally:
        os.close(descriptor)


def spool_folder(database: Path) -> Path:
    """Return the folder for the spool files of a database's runs."""
    # Absolute: the processes of runs get such paths and have other working directories.
    return database.absolute().with_name(f"{database.stem}-spool")


def left_behind(folder: Path) -> set[str]:
    """Return the runs with files here."""
    with suppress(FileNotFoundError):
        return {path.stem for path in folder.iterdir() if path.suffix in _SUFFIXES}
    return set()


def _kept(descriptor: int, most_bytes: int, redactor: Redactor, cut: _Cut) -> Output:
    size = os.fstat(descriptor).st_size
    total = size + cut.lost_bytes
    gap_from = min(hole_from(descriptor, 0), cut.at)
    if size <= most_bytes and gap_from >= size and not cut.lost_bytes:
        return Output.of(redactor.redacted(read_at(descriptor, size, 0)), total)
    half = most_bytes // 2
    reach = redactor.reach
    head = read_at(descriptor, min(half + reach, gap_from), 0)
    head_end = max(0, min(half, len(head) - reach))
    tail_at = max(head_end, size - half - reach)
    if gap_from < size:
        tail_at = max(tail_at, data_from(descriptor, gap_from))
    if cut.lost_bytes:
        tail_at = max(tail_at, cut.at)
    tail = read_at(descriptor, size - tail_at, tail_at)
    # The first bytes after a gap may be the end of a secret.
    tail_start = min(len(tail), reach)
    left_out = total - head_end - (len(tail) - tail_start)
    content = (
        redactor.redacted(head, end=head_end)
        + gap_words(left_out)
        + redactor.redacted(tail, start=tail_start)
    )
    return Output.of(content, total)


def gap_words(left_out: int) -> bytes:
    """Return the marker for a removed part."""
    return f"\n[… {left_out:,} bytes left out …]\n".encode()
