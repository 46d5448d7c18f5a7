"""What can go wrong between us and a web server, in sentences that say where and what."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, IncompleteRead, RemoteDisconnected

from urllib3 import exceptions as library

from halo_scheduler.errors import SchedulerError
from halo_scheduler.grammar.text import plain_line
from halo_scheduler.web.transport import DeadlineError

LOST = (ConnectionAbortedError, ConnectionResetError, BrokenPipeError)
_TUNNEL = "Tunnel connection failed: "
_NO_HTTP = "does not answer as a web server does"


class WebError(SchedulerError):
    """There is no whole answer."""


class CutOffError(WebError):
    """The connection ended before the answer did: whether the request took effect is not known."""


@contextmanager
def connecting(host: str, place: str) -> Iterator[None]:
    """Put into words why no connection is made."""
    try:
        yield
    except (socket.gaierror, UnicodeError):
        raise WebError(f"the name {host!r} was not found") from None
    except ConnectionRefusedError:
        raise WebError(f"{place} refused the connection") from None
    except OSError as error:
        raise WebError(f"{place} cannot be reached: {error.strerror or type(error).__name__}") from None
    except DeadlineError as error:
        raise _late(place, error) from None


@contextmanager
def exchanging(place: str, *, has_head: bool) -> Iterator[None]:
    """Put into words why an answer does not come, or breaks off; what the server said is quoted, not what we did."""
    try:
        yield
    except DeadlineError as error:
        raise _late(place, error) from None
    except library.HTTPError as error:
        raise _broken(error, place) from None
    except (OSError, HTTPException) as error:
        raise _failed(error, place, has_head=has_head) from None


def _late(place: str, error: DeadlineError) -> WebError:
    return WebError(f"{place} did not answer within {error.args[0]:g} s")


def _broken(error: library.HTTPError, place: str) -> WebError:
    """Return what the library's own errors mean; most of them carry another."""
    match error:
        case library.HeaderParsingError():
            return WebError(f"{place} {_NO_HTTP}: a header of its answer cannot be read")
        case library.InvalidHeader():
            return WebError(f"{place} {_NO_HTTP}: it tells of two different lengths")
        case library.DecodeError():
            return WebError(f"{place} sent a body that cannot be decompressed")
        case library.SSLError() if isinstance(error.args[0], ssl.SSLError):
            return _failed(error.args[0], place, has_head=True)
        case library.ProtocolError() if isinstance(error.args[-1], OSError | HTTPException):
            return _failed(error.args[-1], place, has_head=True)
        case _:
            return WebError(f"the request to {place} failed: {type(error).__name__}")


def _failed(error: OSError | HTTPException, place: str, *, has_head: bool) -> WebError:
    if isinstance(error, RemoteDisconnected) or (isinstance(error, LOST) and not has_head):
        return CutOffError(f"{place} closed the connection before it had answered")
    match error:
        case IncompleteRead() | ConnectionError():
            return CutOffError(f"{place} closed the connection in the middle of its answer")
        case ssl.SSLError():
            return WebError(f"no safe connection (TLS) to {place}: {_tls_reason(error)}")
        case OSError() if str(error).startswith(_TUNNEL):
            return WebError(f"the proxy does not lead to {place}: {_said(error).removeprefix(_TUNNEL)}")
        case OSError():
            return WebError(f"{place} cannot be reached: {error.strerror or type(error).__name__}")
        case _:
            return WebError(f"{place} {_NO_HTTP}: {_said(error) or type(error).__name__}")


def _said(error: Exception) -> str:
    """Return the words of an error; the library reads the bytes of a server one by one as signs."""
    return plain_line(str(error).encode("latin-1", errors="replace").decode(errors="replace"))


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted ({error.verify_message})"
    return (error.reason or "it was refused").replace("_", " ").lower()
