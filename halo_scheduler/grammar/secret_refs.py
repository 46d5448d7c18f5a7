"""References to secrets in a text, `${secret:NAME}`: found, checked, and filled in when a run starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.english import shown

_REFERENCE = re.compile(r"\$\{secret:([^}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", re.ASCII)


def require_secret_name(path: str, name: object) -> str:
    """Refuse what cannot name a secret."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ScheduleError(
            f"{shown(name)} cannot name a secret; use letters, digits, _ . and -, like BACKUP_TOKEN",
            path=path,
        )
    return name


def require_references(path: str, text: str) -> None:
    """Refuse a text with a reference that could never be filled in."""
    for match in _REFERENCE.finditer(text):
        require_secret_name(path, match[1])
        if not match[0].endswith("}"):
            raise ScheduleError(f"the reference {shown(match[0])} is not closed with a brace", path=path)


def refuse_references(path: str, text: str, instead: str) -> None:
    """Refuse a secret in a place where others could read it."""
    if _REFERENCE.search(text):
        raise ScheduleError(f"secrets cannot be used here; {instead}", path=path)


def referenced_names(texts: Iterable[str]) -> frozenset[str]:
    """Return the names of all secrets that some texts refer to."""
    return frozenset(match[1] for text in texts for match in _REFERENCE.finditer(text))


def filled_in(text: str, values: Mapping[str, str], escape: Callable[[str], str] = str) -> str:
    """Return a text with its references replaced by their values; what was filled in is not looked at again."""
    return _REFERENCE.sub(lambda match: escape(values[match[1]]), text)
