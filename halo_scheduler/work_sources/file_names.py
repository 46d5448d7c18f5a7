"""The names of files that are items: which are, in what order, and how they are shown."""

from __future__ import annotations

import os
import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

_UNFINISHED = (".part", ".tmp", "~")
_DIGITS = re.compile(r"([0-9]+)")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


def is_item_name(name: str) -> bool:
    """Tell whether a name is a single one, and neither hidden nor that of a file which is still being written."""
    if not name or name.startswith(".") or name.lower().endswith(_UNFINISHED):
        return False
    return not any(sign and sign in name for sign in ("\0", "/", os.sep, os.altsep))


def order_of(name: str) -> tuple[list[str | int], str]:
    """Return what names are sorted by: numbers in them count as such."""
    parts: list[str | int] = [*_DIGITS.split(name.casefold())]
    parts[1::2] = [int(part) for part in parts[1::2]]
    return parts, name


def id_of(name: str) -> str:
    """Return a name as plain text on one line; what is not printed is shown as its bytes, like %0A."""
    return "".join(
        sign if sign.isprintable() and not _ESCAPE.match(name, at) else _escaped(sign)
        for at, sign in enumerate(name)
    )


def name_of(shown_id: str) -> str:
    """Return the name that an id stands for; empty when it is none of ours."""
    try:
        name = os.fsdecode(unquote_to_bytes(shown_id))
    except ValueError:
        return ""
    return name if id_of(name) == shown_id and is_item_name(name) else ""


def _escaped(sign: str) -> str:
    return quote_from_bytes(os.fsencode(sign), safe="")
