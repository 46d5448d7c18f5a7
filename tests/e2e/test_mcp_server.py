"""`halo mcp` as assistants use it: the SDK's own client, a real process, a real daemon beside it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from asking import ask
from commands import shell
from daemons import House
from mcp import Client, StdioServerParameters
from mcp.client.session import IncomingMessage
from mcp.types import CallToolResult, Implementation, TextContent, ToolListChangedNotification
from process_probe import LONG_S, until

from halo_scheduler import Command, Every, HttpRequest, Manual, Outcome, Policy
from halo_scheduler.ipc.client import ChangeStream
from halo_scheduler.model import Follower, StatusReason
from halo_scheduler.service.scheduler import Scheduler

_SERVER = (sys.executable, "-m", "halo_scheduler", "mcp")
_READING = {
    *("list_jobs", "get_job", "list_runs", "get_run", "get_output", "why", "next_runs", "list_questions"),
}
_SECRET = "correct horse battery staple"  # noqa: S105 - not one
_PRIVATE = "hunter2 in plain sight"
_SOON_S = 30


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


@asynccontextmanager
async def _assistant(folder: Path, flags: tuple[str, ...] = (), **options: Any) -> AsyncIterator[Client]:
    """Start the server as an assistant does; every byte that it sends is kept in a file."""
    line = f'"$@" | tee -a "{folder}/wire"'
    parameters = StdioServerParameters(
        command="/bin/sh", args=["-c", line, "sh", *_SERVER, *flags], env=dict(os.environ)
    )
    async with Client(parameters, read_timeout_seconds=LONG_S, **options) as client:
        yield client


def _talk(house: House, conversation: Callable[[Client], Awaitable[None]], **options: Any) -> bytes:
    """Have a conversation with the server, and return all that it sent."""

    async def talk() -> None:
        async with asyncio.timeout(3 * LONG_S):
            async with _assistant(house.folder, **options) as client:
                await conversation(client)

    asyncio.run(talk())
    return (house.folder / "wire").read_bytes()


async def _ask(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, _text(result)
    return result.structured_content


async def _refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return _text(result)


def _text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def _halo(*arguments: str) -> str:
    argv = [sys.executable, "-m", "halo_scheduler", *arguments]
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


async def _names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools}


async def _until(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LONG_S):
        while not await look():  # noqa: ASYNC110 - another process does it, which sets no event of ours
            await asyncio.sleep(0.02)


_TRUE = {"kind": "command", "argv": ["true"]}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_assistant_reads_acts_and_reads_the_result(house: House, mode: str) -> None:
    house.start()
    house.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    action = shell(
        "echo secret $TOKEN, private; echo done",
        environment={"TOKEN": "${secret:TOKEN}", "PRIVATE": _PRIVATE},
    )
    job_id = house.scheduler.add_job("backup", Every("1d"), action, group="night")
    ask(house.scheduler, job_id, "Which one?")

    async def conversation(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert all(hint is not None and hint.read_only_hint is not None for hint in hints.values())
        (listed,) = (await _ask(client, "list_jobs", group="night"))["jobs"]
        assert (listed["name"], listed["when"]) == ("backup", "every day")
        assert (await _ask(client, "get_job", job="backup"))["action"]["environment"] == {
            "PRIVATE": None,
            "TOKEN": None,
        }
        assert len((await _ask(client, "next_runs", job="backup", count=3))["next_runs"]) == 3
        assert (await _ask(client, "list_questions"))["questions"][0]["text"] == "Which one?"
        assert (await _ask(client, "pause_job", job="backup"))["job"]["status"] == "paused"
        assert (await _ask(client, "resume_job", job="backup"))["job"]["status"] == "idle"
        advised = await _ask(client, "propose_interval", job="backup", every="2h", reason="busy")
        assert (advised["hints"]["source"], advised["hints"]["reason"]) == ("assistant", "busy")
        assert (await _ask(client, "get_job", job="backup"))["next_source"] == "hint-interval"
        assert (await _ask(client, "clear_hints", job="backup"))["hints"] is None
        run_id = (await _ask(client, "run_job", job="backup"))["run"]

        async def is_over() -> bool:
            found = await client.call_tool("get_run", {"run": run_id})
            return not found.is_error and found.structured_content["outcome"] == "success"

        await _until(is_over)
        output = await _ask(client, "get_output", run=run_id)
        assert (output["output"], output["is_cut"]) == ("secret ***, private\ndone\n", False)
        assert run_id in [run["id"] for run in (await _ask(client, "list_runs", job="backup"))["runs"]]
        assert any("Which one?" in said for said in (await _ask(client, "why", job="backup"))["sentences"])

    wire = _talk(house, conversation, mode=mode)
    for private in (_SECRET, _PRIVATE, "secret:TOKEN"):
        assert private.encode() not in wire
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in wire.splitlines())


def test_a_running_daemon_and_its_windows_see_a_change_at_once(house: House) -> None:
    house.start()
    house.scheduler.settings.change(assistants_may_edit=True)
    job_id = house.scheduler.add_job("backup", Manual(), Command(argv=("true",)))
    stream = ChangeStream.connect(house.scheduler.path)

    def is_told() -> bool:
        return any(change.job_id == job_id for change in stream.take() or [])

    async def conversation(client: Client) -> None:
        for tool, arguments in (("pause_job", {}), ("resume_job", {}), ("edit_job", {"description": "x"})):
            await asyncio.to_thread(until, lambda: stream.take() == [])
            await _ask(client, tool, job="backup", **arguments)
            # The daemon itself would look again within a minute.
            await asyncio.to_thread(until, is_told, _SOON_S)
        house.scheduler.resume_job(job_id)
        run_id = (await _ask(client, "run_job", job="backup"))["run"]
        await asyncio.to_thread(until, lambda: house.scheduler.get_run(run_id), _SOON_S)

    _talk(house, conversation)
    stream.close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_switch_works_while_the_assistant_is_there(house: House, mode: str) -> None:
    heard = asyncio.Queue[None]()

    async def note(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.put_nowait(None)

    async def listen(client: Client) -> None:
        async with client.listen(tools_list_changed=True) as subscription:
            async for _event in subscription:
                heard.put_nowait(None)

    async def conversation(client: Client) -> None:
        listening = asyncio.create_task(listen(client)) if mode == "auto" else None
        before = await _names(client)
        refusal = await _refusal(client, "create_job", name="x")
        assert refusal == "assistants may not create or change jobs; a person can allow it in the settings"
        house.scheduler.settings.change(assistants_may_edit=True)
        await asyncio.wait_for(heard.get(), LONG_S)
        assert await _names(client) - before == {"create_job", "edit_job"}
        await _ask(client, "create_job", name="made", schedule={"kind": "manual"}, action=_TRUE)
        house.scheduler.settings.change(assistants_may_edit=False)
        assert "may not" in await _refusal(client, "edit_job", job="made", description="x")
        await asyncio.wait_for(heard.get(), LONG_S)
        assert await _names(client) == before
        if listening is not None:
            listening.cancel()

    _talk(house, conversation, mode=mode, message_handler=note)
    assert [job.name for job in house.scheduler.list_jobs()] == ["made"]


def test_a_job_it_creates_or_changes_stays_paused_whatever_it_tries(house: House) -> None:
    house.start()
    house.scheduler.settings.change(assistants_may_edit=True)
    house.scheduler.add_job("old", Manual(), shell(f"echo old >>{house.folder}/ran"))
    evil = {"kind": "command", "argv": ["sh", "-c", f"echo evil >>{house.folder}/ran"]}

    async def conversation(client: Client) -> None:
        schedule = {"kind": "after", "after": "1s"}
        made = await _ask(client, "create_job", name="new", schedule=schedule, action=evil)
        assert made["job"]["status_reason"] == "assistant"
        await _ask(client, "edit_job", job="old", action=evil, schedule=schedule)
        for name in ("new", "old"):
            await _ask(client, "pause_job", job=name, until="2099-01-01T00:00:00+00:00")
            await _ask(client, "pause_job", job=name)
            await _ask(client, "edit_job", job=name, description="innocent")
            for tool in ("resume_job", "run_job"):
                assert "only a person can enable it" in await _refusal(client, tool, job=name)
        await _ask(client, "edit_job", job="old", name="older")
        await _ask(client, "edit_job", job="new", name="old")
        for tool in ("resume_job", "run_job"):
            assert "only a person can enable it" in await _refusal(client, tool, job="old")
            assert "only a person can enable it" in await _refusal(client, tool, job="older")
        for tool in ("remove_job", "change_settings", "set_secret", "list_secrets", "answer_question"):
            assert "there is no tool" in await _refusal(client, tool, job="old", name="TOKEN")

    _talk(house, conversation)
    assert {job.status_reason for job in house.scheduler.list_jobs()} == {StatusReason.ASSISTANT}
    assert house.scheduler.get_run_log() == []
    assert not (house.folder / "ran").exists()
    job_id = next(job.id for job in house.scheduler.list_jobs() if job.name == "older")
    house.scheduler.resume_job(job_id)
    until((house.folder / "ran").exists)


def test_a_current_run_ends_as_a_person_reviewed_it(house: House) -> None:
    """An edit of what follows a running job must not start anything before a person has looked."""
    house.scheduler.settings.change(assistants_may_edit=True)
    go, ran = house.folder / "go", house.folder / "ran"
    house.start()
    reviewed = house.scheduler.add_job("reviewed", Manual(), shell(f"echo reviewed >>{ran}"))
    house.scheduler.add_job("slipped in", Manual(), shell(f"echo slipped in >>{ran}"))
    job_id = house.scheduler.add_job(
        "old",
        Manual(),
        shell(f"while [ ! -e {go} ]; do sleep 0.02; done"),
        followers=[Follower(job_id=reviewed)],
    )
    run_id = house.scheduler.trigger(job_id)
    until(lambda: house.scheduler.get_run_log(job_id, outcome=Outcome.RUNNING))
    followers = [{"job_id": "slipped in", "on": "always"}]

    async def conversation(client: Client) -> None:
        said = await _refusal(client, "edit_job", job="old", followers=followers)
        assert said == "old is running; change it when that run has ended"
        go.touch()
        await asyncio.to_thread(house.end_of, run_id)
        await asyncio.to_thread(until, ran.exists)
        await _ask(client, "edit_job", job="old", followers=followers)
        for tool in ("resume_job", "run_job"):
            assert "only a person can enable it" in await _refusal(client, tool, job="old")

    _talk(house, conversation)
    # The daemon has looked at what there is to run once more.
    house.end_of(house.begin(Command(argv=("true",))))
    assert ran.read_text() == "reviewed\n"
    assert house.get(run_id).outcome is Outcome.SUCCESS


def test_a_copy_of_an_unreviewed_job_waits_too(house: House) -> None:
    house.start()
    ran = house.folder / "ran"
    file = house.folder / "jobs.json"
    action = {"kind": "command", "line": f"touch {ran}", "shell": "/bin/sh"}
    job = {"name": "imported", "schedule": {"after": "1s"}, "action": action}
    file.write_text(json.dumps({"version": 1, "jobs": [job]}))
    _halo("import", str(file), "--yes")
    _halo("duplicate", "imported", "copy")
    _halo("duplicate", "imported", "enabled copy", "--enable")
    _halo("remove", "imported", "--yes")
    _halo("trash", "restore", "imported")

    async def conversation(client: Client) -> None:
        for name in ("imported", "copy", "enabled copy"):
            assert (await _ask(client, "get_job", job=name))["status_reason"] == "imported"
            for tool, more in (
                ("resume_job", {}),
                ("run_job", {}),
                ("propose_next_run", {"at": "in 1m", "reason": "x"}),
            ):
                said = await _refusal(client, tool, job=name, **more)
                assert "it was imported, and only a person can enable it" in said

    _talk(house, conversation)
    house.end_of(house.begin(Command(argv=("true",))))
    assert not ran.exists()
    _halo("resume", "copy")
    until(ran.exists)


def test_tools_declare_their_effects(house: House) -> None:
    house.scheduler.settings.change(assistants="edit")
    found: dict[str, tuple[bool | None, ...]] = {}

    async def conversation(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            hints = tool.annotations
            assert hints is not None
            found[tool.name] = (
                *(hints.read_only_hint, hints.destructive_hint),
                *(hints.idempotent_hint, hints.open_world_hint),
            )

    _talk(house, conversation)
    reading = dict.fromkeys(_READING, (True, False, True, False))
    assert found == reading | {
        "pause_job": (False, True, True, True),
        "resume_job": (False, True, True, True),
        "run_job": (False, True, False, True),
        "propose_interval": (False, True, False, True),
        "propose_next_run": (False, True, False, True),
        "clear_hints": (False, True, True, True),
        "skip_next_run": (False, True, False, True),
        "create_job": (False, False, False, False),
        "edit_job": (False, True, False, True),
    }


@pytest.mark.parametrize("by", ["the settings", "--read-only"])
def test_a_read_only_assistant_is_offered_reading_tools_only(house: House, by: str) -> None:
    house.start()
    job_id = house.scheduler.add_job("backup", Every("1d"), Command(argv=("true",)))
    before = house.scheduler.get_job(job_id)
    house.scheduler.settings.change(assistants="read" if by == "the settings" else "edit")
    calls: dict[str, dict[str, Any]] = {
        "propose_interval": {"every": "1m", "reason": "x"},
        "propose_next_run": {"at": "in 1m", "reason": "x"},
        "edit_job": {"description": "x"},
    }
    refused = "a person can allow" if by == "the settings" else "was started with --read-only"

    async def conversation(client: Client) -> None:
        assert await _names(client) == _READING
        assert (await _ask(client, "get_job", job="backup"))["name"] == "backup"
        for tool in ("pause_job", "resume_job", "run_job", "clear_hints", *calls):
            assert refused in await _refusal(client, tool, job="backup", **calls.get(tool, {}))
        assert refused in await _refusal(client, "create_job", name="x")

    _talk(house, conversation, flags=() if by == "the settings" else ("--read-only",))
    assert (house.scheduler.get_job(job_id), house.scheduler.get_run_log()) == (before, [])
    assert [job.name for job in house.scheduler.list_jobs()] == ["backup"]


def test_a_job_that_a_person_stopped_or_excluded_is_not_started(house: House) -> None:
    house.start()
    ran = house.folder / "ran"
    action = shell(f"touch {ran}")
    paused = house.scheduler.add_job("paused", Every("1d"), action)
    house.scheduler.pause_job(paused)
    house.scheduler.add_job("disabled", Every("1d"), action, enabled=False)
    kept = house.scheduler.add_job("kept", Every("1d"), action, policy=Policy(assistants_may_run=False))
    house.scheduler.add_job("leads there", Every("1d"), action, followers=[Follower(job_id=kept)])
    reasons = {
        "paused": "a person paused paused, and only a person can let it run again",
        "disabled": "a person disabled disabled, and only a person can let it run again",
        "kept": "assistants may not run kept; a person can allow it in that job's settings",
        "leads there": "assistants may not run kept, which runs after leads there; "
        "a person can allow it in that job's settings",
    }

    async def conversation(client: Client) -> None:
        listed = {job["name"]: job["assistants_may_run"] for job in (await _ask(client, "list_jobs"))["jobs"]}
        assert listed == {"paused": True, "disabled": True, "kept": False, "leads there": True}
        for name, reason in reasons.items():
            for tool, more in (
                ("resume_job", {}),
                ("run_job", {}),
                ("propose_interval", {"every": "1m", "reason": "x"}),
                ("propose_next_run", {"at": "in 1m", "reason": "x"}),
                ("clear_hints", {}),
            ):
                assert await _refusal(client, tool, job=name, **more) == reason
        soon = "2099-01-01T00:00:00+00:00"
        assert "only a person" in (await _ask(client, "pause_job", job="paused", until=soon))["said"]

    _talk(house, conversation)
    house.end_of(house.begin(Command(argv=("true",))))
    job = house.scheduler.get_job(paused)
    assert (job is not None and job.paused_until, ran.exists()) == (None, False)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_its_actions_are_recorded_under_the_name_it_gives(house: House, mode: str) -> None:
    house.start()
    house.scheduler.add_job("backup", Every("1d"), Command(argv=("true",)))

    async def conversation(client: Client) -> None:
        await _ask(client, "pause_job", job="backup")
        await _ask(client, "resume_job", job="backup")
        await _ask(client, "run_job", job="backup")

    name = Implementation(name="Nice\x1b[2K Assistant", version="1")
    _talk(house, conversation, mode=mode, client_info=name)
    acts = json.loads(_halo("assistants", "--json"))
    told = [(act["assistant"], act["kind"]) for act in acts]
    assert told == [
        ("Nice [2K Assistant", "run-requested"),
        ("Nice [2K Assistant", "job-resumed"),
        ("Nice [2K Assistant", "job-paused"),
    ]


def test_a_secret_cannot_be_had_by_way_of_a_job(house: House) -> None:
    house.scheduler.settings.change(assistants_may_edit=True)
    house.scheduler.secrets.set("TOKEN", _SECRET, in_file=True)
    house.scheduler.add_job(
        "hook",
        Manual(),
        HttpRequest(url="http://127.0.0.1:9/", headers={"X": "${secret:TOKEN}"}, body="${secret:TOKEN}"),
    )

    async def conversation(client: Client) -> None:
        reference = "${secret:TOKEN}"
        action = {"kind": "command", "argv": ["env"], "environment": {"T": reference}}
        said = await _refusal(client, "create_job", name="x", schedule={"kind": "manual"}, action=action)
        assert "cannot use secrets" in said
        await _ask(client, "create_job", name="plain", schedule={"kind": "manual"}, action=_TRUE)
        said = await _refusal(client, "edit_job", job="plain", action={"stdin": reference})
        assert "cannot add secrets" in said
        for argument in ([reference], ["echo", reference]):
            said = await _refusal(client, "edit_job", job="plain", action={"argv": argument})
            assert "everybody can read" in said
        shown = await _ask(client, "get_job", job="hook")
        assert (shown["action"]["headers"], shown["action"]["body"]) == ({"X": None}, "${secret:***}")

    wire = _talk(house, conversation)
    for private in (_SECRET, "TOKEN"):
        assert private.encode() not in wire


# --- Without the SDK's client ---------------------------------------------------------------------------


class _Line:
    """The bare wire: lines in, lines out."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            _SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def request(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer; what comes before it is of no interest."""
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(message).encode())
        assert self.process.stdout is not None
        while True:
            answer: dict[str, Any] = json.loads(self.process.stdout.readline())
            if answer.get("id") == number:
                return answer

    def hello(self) -> None:
        self.request(
            1,
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def end(self) -> tuple[bytes, bytes]:
        """Hang up, and return what else was said."""
        return self.process.communicate(timeout=LONG_S)


@pytest.fixture
def line(house: House) -> Iterator[_Line]:
    assert house.folder.exists()
    found = _Line()
    yield found
    if found.process.poll() is None:
        found.process.kill()
    found.process.wait()
    for pipe in (found.process.stdin, found.process.stdout, found.process.stderr):
        assert pipe is not None
        with suppress(BrokenPipeError):
            pipe.close()


_CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_job","arguments":{"job":%s}}}'


_HOSTILE = (
    b"not json",
    b"\xff\xfe\x00",
    b"[]",
    b"null",
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}',
    _CALL % b'"\\ud800"',
    _CALL % b'"\\u0000"',
    _CALL % b"1e999",
    _CALL % b"[" + b"[" * 100_000,
    _CALL % (b"[" * 50_000 + b"]" * 50_000),
    _CALL % (b'"' + b"x" * 5_000_000 + b'"'),
    _CALL % b'{"$ref":"#"}',
)


