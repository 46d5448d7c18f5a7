"""Two users who exist only as numbers: what one does to the other's files, in processes of their own."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

VICTIM, OTHER = 2_001, 2_002
needs_other_users = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else"
)
# Becomes the user only when all is loaded: the files of Python may be for root alone. What is loaded late is loaded by
# doing the same with a scratch folder first.
_AS_USER = """
import json, os, sys, tempfile
from pathlib import Path
task = json.loads(sys.argv[1])
scope = {}
exec(task["program"], scope)
with tempfile.TemporaryDirectory() as scratch:
    os.environ["HALO_HOME"] = scratch
    scope["warm_up"](Path(scratch))
    del os.environ["HALO_HOME"]
os.environ.update(task["environment"])
os.setgroups([])
os.setgid(task["gid"])
os.setuid(task["uid"])
os.umask(task["umask"])
print(json.dumps(scope["act"](*task["arguments"])))
"""


def act_as(
    uid: int,
    program: str,
    *arguments: object,
    umask: int = 0o022,
    gid: int | None = None,
    environment: Mapping[str, str | Path] | None = None,
) -> Any:
    """Return what the function `act` of a program returns when a user calls it; `warm_up` is called as root before."""
    task = {
        "program": program,
        "arguments": arguments,
        "uid": uid,
        "gid": uid if gid is None else gid,
        "umask": umask,
        "environment": {name: str(value) for name, value in (environment or {}).items()},
    }
    kept = {
        name: value for name, value in os.environ.items() if name not in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME")
    }
    done = subprocess.run(
        [sys.executable, "-c", _AS_USER, json.dumps(task, default=str)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=kept,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def own(path: Path, uid: int, mode: int) -> Path:
    """Give a file or folder to a user."""
    os.chown(path, uid, uid)
    path.chmod(mode)
    return path


def folder_of(path: Path, uid: int, mode: int) -> Path:
    """Make a folder that belongs to a user."""
    path.mkdir()
    return own(path, uid, mode)


def wal_of(database: bytes) -> bytes:
    """Return a journal that puts every page of a database in place of those of another when SQLite replays it."""
    size = int.from_bytes(database[16:18], "big")
    count = len(database) // size
    begun = struct.pack(">6I", 0x377F0682, 3_007_000, size, 0, 1, 2)
    sums = _sums(begun, (0, 0))
    wal = begun + struct.pack(">2I", *sums)
    for number in range(count):
        page = database[number * size : (number + 1) * size]
        head = struct.pack(">2I", number + 1, count if number == count - 1 else 0)
        sums = _sums(page, _sums(head, sums))
        wal += head + struct.pack(">4I", 1, 2, *sums) + page
    return wal


def _sums(content: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"<{len(content) // 4}I", content)
    for left, right in zip(words[::2], words[1::2], strict=True):
        first = (first + left + second) & 0xFFFFFFFF
        second = (second + right + first) & 0xFFFFFFFF
    return first, second
