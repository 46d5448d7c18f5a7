"""An HTTP request under way, on Qt's network stack."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress

from PySide6.QtCore import QByteArray, QObject, QUrl
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkReply, QNetworkRequest, QSslError

from halo_scheduler.actions.http_headers import credentials, default_headers, shown_value, without
from halo_scheduler.actions.json_answer import JsonAnswer
from halo_scheduler.actions.spool import Spool
from halo_scheduler.actions.work import Desk, Ended, Secrets, StopReason, kept_output
from halo_scheduler.directives import NOTHING_SAID, LineReader, Said
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import BodyKind, HttpRequest, Outcome, Redirects, Run
from halo_scheduler.output_text import printed_line
from halo_scheduler.redaction import Redactor
from halo_scheduler.secret_refs import filled_in, referenced_names

_MOST_REDIRECTS = 10
_READ_AHEAD = 4 << 20
_LOOK_MS = 1_000
_SEE_OTHER = 303
_MOVED = frozenset({301, 302, _SEE_OTHER})
_REDIRECTS = _MOVED | {307, 308}
_PORTS = {"http": 80, "https": 443}
# What may be sent to a host the user did not name.
_HARMLESS_HEADERS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
# What only Qt knows: with another length, or none, a body would end elsewhere than the server believes.
_FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding"})
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_Attribute = QNetworkRequest.Attribute
_Error = QNetworkReply.NetworkError
_CUT_OFF = "closed the connection in the middle of its answer"
_FIRST_ERROR_STATUS = 400
_WITHOUT_BODY = frozenset({204, 304})
# From here on Qt's errors may tell of the status; before, they tell of the way to it.
_FIRST_STATUS_ERROR = _Error.ProxyAuthenticationRequiredError.value


class HttpStarter(QObject):
    """Sends requests; one connection pool for all jobs, but no cookies and no passwords are shared."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._manager = QNetworkAccessManager(self)

    def start(
        self, desk: Desk, run: Run, request: HttpRequest, spool: Spool, secrets: Secrets, *, reads_lines: bool
    ) -> HttpWork:
        """Begin a request."""
        work = HttpWork(self._manager, desk, run, request, spool)
        work.start(secrets, reads_lines=reads_lines)
        return work