def test_hostile_lines_end_nothing(line: _Line) -> None:
    line.hello()
    for number, hostile in enumerate(_HOSTILE, start=100):
        line.send(hostile)
        answer = line.request(number, "tools/call", name="list_jobs", arguments={})
        assert json.loads(answer["result"]["content"][0]["text"]) == {"jobs": [], "total": 0}
    rest, _ = line.end()
    assert line.process.returncode == 0
    assert all(json.loads(said)["jsonrpc"] == "2.0" for said in rest.splitlines())


def test_half_a_character_gets_an_answer(line: _Line) -> None:
    line.hello()
    answer = line.request(7, "tools/call", name="get_job", arguments={"job": "\ud800"})
    assert "no job" in answer["result"]["content"][0]["text"]


def test_it_listens_on_no_port_and_ends_when_the_assistant_hangs_up(line: _Line) -> None:
    line.hello()
    assert psutil.Process(line.process.pid).net_connections(kind="inet") == []
    assert line.end() == (b"", b"")
    assert line.process.returncode == 0


def test_an_assistant_that_is_gone_leaves_no_complaint(line: _Line) -> None:
    line.hello()
    assert line.process.stdin is not None
    assert line.process.stdout is not None
    assert line.process.stderr is not None
    line.process.stdout.close()
    for number in range(2, 50):
        line.send(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}' % number)
    line.process.stdin.close()
    assert line.process.stderr.read() == b""
    assert line.process.wait(LONG_S) == 0


