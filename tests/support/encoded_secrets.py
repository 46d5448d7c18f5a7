"""One secret in the encodings that programs print by themselves."""

from __future__ import annotations

import base64
import html
import json
import shlex
from urllib.parse import quote, quote_plus, urlencode

HARD_SECRET = "p@ss w0rd/4&\"gr\u00fc\u00df'e<x>\\y~1"  # noqa: S105 - of these tests only
"""A secret that every encoding changes."""


def encoded(secret: str) -> dict[str, bytes]:
    """Return a secret in many forms, by their names."""
    data = secret.encode()
    as_json = json.dumps(secret)[1:-1]
    as_go = json.dumps(secret, ensure_ascii=False)[1:-1]
    for sign in "<>&":
        as_go = as_go.replace(sign, f"\\u{ord(sign):04x}")
    texts = {
        "plain": secret,
        "JSON": json.dumps(secret, ensure_ascii=False)[1:-1],
        "ASCII JSON": as_json,
        "JSON in capitals": as_json.replace("\\u00fc\\u00df", "\\u00FC\\u00DF"),
        "Go's JSON": as_go,
        "PHP's JSON": as_json.replace("/", "\\/"),
        "JSON in JSON": json.dumps(json.dumps(secret, ensure_ascii=False), ensure_ascii=False)[3:-3],
        "ASCII JSON in JSON": json.dumps(as_json)[1:-1],
        "URL path": quote(secret),
        "URL query": quote(secret, safe=""),
        "URL as browsers write it": quote(secret, safe="!'()*~"),
        "lower-case percent": _lower_percent(quote(secret, safe="")),
        "form": quote_plus(secret),
        "form field": urlencode({"": secret})[1:],
        "lower-case form": _lower_percent(quote_plus(secret)),
        "latin-1 percent": quote(secret, safe="", encoding="latin-1"),
        "HTML": html.escape(secret),
        "HTML without quotes": html.escape(secret, quote=False),
        "HTML in decimal": "".join(f"&#{ord(sign)};" if not sign.isalnum() else sign for sign in secret),
        "HTML in ASCII": html.escape(secret).encode("ascii", "xmlcharrefreplace").decode(),
        "HTML all in decimal": "".join(f"&#{ord(sign)};" for sign in secret),
        "HTML all in hexadecimal": "".join(f"&#x{ord(sign):x};" for sign in secret),
        "percent twice": quote(quote(secret, safe=""), safe=""),
        "lower-case percent twice": _lower_percent(quote(_lower_percent(quote(secret, safe="")), safe="")),
        "form twice": quote_plus(quote_plus(secret)),
        "Base64 in a URL": quote(base64.b64encode(data), safe=""),
        "shell quotes": shlex.quote(secret),
        "shell escapes": "'" + secret.replace("'", "'\\''") + "'",
        "repr": repr(secret),
        "ASCII repr": ascii(secret),
        "repr of bytes": repr(data),
        "hex": data.hex(),
        "HEX": data.hex().upper(),
        "Base64": base64.b64encode(data).decode(),
        "URL-safe Base64": base64.urlsafe_b64encode(data).decode(),
        **{
            f"Basic {user}": base64.b64encode(f"{user}:{secret}".encode()).decode()
            for user in ("u", "us", "use")
        },
        "Basic with more": base64.b64encode(f"user12:{secret}:more".encode()).decode(),
    }
    coloured = secret[:4] + "\x1b[31m" + secret[4:9] + "\x1b[0m" + secret[9:]
    return {
        **{name: text.encode() for name, text in texts.items()},
        "latin-1": secret.encode("latin-1"),
        "UTF-16": secret.encode("utf-16-le"),
        "coloured": coloured.encode(),
        "coloured by grep": f"\x1b[01;31m\x1b[K{secret[:6]}\x1b[m\x1b[K{secret[6:]}".encode(),
    }


def _lower_percent(text: str) -> str:
    first, *parts = text.split("%")
    return first + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts)
