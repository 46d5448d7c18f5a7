"""Work queues as the user configured them; `halo_scheduler.work_sources` fetches their items."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import ClassVar

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_kind, require_line, require_text, require_url
from halo_scheduler.grammar.templates import require_secret_name
from halo_scheduler.model.codec import Value, put

_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}", re.ASCII)
_LONGEST_LABEL = 50
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSource(Value):
    """Files in a folder: `ready/`, then `in-progress/`, then `done/` or `failed/`."""

    kind: ClassVar = "folder"
    path: str

    def __post_init__(self) -> None:
        if not require_line("path", self.path, longest=4_096).strip():
            raise ScheduleError("is empty; choose the folder that holds ready/", path="path")
        # A relative path would depend on the process: the editor, a terminal or the engine.
        if not (self.path.startswith("~") or _is_absolute(self.path)):
            raise ScheduleError("must be a whole path, like /home/me/tasks or ~/tasks", path="path")

    @property
    def secret_names(self) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GithubSource(Value):
    """Issues of a repository with a label; `token` names a secret, empty for a public repository."""

    kind: ClassVar = "github"
    repository: str
    token: str = ""
    ready: str = "ready"
    in_progress: str = "in_progress"
    base_url: str = "https://api.github.com"
    closes: bool = False
    comments: bool = False
    """Whether a success or a failure leaves a comment on the issue."""

    def __post_init__(self) -> None:
        if not _REPOSITORY.fullmatch(require_text("repository", self.repository)):
            raise ScheduleError("must be like owner/name", path="repository")
        if not {".", ".."}.isdisjoint(self.repository.split("/")):
            raise ScheduleError("must be like owner/name", path="repository")
        if require_text("token", self.token):
            require_secret_name("token", self.token)
        for name in ("ready", "in_progress"):
            label = require_line(name, getattr(self, name), longest=_LONGEST_LABEL)
            if not label.strip() or "," in label:
                raise ScheduleError("must be one label, without a comma", path=name)
            put(self, **{name: label.strip()})
        if self.ready.casefold() == self.in_progress.casefold():
            raise ScheduleError("must be another label than ready", path="in_progress")
        require_url("base_url", self.base_url)
        if "?" in self.base_url or "#" in self.base_url:
            raise ScheduleError("must be the beginning of addresses, without ? and #", path="base_url")
        if self.token and not _is_private(self.base_url):
            raise ScheduleError("must begin with https://, or others could read the token", path="base_url")
        for name in ("closes", "comments"):
            require_kind(name, getattr(self, name), bool, "true or false")

    @property
    def secret_names(self) -> frozenset[str]:
        return frozenset([self.token]) if self.token else frozenset()


WorkSource = FolderSource | GithubSource


def _is_absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def _is_private(url: str) -> bool:
    """Return whether the connection cannot be overheard: it is encrypted, or stays on this computer."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - only for those who have such a source

    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in _THIS_MACHINE
