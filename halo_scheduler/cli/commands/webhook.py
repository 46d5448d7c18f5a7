"""`halo webhook`: addresses through which other programs start jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from halo_scheduler.cli.command_table import Subcommands
from halo_scheduler.cli.options.option_values import naming_options
from halo_scheduler.cli.terminal.completions import complete_jobs, complete_secrets
from halo_scheduler.cli.terminal.terminal import WAITS, moment, open_to_read, print_table, require_yes, typed
from halo_scheduler.grammar.checks import require_interval
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model.changes import TERMINAL
from halo_scheduler.model.settings import Settings
from halo_scheduler.model.webhooks import JobWebhook, Place, Signature
from halo_scheduler.service.lookup import find_job
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.wording.webhooks import (
    OPEN_WARNING,
    address,
    curl_line,
    masked_address,
    open_words,
    signature_words,
)

_JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable; times in epoch milliseconds.")
_NAME = click.argument("name", shell_complete=complete_jobs)
_OPTIONS_BY_FIELD = {"key_name": ("--key",), "window_ms": ("--window",), "signature": ("SIGNATURE",)}
_NO_SIGNATURE = "none"
_LONGEST_NAME = 60


@click.group(cls=Subcommands)
def webhook() -> None:
    """Let other programs start jobs over HTTP.

    \b
    Examples:
      halo add deploy --webhook -- ./deploy.sh
      halo webhook on
      halo webhook url deploy
      halo webhook sign deploy github --key GITHUB_KEY
      halo webhook rotate deploy
      halo webhook status
      halo webhook off

    Halo opens no port until you turn webhooks on. It then listens on this computer only, while it runs and a job has a
    webhook.
    """


@webhook.command()
@click.option("--port", type=int, metavar="8787", help="Port to listen on. [unchanged]")
@click.option(
    "--address", "host", metavar="127.0.0.1", help="Address of this computer to listen on. [unchanged]"
)
@click.option("--yes", is_flag=True, help="Don't ask before opening the port to other computers.")
def on(*, port: int | None, host: str | None, yes: bool) -> None:
    """Turn webhooks on.

    \b
    Examples:
      halo webhook on
      halo webhook on --port 9000

    With an address other than 127.0.0.1, other computers can connect, without encryption.
    """
    given = {"webhook_port": port, "webhook_address": host}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    with naming_options({"webhook_port": ("--port",), "webhook_address": ("--address",)}, {}):
        place = Settings(webhooks=True, **changes).webhook_place
    with Scheduler.open(actor=TERMINAL) as scheduler:
        if host is not None and place is not None and not place.is_local and not yes:
            require_yes(f"{OPEN_WARNING} Open {place}?")
        scheduler.settings.change(webhooks=True, **changes)
        found = scheduler.webhooks.place
    click.echo(f"webhooks are on: Halo listens on {found} while a job has a webhook")
    _warn_if_open(found)


@webhook.command()
def off() -> None:
    """Turn webhooks off. Jobs keep their addresses.

    \b
    Examples:
      halo webhook off
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        scheduler.settings.change(webhooks=False)
    click.echo("webhooks are off: no port is open")


