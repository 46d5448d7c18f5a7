"""A finding: its severity, a sentence and advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from halo_scheduler.grammar.english import listed

_MOST_NAMED = 3


class Mark(StrEnum):
    """The severity of a finding."""

    FINE = "fine"
    LOOK = "look"
    """Somebody should look at it; it may be meant so."""
    WRONG = "wrong"


class Topic(StrEnum):
    """The subject of a check."""

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
    """One result of a check; `mend` repairs it and returns a sentence about what it did."""

    topic: Topic
    mark: Mark
    what: str
    advice: str = ""
    mend: Callable[[], str] | None = field(default=None, compare=False, repr=False)


def fine(topic: Topic, what: str, advice: str = "") -> Finding:
    """Return a finding without a problem."""
    return Finding(topic=topic, mark=Mark.FINE, what=what, advice=advice)


def look(topic: Topic, what: str, advice: str = "", mend: Callable[[], str] | None = None) -> Finding:
    """Return a warning."""
    return Finding(topic=topic, mark=Mark.LOOK, what=what, advice=advice, mend=mend)


def wrong(topic: Topic, what: str, advice: str = "", mend: Callable[[], str] | None = None) -> Finding:
    """Return a problem."""
    return Finding(topic=topic, mark=Mark.WRONG, what=what, advice=advice, mend=mend)


def wrong_because(topic: Topic, error: Exception, advice: str = "") -> Finding:
    """Return a problem from an error whose message may end with advice."""
    what, _, to_do = " ".join(_said_by(error).split()).partition("; ")
    return wrong(topic, f"{_begun(what)}.", advice or _begun(to_do))


def named(names: Sequence[str]) -> str:
    """Return names for a sentence; only the first few of many."""
    more = len(names) - _MOST_NAMED
    return listed(names if more <= 0 else [*names[:_MOST_NAMED], f"{more} more"])


def first_of(findings: Iterable[Finding], most: int = 10) -> Iterator[Finding]:
    """Yield the first findings of a kind, and one that counts the rest."""
    found = list(findings)
    yield from found[:most]
    if len(found) > most:
        worst = wrong if any(item.mark is Mark.WRONG for item in found[most:]) else look
        yield worst(found[0].topic, f"And {len(found) - most} more like these.")


def size_of(count: int) -> str:
    """Return a size in words: "512 bytes", "1.4 MB"."""
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
    """Capitalise a sentence unless it starts with a path or a name."""
    first, _, _ = sentence.partition(" ")
    return sentence[:1].upper() + sentence[1:] if first.isalpha() else sentence
