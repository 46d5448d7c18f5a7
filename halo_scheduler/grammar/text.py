"""Display of untrusted text: specifications escaped, output as a terminal would show it.

A reviewer must see every character of a specification, so control and invisible characters are escaped. The output of a
job was meant for a terminal: colours and cursor movements are removed, a progress bar that was redrawn shows its last
state, and invalid bytes show as a replacement character.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator

LINE_END = " ↵ "
"""Where a line ends in a text that is shown on one line; `\\n` would look like the two characters of a `printf`."""
PROGRESS = b"::progress"
_PROGRESS_LINE = re.compile(
    rb"::progress[ \t]+([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[ \t]+([^\r\n]*))?\r?", re.ASCII
)
_LONGEST_PROGRESS_TEXT = 200
_LONGEST_PENDING = 65_536
# Control sequences, then titles, links and the like up to their end, then single escapes.
ESCAPES = (
    r"\x1b\[(?P<parameters>[0-?]*)[ -/]*(?:(?P<final>[@-~])|(?=\n|\Z))"
    r"|\x1b[\]PX^_][^\n]*?(?:\x1b\\|\x07|(?=\n|\Z))|\x1b[ -/]*(?:[0-~]|(?=\n|\Z))|\x1b|\x07"
)
"""What a terminal obeys instead of showing it, once C1 controls are escapes; window and redaction use the same."""
_ACTIONS = re.compile(rf"{ESCAPES}|\r|\x08")
_C1 = re.compile("[\x90\x98\x9b-\x9f]")
_FURTHEST_MOVE = 1_000
_MOST_DIGITS = 5
_FURTHEST_COLUMN = 10_239
# Every unprinted character with an effect; U+202A–202E and U+2066–2069 change the writing direction.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

# Control and format characters, line and paragraph separators, surrogates, and everything else that is drawn as
# nothing or as a space: fillers, joiners, variation selectors, tags, noncharacters. Private-use characters look
# different on every system.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufdd0-\ufdef"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001345f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U00016fe4\U0001d159"
    "\ue000-\uf8ff\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane | 0xFFFE)}{chr(plane | 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)
# An invisible character that the script needs between two visible ones hides nothing: in coloured or joined emoji, and
# between letters of Arabic and Indic scripts.
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u2300-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINED = "\u0620-\u064a\u0671-\u06d3\u0900-\u0dff"
# Compiled on first use, which is rare.
_NEEDED = (
    f"(?<=[{_EMOJI}])\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])"
)
_EMOJI_TO_COME = range(0x1F000, 0x1FB00)
_BLANKS = re.compile(r"[^\S\n]{2,}|\t")
_LINE_ENDS = re.compile(r"\s*\n\s*")
# Letters of other alphabets that look like Latin ones.
_LATIN = str.maketrans(
    "аеорсухіјѕԁһԛԝАВЕКМНОРСТУХІЈЅοανιρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeopcyxijsdhqwABEKMHOPCTYXIJSoavipABEZHIKMNOPTYX"
)
_MOST_NAMED = 3
_CONTROL_NAMES = {"\x1b": "ESCAPE", "\r": "CARRIAGE RETURN", "\b": "BACKSPACE", "\x7f": "DELETE"}


def _hidden_in(text: str) -> re.Pattern[str]:
    """Return a pattern for the hidden characters of a text: those always hidden, and its unassigned ones."""
    if text.isascii():
        return _HIDDEN
    unassigned = {sign for sign in set(text) if unicodedata.category(sign) == "Cn"}
    # Fonts may show an emoji that this Python does not know yet.
    signs = "".join(sign for sign in unassigned if ord(sign) not in _EMOJI_TO_COME)
    return re.compile(f"{_HIDDEN.pattern}|[{signs}]") if signs else _HIDDEN


def _without_hidden(text: str, replace: Callable[[re.Match[str]], str]) -> str:
    """Replace the hidden characters of a text."""
    # Most texts have none. The pattern takes 0.1 s per million characters; this check takes a few ms.
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    signs = "".join(set(text))
    hidden = _hidden_in(signs)
    return text if hidden.search(signs) is None else hidden.sub(replace, text)


def shown_spec(text: str) -> str:
    r"""Return a multi-line text with every control or invisible character escaped: `\r`, `\u200b`."""
    return _without_hidden(text, _escaped)


def shown_styled(text: str) -> str:
    """Return a text that may contain our own colours; JSON keeps its meaning."""
    return _without_hidden(text, _escaped_but_styles)


def plain_line(text: str, longest: int = _LONGEST_PROGRESS_TEXT) -> str:
    """Return a text on one short line, with every control or invisible character escaped."""
    line = whole_line(text)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def whole_line(text: str) -> str:
    """Return a whole text on one line, with every control or invisible character escaped."""
    return exact_line(_BLANKS.sub(" ", shown_spec(text).strip()))


def exact_line(text: str) -> str:
    """Return a whole text on one line with all its spaces, which may matter, as in a command."""
    return _LINE_ENDS.sub(LINE_END, shown_spec(text).strip())


def is_shown_whole(text: str) -> bool:
    """Return whether a text shown as it is has no hidden characters."""
    return shown_spec(text) == text


def hidden_characters(text: str) -> list[str]:
    """Return the names of the invisible characters of a text: "U+200B ZERO WIDTH SPACE"."""
    return [_named(sign) for sign in dict.fromkeys(_hidden_in(text).findall(text))]


def hidden_words(text: str) -> str:
    """Return the invisible characters of a text, for a sentence; "" if it has none."""
    if text.isascii() and text.isprintable():
        return ""
    names = hidden_characters(text)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def texts_in(data: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts in plain data with the paths of their fields; a key has the path of its object."""
    match data:
        case str():
            yield path, data
        case dict():
            for key, item in data.items():
                yield path, key
                yield from texts_in(item, f"{path}.{key}" if path else key)
        case list():
            for index, item in enumerate(data):
                yield from texts_in(item, f"{path}[{index}]")