class HttpWork(QObject):
    """One request with all its redirects; what it gets is redacted before it is written."""

    def __init__(
        self, manager: QNetworkAccessManager, desk: Desk, run: Run, request: HttpRequest, spool: Spool
    ) -> None:
        super().__init__(manager)
        self._manager = manager
        self._desk = desk
        self._run = run
        self._request = request
        self._spool = spool
        self._descriptor: int | None = None
        self._redactor = Redactor()
        self._stream = self._redactor.stream()
        self._reads_lines = False
        self._lines: LineReader | None = None
        self._answer: JsonAnswer | None = None
        self._reply: QNetworkReply | None = None
        self._headers: dict[str, str] = {}
        self._body = b""
        self._method = request.method
        self._redirects = 0
        self._tls_errors: list[str] = []
        self._has_head = False
        self._is_whole = False
        self._body_bytes = 0
        self._body_bytes_seen = 0
        self._why: StopReason | None = None
        self._is_over = False
        self.next_look_at: int | None = None

    def start(self, secrets: Secrets, *, reads_lines: bool) -> None:
        """Send the request, at once or when its secrets are at hand."""
        self._reads_lines = reads_lines
        if not self._request.secret_names:
            self._begin({})
            return

        def read() -> None:
            try:
                values = secrets()
            except Exception as error:  # noqa: BLE001 - whatever a keyring raises is this run's failure
                sentence = str(error) if isinstance(error, SchedulerError) else f"no secrets: {error!r}"
                self._desk.home.post(lambda: self._report(Outcome.FAILURE, sentence))
            else:
                self._desk.home.post(lambda: self._begin(values))

        self._desk.home.submit(read)

    def look(self, now_ms: int) -> None:
        """Keep what is written within its limit."""
        self.next_look_at = now_ms + _LOOK_MS
        self._spool.cap(self._desk.spool_limit())
        if self._reply is not None and self._body_bytes == self._body_bytes_seen:
            # Qt can miss the end of a connection for which it has a limit; without one it sees it.
            self._reply.setReadBufferSize(0)
        self._body_bytes_seen = self._body_bytes

    def shift(self, by_ms: int) -> None:
        """Move the instant it waits for: the clock was set."""
        if self.next_look_at is not None:
            self.next_look_at += by_ms

    def stop(self, now_ms: int, why: StopReason) -> None:  # noqa: ARG002 - a request is ended at once
        """Break the request off."""
        if self._why is not None or self._is_over:
            return
        self._why = why
        if self._reply is not None:
            self._reply.abort()
        else:
            self._desk.home.post(lambda: self._report(why.outcome, why.error))

    def leave(self) -> None:
        """Break off and say nothing."""
        self._is_over = True
        if self._reply is not None:
            self._reply.abort()
        with suppress(OSError):  # There is nobody left to tell.
            self._write(self._stream.end())
        self._close()

    # --- Sending -------------------------------------------------------------------------------------

    def _begin(self, secrets: Mapping[str, str]) -> None:
        if self._is_over or self._why is not None:
            return
        request = self._request
        is_json = request.body_kind is BodyKind.JSON
        escape = (lambda value: json.dumps(value)[1:-1]) if is_json else str
        self._body = filled_in(request.body, secrets, escape).encode()
        self._headers = default_headers(request)
        for name, value in request.headers.items():
            if name.lower() in _FRAMING_HEADERS:
                continue
            self._headers = without(self._headers, name)
            self._headers[name] = filled_in(value, secrets)
            if _CONTROL.search(self._headers[name]):
                # Only a secret can bring them in. Qt would leave the header out and send the rest.
                sentence = f"a secret in the header {name} has more than one line or control characters"
                self._report(Outcome.FAILURE, sentence)
                return
        self._redactor = Redactor([*secrets.values(), *credentials(self._headers)])
        try:
            self._descriptor = self._spool.create()
        except OSError as error:
            self._report_unwritable(error)
            return
        self.next_look_at = self._desk.home.now_ms() + _LOOK_MS
        self._send(QUrl(request.url))

    def _send(self, url: QUrl) -> None:
        request = QNetworkRequest(url)
        request.setAttribute(
            _Attribute.RedirectPolicyAttribute, QNetworkRequest.RedirectPolicy.ManualRedirectPolicy.value
        )
        for attribute in (
            _Attribute.CookieLoadControlAttribute,
            _Attribute.CookieSaveControlAttribute,
            _Attribute.AuthenticationReuseAttribute,
        ):
            request.setAttribute(attribute, QNetworkRequest.LoadControl.Manual.value)
        for name, value in self._headers.items():
            request.setRawHeader(name.encode(), value.encode())
        if self._method.upper() == "HEAD":
            reply = self._manager.head(request)
        else:
            reply = self._manager.sendCustomRequest(
                request, QByteArray(self._method.encode()), QByteArray(self._body)
            )
        reply.setParent(self)
        for sign_of_life in (reply.socketStartedConnecting, reply.requestSent, reply.metaDataChanged):
            sign_of_life.connect(self._limit_reading)
        reply.sslErrors.connect(self._note_tls_errors)
        reply.readyRead.connect(self._read)
        reply.finished.connect(self._finish)
        self._reply = reply
        self._has_head = False
        self._is_whole = False
        self._body_bytes = self._body_bytes_seen = 0
        self._stream = self._redactor.stream()
        # What was said on the way to another place does not count.
        self._lines = LineReader(self._redactor) if self._reads_lines else None
        self._answer = None

    # --- Receiving -----------------------------------------------------------------------------------

    def _note_tls_errors(self, errors: list[QSslError]) -> None:
        self._tls_errors = [error.errorString() for error in errors]

    def _limit_reading(self) -> None:
        """Let Qt wait with what comes until we took what came.

        It does not hear of this before it has begun; and told later, it lets what came meanwhile pile up. It is
        told once: this is a signal to Qt's thread, sent with the interpreter's lock held (docs/adr/0010).
        """
        if self._reply is not None and self._reply.readBufferSize() == 0:
            self._reply.setReadBufferSize(_READ_AHEAD)

    def _read(self) -> None:
        if self._reply is None or self._is_over:
            return
        self._limit_reading()
        try:
            self._take_in(self._reply)
        except OSError as error:
            self._report_unwritable(error)

    def _take_in(self, reply: QNetworkReply) -> None:
        """Write what has come by now."""
        self._write_head(reply)
        if reply.isOpen():  # One that was broken off is not.
            data = bytes(reply.readAll().data())
            self._body_bytes += len(data)
            if self._lines is not None:
                self._lines.feed(data)
            if self._answer is not None:
                self._answer.feed(data)
            self._write(self._stream.feed(data))

    def _write_head(self, reply: QNetworkReply) -> None:
        status = _status_of(reply)
        if self._has_head or status is None:
            return
        self._has_head = True
        if self._reads_lines:
            self._answer = JsonAnswer(_content_type_of(reply))
        lines = [f"HTTP {status} {_phrase_of(reply)}".rstrip().encode()]
        for raw_name, raw_value in reply.rawHeaderPairs():
            name, value = bytes(raw_name.data()), bytes(raw_value.data())
            if name.lower() == b"content-encoding":
                continue  # The body below is stored decoded.
            lines.append(name + b": " + shown_value(name.decode("latin-1").lower(), value))
        self._write(self._stream.feed(b"\n".join(lines) + b"\n\n"))

    def _write(self, data: bytes) -> None:
        while data and self._descriptor is not None:
            data = data[os.write(self._descriptor, data) :]

    def _finish(self) -> None:
        reply, self._reply = self._reply, None
        if reply is None or self._is_over:
            return
        reply.deleteLater()
        try:
            self._take_in(reply)
            self._write(self._stream.end())
            self._judge(reply)
        except OSError as error:
            self._report_unwritable(error)

    def _judge(self, reply: QNetworkReply) -> None:
        status = _status_of(reply)
        if self._why is not None:
            self._report(self._why.outcome, self._why.error)
        elif status is None or _is_broken(reply, status):
            self._report(Outcome.FAILURE, self._network_sentence(reply), http_status=status)
        elif self._is_cut_off(reply, status):
            self._report(Outcome.FAILURE, f"{_place(reply.url())} {_CUT_OFF}", http_status=status)
        else:
            self._is_whole = True
            self._take_status(reply, status)

    def _is_cut_off(self, reply: QNetworkReply, status: int) -> bool:
        """Tell whether less came than was announced, which Qt does not always notice."""
        length = reply.header(QNetworkRequest.KnownHeaders.ContentLengthHeader)
        has_body = status not in _WITHOUT_BODY and self._method.upper() != "HEAD"
        return has_body and length is not None and self._body_bytes < int(length)

    def _take_status(self, reply: QNetworkReply, status: int) -> None:
        request = self._request
        expected = request.expected_statuses
        is_expected = status in expected if expected else 200 <= status < 300  # noqa: PLR2004 - any 2xx
        if is_expected:
            self._report(Outcome.SUCCESS, "", http_status=status)
            return
        target = _target_of(reply, status)
        if target is not None:
            refusal = self._refuse_redirect(reply.url(), target)
            if refusal is None:
                self._follow(reply.url(), target, status)
            else:
                self._report(Outcome.FAILURE, refusal, http_status=status)
            return
        answer = printed_line(f"{status} {_phrase_of(reply)}".rstrip())
        wanted = " or ".join(map(str, expected)) if expected else "2xx"
        self._report(
            Outcome.FAILURE, f"{_place(reply.url())} answered {answer}; expected {wanted}", http_status=status
        )

    # --- Redirects -----------------------------------------------------------------------------------

    def _refuse_redirect(self, url: QUrl, target: QUrl) -> str | None:
        """Return why a redirect is not followed, if it is not."""
        policy = self._request.redirects
        there = f"{_place(url)} redirects to {_place(target)}"
        if target.scheme() not in _PORTS or not target.host():
            return f"{_place(url)} redirects to something that is neither http nor https"
        if policy is Redirects.NONE or (policy is Redirects.SAME_HOST and not _is_same_host(url, target)):
            return f"{there}, which the job does not follow"
        if url.scheme() == "https" and target.scheme() == "http":
            return f"{there}, which is not encrypted"
        if self._redirects >= _MOST_REDIRECTS:
            return f"{there}: more than {_MOST_REDIRECTS} redirects in a row"
        return None

    def _follow(self, url: QUrl, target: QUrl, status: int) -> None:
        self._redirects += 1
        if status == _SEE_OTHER or (status in _MOVED and self._method.upper() == "POST"):
            self._method = "HEAD" if self._method.upper() == "HEAD" else "GET"
            self._body = b""
            self._headers = without(self._headers, "Content-Type")
        if not _is_same_owner(url, target):
            if self._body:
                sentence = f"{_place(url)} redirects to {_place(target)}, which must not get the body"
                self._report(Outcome.FAILURE, sentence, http_status=status)
                return
            self._headers = {key: value for key, value in self._headers.items() if self._may_anybody_get(key)}
        self._write(
            self._redactor.redacted(f"[redirected to {printed_line(target.toString())}]\n\n".encode())
        )
        self._send(target)

    def _may_anybody_get(self, name: str) -> bool:
        has_secret = bool(referenced_names([self._request.headers.get(name, "")]))
        return name.lower() in _HARMLESS_HEADERS and not has_secret

    # --- Ending --------------------------------------------------------------------------------------

    def _network_sentence(self, reply: QNetworkReply) -> str:
        place = _place(reply.url())
        match reply.error():
            case _Error.HostNotFoundError:
                sentence = f"the name {reply.url().host()!r} was not found"
            case _Error.ConnectionRefusedError:
                sentence = f"{place} refused the connection"
            case _Error.RemoteHostClosedError if _status_of(reply) is None:
                sentence = f"{place} closed the connection before it had answered"
            case _Error.RemoteHostClosedError:
                sentence = f"{place} {_CUT_OFF}"
            case _Error.TimeoutError:
                sentence = f"{place} timed out"
            case _Error.SslHandshakeFailedError:
                reason = "; ".join(dict.fromkeys(self._tls_errors)) or reply.errorString()
                sentence = f"no safe connection (TLS) to {place}: {printed_line(reason)}"
            case _:
                sentence = f"the request to {place} failed: {printed_line(reply.errorString())}"
        return sentence

    def _report_unwritable(self, error: OSError) -> None:
        self._report(Outcome.FAILURE, f"its output cannot be written: {error.strerror}")

    def _report(self, outcome: Outcome, error: str, *, http_status: int | None = None) -> None:
        if self._is_over:
            return
        self._is_over = True
        self.next_look_at = None
        if self._reply is not None:
            self._reply.abort()
        self._close()
        said = self._said()
        ended = Ended(
            run_id=self._run.id,
            outcome=outcome,
            error=self._redactor.text(error),
            note=said.fault,
            http_status=http_status,
            cost=said.cost,
            question=said.question,
            proposal=said.proposal,
            output=kept_output(self._spool, self._desk.output_limit, Redactor()),
        )
        self._desk.home.end(ended)
        self.deleteLater()

    def _said(self) -> Said:
        said = NOTHING_SAID if self._lines is None else self._lines.end()
        if self._answer is None or not self._is_whole:
            return said
        return said.and_then(self._answer.read(self._redactor))

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _status_of(reply: QNetworkReply) -> int | None:
    status = reply.attribute(_Attribute.HttpStatusCodeAttribute)
    return int(status) if status is not None else None


