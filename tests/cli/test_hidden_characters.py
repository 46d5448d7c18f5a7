"""What is reviewed is what runs: nothing that a terminal shows of a job is hidden, simulated or turned around."""

from __future__ import annotations

import json
import os
import pty
import sys
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import Command, Manual, Prompt
from halo_scheduler.cli import halo
from halo_scheduler.model import JobSpec, StatusReason
from halo_scheduler.service.scheduler import Scheduler
from halo_scheduler.transfer.document import Document, read_document, write_document, write_document_as_json

_NAME = "deploy\u200b\u202e\u061c\ufeff\u3164\ufe0f\U000e0041"
_SHOWN_NAME = r"deploy\u200b\u202e\u061c\ufeff\u3164\ufe0f\udb40\udc41"
_SPOOFS = {
    "carriage return": "touch owned1 #\rrsync -a ~/photos /mnt/backup/photos      ",
    "operating-system command": "find ~/tmp -mtime +7 -delete \x1b]; touch owned2",
    "backspaces": "touch owned3 #" + "\b" * 24 + "echo hello",
    "erased line": "touch owned4 #\x1b[2Kcurl -s http://127.0.0.1/news",
    "turned around": "echo \u202ehs.x hs | lruc\u202c #",
    "tags": "echo hi" + "".join(chr(0xE0000 + ord(sign)) for sign in "; touch owned6"),
    "comment with a line end": "echo hello # and no more\ntouch owned7",
}
_HIDDEN_PARTS = {
    "carriage return": r"touch owned1 #\rrsync",
    "operating-system command": r"\x1b]; touch owned2",
    "backspaces": r"touch owned3 #\x08",
    "erased line": r"touch owned4 #\x1b[2Kcurl",
    "turned around": r"echo \u202ehs.x hs | lruc\u202c #",
    "tags": r"echo hi\udb40\udc3b",
    "comment with a line end": "echo hello # and no more ↵ touch owned7",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def _halo(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(halo, arguments, input=stdin)


def _hidden_in(text: str) -> list[str]:
    """Return what of a text acts on a terminal or cannot be seen."""
    return [
        sign
        for sign in text
        if (unicodedata.category(sign) in {"Cc", "Cf", "Zl", "Zp"} and sign not in "\n\t")
        or sign in "\u3164\ufe0f"
    ]


@pytest.mark.parametrize("kind", _SPOOFS)
@pytest.mark.parametrize("as_argument", [False, True])
def test_previews_and_details_show_invisible_characters_of_an_imported_command(
    kind: str, as_argument: bool
) -> None:
    line = _SPOOFS[kind]
    action = {"argv": ["/bin/sh", "-c", line]} if as_argument else {"line": line, "shell": "/bin/sh"}
    job = {"name": "job", "schedule": {"every": "1h"}, "action": {"kind": "command", **action}}
    preview = _halo("import", "-", "--yes", stdin=json.dumps({"version": 1, "jobs": [job]}))
    assert preview.exit_code == 0, preview.output
    for output in (preview.output, _halo("show", "job").output):
        assert _HIDDEN_PARTS[kind] in output
        assert _hidden_in(output) == []
    with Scheduler.open() as scheduler:
        (found,) = scheduler.list_jobs()
        assert found.status_reason is StatusReason.IMPORTED


@pytest.mark.parametrize(
    "action",
    [
        Command(line=f"echo hello #{'x' * 5_000}\ntouch owned8", shell="/bin/sh"),  # noqa: S604 - never run
        Command(argv=("echo", "\u200b" * 5_000, "touch owned8")),
        Prompt(text=f"Say hello.{' padding' * 5_000} touch owned8"),
    ],
)
def test_the_details_show_an_action_to_its_end(action: Command | Prompt) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Manual(), action)
    output = _halo("show", "job").output
    assert "touch owned8" in output
    assert "…" not in output


@pytest.mark.parametrize(
    "action",
    [
        Command(line="\x1ctrue\x1f\x85", shell="/bin/sh"),  # noqa: S604 - never run
        Prompt(text="\x1ctrue\x1f\x85"),
    ],
)
def test_the_details_show_control_blanks_at_the_ends(action: Command | Prompt) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Manual(), action)
    assert r"\x1ctrue\x1f\u0085" in _halo("show", "job").output


