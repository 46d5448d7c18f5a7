"""The texts of an item: made plain, whatever came, and cut when they are too long."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

from halo_scheduler.grammar.text import printed_line

LONGEST_BODY = 1 << 20
_MIB = 1 << 20
_LONGEST_TITLE = 300
_LONGEST_WORD = 100
_MOST_LABELS = 100
_MOST_FRONT_MATTER_LINES = 20
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r"---[ \t]*")
_FRONT_MATTER_LINE = re.compile(r"(title|labels|priority)[ \t]*:[ \t]*(.*)", re.IGNORECASE)
_PRIORITY = re.compile(r"(?:priority|prio)\s*[:/=_ -]\s*(.+)", re.IGNORECASE)
_SHORT_PRIORITY = re.compile(r"p[0-9]", re.IGNORECASE)


def plain_title(text: str, otherwise: str) -> str:
    """Return one short line; what to say otherwise when there is nothing in it."""
    # Cut before it is looked at closely: a title of five million characters costs no more than another.
    return printed_line(_encodable(text[: 4 * _LONGEST_TITLE]), _LONGEST_TITLE) or otherwise


def plain_labels(names: Iterable[str]) -> tuple[str, ...]:
    """Return labels as short lines."""
    lines = (printed_line(_encodable(name[: 4 * _LONGEST_WORD]), _LONGEST_WORD) for name in names)
    return tuple(line for line in lines if line)[:_MOST_LABELS]


def priority_in(labels: Iterable[str]) -> str:
    """Return the priority that a label tells, like `priority: high` or `P1`."""
    for label in labels:
        if match := _PRIORITY.fullmatch(label):
            return match[1]
        if _SHORT_PRIORITY.fullmatch(label):
            return label
    return ""


def plain_body(content: bytes, total_bytes: int) -> tuple[str, str]:
    """Return a description of which at least the beginning is at hand, and what to note if it was cut."""
    is_whole = total_bytes <= LONGEST_BODY
    # A character that the cut goes through is left out; bytes that are no text show as a sign in their place.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(content[:LONGEST_BODY], is_whole)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\0", "\ufffd")
    if is_whole:
        return text, ""
    note = f"its text is cut after {LONGEST_BODY / _MIB:.0f} MiB of {total_bytes / _MIB:.1f} MiB"
    return f"{text}\n\n[… {note} …]\n", note


class MarkdownText:
    """A file's text taken apart: its title, labels and priority, if it tells any, and the rest as its body.

    The title is the first line. A heading in that place is left out of the body, as it is said already; so is front
    matter (`title:`, `labels:` and `priority:` between two lines of three dashes) that holds nothing else.
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
    """Return what the lines at the very beginning tell, and the text behind them."""
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
