"""Errors between us and a web server, as sentences that say where and what."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, IncompleteRead, RemoteDisconnected

from urllib3 import exceptions as library

from halo_scheduler.grammar.text import plain_line
from halo_scheduler.model.messages import MessageKind, message
from halo_scheduler.web.transport import DeadlineError
from halo_scheduler.wording.messages import MessageError

LOST = (ConnectionAbortedError, ConnectionResetError, BrokenPipeError)
_TUNNEL = "Tunnel connection failed: "


class WebError(MessageError):
    """There is no complete response."""


class CutOffError(WebError):
    """The connection ended before the response did; whether the request took effect is unknown."""


@contextmanager
def connecting(host: str, place: str) -> Iterator[None]:
    """Translate errors while connecting into sentences."""
    try:
        yield
    except (socket.gaierror, UnicodeError):
        raise WebError(message(MessageKind.NAME_NOT_FOUND, host=host)) from None
    except ConnectionRefusedError:
        raise WebError(message(MessageKind.CONNECTION_REFUSED, place=place)) from None
    except OSError as error:
        raise _unreachable(place, error) from None
    except DeadlineError as error:
        raise _late(place, error) from None


@contextmanager
def exchanging(place: str, *, has_head: bool) -> Iterator[None]:
    """Translate errors while exchanging into sentences; they quote what the server sent, not what we sent."""
    try:
        yield
    except DeadlineError as error:
        raise _late(place, error) from None
    except library.HTTPError as error:
        raise _broken(error, place) from None
    except (OSError, HTTPException) as error:
        raise _failed(error, place, has_head=has_head) from None


def _late(place: str, error: DeadlineError) -> WebError:
    return WebError(message(MessageKind.NO_ANSWER_IN_TIME, place=place, seconds=error.args[0]))


def _broken(error: library.HTTPError, place: str) -> WebError:
    """Return the meaning of the library's own errors, most of which wrap another."""
    match error:
        case library.HeaderParsingError():
            return _no_http(place, "header")
        case library.InvalidHeader():
            return _no_http(place, "lengths")
        case library.DecodeError():
            return WebError(message(MessageKind.BODY_NOT_DECOMPRESSED, place=place))
        case library.SSLError() if isinstance(error.args[0], ssl.SSLError):
            return _failed(error.args[0], place, has_head=True)
        case library.ProtocolError() if isinstance(error.args[-1], OSError | HTTPException):
            return _failed(error.args[-1], place, has_head=True)
        case _:
            return WebError(message(MessageKind.REQUEST_TO_FAILED, place=place, error=type(error).__name__))


def _failed(error: OSError | HTTPException, place: str, *, has_head: bool) -> WebError:
    if isinstance(error, RemoteDisconnected) or (isinstance(error, LOST) and not has_head):
        return CutOffError(message(MessageKind.CLOSED_BEFORE_ANSWER, place=place))
    match error:
        case IncompleteRead() | ConnectionError():
            return CutOffError(message(MessageKind.CLOSED_IN_ANSWER, place=place))
        case ssl.SSLError():
            return WebError(message(MessageKind.NO_TLS, place=place, **_tls_reason(error)))
        case OSError() if str(error).startswith(_TUNNEL):
            return WebError(
                message(MessageKind.PROXY_REFUSED, place=place, error=_said(error).removeprefix(_TUNNEL))
            )
        case OSError():
            return _unreachable(place, error)
        case _:
            return _no_http(place, "", _said(error) or type(error).__name__)


def _said(error: Exception) -> str:
    """Return the text of an error; the library decodes a server's bytes as Latin-1."""
    return plain_line(str(error).encode("latin-1", errors="replace").decode(errors="replace"))


def _unreachable(place: str, error: OSError) -> WebError:
    said = error.strerror or type(error).__name__
    return WebError(message(MessageKind.NOT_REACHED, place=place, error=said))


def _no_http(place: str, what: str, error: str = "") -> WebError:
    """Return the message for a response that is not HTTP; `what` is the invalid part, or the library's message."""
    return WebError(message(MessageKind.NOT_HTTP, place=place, what=what, error=error))


def _tls_reason(error: ssl.SSLError) -> dict[str, str | bool]:
    if isinstance(error, ssl.SSLCertVerificationError):
        return {"is_untrusted": True, "error": error.verify_message}
    return {"is_untrusted": False, "error": (error.reason or "").replace("_", " ").lower()}
