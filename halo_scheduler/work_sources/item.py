"""Work items as short plain text, and the interface of their sources."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.text import printed_line, shown_text
from halo_scheduler.model import Run
from halo_scheduler.wording.measures import duration_in_words
from halo_scheduler.wording.messages import MessageError

LONGEST_BODY = 1 << 20
_MIB = 1 << 20
_LONGEST_TITLE = 300
_LONGEST_WORD = 100
_LONGEST_LINE = 500
_TAIL_BYTES = 4_096
_MOST_LABELS = 100
_MOST_FRONT_MATTER_LINES = 20
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r"---[ \t]*")
_FRONT_MATTER_LINE = re.compile(r"(title|labels|priority)[ \t]*:[ \t]*(.*)", re.IGNORECASE)
_PRIORITY = re.compile(r"(?:priority|prio)\s*[:/=_ -]\s*(.+)", re.IGNORECASE)
_SHORT_PRIORITY = re.compile(r"p[0-9]", re.IGNORECASE)


class SourceError(MessageError):
    """A source is unavailable or refuses; the message says why."""


class NoWorkError(SchedulerError):
    """The queue is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A work item; `body` may be truncated, and `note` then says so.

    All fields are encodable plain text without NUL; all but the body are single lines.
    """

    id: str
    title: str
    url: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()
    priority: str = ""
    note: str = ""


class Verdict(StrEnum):
    """The result of working on an item."""

    DONE = "done"
    FAILED = "failed"
    RELEASED = "released"
    """Do nothing: another program may have the item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The recorded state of a claim, valid after a crash too.

    `key` is unique to this claim and usable in file names. `place` is where the source put the item; it is empty while
    nobody knows whether the claim was won.
    """

    item_id: str
    key: str
    place: str = ""


class ClaimNote(Protocol):
    """Records a claim on disk; a source updates it before each step."""

    @property
    def key(self) -> str:
        """A word unique to this claim, usable in file names."""

    def begin(self) -> None:
        """Record that the item may be ours from now on; raises SourceError."""

    def take(self, place: str) -> None:
        """Record that the item is ours, and where it is; raises SourceError."""

    def drop(self) -> None:
        """Delete the record: the claim was lost."""


class Source(Protocol):
    """A work queue; its methods may block, and are safe beside other workers.

    Every method raises SourceError when the source is unavailable.
    """

    def prepare(self) -> None:
        """Create what claims need."""

    def ready(self) -> Iterator[Item]:
        """Yield claimable items in order; bodies may be missing."""

    def read(self, item_id: str) -> Item | None:
        """Return a ready item without claiming it; None if it is gone."""

    def claim(self, item_id: str, note: ClaimNote) -> Item | None:
        """Claim a ready item and return it; None if another worker was faster."""

    def resume(self, claim: Claim) -> Item | None:
        """Return a claimed item to continue with; None if it is no longer ours."""

    def settle(self, claim: Claim, verdict: Verdict, comment: str = "") -> None:
        """Return a claimed item to the queue or report its result; leave it alone if it is no longer ours."""


def plain_title(text: str, otherwise: str) -> str:
    """Return one short line, or the fallback if it is empty."""
    # Cut before parsing, so that a huge title costs no more than a short one.
    return printed_line(_encodable(text[: 4 * _LONGEST_TITLE]), _LONGEST_TITLE) or otherwise


def plain_labels(names: Iterable[str]) -> tuple[str, ...]:
    """Return labels as short lines."""
    lines = (printed_line(_encodable(name[: 4 * _LONGEST_WORD]), _LONGEST_WORD) for name in names)
    return tuple(line for line in lines if line)[:_MOST_LABELS]


def priority_in(labels: Iterable[str]) -> str:
    """Return the priority in a label such as `priority: high` or `P1`."""
    for label in labels:
        if match := _PRIORITY.fullmatch(label):
            return match[1]
        if _SHORT_PRIORITY.fullmatch(label):
            return label
    return ""


def plain_body(content: bytes, total_bytes: int) -> tuple[str, str]:
    """Return a possibly truncated description, and the note about the truncation."""
    is_whole = total_bytes <= LONGEST_BODY
    # A character at the cut is dropped; invalid bytes become replacement characters.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(content[:LONGEST_BODY], is_whole)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\0", "\ufffd")
    if is_whole:
        return text, ""
    note = f"its text is cut after {LONGEST_BODY / _MIB:.0f} MiB of {total_bytes / _MIB:.1f} MiB"
    return f"{text}\n\n[… {note} …]\n", note


def result_comment(run: Run | None, output: bytes) -> str:
    """Return the comment on the item of an ended run: its outcome, last line, duration and id."""
    if run is None:
        return ""
    took = "" if run.duration_ms is None else f" after {duration_in_words(run.duration_ms)}"
    error = f": {printed_line(run.error, _LONGEST_LINE)}" if run.error else ""
    lines = shown_text(output[-_TAIL_BYTES:]).splitlines()
    last = next((line for line in reversed(lines) if line.strip() and not line.startswith("::")), "")
    # Formatted as code, so that it creates no mentions or links.
    quoted = printed_line(last, _LONGEST_LINE).replace("`", "'")
    parts = [f"Halo: {run.outcome}{took}{error}", f"`{quoted}`" if quoted else "", f"Run `{run.id}`"]
    return "\n\n".join(filter(None, parts))


class MarkdownText:
    """A Markdown file split into title, labels, priority and body.

    The title is the first line. A heading used as title is removed from the body; so is front matter that contains
    only `title:`, `labels:` and `priority:`.
    """

    def __init__(self, text: str, name: str) -> None:
        facts, rest = _front_matter(text)
        told = facts.get("title", "")
        first, _, behind = rest.lstrip().partition("\n")
        heading = None if told else _HEADING.fullmatch(first)
        self.title = plain_title(told or (heading[1] if heading else first), otherwise=name)
        self.body = behind.lstrip("\n") if heading else rest
        self.labels = plain_labels(facts.get("labels", "").strip("[]").split(","))
        self.priority = "".join(plain_labels([facts.get("priority", "")])) or priority_in(self.labels)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the values of the front matter, and the text after it."""
    lines = text.split("\n", _MOST_FRONT_MATTER_LINES + 2)
    facts: dict[str, str] = {}
    if not _FENCE.fullmatch(lines[0]):
        return {}, text
    for number, line in enumerate(lines[1:-1], start=1):
        if _FENCE.fullmatch(line):
            return facts, "\n".join(lines[number + 1 :]).lstrip("\n")
        match = _FRONT_MATTER_LINE.fullmatch(line)
        if match is None:
            break
        facts[match[1].lower()] = match[2].strip().strip("\"'")
    return {}, text


def _encodable(text: str) -> str:
    return _LONE_SURROGATES.sub("\ufffd", text)
