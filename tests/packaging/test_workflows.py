"""The workflows of the forge run what is here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

_ROOT = Path(__file__).parents[2]
_WORKFLOWS = sorted((_ROOT / ".github" / "workflows").glob("*.yml"))


def _commands(workflow: Path) -> Iterator[str]:
    jobs: dict[str, Any] = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    for job in jobs.values():
        yield from (step["run"] for step in job["steps"] if "run" in step)


@pytest.mark.parametrize("workflow", _WORKFLOWS, ids=lambda path: path.name)
def test_its_targets_and_files_exist(workflow: Path) -> None:
    commands = "\n".join(_commands(workflow))
    targets = {
        target for line in re.findall(r"^make (.+)$", commands, re.MULTILINE) for target in line.split()
    }
    makefile = (_ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets
    assert {target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)} == set()
    named = re.findall(r"(?<=[ =])((?:tests|packaging|requirements)/[\w./-]+)", commands)
    assert named
    assert [name for name in named if not (_ROOT / name).exists()] == []


def test_every_target_that_checks_a_package_is_run() -> None:
    commands = " ".join(command for workflow in _WORKFLOWS for command in _commands(workflow))
    for target in ("test", "test-dist", "test-deb", "test-bundle", "bench-gate"):
        assert re.search(rf"make [\w -]*\b{target}\b", commands), target


def test_the_program_is_bundled_from_the_wheel_that_has_its_icons_and_its_manual() -> None:
    steps = yaml.safe_load((_ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"][
        "others"
    ]["steps"]
    assert any("--find-links build/wheel halo-scheduler" in step.get("run", "") for step in steps)
    (bundling,) = [step for step in steps if "PyInstaller" in step.get("run", "")]
    # Python looks in the folder it is started in first.
    assert not (_ROOT / bundling.get("working-directory", ".") / "halo_scheduler").exists()
