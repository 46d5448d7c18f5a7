"""The layers of the packages, and the things only one place may do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_SOURCES = sorted(path for package in ("halo_scheduler", "ui") for path in (_ROOT / package).rglob("*.py"))

_CLOCKS = {
    "time.time",
    "time.time_ns",
    "time.localtime",
    "time.gmtime",
    "time.ctime",
    "time.asctime",
    "time.strftime",
    "time.clock_gettime",
    "time.clock_gettime_ns",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "PySide6.QtCore.QDateTime.currentDateTime",
    "PySide6.QtCore.QDateTime.currentDateTimeUtc",
    "PySide6.QtCore.QDateTime.currentMSecsSinceEpoch",
    "PySide6.QtCore.QDateTime.currentSecsSinceEpoch",
    "PySide6.QtCore.QDate.currentDate",
    "PySide6.QtCore.QTime.currentTime",
}
_WINDOWS = ("PySide6.QtWidgets", "PySide6.QtGui")


def _names_used(source: str) -> set[str]:
    """Return the full dotted names that a module imports or reaches through its imports."""
    tree = ast.parse(source)
    imported: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                imported |= {alias.asname: alias.name} if alias.asname else {top: top}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return set(imported.values()) | set(_modules(tree)) | set(_attributes(tree, imported))


def _modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _attributes(tree: ast.AST, imported: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id in imported:
            yield ".".join([imported[inner.id], *parts])


def _reads_clock(source: str) -> bool:
    return bool(_names_used(source) & _CLOCKS)


def _uses_windows(source: str) -> bool:
    return any(
        name == window or name.startswith(f"{window}.") for name in _names_used(source) for window in _WINDOWS
    )


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.time()",
        "import time as t\nt.time_ns()",
        "from time import time\ntime()",
        "from datetime import datetime\nx = datetime.now()",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "import datetime as dt\ndt.date.today()",
        "from datetime import date as d\nd.today()",
        "from PySide6.QtCore import QDateTime\nQDateTime.currentMSecsSinceEpoch()",
        "from PySide6 import QtCore\nQtCore.QTime.currentTime()",
    ],
)
def test_reading_the_clock_is_noticed(source: str) -> None:
    assert _reads_clock(source)


@pytest.mark.parametrize(
    "source",
    [
        "from PySide6 import QtWidgets",
        "from PySide6.QtWidgets import QLabel",
        "import PySide6.QtGui",
        "import PySide6.QtGui as gui",
        "import PySide6\nPySide6.QtWidgets.QLabel()",
        "def f():\n    from PySide6.QtGui import QIcon",
    ],
)
def test_using_windows_is_noticed(source: str) -> None:
    assert _uses_windows(source)


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.perf_counter()",
        "from PySide6.QtCore import QTimer",
        "from datetime import datetime",
    ],
)
def test_innocent_code_is_left_alone(source: str) -> None:
    assert not _reads_clock(source)
    assert not _uses_windows(source)


def test_the_sources_are_found() -> None:
    assert len(_SOURCES) > 15


@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: str(path.relative_to(_ROOT)))
def test_only_the_clock_reads_the_clock(path: Path) -> None:
    assert _reads_clock(path.read_text(encoding="utf-8")) == (path == _ROOT / "halo_scheduler" / "clock.py")


@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: str(path.relative_to(_ROOT)))
def test_only_the_front_end_knows_windows(path: Path) -> None:
    assert path.is_relative_to(_ROOT / "ui") or not _uses_windows(path.read_text(encoding="utf-8"))


def test_qt_is_not_used_for_d_bus() -> None:
    """QtDBus starts a thread of its own; `halo_scheduler.host.bus` is the one client."""
    assert [path for path in _SOURCES if "QtDBus" in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize(
    ("statement", "strangers"),
    [
        ("import halo_scheduler", ("PySide6", "apsw", "sqlite3", "croniter", "tzlocal", "keyring", "click")),
        ("from halo_scheduler import Cron; Cron('0 9 * * 1-5', timezone='UTC')", ("croniter", "tzlocal")),
        (
            "import halo_scheduler.cli",
            ("PySide6", "croniter", "tzlocal", "keyring", "rich", "mcp", "pydantic"),
        ),
    ],
)
def test_unneeded_modules_are_not_loaded(statement: str, strangers: tuple[str, ...]) -> None:
    program = f"{statement}; import sys; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert set(strangers).isdisjoint(loaded.stdout.split())


def _layers(contract_id: str) -> set[str]:
    config = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = (contract["layers"] for contract in config["contracts"] if contract["id"] == contract_id)
    return {name.strip("( )") for layer in layers for name in layer.split("|")}


def _rooms(package: str) -> set[str]:
    """Return the folders and modules directly below a package."""
    found = (path.relative_to(_ROOT).with_suffix("").parts[:2] for path in _SOURCES)
    names = {".".join(parts) for parts in found if parts[0] == package}
    return {name for name in names if not name.endswith(("__init__", "__main__"))}


@pytest.mark.parametrize(("package", "contract"), [("halo_scheduler", "backend-layers"), ("ui", "ui-layers")])
def test_every_folder_has_a_layer(package: str, contract: str) -> None:
    assert _rooms(package) == {name for name in _layers(contract) if name.startswith(f"{package}.")}


def test_only_shared_modules_are_at_the_roots() -> None:
    at_roots = {path.stem for path in _SOURCES if path.parent == _ROOT / "halo_scheduler"}
    assert at_roots == {"__init__", "__main__", "clock", "errors", "paths"}
    assert {path.stem for path in _SOURCES if path.parent == _ROOT / "ui"} == {"__init__", "__main__"}


def _package_names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9-]", line)[0].lower() for line in requirements}


def test_imported_packages_are_declared() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = _package_names(project["dependencies"])
    extras = {"mcp": "mcp", "triggers": "chat", "day_sources": "holidays"}
    owners = packages_distributions()
    for path in _SOURCES:
        extra = extras.get(path.parent.name)
        declared = needed | (_package_names(project["optional-dependencies"][extra]) if extra else set())
        for name in _names_used(path.read_text(encoding="utf-8")):
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or top in ("halo_scheduler", "ui", "_typeshed"):
                continue
            assert {owner.lower().replace("_", "-") for owner in owners.get(top, ["nobody"])} & declared, (
                path,
                top,
            )


def test_the_import_contracts_are_kept() -> None:
    checker = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [checker, "--no-logo", "--no-cache"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("halo_scheduler/errors.py", "from halo_scheduler import model"),
        ("halo_scheduler/model/plans.py", "from halo_scheduler.schedule import governor"),
        ("halo_scheduler/schedule/governor.py", "from halo_scheduler import cli"),
        ("halo_scheduler/grammar/cron.py", "import PySide6.QtCore"),
        ("halo_scheduler/model/jobs.py", "import sqlite3"),
        ("halo_scheduler/wording/lint.py", "from halo_scheduler.clock import SystemClock"),
        ("halo_scheduler/cli/commands/preview.py", "import ui"),
        ("halo_scheduler/clock.py", "from halo_scheduler import cli"),
        ("halo_scheduler/grammar/english.py", "from halo_scheduler.wording import schedules"),
        ("ui/widgets/labels.py", "from ui.forms import fields"),
        ("ui/history/window.py", "from ui.settings import dialog"),
        ("halo_scheduler/grammar/cron_fields.py", "from halo_scheduler.model import codec"),
        ("halo_scheduler/store/store.py", "import PySide6.QtCore"),
        ("halo_scheduler/engine/engine.py", "from halo_scheduler import service"),
        ("ui/main_window/window.py", "import apsw"),
        ("ui/main_window/window.py", "from halo_scheduler.store.runs import RunTable"),
        ("ui/main_window/window.py", "from halo_scheduler.engine import engine"),
    ],
)
def test_an_arrow_pointing_up_is_noticed(module: str, line: str, tmp_path: Path) -> None:
    for path in _SOURCES:
        copy = tmp_path / path.relative_to(_ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    (tmp_path / "pyproject.toml").write_bytes((_ROOT / "pyproject.toml").read_bytes())
    with (tmp_path / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    checker = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [checker, "--no-logo", "--no-cache"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "BROKEN" in done.stdout
    assert done.returncode != 0
