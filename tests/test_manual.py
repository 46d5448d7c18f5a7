"""The manual says the truth: its commands run as they stand, its links lead somewhere, its pictures are ours."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest
from doc_blocks import DOCS, Block, blocks_of, manual_pages
from doc_reader import Reader, reader
from http_site import Page, open_site
from web_door import free_port

import halo_scheduler
from halo_scheduler import Cron, Job, Run, Status, Trigger, describe, parse_schedule
from halo_scheduler.cli import halo
from halo_scheduler.cli.command_table import SECTIONS
from halo_scheduler.cli.commands.config import ELSEWHERE, shown
from halo_scheduler.cli.commands.why import _VERDICTS
from halo_scheduler.errors import PhraseParseError
from halo_scheduler.model.settings import Settings
from halo_scheduler.transfer.job_files import read_jobs

_ROOT = DOCS.parent
# Commands and their output; `text` is only shown, and so holds no command.
_LANGUAGES = {"sh", "console", "python", "yaml", "json", "ini", "text", "crontab"}
# Blocks whose commands need another machine; each says why on its page.
_NOT_RUN = {"index.md": 4, "operations.md": 3}
_WORDS = re.compile(r"\s+")
_ANYTHING = "…"


def _pages_with(*languages: str) -> list[str]:
    return [
        page.name
        for page in manual_pages()
        if any(block.language in languages and not block.title for block in blocks_of(page))
    ]


def test_every_block_is_of_a_known_kind() -> None:
    for page in manual_pages():
        # Markdown ends a list at a block that is indented by less than four, and a paragraph at an empty line only.
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"^( {1,3}```| {4}.+\n\d+\. )", text, re.MULTILINE), page.name
        for block in blocks_of(page):
            assert block.language in _LANGUAGES, block.place
            if block.language == "text":
                assert not re.search(r"^(\$ )?halo [a-z]", block.code, re.MULTILINE), block.place


def test_the_blocks_that_are_not_run_are_counted() -> None:
    not_run = Counter(
        page.name for page in manual_pages() for block in blocks_of(page) if block.not_run and not block.title
    )
    assert not_run == _NOT_RUN


class _EveryPage(dict[str, Page]):
    """The web behind a proxy: every address answers."""

    def get(self, _path: str, _default: object = None) -> Page:
        return lambda visit: visit.answer(body=b"fine")


@pytest.mark.parametrize("page", _pages_with("sh", "console"))
def test_the_commands_of_a_page_work_in_their_order(page: str, tmp_path: Path) -> None:
    with open_site() as site, reader(tmp_path, proxy=site.url("")) as person:
        site.pages = _EveryPage()
        for block in blocks_of(DOCS / page):
            if block.title:
                person.keep(block.title, block.code)
            elif block.not_run:
                continue
            elif block.language == "sh":
                if block.is_halo_stopped:
                    person.stop_halo()
                done = person.run(block.code)
                if block.is_halo_stopped:
                    person.start_halo()
                assert done.returncode == 0, f"{block.place}\n{block.code}\n{done.stdout}"
            elif block.language == "console":
                _try_shown(person, block)


def test_the_requests_of_the_manual_start_a_run_and_ask_for_its_state(tmp_path: Path) -> None:
    requests = [
        line
        for block in blocks_of(DOCS / "webhooks.md")
        for line in re.findall(r"^curl .+$", block.code, re.MULTILINE)
    ]
    assert len(requests) == 3
    with reader(tmp_path) as person:
        person.keep("notes.txt", "notes")
        port = free_port()
        person.run(
            f"halo add deploy --webhook --param branch=main -- echo done; halo webhook on --port {port}"
        )
        token = json.loads(person.run("halo webhook rotate deploy --yes --json").stdout)["url"].rpartition(
            "/"
        )[2]
        # curl tries again until the port is open.
        url = f"http://127.0.0.1:{port}"
        person.run(f"curl --silent --retry 20 --retry-connrefused {url}/status/none")
        run_id = "RUN"
        for line in requests:
            typed = line.replace("http://127.0.0.1:8787", url).replace("4f0c5e…", token)
            done = person.run(
                typed.replace("RUN", run_id).replace("curl ", "curl --silent --show-error --fail ", 1)
            )
            assert done.returncode == 0, (line, done.stdout)
            run_id = json.loads(done.stdout)["run"]
        assert person.run("halo history deploy --json").stdout.count('"branch": "next"') == 2


def _try_shown(person: Reader, block: Block) -> None:
    """Compare what each command prints with what the page shows; … stands for anything."""
    for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        printed = person.run(command).stdout
        pattern = ".*".join(re.escape(piece) for piece in _squeezed(expected).split(_ANYTHING))
        assert re.fullmatch(pattern, _squeezed(printed)), f"{block.place}\n{command}\n{printed}"


def _squeezed(text: str) -> str:
    return _WORDS.sub(" ", text.strip())


def test_every_cron_expression_of_the_manual_has_the_stated_meaning() -> None:
    page = (DOCS / "schedules.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+ [^`]+ [^`]+)` \| (.+) \|$", page, re.MULTILINE)
    cron = [(expression, meaning) for expression, meaning in rows if expression[0] in "*@0123456789"]
    assert len(cron) >= 8
    assert [(expression, describe(Cron(expression))) for expression, _ in cron] == cron


def test_every_phrase_of_the_manual_is_understood_or_refused_as_it_says() -> None:
    page = (DOCS / "schedules.md").read_text(encoding="utf-8")
    table, _, refused = (
        page.partition("## In plain words")[2].partition("## ")[0].partition("Halo does not guess.")
    )
    phrases = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)))
    assert len(phrases) >= 20
    for phrase in phrases:
        parse_schedule(phrase, now_ms=0)
    unclear = re.findall(r"`([^`]+)`", refused)
    suggested = unclear.pop()
    assert len(unclear) >= 6
    for phrase in unclear:
        with pytest.raises(PhraseParseError) as caught:
            parse_schedule(phrase, now_ms=0)
    # The last one is refused with the suggestion that follows it.
    assert suggested in str(caught.value)
    parse_schedule(suggested, now_ms=0)


@pytest.mark.parametrize(
    ("table", "fields"),
    [
        ("status", {field.name for field in dataclasses.fields(Status)}),
        ("a job", {field.name for field in dataclasses.fields(Job)} | {"situation", "waiting_reason"}),
        ("a run", {field.name for field in dataclasses.fields(Run)} | {"duration_ms"}),
    ],
)
def test_the_fields_for_monitoring_exist(table: str, fields: set[str]) -> None:
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    rows = page.partition(f"<!-- fields of {table} -->")[2].partition("\n\n")[0]
    named = {name for row in rows.split("\n|")[1:] for name in re.findall(r"`(\w+)`", row.split("|")[0])}
    assert len(named) > 8
    beside = {"waiting", "waiting_runs", "store_trouble", "disk_is_full", "webhooks", "chat"}
    assert named - fields == (set() if table != "status" else beside)


def test_troubleshooting_quotes_the_first_words_of_halo_why() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    rows = page.partition("| it says | because | do |")[2].partition("\n\n")[0]
    quoted = {words for row in rows.splitlines()[2:] for words in re.findall(r"`([^`]+)`", row.split("|")[1])}
    assert len(quoted) > 5
    assert quoted <= {words for _, _, words in _VERDICTS.values()}


def test_the_manual_has_every_setting_with_its_default() -> None:
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    rows = page.partition("<!-- settings -->")[2].partition("\n\n")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", rows, re.MULTILINE))
    names = {field.name for field in dataclasses.fields(Settings)}
    assert told.keys() == names
    defaults = {name: shown(getattr(Settings(), name)) for name in names}
    assert told == defaults | ELSEWHERE


def test_the_manual_has_everything_that_starts_a_run() -> None:
    page = (DOCS / "jobs.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `HALO_TRIGGER` \| (.+) \|$", page, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(Trigger)


def test_every_key_of_the_manual_is_one_of_the_program() -> None:
    page = (DOCS / "window.md").read_text(encoding="utf-8").partition("<!-- keys -->")[2]
    keys = set(re.findall(r"`([^`]+)`", page))
    assert len(keys) > 25
    program = "".join(path.read_text(encoding="utf-8") for path in (_ROOT / "ui").rglob("*.py"))
    assert {key for key in keys if f'"{key}"' not in program} == set()


def test_structured_blocks_can_be_read() -> None:
    for page in manual_pages():
        for block in blocks_of(page):
            if block.language == "json":
                json.loads(block.code)
            elif block.language == "yaml":
                drafts = read_jobs(block.code.encode(), block.title or "jobs.yaml")
                assert (bool(drafts.jobs), drafts.faults) == (True, ()), block.place


@pytest.mark.parametrize("page", _pages_with("python"))
def test_the_programs_of_a_page_run_and_give_the_stated_results(page: str, tmp_path: Path) -> None:
    for block in blocks_of(DOCS / page):
        if block.language != "python" or block.title:
            continue
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", _with_checks(block.code)],
            cwd=tmp_path,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
                "XDG_RUNTIME_DIR": str(tmp_path),
                "TZ": "UTC",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, ""), block.place


def _with_checks(code: str) -> str:
    """Turn `value  # -> shown` into a check of what the page says."""
    return re.sub(r"^(?! )(.+?)  # -> (.+)$", r"assert (\1) == (\2), (\1)", code, flags=re.MULTILINE)


class _Page(HTMLParser):
    """The anchors of a built page, where its links lead and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        elif tag == "link" and "href" in values:
            self.loads.add(values["href"])
        elif "src" in values:
            self.loads.add(values["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the manual as `make docs` does."""
    folder = tmp_path_factory.mktemp("manual")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path] = _Page()
        found[path].feed(path.read_text(encoding="utf-8"))
    return found


def test_every_link_within_the_manual_leads_to_its_place(pages: dict[Path, _Page]) -> None:
    broken = [
        f"{path.name}: {link}"
        for path, page in pages.items()
        for link in page.links | page.loads
        if not _leads_somewhere(path, link, pages)
    ]
    assert broken == []
    assert len(pages) > 15


def _leads_somewhere(path: Path, link: str, pages: dict[Path, _Page]) -> bool:
    address = urlsplit(link)
    if address.scheme:
        return True
    target = (path.parent / unquote(address.path)).resolve() if address.path else path
    if address.fragment and target in pages:
        return unquote(address.fragment) in pages[target].anchors
    return target.is_file()


def test_the_manual_loads_nothing_from_elsewhere(site: Path, pages: dict[Path, _Page]) -> None:
    assert [load for page in pages.values() for load in page.loads if urlsplit(load).netloc] == []
    for path in (*site.rglob("*.css"), *site.rglob("*.svg")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import |href=)[\"']?https?:", text), path.name


def test_the_manual_stays_small(site: Path) -> None:
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 6_000_000


def test_every_picture_is_taken_by_make_screenshots_in_both_themes() -> None:
    for page in manual_pages():
        for place in re.findall(r"!\[[^\]]*\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            name = re.fullmatch(r"screenshots/([\w-]+)-(?:light|dark)\.(?:png|svg)", place)
            assert name is not None, (page.name, place)
            assert (DOCS / place).is_file(), (page.name, place)
            assert f'"{name[1]}"' in _PICTURE_SCRIPTS or name[1].startswith("editor-"), (page.name, place)


_PICTURE_SCRIPTS = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.py"))


def test_the_pictures_of_clock_changes_agree_with_the_schedules() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DRAW], cwd=DOCS, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    drawn = json.loads(done.stdout)
    assert len(drawn) == 4
    assert {name: (DOCS / "screenshots" / name).read_text(encoding="utf-8") for name in drawn} == drawn


_DRAW = """
import json, clock_pictures as c
print(json.dumps({f"{name}-{theme}.svg": c.draw(name, theme) for name in c.PICTURES for theme in c.THEMES}))
"""


def test_every_example_of_the_reference_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jobs/all.yaml", ".local/share/halo-scheduler/backups/halo-….db"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(DOCS))
    reference: str = importlib.import_module("terminal_reference").terminal_reference()
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", reference, re.MULTILINE | re.DOTALL))
    lines = blocks.replace("\\\n", " ").replace("~/", "").splitlines()
    assert len(lines) > 120
    for line in lines:
        # What is typed to `halo`, wherever it stands on a line: `crontab -l | halo import -`, `"$(halo manual)"`.
        typed = re.search(r"\bhalo [a-z].*", line)
        assert typed is not None, line
        words = shlex.split(re.sub(r"\)\".*", "", typed[0].partition(" <")[0]), comments=True)
        words = list(itertools.takewhile(lambda word: word not in ("|", ">"), words))
        _parse(halo, words[0], words[1:])


def _parse(
    command: click.Command, name: str, arguments: list[str], parent: click.Context | None = None
) -> None:
    """Let click read what is typed, without doing it."""
    with command.make_context(name, list(arguments), parent=parent) as context:
        if isinstance(command, click.Group) and (rest := [*context._protected_args, *context.args]):
            inner_name, inner, others = command.resolve_command(context, rest)
            assert inner_name is not None
            assert inner is not None
            _parse(inner, inner_name, others, context)


def test_the_reference_has_every_command_and_every_public_name(pages: dict[Path, _Page], site: Path) -> None:
    with click.Context(halo, info_name="halo") as context:
        commands = set(_paths_of(halo, context, "halo"))
    assert len(commands) > 50
    assert {f"halo-{name}" for section in SECTIONS.values() for name in section} <= commands
    assert commands <= pages[site / "terminal.html"].anchors
    names = {name.lower() for name in halo_scheduler.__all__}
    assert names <= pages[site / "library.html"].anchors


def _paths_of(group: click.Group, context: click.Context, path: str) -> Iterator[str]:
    """Give the anchor of every command and subcommand that is not hidden."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield f"{path}-{name}"
        if isinstance(command, click.Group):
            yield from _paths_of(command, context, f"{path}-{name}")
