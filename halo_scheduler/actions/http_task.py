"""A request with its redirects, on the thread that sends it; loaded with the first HTTP job."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from urllib.parse import quote

from halo_scheduler.actions.http_record import Record, UnwritableError, credentials, default_headers, without
from halo_scheduler.actions.run_services import Ended
from halo_scheduler.actions.spool import Spool
from halo_scheduler.grammar.redaction import Redactor
from halo_scheduler.grammar.templates import filled_request, referenced_names
from halo_scheduler.grammar.text import plain_line, printed_line
from halo_scheduler.model import BodyKind, HttpRequest, Outcome, Redirects
from halo_scheduler.model.messages import Message, MessageKind, message
from halo_scheduler.web.addresses import Address, AddressError, Proxies
from halo_scheduler.web.client import Request, Response, send
from halo_scheduler.web.faults import WebError
from halo_scheduler.web.pool import ConnectionPool
from halo_scheduler.web.transport import RequestCancelledError, Transport
from halo_scheduler.wording.messages import MessageError

_MOST_REDIRECTS = 10
_SEE_OTHER = 303
_MOVED = frozenset({301, 302, _SEE_OTHER})
_REDIRECTS = _MOVED | {307, 308}
# Headers that may be sent to a host the user did not name.
_HARMLESS_HEADERS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
# Headers that only we may set: a wrong length would make the server misread where the body ends.
_FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding"})
_NO_VALUES: Mapping[str, str] = {}
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class _FailedError(MessageError):
    """The request has failed for good."""


class HttpTask:
    """Sends one request and follows redirects; `cancel` ends it from any thread."""

    def __init__(
        self,
        run_id: str,
        request: HttpRequest,
        spool: Spool,
        *,
        reads_lines: bool,
        makes_file: bool = True,
        pool: ConnectionPool | None = None,
        values: Mapping[str, str] = _NO_VALUES,
    ) -> None:
        """`values` are those of the variables in the request."""
        self._run_id = run_id
        self._request = request
        self._spool = spool
        self._reads_lines = reads_lines
        self._makes_file = makes_file
        self._pool = pool
        self._values = values
        self._transport = Transport()
        self._status: int | None = None
        self._is_whole = False

    def cancel(self) -> None:
        """Close the connection at once; `run` then returns what it has."""
        self._transport.cancel()

    def run(self, secrets: Mapping[str, str], environment: Mapping[str, str]) -> Ended:
        """Run the request; on return the connection is closed and everything received is written."""
        proxies = Proxies(environment)
        with self._transport:
            try:
                request = self._build_request(secrets)
            except _FailedError as failure:
                return self._failed(failure.message)
            redactor = Redactor([*secrets.values(), *credentials(request.headers), *proxies.secrets])
            record = Record(self._spool.create, redactor, reads_lines=self._reads_lines)
            try:
                with closing(record):
                    if self._makes_file:
                        record.make_file()
                    self._transport.on_wait = record.save
                    ended = self._go(request, proxies, record)
            except UnwritableError as error:
                ended = self._failed(message(MessageKind.OUTPUT_NOT_WRITTEN, error=str(error)))
        why = ended.message
        return ended if why is None else ended._replace(message=why.changing_text(redactor.text))

    def _go(self, request: Request, proxies: Proxies, record: Record) -> Ended:
        outcome, why = Outcome.FAILURE, None
        try:
            self._follow_all(request, proxies, record)
            outcome = Outcome.SUCCESS
        except (_FailedError, WebError) as failure:
            why = failure.message
        except RequestCancelledError:
            why = message(MessageKind.REQUEST_STOPPED)
            # The engine may be stopping, and the next one reads what was received.
            record.make_file()
        record.flush()
        if record.has_file:
            record.save()
        said = record.said(is_whole=self._is_whole)
        return Ended(
            run_id=self._run_id,
            outcome=outcome,
            message=why,
            notes=() if said.fault is None else (said.fault,),
            http_status=self._status,
            cost=said.cost,
            question=said.question,
            proposal=said.proposal,
            output=record.output(),
            has_files=record.has_file,
        )

    def _failed(self, why: Message) -> Ended:
        return Ended(run_id=self._run_id, outcome=Outcome.FAILURE, message=why)

    # --- Sending -------------------------------------------------------------------------------------

    def _build_request(self, secrets: Mapping[str, str]) -> Request:
        spec = self._request
        is_json = spec.body_kind is BodyKind.JSON
        escape = (lambda value: json.dumps(value)[1:-1]) if is_json else str
        headers = default_headers(spec)
        for name, value in spec.headers.items():
            if name.lower() in _FRAMING_HEADERS:
                continue
            headers = without(headers, name) | {name: filled_request(value, secrets, self._values)}
            if _CONTROL.search(headers[name]):
                # Only a secret or a value of this run can contain them.
                raise _FailedError(message(MessageKind.BAD_HEADER_SECRET, name=name))
        try:
            address = Address.read(filled_request(spec.url, {}, self._values, partial(quote, safe="")))
        except AddressError:
            raise _FailedError(message(MessageKind.NO_WEB_ADDRESS, url=plain_line(spec.url))) from None
        body = filled_request(spec.body, secrets, self._values, escape).encode()
        return Request(method=spec.method, address=address, headers=headers, body=body)

    def _follow_all(self, request: Request, proxies: Proxies, record: Record) -> None:
        """Send the request and follow redirects until the final response."""
        for redirects in range(_MOST_REDIRECTS + 1):
            response = self._send(request, proxies, record)
            target = self._judge(request, response, redirects)
            if target is None:
                return
            request = self._redirected(request, target, response.status)
            record.note_redirect(str(target))

    def _send(self, request: Request, proxies: Proxies, record: Record) -> Response:
        self._status, self._is_whole = None, False
        response = send(self._transport, request, proxies, self._pool)
        self._status = response.status
        record.begin(response)
        for piece in response.pieces():
            record.take(piece)
        record.flush()
        self._is_whole = True
        return response

    # --- Judging -------------------------------------------------------------------------------------

    def _judge(self, request: Request, response: Response, redirects: int) -> Address | None:
        """Return the redirect target of a response; None if it is the final one."""
        expected = self._request.expected_statuses
        status, place = response.status, request.address.place
        if status in expected if expected else 200 <= status < 300:  # noqa: PLR2004 - any 2xx
            return None
        location = response.header("location") if status in _REDIRECTS else ""
        if location:
            return self._allowed_target(request.address, location, redirects)
        phrase = response.phrase.decode(errors="replace")
        answer = printed_line(f"{status} {phrase}".rstrip())
        raise _FailedError(
            message(MessageKind.UNEXPECTED_STATUS, place=place, answer=answer, expected=sorted(expected))
        )

    def _allowed_target(self, address: Address, location: str, redirects: int) -> Address:
        """Return the target of a redirect, if it may be followed."""
        try:
            target = address.joined(location)
        except AddressError:
            raise _FailedError(message(MessageKind.REDIRECT_ELSEWHERE, place=address.place)) from None
        policy = self._request.redirects
        places = {"place": address.place, "target": target.place}
        if policy is Redirects.NONE or (policy is Redirects.SAME_HOST and not address.is_same_host(target)):
            raise _FailedError(message(MessageKind.REDIRECT_NOT_FOLLOWED, **places))
        if address.scheme == "https" and target.scheme == "http":
            raise _FailedError(message(MessageKind.REDIRECT_NOT_ENCRYPTED, **places))
        if redirects >= _MOST_REDIRECTS:
            raise _FailedError(message(MessageKind.TOO_MANY_REDIRECTS, **places, most=_MOST_REDIRECTS))
        return target

    def _redirected(self, request: Request, target: Address, status: int) -> Request:
        """Return the request for a redirect target; another host gets neither credentials nor a body."""
        method, headers, body = request.method, request.headers, request.body
        if status == _SEE_OTHER or (status in _MOVED and method.upper() == "POST"):
            method = "HEAD" if method.upper() == "HEAD" else "GET"
            headers, body = without(headers, "Content-Type"), b""
        if not request.address.is_same_owner(target):
            if body:
                places = {"place": request.address.place, "target": target.place}
                raise _FailedError(message(MessageKind.REDIRECT_WITH_BODY, **places))
            headers = {name: value for name, value in headers.items() if self._may_anybody_get(name)}
        return Request(method=method, address=target, headers=headers, body=body)

    def _may_anybody_get(self, name: str) -> bool:
        has_secret = bool(referenced_names([self._request.headers.get(name, "")]))
        return name.lower() in _HARMLESS_HEADERS and not has_secret
