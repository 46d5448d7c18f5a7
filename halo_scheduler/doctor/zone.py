"""Checks that the time zone is readable and is the engine's."""

from __future__ import annotations

import os
from collections.abc import Iterator

from halo_scheduler.doctor.findings import Finding, Topic, fine, look
from halo_scheduler.doctor.scene import Scene
from halo_scheduler.grammar.zone import machine_zone, read_machine_zone

_TOPIC = Topic.ZONE


def check_zone(scene: Scene) -> Iterator[Finding]:
    """Compare the time zone of this terminal with the engine's."""
    try:
        zone = read_machine_zone().key
    except (LookupError, ValueError, OSError) as error:
        zone = machine_zone().key
        yield look(_TOPIC, f"{_fault(error)}; Halo uses {zone or 'UTC'}.", _advice())
    else:
        yield fine(_TOPIC, f"The time zone is {zone}.")
    row = scene.engine
    if row is not None and scene.has_engine and row.zone != zone:
        what = f"The engine uses the time zone {row.zone or 'UTC'}, this terminal {zone or 'UTC'}."
        yield look(_TOPIC, what, "Jobs without a time zone use the engine's; restart Halo if it is wrong")


def _fault(error: Exception) -> str:
    named = os.environ.get("TZ")
    if named:
        return f"TZ is {named!r}, which is not the name of a time zone"
    # A KeyError shows its sentence in quotes, with its line breaks spelt out.
    said = str(error.args[0]) if error.args else ""
    return f"The time zone cannot be read ({' '.join(said.split()) or type(error).__name__})"


def _advice() -> str:
    if os.environ.get("TZ"):
        return "Set TZ to a name like Europe/Berlin, or leave it out"
    return "Choose one like this: timedatectl set-timezone Europe/Berlin"
