"""Write YAML that people can edit and diff (docs/adr/0019 says why not with PyYAML)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from halo_scheduler.grammar.text import hidden_characters, is_shown_whole

_INDENT = "  "
_LONGEST_LIST = 90
# The lists whose items stand apart.
_APART = {"jobs:"}
# Texts that need no quotes anywhere; a little less than YAML would allow.
_PLAIN = re.compile(r"(?:[\w/.~$+(^]|-(?=[\w-]))(?:[\w /.~$+()^=@;<>&|!*'\"-]|:(?! |$)|(?<! )#)*(?<! )")
_PLAIN_IN_LIST = re.compile(r"(?:[\w/.~$+(^]|-(?=[\w-]))(?:[\w/.~$+()^=@;<>&|!*'\"-]|:(?=\w))*")
# What YAML 1.1 or 1.2 would read as something else than a text.
_AMBIGUOUS = re.compile(
    r"~|null|y|n|yes|no|on|off|true|false"
    r"|[-+]?[0-9][0-9_,:]*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)?|[-+]?\.[0-9][0-9_]*(?:e[-+]?[0-9]+)?"
    r"|[-+]?0[box][0-9a-f_]+|[-+]?\.(?:inf|nan)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|-{1,3}|\.{3}|=",
    re.IGNORECASE,
)
# The key of a chain: YAML 1.1 takes it for a boolean, but it is ours and read by us.
_OWN_KEYS = {"on"}


def write_yaml(data: Mapping[str, object], header: Sequence[str] = ()) -> str:
    """Return plain data as YAML, in the order in which it comes; the header's lines become comments."""
    comments = [f"# {line}".rstrip() for line in header]
    return "\n".join([*comments, *_mapping(data, ""), ""])


def _mapping(data: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, value in data.items():
        yield from _entry(f"{indent}{_key(key)}:", value, indent)


def _entry(head: str, value: object, indent: str) -> Iterator[str]:
    """Write a value behind its key."""
    if isinstance(value, Mapping) and value:
        yield head
        yield from _mapping(value, indent + _INDENT)
    elif isinstance(value, list) and value:
        yield from _list(head, value, indent)
    elif isinstance(value, str) and _is_block(value):
        yield from _block(head, value, indent + _INDENT)
    else:
        yield f"{head} {_scalar(value)}"


def _list(head: str, items: list[object], indent: str) -> Iterator[str]:
    line = f"{head} [{', '.join(_scalar(item, _PLAIN_IN_LIST) for item in items)}]"
    if len(line) <= _LONGEST_LIST and not any(isinstance(item, dict | list) for item in items):
        yield line
        return
    yield head
    for index, item in enumerate(items):
        if isinstance(item, Mapping) and item:
            if index and head in _APART:
                yield ""
            yield from _first_dashed(_mapping(item, indent + _INDENT * 2), indent + _INDENT)
        else:
            yield from _entry(f"{indent}{_INDENT}-", item, indent + _INDENT)


def _first_dashed(lines: Iterator[str], indent: str) -> Iterator[str]:
    first = next(lines)
    yield f"{indent}- {first[len(indent) + 2 :]}"
    yield from lines


def _block(head: str, text: str, indent: str) -> Iterator[str]:
    """Write a text of several lines as it is; the sign says what becomes of the line ends after it."""
    body = text.rstrip("\n")
    line_ends = len(text) - len(body)
    yield f"{head} |{'-' if line_ends == 0 else '' if line_ends == 1 else '+'}"
    for line in body.split("\n"):
        yield f"{indent}{line}" if line else ""
    yield from [""] * (line_ends - 1)


def _is_block(text: str) -> bool:
    """Tell whether a text has several lines, and nothing that would make them another text."""
    lines = text.rstrip("\n").split("\n")
    if "\n" not in text or not is_shown_whole(text):
        return False
    return lines[0][:1] not in {"", " ", "\t"} and lines[-1].strip() != ""


def _key(key: str) -> str:
    return key if key in _OWN_KEYS else _text(key, _PLAIN_IN_LIST)


def _scalar(value: object, plain: re.Pattern[str] = _PLAIN) -> str:
    match value:
        case str():
            return _text(value, plain)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case _:
            return "{}" if isinstance(value, Mapping) else "[]"


def _text(text: str, plain: re.Pattern[str]) -> str:
    if plain.fullmatch(text) and not _AMBIGUOUS.fullmatch(text) and is_shown_whole(text):
        return text
    is_visible = is_shown_whole(text) and "\t" not in text and "\n" not in text
    if is_visible and ('"' in text or "\\" in text):
        return "'" + text.replace("'", "''") + "'"
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if is_shown_whole(quoted) else "".join(map(_escaped, quoted))


def _escaped(sign: str) -> str:
    """Return a character so that it can be seen; unlike JSON, YAML has no escapes for halves of one."""
    if (sign.isascii() and sign.isprintable()) or not hidden_characters(sign):
        return sign
    return f"\\u{ord(sign):04x}" if sign <= "\uffff" else f"\\U{ord(sign):08x}"
