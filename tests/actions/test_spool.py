"""The files of a run: written by the child, read redacted, capped, and gone in the end."""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_scheduler import Command, HttpRequest, Prompt
from halo_scheduler.actions import spool as spool_module
from halo_scheduler.actions.directives import NO_DIRECTIVES, Directives
from halo_scheduler.actions.output_reader import SpoolReader
from halo_scheduler.actions.spool import (
    Spool,
    Ticket,
    left_behind,
    spool_folder,
)
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.host.disk_space import DiskSpace, punch_hole, used_bytes
from halo_scheduler.host.private_files import make_private_folder
from halo_scheduler.model import Action, Proposal
from halo_scheduler.model.actions import FolderSource
from halo_scheduler.wording.messages import message_words

_BLOCK = 4_096
# What a limit of 16 blocks takes out of an output of 17.
_HOLE = range(4 * _BLOCK, 13 * _BLOCK)
_HIDDEN = "hunter22"
_LOT = 1 << 30
_GAP = re.compile(rb"\n\[\xe2\x80\xa6 ([0-9,]+) bytes left out \xe2\x80\xa6\]\n")
_NUMBERS = b"".join(b"%07d\n" % number for number in range(40_000))

Child = Callable[[bytes], None]


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path, "run")


@pytest.fixture
def child(spool: Spool) -> Iterator[Child]:
    """Add to the output as a child does, through a descriptor that was opened once."""
    descriptor = spool.create()
    yield lambda data: _write(descriptor, data)
    os.close(descriptor)


