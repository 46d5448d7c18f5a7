"""Build the Debian package from the bundle: `make deb` writes dist/halo-scheduler_VERSION_ARCHITECTURE.deb."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from linux_files import ROOT, build_time, compress, lay_out, version

_HERE = Path(__file__).parent / "deb"
_BUNDLE = Path(os.environ.get("HALO_BUNDLE") or ROOT / "build" / "bundle" / "halo-scheduler")
_OUTPUT = Path(os.environ.get("HALO_OUTPUT") or ROOT / "dist")
_SYSTEM_LIBRARIES = ("/usr/lib", "/lib")
_PROGRAM = "/usr/bin/halo"


def main(number: str) -> None:
    """Build the package of a version, by default the program's."""
    os.umask(0o022)
    epoch = build_time()
    architecture = _output("dpkg", "--print-architecture")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        _install(root, number, epoch)
        depends = ", ".join(_depends(root))
        size = sum(path.lstat().st_size for path in root.rglob("*")) // 1024
        values = {"VERSION": number, "ARCHITECTURE": architecture, "SIZE": str(size), "DEPENDS": depends}
        _write_control(root, values)
        for path in [root, *root.rglob("*")]:
            os.utime(path, (epoch, epoch), follow_symlinks=False)
        target = _OUTPUT / f"halo-scheduler_{number}_{architecture}.deb"
        target.parent.mkdir(exist_ok=True)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
        level = os.environ.get("DEB_COMPRESSION", "xz")
        command = ["dpkg-deb", "--root-owner-group", f"-Z{level}", "--build", str(root), str(target)]
        subprocess.run(command, check=True, env=environment)
    print(f"{target.name}: {target.stat().st_size / 1e6:.0f} MB, {size / 1024:.0f} MB installed")


def _install(root: Path, number: str, epoch: int) -> None:
    program = root / "opt" / "halo-scheduler"
    shutil.copytree(_BUNDLE, program, symlinks=True)
    for path in _brought_by_debian(program / "_internal"):
        path.unlink()
    # As Debian wants it: only programs may be executed.
    for path in program.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o755 if path.name == "halo" else 0o644)
    (root / "usr" / "bin").mkdir(parents=True)
    for name in ("halo", "halo-scheduler"):
        (root / "usr" / "bin" / name).symlink_to("/opt/halo-scheduler/halo")
    lay_out(root / "usr", program=_PROGRAM, epoch=epoch)
    (root / "usr" / "share" / "man" / "man1" / "halo-scheduler.1.gz").symlink_to("halo.1.gz")
    about = root / "usr" / "share" / "doc" / "halo-scheduler"
    about.mkdir(parents=True)
    licence = "\n".join(
        f" {line or '.'}" for line in (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines()
    )
    text = (_HERE / "copyright").read_text(encoding="utf-8").replace("@LICENSE@", licence)
    (about / "copyright").write_text(text, encoding="utf-8")
    compress(about / "changelog.gz", _changelog(number, epoch), epoch)
    compress(about / "THIRD_PARTY.md.gz", (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8"), epoch)
    overrides = root / "usr" / "share" / "lintian" / "overrides"
    overrides.mkdir(parents=True)
    shutil.copyfile(_HERE / "lintian-overrides", overrides / "halo-scheduler")


def _brought_by_debian(internal: Path) -> Iterator[Path]:
    """Yield the libraries that the bundle took from this system: the package depends on theirs instead."""
    known = {path.name for folder in _SYSTEM_LIBRARIES for path in Path(folder).glob("*-linux-gnu/lib*.so*")}
    for path in internal.glob("lib*.so*"):
        if path.name in known and not path.is_symlink() and not path.name.startswith("libpython"):
            yield path


def _depends(root: Path) -> list[str]:
    """Return the packages that have the libraries which the program is linked with."""
    internal = root / "opt" / "halo-scheduler" / "_internal"
    objects = [path for path in internal.rglob("*.so*") if path.is_file()]
    linked = _output(
        "sh", "-c", 'readelf -d "$@" | sed -n "s/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p"', "sh", *map(str, objects)
    )
    wanted = set(linked.split()) - {path.name for path in objects}
    listed = re.findall(r"^\s+(\S+) \(libc6[^)]*\) => (\S+)$", _output("/sbin/ldconfig", "-p"), re.MULTILINE)
    places = dict(reversed(listed))  # this machine's architecture comes first
    if missing := sorted(wanted - set(places)):
        sys.exit(f"Install the libraries that the program is linked with: {', '.join(missing)}")
    packages = {_package(Path(places[name])) for name in wanted} - {"libc6"}
    libc = _output("dpkg-query", "--show", "--showformat=${source:Upstream-Version}", "libc6")
    return [f"libc6 (>= {libc})", *sorted(packages)]


def _package(library: Path) -> str:
    for place in (library, library.resolve(), Path("/usr") / library.relative_to("/")):
        found = subprocess.run(
            ["dpkg-query", "--search", str(place)], capture_output=True, text=True, check=False
        )
        if found.returncode == 0:
            return found.stdout.partition(":")[0]
    sys.exit(f"No package of this system has {library}.")


def _write_control(root: Path, values: dict[str, str]) -> None:
    folder = root / "DEBIAN"
    folder.mkdir()
    control = (_HERE / "control").read_text(encoding="utf-8")
    for name, value in values.items():
        control = control.replace(f"@{name}@", value)
    (folder / "control").write_text(control, encoding="utf-8")
    for name in ("postinst", "prerm"):
        shutil.copyfile(_HERE / name, folder / name)
        (folder / name).chmod(0o755)
    sums = _output(
        "sh", "-c", f"cd '{root}' && find opt usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum"
    )
    (folder / "md5sums").write_text(f"{sums}\n", encoding="utf-8")


def _changelog(number: str, epoch: int) -> str:
    date = datetime.fromtimestamp(epoch, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
    (maintainer,) = re.findall(
        r"^Maintainer: (.*)$", (_HERE / "control").read_text(encoding="utf-8"), re.MULTILINE
    )
    return (
        f"halo-scheduler ({number}) stable; urgency=medium\n\n"
        "  * See CHANGELOG.md of the project for changes.\n\n"
        f" -- {maintainer}  {date}\n"
    )


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else version())