def test_a_preview_shows_the_parameters_of_each_schedule() -> None:
    job = {
        "name": "job",
        "parameters": {"then": "true"},
        "schedules": [
            {"kind": "every", "every": "1h", "parameters": {"then": "touch owned1"}, "on_overlap": "restart"},
            {"kind": "file", "path": "/in", "on": "appears", "parameters": {"then": "\x1b]; touch owned2"}},
        ],
        "action": {"kind": "command", "line": 'eval "$HALO_PARAM_THEN"', "shell": "/bin/sh"},
    }
    shown = _halo("import", "-", "--yes", stdin=json.dumps({"version": 2, "jobs": [job]})).output
    assert 'when     every hour with then="touch owned1", restarts it if the job still runs' in shown
    assert r'when     when a file appears in /in with then="\u001b]; touch owned2"' in shown


def test_a_preview_shows_invisible_characters_of_a_crontab_line() -> None:
    preview = _halo(
        "import", "-", "--yes", stdin=b"30 2 * * * find ~/tmp -mtime +7 -delete \x1b]; touch owned5\n"
    )
    assert r"does     find ~/tmp -mtime +7 -delete \x1b]; touch owned5 (/bin/sh)" in preview.output
    assert "▲ invisible characters in action.line: U+001B ESCAPE" in preview.output


def test_a_preview_shows_invisible_characters_of_a_timer(home: Path) -> None:
    (home / "x.timer").write_text("[Timer]\nOnCalendar=daily\n", encoding="utf-8")
    (home / "x.service").write_text("[Service]\nExecStart=/bin/echo hi\u200b\u202ethere\n", encoding="utf-8")
    preview = _halo("import", str(home / "x.timer"), "--yes")
    assert r"hi\u200b\u202ethere" in preview.output
    assert ": U+200B ZERO WIDTH SPACE, U+202E RIGHT-TO-LEFT OVERRIDE" in preview.output
    assert _hidden_in(preview.output) == []


def test_a_preview_names_every_field_with_something_invisible() -> None:
    job = {
        "name": _NAME,
        "description": "soft\u00adhyphen",
        "group": "night\u180e",
        "schedule": "manual",
        "action": {
            "kind": "http",
            "url": "http://example.org/\u2060",
            "method": "POST",
            "headers": {"X": "\u2800"},
        },
    }
    output = _halo("import", "-", "--yes", stdin=json.dumps({"version": 1, "jobs": [job]})).output
    for field in ("name", "description", "group", "action.url", "action.headers.X"):
        assert f"▲ invisible characters in {field}: U+" in output
    assert _hidden_in(output) == []


def test_a_preview_shows_invisible_characters_of_a_change() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("job", Manual(), Prompt(text="one\ntwo"))
    job = {
        "name": "job",
        "schedule": "manual",
        "action": {"kind": "prompt", "text": "one\ntwo\x1b[2K\rthree\u200b"},
    }
    output = _halo("import", "-", "--yes", stdin=json.dumps({"version": 1, "jobs": [job]})).output
    assert r"+two\x1b[2K\rthree\u200b" in output
    assert "▲ invisible characters in action.text: " in output


@pytest.mark.parametrize("other", ["deploy\u200b", "Deploy", "dерlоу"])
def test_a_name_that_resembles_another_is_pointed_out(other: str) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job("deploy", Manual(), Command(argv=("true",)))
    job = {"name": other, "schedule": "manual", "action": {"kind": "command", "argv": ["true"]}}
    words = "its name looks like that of another job: deploy"
    assert (
        f"▲ {words}" in _halo("import", "-", "--yes", stdin=json.dumps({"version": 1, "jobs": [job]})).output
    )
    assert f"warning   {words}" in _halo("show", other).output
    assert f": {words}\n" in _halo("resume", other).stderr


def test_suspicious_jobs_are_not_resumed_with_the_other_imported_ones() -> None:
    jobs = [
        {"name": name, "schedule": "manual", "action": {"kind": "command", "argv": ["echo", word]}}
        for name, word in (("fine", "hi"), ("odd", "hi\u200b"))
    ]
    _halo("import", "-", "--yes", stdin=json.dumps({"version": 1, "jobs": jobs}))
    done = _halo("resume", "--imported")
    assert done.stdout == "resumed 1 job\n"
    assert "▲ odd: invisible characters in action.argv[1]: U+200B ZERO WIDTH SPACE\n" in done.stderr
    assert "still paused, review and resume by name: odd\n" in done.stderr
    assert _halo("resume", "odd").exit_code == 0