@pytest.fixture
def no_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk be one that knows no holes."""
    monkeypatch.setattr(spool_module, "punch_hole", lambda *_: False)


@pytest.fixture(params=[True, False], ids=["holes", "no holes"])
def has_holes(request: pytest.FixtureRequest) -> bool:
    """Let the disk be one of either kind."""
    if not request.param:
        request.getfixturevalue("no_holes")
    return bool(request.param)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _kept(spool: Spool, most_bytes: int, *secrets: str) -> bytes:
    return zlib.decompress(spool.kept(lambda: most_bytes, Redactor(secrets)).content)


def _halves(content: bytes) -> tuple[bytes, int, bytes]:
    """Return what lies before and behind the one gap, and how much it says was left out."""
    head, left_out, tail = _GAP.split(content)
    return head, int(left_out.replace(b",", b"")), tail


def _read_all(reader: SpoolReader) -> bytes:
    pieces = [*iter(reader.read, b""), reader.end()]
    reader.close()
    return b"".join(pieces)


# --- Files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_files_are_private_with_any_umask(spool: Spool, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        os.close(spool.create())
        spool.write_ticket(Ticket(1, "x", Command(argv=("true",))))
        spool.write(spool.prompt_path, b"x")
        spool.write(spool.work_path, b"x")
        spool.write(spool.cause_path, b"x")
        spool.reserve_code()
    finally:
        os.umask(before)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {
        "run.cause": 0o600,
        "run.code": 0o600,
        "run.out": 0o600,
        "run.prompt": 0o600,
        "run.ticket": 0o600,
        "run.work": 0o600,
    }


def test_a_folder_is_made_private(tmp_path: Path) -> None:
    folder = spool_folder(tmp_path / "new" / "halo.db")
    assert folder == tmp_path / "new" / "halo-spool"
    make_private_folder(folder)
    folder.chmod(0o755)
    make_private_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_folder_of_a_database_with_a_relative_path_is_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert spool_folder(Path("halo.db")) == tmp_path / "halo-spool"


def test_all_files_of_a_run_are_removed_and_no_others(spool: Spool, tmp_path: Path) -> None:
    os.close(Spool(tmp_path, "other").create())
    os.close(spool.create())
    told = (spool.prompt_path, spool.work_path, spool.cause_path)
    for path in (spool.code_path, *told, str(tmp_path / "run.said")):
        spool.write(path, b"x")
    spool.write_ticket(Ticket(1, "x", Command(argv=("true",))))
    (tmp_path / "run.item").touch()
    assert left_behind(tmp_path) == {"run", "other"}
    spool.remove()
    spool.remove()
    # Which item a run has is not for its spool to forget.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.out", "run.item"]
    assert left_behind(tmp_path) == {"other"}
    assert not spool.exists()


def test_only_files_of_runs_are_left_behind(tmp_path: Path) -> None:
    (tmp_path / "note.txt").touch()
    (tmp_path / "only-code.code").touch()
    assert left_behind(tmp_path) == {"only-code"}
    assert left_behind(tmp_path / "missing") == set()


# --- Tickets and codes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action",
    [
        Command(argv=("echo", "grüße"), environment={"A": "${secret:A}"}, no_work_code=3),
        HttpRequest(url="https://example.org/"),
        Command(argv=("cat",), stdin="ü" * 1_000_000),
        Prompt(text="{{work.title}}", agent="x", work_source=FolderSource(path="/x"), needs_input_code=9),
    ],
    ids=["command", "request", "much input", "prompt"],
)
@pytest.mark.parametrize("reads_lines", [True, False])
def test_a_ticket_is_read_as_it_was_written(spool: Spool, action: Action, reads_lines: bool) -> None:
    ticket = Ticket(4_711, "123.45", action, reads_lines)
    spool.write_ticket(ticket)
    assert spool.read_ticket() == ticket


def test_a_ticket_of_an_older_version_is_read(spool: Spool, tmp_path: Path) -> None:
    spool.write_ticket(Ticket(1, "x", Command(argv=("true",)), reads_lines=True))
    path = tmp_path / "run.ticket"
    data = json.loads(path.read_text())
    del data["reads_lines"]
    path.write_text(json.dumps(data))
    assert spool.read_ticket() == Ticket(1, "x", Command(argv=("true",)))


@pytest.mark.parametrize(
    "change",
    [{"pid": "x"}, {"pid": None}, {"action": {"kind": "unknown"}}, {"action": {"kind": "command"}}],
)
def test_an_invalid_ticket_is_ignored(spool: Spool, tmp_path: Path, change: dict[str, object]) -> None:
    spool.write_ticket(Ticket(1, "x", Command(argv=("true",))))
    path = tmp_path / "run.ticket"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert spool.read_ticket() is None


@pytest.mark.parametrize("content", [None, b"", b'{"pid": 1', b"[]", b"{}", b"5", b"\xff\xff"])
def test_a_damaged_ticket_is_ignored(spool: Spool, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "run.ticket").write_bytes(content)
    assert spool.read_ticket() is None


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, None), (b"", None), (b"1", None), (b"x\n", None), (b"\n", None), (b"0\n", 0), (b"143\n", 143)],
)
def test_only_a_whole_code_counts(spool: Spool, content: bytes | None, code: int | None) -> None:
    path = Path(spool.code_path)
    if content is not None:
        path.write_bytes(content)
        os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    assert spool.read_code() == (None if code is None else (code, 1_700_000_000_123))


# --- What is kept ---------------------------------------------------------------------------------


def test_nothing_printed_is_nothing_kept(spool: Spool) -> None:
    assert spool.size() == 0
    os.close(spool.create())
    output = spool.kept(lambda: 100, Redactor())
    assert (output.content, output.total_bytes) == (b"", 0)


@pytest.mark.parametrize(
    "printed",
    [b"x", b"x" * 1_000, b"\xff\xfe\0\x1b[31m\r\n", bytes(range(256))],
    ids=["one", "limit", "raw", "all"],
)
def test_output_that_fits_is_kept_to_the_last_byte(spool: Spool, child: Child, printed: bytes) -> None:
    child(printed)
    assert _kept(spool, 1_000) == printed
    assert spool.kept(lambda: 1_000, Redactor()).total_bytes == len(printed)


@pytest.mark.parametrize("secrets", [[], [_HIDDEN]])
def test_the_middle_of_long_output_is_removed(spool: Spool, child: Child, secrets: list[str]) -> None:
    child(_NUMBERS)
    head, left_out, tail = _halves(_kept(spool, 1_000, *secrets))
    assert (head, tail) == (_NUMBERS[:500], _NUMBERS[-500:])
    assert left_out == len(_NUMBERS) - 1_000
    assert spool.kept(lambda: 1_000, Redactor(secrets)).total_bytes == len(_NUMBERS)


def test_a_line_of_ten_megabytes_is_kept_around_a_gap(spool: Spool, child: Child) -> None:
    child(b"a" + b"x" * 10_000_000 + b"z")
    head, left_out, tail = _halves(_kept(spool, 262_144))
    assert (head[:1], tail[-1:], left_out) == (b"a", b"z", 10_000_002 - 262_144)


@pytest.mark.parametrize("offset", range(-9, 10))
@pytest.mark.parametrize("is_head", [True, False], ids=["head", "tail"])
def test_nothing_of_a_secret_at_the_gap_is_kept(
    spool: Spool, child: Child, offset: int, is_head: bool
) -> None:
    at = 500 + offset if is_head else 5_000 - 500 + offset
    child(b"." * at + _HIDDEN.encode() + b"." * (5_000 - at - len(_HIDDEN)))
    head, _, tail = _halves(_kept(spool, 1_000, _HIDDEN))
    assert {*head, *tail} <= {*b".*"}


@st.composite
def _limited_cases(draw: st.DrawFn) -> tuple[str, bytes, int]:
    secret = draw(st.text("abc", min_size=4, max_size=12))
    pieces = draw(st.lists(st.just(secret.encode()) | st.binary(max_size=9).map(_in_capitals), max_size=20))
    return secret, b"".join(pieces), draw(st.integers(0, 120))


def _in_capitals(data: bytes) -> bytes:
    return bytes(ord("A") + byte % 26 for byte in data)


@given(_limited_cases())
def test_with_any_limit_every_byte_of_a_secret_is_left_out(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[str, bytes, int]
) -> None:
    """Secrets are in small letters and all else in capitals: no small letter may be left, not even one.

    What is kept is the beginning and the end of the redacted whole, and the count of what is missing fits.
    """
    secret, printed, most_bytes = case
    spool = Spool(tmp_path_factory.mktemp("spool"), "run")
    descriptor = spool.create()
    _write(descriptor, printed)
    os.close(descriptor)
    output = spool.kept(lambda: most_bytes, Redactor([secret]))
    assert output.total_bytes == len(printed)
    content = zlib.decompress(output.content) if output.content else b""
    whole = Redactor([secret]).redacted(printed)
    if len(printed) <= most_bytes or not printed:
        assert content == whole
        return
    head, left_out, tail = _halves(content)
    assert not re.search(rb"[a-z]", head + tail)
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(printed) - most_bytes <= left_out <= len(printed)


# --- The cap --------------------------------------------------------------------------------------


def test_a_small_output_is_not_capped(spool: Spool, child: Child) -> None:
    child(b"x" * 100)
    assert not spool.cap(100)
    spool.remove()
    assert not spool.cap(0)


def test_an_output_too_small_for_a_middle_is_left_complete(spool: Spool, child: Child) -> None:
    child(b"x" * 4_000)
    assert not spool.cap(100)
    assert _kept(spool, 10_000) == b"x" * 4_000


def test_shortened_output_uses_less_disk_space_and_keeps_growing(spool: Spool, child: Child) -> None:
    limit = 16 * _BLOCK
    most_used = 0
    for start in range(0, len(_NUMBERS), 4 * _BLOCK):
        child(_NUMBERS[start : start + 4 * _BLOCK])
        spool.cap(limit)
        most_used = max(most_used, os.stat(spool.output_path).st_blocks * 512)  # noqa: PTH116
    assert most_used <= limit
    assert spool.size() == len(_NUMBERS)
    output = spool.kept(lambda: 10**9, Redactor())
    head, left_out, tail = _halves(zlib.decompress(output.content))
    assert output.total_bytes == len(head) + left_out + len(tail) == len(_NUMBERS)
    assert _NUMBERS.startswith(head)
    assert _NUMBERS.endswith(tail)
    assert len(head) == 4 * _BLOCK
    assert len(tail) >= 4 * _BLOCK


@pytest.mark.usefixtures("no_holes")
def test_without_holes_shortened_output_keeps_its_head_and_keeps_growing(spool: Spool, child: Child) -> None:
    limit = 16 * _BLOCK
    for start in range(0, len(_NUMBERS), 4 * _BLOCK):
        child(_NUMBERS[start : start + 4 * _BLOCK])
        spool.cap(limit)
        assert spool.size() <= limit
    output = spool.kept(lambda: 10**9, Redactor())
    head, left_out, tail = _halves(zlib.decompress(output.content))
    assert output.total_bytes == len(head) + left_out + len(tail) == len(_NUMBERS)
    assert head == _NUMBERS[: 4 * _BLOCK]
    assert tail
    assert _NUMBERS.endswith(tail)


@pytest.mark.usefixtures("no_holes")
def test_a_second_lower_limit_moves_the_cut_back(spool: Spool, child: Child) -> None:
    child(_NUMBERS)
    assert spool.cap(16 * _BLOCK)
    child(_NUMBERS)
    assert spool.cap(8 * _BLOCK)
    child(_NUMBERS)
    assert spool.cap(16 * _BLOCK)
    child(b"end")
    output = spool.kept(lambda: 10**9, Redactor())
    head, left_out, tail = _halves(zlib.decompress(output.content))
    assert (head, tail) == (_NUMBERS[: 2 * _BLOCK], b"end")
    assert output.total_bytes == len(_NUMBERS) * 3 + 3 == len(head) + left_out + len(tail)


@pytest.mark.parametrize("more", [b"", b"." * 5, b"." * 3_000])
@pytest.mark.parametrize("offset", range(-8, 2))
def test_nothing_of_a_secret_at_a_cut_is_kept_or_shown(
    spool: Spool, child: Child, more: bytes, offset: int, has_holes: bool
) -> None:
    secret = _HIDDEN.encode()
    printed = bytearray(b"." * (17 * _BLOCK))
    for edge in (_HOLE.start, _HOLE.stop):
        printed[edge + offset : edge + offset + len(secret)] = secret
    child(bytes(printed))
    assert spool.cap(16 * _BLOCK)
    child(more)
    for most_bytes in (1_000, 10**9):
        head, _, tail = _halves(_kept(spool, most_bytes, _HIDDEN))
        assert {*head, *tail} <= {*b".*"}
    if has_holes:  # Who comes after a cut cannot see where it was.
        shown = _read_all(SpoolReader(spool.output_path, Redactor([_HIDDEN])))
        assert {*_GAP.sub(b"", shown)} <= {*b".*"}


# --- Progress -------------------------------------------------------------------------------------


def test_only_new_lines_report_progress(spool: Spool, child: Child) -> None:
    assert spool.new_progress(Redactor()) is None
    child(b"start\n::progress 0.25 first\nother\n")
    assert spool.new_progress(Redactor()) == (0.25, "first")
    assert spool.new_progress(Redactor()) is None
    child(b"other\n")
    assert spool.new_progress(Redactor()) is None
    child(b"::progress 0.5\n")
    assert spool.new_progress(Redactor()) == (0.5, "")


def test_only_a_whole_line_reports_progress(spool: Spool, child: Child) -> None:
    child(b"::progress 0.2")
    assert spool.new_progress(Redactor()) is None
    child(b"5 halfway")
    assert spool.new_progress(Redactor()) is None
    child(b" there\n::progress 0.9")
    assert spool.new_progress(Redactor()) == (0.25, "halfway there")


@pytest.mark.parametrize("line", [b"::progress 1.01", b"::progress -1", b"::progress nan", b"::progress x"])
def test_an_invalid_number_is_ignored(spool: Spool, child: Child, line: bytes) -> None:
    child(b"::progress 0.5 fine\n" + line + b"\n")
    assert spool.new_progress(Redactor()) == (0.5, "fine")


def test_a_secret_in_the_progress_is_redacted(spool: Spool, child: Child) -> None:
    child(b"::progress 0.5 with hunter22 in it\n")
    assert spool.new_progress(Redactor([_HIDDEN])) == (0.5, "with *** in it")


def test_progress_does_not_draw_a_secret_either(spool: Spool, child: Child) -> None:
    half = len(_HIDDEN) // 2
    drawn = f"{'x' * half}{_HIDDEN[half:]}{50 * chr(8)}{_HIDDEN[:half]}"
    child(f"::progress 0.5 {drawn}\n".encode())
    assert spool.new_progress(Redactor([_HIDDEN])) == (0.5, "***")


def test_the_last_progress_of_much_output_is_found(spool: Spool, child: Child) -> None:
    child(b"::progress 0.1\n" + b"x\n" * 100_000 + b"::progress 0.2\n")
    assert spool.new_progress(Redactor()) == (0.2, "")
    child(b"x" * 10_000_000)
    assert spool.new_progress(Redactor()) is None
    child(b"\n::progress 0.3\n")
    assert spool.new_progress(Redactor()) == (0.3, "")


def test_the_middle_of_a_long_line_is_not_a_line(spool: Spool, child: Child) -> None:
    rest = b"::progress 0.5 not a line".ljust(65_536, b".")
    child(b"x" * 100 + rest)
    assert spool.new_progress(Redactor()) is None
    child(b"\n")
    assert spool.new_progress(Redactor()) is None
    child(b"::progress 0.6 a line\n")
    assert spool.new_progress(Redactor()) == (0.6, "a line")


@pytest.mark.usefixtures("no_holes")
def test_progress_is_read_after_a_cut(spool: Spool, child: Child) -> None:
    child(b"::progress 0.1\n" + b"x" * (16 * _BLOCK) + b"\n")
    assert spool.new_progress(Redactor()) is None
    assert spool.cap(16 * _BLOCK)
    child(b"::progress 0.2 not a line\n::progress 0.3\n")
    assert spool.new_progress(Redactor()) == (0.3, "")


# --- What is said -----------------------------------------------------------------------------------


def test_directives_are_not_read_without_a_reader(spool: Spool, child: Child) -> None:
    child(b"::cost 1\n")
    assert not spool.hear(_LOT)
    assert spool.said() == NO_DIRECTIVES


def test_each_directive_is_read_once(spool: Spool, child: Child) -> None:
    spool.listen(Redactor())
    assert not spool.hear(_LOT)
    for piece in (b"::cost 1\n::co", b"st 2", b"\n::cost 4\n", b"", b"::needs-input well"):
        child(piece)
        assert not spool.hear(_LOT)
    assert spool.said() == Directives(cost=7.0, question="well")


def test_a_long_output_is_read_in_steps(spool: Spool, child: Child) -> None:
    child(b"::cost 1\n" + _NUMBERS + b"::cost 2\n")
    spool.listen(Redactor())
    steps = 1
    while spool.hear(100_000):
        steps += 1
    assert steps == 4
    assert spool.has_heard(spool.size())
    assert spool.said().cost == 3.0


def test_a_secret_is_redacted_from_directives(spool: Spool, child: Child) -> None:
    spool.listen(Redactor([_HIDDEN]))
    for piece in (b"::needs-input is it hun", b"ter22 or not?\n"):
        child(piece)
        spool.hear(_LOT)
    assert spool.said().question == "is it *** or not?"


def test_unread_output_is_not_cut_out(spool: Spool, child: Child, has_holes: bool) -> None:
    spool.listen(Redactor())
    line = b"::cost 1\n".ljust(_BLOCK - 1, b".") + b"\n"
    child(line * 64)
    assert not spool.cap(16 * _BLOCK)
    spool.hear(8 * _BLOCK)
    assert spool.cap(16 * _BLOCK) is has_holes
    spool.hear(_LOT)
    assert spool.cap(16 * _BLOCK)
    child(line)
    spool.hear(_LOT)
    assert spool.said().cost == 65.0


def test_an_output_that_is_cut_repeatedly_is_read_completely(
    spool: Spool, child: Child, has_holes: bool
) -> None:
    spool.listen(Redactor())
    text = b"".join(b"%07d\n::cost 0.5\n" % number for number in range(8_000))
    for start in range(0, len(text), 9_999):
        child(text[start : start + 9_999])
        spool.hear(_LOT)
        spool.cap(8 * _BLOCK)
    assert spool.said().cost == 4_000.0
    if has_holes:
        assert os.stat(spool.output_path).st_blocks * 512 <= 9 * _BLOCK + 9_999  # noqa: PTH116


def test_the_next_reader_knows_the_directives_before_the_cut(
    spool: Spool, child: Child, tmp_path: Path, has_holes: bool
) -> None:
    spool.listen(Redactor())
    proposed = b'::halo every=5m ttl=2h reason="long queue"\n'
    child(b"x" * 5 * _BLOCK + b"\n::cost 1\n::needs-input one\n" + proposed + _NUMBERS)
    spool.hear(_LOT)
    assert spool.cap(16 * _BLOCK)
    second = Spool(tmp_path, "run")
    # Who comes after a cut cannot know whether a line began there.
    child((b"" if has_holes else b"\n") + b"::cost 2\n::needs-input two\n::halo next=1m\n")
    second.listen(Redactor())
    while second.hear(10_000):
        pass
    said = second.said()
    assert (said.cost, said.question, said.fault) == (3.0, "one\ntwo", None)
    assert said.proposal == Proposal(every_ms=300_000, next_ms=60_000, ttl_ms=7_200_000, reason="long queue")


@pytest.mark.parametrize("secret", ["z" * 4, "z" * 12, "z" * 40])
def test_a_reader_that_continues_counts_nothing_twice(
    spool: Spool, child: Child, tmp_path: Path, secret: str
) -> None:
    child(b"::cost 1\n::cost 2\n::cost 4\n")
    # What was read ends before the end of the second line.
    data = {"position": len("::cost 1\n::cost 2"), "said": {"cost": 3.0, "question": "", "fault": ""}}
    (tmp_path / "run.said").write_text(json.dumps(data))
    spool.listen(Redactor([secret]))
    spool.hear(_LOT)
    assert spool.said().cost == 7.0


def test_directives_are_counted_from_the_start_if_the_note_is_damaged(
    spool: Spool, child: Child, tmp_path: Path
) -> None:
    child(b"::cost 1\n")
    for content in (
        b"",
        b"[]",
        b'{"position": 5}',
        b'{"position": "x", "said": {}}',
        b'{"said": {"no": 1}}',
        b'{"position": 5, "said": {"wish": {"every_ms": "5m"}}}',
        b'{"position": 5, "said": {"wish": {"every_ms": -1}}}',
    ):
        (tmp_path / "run.said").write_bytes(content)
        spool.listen(Redactor())
        spool.hear(_LOT)
        assert spool.said().cost == 1.0


def test_lines_beside_a_hole_are_not_joined(spool: Spool, child: Child) -> None:
    spool.listen(Redactor())
    child(b"\n::cost 1".rjust(_BLOCK, b".") + b"." * (8 * _BLOCK) + b"5\n::cost 2\n")
    assert punch_hole(spool.output_path, _BLOCK, 8 * _BLOCK)
    assert not spool.hear(_LOT)
    assert spool.said() == Directives(cost=2.0)


def test_an_output_that_was_only_made_longer_has_an_end(spool: Spool, child: Child) -> None:
    spool.listen(Redactor())
    child(b"::cost 1\n")
    os.truncate(spool.output_path, 100 * _BLOCK)
    assert not spool.hear(_LOT)
    child(b"\n::cost 2\n")
    assert not spool.hear(_LOT)
    assert spool.said().cost == 3.0


def test_an_emptied_output_is_read_further(spool: Spool, child: Child) -> None:
    spool.listen(Redactor())
    child(b"::cost 1\nand more\n")
    spool.hear(_LOT)
    os.truncate(spool.output_path, 0)
    assert not spool.hear(_LOT)
    child(b"\n::cost 2\n")
    assert not spool.hear(_LOT)
    assert spool.said().cost == 3.0


def test_a_long_output_is_read_partly_at_once_and_that_is_noted(spool: Spool, child: Child) -> None:
    spool.listen(Redactor())
    child(b"::cost 1\n" + _NUMBERS + b"::cost 2\n" + _NUMBERS + b"::cost 4\n")
    spool.hear_at_once(1_000)
    assert spool.said().cost == 5.0
    assert "not all of its output was searched" in message_words(spool.said().fault)


@pytest.mark.parametrize("most_bytes", [320_012, 400_000, _LOT])
def test_a_short_output_is_read_completely_at_once(spool: Spool, child: Child, most_bytes: int) -> None:
    spool.listen(Redactor())
    child(_NUMBERS[:-8] + b"::cost 1\n" + b"xx\n")
    spool.hear_at_once(most_bytes)
    assert spool.said() == Directives(cost=1.0)


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"one\ntwo", "two"),
        (b"one\n two \n\n\n", "two"),
        (b"which?\n::cost 0.1\n::progress 1\n", "which?"),
        (b"is it hunter22?\n", "is it ***?"),
        (b"\x1b[31mred\x1b[0m\n", "red"),
        (b"x" * 100_000 + b"\nlast\n", "last"),
    ],
)
def test_the_last_line_is_the_last_with_words_in_it(
    spool: Spool, child: Child, printed: bytes, line: str
) -> None:
    child(printed)
    assert spool.last_line(Redactor([_HIDDEN])) == line


def test_without_an_output_there_is_no_last_line(spool: Spool) -> None:
    assert spool.last_line(Redactor()) == ""


# --- Reading along --------------------------------------------------------------------------------


def test_a_reader_follows_a_growing_output(spool: Spool, child: Child) -> None:
    child(b"one")
    reader = SpoolReader(spool.output_path, Redactor())
    assert (reader.read(), reader.read()) == (b"one", b"")
    child(b"\xff\0two")
    assert (reader.read(), reader.read(), reader.end()) == (b"\xff\0two", b"", b"")
    reader.close()


def test_a_reader_redacts_across_its_chunks(spool: Spool, child: Child) -> None:
    reader = SpoolReader(spool.output_path, Redactor([_HIDDEN]))
    shown = b""
    for piece in (b"is hun", b"ter2", b"2 and hunter"):
        child(piece)
        shown += reader.read()
    assert b"hun" not in shown
    assert shown + reader.end() == b"is *** and hunter"
    reader.close()


def test_a_reader_reads_to_the_end_of_a_removed_output(spool: Spool, child: Child) -> None:
    child(_NUMBERS)
    reader = SpoolReader(spool.output_path, Redactor([_HIDDEN]))
    spool.remove()
    child(b"after all")
    assert _read_all(reader) == _NUMBERS + b"after all"


def test_much_output_comes_in_pieces(spool: Spool, child: Child) -> None:
    child(b"x" * 3_000_000)
    reader = SpoolReader(spool.output_path, Redactor())
    pieces = list(iter(reader.read, b""))
    reader.close()
    assert sum(map(len, pieces)) == 3_000_000
    assert max(map(len, pieces)) <= 1 << 20


def test_an_output_that_is_not_there_cannot_be_read(spool: Spool) -> None:
    with pytest.raises(FileNotFoundError):
        SpoolReader(spool.output_path, Redactor())


@pytest.mark.parametrize("secrets", [[], [_HIDDEN], ["x" * 20_000]], ids=["none", "short", "long"])
def test_a_reader_passes_a_hole_with_a_mark(spool: Spool, child: Child, secrets: list[str]) -> None:
    child(_NUMBERS[: 17 * _BLOCK])
    assert spool.cap(16 * _BLOCK)
    reach = Redactor(secrets).reach
    head, left_out, tail = _halves(_read_all(SpoolReader(spool.output_path, Redactor(secrets))))
    assert left_out == len(_HOLE)
    assert head == _NUMBERS[: _HOLE.start]
    assert tail == _NUMBERS[_HOLE.stop + reach : 17 * _BLOCK]


@pytest.mark.usefixtures("no_holes")
def test_a_reader_continues_after_a_cut_with_a_mark(spool: Spool, child: Child) -> None:
    child(_NUMBERS[: 17 * _BLOCK])
    reader = SpoolReader(spool.output_path, Redactor([_HIDDEN]))
    shown = reader.read()
    assert spool.cap(16 * _BLOCK)
    assert _GAP.fullmatch(reader.read())
    hidden = b"-" * (Redactor([_HIDDEN]).reach - 5)
    child(hidden + b"hunter22 hunter22 end")
    assert _NUMBERS.startswith(shown)
    # What came right behind the cut might have been the end of a secret.
    assert _read_all(reader) == b" *** end"


# --- On a disk with little room -------------------------------------------------------------------


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set what is free of a disk of 400 MiB, of which 20 are kept free."""

    def set_free(free: int) -> None:
        monkeypatch.setattr(spool_module, "disk_space", lambda _folder: DiskSpace(400 << 20, free))

    return set_free


