"""Checks of single values; each raises an error with a sentence and the path of the field."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import PurePosixPath, PureWindowsPath
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shortened, shown
from halo_scheduler.grammar.interval import SECOND_MS, parse_interval
from halo_scheduler.grammar.zone import CALENDAR_END_S

if TYPE_CHECKING:
    from urllib.parse import SplitResult

MAX_INSTANT = CALENDAR_END_S * SECOND_MS
LONGEST_NAME = 200
LONGEST_TEXT = 1_000_000
_LONGEST_PATH = 4_096
MOST_AMOUNT = 1_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1970, 9998
_ISO_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|z|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_EMPTY: Mapping[str, str] = MappingProxyType({})

_Choice = TypeVar("_Choice", bound=StrEnum)


def require_text(path: str, value: object, *, longest: int = LONGEST_TEXT) -> str:
    """Refuse a value that is not text, or text that a database or a process cannot take."""
    if not isinstance(value, str):
        raise ScheduleError(f"must be text, not {shown(value)}", path=path)
    if len(value) > longest:
        raise ScheduleError(f"is longer than {longest} characters", path=path)
    if "\0" in value:
        raise ScheduleError("must not contain a NUL character", path=path)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ScheduleError("contains half of a character (a lone surrogate)", path=path) from None
    return value


def require_line(path: str, value: object, *, longest: int = LONGEST_TEXT) -> str:
    """Refuse text with line breaks."""
    text = require_text(path, value, longest=longest)
    if _CONTROL.search(text):
        raise ScheduleError("must be a single line without control characters", path=path)
    return text


def require_label(path: str, value: object) -> str:
    """Refuse text that cannot name a job or a group."""
    text = require_line(path, value, longest=LONGEST_NAME)
    if not text.strip():
        raise ScheduleError("is empty", path=path)
    return text


def require_whole_path(path: str, value: object) -> str:
    """Refuse text that is not a path from the root or from the home folder."""
    text = require_line(path, value, longest=_LONGEST_PATH)
    is_absolute = PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()
    if not is_absolute and text != "~" and not text.startswith("~/"):
        raise ScheduleError("must be an absolute path that begins with / or ~/", path=path)
    return text


def require_token(path: str, value: object) -> str:
    """Refuse text that is not valid as an HTTP method or header name."""
    text = require_text(path, value)
    if not _TOKEN.fullmatch(text):
        raise ScheduleError(f"{shown(text)} is not one plain word", path=path)
    return text


def require_whole(path: str, value: object, low: int, high: float = math.inf) -> int:
    """Refuse a value that is not an integer from `low` to `high`."""
    if type(value) is not int:
        raise ScheduleError(f"must be a whole number, not {shown(value)}", path=path)
    if not low <= value <= high:
        expected = f"at least {low}" if high == math.inf else f"between {low} and {high}"
        raise ScheduleError(f"must be {expected}, not {shown(value)}", path=path)
    return value


def require_amount(path: str, value: object) -> float:
    """Return an amount of money: a number above 0 and up to a million."""
    return require_number(path, value, above=0, most=MOST_AMOUNT)


def require_number(path: str, value: object, *, above: int, most: int) -> float:
    """Return a number above `low` and at most `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScheduleError(f"must be a number, not {shown(value)}", path=path)
    if not above < value <= most:
        raise ScheduleError(f"must be above {above} and at most {most}, not {shown(value)}", path=path)
    return float(value)


def require_instant(path: str, value: object) -> int:
    """Refuse a value that is not an instant in epoch milliseconds."""
    return require_whole(path, value, 0, MAX_INSTANT)


def require_choice(choices: type[_Choice], value: object, *, path: str = "") -> _Choice:
    """Return the member of an enum for its word."""
    if isinstance(value, choices):
        return value
    if not isinstance(value, str) or value not in list(choices):
        raise ScheduleError(f"must be one of {', '.join(choices)}, not {shown(value)}", path=path)
    return choices(value)


def require_kind(path: str, value: object, kinds: type | UnionType, expected: str) -> None:
    """Refuse a value of another type."""
    if not isinstance(value, kinds):
        raise ScheduleError(f"must be {expected}, not {shown(value)}", path=path)


def require_interval(path: str, text: str) -> int:
    """Return the milliseconds of an interval text."""
    try:
        return parse_interval(text)
    except ScheduleError as error:
        raise error.under(path) from None


def require_url(path: str, value: object) -> str:
    """Refuse a text that is not an http or https URL with a host."""
    url = require_line(path, value)
    parts = _split_url(url)
    if parts is not None and "@" in parts.netloc:
        raise ScheduleError(
            "must not carry a user name or password; put them into an Authorization header", path=path
        )
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname or " " in url:
        raise ScheduleError(f"{shown(url)} must begin with http:// or https:// and name a host", path=path)
    if not _has_usable_port(parts):
        raise ScheduleError(f"{shown(url)} names a port that does not exist", path=path)
    return url


def _split_url(url: str) -> SplitResult | None:
    from urllib.parse import urlsplit  # noqa: PLC0415 - only for HTTP jobs

    with suppress(ValueError):
        return urlsplit(url)
    return None


def _has_usable_port(parts: SplitResult) -> bool:
    with suppress(ValueError):
        return parts.port != 0
    return False


def require_json(path: str, text: str) -> None:
    """Refuse a text that is not JSON."""
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ScheduleError(f"is not JSON: {error}", path=path) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is a number in Python only")


def frozen_list(path: str, value: object) -> tuple[Any, ...]:
    """Return a list as a tuple; a text or an unordered set is not a list."""
    if not isinstance(value, list | tuple):
        raise ScheduleError(f"must be a list, not {shown(value)}", path=path)
    return tuple(value)


def frozen_mapping(path: str, value: object) -> Mapping[str, str]:
    """Return a read-only copy of a mapping from text to text."""
    if value is _EMPTY or value == {}:  # Thousands of jobs are read in a tick, and few have any.
        return _EMPTY
    if not isinstance(value, Mapping):
        raise ScheduleError(f"must be an object, not {shown(value)}", path=path)
    for key, item in value.items():
        require_text(path, key)
        require_text(f"{path}.{shortened(key)}", item)
    return MappingProxyType(dict(value))


def require_date(path: str, text: object) -> str:
    """Refuse anything but a date like 2026-12-31, from 1970 to 9998."""
    found = require_text(path, text)
    if not _ISO_DATE.fullmatch(found):
        raise ScheduleError(f"cannot read the date {shown(found)}; write it like 2026-12-31", path=path)
    try:
        year = date.fromisoformat(found).year
    except ValueError:
        raise ScheduleError(f"there is no such date as {found}", path=path) from None
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ScheduleError(f"must be between {_FIRST_YEAR} and {_LAST_YEAR}", path=path)
    return found


def parse_instant(path: str, text: str) -> int:
    """Return the epoch milliseconds of an ISO 8601 text with an offset."""
    if not _ISO_INSTANT.fullmatch(text):
        example = "2026-12-24T18:00:00+01:00"
        raise ScheduleError(
            f"cannot read the instant {shown(text)}; write it with an offset, like {example}", path=path
        )
    try:
        instant = (datetime.fromisoformat(text.upper()) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise ScheduleError(f"there is no such date and time as {text}", path=path) from None
    return require_instant(path, instant)
