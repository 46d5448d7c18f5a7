"""An HTTP request under way, on Qt's network stack."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version

from PySide6.QtCore import QByteArray, QObject, QUrl
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkReply, QNetworkRequest, QSslError

from halo_scheduler.actions.command import Desk, Secrets
from halo_scheduler.actions.spool import Spool
from halo_scheduler.actions.work import Ended, StopReason
from halo_scheduler.errors import SchedulerError
from halo_scheduler.model import BodyKind, HttpRequest, Outcome, Redirects, Run
from halo_scheduler.output_text import plain_line
from halo_scheduler.redaction import Redactor
from halo_scheduler.secret_refs import filled_in, referenced_names

_MOST_REDIRECTS = 10
_READ_AHEAD = 1 << 20
_LOOK_MS = 1_000
_SEE_OTHER = 303
_MOVED = frozenset({301, 302, _SEE_OTHER})
_REDIRECTS = _MOVED | {307, 308}
_PORTS = {"http": 80, "https": 443}
_SHORTEST_SECRET = 4
# What may be sent to a host the user did not name.
_HARMLESS_HEADERS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
_SECRET_WORDS = ("authorization", "cookie", "token", "secret", "password", "api-key", "apikey")
_Attribute = QNetworkRequest.Attribute
_Error = QNetworkReply.NetworkError
# From here on Qt's errors tell of the answer, not of the way to it.
_FIRST_STATUS_ERROR = _Error.ContentAccessDenied.value
_PROTOCOL_ERRORS = range(_Error.ProtocolUnknownError.value, _Error.InternalServerError.value)


class HttpStarter(QObject):
    """Sends requests; one connection pool for all jobs, but no cookies and no passwords are shared."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._manager = QNetworkAccessManager(self)

    def start(self, desk: Desk, run: Run, request: HttpRequest, spool: Spool, secrets: Secrets) -> HttpWork:
        """Begin a request."""
        work = HttpWork(self._manager, desk, run, request, spool)
        work.start(secrets)
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
        self._stream = Redactor().stream()
        self._reply: QNetworkReply | None = None
        self._headers: dict[str, str] = {}
        self._body = b""
        self._method = request.method
        self._redirects = 0
        self._tls_errors: list[str] = []
        self._has_head = False
        self._why: StopReason | None = None
        self._is_over = False
        self.next_look_at: int | None = None

    def start(self, secrets: Secrets) -> None:
        """Send the request, at once or when its secrets are at hand."""
        if not self._request.secret_names:
            self._begin({})
            return

        def read() -> None:
            try:
                values = secrets()
            except SchedulerError as error:
                sentence = str(error)
                self._desk.home.post(lambda: self._report(Outcome.FAILURE, sentence))
            else:
                self._desk.home.post(lambda: self._begin(values))

        self._desk.home.submit(read)

    def look(self, now_ms: int) -> None:
        """Keep what is written within its limit."""
        self._spool.cap(self._desk.spool_limit())
        self.next_look_at = now_ms + _LOOK_MS

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
        self._close()

    # --- Sending -------------------------------------------------------------------------------------

    def _begin(self, secrets: Mapping[str, str]) -> None:
        if self._is_over or self._why is not None:
            return
        request = self._request
        is_json = request.body_kind is BodyKind.JSON
        escape = (lambda value: json.dumps(value)[1:-1]) if is_json else str
        self._body = filled_in(request.body, secrets, escape).encode()
        self._headers = {"User-Agent": _user_agent()}
        if request.body:
            self._headers["Content-Type"] = "application/json" if is_json else "text/plain; charset=utf-8"
        for name, value in request.headers.items():
            self._headers = {key: kept for key, kept in self._headers.items() if key.lower() != name.lower()}
            self._headers[name] = filled_in(value, secrets)
        self._stream = Redactor([*secrets.values(), *_credentials(self._headers)]).stream()
        try:
            self._descriptor = self._spool.create()
        except OSError as error:
            self._report(Outcome.FAILURE, f"its output cannot be written: {error.strerror}")
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
        reply.setReadBufferSize(_READ_AHEAD)
        reply.sslErrors.connect(self._note_tls_errors)
        reply.readyRead.connect(self._read)
        reply.finished.connect(self._finish)
        self._reply = reply
        self._has_head = False

    # --- Receiving -----------------------------------------------------------------------------------

    def _note_tls_errors(self, errors: list[QSslError]) -> None:
        self._tls_errors = [error.errorString() for error in errors]

    def _read(self) -> None:
        reply = self._reply
        if reply is None or self._is_over:
            return
        self._write_head(reply)
        self._write(bytes(reply.readAll().data()))

    def _write_head(self, reply: QNetworkReply) -> None:
        status = _status_of(reply)
        if self._has_head or status is None:
            return
        self._has_head = True
        phrase = reply.attribute(_Attribute.HttpReasonPhraseAttribute) or ""
        lines = [f"HTTP {status} {phrase}".rstrip()]
        for raw_name, raw_value in reply.rawHeaderPairs():
            name = bytes(raw_name.data()).decode("latin-1")
            value = bytes(raw_value.data()).decode("latin-1")
            is_secret = any(word in name.lower() for word in _SECRET_WORDS)
            lines.append(f"{name}: {'***' if is_secret else value}")
        self._write(("\n".join(lines) + "\n\n").encode())

    def _write(self, data: bytes) -> None:
        self._write_raw(self._stream.feed(data))

    def _write_raw(self, data: bytes) -> None:
        while data and self._descriptor is not None:
            data = data[os.write(self._descriptor, data) :]

    def _finish(self) -> None:
        reply, self._reply = self._reply, None
        if reply is None or self._is_over:
            return
        try:
            self._write_head(reply)
            self._write(bytes(reply.readAll().data()))
        except OSError as error:
            self._report(Outcome.FAILURE, f"its output cannot be written: {error.strerror}")
            return
        finally:
            reply.deleteLater()
        if self._why is not None:
            self._report(self._why.outcome, self._why.error)
        elif _is_network_error(reply):
            self._report(Outcome.FAILURE, self._network_sentence(reply), http_status=_status_of(reply))
        else:
            self._take_status(reply, _status_of(reply) or 0)

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
        phrase = reply.attribute(_Attribute.HttpReasonPhraseAttribute) or ""
        answer = plain_line(f"{status} {phrase}".rstrip())
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
            self._headers = {
                key: value for key, value in self._headers.items() if key.lower() != "content-type"
            }
        if not _is_same_owner(url, target):
            if self._body and referenced_names([self._request.body]):
                sentence = (
                    f"{_place(url)} redirects to {_place(target)}, which must not get the body's secrets"
                )
                self._report(Outcome.FAILURE, sentence, http_status=status)
                return
            self._headers = {
                key: value for key, value in self._headers.items() if key.lower() in _HARMLESS_HEADERS
            }
        self._write(f"[redirected to {plain_line(target.toString())}]\n\n".encode())
        self._send(target)

    # --- Ending --------------------------------------------------------------------------------------

    def _network_sentence(self, reply: QNetworkReply) -> str:
        place = _place(reply.url())
        match reply.error():
            case _Error.HostNotFoundError:
                return f"the name {reply.url().host()!r} was not found"
            case _Error.ConnectionRefusedError:
                return f"{place} refused the connection"
            case _Error.RemoteHostClosedError:
                return f"{place} closed the connection before it had answered"
            case _Error.TimeoutError:
                return f"{place} timed out"
            case _Error.SslHandshakeFailedError:
                reason = "; ".join(dict.fromkeys(self._tls_errors)) or reply.errorString()
                return f"no safe connection (TLS) to {place}: {plain_line(reason)}"
            case _:
                return f"the request to {place} failed: {plain_line(reply.errorString())}"

    def _report(self, outcome: Outcome, error: str, *, http_status: int | None = None) -> None:
        if self._is_over:
            return
        self._is_over = True
        self.next_look_at = None
        self._close()
        ended = Ended(
            run_id=self._run.id,
            outcome=outcome,
            error=error,
            http_status=http_status,
            output=self._spool.kept(self._desk.output_limit, Redactor()),
        )
        self._desk.home.end(ended)
        self.deleteLater()

    def _close(self) -> None:
        if self._descriptor is not None:
            self._write_raw(self._stream.end())
            os.close(self._descriptor)
            self._descriptor = None


