"""Checks that the secrets used by jobs are available."""

from __future__ import annotations

import os
from collections.abc import Iterator

from halo_scheduler.doctor.findings import Finding, Topic, fine, first_of, look, named, wrong, wrong_because
from halo_scheduler.doctor.scene import Scene, within
from halo_scheduler.grammar.english import counted
from halo_scheduler.model import Action, HttpRequest, ProcessAction
from halo_scheduler.store.secrets import SecretError, SecretName, SecretPlace, SecretStore, has_keyring

_TOPIC = Topic.SECRETS
# A keyring that is locked asks its user, who may not be there.
_LIMIT_S = 5.0


def check_secrets(scene: Scene) -> Iterator[Finding]:
    """Check that each secret can be read, and find secrets that jobs use but that are not set."""
    known = scene.store.secrets.all()
    yield from first_of(_unset(scene, {item.name for item in known}))
    in_keyring = [item for item in known if item.place is SecretPlace.KEYRING]
    in_file = [item for item in known if item.place is SecretPlace.FILE]
    yield from first_of(_in_keyring(scene, in_keyring))
    yield from first_of(_in_file(scene, in_file))


def _unset(scene: Scene, known: set[str]) -> Iterator[Finding]:
    users: dict[str, list[str]] = {}
    for record in scene.jobs:
        for name in _used_by(record.spec.action) - known if record.disabled_reason is None else ():
            users.setdefault(name, []).append(record.spec.name)
    for name, jobs in sorted(users.items()):
        use = "uses" if len(jobs) == 1 else "use"
        what = f"{named(jobs)} {use} the secret {name}, which is not set."
        yield wrong(_TOPIC, what, f"Set it with: halo secret set {name}")


def _used_by(action: Action) -> frozenset[str]:
    names = action.secret_names if isinstance(action, (ProcessAction, HttpRequest)) else frozenset[str]()
    source = action.work_source if isinstance(action, ProcessAction) else None
    return names if source is None else names | source.secret_names


def _in_keyring(scene: Scene, secrets: list[SecretName]) -> Iterator[Finding]:
    is_there = within(_LIMIT_S, has_keyring)
    if not is_there and not secrets:
        yield fine(
            _TOPIC,
            "No keyring found.",
            "Store secrets in a private file: halo secret set --in-file",
        )
        return
    if not is_there:
        what = f"No keyring found, but {named([item.name for item in secrets])} should be in one."
        yield look(_TOPIC, what, "Check again from the desktop, where jobs may reach it")
        return
    faults = list(_faults(scene, secrets))
    yield from faults
    if not faults:
        has = f"; it has {counted(len(secrets), 'secret')} of yours" if secrets else ""
        yield fine(_TOPIC, f"There is a keyring{has}.")


def _in_file(scene: Scene, secrets: list[SecretName]) -> Iterator[Finding]:
    file = scene.path.with_name(f"{scene.path.stem}-secrets.json")
    if not secrets or (os.name == "posix" and file.exists() and file.stat().st_mode & 0o077):
        return  # That others can read it is reported with the permissions; until that is fixed it is not read.
    faults = list(_faults(scene, secrets))
    yield from faults
    if not faults:
        yield fine(_TOPIC, f"The private file has {counted(len(secrets), 'secret')} of yours.")


def _faults(scene: Scene, secrets: list[SecretName]) -> Iterator[Finding]:
    """Read each secret, and discard its value."""
    store = SecretStore(scene.store.secrets, scene.path)
    for secret in secrets:
        try:
            within(_LIMIT_S, store.reader([secret.name]))
        except SecretError as error:
            yield wrong_because(_TOPIC, error)
        except TimeoutError:
            yield look(
                _TOPIC, "The keyring does not answer; it may be locked.", "Unlock it, then check again"
            )
            return
