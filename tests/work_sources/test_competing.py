"""Several workers, and workers that die: each item goes to exactly one, and none is lost."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from github_site import REPOSITORY, Ask, GithubSite, open_github
from process_probe import until
from task_desk import folder_source, github_source, make_tasks, new_desk, put, settle_item, tree

from halo_scheduler.model.actions import FolderSource
from halo_scheduler.work_sources.item import NoWorkError, Verdict
from halo_scheduler.work_sources.work_desk import WorkDesk

_PRELUDE = """
import os, sys
from pathlib import Path
from halo_scheduler.work_sources.work_desk import WorkDesk
from halo_scheduler.work_sources.item import NoWorkError, SourceError, Verdict
from halo_scheduler.model.actions import FolderSource, GithubSource
spool, base, run_id = sys.argv[1:4]
desk = WorkDesk(Path(spool), lambda names: dict, lambda: 0)
opened = desk.open(FolderSource(path=base))
"""


@pytest.fixture
def desk(tmp_path: Path) -> WorkDesk:
    return new_desk(tmp_path)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return make_tasks(tmp_path)


@pytest.fixture
def source(base: Path) -> FolderSource:
    return folder_source(base)


@pytest.fixture
def site() -> Iterator[GithubSite]:
    with open_github() as opened:
        yield opened


def _run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PRELUDE + program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_processes_that_compete_get_each_file_once(base: Path, tmp_path: Path) -> None:
    put(base, *(f"{number}.md" for number in range(200)))
    program = """
print("here", flush=True)
sys.stdin.readline()
number = 0
while True:
    try:
        item = opened.claim(f"{run_id}-{number}")
    except NoWorkError:
        break
    print(item.id, item.title, sep="|", flush=True)
    if number == 0:
        sys.stdin.readline()
    desk.settlement(f"{run_id}-{number}", Verdict.DONE)()
    number += 1
"""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _PRELUDE + program, tmp_path / "spool", base, f"worker{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "here\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    # Each has one before any goes on.
    first = [worker.stdout.readline() for worker in workers if worker.stdout is not None]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("on\n")
        worker.stdin.flush()
    rest = [worker.communicate(timeout=120)[0] for worker in workers]
    printed = [(one + others).splitlines() for one, others in zip(first, rest, strict=True)]
    assert [worker.returncode for worker in workers] == [0] * 4
    assert Counter(line for lines in printed for line in lines) == Counter(
        f"{number}.md|Do {number}.md" for number in range(200)
    )
    assert tree(base) == sorted(f"done/{number}.md" for number in range(200))
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "github"])
def test_threads_that_compete_get_each_item_once(
    kind: str, desk: WorkDesk, base: Path, source: FolderSource, site: GithubSite
) -> None:
    put(base, *(f"{number}" for number in range(1, 31)))
    site.add(*range(1, 31))
    opened = desk.open(source if kind == "folder" else github_source(site))
    numbers, got, barrier = count(), Counter[str](), threading.Barrier(6)

    def work() -> None:
        barrier.wait(30)
        while True:
            try:
                got[opened.claim(f"run-{next(numbers)}").id] += 1
            except NoWorkError:
                return

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert got == Counter(str(number) for number in range(1, 31))
    assert len(desk.claimed()) == 30


_CRASHES = {
    "before the note": "Path.replace = lambda *_: os._exit(9)",
    "between note and claim": "Path.rename = lambda *_: os._exit(9)",
    "after the claim": """
really = Path.rename
def rename(self, target):
    really(self, target)
    os._exit(9)
Path.rename = rename
""",
    "between the second note and the name": """
from halo_scheduler.work_sources import folder
folder.move = lambda *_: os._exit(9)
""",
    "after all": "import atexit; atexit.register(os._exit, 9)",
}


@pytest.mark.parametrize("moment", list(_CRASHES))
def test_after_a_crash_the_item_is_released(moment: str, base: Path, tmp_path: Path) -> None:
    put(base, "1.md")
    died = _run(f"{_CRASHES[moment]}\nopened.claim(run_id)", tmp_path / "spool", base, "a")
    assert died.returncode == 9, died.stderr
    desk = new_desk(tmp_path)
    assert desk.claimed() == {"a"}
    settle = desk.settlement("a", Verdict.RELEASED)
    if settle is not None:
        settle()
    assert tree(base) == ["ready/1.md"]
    assert list((tmp_path / "spool").iterdir()) == []


@pytest.mark.parametrize("moment", ["before the note", "between note and claim"])
def test_after_a_crash_before_the_claim_the_item_of_another_is_left_alone(
    moment: str, base: Path, source: FolderSource, tmp_path: Path
) -> None:
    put(base, "1.md")
    _run(f"{_CRASHES[moment]}\nopened.claim(run_id)", tmp_path / "spool", base, "a")
    desk = new_desk(tmp_path)
    assert desk.open(source).claim("b").id == "1.md"
    settle = desk.settlement("a", Verdict.RELEASED)
    if settle is not None:
        settle()
    assert tree(base) == ["in-progress/1.md"]
    assert desk.claimed() == {"b"}


@pytest.mark.parametrize(
    ("when", "route"),
    [
        ("before", f"POST /repos/{REPOSITORY}/issues/1/labels"),
        ("after", f"POST /repos/{REPOSITORY}/issues/1/labels"),
        ("after", f"DELETE /repos/{REPOSITORY}/issues/1/labels/ready"),
    ],
)
def test_after_a_crash_the_issue_is_released(when: str, route: str, site: GithubSite, tmp_path: Path) -> None:
    site.token = None
    site.add(1)
    workers: list[subprocess.Popen[str]] = []
    is_started = threading.Event()

    def kill(_: Ask) -> None:
        is_started.wait(60)
        workers[0].kill()
        workers[0].wait(60)

    getattr(site, when)[route] = kill
    program = """
opened = desk.open(GithubSource(repository=run_id, base_url=sys.argv[4]))
opened.claim("a")
"""
    arguments = [str(tmp_path / "spool"), str(tmp_path), REPOSITORY, site.url]
    workers.append(subprocess.Popen([sys.executable, "-c", _PRELUDE + program, *arguments], text=True))
    is_started.set()
    assert workers[0].wait(60) == -9
    # Whatever it asked for is done all the same.
    until(lambda: "in_progress" in site.labels(1))
    getattr(site, when).clear()
    desk = new_desk(tmp_path)
    assert desk.claimed() == {"a"}
    settle_item(desk, "a", Verdict.RELEASED)
    assert (site.labels(1), desk.claimed()) == ({"ready"}, set())


def test_on_a_full_disk_nothing_is_claimed(base: Path, tmp_path: Path) -> None:
    put(base, "1.md")
    program = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    opened.claim(run_id)
except SourceError as error:
    print(error)
"""
    done = _run(program, tmp_path / "spool", base, "a")
    assert "the run's claim cannot be recorded in" in done.stdout, done.stderr
    assert "File too large" in done.stdout
    assert tree(base) == ["ready/1.md"]


def test_folders_of_others_need_not_be_private(base: Path, source: FolderSource, desk: WorkDesk) -> None:
    put(base, "1.md")
    (base / "ready" / "1.md").chmod(0o644)
    desk.open(source).claim("a")
    assert stat.S_IMODE((base / "in-progress" / "1.md").stat().st_mode) == 0o644
    assert (base / "in-progress" / "1.md").stat().st_nlink == 1