@pytest.mark.parametrize(
    "missing",
    ["sys.modules['mcp'] = None", "sys.modules['mcp.server'] = types.ModuleType('mcp.server')"],
    ids=["not there", "too old"],
)
def test_without_the_extra_it_says_how_to_get_it(house: House, missing: str) -> None:
    code = f"import sys, types; {missing}; from halo_scheduler.cli import main; main(['mcp'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=LONG_S
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "halo: MCP support isn't installed; install it with: pip install 'halo-scheduler[mcp]'\n"
    )
    assert house.scheduler.list_jobs() == []


def test_a_database_that_cannot_be_opened_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "halo.db").write_bytes(b"no database at all" * 1_000)
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    done = subprocess.run(_SERVER, input=b"", capture_output=True, check=False, timeout=LONG_S)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"restore a backup" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_database_that_goes_away_raises_a_clear_error_for_each_call(line: _Line, house: House) -> None:
    line.hello()
    house.scheduler.add_job("job", Manual(), Command(argv=("true",)))
    for path in house.scheduler.path.parent.glob("halo.db*"):
        path.unlink()
    answer = line.request(8, "tools/call", name="pause_job", arguments={"job": "job"})
    assert "was deleted or replaced" in answer["result"]["content"][0]["text"]
    assert answer["result"]["isError"]
    with Scheduler.open() as anew:
        assert anew.list_jobs() == []
    assert Outcome.RUNNING not in {run.outcome for run in house.scheduler.get_run_log()}
