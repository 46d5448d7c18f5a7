"""Archives: all data of an installation in one file, to move it to another computer.

An archive is JSON, one object per line, compressed with gzip: a header, the settings, the jobs, their runs, and an end
mark that shows that nothing is missing. It is written and read line by line, so that large archives need little memory.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, BinaryIO

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Outcome, Run, StatusReason
from halo_scheduler.model.codec import decode, encode
from halo_scheduler.model.messages import Messages, read_messages
from halo_scheduler.model.policies import MOST_OUTPUT_BYTES
from halo_scheduler.model.settings import Agent, Settings
from halo_scheduler.store.outputs import StoredOutput
from halo_scheduler.store.run_transfer import RunCopy
from halo_scheduler.transfer.document import Document, document_to_plain, drafts_of
from halo_scheduler.transfer.drafts import Drafts, Fault, MovedState, add_fault, merged
from halo_scheduler.transfer.job_form import draft_of, job_to_plain
from halo_scheduler.transfer.json_text import read_json
from halo_scheduler.transfer.text_file import MOST_BYTES, FileError

_FORMAT = "halo-archive"
_VERSION = 1
_GZIP = b"\x1f\x8b"
_PLAIN = f'{{"format":"{_FORMAT}"'.encode()
_LONGEST_LINE = 2 * MOST_OUTPUT_BYTES
_RUN_ID = re.compile(r"[0-9A-Za-z_-]{1,64}", re.ASCII)
_LARGEST = 1 << 63
# Seen notices are specific to a computer; quiet hours are exported with the jobs.
# Whether to listen is decided on each computer.
_NOT_MOVED = {
    "autostart_asked",
    "closing_explained",
    "quiet_times",
    "webhooks",
    "webhook_port",
    "webhook_address",
    "chat_bots",
}
_DAMAGED = "the archive is incomplete or damaged; export it again"
_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), sort_keys=True, allow_nan=False).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of an archive; `states` by job id, `runs` in recorded order."""

    document: Document
    settings: Settings
    states: Mapping[str, MovedState]
    runs: Iterable[RunCopy]


# --- Writing -------------------------------------------------------------------------------------------


def write_archive(
    file: BinaryIO, content: Content, version: str, progress: Callable[[int], None] = lambda _runs: None
) -> int:
    """Write an archive; `version` is that of the program. Return the number of runs."""
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        for line in _first_lines(content, version):
            packed.write(line)
        count = 0
        for count, copy in enumerate(content.runs, 1):
            packed.write(_line(_plain_run(copy)))
            progress(count)
        packed.write(_line({"end": {"jobs": len(content.document.jobs), "runs": count}}))
    return count


def _first_lines(content: Content, version: str) -> Iterator[bytes]:
    # The key that identifies the format comes first, where readers look for it.
    yield _PLAIN + b"," + _line({"halo": version, "version": _VERSION})[1:]
    document = content.document
    yield _line({"shared": document_to_plain(replace(document, jobs={}))})
    moved = {name: value for name, value in encode(content.settings).items() if name not in _NOT_MOVED}
    yield _line({"settings": moved})
    names = {**document.names, **{job_id: spec.name for job_id, spec in document.jobs.items()}}
    for job_id, spec in sorted(document.jobs.items(), key=lambda item: (item[1].name, item[0])):
        state = content.states.get(job_id, MovedState())
        yield _line({"job": job_to_plain(spec, names, job_id=job_id), "state": _without_defaults(state)})


def _line(data: object) -> bytes:
    return _json(data).encode() + b"\n"


def _plain_run(copy: RunCopy) -> dict[str, Any]:
    # Errors and notes are stored as kinds with parameters; their words are composed when they are read.
    run = _without_defaults(replace(copy.run, error="", note=""))
    if copy.output is None:
        return {"run": run}
    packed = base64.b64encode(copy.output.content).decode()
    return {"run": run, "output": {"total_bytes": copy.output.total_bytes, "zlib": packed}}


def _without_defaults(value: Run | MovedState) -> dict[str, Any]:
    usual = {field.name: field.default for field in fields(value)}
    kept = {name: getattr(value, name) for name in usual}
    return {name: encode(item) for name, item in kept.items() if item != usual[name]}


# --- Reading -------------------------------------------------------------------------------------------


