"""What was found: how bad it is, a sentence on it, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from halo_scheduler.grammar.english import listed

_MOST_NAMED = 3


class Mark(StrEnum):
    """How bad a finding is."""

    FINE = "fine"
    LOOK = "look"
    """Somebody should look at it; it may be meant so."""
    WRONG = "wrong"


class Topic(StrEnum):
    """What is looked at."""

    DATABASE = "database"
    PERMISSIONS = "permissions"
    BACKUPS = "backups"
    ENGINE = "engine"
    ZONE = "time zone"
    AUTOSTART = "autostart"
    TRAY = "tray"
    SECRETS = "secrets"
    PROCESSES = "processes"
    SPOOL = "spool"
    JOBS = "jobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at; `mend` puts it right and returns a sentence on what it did."""

    topic: Topic
    mark: Mark
    what: str
    advice: str = ""
    mend: Callable[[], str] | None = field(default=None, compare=False, repr=False)


def fine(topic: Topic, what: str, advice: str = "") -> Finding:
    """Return that something is in order."""
    return Finding(topic=topic, mark=Mark.FINE, what=what, advice=advice)


def look(topic: Topic, what: str, advice: str = "", mend: Callable[[], str] | None = None) -> Finding:
    """Return that somebody should look at something."""
    return Finding(topic=topic, mark=Mark.LOOK, what=what, advice=advice, mend=mend)


def wrong(topic: Topic, what: str, advice: str = "", mend: Callable[[], str] | None = None) -> Finding:
    """Return that something is not as it must be."""
    return Finding(topic=topic, mark=Mark.WRONG, what=what, advice=advice, mend=mend)


def wrong_because(topic: Topic, error: Exception, advice: str = "") -> Finding:
    """Return that something is wrong as an error has it, whose sentence may end in what to do."""
    what, _, to_do = " ".join(_said_by(error).split()).partition("; ")
    return wrong(topic, f"{_begun(what)}.", advice or _begun(to_do))


def named(names: Sequence[str]) -> str:
    """Return some names as in a sentence; of many the first few."""
    more = len(names) - _MOST_NAMED
    return listed(names if more <= 0 else [*names[:_MOST_NAMED], f"{more} more"])


def first_of(findings: Iterable[Finding], most: int = 10) -> Iterator[Finding]:
    """Yield some findings of one kind, and of many how many more there are."""
    found = list(findings)
    yield from found[:most]
    if len(found) > most:
        worst = wrong if any(item.mark is Mark.WRONG for item in found[most:]) else look
        yield worst(found[0].topic, f"And {len(found) - most} more like these.")


def size_of(count: int) -> str:
    """Return a number of bytes in words: "512 bytes", "1.4 MB"."""
    if count < 1_000:  # noqa: PLR2004 - a kilobyte
        return f"{count} bytes"
    size, units = float(count), iter(("kB", "MB", "GB", "TB"))
    unit = ""
    while size >= 1_000 and (larger := next(units, "")):  # noqa: PLR2004
        size, unit = size / 1_000, larger
    return f"{size:.1f} {unit}"


def _said_by(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename} cannot be used: {error.strerror.lower()}"
    return str(error)


def _begun(sentence: str) -> str:
    """Return a sentence with a large first letter; a path or a name in its place stays as it is."""
    first, _, _ = sentence.partition(" ")
    return sentence[:1].upper() + sentence[1:] if first.isalpha() else sentence
