"""Words for faults of the store; and, to follow a colon, for faults of web servers, work queues and secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from halo_scheduler.grammar.english import clock_time
from halo_scheduler.grammar.zone import local_time
from halo_scheduler.model.alarms import StoreTrouble, TroubleKind
from halo_scheduler.model.messages import MessageKind
from halo_scheduler.wording.measures import moment_in_words

Params = Mapping[str, Any]
Words = dict[MessageKind, str | Callable[[Params], str]]
"""A template for each kind of message, or a function of its parameters."""

_IN_FILE = "to keep it in a file that only you can read, use: halo secret set --in-file {name}"
_TITLES = {
    TroubleKind.FULL: "Disk full: runs can't be recorded",
    TroubleKind.ALMOST_FULL: "Disk almost full: jobs may fail",
    TroubleKind.READ_ONLY: "Database is read-only: runs can't be recorded",
    TroubleKind.LOCKED: "Database is locked: runs can't be recorded",
    TroubleKind.GONE: "Database was deleted or replaced",
    TroubleKind.UNUSABLE: "Database can't be used",
}
_FREE_SPACE = "Free some space on the disk of {path}"
_ADVICE = {
    TroubleKind.FULL: _FREE_SPACE,
    TroubleKind.ALMOST_FULL: _FREE_SPACE,
    TroubleKind.READ_ONLY: "Make {path} and its disk writable",
    TroubleKind.LOCKED: "Close the other program that uses {path}",
    TroubleKind.GONE: "Put {path} back, or restart Halo to use the current file",
}


def _no_tls(params: Params) -> str:
    error = params["error"]
    why = (
        f"its certificate cannot be trusted ({error})"
        if params["is_untrusted"]
        else error or "it was refused"
    )
    return f"no secure (TLS) connection to {params['place']}: {why}"


def _not_http(params: Params) -> str:
    why = {"header": "a header cannot be read", "lengths": "it states two different lengths"}
    return f"{params['place']} sent an invalid HTTP response: {why.get(params['what'], params['error'])}"


def _unexpected_status(params: Params) -> str:
    expected = " or ".join(map(str, params["expected"])) or "2xx"
    return f"{params['place']} answered {params['answer']}; expected {expected}"


def _rate_limit(params: Params) -> str:
    nearly = "nearly " if params["has_some_left"] else ""
    return f"GitHub's rate limit is {nearly}used up until {clock_time(local_time(params['until']))}"


def _token(params: Params) -> str:
    if not params["name"]:
        return f"GitHub requires a token{_said(params)}; name the secret that holds one in the job"
    return f"the token was refused{_said(params)}; set a new one with: halo secret set {params['name']}"


def _no_repository(params: Params) -> str:
    may_not = "or the token has no access to it" if params["has_token"] else "or it requires a token"
    return f"there is no repository {params['repository']} with issues at {params['place']}, {may_not}"


def _said(params: Params) -> str:
    """Return GitHub's own words in brackets."""
    return f" ({params['said']})" if params["said"] else ""


