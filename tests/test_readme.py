"""The README says the truth: its examples run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[1]
_BIN = Path(sys.executable).parent
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
_COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", _README, re.DOTALL) for line in block.splitlines()
]


def test_the_ten_lines_run(tmp_path: Path) -> None:
    program, _ = re.findall(r"```python\n(.*?)```", _README, re.DOTALL)
    code = [
        line
        for line in program.splitlines()
        if line and not line.startswith(("from ", "application", "QTimer"))
    ]
    assert len(code) <= 10
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "jobs.db").exists()


def test_the_python_example_gives_what_it_says() -> None:
    _, block = re.findall(r"```python\n(.*?)```", _README, re.DOTALL)
    names: dict[str, Any] = {}
    for line in block.splitlines():
        code, _, comment = line.partition("#")
        exec(code, names)  # noqa: S102 - our own README
        if comment.strip().startswith('"'):
            assert repr(eval(code, names)) == repr(comment.strip().strip('"'))  # noqa: S307 - likewise


def test_the_commands_work_in_their_order(tmp_path: Path) -> None:
    home = {**os.environ, "HALO_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    # Without a display the program runs the jobs without its window, which is all the commands need.
    home = {name: value for name, value in home.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    commands = [line for line in _COMMANDS if re.search(r"(^|[|&] )halo ", line)]
    assert len(commands) >= 15
    # `make run` in the one terminal, the commands in the other.
    program = subprocess.Popen(
        [_BIN / "halo"], env=home, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert program.stderr is not None
    while "running jobs from" not in program.stderr.readline():
        assert program.poll() is None
    try:
        for line in commands:
            done = subprocess.run(
                ["/bin/sh", "-c", line],
                cwd=tmp_path,
                env={**home, "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}"},
                capture_output=True,
                check=False,
                timeout=60,
            )
            assert done.returncode == 0, (line, done.stderr)
    finally:
        program.terminate()
        program.communicate(timeout=60)
    assert program.returncode == 0


def test_the_folders_exist() -> None:
    paths = re.findall(r"^\| `([^`]+)` \|", _README, re.MULTILINE)
    assert len(paths) > 5
    for path in paths:
        assert (_ROOT / path).exists(), path


def test_every_target_it_names_is_in_the_makefile() -> None:
    makefile = (_ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"make (\w+)", _README))
    assert {"run", "test", "lint", "bench", "screenshots", "dist"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_place_that_a_page_names_exists(page: str) -> None:
    text = (_ROOT / page).read_text(encoding="utf-8")
    places = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text) + re.findall(r"\]\(([\w/.-]+)\)", text)
    assert places
    missing = [
        place
        for place in places
        if not any((_ROOT / above / place).exists() for above in ("", "halo_scheduler", "ui"))
    ]
    assert missing == []
