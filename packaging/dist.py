"""Build the source archive, the wheel and its list of components.

They are the same to the byte whenever they are built from the same files and SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from components import write_components

_ROOT = Path(__file__).parents[1]
# Setuptools would pack leftovers of an earlier build again.
_NOT_SOURCE = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")


def main(output: Path) -> None:
    """Build them into a folder."""
    os.environ["SOURCE_DATE_EPOCH"] = os.environ.get("SOURCE_DATE_EPOCH") or _last_commit_at()
    # Packages keep the permissions of the files they are built from.
    os.umask(0o022)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder) / "source", Path(folder) / "built"
        shutil.copytree(_ROOT, source, ignore=_NOT_SOURCE, copy_function=shutil.copyfile)
        _build_manual(source)
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(built), str(source)]
        subprocess.run(command, check=True)
        for path in built.glob("*.tar.gz"):
            _repack(path, output / path.name, int(os.environ["SOURCE_DATE_EPOCH"]))
        for path in built.glob("*.whl"):
            shutil.copyfile(path, output / path.name)
            write_components(output / path.name, int(os.environ["SOURCE_DATE_EPOCH"]))


def _build_manual(source: Path) -> None:
    """Build the manual where the packages take it from, instead of whatever was built before."""
    shutil.rmtree(source / "resources" / "manual", ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(source), "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=source, env=environment, check=True
    )


def _last_commit_at() -> str:
    command = ["git", "log", "-1", "--format=%ct"]
    found = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        sys.exit("There is no commit to take the date from: set SOURCE_DATE_EPOCH to a Unix time.")
    return found.stdout.strip()


def _repack(archive: Path, repacked: Path, epoch: int) -> None:
    """Write a source archive without the traces of when and by whom it was built: setuptools leaves them in."""
    with (
        tarfile.open(archive) as source,
        repacked.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=epoch) as packed,
        tarfile.open(mode="w", fileobj=packed, format=tarfile.GNU_FORMAT) as target,
    ):
        for member in source:
            member.mtime = epoch
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.pax_headers = {}
            target.addfile(member, source.extractfile(member) if member.isfile() else None)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _ROOT / "dist")
