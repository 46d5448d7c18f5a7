"""Job files: chooses the reader of a format, reads files, folders, units and the crontab, and exports jobs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from getpass import getuser
from pathlib import Path, PurePath
from typing import assert_never

from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import Job, JobSpec, Prompt
from halo_scheduler.model.settings import PRESETS, Agent, Settings
from halo_scheduler.transfer.archive import Archive
from halo_scheduler.transfer.crontab_reading import read_crontab
from halo_scheduler.transfer.crontab_writing import write_crontab
from halo_scheduler.transfer.document import (
    Document,
    drafts_of,
    read_document,
    write_document,
    write_document_as_json,
)
from halo_scheduler.transfer.drafts import Drafts, Fault, LeftOut, merged, of_file
from halo_scheduler.transfer.text_file import MOST_BYTES, FileError, text_of
from halo_scheduler.transfer.timer_reading import Machine, read_timer

_BEGIN = 64
_ENDINGS = {".yaml", ".yml", ".json"}
_LONGEST_CRONTAB_S = 10
_YAML = re.compile(r"^(?:version|jobs|name|schedules|agents):(?:\s|$)", re.MULTILINE)
_TIMER = re.compile(r"^\[Timer\]\s*$", re.MULTILINE)
_YAML_ENDINGS = {".yaml", ".yml"}
_SYSTEM_CRONTAB = re.compile(r"/etc/(?:crontab|cron\.d/[^/]+)")


class UnreadableError(SchedulerError):
    """A file cannot be opened or read."""


@contextmanager
def open_archive(path: Path) -> Iterator[Archive | None]:
    """Open a file as an archive; None if it isn't one."""
    if not (path.is_file() and os.access(path, os.R_OK)):
        yield None
        return
    with path.open("rb") as file:
        yield Archive(file) if Archive.begins_with(file.peek(_BEGIN)[:_BEGIN]) else None