@webhook.command()
@_NAME
@_JSON
def url(*, name: str, as_json: bool) -> None:
    """Show the webhook address of a job.

    \b
    Examples:
      halo webhook url deploy

    The first call creates the address and shows it in full; later calls mask its secret part.
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        job = find_job(scheduler, name)
        known = scheduler.webhooks.get(job.id)
        place = scheduler.webhooks.place
        if known is None:
            _print_new(scheduler, job.id, job.name, as_json=as_json)
            return
    masked = masked_address(place, known)
    if as_json:
        click.echo(json.dumps({"url": masked, "is_masked": True, "made_at": known.made_at}, indent=2))
        return
    click.echo(f"{masked} ({signature_words(known)}, created {moment(known.made_at)})")
    click.echo(f"The full address isn't stored. For a new one: halo webhook rotate {typed(job.name)}")


@webhook.command()
@_NAME
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@_JSON
def rotate(*, name: str, yes: bool, as_json: bool) -> None:
    """Give a job a new address; the old one no longer works.

    \b
    Examples:
      halo webhook rotate deploy
    """
    with Scheduler.open(actor=TERMINAL) as scheduler:
        job = find_job(scheduler, name)
        if scheduler.webhooks.get(job.id) is not None and not yes:
            require_yes(f"Create a new address for {job.name}? The old one stops working at once.")
        _print_new(scheduler, job.id, job.name, as_json=as_json)


@webhook.command()
@_NAME
@click.argument("signature", type=click.Choice([*map(str, Signature), _NO_SIGNATURE]))
@click.option(
    "--key", metavar="SECRET", shell_complete=complete_secrets, help="Secret that stores the service's key."
)
@click.option("--window", default="5m", metavar="5m", help="Maximum age of a Stripe signature. [5m]")
def sign(*, name: str, signature: str, key: str | None, window: str) -> None:
    """Accept only signed requests for a job.

    \b
    Examples:
      halo secret set GITHUB_KEY
      halo webhook sign deploy github --key GITHUB_KEY
      halo webhook sign deploy none

    The service determines which header is checked; with "none", no signature is needed. Each signed request is
    accepted once.

    \b
      github  X-Hub-Signature-256
      gitlab  X-Gitlab-Token
      stripe  Stripe-Signature
    """
    chosen = None if signature == _NO_SIGNATURE else Signature(signature)
    if chosen is not None and key is None:
        raise click.UsageError("give the secret that stores the service's key: --key SECRET")
    with Scheduler.open(actor=TERMINAL) as scheduler:
        job = find_job(scheduler, name)
        with naming_options(_OPTIONS_BY_FIELD, {}):
            window_ms = require_interval("window_ms", window)
            scheduler.webhooks.require_signature(job.id, chosen, key or "", window_ms)
        found = scheduler.webhooks.get(job.id)
        is_known = key is None or key in {one.name for one in scheduler.secrets.list()}
    if found is not None:
        click.echo(f"{job.name}: {signature_words(found)}")
    if not is_known:
        click.echo(f"{WAITS} there is no such secret yet; store it with: halo secret set {key}")


@webhook.command("status")
@_JSON
def status_(*, as_json: bool) -> None:
    """Show where Halo listens, and which jobs webhooks start.

    \b
    Examples:
      halo webhook status
      halo webhook status --json
    """
    with open_to_read() as scheduler:
        found = scheduler.webhooks.status()
        jobs = scheduler.webhooks.list()
        place = scheduler.webhooks.place
    if as_json:
        data = {**found.to_data(), "jobs": [_data_of(job, place) for job in jobs]}
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    click.echo(f"webhooks: {open_words(found)}")
    _warn_if_open(found.place)
    if jobs:
        rows = [[plain_line(job.name, _LONGEST_NAME), *_cells(job, place)] for job in jobs]
        print_table(["JOB", "ADDRESS", "SIGNATURE"], rows)


def _print_new(scheduler: Scheduler, job_id: str, name: str, *, as_json: bool) -> None:
    token = scheduler.webhooks.make_address(job_id)
    place, is_on = scheduler.webhooks.place, scheduler.settings.read().webhooks
    if as_json:
        data = {"url": address(place, token), "is_masked": False, "curl": curl_line(place, token)}
        click.echo(json.dumps(data, indent=2))
        return
    click.echo(address(place, token))
    click.echo(f"Try it: {curl_line(place, token)}")
    click.echo(f"It is shown only once; anyone who has it can start {plain_line(name, _LONGEST_NAME)}.")
    if not is_on:
        click.echo(f"{WAITS} webhooks are off; turn them on with: halo webhook on")


def _warn_if_open(place: Place | None) -> None:
    if place is not None and not place.is_local:
        click.echo(f"{WAITS} {OPEN_WARNING}")


def _cells(job: JobWebhook, place: Place) -> list[str]:
    if job.webhook is None:
        return [f"none yet; halo webhook url {typed(job.name)}", ""]
    return [masked_address(place, job.webhook), signature_words(job.webhook)]


def _data_of(job: JobWebhook, place: Place) -> Mapping[str, object]:
    known = job.webhook
    return {
        "id": job.job_id,
        "name": job.name,
        "url": None if known is None else masked_address(place, known),
        "made_at": None if known is None else known.made_at,
        "signature": None if known is None else known.signature,
    }