def test_on_a_terminal_a_suspicious_import_is_shown_before_it_is_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = {"name": "odd", "schedule": "manual", "action": {"kind": "command", "argv": ["echo", "hi\u200b"]}}
    _halo("import", "-", "--yes", stdin=json.dumps({"version": 1, "jobs": [job]}))
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _stream: True, raising=False)
    refused = _halo("resume", "odd", stdin="n\n")
    assert r"does      echo 'hi\u200b'" in refused.output
    assert refused.exit_code == 1
    with Scheduler.open() as scheduler:
        assert [one.status_reason for one in scheduler.list_jobs()] == [StatusReason.IMPORTED]


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("list", "--json"),
        ("show", _NAME),
        ("show", _NAME, "--json"),
        ("why", _NAME),
        ("why", _NAME, "--json"),
        ("next",),
        ("pause", _NAME),
        ("resume", _NAME),
        ("edit", _NAME, "--every", "2h"),
        ("duplicate", _NAME, "copy"),
        ("remove", _NAME, "--yes"),
        ("export",),
        ("export", "--format", "json"),
        ("export", "--format", "crontab"),
        ("history",),
        ("status",),
        ("group", "list"),
        ("doctor",),
        ("show", f"{_NAME}x"),
    ],
    ids=lambda arguments: " ".join(arguments).replace(_NAME, "NAME"),
)
def test_no_command_prints_invisible_characters(arguments: tuple[str, ...]) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job(
            _NAME, Manual(), Command(argv=("true", "\u200b")), group=f"{_NAME}g", description=f"{_NAME}d"
        )
    done = _halo(*arguments)
    assert _hidden_in(done.output) == []
    if arguments[0] not in {"next", "status", "doctor", "history", "group"}:
        assert "deploy" in f"{done.output}{done.exception}"


def test_names_in_the_trash_can_be_pasted_into_a_shell() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job(_NAME, Manual(), Command(argv=("true",)))
    removed = _halo("remove", _NAME, "--yes").output
    assert rf"removed {_SHOWN_NAME}; restore it with: halo trash restore $'deploy\U0000200b" in removed
    for output in (_halo("trash").output, _halo("trash", "restore", _NAME).output):
        assert _SHOWN_NAME in output
        assert _hidden_in(output) == []


def test_a_job_is_found_by_its_escaped_name() -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_job(_NAME, Manual(), Command(argv=("true",)))
    assert _halo("pause", _SHOWN_NAME).output == f"paused {_SHOWN_NAME}\n"


def test_an_error_in_a_real_terminal_shows_every_character(tmp_path: Path) -> None:
    pid, descriptor = pty.fork()
    if pid == 0:
        os.environ["HALO_HOME"] = str(tmp_path)
        os.execv(sys.executable, [sys.executable, "-m", "halo_scheduler", "show", "no\u202e\x9b\u200bbody"])  # noqa: S606
    said = b""
    try:
        while chunk := os.read(descriptor, 4096):
            said += chunk
    except OSError:
        pass  # The terminal is gone with the program.
    os.waitpid(pid, 0)
    os.close(descriptor)
    assert "no\\u202e" in said.decode()
    assert _hidden_in(said.decode().replace("\r", "")) == []


_TEXTS = st.text(
    st.sampled_from(
        "ab #:'\"\\-\n\t\r\x1b\x7f\x9b\u200b\u202e\u2028\ufeff\u3164\ufe0f❤\U000e0041\U000e0100\ufffe\u00a0"
    ),
    min_size=1,
)


@given(_TEXTS, _TEXTS)
def test_files_show_every_character_and_mean_the_same(text: str, name: str) -> None:
    visible = (
        "".join(sign for sign in name if sign.isprintable() or sign in "\u200b\u202e\ufeff\U000e0041") or "x"
    )
    name = visible if visible.strip() else f"{visible}x"
    spec = JobSpec(name=name, schedule=Manual(), action=Prompt(text=text), description=text, group=name)
    document = Document(jobs={"id": spec})
    for written, is_json in ((write_document(document), False), (write_document_as_json(document), True)):
        (draft,) = read_document(written.encode(), is_json=is_json).jobs
        assert (draft.spec.name, draft.spec.action, draft.spec.description) == (name, spec.action, text)
        assert [sign for sign in _hidden_in(written) if sign != "\ufe0f"] == []
