"""Parameters: names with defaults that a job declares; and the values and the input that one run is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import frozen_mapping, require_text
from halo_scheduler.grammar.english import shortened, shown
from halo_scheduler.grammar.templates import refuse_references

MOST_PARAMETERS = 50
LONGEST_PARAMETER_NAME = 50
MOST_VALUE_BYTES = 8 << 10
"""No more than an environment variable of a run may have."""
MOST_INPUT_BYTES = 1_000_000

_NAME = re.compile(rf"[a-z][a-z0-9_]{{0,{LONGEST_PARAMETER_NAME - 1}}}", re.ASCII)
_NOT_HERE = "the value is stored with each run and shown: put the secret into the environment or a header"


def require_parameter_name(path: str, name: object) -> str:
    """Refuse text that cannot name a parameter."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ScheduleError(
            f"{shown(name)} cannot name a parameter; use a-z, 0-9 and _, beginning with a letter, like mode "
            f"(at most {LONGEST_PARAMETER_NAME})",
            path=path,
        )
    return name


def require_parameters(path: str, values: object) -> Mapping[str, str]:
    """Return a read-only copy of parameters with their values."""
    given = frozen_mapping(path, values)
    if len(given) > MOST_PARAMETERS:
        raise ScheduleError(f"a job has at most {MOST_PARAMETERS} parameters", path=path)
    for name, value in given.items():
        require_parameter_name(path, name)
        _require_value(f"{path}.{name}", value)
    return given


def _require_value(path: str, value: str) -> None:
    refuse_references(path, value, _NOT_HERE)
    if len(value.encode()) > MOST_VALUE_BYTES:
        raise ScheduleError(f"is longer than {MOST_VALUE_BYTES} bytes; give long text as input", path=path)


def given_parameters(
    declared: Mapping[str, str], given: object, path: str = "parameters"
) -> Mapping[str, str]:
    """Return the values that are given for a run; ScheduleError if one of them is not declared."""
    values = require_parameters(path, {} if given is None else given)
    for name in values:
        if name not in declared:
            raise ScheduleError(f"there is no parameter {shown(name)}; {_known(declared)}", path=path)
    return values


def still_declared(declared: Mapping[str, str], given: Mapping[str, str]) -> Mapping[str, str]:
    """Return the value of each declared parameter; what was given, but is no longer declared, is left out."""
    if not declared or not given:
        return declared
    return MappingProxyType({name: given.get(name, value) for name, value in declared.items()})


def require_declared(path: str, used: frozenset[str], declared: Mapping[str, str]) -> None:
    """Refuse a text that uses a parameter the job does not have."""
    for name in sorted(used - declared.keys()):
        raise ScheduleError(
            f"{{{{param.{shortened(name)}}}}} is not a parameter of this job; {_known(declared)}", path=path
        )


def require_input(value: object) -> bytes:
    """Return the input of a run as bytes; text is encoded as UTF-8."""
    if value is None:
        return b""
    if isinstance(value, bytes):
        content = value
    else:
        # A NUL is fine in a file; only the environment variable must be without.
        text = value.replace("\0", "") if isinstance(value, str) else value
        require_text("input", text, longest=MOST_INPUT_BYTES)
        content = str(value).encode()
    if len(content) > MOST_INPUT_BYTES:
        raise ScheduleError(f"is longer than {MOST_INPUT_BYTES} bytes", path="input")
    return content


def _known(declared: Mapping[str, str]) -> str:
    if not declared:
        return "this job has none"
    return f"known are {', '.join(declared)}"
