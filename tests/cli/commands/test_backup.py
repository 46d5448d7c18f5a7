"""`halo backup`, as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from halo_scheduler import Every
from halo_scheduler.service.scheduler import Scheduler

_HALO = Path(sys.executable).parent / "halo"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Every("1h"))
    return tmp_path


def _halo(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([_HALO, *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_a_damaged_database_says_how_to_get_it_back(home: Path) -> None:
    made = _halo("backup")
    assert made.returncode == 0
    listed = json.loads(_halo("backup", "list", "--json").stdout)
    assert [item["path"] for item in listed] == [made.stdout.strip()]
    assert made.stdout.strip() in _halo("backup", "list").stdout
    (home / "halo.db").write_bytes(b"junk" * 2_000)
    broken = _halo("status")
    assert broken.returncode == 1
    assert "halo backup restore --latest" in broken.stderr
    restored = _halo("backup", "restore", "--latest", "--yes")
    assert restored.returncode == 0, restored.stderr
    assert "the previous database is now" in restored.stdout
    with Scheduler.open() as scheduler:
        assert [job.name for job in scheduler.list_jobs()] == ["job"]


def test_a_chosen_backup_is_restored(home: Path) -> None:
    made = _halo("backup").stdout.strip()
    with Scheduler.open() as scheduler:
        scheduler.add_job("later", Every("1h"))
    assert _halo("backup", "restore", made, "--yes").returncode == 0
    with Scheduler.open() as scheduler:
        assert [job.name for job in scheduler.list_jobs()] == ["job"]
    assert len(list(home.glob("*.replaced"))) == 1


@pytest.mark.usefixtures("home")
def test_wrong_use_is_reported() -> None:
    neither = _halo("backup", "restore")
    assert (neither.returncode, neither.stderr) == (
        2,
        "halo: give either --latest or a backup file\nusage: halo backup restore [OPTIONS] [FILE]\n",
    )
    none = _halo("backup", "restore", "--latest", "--yes")
    assert none.returncode == 1
    assert "there is no usable backup" in none.stderr
