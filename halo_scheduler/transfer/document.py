"""Halo's own job files: one or more jobs with quiet hours and group limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_label, require_whole
from halo_scheduler.grammar.english import shortened, shown
from halo_scheduler.grammar.text import json_text
from halo_scheduler.model import SCHEMA_VERSION, JobSpec
from halo_scheduler.model.jobs import version_of
from halo_scheduler.model.settings import MOST_QUIET_TIMES, QuietTime
from halo_scheduler.rules.chains import circle_fault
from halo_scheduler.transfer.drafts import (
    MOST_FAULTS,
    Draft,
    Drafts,
    Fault,
    add_fault,
    find_circles,
    too_many_faults,
)
from halo_scheduler.transfer.job_form import draft_of, job_to_plain
from halo_scheduler.transfer.json_text import read_json
from halo_scheduler.transfer.plain_values import read_value, resolved, to_plain
from halo_scheduler.transfer.text_file import FileError, TextFile, shown_key
from halo_scheduler.transfer.yaml_text import write_yaml

_KNOWN = ("version", "groups", "quiet_times", "jobs")
_HEADER = (
    "Jobs of Halo Scheduler; import them with: halo import FILE",
    "Missing fields have their defaults. Secrets are named here, but their values aren't included.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The content of a job file: jobs by id, and the settings they share."""

    jobs: Mapping[str, JobSpec]
    quiet_times: tuple[QuietTime, ...] = ()
    group_limits: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of jobs that are not exported but may follow exported ones."""


def document_to_plain(document: Document) -> dict[str, Any]:
    """Return a document as plain data, jobs sorted by name."""
    names = {**document.names, **{job_id: spec.name for job_id, spec in document.jobs.items()}}
    ordered = sorted(document.jobs.items(), key=lambda item: (item[1].name, item[0]))
    limits = {group: {"max_concurrent": most} for group, most in sorted(document.group_limits.items())}
    found = {
        "groups": limits,
        "quiet_times": [_plain_quiet_time(quiet_time) for quiet_time in document.quiet_times],
        "jobs": [job_to_plain(spec, names, job_id=job_id) for job_id, spec in ordered],
    }
    version = max(map(version_of, document.jobs.values()), default=1)
    return {"version": version, **{key: value for key, value in found.items() if value}}


def _plain_quiet_time(quiet_time: QuietTime) -> dict[str, Any]:
    """Return quiet hours with their times, even default ones."""
    found = {"name": "", "group": "", "days": "", **to_plain(quiet_time)}
    hours = {"start": quiet_time.start, "end": quiet_time.end}
    zone = found.pop("timezone", None)
    return {key: value for key, value in {**found, **hours, "timezone": zone}.items() if value}


def write_document(document: Document, header: Sequence[str] = _HEADER) -> str:
    """Return a document as YAML."""
    return write_yaml(document_to_plain(document), header)


def write_document_as_json(document: Document) -> str:
    """Return a document as JSON."""
    return json_text(document_to_plain(document), indent=2) + "\n"


def write_job(
    spec: JobSpec, names: Mapping[str, str], header: Sequence[str] = (), *, job_id: str | None = None
) -> str:
    """Return one job as YAML; `names` maps the ids of possible followers to their names."""
    return write_yaml({"version": version_of(spec), **job_to_plain(spec, names, job_id=job_id)}, header)


def read_job(content: bytes) -> Draft:
    """Read one job from YAML as written by `write_job`. FileError says what is wrong and on which line."""
    from halo_scheduler.transfer.yaml_text import read_yaml  # noqa: PLC0415 - PyYAML

    file = read_yaml(content)
    data = file.data
    if isinstance(data, dict) and "jobs" in data:
        raise FileError("this file is for one job; write it without `jobs`", line=file.line_of("jobs"))
    try:
        return draft_of(_versioned(data))
    except ScheduleError as error:
        raise FileError(error.message, line=file.line_of(error.path), path=error.path) from None


def read_document(content: bytes, *, is_json: bool = False) -> Drafts:
    """Read a document or a single job. FileError refuses the whole file; drafts carry the faults of single parts."""
    if is_json:
        return drafts_of(read_json(content))
    from halo_scheduler.transfer.yaml_text import read_yaml  # noqa: PLC0415 - PyYAML

    return drafts_of(read_yaml(content))


def drafts_of(file: TextFile) -> Drafts:
    """Return the drafts in a file."""
    return _DocumentReader(file).read()


class _DocumentReader:
    """Reads one document and collects its faults."""

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self._faults: list[Fault] = []

    def read(self) -> Drafts:
        try:
            data = _versioned(self._file.data)
        except ScheduleError as error:
            raise FileError(error.message, line=self._file.line_of(error.path), path=error.path) from None
        if "jobs" not in data and "name" in data:
            jobs = [self._job("", data)]
        else:
            self._refuse_unknown(data)
            items = self._list("jobs", data) or []
            self._refuse_many_in_circles(items)
            jobs = [self._job(f"jobs[{index}]", job) for index, job in enumerate(items)]
        return Drafts(
            jobs=tuple(job for job in jobs if job is not None),
            quiet_times=self._quiet_times(data),
            group_limits=self._group_limits(data),
            faults=tuple(self._faults),
        )

    def _refuse_many_in_circles(self, items: Sequence[object]) -> None:
        """Refuse thousands of jobs in cycles before reading them, which would take too long."""
        places = {str(item.get("name")): index for index, item in enumerate(items) if isinstance(item, dict)}
        followers = {name: _names_of_followers(items[index]) for name, index in places.items()}
        first: list[str] = []
        count = 0
        for circle, members in find_circles(followers, followers):
            first = first or circle
            count += len(members)
            if count > MOST_FAULTS:
                path = f"jobs[{places[first[0]]}].followers"
                raise too_many_faults(self._fault_at(circle_fault([shortened(name) for name in first]), path))

    def _job(self, path: str, data: object) -> Draft | None:
        try:
            return replace(draft_of(data), path=path, line_of=self._file.line_of)
        except ScheduleError as error:
            self._fault(error.under(path) if path else error)
            return None

    def _quiet_times(self, data: Mapping[str, Any]) -> tuple[QuietTime, ...] | None:
        items = self._list("quiet_times", data)
        if items is None:
            return None
        if len(items) > MOST_QUIET_TIMES:
            self._fault(
                ScheduleError(f"at most {MOST_QUIET_TIMES} quiet hours can be stored", path="quiet_times")
            )
            return None
        found = []
        for index, item in enumerate(items):
            try:
                found.append(read_value(QuietTime, item))
            except ScheduleError as error:
                self._fault(error.under(f"quiet_times[{index}]"))
        return tuple(found)

    def _group_limits(self, data: Mapping[str, Any]) -> dict[str, int | None]:
        groups = resolved(data.get("groups"))
        if groups is not None and not isinstance(groups, dict):
            self._fault(ScheduleError("must map names to groups", path="groups"))
        limits: dict[str, int | None] = {}
        for name, group in groups.items() if isinstance(groups, dict) else ():
            try:
                limits[require_label("", name)] = _group_limit(group)
            except ScheduleError as error:
                self._fault(error.under(shown_key(name)).under("groups"))
        return limits

    def _list(self, key: str, data: Mapping[str, Any]) -> list[Any] | None:
        items = resolved(data.get(key))
        if items is not None and not isinstance(items, list):
            self._fault(ScheduleError(f"must be a list, not {shown(items)}", path=key))
            return None
        return items

    def _refuse_unknown(self, data: Mapping[str, Any]) -> None:
        for key in data:
            if key not in _KNOWN:
                known = ", ".join(_KNOWN)
                self._fault(ScheduleError(f"is not a known field; known are {known}", path=shown_key(key)))

    def _fault(self, error: ScheduleError) -> None:
        add_fault(self._faults, self._fault_at(error.message, error.path))

    def _fault_at(self, message: str, path: str) -> Fault:
        return Fault(message=message, line=self._file.line_of(path), path=path)


def _names_of_followers(job: Any) -> list[str]:
    """Return the names of a job's followers, if the raw data has them."""
    followers = job.get("followers")
    found = followers if isinstance(followers, list) else []
    return [str(one.get("job") if isinstance(one, dict) else one) for one in found]


def _versioned(data: object) -> dict[str, Any]:
    """Return a file's data without its format version, which must be known."""
    if not isinstance(data, dict):
        raise ScheduleError("this is not a Halo job file; one begins with: version: 1")
    if "version" not in data:
        raise ScheduleError("is missing; write version: 1", path="version")
    version = resolved(data["version"])
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        raise ScheduleError(f"must be 1 or {SCHEMA_VERSION}; a newer one needs a newer Halo", path="version")
    return {key: value for key, value in data.items() if key != "version"}


def _group_limit(group: object) -> int | None:
    if not isinstance(group, dict):
        raise ScheduleError("must be an object, like {max_concurrent: 2}")
    for key in group:
        if key != "max_concurrent":
            raise ScheduleError("is not a known field; known is max_concurrent", path=shown_key(key))
    most = resolved(group.get("max_concurrent"))
    return None if most is None else require_whole("max_concurrent", most, 1)
