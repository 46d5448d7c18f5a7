"""Signs for terminals that cannot show ours."""

from __future__ import annotations

import codecs

PLAIN_SIGNS = "halo-plain-signs"
"""How streams write what their encoding does not have; the first use of this module makes it known to Python."""
# Each takes one column, as what it stands for: tables stay aligned.
_SIGNS = str.maketrans("●■▲◌⏸▸◆…–·→", "*x!-=>?.-->")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_SIGNS)
    return "".join(sign if sign.isascii() else "?" for sign in text), error.end


codecs.register_error(PLAIN_SIGNS, _replaced)
