"""The README says the truth: its examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_reader import reader

_ROOT = Path(__file__).parents[1]
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
_COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", _README, re.DOTALL) for line in block.splitlines()
]


def test_the_commands_work_in_their_order(tmp_path: Path) -> None:
    commands = [line for line in _COMMANDS if re.search(r"(^|[|&] )halo ", line)]
    assert len(commands) >= 5
    # `make run` in the one terminal, the commands in the other.
    with reader(tmp_path) as person:
        for line in commands:
            done = person.run(line)
            assert done.returncode == 0, (line, done.stdout)


def test_it_is_a_screen_and_a_half() -> None:
    assert _README.count("\n") < 90


def test_the_folders_exist() -> None:
    cells = re.findall(r"^\| (`[^|]+) \|", _README, re.MULTILINE)
    paths = [path for cell in cells for path in re.findall(r"`([^`]+)`", cell)]
    assert len(paths) > 20
    for path in paths:
        assert (_ROOT / path).exists(), path
    packages = (place.parent for place in (_ROOT / "halo_scheduler").glob("*/__init__.py"))
    assert {f"halo_scheduler/{package.name}/" for package in packages} - set(paths) == set()


def test_every_target_it_names_is_in_the_makefile() -> None:
    makefile = (_ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"make (\w+)", _README))
    assert {"run", "test", "lint", "bench", "screenshots", "dist"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md", "CONTRIBUTING.md"])
def test_every_path_that_a_page_names_exists(page: str) -> None:
    text = (_ROOT / page).read_text(encoding="utf-8")
    places = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text) + re.findall(r"\]\(([\w/.-]+)\)", text)
    assert places
    missing = [
        place
        for place in places
        if not any((_ROOT / above / place).exists() for above in ("", "halo_scheduler", "ui"))
    ]
    assert missing == []
