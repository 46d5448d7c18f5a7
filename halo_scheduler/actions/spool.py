"""The spool: what a run prints, on disk from its first byte, until it moves into the store.

Private files for each run: its output, which the child itself writes; its ticket, by which a later engine
recognises the process; its exit code, which the shim leaves behind; what it said in lines that are cut out by now;
and what it was given to read.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from halo_scheduler.actions.directive_reader import Heard, Hearing
from halo_scheduler.actions.directives import NO_DIRECTIVES, Directives
from halo_scheduler.actions.holes import data_from, hole_from, punch_hole, read_at, used_bytes
from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.text import last_progress, printed_line
from halo_scheduler.host.disk_space import disk_space
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.model import Action, action_from_dict
from halo_scheduler.model.codec import decode

_WINDOW = 65_536
_BLOCK = 4_096
_LAST_LINES = 16_384
# Also on a full disk: it is little, and more than what is stored of an output.
_ALWAYS_ALLOWED = 1 << 20
_OUTPUT, _CODE, _TICKET, _SAID = ".out", ".code", ".ticket", ".said"
_PROMPT, _WORK, _CAUSE = ".prompt", ".work", ".cause"
# As long as the longest code with its end of line.
_NO_CODE = b"    "
_SUFFIXES = frozenset({_OUTPUT, _CODE, _TICKET, _SAID, _PROMPT, _WORK, _CAUSE})


@dataclass(frozen=True, slots=True)
class Output:
    """What a run printed, compressed, and how much it was."""

    content: bytes
    total_bytes: int

    @classmethod
    def of(cls, content: bytes, total_bytes: int) -> Output:
        return cls(zlib.compress(content), total_bytes)


_NO_OUTPUT = Output(b"", 0)


NOT_YET = 0


@dataclass(frozen=True, slots=True)
class Ticket:
    """By what a later engine recognises a run's process, once there is one, and what the run was asked to do."""

    pid: int
    process_start: str
    action: Action
    reads_lines: bool = False


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where an output was cut off, on a disk that knows no holes, and how much was lost there."""

    at: int = sys.maxsize
    lost_bytes: int = 0


class Spool:
    """The files of one run."""

    def __init__(self, folder: Path, run_id: str) -> None:
        # Plain text: there is a run for each of these, and a Path costs more than the file does.
        self.folder = str(folder)
        self._stem = stem = f"{folder}{os.sep}{run_id}"
        self.output_path = stem + _OUTPUT
        self.code_path = stem + _CODE
        self.prompt_path = stem + _PROMPT
        self.work_path = stem + _WORK
        self.cause_path = stem + _CAUSE
        self._ticket_path = stem + _TICKET
        self._said_path = stem + _SAID
        self._read_to = 0
        self._is_within_line = False
        self._cut = _Cut()
        self._hearing: Hearing | None = None

    # --- Writing -------------------------------------------------------------------------------------

    def create(self) -> int:
        """Make the output's file and return a descriptor that only ever adds to it."""
        return self._open_new(self.output_path, os.O_APPEND)

    def _open_new(self, path: str, flags: int) -> int:
        """Open a private file for writing, making it, and the folder if need be."""
        flags |= os.O_WRONLY | os.O_CREAT
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            make_private_folder(Path(self.folder))
            return os.open(path, flags, 0o600)

    def write(self, path: str, content: bytes) -> None:
        """Write one of the run's files; a crash of the machine ends the run too, so that nothing needs to be synced."""
        with os.fdopen(self._open_new(path, os.O_TRUNC), "wb") as file:
            file.write(content)

    def reserve_code(self) -> None:
        """Make the file for the exit code, with room for it: whatever fills the disk meanwhile, it can be written."""
        self.write(self.code_path, _NO_CODE)

    def write_ticket(self, ticket: Ticket) -> None:
        """Leave word of the process."""
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
        """Give back what the output takes of the disk: it is kept elsewhere by now."""
        with suppress(OSError):
            os.truncate(self.output_path, 0)

    def cap(self, most_bytes: int) -> bool:
        """Take the middle out of an output that uses more of the disk than so much, or than may be used of it.

        Tells whether it did.
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
                self._hearing.pass_over(tail_from, "the disk was so full")
            tail_from = min(tail_from, self._hearing.needed_from // _BLOCK * _BLOCK)
        if tail_from <= head:
            return False
        self._keep_heard()
        if punch_hole(self.output_path, head, tail_from - head):
            return True
        return self._cut_off(head, status.st_size)

    def _allowed(self, used: int, most_bytes: int) -> int:
        """Return how much of the disk an output may use, so that some stays free; a little always."""
        if used <= _ALWAYS_ALLOWED:
            return most_bytes
        space = disk_space(self.folder)
        return most_bytes if space is None else min(most_bytes, max(_ALWAYS_ALLOWED, used + space.room))

    def _cut_off(self, at: int, size: int) -> bool:
        """Take off all behind a place; the child adds at the end, wherever that is now."""
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

    # --- Hearing -------------------------------------------------------------------------------------

    def listen(self, redactor: Redactor) -> None:
        """Take in from now on what the run says in lines like `::cost 0.12`, going on where somebody else ended."""
        self._hearing = Hearing(redactor, self._read_heard())

    def hear(self, most_bytes: int) -> bool:
        """Take in some of what is new; tell whether there may be more, which will not be cut out before."""
        hearing = self._hearing
        if hearing is None or not hearing.is_behind(self.size()):
            return False
        descriptor = os.open(self.output_path, os.O_RDONLY)
        try:
            return hearing.hear(descriptor, most_bytes)
        finally:
            os.close(descriptor)

    def has_heard(self, size: int) -> bool:
        """Tell whether so much of the output was taken in, if anybody listens."""
        return self._hearing is None or self._hearing.has_heard(size)

    def hear_at_once(self, most_bytes: int) -> None:
        """Take in what is new, and of too much only the beginning and the end."""
        if self._hearing is not None and self.hear(most_bytes // 2):
            self._hearing.pass_over(
                self.size() - most_bytes // 2, "it printed so much while Halo was not running"
            )
            self.hear(most_bytes // 2)

    def said(self) -> Directives:
        """Return all that the run said, when nothing follows; nothing if nobody listened."""
        return NO_DIRECTIVES if self._hearing is None else self._hearing.end()

    def _keep_heard(self) -> None:
        """Write down what was said in what is about to be cut out: an engine after us cannot read it."""
        if self._hearing is None:
            return
        heard = self._hearing.heard
        data = {"position": heard.position, "said": asdict(heard.said)}
        with suppress(OSError):  # On a full disk all the more must be cut out.
            self.write(self._said_path, json.dumps(data).encode())

    def _read_heard(self) -> Heard:
        try:
            data = json.loads(_read(self._said_path))
            return Heard(int(data["position"]), decode(Directives, data["said"]))
        except (OSError, ValueError, KeyError, TypeError):
            return Heard()

    def last_line(self, redactor: Redactor) -> str:
        """Return the last line with something in it, but for those that only tell us something."""
        start = max(0, self.size() - _LAST_LINES - redactor.reach)
        if not self.exists():
            return ""
        tail = redactor.redacted(_read(self.output_path, start), redactor.reach if start else 0)
        lines = [line for line in tail.splitlines() if line.strip() and not line.startswith(b"::")]
        return redactor.text(printed_line(lines[-1].decode(errors="replace"))) if lines else ""

    # --- Reading -------------------------------------------------------------------------------------

    def read_ticket(self) -> Ticket | None:
        """Return the ticket, if a process was started and its ticket is whole."""
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
        """Tell whether the shim came so far as to start the program, or, without one, whether anything did."""
        with suppress(OSError):
            return _read(self.code_path) != _NO_CODE
        ticket = self.read_ticket()
        return self.exists() or (ticket is not None and ticket.pid != NOT_YET)

    def exists(self) -> bool:
        """Tell whether anything was printed, or could have been."""
        return os.path.exists(self.output_path)

    def size(self) -> int:
        try:
            return os.stat(self.output_path).st_size
        except OSError:
            return 0

    def new_progress(self, redactor: Redactor) -> tuple[float, str] | None:
        """Return the progress told of in the lines that were added since the last call, if any."""
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
        """Return the output as it is stored: redacted, and with its middle left out when it is too long."""
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
    """Return where the runs of a database have their files."""
    # Not relative: the processes of runs, which get such paths, have other working directories.
    return database.absolute().with_name(f"{database.stem}-spool")


def left_behind(folder: Path) -> set[str]:
    """Return the runs that have files here."""
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
    # The first bytes behind a gap may be the end of a secret.
    tail_start = min(len(tail), reach)
    left_out = total - head_end - (len(tail) - tail_start)
    content = (
        redactor.redacted(head, end=head_end)
        + gap_words(left_out)
        + redactor.redacted(tail, start=tail_start)
    )
    return Output.of(content, total)


def gap_words(left_out: int) -> bytes:
    """Return what stands in the place of what was left out."""
    return f"\n[… {left_out:,} bytes left out …]\n".encode()