def _phrase_of(reply: QNetworkReply) -> str:
    return str(reply.attribute(_Attribute.HttpReasonPhraseAttribute) or "")


def _content_type_of(reply: QNetworkReply) -> str:
    return bytes(reply.rawHeader("Content-Type").data()).decode("latin-1")


def _is_broken(reply: QNetworkReply, status: int) -> bool:
    """Tell whether there is no whole answer; that its status tells of an error is another matter."""
    error = reply.error()
    if status < _FIRST_ERROR_STATUS:
        return error is not _Error.NoError
    return 0 < error.value < _FIRST_STATUS_ERROR or error is _Error.ProtocolFailure


def _target_of(reply: QNetworkReply, status: int) -> QUrl | None:
    """Return where a redirect leads, without the name and password a server may put there."""
    location = reply.attribute(_Attribute.RedirectionTargetAttribute) if status in _REDIRECTS else None
    if location is None or QUrl(location).isEmpty():
        return None
    target = reply.url().resolved(QUrl(location))
    if target.userInfo():
        target.setAuthority(_place(target))
    return target


def _place(url: QUrl) -> str:
    host = f"[{url.host()}]" if ":" in url.host() else url.host()
    return host if url.port() == -1 else f"{host}:{url.port()}"


def _is_same_host(url: QUrl, target: QUrl) -> bool:
    return url.host().lower() == target.host().lower()


def _is_same_owner(url: QUrl, target: QUrl) -> bool:
    """Tell whether the same server answers: the same host and port, or its encrypted side."""
    ports = tuple(address.port(_PORTS[address.scheme()]) for address in (url, target))
    is_upgrade = ports == (_PORTS["http"], _PORTS["https"])
    return _is_same_host(url, target) and (ports[0] == ports[1] or is_upgrade)
