"""`halo list` stays quick: it loads only what the table needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from chain_waits import NETWORK, waits

from halo_scheduler import Every
from halo_scheduler.service.scheduler import Scheduler

_MOST_MODULES = 40
_COUNT = """
import sys
from halo_scheduler.cli import main
sys.argv = ["halo", "list"]
try:
    main()
except SystemExit:
    pass
print(*(name for name in sys.modules if name.partition(".")[0] in ("halo_scheduler", "ui")), file=sys.stderr)
"""


def _loaded(home: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _COUNT],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HALO_HOME": str(home)},
    )
    assert "backup" in done.stdout
    return set(done.stderr.split())


def test_a_list_loads_few_modules(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        scheduler.add_job("backup", Every("15m"))
    loaded = _loaded(tmp_path)
    assert len(loaded) <= _MOST_MODULES, sorted(loaded)
    assert "halo_scheduler.service.scheduler" not in loaded


def test_what_is_rare_is_loaded_only_when_it_is_there(tmp_path: Path) -> None:
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        job_id = scheduler.add_job("backup", Every("15m"))
    assert "halo_scheduler.wording.conditions" not in _loaded(tmp_path)
    with Scheduler.open(tmp_path / "halo.db") as scheduler:
        record = scheduler._store.jobs.get(job_id)
        assert record is not None
        scheduler._store.jobs.save_states([record.evolve(**waits(NETWORK))])
    assert "halo_scheduler.wording.conditions" in _loaded(tmp_path)