def read_own_crontab() -> Drafts:
    """Read the crontab of the user."""
    program = shutil.which("crontab")
    if program is None:
        raise FileError("cron isn't installed here")
    try:
        # The program that the user's PATH finds.
        done = subprocess.run(  # noqa: S603 - no part of it comes from outside
            [program, "-l"], capture_output=True, check=False, timeout=_LONGEST_CRONTAB_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FileError(f"the crontab cannot be read: {error}") from None
    if done.returncode:
        raise FileError("you have no crontab")
    return read_jobs(done.stdout)


def machine_here() -> Machine:
    """Return the home and the user that systemd units and system crontabs refer to."""
    return Machine(home=str(Path.home()), user=_user())


def read_files(
    paths: Sequence[str], read: Callable[[str], Drafts] | None = None, *, is_system: bool = False
) -> Drafts:
    """Read files; with several, each error names its file. `is_system` reads all as system crontabs."""
    read = read or partial(read_file, is_system=is_system)
    return read(paths[0]) if len(paths) == 1 else merged([_read_named(path, read) for path in paths])


def read_folder(folder: Path) -> Drafts:
    """Read the job files in a folder and its subfolders, sorted by name; hidden ones are skipped."""
    paths: list[Path] = []
    left_out: list[LeftOut] = []
    for path in _within(folder):
        if path.is_dir():
            name = str(path.relative_to(folder))
            left_out.append(LeftOut(what=name, why="links to folders are not followed"))
        elif path.suffix.lower() in _ENDINGS:
            paths.append(path)
    if not paths:
        raise FileError(f"no .yaml, .yml or .json files in {folder}")
    return merged([*(_read_one(folder, path) for path in sorted(paths)), Drafts(left_out=tuple(left_out))])


def _within(folder: Path) -> Iterator[Path]:
    """Yield the files and links in a folder and its subfolders, except hidden ones."""

    def fail(error: OSError) -> None:
        raise error  # --prune would remove the jobs of a folder that cannot be read

    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        links = [name for name in folders if Path(place, name).is_symlink()]
        yield from (Path(place, name) for name in (*links, *files) if not name.startswith("."))


def _read_one(folder: Path, path: Path) -> Drafts:
    """Read a file of a folder; an unreadable file is a fault, so that all faults are reported together."""
    name = str(path.relative_to(folder))
    if path.exists() and not path.is_file():
        return Drafts(faults=(Fault(message="is not a regular file", file=name),))
    try:
        drafts = read_jobs(content_of(path), str(path.absolute()))
    except FileError as error:
        return Drafts(faults=(Fault(message=error.message, file=name, line=error.line, path=error.path),))
    except OSError as error:
        return Drafts(faults=(Fault(message=f"cannot be read: {error.strerror}", file=name),))
    return of_file(drafts, name)


def _read_named(file: str, read: Callable[[str], Drafts]) -> Drafts:
    """Read one of several files; its errors can be skipped."""
    try:
        return of_file(read(file), file)
    except FileError as error:
        return Drafts(faults=(Fault(message=error.message, file=file, line=error.line, path=error.path),))


def read_file(file: str, *, is_system: bool = False, repository: str | None = None) -> Drafts:
    """Read a file; `is_system` reads a system crontab, `repository` completes GitHub sources that name none."""
    path = Path(file)
    try:
        content = _unit_of(path) if path.suffix == ".timer" else content_of(path)
    except OSError as error:
        raise UnreadableError(f"cannot read {file}: {error.strerror}") from None
    return read_jobs(
        content,
        str(path.absolute()),
        find_beside=partial(_unit_beside, path.parent),
        machine=machine_here(),
        is_system=is_system,
        repository=repository,
    )


def content_of(path: Path) -> bytes:
    """Return the content of a file, at most one byte above the limit: it may be endless."""
    with open(path, "rb", opener=_open_without_waiting) as opened:
        return opened.read(MOST_BYTES + 1)


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a pipe."""
    if sys.platform == "win32":
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def _unit_of(path: Path) -> bytes:
    """Return the content of a systemd unit, followed by its drop-ins."""
    content = content_of(path)
    for over in sorted(path.with_name(f"{path.name}.d").glob("*.conf")):
        if not over.name.startswith(".") and len(content) <= MOST_BYTES:
            content += b"\n" + content_of(over)
    return content


def _unit_beside(folder: Path, name: str) -> bytes | None:
    if Path(name).name != name:
        return None  # in another folder
    try:
        return _unit_of(folder / name)
    except OSError:
        return None


def _user() -> str:
    """Return the user that jobs run as; the environment may still name the user who called sudo."""
    try:
        if sys.platform == "win32":
            return getuser()
        import pwd  # noqa: PLC0415 - not on Windows

        return pwd.getpwuid(os.geteuid()).pw_name
    except (OSError, KeyError):
        return ""


def _nothing(_name: str) -> bytes | None:
    return None


def read_jobs(
    content: bytes,
    name: str = "",
    *,
    find_beside: Callable[[str], bytes | None] = _nothing,
    machine: Machine | None = None,
    is_system: bool = False,
    repository: str | None = None,
) -> Drafts:
    """Read the content of a file; its name, if any, and its first words determine the format.

    `find_beside` returns the content of other files in its folder. `is_system` marks a system crontab, like those in
    /etc; `repository` is the default of GitHub sources. FileError refuses the whole file; faults of the drafts are
    single entries.
    """
    if is_system or _SYSTEM_CRONTAB.fullmatch(name):
        return read_crontab(content, user=(machine or Machine()).user)
    ending = PurePath(name).suffix.lower()
    text = text_of(content)
    if not text.strip():
        raise FileError("the file is empty")
    if ending == ".json" or (ending not in _YAML_ENDINGS and text.lstrip().startswith("{")):
        return read_document(content, is_json=True)
    if ending == ".timer" or _TIMER.search(text):
        return read_timer(content, name, find_beside, machine)
    if ending == ".service":
        raise FileError("this is the service of a timer; import its .timer file instead")
    if ending in _YAML_ENDINGS or _YAML.search(text):
        return _read_yaml(content, name, repository)
    return read_crontab(content)


def _read_yaml(content: bytes, name: str, repository: str | None) -> Drafts:
    from halo_scheduler.transfer.agent_reading import looks_like_agent, read_agent  # noqa: PLC0415 - for YAML only
    from halo_scheduler.transfer.yaml_text import read_yaml  # noqa: PLC0415 - PyYAML

    file = read_yaml(content)
    if looks_like_agent(file.data):
        return read_agent(file, name, repository)
    if isinstance(file.data, dict) and "agents" in file.data and "jobs" not in file.data:
        raise FileError("this is a fleet file; import the files of its agents", line=file.line_of("agents"))
    return drafts_of(file)


class FileFormat(StrEnum):
    """The format of a job file."""

    YAML = "yaml"
    JSON = "json"
    CRONTAB = "crontab"

    @classmethod
    def of(cls, name: str) -> FileFormat:
        """Return the format for a file name's extension; YAML by default."""
        endings = {".json": cls.JSON, ".cron": cls.CRONTAB, ".crontab": cls.CRONTAB}
        return endings.get(PurePath(name).suffix.lower(), cls.YAML)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A document, and the names of jobs whose removed followers are omitted.

    `agents` are used by its prompts and must be set up on the other computer: agents belong to the settings.
    """

    document: Document
    without_followers: tuple[str, ...] = ()
    agents: tuple[Agent, ...] = ()


def export_all(jobs: Sequence[Job], settings: Settings, group_limits: Mapping[str, int]) -> Export:
    """Return all jobs with quiet hours and group limits."""
    found = export_some(jobs, jobs, settings)
    return replace(
        found,
        document=replace(found.document, quiet_times=settings.quiet_times, group_limits=dict(group_limits)),
    )


def export_some(chosen: Sequence[Job], jobs: Sequence[Job], settings: Settings) -> Export:
    """Return the chosen jobs only, without settings that others share."""
    names = {job.id: job.name for job in jobs}
    cut = [job.name for job in chosen if any(follower.job_id not in names for follower in job.followers)]
    specs = {job.id: _without_gone(job.spec, names) for job in chosen}
    asked = {job.action.agent for job in chosen if isinstance(job.action, Prompt)}
    return Export(
        document=Document(jobs=specs, names=names),
        without_followers=tuple(sorted(cut)),
        agents=tuple(agent for agent in settings.agents if agent.name in asked and agent not in PRESETS),
    )


def written(document: Document, file_format: FileFormat) -> str:
    """Return the text of a job file."""
    match file_format:
        case FileFormat.YAML:
            return write_document(document)
        case FileFormat.JSON:
            return write_document_as_json(document)
        case FileFormat.CRONTAB:
            return write_crontab(list(document.jobs.values()))
        case _:
            assert_never(file_format)


def _without_gone(spec: JobSpec, names: Mapping[str, str]) -> JobSpec:
    if not spec.followers:
        return spec
    return replace(spec, followers=tuple(one for one in spec.followers if one.job_id in names))
