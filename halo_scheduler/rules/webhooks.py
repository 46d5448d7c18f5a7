"""Webhooks of jobs: their addresses, their signatures, and the listener's state."""

from __future__ import annotations

from dataclasses import replace

from halo_scheduler.errors import ScheduleError
from halo_scheduler.grammar.checks import require_choice, require_kind, require_whole
from halo_scheduler.grammar.interval import DAY_MS, SECOND_MS
from halo_scheduler.grammar.templates import require_secret_name
from halo_scheduler.model import OnWebhook
from halo_scheduler.model.changes import ChangeKind
from halo_scheduler.model.schedules import events_of
from halo_scheduler.model.webhooks import (
    USUAL_WINDOW_MS,
    JobWebhook,
    Signature,
    Webhook,
    WebhookStatus,
    new_token,
    token_hash,
    token_id,
)
from halo_scheduler.rules.assistants import refuse_assistants
from halo_scheduler.rules.edit import Edit
from halo_scheduler.store.job_lines import schedule_of
from halo_scheduler.store.store import Store


def job_webhooks(store: Store) -> list[JobWebhook]:
    """Return the jobs that a webhook starts, by name, with their webhooks if they have an address."""
    known = store.webhooks.all()
    found = (
        JobWebhook(job_id=job_id, name=name, webhook=known.get(job_id))
        for job_id, name, text in store.webhooks.jobs_with_events()
        if any(isinstance(entry.schedule, OnWebhook) for entry in events_of(schedule_of(text)))
    )
    return sorted(found, key=lambda job: job.name.casefold())


def webhook_status(store: Store, *, engine_since: int | None) -> WebhookStatus:
    """Return the listener's state; `engine_since` is when the engine started, None if none runs."""
    listener = store.webhooks.listener() if engine_since is not None else None
    if listener is not None and engine_since is not None and listener.since < engine_since:
        listener = None  # It was written by an engine that ended without deleting it.
    return WebhookStatus(
        place=store.settings.webhook_place(),
        listener=listener,
        is_running=engine_since is not None,
        jobs=len(job_webhooks(store)),
    )


def make_address(edit: Edit, job_id: str) -> str:
    """Give a job a new address and return its token, which cannot be read again; the old address stops working."""
    refuse_assistants(edit.actor, "create webhook addresses")
    webhook = _require_webhook(edit, job_id)
    token = new_token()
    fresh = Webhook(
        job_id=job_id, token_id=token_id(token), token_hash=token_hash(token), made_at=edit.now_ms
    )
    if webhook is not None:
        fresh = replace(webhook, token_id=fresh.token_id, token_hash=fresh.token_hash, made_at=fresh.made_at)
    edit.store.webhooks.save(fresh)
    edit.changed(ChangeKind.JOB, job_id)
    return token


def require_signature(
    edit: Edit,
    job_id: str,
    signature: Signature | None,
    key_name: str = "",
    window_ms: int = USUAL_WINDOW_MS,
) -> None:
    """Accept only signed requests for a job, or any with its address if `signature` is None."""
    refuse_assistants(edit.actor, "decide how webhooks are signed")
    webhook = _require_webhook(edit, job_id)
    if webhook is None:
        raise ScheduleError("this job has no address yet; create one first", path="webhook")
    if signature is not None:
        signature = require_choice(Signature, signature, path="signature")
        require_secret_name("key_name", key_name)
        require_whole("window_ms", window_ms, SECOND_MS, DAY_MS)
    elif key_name:
        raise ScheduleError("is only for a signature", path="key_name")
    edit.store.webhooks.save(replace(webhook, signature=signature, key_name=key_name, window_ms=window_ms))
    edit.changed(ChangeKind.JOB, job_id)


def _require_webhook(edit: Edit, job_id: str) -> Webhook | None:
    """Return the webhook of a job, None if it has no address yet; refuse a job that no webhook starts."""
    require_kind("job_id", job_id, str, "the id of a job")
    record = edit.store.jobs.require(job_id)
    if not any(isinstance(entry.schedule, OnWebhook) for entry in record.spec.events):
        raise ScheduleError(
            f"no webhook starts {record.spec.name}; add one to its schedules", path="schedule"
        )
    return edit.store.webhooks.get(job_id)
