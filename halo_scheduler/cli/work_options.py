"""The options that say where a job's work items come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from halo_scheduler.work_sources import FolderSource, GithubSource, WorkSource

WORK_OPTIONS = (
    click.option(
        "--work-folder", metavar="DIR", help="Give each run one file of DIR/ready, then move it to DIR/done."
    ),
    click.option("--work-github", metavar="OWNER/REPO", help="Give each run one issue of this repository."),
    click.option("--work-token", metavar="SECRET", help="The secret that holds the token for it."),
    click.option("--work-ready", metavar="LABEL", help="The label of what can be done. [ready]"),
    click.option(
        "--work-in-progress", metavar="LABEL", help="The label of what is being done. [in_progress]"
    ),
    click.option("--work-url", metavar="URL", help="The API, if it is not GitHub's own."),
    click.option("--work-close", is_flag=True, help="Close the issue after a success."),
)
_OF_GITHUB = {
    "work_token": "token",
    "work_ready": "ready",
    "work_in_progress": "in_progress",
    "work_url": "base_url",
    "work_close": "closes",
}
WORK_NAMES = ("work_folder", "work_github", *_OF_GITHUB)


def work_source_of(given: dict[str, Any]) -> WorkSource | None:
    """Return the source that was asked for, if one was."""
    folder, repository = given["work_folder"], given["work_github"]
    if folder is not None and repository is not None:
        raise click.UsageError("give either --work-folder or --work-github")
    chosen = {field: given[name] for name, field in _OF_GITHUB.items() if given[name]}
    if repository is not None:
        return GithubSource(repository=repository, **chosen)
    for name, field in _OF_GITHUB.items():
        if field in chosen:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --work-github only")
    return None if folder is None else FolderSource(path=_lasting(folder))


def _lasting(path: str) -> str:
    """Return a path that means the same wherever the jobs are run."""
    return path if path.startswith("~") or not path.strip() else str(Path(path).absolute())
