"""What one would tell who helps: numbers, and nothing that names what a person does."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import qVersion

from halo_scheduler import Command, Cron, Every, Scheduler
from halo_scheduler.clock import ManualClock
from halo_scheduler.doctor.installation import engine_facts
from ui.app.about import diagnostics_text

_NOW = 1_800_000_000_000
_OWN_PID = 1


@pytest.mark.usefixtures("qapp")
def test_it_counts_and_names_nothing(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db", clock=ManualClock(_NOW)) as scheduler:
        command = Command(argv=("/opt/very-private",), environment={"HIDDEN_VARIABLE": "hidden value"})
        scheduler.add_job("my private job", Every("5m"), command, group="my private group")
        scheduler.add_job("another", Cron("0 9 * * *"), enabled=False)
        scheduler.secrets.set("PRIVATE_NAME", "abcd1234", in_file=True)
        scheduler.backups.make()
        text = diagnostics_text(engine_facts(scheduler, _OWN_PID), tmp_path)
    assert "Jobs: 1 disabled, 1 idle" in text
    assert "Actions: 1 callback, 1 command" in text
    assert "Secrets: 1 · backups: 1 · database:" in text
    assert "Engine: stopped, 0 ticks, 0 running" in text
    assert "Tray: not available" in text
    for private in ("private", "hidden", "HIDDEN", "PRIVATE", "abcd1234", str(tmp_path), "another"):
        assert private not in text


@pytest.mark.usefixtures("qapp")
def test_without_the_service_it_shows_the_rest() -> None:
    text = diagnostics_text(None, Path.home() / "data")
    assert "Engine: not responding" in text
    assert "Data folder: ~/data" in text
    assert str(Path.home()) not in text
    assert f"\nQt {qVersion()}\n" in text
