"""Variables in a prompt, `{{date}}`: found, checked when a job is saved, and expanded when its run starts.

There is no expression language, and inserted text is not expanded again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shown

_REFERENCE = re.compile(r"\$\{secret:([^}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", re.ASCII)

# The prompt that an agent gets if the job's is empty.
NOTHING_TO_SAY = "Execute scheduled task."

_WORK_VARIABLES = {
    "work.id": "the item's number or file name",
    "work.title": "the item's title",
    "work.url": "the item's URL",
    "work.body": "the item's description",
    "work.labels": "the item's labels, separated by commas",
}
# Aliases.
_ALIASES = {
    "issue.number": "work.id",
    "issue.title": "work.title",
    "issue.body": "work.body",
    "issue.url": "work.url",
}
VARIABLES: Mapping[str, str] = {
    "date": "the day the run starts, like 2026-12-24",
    "time": "the time the run starts, like 18:00",
    "job.name": "the job's name",
    "slot": "the scheduled time of the run; empty for a manual run",
    "last.outcome": "outcome of the previous run, like success; none before the first",
    "last.output": "output of the previous run, truncated to the end",
    "question": "the agent's question; empty unless you answered it",
    "answer": "your answer to it",
    "chain.job": "the job that triggered this run; empty if none did",
    "chain.run": "the id of that job's run",
    "chain.outcome": "outcome of that run, like success",
    "chain.output": "output of that run, truncated to the end",
    **_WORK_VARIABLES,
    **{alias: _WORK_VARIABLES[name] for alias, name in _ALIASES.items()},
}
NEEDS_WORK = frozenset([*_WORK_VARIABLES, *_ALIASES])
"""The variables that are only valid for a job with a work queue."""

# A backslash escapes the braces after it.
_VARIABLE = re.compile(r"\\\{\{|\{\{([^{}]*)(\}\})?")


def require_secret_name(path: str, name: object) -> str:
    """Refuse text that cannot name a secret."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ScheduleError(
            f"{shown(name)} cannot name a secret; use letters, digits, _ . and -, like BACKUP_TOKEN",
            path=path,
        )
    return name


def require_references(path: str, text: str) -> None:
    """Refuse a text with a secret reference that can never be resolved."""
    for match in _REFERENCE.finditer(text):
        require_secret_name(path, match[1])
        if not match[0].endswith("}"):
            raise ScheduleError(f"the reference {shown(match[0])} is not closed with a brace", path=path)


def refuse_references(path: str, text: str, instead: str) -> None:
    """Refuse a secret in a field that others could read."""
    if _REFERENCE.search(text):
        raise ScheduleError(f"secrets cannot be used here; {instead}", path=path)


def referenced_names(texts: Iterable[str]) -> frozenset[str]:
    """Return the names of all secrets that some texts refer to."""
    return frozenset(match[1] for text in texts for match in _REFERENCE.finditer(text))


def filled_in(text: str, values: Mapping[str, str], escape: Callable[[str], str] = str) -> str:
    """Return a text with its references replaced by their values, which are not expanded again."""
    return _REFERENCE.sub(lambda match: escape(values[match[1]]), text)


def require_prompt(path: str, text: str, *, has_work: bool) -> None:
    """Refuse a prompt with an unknown variable."""
    for match in _VARIABLE.finditer(text):
        if match[1] is None:
            continue
        if match[2] is None:
            raise ScheduleError(
                f"the variable {shown(match[0])} is not closed with two braces; write \\{{{{ for plain braces",
                path=path,
            )
        name = match[1].strip()
        if name not in VARIABLES:
            raise ScheduleError(f"there is no variable {shown(match[0])}{_suggestion(name)}", path=path)
        if name in NEEDS_WORK and not has_work:
            raise ScheduleError(
                f"{shown(match[0])} needs a work queue, which this job doesn't have", path=path
            )


def variables_in(text: str) -> frozenset[str]:
    """Return the names of the variables in a prompt, aliases resolved."""
    names = (match[1].strip() for match in _VARIABLE.finditer(text) if match[2] is not None)
    return frozenset(_ALIASES.get(name, name) for name in names)


def variable_spans(text: str) -> list[tuple[int, int, str | None]]:
    """Return the variables in a text: start, end, and the name as written; None for an unclosed one."""
    return [
        (match.start(), match.end(), match[1].strip() if match[2] is not None else None)
        for match in _VARIABLE.finditer(text)
        if match[1] is not None
    ]


def render(text: str, values: Mapping[str, str]) -> str:
    """Return a prompt with its variables expanded; one without a value becomes empty."""

    def filled(match: re.Match[str]) -> str:
        if match[2] is None:
            return "{{" if match[1] is None else match[0]
        name = match[1].strip()
        return values.get(_ALIASES.get(name, name), "")

    return _VARIABLE.sub(filled, text)


def _suggestion(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a name that does not exist

    near = get_close_matches(name, VARIABLES, n=1)
    return f"; did you mean {{{{{near[0]}}}}}?" if near else ""