FAULTS: Words = {
    MessageKind.NO_WEB_ADDRESS: "{url} is not a valid URL",
    MessageKind.BAD_HEADER_SECRET: "a value in the header {name} has more than one line or control characters",
    MessageKind.BAD_PROXY: "the variable {name} is not a proxy address; use one like http://proxy:3128",
    MessageKind.UNKNOWN_PROXY: (
        "the variable {name} names a {scheme} proxy; use one that begins with http://"
    ),
    MessageKind.PROXY_REFUSED: "the proxy cannot reach {place}: {error}",
    MessageKind.NAME_NOT_FOUND: "the name {host!r} was not found",
    MessageKind.CONNECTION_REFUSED: "{place} refused the connection",
    MessageKind.NOT_REACHED: "{place} cannot be reached: {error}",
    MessageKind.NO_TLS: _no_tls,
    MessageKind.NO_ANSWER_IN_TIME: "{place} did not answer within {seconds:g} s",
    MessageKind.NOT_HTTP: _not_http,
    MessageKind.CLOSED_BEFORE_ANSWER: "{place} closed the connection without a response",
    MessageKind.CLOSED_IN_ANSWER: "{place} closed the connection in the middle of its response",
    MessageKind.BODY_NOT_DECOMPRESSED: "{place} sent a body that cannot be decompressed",
    MessageKind.UNEXPECTED_STATUS: _unexpected_status,
    MessageKind.REDIRECT_ELSEWHERE: "{place} redirects to something that is neither http nor https",
    MessageKind.REDIRECT_NOT_FOLLOWED: "{place} redirects to {target}, which the job does not follow",
    MessageKind.REDIRECT_NOT_ENCRYPTED: "{place} redirects to {target}, which is not encrypted",
    MessageKind.REDIRECT_WITH_BODY: "{place} redirects to {target}, which must not get the body",
    MessageKind.TOO_MANY_REDIRECTS: "{place} redirects to {target}: more than {most} redirects in a row",
    MessageKind.REQUEST_STOPPED: "it was stopped",
    MessageKind.REQUEST_FAILED: "the request failed: {error}",
    MessageKind.REQUEST_TO_FAILED: "the request to {place} failed: {error}",
    MessageKind.OUTPUT_NOT_WRITTEN: "its output cannot be written: {error}",
    MessageKind.BAD_BASE_URL: "{url} is not a valid URL; check the base URL",
    MessageKind.RESPONSE_TOO_LARGE: "{place} answered with more than {megabytes} MB",
    MessageKind.NO_WORK_SOURCES: "this program can't fetch work items",
    MessageKind.ITEM_NOT_READY: "the item {item} cannot be taken: it is no longer ready",
    MessageKind.CLAIM_NOT_WRITTEN: "the run's claim cannot be recorded in {folder}: {error}",
    MessageKind.NO_QUEUE_FOLDER: "the folder {folder} does not exist",
    MessageKind.NO_HOME: "the folder {folder} is in a home folder that is not known",
    MessageKind.QUEUE_UNUSABLE: "the folder {folder} cannot be used: {error}",
    MessageKind.QUEUE_NOT_A_FOLDER: "{folder} is not a folder",
    MessageKind.SUBFOLDER_NOT_MADE: "the folder {name}/ cannot be created in {folder}: {error}",
    MessageKind.ITEMS_NOT_LISTED: "the files in {folder} cannot be listed: {error}",
    MessageKind.ITEM_NOT_READ: "{item} cannot be read: {error}",
    MessageKind.ITEM_NOT_MOVED: "{item} cannot be moved to {folder}/: {error}",
    MessageKind.ITEM_NOT_A_FILE: "{item} is no longer a file",
    MessageKind.ITEM_SET_ASIDE: "{error}; it is now in {folder}/",
    MessageKind.SEVERAL_DISKS: "ready/, in-progress/, done/ and failed/ must be on one disk",
    MessageKind.RATE_LIMIT: _rate_limit,
    MessageKind.NOT_GITHUB: "{place} did not respond like GitHub; is {base} the URL of its API?",
    MessageKind.NO_ISSUES: "{base} did not return issues; is it GitHub's API?",
    MessageKind.ISSUES_ELSEWHERE: "{base} links to more issues on another host, which is not followed",
    MessageKind.GITHUB_MOVED: (
        "{place} redirects to {target}; if that is right, change the repository or the base URL"
    ),
    MessageKind.GITHUB_TOKEN: _token,
    MessageKind.GITHUB_FORBIDDEN: lambda params: (
        f"GitHub does not allow it{_said(params)}; the token must be allowed to read and write issues"
    ),
    MessageKind.GITHUB_NOT_FOUND: lambda params: (
        f"GitHub can't find the issue to change{_said(params)}; can the token write issues?"
    ),
    MessageKind.GITHUB_NO_REPOSITORY: _no_repository,
    MessageKind.GITHUB_FAULT: lambda params: (
        f"GitHub has an internal error: status {params['status']}{_said(params)}"
    ),
    MessageKind.GITHUB_REFUSED: lambda params: (
        f"GitHub rejected the request: status {params['status']}{_said(params)}"
    ),
    MessageKind.SECRET_NOT_SET: "the secret {name} is not set; set it with: halo secret set {name}",
    MessageKind.SECRET_CHANGED: "the secret {name} was changed during the run",
    MessageKind.SECRET_GONE: "the secret {name} no longer exists; set it again with: halo secret set {name}",
    MessageKind.SECRET_UNKNOWN: "there is no secret named {name!r}",
    MessageKind.SECRET_NOT_WRITTEN: "the secret cannot be written to {path}: {error}",
    MessageKind.SECRETS_EXPOSED: "other users can read the secrets; fix it with: chmod 600 {path}",
    MessageKind.SECRETS_NOT_READ: "the secrets in {path} cannot be read: {error}",
    MessageKind.NO_KEYRING: f"there is no keyring here; {_IN_FILE}",
    MessageKind.KEYRING_NOT_READ: "the keyring did not return the secret {name}: {error}",
    MessageKind.KEYRING_NOT_WRITTEN: f"the keyring refused it ({{error}}); {_IN_FILE}",
    MessageKind.KEYRING_NOT_CLEARED: "the keyring may still have the secret {name}: {error}",
    MessageKind.NOT_A_TOKEN: "the secret {name} is not a token: it contains blanks or invalid characters",
    MessageKind.TOKEN_NOT_READ: "the token cannot be read: {error}",
    MessageKind.OUTPUT_NOT_SHOWN: "its output cannot be shown before it ends: {error}",
}


def trouble_title(trouble: StoreTrouble) -> str:
    """Return the title of a fault: "Disk full: runs can't be recorded"."""
    return _TITLES[trouble.kind]


def trouble_text(trouble: StoreTrouble, path: Path, now_ms: int) -> str:
    """Return since when no jobs have started, or there has been no space, and the fix."""
    advice = _ADVICE.get(trouble.kind, trouble.detail).format(path=path)
    advice = f"{advice[:1].upper()}{advice[1:]}"
    if trouble.kind is TroubleKind.ALMOST_FULL:
        return (
            f"There has been almost no free space since {moment_in_words(trouble.since, now_ms)}. {advice}."
        )
    since = f"No jobs have started since {moment_in_words(trouble.since, now_ms)}."
    if trouble.kind is TroubleKind.GONE:
        return f"{since} {advice}."
    return f"{since} {advice}; Halo then continues."
