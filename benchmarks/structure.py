"""How easily a newcomer finds their way: files, layers, lengths, and how many files one walk passes."""

from __future__ import annotations

import ast
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_SMALL_LINES = 80
_MOST_LINES = 400
# Their modules are entries of a table, each with a subject of its own.
_TABLES = (
    "halo_scheduler.cli.commands.",
    "halo_scheduler.doctor.",
    "halo_scheduler.host.autostart.",
    "halo_scheduler.store.migrations.",
    "ui.settings.",
)
_WALK = "walk"


def main() -> None:
    """Print every count."""
    modules = {_module_name(path): path for path in _sources()}
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules.items()}
    lines = {name: len(text.splitlines()) for name, text in texts.items()}
    lengths = sorted(length for text in texts.values() for length in _function_lengths(text))
    print(f"files in packages: {len(modules)}, lines: {sum(lines.values()):,}")
    print(f"one-importer modules under {_SMALL_LINES} lines: {_lonely(modules, texts, lines)}")
    print(f"files over {_MOST_LINES} lines: {[name for name, count in lines.items() if count > _MOST_LINES]}")
    print(f"contract layers: {_layers()}")
    p90 = lengths[len(lengths) * 9 // 10]
    print(f"function lengths: median {statistics.median(lengths):g}, p90 {p90}, most {lengths[-1]}")
    for walk in _WALKS:
        done = subprocess.run([sys.executable, __file__, _WALK, walk], check=True, stdout=subprocess.PIPE)
        print(done.stdout.decode().strip().splitlines()[-1])


def _sources() -> list[Path]:
    return sorted(path for package in ("halo_scheduler", "ui") for path in (_ROOT / package).rglob("*.py"))


def _module_name(path: Path) -> str:
    parts = path.relative_to(_ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _function_lengths(text: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def _imported(path: Path, text: str) -> Iterator[str]:
    package = path.relative_to(_ROOT).parts[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join((*above, *filter(None, [node.module])))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _lonely(modules: dict[str, Path], texts: dict[str, str], lines: dict[str, int]) -> list[str]:
    """Return the small modules that only one other imports and that are no entry of a table."""
    importers: dict[str, set[str]] = defaultdict(set)
    for name, text in texts.items():
        for imported in _imported(modules[name], text):
            importers[imported].add(name)
    return [
        name
        for name, path in modules.items()
        if lines[name] < _SMALL_LINES
        and path.stem not in {"__init__", "__main__"}
        and not name.startswith(_TABLES)
        and len(importers[name] - {name}) <= 1
    ]


def _layers() -> dict[str, int]:
    contracts = tomllib.loads((_ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return {contract["id"]: len(contract["layers"]) for contract in contracts if contract["type"] == "layers"}


# --- Walks: the files whose functions are called --------------------------------------------------------------


class _Trace:
    """Notes the files of the packages whose functions are called."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def __call__(self, frame: object, event: str, _argument: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined] # a frame
        if event == "call" and code.co_name != "<module>":
            self.files.add(code.co_filename)

    def count(self) -> int:
        packages = tuple(f"{_ROOT / package}{os.sep}" for package in ("halo_scheduler", "ui"))
        return sum(name.startswith(packages) for name in self.files)


def _walk_due_job(folder: Path) -> int:
    """Return how many files a command passes from its slot to its recorded end."""
    import threading  # noqa: PLC0415 - each walk loads its own

    from PySide6.QtCore import QCoreApplication, QTimer  # noqa: PLC0415

    from halo_scheduler import Command, Manual, Once, Scheduler  # noqa: PLC0415

    application = QCoreApplication([])
    trace = _Trace()

    def follow() -> None:
        threading.setprofile(trace)
        sys.setprofile(trace)

    with Scheduler.open(folder / "halo.db") as scheduler:
        scheduler.start()
        scheduler.subscribe(
            lambda change: application.quit() if getattr(change, "kind", "") == "run-finished" else None
        )
        scheduler.trigger(scheduler.add_job("first", Manual(), Command(argv=("true",))))
        application.exec()
        scheduler.add_job("due", Once(int(time.time() * 1_000) + 1_500), Command(argv=("true",)))
        QTimer.singleShot(700, follow)
        application.exec()
        QTimer.singleShot(300, application.quit)
        application.exec()
        sys.setprofile(None)
        threading.setprofile(None)
    return trace.count()


def _walk_save(folder: Path) -> int:
    """Return how many files a save passes, from the button in the editor to the stored job and the closed window."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QEventLoop, QObject, QTimer, Signal  # noqa: PLC0415
    from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit  # noqa: PLC0415

    from halo_scheduler import Command, Every, Scheduler  # noqa: PLC0415
    from halo_scheduler.clock import SystemClock  # noqa: PLC0415
    from ui.backend.backend import Backend  # noqa: PLC0415
    from ui.editor.job_editor import JobEditor  # noqa: PLC0415
    from ui.editor.sessions import EditorSessions  # noqa: PLC0415
    from ui.style.theme import Appearance  # noqa: PLC0415

    class Engine(QObject):
        trial_output = Signal(int, bytes)
        trial_ended = Signal(int, object)

    application, trace, engine = QApplication([]), _Trace(), Engine()

    def let_pass(milliseconds: int) -> None:
        # Not the application's own loop: an editor with changes would keep it from quitting.
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def save_as(name: str) -> None:
        editors.edit(job_id)
        while not (shown := [one for one in application.topLevelWidgets() if isinstance(one, JobEditor)]):
            application.processEvents()
        (editor,) = shown
        (field,) = editor.findChildren(QLineEdit, "name")
        field.setText(name)
        let_pass(1_000)
        if name == "traced":
            sys.setprofile(trace)
        (button,) = editor.findChildren(QAbstractButton, "saveButton")
        button.click()
        let_pass(1_000)
        sys.setprofile(None)

    with Scheduler.open(folder / "halo.db") as scheduler:
        job_id = scheduler.add_job("first", Every("6h"), Command(argv=("true",)))
        editors = EditorSessions(Backend.inline(scheduler, SystemClock()), Appearance(), engine)  # type: ignore[arg-type] # its signals are enough
        for name in ("loads all modules", "traced"):
            save_as(name)
            found = scheduler.get_job(job_id)
            if found is None or found.name != name:
                raise SystemExit("nothing was saved")
    return trace.count()


def _walk_why(folder: Path) -> int:
    """Return how many files `halo why` passes."""
    from halo_scheduler import Command, Every, Scheduler  # noqa: PLC0415
    from halo_scheduler.cli import main as halo  # noqa: PLC0415

    os.environ["HALO_HOME"] = str(folder)
    with Scheduler.open() as scheduler:
        scheduler.add_job("due", Every("6h"), Command(argv=("true",)))
    trace = _Trace()
    sys.argv = ["halo", "why", "due"]
    # What runs while modules are loaded is not passed: the first call loads them.
    for profile in (None, trace):
        sys.setprofile(profile)
        with contextlib.suppress(SystemExit):
            halo()
    sys.setprofile(None)
    return trace.count()


_WALKS = {
    "due": (_walk_due_job, "a due job"),
    "save": (_walk_save, "a save"),
    "why": (_walk_why, "`halo why`"),
}


if __name__ == "__main__":
    if sys.argv[1:2] == [_WALK]:
        sys.path.insert(0, str(_ROOT))
        with tempfile.TemporaryDirectory() as place:
            walk, name = _WALKS[sys.argv[2]]
            print(f"files {name} passes: {walk(Path(place))}")
    else:
        main()
