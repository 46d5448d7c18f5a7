"""Small real disks, to be filled or made read-only; only root can mount them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SmallDisk:
    """A mounted file system of a few megabytes."""

    folder: Path

    def free_bytes(self) -> int:
        return shutil.disk_usage(self.folder).free

    def fill(self, leave_bytes: int = 0) -> Path:
        """Fill it with a file, but for so many bytes."""
        path = self.folder / "filler"
        with path.open("ab", buffering=0) as file:
            for size in (1 << 20, 4_096):
                while self.free_bytes() - leave_bytes >= size:
                    try:
                        file.write(b"\xaa" * size)
                    except OSError:
                        break
        return path

    def break_down(self) -> None:
        """Make it read-only under the hands of those who write, as an ext4 does after an error."""
        shown = subprocess.run(["findmnt", "-no", "SOURCE", self.folder], check=True, capture_output=True)
        device = Path(shown.stdout.decode().strip()).name
        Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")


@contextmanager
def small_disk(tmp_path: Path, kind: str = "tmpfs", size: str = "8m") -> Iterator[SmallDisk]:
    """Have a small disk for a while; it starts empty."""
    folder = tmp_path / f"disk-{kind}"
    folder.mkdir()
    _mount(folder, tmp_path / "disk.img", kind, size)
    try:
        yield SmallDisk(folder)
    finally:
        # Lazily: what a test left running may still write there.
        subprocess.run(["umount", "--lazy", folder], check=True)


def _mount(folder: Path, image: Path, kind: str, size: str) -> None:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root, to mount a small disk")
    command: list[str | Path]
    if kind == "tmpfs":
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", folder]
    else:
        if shutil.which("mkfs.ext4") is None:
            pytest.skip("needs mkfs.ext4, to make a small disk")
        subprocess.run(["truncate", "--size", size.upper(), image], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
        command = ["mount", "-o", "loop,errors=remount-ro", image, folder]
    mounted = subprocess.run(command, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.decode().strip()}")


@contextmanager
def seen_read_only(folder: Path, place: Path) -> Iterator[Path]:
    """Have a folder a second time, where nothing can be written."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root, to mount a folder read-only")
    place.mkdir()
    subprocess.run(["mount", "--bind", folder, place], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
        yield place
    finally:
        # Lazily: SQLite closes a file only when nobody in the process holds a lock on it, under whatever name.
        subprocess.run(["umount", "--lazy", place], check=True)
