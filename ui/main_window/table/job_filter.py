"""The filter of the job table: by text, status, kind and group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from halo_scheduler.model import Callback, Command, HttpRequest, JobStatus, Prompt, Reminder, SituationKind
from halo_scheduler.wording.search import action_text

from .job_rows import JobRow

_SNIPPET_BEFORE = 4


class StatusChoice(StrEnum):
    """The statuses to choose from; a job may have several."""

    RUNNING = "running"
    ASKING = "asking"
    WAITING = "waiting"
    FAILING = "failing"
    PAUSED = "paused"
    OFF = "off"


class KindChoice(StrEnum):
    """The kinds of actions to choose from."""

    COMMAND = "command"
    HTTP = "http"
    PROMPT = "prompt"
    REMINDER = "reminder"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class JobFilter:
    """The filter criteria; no status, no kind or a group of None means all of them."""

    text: str = ""
    statuses: frozenset[StatusChoice] = frozenset()
    kinds: frozenset[KindChoice] = frozenset()
    group: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether every job matches."""
        return self == JobFilter()

    @property
    def words(self) -> str:
        """The search text, normalised for comparison."""
        return self.text.casefold().strip()

    def choose(self, rows: Sequence[JobRow]) -> Sequence[JobRow]:
        """Return the matching rows in order; runs at every keystroke over thousands of rows."""
        text = self.words
        if text:
            rows = [row for row in rows if text in row.text]
        if self.group is not None:
            rows = [row for row in rows if row.job.group == self.group]
        if self.kinds:
            rows = [row for row in rows if kind_of(row) in self.kinds]
        if self.statuses:
            rows = [row for row in rows if any(_STATUSES[status](row) for status in self.statuses)]
        return rows


_STATUSES: dict[StatusChoice, Callable[[JobRow], bool]] = {
    StatusChoice.RUNNING: lambda row: row.situation.kind is SituationKind.RUNNING,
    StatusChoice.ASKING: lambda row: row.situation.question is not None,
    StatusChoice.WAITING: lambda row: row.situation.waiting is not None,
    StatusChoice.FAILING: lambda row: row.situation.is_failing,
    StatusChoice.PAUSED: lambda row: row.situation.status is JobStatus.PAUSED,
    StatusChoice.OFF: lambda row: row.situation.status is JobStatus.DISABLED,
}
_KINDS = {
    Command: KindChoice.COMMAND,
    HttpRequest: KindChoice.HTTP,
    Prompt: KindChoice.PROMPT,
    Reminder: KindChoice.REMINDER,
    Callback: KindChoice.FUNCTION,
}


def kind_of(row: JobRow) -> KindChoice:
    """Return the kind of a job's action."""
    return _KINDS[type(row.job.action)]


def count_choices(rows: Iterable[JobRow]) -> Counter[StatusChoice | KindChoice]:
    """Return how many jobs match each choice."""
    counts: Counter[StatusChoice | KindChoice] = Counter()
    for row in rows:
        counts[kind_of(row)] += 1
        counts.update(status for status, has in _STATUSES.items() if has(row))
    return counts


def match_in(text: str, words: str) -> tuple[int, int] | None:
    """Return the start and end of the match in a displayed text, or None."""
    # Case folding may change the length of a text; then the match has no position in it.
    folded = text.casefold() if words else ""
    at = folded.find(words) if len(folded) == len(text) else -1
    return (at, at + len(words)) if words and at >= 0 else None


def hidden_match(row: JobRow, words: str) -> str:
    """Return the part of a command, URL, prompt or description that matches; empty for none."""
    for text in (action_text(row.job.action), row.job.description):
        found = match_in(text, words)
        if found is not None:
            start = max(found[0] - _SNIPPET_BEFORE, 0)
            return f"{'…' if start else ''}{text[start:]}"
    return ""
