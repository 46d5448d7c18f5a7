"""Webhooks: what real clients send to the listener, and what becomes of it."""

from __future__ import annotations

import hashlib
import hmac
import logging
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import apsw
import psutil
import pytest
from machine import Bench
from timing import at_most_ms
from web_door import Door

from halo_scheduler import Every, OnWebhook, Several
from halo_scheduler.errors import StoreUnavailableError
from halo_scheduler.grammar.interval import HOUR_MS
from halo_scheduler.model import Entry, Outcome, Run, Source, Trigger
from halo_scheduler.model.webhooks import Place, Signature
from halo_scheduler.triggers import listener, posts
from halo_scheduler.triggers.watching import Watched

_KEY = "correct horse battery"


@pytest.fixture
def door(bench: Bench) -> Iterator[Door]:
    found = Door(bench)
    found.open()
    yield found
    found.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the limits of slow clients be short."""
    monkeypatch.setattr(listener, "_FOR_HEADER_S", 0.2)
    monkeypatch.setattr(listener, "_FOR_BODY_S", 0.4)
    monkeypatch.setattr(listener, "_BETWEEN_LOOKS_S", 0.02)


# --- What a job is given -----------------------------------------------------------------------------


@pytest.mark.parametrize("is_free", [True, False])
def test_without_a_thread_to_listen_nothing_stays_open(
    door: Door, monkeypatch: pytest.MonkeyPatch, is_free: bool
) -> None:
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name == "halo-webhooks":
            raise RuntimeError("can't start new thread")
        real(thread)

    other = Door(door.bench)
    # The door listens at its own place already.
    other.place = other.place if is_free else door.place
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            other.open()
    assert sum(thread.name == "halo-webhook-intake" for thread in threading.enumerate()) == 1
    if is_free:
        socket.create_server(other.place).close()


def test_a_post_is_on_disk_before_it_is_answered(door: Door) -> None:
    token = door.add()
    found = door.post(token, b"\x00 any bytes \xff")
    assert (found.status, found.headers["Content-Type"]) == (202, "application/json")
    assert door.requests() == [(found.data["run"], {}, b"\x00 any bytes \xff")]
    assert door.woken == 1


def test_declared_parameters_come_from_the_body_and_before_it_from_the_query(door: Door) -> None:
    token = door.add(parameters={"mode": "full", "count": "1", "dry": "no", "where": "here"})
    body = b'{"mode": "quick", "count": 12.50, "dry": true, "where": null, "other": "x"}'
    door.post(token, body, "?mode=slow%20one&unknown=1")
    ((_, parameters, content),) = door.requests()
    assert parameters == {"mode": "slow one", "count": "12.50", "dry": "true"}
    assert content == body


@pytest.mark.parametrize(
    "body",
    [b"mode=quick", b'["mode"]', b'{"mode": ', b"{" * 9_000, b'{"a": ' * 9_000, b'{"a": 1}\n' * 90_000],
)
def test_a_body_that_is_no_json_object_is_only_the_input(door: Door, body: bytes) -> None:
    token = door.add(parameters={"mode": "full"})
    assert door.post(token, body).status == 202
    assert door.requests()[0][1:] == ({}, body)


@pytest.mark.parametrize(
    ("body", "query", "sentence"),
    [
        (b'{"mode": ["a"]}', "", "parameters.mode: must be text, not ['a']"),
        (b'{"mode": {}}', "", "parameters.mode: must be text, not {}"),
        (
            '{"mode": "a\u200bb"}'.encode(),
            "",
            "parameters.mode: contains invisible characters: U+200B ZERO WIDTH SPACE",
        ),
        (b"", "?mode=a%E2%80%8Bb", "parameters.mode: contains invisible characters: U+200B ZERO WIDTH SPACE"),
        (b'{"mode": "\\ud800"}', "", "parameters.mode: contains"),
        (b'{"mode": "\\u0000"}', "", "parameters.mode: must not contain a NUL character"),
        (b"", "?mode=%FF", "the query cannot be read"),
        (b"", "?" + "a=1&" * 1_500, "the query cannot be read"),
        (b"", "?mode=" + "x" * 9_000, "parameters.mode: is longer than 8192 bytes; give long text as input"),
        (b'{"mode": "${secret:KEY}"}', "", "parameters.mode: "),
    ],
)
def test_a_value_that_cannot_be_one_is_refused(door: Door, body: bytes, query: str, sentence: str) -> None:
    token = door.add(parameters={"mode": "full"})
    found = door.post(token, body, query)
    assert found.status == 400
    assert found.data["error"].startswith(sentence)
    assert not door.requests()


def test_broken_json_that_is_announced_as_json_is_refused(door: Door) -> None:
    token = door.add(parameters={"mode": "full"})
    found = door.post(token, b'{"mode": ', Content_Type="application/json; charset=utf-8")
    assert (found.status, found.data) == (400, {"error": "the body is not JSON"})


@pytest.mark.parametrize(
    "body",
    [
        b'{"x": [' + b"[]," * 330_000 + b"[]]}",
        b'{"mode": [' + b"1," * 490_000 + b"1]}",
        ('{"x": [' + '"\u2c22",1,' * 20_000 + "1]}").encode("utf-16-le"),
        b"{" * 900_000,
        b'{"a": ' * 150_000,
    ],
)
def test_a_body_of_more_values_than_are_read_is_refused_quickly(door: Door, body: bytes) -> None:
    token = door.add(parameters={"mode": "full"})
    found = door.post(token, body)
    assert (found.status, found.data["error"]) == (
        413,
        "the body has more than 10,000 JSON values, too many to take parameters from",
    )
    assert not door.requests()
    post = posts.Post(token, {}, body, "")
    with at_most_ms(50), pytest.raises(posts.TooManyValuesError):
        posts.read_parameters({"mode": "full"}, post)


@pytest.mark.parametrize("declared", [{}, {"mode": "full"}])
def test_a_body_of_many_values_is_input(door: Door, declared: dict[str, str]) -> None:
    text = b'Commas, [brackets], {braces} and \\" too. ' * 20_000
    many = b'"x"' if declared else b"[" + b"1," * 20_000 + b"1]"
    body = b'{"text": "' + text + b'", "mode": "quick", "x": ' + many + b"}"
    assert door.post(door.add(parameters=declared), body).status == 202
    assert door.requests()[0][1:] == ({"mode": "quick"} if declared else {}, body)


def test_the_first_webhook_among_several_schedules_starts_the_job(door: Door) -> None:
    schedules = Several((Entry(Every("1h"), key="hourly"), Entry(OnWebhook(), key="called")))
    door.bench.scheduler.add_job("mixed", schedules, job_id="mixed")
    token = door.bench.scheduler.webhooks.make_address("mixed")
    assert door.post(token).status == 202
    (row,) = door.store.database.rows("SELECT schedule_key FROM scheduler_requests WHERE kind = 'event'")
    assert row == ("called",)


# --- Who may -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/hook", "/hook/", "/hook/../hook/x", "/hook/%00", "/status/", "/favicon.ico"]
)
def test_other_paths_are_not_found(door: Door, path: str) -> None:
    assert door.call("POST" if "hook" in path else "GET", path).status == 404


def test_other_methods_are_refused_whatever_the_token(door: Door) -> None:
    token = door.add()
    answers = [door.call(method, f"/hook/{one}") for method in ("GET", "PUT") for one in (token, "wrong")]
    assert {answer.status for answer in answers} == {405}


def test_wrong_tokens_all_get_the_same_answer(door: Door) -> None:
    token = door.add()
    removed = door.add("removed")
    door.bench.scheduler.remove_job("removed")
    plain = door.add("plain")
    door.bench.scheduler.update_job("plain", schedule=Every("1h"))
    rotated = door.add("rotated")
    door.bench.scheduler.webhooks.make_address("rotated")
    nearly = token[:-1] + ("1" if token.endswith("0") else "0")
    wrong = [nearly, token[:-1], token.upper() + "A", "0" * 44, "%C3%A9", removed, plain, rotated]
    answers = [door.call("POST", f"/hook/{one}") for one in wrong]
    assert {(answer.status, answer.data["error"]) for answer in answers} == {
        (404, "there is no such webhook")
    }


def test_ten_thousand_wrong_tokens_are_limited_and_leave_nothing(door: Door) -> None:
    token = door.add()
    door.post(token)

    def try_some(first: int) -> set[int]:
        return set(door.post_many(f"{number:044x}" for number in range(first, first + 100)))

    with ThreadPoolExecutor(8) as clients:
        list(clients.map(try_some, range(0, 1_000, 100)))
        before = psutil.Process().memory_info().rss
        statuses = set().union(*clients.map(try_some, range(1_000, 10_000, 100)))
    assert statuses == {429}
    assert psutil.Process().memory_info().rss - before < 16 << 20
    assert door.post(token).status == 202
    assert len(door.store.webhooks.all()) == 1


def test_wrong_tokens_are_not_found_again_after_a_rest(door: Door) -> None:
    assert [door.post("0" * 44).status for _ in range(101)].count(429) == 1
    door.bench.clock.advance(1_000)
    assert door.post("0" * 44).status == 404


def test_the_rate_limit_of_one_job_allows_a_burst(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    token, other = door.add(), door.add("other")
    monkeypatch.setattr("halo_scheduler.rules.event_requests.MOST_WAITING", 1_000)
    statuses = [door.post(token).status for _ in range(205)]
    assert statuses.count(429) == 5
    found = door.post(token)
    assert (found.status, found.headers["Retry-After"]) == (429, "10")
    assert door.post(other).status == 202
    door.bench.clock.advance(1_000)
    assert door.post(token).status == 202


def test_the_rate_limit_of_all_jobs_allows_a_burst(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    allowances = posts.Allowances(door.bench.clock)
    monkeypatch.setattr(posts, "_OF_ONE_JOB", (50, 10_000))
    taken = [allowances.take(str(number % 50)) for number in range(2_001)]
    assert taken.count(False) == 1


@pytest.mark.parametrize(
    ("stop", "words"), [("pause", "the job is paused"), ("disable", "the job is disabled")]
)
def test_a_job_that_may_not_run_refuses(door: Door, stop: str, words: str) -> None:
    token = door.add()
    if stop == "pause":
        door.bench.scheduler.pause_job("deploy")
    else:
        door.bench.scheduler.update_job("deploy", enabled=False)
    found = door.post(token)
    assert (found.status, found.data["error"]) == (409, words)
    assert not door.requests()


def test_calls_beyond_the_waiting_ones_are_refused_so_that_nothing_is_lost(door: Door) -> None:
    token = door.add()
    for _ in range(100):
        assert door.post(token).status == 202
    refused = door.post(token, b"more")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "10")
    assert refused.data == {"error": "100 calls wait for their run already; try again later"}
    assert len(door.requests()) == 100


# --- The state of a run --------------------------------------------------------------------------------


def test_the_state_of_a_run_needs_the_token_of_its_job(door: Door) -> None:
    token, other = door.add(), door.add("other")
    run_id = door.post(token).data["run"]
    assert door.status(token, run_id).data == {"run": run_id, "state": "waiting"}
    assert door.status(other, run_id).status == 404
    assert door.call("GET", f"/status/{run_id}").status == 404
    assert door.status(token, "none").status == 404
    run = Run(
        id=run_id, job_id="deploy", trigger=Trigger.EVENT, source=Source.MANUAL, outcome=Outcome.RUNNING
    )
    door.store.runs.insert([run], 1)
    assert door.status(token, run_id).data == {"run": run_id, "state": "running"}
    door.store.database.rows("UPDATE scheduler_run_log SET outcome = 'failure', finished_at = 1")
    assert door.status(token, run_id).data == {"run": run_id, "state": "ended", "outcome": "failure"}
    assert door.status(other, run_id).status == 404


# --- Signatures ----------------------------------------------------------------------------------------


def _sign(door: Door, signature: Signature) -> str:
    token = door.add()
    door.bench.scheduler.secrets.set("KEY", _KEY, in_file=True)
    door.bench.scheduler.webhooks.require_signature("deploy", signature, "KEY")
    return token


def _mac(content: bytes) -> str:
    return hmac.new(_KEY.encode(), content, hashlib.sha256).hexdigest()


def test_github_signs_the_body_and_nothing_is_accepted_twice(door: Door) -> None:
    token = _sign(door, Signature.GITHUB)
    signed = {"X_Hub_Signature_256": f"sha256={_mac(b'push')}"}
    assert door.post(token, b"push", **signed, X_GitHub_Delivery="1").status == 202
    replayed = door.post(token, b"push", **signed, X_GitHub_Delivery="2")
    assert (replayed.status, replayed.data) == (409, {"error": "this request was received before"})
    assert [door.post(token, b"push").status, door.post(token, b"other", **signed).status] == [401, 401]
    assert len(door.requests()) == 1
    door.bench.clock.advance(31 * 86_400_000)
    assert door.post(token, b"other", X_Hub_Signature_256=f"sha256={_mac(b'other')}").status == 202
    (row,) = door.store.database.rows("SELECT count(*) FROM scheduler_webhook_deliveries")
    assert row == (1,)


def test_gitlab_sends_the_key_itself(door: Door) -> None:
    token = _sign(door, Signature.GITLAB)
    assert door.post(token, X_Gitlab_Token=_KEY[1:]).status == 401
    assert [door.post(token, X_Gitlab_Token=_KEY).status for _ in range(2)] == [202, 202]
    named = [door.post(token, X_Gitlab_Token=_KEY, Idempotency_Key="1").status for _ in range(2)]
    assert named == [202, 409]
    assert door.post(token, X_Gitlab_Token=_KEY, X_Gitlab_Event_UUID="2").status == 202


def test_stripe_signs_the_time(door: Door) -> None:
    token = _sign(door, Signature.STRIPE)

    def send(age_s: int, body: bytes = b"paid", *, signature: str = "") -> int:
        time_s = door.bench.clock.now_ms() // 1_000 - age_s
        mac = _mac(f"{time_s}.".encode() + body)
        return door.post(
            token, body, Stripe_Signature=signature or f"t={time_s},v1={'0' * 64},v1={mac},v0=x"
        ).status

    assert send(0) == 202
    assert send(0) == 409
    assert [send(299), send(-299)] == [202, 202]
    assert [send(301), send(-301)] == [401, 401]
    wrong = ["t=1", "v1=0", "t=x,v1=0", "t=1,t=2,v1=0", "," * 50, "t=" + "9" * 13, "é"]
    assert {send(0, signature=one) for one in wrong} == {401}


def test_a_clock_that_is_set_back_lets_no_old_delivery_in(door: Door) -> None:
    token, clock = _sign(door, Signature.STRIPE), door.bench.clock

    def send(time_s: int) -> int:
        mac = _mac(f"{time_s}.paid".encode())
        return door.post(token, b"paid", Stripe_Signature=f"t={time_s},v1={mac}").status

    first_at = clock.now_ms()
    assert send(first_at // 1_000) == 202
    clock.advance(23 * HOUR_MS)
    assert send(clock.now_ms() // 1_000) == 202
    clock.set(first_at)
    assert send(first_at // 1_000) == 409


def test_the_same_delivery_twice_at_once_is_accepted_once(door: Door) -> None:
    token = _sign(door, Signature.GITHUB)
    signature = f"sha256={_mac(b'push')}"
    with ThreadPoolExecutor(8) as clients:
        found = clients.map(
            lambda _: door.post(token, b"push", X_Hub_Signature_256=signature).status, range(24)
        )
        assert sorted(found) == [202, *[409] * 23]
    assert len(door.requests()) == 1


def test_without_its_key_a_signature_cannot_be_checked(door: Door) -> None:
    token = _sign(door, Signature.GITHUB)
    door.bench.scheduler.secrets.remove("KEY")
    found = door.post(token, b"push", X_Hub_Signature_256=f"sha256={_mac(b'push')}")
    assert (found.status, found.data) == (503, {"error": "the signature cannot be checked now"})
    door.bench.scheduler.webhooks.require_signature("deploy", None)
    assert door.post(token, b"push").status == 202


# --- A store in trouble ---------------------------------------------------------------------------------


def test_a_store_that_cannot_be_written_is_logged_and_no_message_is_lost(door: Door) -> None:
    token = door.add()

    def refuse() -> None:
        raise StoreUnavailableError("the disk is full")

    door.beside = refuse
    found = door.post(token)
    assert (found.status, found.headers["Retry-After"]) == (503, "10")
    door.beside = lambda: None
    assert door.post(token).status == 202


def test_a_fault_of_one_request_is_not_that_of_the_others(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    token = door.add()
    intake = door.watcher._listener._intake  # type: ignore[union-attr]  # it is open
    began, batches = threading.Event(), [0]

    def fail_first() -> None:
        batches[0] += 1
        if batches[0] == 1:
            began.set()
            while intake._queue.qsize() < 5:
                threading.Event().wait(0.001)
        if batches[0] == 2:
            raise apsw.ConstraintError("what it was")

    door.beside = fail_first
    with ThreadPoolExecutor(6) as clients:
        first = clients.submit(door.post, token, b"a secret text")
        began.wait()
        coming = [first, *(clients.submit(door.post, token, b"a secret text") for _ in range(5))]
        statuses = {one.result().status for one in coming}
    assert statuses == {202}
    door.beside = lambda: 1 / 0  # type: ignore[assignment]  # it fails before it returns
    assert door.post(token, b"a secret text").status == 500
    assert "a secret text" not in caplog.text


def test_a_deleted_database_is_not_created_again(door: Door) -> None:
    token = door.add()
    assert door.post(token).status == 202
    door.bench.path.rename(door.bench.path.with_suffix(".gone"))
    assert door.post(token).status == 503
    assert not door.bench.path.exists()
    door.bench.path.with_suffix(".gone").rename(door.bench.path)


# --- Hostile clients -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"POST /hook/x HTTP/1.1\r\nHost: x\r\n",
        b"POST /hook/x HTTP/1.1\r\nContent-Length: 100\r\n\r\nhal",
        b"POST /hook/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
    ],
)
def test_a_client_that_stops_in_the_middle_is_cut(door: Door, begun: bytes) -> None:
    with door.connect() as connection:
        connection.sendall(begun)
        assert connection.recv(1_000) == b""


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "begun", [b"POST /hook/x HTTP/1.1\r\nX: ", b"POST /hook/x HTTP/1.1\r\nContent-Length: 900000\r\n\r\n"]
)
def test_a_client_that_sends_byte_by_byte_is_disconnected(door: Door, begun: bytes) -> None:
    with door.connect() as connection:
        connection.sendall(begun)
        connection.settimeout(0.02)
        assert _drip_until_cut(connection)


@pytest.mark.usefixtures("impatient")
def test_a_client_that_sends_only_blank_lines_is_cut(door: Door) -> None:
    with door.connect() as connection:
        connection.settimeout(0.02)
        assert _drip_until_cut(connection, b"\r\n\r\n")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_whoever_is_refused_does_not_keep_the_connection(door: Door, version: str) -> None:
    wrong = f"POST /hook/{'0' * 44} HTTP/{version}\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"
    with door.connect() as connection:
        connection.sendall(wrong.encode())
        answer = _read_answer(connection)
        assert b" 404 " in answer
        assert answer.count(b"\r\nConnection: close\r\n") == answer.lower().count(b"\r\nconnection:") == 1
        assert connection.recv(1_000) == b""


def _drip_until_cut(connection: socket.socket, drop: bytes = b"x") -> bool:
    for _ in range(1_000):
        try:
            connection.sendall(drop)
            if connection.recv(1_000) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def _read_answer(connection: socket.socket) -> bytes:
    found = b""
    while not found.endswith(b"}\n"):
        found += connection.recv(10_000)
    return found


@pytest.mark.usefixtures("impatient")
def test_a_client_that_keeps_the_connection_may_ask_again_and_is_cut_when_idle(door: Door) -> None:
    token = door.add()
    request = f"POST /hook/{token} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi".encode()
    with door.connect() as connection:
        for _ in range(3):
            connection.sendall(request)
            assert _read_answer(connection).startswith(b"HTTP/1.1 202 Accepted\r\n")
        assert connection.recv(1_000) == b""


@pytest.mark.parametrize(
    ("count", "limit"),
    [(70, "_FOR_HEADER_IF_BUSY_S"), (150, "_FOR_HEADER_IF_FULL_S"), (150, "_FOR_BODY_IF_FULL_S")],
)
def test_many_slow_connections_do_not_keep_others_out(
    door: Door, monkeypatch: pytest.MonkeyPatch, count: int, limit: str
) -> None:
    for name in ("_FOR_HEADER_S", "_FOR_BODY_S", "_FOR_HEADER_IF_BUSY_S", "_FOR_BODY_IF_BUSY_S"):
        monkeypatch.setattr(listener, name, 3_600)
    monkeypatch.setattr(listener, limit, 0.2)
    monkeypatch.setattr(listener, "_BETWEEN_LOOKS_S", 0.02)
    token = door.add()
    begun = b"POST /hook/x HTTP/1.1\r\nContent-Length: 9\r\n\r\n" if "BODY" in limit else b""
    idle = [socket.create_connection(door.place) for _ in range(count)]
    for connection in idle:
        connection.sendall(begun)
    assert door.post(token).status == 202
    assert idle[0].recv(1_000) == b""
    for connection in idle:
        connection.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"400"),
        (b"GET\r\n\r\n", b"400"),
        (b"POST /hook/x HTTP/9.9\r\n\r\n", b"404"),
        (b"POST /hook/x HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"400"),
        (b"POST /hook/x HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\nhello", b"400"),
        (b"POST /hook/x HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n", b"413"),
        (b"POST /hook/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"POST /hook/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nf4241\r\n" + b"x" * 1_000_001, b"413"),
        (b"POST /hook/x HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", b"501"),
        (b"POST /hook/x HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", b"431"),
        (b"POST /hook/x\r\n\x00: y\r\n\r\n", b"400"),
        (
            b"POST /hook/x HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"400",
        ),
        (b"POST /hook/x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (b"POST /hook/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 20_000, b"400"),
        (b"POST /hook/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 1_500, b"400"),
        (b"POST /hook/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 8_000, b"400"),
        (b"POST /hook/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"a" * 80_000, b"400"),
        (b"POST /hook/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"a:b\r\n" * 16_000, b"400"),
    ],
)
def test_malformed_requests_get_a_status(door: Door, sent: bytes, status: bytes) -> None:
    with door.connect() as connection:
        connection.sendall(sent)
        assert connection.recv(1_000).split(b" ", 2)[1] == status
    assert door.post(door.add()).status == 202


def test_a_length_of_thousands_of_digits_ends_only_that_connection(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    with door.connect() as connection, caplog.at_level(logging.CRITICAL, "waitress"):
        connection.sendall(b"POST /hook/x HTTP/1.1\r\nContent-Length: " + b"9" * 10_000 + b"\r\n\r\n")
        connection.recv(1_000)
    assert door.post(door.add()).status == 202


def test_the_largest_body_may_come_in_small_chunks(door: Door) -> None:
    token = door.add()
    head = f"POST /hook/{token} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with door.connect() as connection:
        connection.sendall(head + (b"32\r\n" + b"x" * 50 + b"\r\n") * 20_000 + b"0\r\n\r\n")
        assert connection.recv(1_000).split(b" ", 2)[1] == b"202"
    assert len(door.requests()[0][2]) == 1_000_000


@pytest.mark.usefixtures("impatient")
def test_an_endless_chunked_body_is_refused(door: Door) -> None:
    token = door.add()
    with door.connect() as connection:
        connection.sendall(f"POST /hook/{token} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        connection.settimeout(1)
        assert _send_until_cut(connection, (b"1000\r\n" + b"x" * 4_096 + b"\r\n") * 250)
    assert not door.requests()


def _send_until_cut(connection: socket.socket, piece: bytes) -> bool:
    for _ in range(10_000):
        try:
            connection.sendall(piece)
        except OSError:
            return True
    return False


def test_the_largest_body_is_accepted_and_a_larger_one_refused(door: Door) -> None:
    token = door.add()
    assert door.post(token, b"x" * 1_000_000).status == 202
    assert len(door.requests()[0][2]) == 1_000_000
    assert [door.post(token, b"x" * 1_000_001).status for _ in range(10)] == [413] * 10
    assert door.post(token, b"x" * (20 << 20)).status == 413


def test_data_from_clients_is_never_logged(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = door.add()
    door.post(token, b"\x1b[31mloud", "?mode=loud", User_Agent="loud")
    door.call("POST", "/loud")
    with door.connect() as connection:
        connection.sendall(b"loud loud loud\r\n\r\n")
        connection.recv(1_000)
    assert "loud" not in caplog.text
    assert token not in caplog.text


# --- Opening and closing ----------------------------------------------------------------------------------


def test_the_listener_says_where_it_listens(door: Door) -> None:
    door.post("0" * 44)  # What it noted before is stored by now.
    found = door.store.webhooks.listener()
    assert found is not None
    assert (found.place, found.fault) == (door.place, "")
    door.close()
    assert door.store.webhooks.listener() is None
    with pytest.raises(ConnectionRefusedError), door.connect():
        pass


def test_a_port_in_use_is_reported_and_retried(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_RETRIES_S", (0.02,))
    door = Door(bench)
    token = door.add()
    with socket.create_server(door.place):
        door.open()
        door.watcher._listener._intake.answer(posts.StatusQuestion("", ""))  # type: ignore[union-attr]  # it is open
        found = door.store.webhooks.listener()
        assert found is not None
        assert found.fault == (
            f"another program uses {door.place}; quit it, or choose another port for webhooks"
        )
        door.watcher.follow([Watched("deploy", "", OnWebhook(), "deploy")])  # type: ignore[union-attr]  # likewise
    while (found := door.store.webhooks.listener()) is None or found.fault:
        pass
    assert door.post(token).status == 202
    assert door.told == [
        ("deploy", f"another program uses {door.place}; quit it, or choose another port for webhooks"),
        ("deploy", ""),
    ]
    door.close()


def test_a_listener_that_never_got_its_port_can_be_closed(bench: Bench) -> None:
    door = Door(bench)
    with socket.create_server(door.place):
        door.open()
        door.close()
    assert door.store.webhooks.listener() is None


def test_an_address_of_another_computer_cannot_be_listened_on(bench: Bench) -> None:
    door = Door(bench)
    door.place = Place("192.0.2.1", door.place.port)
    door.open()
    door.watcher._listener._intake.answer(posts.StatusQuestion("", ""))  # type: ignore[union-attr]  # it is open
    found = door.store.webhooks.listener()
    assert found is not None
    assert found.fault.startswith(f"webhooks cannot listen on {door.place}: ")
    door.close()


def test_requests_after_closing_are_turned_away(door: Door) -> None:
    intake = door.watcher._listener._intake  # type: ignore[union-attr]  # it is open
    door.close()
    assert intake.answer(posts.Post("", {}, b"", "")) == posts.CLOSING