class Archive:
    """Reads an archive from a file that can be rewound."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.run_count = 0
        """The number of runs; known once `read` has returned."""

    @staticmethod
    def begins_with(begin: bytes) -> bool:
        """Return whether a file that begins with these bytes is an archive, or compressed at all."""
        return begin.startswith((_GZIP, _PLAIN))

    def read(self) -> Drafts:
        """Return jobs and settings; FileError if anything is missing or invalid."""
        reader = _FirstReader()
        for line in self._lines():
            reader.take(line)
        reader.require_end()
        self.run_count = reader.runs
        return reader.drafts()

    def runs(self) -> Iterator[RunCopy]:
        """Yield the runs in recorded order."""
        for line in self._lines():
            if line.startswith((b'{"run"', b'{"output"')):
                yield _run_copy(_parsed(line))

    def _lines(self) -> Iterator[bytes]:
        self._file.seek(0)
        is_packed = self._file.read(len(_GZIP)) == _GZIP
        self._file.seek(0)
        with _readable():
            stream: Any = gzip.GzipFile(fileobj=self._file) if is_packed else self._file
            while line := stream.readline(_LONGEST_LINE):
                yield line


class _FirstReader:
    """Reads an archive for the first time: keeps its jobs and settings, checks and counts its runs."""

    def __init__(self) -> None:
        self.runs = 0
        self._lines = 0
        self._parts: list[Drafts] = []
        self._faults: list[Fault] = []
        self._settings: dict[str, Any] = {}
        self._jobs: set[str] = set()
        self._has_ended = False

    def take(self, line: bytes) -> None:
        self._lines += 1
        if self._lines == 1:
            _require_format(_parsed(line))
            return
        if self._has_ended:
            raise FileError(_DAMAGED, line=self._lines)
        try:
            self._take(line)
        except FileError as error:
            raise FileError(error.message, line=self._lines, path=error.path) from None
        except ScheduleError as error:
            raise FileError(error.message, line=self._lines, path=error.path) from None

    def _take(self, line: bytes) -> None:
        if line.startswith((b'{"run"', b'{"output"')):
            copy = _run_copy(_parsed(line))
            if copy.run.job_id not in self._jobs:
                raise FileError("the job of this run is not in the archive")
            self.runs += 1
            return
        if len(line) > MOST_BYTES:
            raise FileError(_DAMAGED)
        data = _object(read_json(line).data)
        if "job" in data:
            self._take_job(data)
        elif "shared" in data:
            self._parts.append(drafts_of(read_json(_json(data["shared"]).encode())))
        elif "settings" in data:
            self._settings = _settings_of(data["settings"])
        elif "end" in data:
            self._has_ended = data["end"] == {"jobs": len(self._jobs), "runs": self.runs}
        else:
            raise FileError(_DAMAGED)

    def _take_job(self, data: dict[str, Any]) -> None:
        plain = _object(data["job"])
        self._jobs.add(str(plain.get("id")))
        name = f"job {str(plain.get('name'))[:60]}"
        try:
            draft = replace(draft_of(plain), file=name, state=_state_of(data.get("state", {})))
        except ScheduleError as error:
            add_fault(self._faults, Fault(message=error.message, path=error.path, file=name))
        else:
            self._parts.append(Drafts(jobs=(draft,)))

    def require_end(self) -> None:
        if not self._has_ended:
            raise FileError(_DAMAGED)

    def drafts(self) -> Drafts:
        found = merged(self._parts)
        return replace(found, settings=self._settings, faults=(*found.faults, *self._faults))


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise FileError(_DAMAGED) from None


def _parsed(line: bytes) -> dict[str, Any]:
    """Parse a line; fast, because there may be a hundred thousand."""
    try:
        data = json.loads(line, parse_constant=_refuse_constant)
        if b"\\ud" in line.lower():
            json.dumps(data, ensure_ascii=False).encode()  # refuses lone surrogates
    except (ValueError, RecursionError):
        raise FileError(_DAMAGED) from None
    return _object(data)


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _object(data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise FileError(_DAMAGED)
    return data


def _require_format(header: dict[str, Any]) -> None:
    if header.get("format") != _FORMAT:
        raise FileError("this compressed file is not a Halo archive; unpack it first")
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise FileError(_DAMAGED)
    if version > _VERSION:
        raise FileError(
            f"this archive was written by a newer Halo ({header.get('halo')}); install that first"
        )


def _settings_of(data: object) -> dict[str, Any]:
    """Return the settings of an archive as they are stored; invalid ones are refused."""
    found = dict(_object(data))
    known = {field.name for field in fields(Settings)} - _NOT_MOVED
    if unknown := found.keys() - known:
        raise ScheduleError("is not a known setting", path=min(unknown))
    if "agents" in found:
        found["agents"] = decode(tuple[Agent, ...], found["agents"])
    settings = replace(Settings(), **found)
    return {name: getattr(settings, name) for name in found}


def _state_of(data: object) -> MovedState:
    plain = dict(_object(data))
    last = _messages([plain.pop("last_message")] if plain.get("last_message") else [])
    state: MovedState = decode(MovedState, {**plain, "last_message": None})
    _require_storable(state)
    if state.errors < 0 or state.disabled not in (None, StatusReason.ERRORS, StatusReason.DONE):
        raise ScheduleError("is not the state of a job", path="state")
    return replace(state, last_message=last[0] if last else None)


def _run_copy(line: dict[str, Any]) -> RunCopy:
    plain = dict(_object(line.get("run")))
    said = _messages([plain.pop("message")] if plain.get("message") else [])
    notes = _messages(plain.pop("notes", []))
    try:
        run: Run = decode(Run, plain)
    except ScheduleError as error:
        raise error.under("run") from None
    if not _RUN_ID.fullmatch(run.id) or run.outcome is Outcome.RUNNING:
        raise FileError(_DAMAGED)
    _require_storable(run)
    run = replace(run, message=said[0] if said else None, notes=notes, error="", note="")
    return RunCopy(run=run, output=_output_of(run.id, line.get("output")))


def _messages(data: object) -> Messages:
    return read_messages(json.dumps(data, ensure_ascii=False)) if data else ()


def _require_storable(value: Run | MovedState) -> None:
    """Refuse whole numbers that the database cannot store."""
    numbers = (getattr(value, field.name) for field in fields(value))
    if any(isinstance(one, int) and not -_LARGEST <= one < _LARGEST for one in numbers):
        raise FileError(_DAMAGED)


def _output_of(run_id: str, data: object) -> StoredOutput | None:
    if data is None:
        return None
    found = _object(data)
    total = found.get("total_bytes")
    if type(total) is not int or not 0 <= total < _LARGEST:
        raise FileError(_DAMAGED)
    try:
        content = base64.b64decode(str(found.get("zlib")), validate=True)
        if content:
            unpacking = zlib.decompressobj()
            unpacking.decompress(content, MOST_OUTPUT_BYTES)
            if not unpacking.eof:
                raise FileError(_DAMAGED)
    except (ValueError, zlib.error):
        raise FileError(_DAMAGED) from None
    return StoredOutput(run_id=run_id, content=content, total_bytes=total)
