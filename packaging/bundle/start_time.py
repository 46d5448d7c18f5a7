"""Compare the start times of the bundle and the installed program: the bundle may take 1.3 times as long."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

_LIMIT = 1.3
_ROUNDS = 15


def processor_seconds(program: Path, folder: str) -> float:
    """Return the processor time of `halo list`: unlike the time that passes, it does not depend on what else runs."""
    environment = {"HOME": folder, "HALO_HOME": folder, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    before = os.times()
    subprocess.run([program, "list"], env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    """Measure both in turn; the fastest start of each counts."""
    installed, bundled = (Path(name).resolve() for name in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        processor_seconds(installed, folder)
        processor_seconds(bundled, folder)
        rounds = [
            (processor_seconds(installed, folder), processor_seconds(bundled, folder)) for _ in range(_ROUNDS)
        ]
    of_installed, of_bundle = (min(times) for times in zip(*rounds, strict=True))
    ratio = of_bundle / of_installed
    print(f"start of halo list: installed {of_installed:.2f} s, bundle {of_bundle:.2f} s, ratio {ratio:.2f}")
    return int(ratio > _LIMIT)


if __name__ == "__main__":
    sys.exit(main())