@cache
def _user_agent() -> str:
    return f"halo-scheduler/{version('halo-scheduler')}"


def _status_of(reply: QNetworkReply) -> int | None:
    status = reply.attribute(_Attribute.HttpStatusCodeAttribute)
    return int(status) if status is not None else None


def _is_network_error(reply: QNetworkReply) -> bool:
    """Tell whether there is no whole answer; that its status tells of an error is another matter."""
    error = reply.error().value
    return 0 < error < _FIRST_STATUS_ERROR or error in _PROTOCOL_ERRORS or _status_of(reply) is None


def _target_of(reply: QNetworkReply, status: int) -> QUrl | None:
    location = reply.attribute(_Attribute.RedirectionTargetAttribute) if status in _REDIRECTS else None
    return None if location is None else reply.url().resolved(QUrl(location))


def _place(url: QUrl) -> str:
    port = url.port()
    return url.host() if port == -1 else f"{url.host()}:{port}"


def _is_same_host(url: QUrl, target: QUrl) -> bool:
    return url.host().lower() == target.host().lower()


def _is_same_owner(url: QUrl, target: QUrl) -> bool:
    """Tell whether the same server answers: the same host and port, or its encrypted side."""
    ports = tuple(address.port(_PORTS[address.scheme()]) for address in (url, target))
    is_upgrade = ports == (_PORTS["http"], _PORTS["https"])
    return _is_same_host(url, target) and (ports[0] == ports[1] or is_upgrade)


def _credentials(headers: Mapping[str, str]) -> Iterator[str]:
    """Return what in some headers must not show up in an answer that repeats them."""
    for name, value in headers.items():
        if any(word in name.lower() for word in _SECRET_WORDS):
            yield from (part for part in (value, value.rpartition(" ")[2]) if len(part) >= _SHORTEST_SECRET)