def looks_like(text: str) -> str:
    """Return a text reduced to its looks: two texts with the same result can be mistaken for each other."""
    if text.isascii() and text.isprintable():
        return " ".join(text.casefold().split())
    seen = _HIDDEN.sub("", unicodedata.normalize("NFKC", _hidden_in(text).sub("", text)))
    return " ".join(seen.translate(_LATIN).casefold().split())


def json_text(data: object, indent: int | None = None) -> str:
    """Return data as JSON with invisible characters escaped; it keeps its meaning."""
    return _without_hidden(json.dumps(data, ensure_ascii=False, indent=indent), _in_json)


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
    if re.compile(_NEEDED).match(match.string, match.start()):
        return sign
    return sign.encode("unicode_escape").decode() if sign < " " else _in_json(match)


def _escaped_but_styles(match: re.Match[str]) -> str:
    return match[0] if match[0] < " " else _escaped(match)


def _in_json(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _named(sign: str) -> str:
    name = unicodedata.name(sign, "") or _CONTROL_NAMES.get(sign, "")
    return f"U+{ord(sign):04X} {name}".rstrip()


class ShownText:
    """Converts a stream of bytes into plain text, line by line."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pending = ""

    def feed(self, chunk: bytes) -> str:
        """Add some bytes and return the complete lines; an endless line is returned in parts."""
        text = self._pending + self._decoder.decode(chunk)
        whole, newline, self._pending = text.rpartition("\n")
        if len(self._pending) > _LONGEST_PENDING:
            whole, newline, self._pending = text, "", ""
        return _shown_lines(whole) + newline if whole or newline else ""

    def unfinished(self) -> str:
        """Return the unfinished last line as it is now."""
        return _shown_lines(self._pending)

    def end(self) -> str:
        """Return the rest of the last line."""
        rest = self._pending + self._decoder.decode(b"", final=True)
        self._pending = ""
        return _shown_lines(rest)


def shown_text(content: bytes) -> str:
    """Return the whole output of a run as it is shown."""
    text = content.decode(errors="replace")
    return text if _CONTROLS.search(text) is None else _shown_lines(text)


def printed_line(text: str, longest: int = _LONGEST_PROGRESS_TEXT) -> str:
    """Return one short line of plain text."""
    line = " ".join(_shown_lines(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def last_progress(lines: bytes) -> tuple[float, str] | None:
    """Return the last progress report in some complete lines; None if there is none."""
    position = len(lines)
    while (position := lines.rfind(PROGRESS, 0, position)) >= 0:
        is_at_start = position == 0 or lines[position - 1 : position] == b"\n"
        end = lines.find(b"\n", position)
        line = lines[position : end if end >= 0 else None]
        match = _PROGRESS_LINE.fullmatch(line) if is_at_start else None
        if match is not None and math.isfinite(fraction := float(match[1])) and 0 <= fraction <= 1:
            return fraction, printed_line((match[2] or b"").decode(errors="replace"))
    return None


def _shown_lines(text: str) -> str:
    if text.isprintable():
        return text
    return "\n".join(_shown_line(line) for line in c1_as_escapes(text).split("\n"))


def c1_as_escapes(text: str) -> str:
    """Return a text with C1 control characters as two-character escapes: U+009B as ESC [."""
    return _C1.sub(lambda match: f"\x1b{chr(ord(match[0]) - 0x40)}", text)


def _shown_line(line: str) -> str:
    """Return what a terminal shows in the end of a line that was overwritten."""
    cells: list[str] = []
    at = position = 0
    for action in _ACTIONS.finditer(line):
        at = _written(cells, at, line[position : action.start()])
        at = _after(action, cells, at)
        position = action.end()
    _written(cells, at, line[position:])
    return _CONTROLS.sub("\ufffd", "".join(cells))


def _written(cells: list[str], at: int, text: str) -> int:
    if text:
        cells += " " * (at - len(cells))
        cells[at : at + len(text)] = text
    return at + len(text)


def _after(action: re.Match[str], cells: list[str], at: int) -> int:
    """Return the column after an action, which may erase cells."""
    if action["final"] == "K":
        return _erased(cells, at, action["parameters"])
    if action["final"]:
        return moved(at, action["final"], action["parameters"])
    return {"\r": 0, "\b": max(0, at - 1)}.get(action[0], at)


def _erased(cells: list[str], at: int, what: str) -> int:
    if what == "1":
        blank = min(at + 1, len(cells))
        cells[:blank] = " " * blank
    elif what in ("", "0", "2"):
        # A fully erased line is redrawn from its start.
        at = 0 if what == "2" else at
        del cells[at:]
    return at


def moved(at: int, final: str, parameters: str) -> int:
    """Return the column to which a control sequence moves the cursor: C forward, D back, G to a column."""
    if final not in "CDG":
        return at
    is_number = parameters.isascii() and parameters.isdigit() and len(parameters) <= _MOST_DIGITS
    count = min(int(parameters) or 1, _FURTHEST_MOVE) if is_number else 1
    column = {"C": at + count, "D": at - count, "G": count - 1}[final]
    return min(max(column, 0), max(at, _FURTHEST_COLUMN))
