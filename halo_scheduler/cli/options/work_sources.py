"""The options that say where a job's work items come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click

from halo_scheduler.cli.options.option_values import as_it_is, chosen, lasting_path
from halo_scheduler.cli.options.sections import SectionOption
from halo_scheduler.cli.terminal.completing import complete_folders, complete_secrets
from halo_scheduler.model.work_source import FolderSource, GithubSource, WorkSource

_option = partial(click.option, cls=SectionOption, section="Where its work comes from")

WORK_OPTIONS = (
    _option(
        "--work-folder",
        metavar="DIR",
        shell_complete=complete_folders,
        help="Give each run one file of DIR/ready, then move it to DIR/done.",
    ),
    _option("--work-github", metavar="OWNER/REPO", help="Give each run one issue of this repository."),
    _option(
        "--work-token",
        metavar="SECRET",
        shell_complete=complete_secrets,
        help="The secret that holds the token for it.",
    ),
    _option("--work-ready", metavar="LABEL", help="The label of what can be done.", usual="ready"),
    _option(
        "--work-in-progress", metavar="LABEL", help="The label of what is being done.", usual="in_progress"
    ),
    _option("--work-url", metavar="URL", help="The API, if it is not GitHub's own."),
    _option("--work-close/--no-work-close", default=None, help="Close the issue after a success."),
)
_OF_GITHUB = {
    "work_token": ("token", as_it_is),
    "work_ready": ("ready", as_it_is),
    "work_in_progress": ("in_progress", as_it_is),
    "work_url": ("base_url", as_it_is),
    "work_close": ("closes", as_it_is),
}
WORK_NAMES = ("work_folder", "work_github", *_OF_GITHUB)


def changed_work_source(before: WorkSource | None, given: Mapping[str, Any]) -> WorkSource | None:
    """Return the source that was asked for, else the one from before, with what was given of it."""
    folder, repository = given["work_folder"], given["work_github"]
    if folder is not None and repository is not None:
        raise click.UsageError("give either --work-folder or --work-github")
    fields = chosen(given, _OF_GITHUB)
    if repository is not None:
        fields["repository"] = repository
        return replace(before, **fields) if isinstance(before, GithubSource) else GithubSource(**fields)
    found = before if folder is None else FolderSource(path=lasting_path(folder))
    if not fields:
        return found
    if isinstance(found, GithubSource):
        return replace(found, **fields)
    name = next(name for name, (field, _) in _OF_GITHUB.items() if field in fields)
    raise click.UsageError(f"--{name.replace('_', '-')} goes with --work-github only")
