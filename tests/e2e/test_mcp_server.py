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
from mcp.types import CallToolResult, TextContent, ToolListChangedNotification
from process_probe import LONG_S, until

from halo_scheduler import After, Backoff, Command, Every, HttpRequest, Manual, Outcome, Policy, Retry
from halo_scheduler.ipc import ChangeStream
from halo_scheduler.model import StatusReason
from halo_scheduler.service import Scheduler

_SERVER = (sys.executable, "-m", "halo_scheduler", "mcp")
_SECRET = "correct horse battery staple"  # noqa: S105 - not one
_PRIVATE = "hunter2 in plain sight"
_SOON_S = 30


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    found = House(tmp_path, monkeypatch)
    yield found
    found.close()


@asynccontextmanager
async def _assistant(folder: Path, **options: Any) -> AsyncIterator[Client]:
    """Start the server as an assistant does; every byte that it sends is kept in a file."""
    line = f'"$@" | tee -a "{folder}/wire"'
    parameters = StdioServerParameters(
        command="/bin/sh", args=["-c", line, "sh", *_SERVER], env=dict(os.environ)
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


async def _names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools}


async def _until(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LONG_S):
        while not await look():  # noqa: ASYNC110 - another process does it, which sets no event of ours
            await asyncio.sleep(0.02)


_TRUE = {"kind": "command", "argv": ["true"]}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_assistant_looks_acts_and_reads_what_came_of_it(house: House, mode: str) -> None:
    house.start()
    house.scheduler.set_secret("TOKEN", _SECRET, in_file=True)
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
    house.scheduler.change_settings(assistants_may_edit=True)
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
        assert (
            refusal == "assistants may not create or change jobs here; a person can allow it in the settings"
        )
        house.scheduler.change_settings(assistants_may_edit=True)
        await asyncio.wait_for(heard.get(), LONG_S)
        assert await _names(client) - before == {"create_job", "edit_job"}
        await _ask(client, "create_job", name="made", schedule={"kind": "manual"}, action=_TRUE)
        house.scheduler.change_settings(assistants_may_edit=False)
        assert "may not" in await _refusal(client, "edit_job", job="made", description="x")
        await asyncio.wait_for(heard.get(), LONG_S)
        assert await _names(client) == before
        if listening is not None:
            listening.cancel()

    _talk(house, conversation, mode=mode, message_handler=note)
    assert [job.name for job in house.scheduler.list_jobs()] == ["made"]


def test_what_it_makes_or_changes_waits_for_a_person_whatever_it_tries(house: House) -> None:
    house.start()
    house.scheduler.change_settings(assistants_may_edit=True)
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


def test_what_is_changed_while_it_runs_waits_for_a_person_once_it_has_ended(house: House) -> None:
    house.scheduler.change_settings(assistants_may_edit=True)
    go = house.folder / "go"
    house.start()
    retry = Policy(retry=Retry(attempts=3, delay_ms=0), backoff=Backoff.none())
    job_id = house.scheduler.add_job(
        "old", After("1s"), shell(f"echo old; while [ ! -e {go} ]; do sleep 0.02; done; exit 1"), policy=retry
    )
    until(lambda: house.scheduler.get_run_log(job_id, outcome=Outcome.RUNNING))

    async def conversation(client: Client) -> None:
        await _ask(client, "edit_job", job="old", action=_TRUE)
        for tool in ("resume_job", "run_job"):
            assert "only a person can enable it" in await _refusal(client, tool, job="old")
        go.touch()

    _talk(house, conversation)
    (run,) = house.scheduler.get_run_log(job_id)
    assert house.end_of(run.id).outcome is Outcome.FAILURE
    job = house.scheduler.get_job(job_id)
    assert job is not None
    assert (job.status_reason, job.next_run_at) == (StatusReason.ASSISTANT, None)
    # The daemon has looked at its jobs once more, and did not find it due.
    house.end_of(house.begin(Command(argv=("true",))))
    assert house.scheduler.get_run_log(job_id) == [house.get(run.id)]


def test_a_secret_cannot_be_had_by_way_of_a_job(house: House) -> None:
    house.scheduler.change_settings(assistants_may_edit=True)
    house.scheduler.set_secret("TOKEN", _SECRET, in_file=True)
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
        "halo: assistants need a part that is not installed; get it with: pip install 'halo-scheduler[mcp]'\n"
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


def test_a_database_that_goes_away_is_a_sentence_for_each_call(line: _Line, house: House) -> None:
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
