"""What a job says about itself in whole lines of its output: what it cost, and that it needs somebody."""

from __future__ import annotations

import re
from dataclasses import dataclass

from halo_scheduler.output_text import plain_line

_COST = re.compile(rb"::cost[ \t]+([0-9]{1,7}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})[ \t]*\r?", re.ASCII)
_QUESTION = re.compile(rb"::needs-input[ \t]+([^\r\n]*\S[^\r\n]*)\r?")
_OURS = re.compile(rb"::(?:cost|needs-input)(?![A-Za-z0-9_-])")
_LONGEST_QUESTION = 2_000
_LONGEST_SHOWN = 80
_LONGEST_LINE = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What some lines said, added up; `fault` is a sentence on the first of them that could not be read."""

    cost: float | None = None
    question: str = ""
    fault: str = ""

    def and_then(self, later: Said) -> Said:
        """Return what was said before and after."""
        costs = [cost for cost in (self.cost, later.cost) if cost is not None]
        questions = "\n".join(text for text in (self.question, later.question) if text)
        return Said(
            cost=round(sum(costs), 9) if costs else None,
            question=questions[:_LONGEST_QUESTION],
            fault=self.fault or later.fault,
        )


def read_lines(lines: bytes) -> Said:
    """Return what whole lines say; those that are no directives of ours say nothing."""
    said = Said()
    text = b"\n" + lines
    position = text.find(b"\n::")
    while position >= 0:
        end = text.find(b"\n", position + 1)
        said = said.and_then(_read_line(text[position + 1 : end if end >= 0 else None]))
        position = text.find(b"\n::", position + 1)
    return said


def _read_line(line: bytes) -> Said:
    if not _OURS.match(line):
        return Said()
    if len(line) <= _LONGEST_LINE:
        if (cost := _COST.fullmatch(line)) is not None:
            return Said(cost=float(cost[1]))
        if (question := _QUESTION.fullmatch(line)) is not None:
            text = plain_line(question[1].decode(errors="replace"), _LONGEST_QUESTION)
            return Said(question=text)
    shown = plain_line(line[:_LONGEST_LINE].decode(errors="replace"), _LONGEST_SHOWN)
    return Said(fault=f"a line of its output could not be read: {shown}")
