"""The shim that starts a program: what it leaves behind, also where the system has nothing left to give."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from small_disk import small_disk

from halo_scheduler.actions.launch import Launch, shimmed, spawn
from halo_scheduler.actions.spool import Spool

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no shim on Windows")

_NOBODY = 65_534


def _run(folder: Path, script: str) -> Spool:
    spool = Spool(folder, "run")
    launch = Launch(argv=("/bin/sh", "-c", script), directory="/", environment=dict(os.environb))
    spawn(launch, spool).wait()
    return spool


@pytest.mark.parametrize("code", [0, 1, 75, 255])
def test_the_exit_code_is_left_behind(tmp_path: Path, code: int) -> None:
    written = _run(tmp_path, f"exit {code}").read_code()
    assert written is not None
    assert written[0] == code


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_the_exit_code_file_is_private_with_any_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        spool = _run(tmp_path, "exit 3")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path(spool.code_path).stat().st_mode) == 0o600


def test_a_deleted_exit_code_file_is_created_again_and_private(tmp_path: Path) -> None:
    spool = _run(tmp_path, f"umask 0; rm {tmp_path}/run.code; exit 3")
    assert (spool.read_code() or (None,))[0] == 3
    assert stat.S_IMODE(Path(spool.code_path).stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_the_exit_code_is_written_on_a_full_disk(tmp_path: Path, kind: str) -> None:
    with small_disk(tmp_path, kind) as disk:
        # Of what was written but has no place yet, ext4 expects more than it then needs: hence in several rounds.
        fill = "for _ in 1 2 3; do cat /dev/zero; while printf %04096d 0; do :; done; sync; done"
        spool = _run(disk.folder, f"({fill}) 2>/dev/null >{disk.folder}/filler; exit 7")
        with pytest.raises(OSError, match="No space left"):
            (disk.folder / "one more").write_bytes(bytes(4_096))
        assert (spool.read_code() or (None,))[0] == 7


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Have a folder that every user can enter, unlike those of pytest."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to run the shim as a user who may have few processes")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, _NOBODY, -1)
        yield Path(folder)


@pytest.mark.parametrize(("processes", "starts"), [(1, False), (1_000, True)])
def test_a_shim_that_cannot_fork_leaves_word_that_nothing_was_started(
    open_folder: Path, processes: int, starts: bool
) -> None:
    spool = Spool(open_folder, "run")
    spool.reserve_code()
    os.chown(spool.code_path, _NOBODY, -1)
    argv = shimmed(["/bin/sh", "-c", "exit 3"], spool.code_path)
    shim = subprocess.Popen(argv, preexec_fn=partial(_become_nobody, processes))  # noqa: PLW1509 - one thread
    assert (shim.wait() == 3) == starts
    assert spool.was_started() == starts


def _become_nobody(processes: int) -> None:
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)
