"""A desk with a folder of tasks and a token, as the tests of the desk use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from github_site import REPOSITORY, TOKEN, GithubSite
from machine import START

from halo_scheduler.model.actions import FolderSource, GithubSource
from halo_scheduler.work_sources.item import Verdict
from halo_scheduler.work_sources.web import Web
from halo_scheduler.work_sources.work_desk import WorkDesk

TOKEN_NAME = "TOKEN"  # noqa: S105 - its name


def _secrets(names: Iterable[str]) -> Callable[[], Mapping[str, str]]:
    return lambda: dict.fromkeys(names, TOKEN)


def new_desk(folder: Path) -> WorkDesk:
    """Return a desk that keeps its notes in a folder."""
    return WorkDesk(folder / "spool", _secrets, lambda: START, web=Web(deadline_s=20))


def folder_source(base: Path) -> FolderSource:
    """Return the source of a folder of tasks."""
    return FolderSource(path=str(base))


def github_source(site: GithubSite) -> GithubSource:
    """Return the source of a site's issues."""
    return GithubSource(repository=REPOSITORY, token=TOKEN_NAME, base_url=site.url)


def make_tasks(folder: Path) -> Path:
    """Make a folder of tasks in which nothing is to be done yet."""
    base = folder / "tasks"
    (base / "ready").mkdir(parents=True)
    return base


def put(base: Path, *names: str) -> None:
    """Put tasks into a folder."""
    for name in names:
        (base / "ready" / name).write_text(f"# Do {name}\n")


def tree(base: Path) -> list[str]:
    """Return all files below a folder."""
    return sorted(str(path.relative_to(base)) for path in base.rglob("*") if path.is_file())


def settle_item(desk: WorkDesk, run_id: str, verdict: Verdict) -> None:
    """Report what became of the item of a run."""
    settle = desk.settlement(run_id, verdict)
    assert settle is not None
    settle()
