"""One secret in every common encoding, printed by a real job under a real daemon: no way of reading shows it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import encoded_secrets
import pytest
from daemons import House
from encoded_secrets import HARD_SECRET, encoded
from mcp import Client, StdioServerParameters
from process_probe import LONG_S, until

from halo_scheduler import Command
from halo_scheduler.grammar.text import ShownText, shown_text
from ui.widgets.ansi import AnsiStream

_PRINTING = """
import os, sys, time
from encoded_secrets import encoded
forms = encoded(os.environ["SECRET"])
for name, form in forms.items():
    sys.stdout.buffer.write(name.encode() + b"\\t" + form + b"\\n")
    sys.stdout.buffer.flush()
sys.stdout.buffer.write(b"::needs-input what of " + forms["coloured"] + b"?\\n")
sys.stdout.buffer.write(b"::progress 0.5 " + forms["form"] + b"\\n" + b"all printed\\n")
sys.stdout.buffer.flush()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""
_NAMES = list(encoded(HARD_SECRET))


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    found.start()
    yield found
    found.close()


def _begin(house: House) -> str:
    house.scheduler.secrets.set("HARD", HARD_SECRET, in_file=True)
    support = str(Path(encoded_secrets.__file__).parent)
    environment = {"SECRET": "${secret:HARD}", "PYTHONPATH": support, "PYTHONDONTWRITEBYTECODE": "1"}
    argv = (sys.executable, "-c", _PRINTING, str(house.folder / "go-on"))
    return house.begin(Command(argv=argv, environment=environment), reads_lines=True)


def _revealed(text: str) -> dict[str, str]:
    """Return the lines that still hold a readable part of the secret, by the names of their forms."""
    lines = dict(line.partition("\t")[::2] for line in text.splitlines())
    assert [name for name in _NAMES if "***" not in lines[name]] == []
    forms = {name: shown_text(form) for name, form in encoded(HARD_SECRET).items()}
    return {name: lines[name] for name in _NAMES if forms[name][8:-8] in text or HARD_SECRET in lines[name]}


def test_no_way_of_reading_shows_a_secret_in_any_encoding(house: House) -> None:
    assert len(_NAMES) >= 24
    run_id = _begin(house)
    until(lambda: house.scheduler.get_run(run_id))
    with house.scheduler.runs.follow_output(run_id) as follower:
        live = bytearray()
        window, terminal = AnsiStream(), ShownText()

        def has_printed_all() -> bool:
            nonlocal live
            live += follower.read()
            return b"all printed\n" in live

        until(has_printed_all)
    assert _revealed(terminal.feed(bytes(live)) + terminal.end()) == {}
    assert _revealed(_as_window_shows(window, bytes(live))) == {}
    assert _revealed(_halo("logs", "job 1")) == {}
    house.touch("go-on")
    run = house.end_of(run_id)
    stored = house.scheduler._store.outputs.read(run_id)
    assert HARD_SECRET.encode() not in stored
    assert _revealed(shown_text(stored)) == {}
    assert _revealed(_halo("logs", "job 1")) == {}
    assert _revealed(asyncio.run(_told_by_mcp(run_id))) == {}
    (question,) = house.scheduler.questions.list()
    assert question.text == "what of ***?"
    assert run.progress_text == "***"
    database = b"".join(path.read_bytes() for path in (house.folder / "halo").glob("halo.db*"))
    assert [name for name, form in encoded(HARD_SECRET).items() if form in database] == []


def _as_window_shows(reader: AnsiStream, content: bytes) -> str:
    return "".join(segment.text for segment in reader.feed(content))


def _halo(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "halo_scheduler", *arguments], capture_output=True, check=True, timeout=LONG_S
    )
    return done.stdout.decode()


async def _told_by_mcp(run_id: str) -> str:
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "halo_scheduler", "mcp"], env=dict(os.environ)
    )
    async with asyncio.timeout(LONG_S), Client(parameters, read_timeout_seconds=LONG_S) as client:
        result = await client.call_tool("get_output", {"run": run_id, "characters": 50_000})
    assert HARD_SECRET not in json.dumps(result.structured_content, ensure_ascii=False)
    return str(result.structured_content["output"])
