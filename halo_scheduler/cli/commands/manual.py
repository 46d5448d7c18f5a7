"""`halo manual`: the path of the manual."""

from __future__ import annotations

import click

from halo_scheduler.errors import SchedulerError
from halo_scheduler.paths import manual_page


@click.command()
def manual() -> None:
    """Print the path of the manual, a page for your browser that needs no network.

    \b
    Examples:
      halo manual
      xdg-open "$(halo manual)"

    In the window, press F1.
    """
    page = manual_page()
    if page is None:
        raise SchedulerError('the manual isn\'t built here; in the source folder, run "make docs"')
    click.echo(page)
