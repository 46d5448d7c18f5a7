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
    "input": "the text this run was given; empty if none",
    "chain.job": "the job that triggered this run; empty if none did",
    "chain.run": "the id of that job's run",
    "chain.outcome": "outcome of that run, like success",
    "chain.output": "output of that run, truncated to the end",
    **_WORK_VARIABLES,
    **{alias: _WORK_VARIABLES[name] for alias, name in _ALIASES.items()},
}
NEEDS_WORK = frozenset([*_WORK_VARIABLES, *_ALIASES])
"""The variables that are only valid for a job with a work queue."""

_PARAMETER = "param."
_PARAMETER_NAME = r"[a-z][a-z0-9_]*"
# A backslash escapes the braces after it.
_VARIABLE = re.compile(r"\\\{\{|\{\{([^{}]*)(\}\})?")
# All that is replaced in a request: other braces belong to its own format. Together with secrets, so that neither
# is looked for in the values of the other.
_IN_REQUEST = re.compile(
    rf"{_REFERENCE.pattern}|\\(\{{\{{ ?(?:input|param\.))|\{{\{{ ?(input|param\.{_PARAMETER_NAME}) ?\}}\}}",
    re.ASCII,
)


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
        if _parameter_name(name) is None and name not in VARIABLES:
            raise ScheduleError(f"there is no variable {shown(match[0])}{_suggestion(name)}", path=path)
        if name in NEEDS_WORK and not has_work:
            raise ScheduleError(
                f"{shown(match[0])} needs a work queue, which this job doesn't have", path=path
            )


def parameters_in(text: str) -> frozenset[str]:
    """Return the names of the parameters in a prompt."""
    found = (_parameter_name(name) for name in variables_in(text))
    return frozenset(name for name in found if name is not None)


def _parameter_name(variable: str) -> str | None:
    """Return the parameter of a variable like `param.mode`; None for others."""
    name = variable.removeprefix(_PARAMETER)
    return name if name != variable and re.fullmatch(_PARAMETER_NAME, name, re.ASCII) else None


def given_values(parameters: Mapping[str, str], text: str) -> dict[str, str]:
    """Return the values of the variables that stand for parameters and input."""
    return {"input": text, **{f"{_PARAMETER}{name}": value for name, value in parameters.items()}}


def variables_in_request(text: str) -> frozenset[str]:
    """Return the variables in a part of an HTTP request; other braces are its own text."""
    return frozenset(match[3] for match in _IN_REQUEST.finditer(text) if match[3])


def parameters_in_request(text: str) -> frozenset[str]:
    """Return the names of the parameters in a part of an HTTP request."""
    return frozenset(name.removeprefix(_PARAMETER) for name in variables_in_request(text) if name != "input")


def filled_request(
    text: str, secrets: Mapping[str, str], values: Mapping[str, str], escape: Callable[[str], str] = str
) -> str:
    """Return a part of an HTTP request with secrets and variables replaced; their values are not expanded again.

    A backslash before the braces of a variable makes them plain text.
    """

    def filled(match: re.Match[str]) -> str:
        secret, plain_braces, variable = match.groups()
        if secret is not None:
            return escape(secrets[secret])
        return plain_braces or escape(values.get(variable, ""))

    return _IN_REQUEST.sub(filled, text)


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