def test_output_is_shortened_to_keep_the_reserve_free(
    spool: Spool, child: Child, space: Callable[[int], None]
) -> None:
    child(b"x" * (8 << 20))
    space(21 << 20)
    assert not spool.cap(_LOT)
    space(19 << 20)
    assert spool.cap(_LOT)
    # Of the 7 MiB that it may take, it goes on with half.
    assert used_bytes(Path(spool.output_path).stat()) <= 4 << 20


def test_of_a_small_output_nothing_is_taken_however_full_the_disk(
    spool: Spool, child: Child, space: Callable[[int], None]
) -> None:
    child(b"x" * (1 << 20))
    space(0)
    assert not spool.cap(_LOT)


def test_on_a_full_disk_the_beginning_and_the_end_are_kept(
    spool: Spool, child: Child, space: Callable[[int], None]
) -> None:
    child(b"first" + b"x" * (8 << 20) + b"last!")
    space(0)
    assert spool.cap(_LOT)
    kept = _kept(spool, 256 << 10)
    assert kept.startswith(b"first")
    assert kept.endswith(b"last!")


def test_on_a_full_disk_even_unread_output_is_shortened(
    spool: Spool, child: Child, space: Callable[[int], None]
) -> None:
    spool.listen(Redactor())
    child(b"::cost 1\n" + b"x\n" * (4 << 20) + b"::cost 2\n")
    space(100 << 20)
    spool.hear(1 << 20)
    assert not spool.cap(4 << 20)  # What was not heard is kept, as long as there is room.
    space(0)
    assert spool.cap(4 << 20)
    assert not spool.hear(_LOT)
    said = spool.said()
    assert said.cost == 3.0
    assert (
        message_words(said.fault)
        == "the disk was so full that not all of its output was searched for output commands"
    )
