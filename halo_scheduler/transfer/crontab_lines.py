"""A line of a crontab: the rules of its command field, and a name for its job.

These are Vixie cron's, shared by Debian's cron and cronie: the first % without a backslash before it ends the
command, what follows is its standard input, and every further % in it is a line end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from halo_scheduler.grammar.text import hidden_words, plain_line

_UP_TO_PERCENT = re.compile(r"(?:[^\\%]++|\\.)*+\\?", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_INPUT_PERCENT = re.compile(r"\\?%")
_ODD_BACKSLASHES = re.compile(r"(?<!\\)(?:\\\\)*\\%")
_LONGEST_NAME = 60
_LONGEST_LOOKED_AT = 500
_LONGEST_COMMAND = 5_000  # before non-text is removed
_MOST_LINES = 4
_MOST_BEFORE = 20
_MOST_WORDS = 50
MOST_COMMENTS = 100
"""How many lines above an entry are read."""
_DECORATION = re.compile(r"[\W_]*")
_COLUMNS = re.compile(r"m(?:m|in(?:ute)?)?\W+h(?:h|our)?\b.*", re.IGNORECASE)
# Comment lines that cron itself or our export writes.
_OTHERS_WORDS = re.compile(
    r"DO NOT EDIT.*|\(.* installed on .*|\(Cron version.*|\$\w+:.*|not kept:.*|disabled:.*"
)
_COUNTS = r"[\d*,/~-]+"
_NAMED = rf"(?:{_COUNTS}|[A-Za-z]{{3}}(?:[,-][A-Za-z]{{3}})*)"
# A line that was disabled, with any prefix.
_OLD_ENTRY = re.compile(
    rf"(?:^|[\s:;#-])(?:{_COUNTS}\s+{_COUNTS}\s+[\d*,/~L?-]+\s+{_NAMED}\s+{_NAMED}(?:\s|$)"
    r"|@(?:reboot|yearly|annually|monthly|weekly|daily|midnight|hourly|every_minute|every_second|\d+)\s)"
    r"|^#*\s*(?:export\s+)?\w+\s*="
)
# Prefixes before the program that matters.
_BEFORE = re.compile(
    r"""\s*(?:
        [({]\s* | !\s+ | [A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s;&|]*)(?:\s*;\s*|\s+)
      | (?:cd|pushd)\s+(?:"[^"]*"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*
      | (?:\.|source)\s+[^\s;&|]+\s*(?:&&|;)\s*
      | export\s+[^;&|]*(?:&&|;)\s*
      | (?:set|shopt)\s+-[^;&|]*(?:&&|;)\s*
      | sleep\s+[^;&|]*(?:&&|;)\s* | perl\s+-e\s+'sleep[^']*'\s*(?:&&|;)\s*
      | \[\[?\s[^;&|]*\]\]?\s*(?:&&|\|\|)\s* | (?:/usr/bin/)?test\s[^;&|]*(?:&&|\|\|)\s*
      | command\s+-v\s[^;&|]*(?:&&|;)\s*
      | if\s[^;]*;\s*then\s+
    )""",
    re.VERBOSE,
)
# Programs that run another program: their options with a value, and the number of their own arguments.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "sudo": (frozenset({"-u", "-g"}), 0),
    "doas": (frozenset({"-u"}), 0),
    "nice": (frozenset({"-n"}), 0),
    "ionice": (frozenset({"-c", "-n"}), 0),
    "chrt": (frozenset(), 1),
    "flock": (frozenset({"-w", "-E"}), 1),
    "timeout": (frozenset({"-k", "-s"}), 1),
    "taskset": (frozenset(), 1),
    "env": (frozenset({"-u"}), 0),
    "stdbuf": (frozenset({"-i", "-o", "-e"}), 0),
    "systemd-cat": (frozenset({"-t", "-p"}), 0),
    **dict.fromkeys(
        ("nohup", "exec", "time", "setsid", "chronic", "cronic", "xvfb-run"), (frozenset[str](), 0)
    ),
}
_SHELL_WORDS = {"for", "while", "until", "if", "case", "eval", "{"}
_INTERPRETERS = re.compile(
    r"(?:ba|da|z|k|a)?sh|python[\d.]*|perl[\d.]*|ruby[\d.]*|php[\d.]*|node|nodejs|deno|bun|java|Rscript|pwsh"
)
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s;&|<>()"'])+""")
_FIRST_PROGRAM = re.compile(r"""(?:"[^"]*"|'[^']*'|[^;&|<>"'])*""")


def split_command(field: str) -> tuple[str, str]:
    """Split a command field into the command and its standard input."""
    if "%" not in field:
        return field, ""
    match = _UP_TO_PERCENT.match(field)
    end = 0 if match is None else match.end()
    return _ESCAPED.sub(_unescaped, field[:end]), _read_input(field[end + 1 :])


def _unescaped(match: re.Match[str]) -> str:
    return "%" if match[1] == "%" else match[0]


def _read_input(text: str) -> str:
    """Return the lines of standard input; like cron, end the last line with a newline."""
    # A backslash directly before the percent sign escapes it, even after another backslash.
    lines = _INPUT_PERCENT.sub(lambda match: "\n" if match[0] == "%" else "%", text)
    return lines if lines.endswith("\n") or not lines else f"{lines}\n"


def command_field(command: str, stdin: str = "") -> str:
    """Return a command and its standard input as a command field. ValueError says why that is impossible."""
    if "\n" in command:
        raise ValueError("its command has several lines")
    if words := hidden_words(command) or hidden_words(stdin):
        raise ValueError(f"it has characters that an editor would not show: {words}")
    if _ODD_BACKSLASHES.search(command):
        raise ValueError("its command has a backslash before a percent sign")
    if stdin and not stdin.endswith("\n"):
        raise ValueError("cron would end the last line of its standard input")
    if stdin and _odd_end(command):
        raise ValueError("its command ends with a backslash")
    written = command.replace("%", r"\%")
    if not stdin:
        return written
    # Cron ends the last line by itself, but not one that is empty.
    lines = stdin if stdin == "\n" or stdin.endswith("\n\n") else stdin.removesuffix("\n")
    if "\\\n" in lines:
        raise ValueError("its standard input has a backslash at the end of a line")
    return written + "%" + lines.replace("%", r"\%").replace("\n", "%")


def _odd_end(command: str) -> bool:
    return (len(command) - len(command.rstrip("\\"))) % 2 == 1


def name_of_comment(comments: Sequence[str]) -> tuple[str, str]:
    """Return the name and description from the comment above a line; either may be empty."""
    # A comment that is apart from the line or about the whole file is not its name.
    start = max((index + 1 for index, comment in enumerate(comments) if comment.strip() == "#"), default=0)
    usable = [_text(comment) for comment in comments[start:] if _is_usable(comment)]
    if not usable or len(usable) > _MOST_LINES:
        return "", ""
    name = usable[0].rstrip(" :.;-–—")
    if len(name) > _LONGEST_NAME or not name:
        return "", "\n".join(usable)
    return name, "\n".join(usable[1:])


def _text(comment: str) -> str:
    return plain_line(comment[:_LONGEST_LOOKED_AT].strip("#!;-=*~_ \t"), _LONGEST_LOOKED_AT)


def _is_usable(comment: str) -> bool:
    if _OLD_ENTRY.search(comment[:_LONGEST_LOOKED_AT]):
        return False
    text = _text(comment)
    return not any(pattern.fullmatch(text) for pattern in (_DECORATION, _COLUMNS, _OTHERS_WORDS))


def name_of_command(command: str) -> str:
    """Return the main program of a line, without its folder and wrappers such as nice or env."""
    rest = command = plain_line(command[:_LONGEST_COMMAND], _LONGEST_LOOKED_AT)
    for _ in range(_MOST_BEFORE):
        match = _BEFORE.match(rest)
        if match is None or match.end() == len(rest):
            break
        rest = rest[match.end() :]
    first = _FIRST_PROGRAM.match(rest)
    found = islice(_WORD.finditer(rest if first is None else first[0]), _MOST_WORDS)
    words = [word[0].strip("\"'") for word in found]
    plain = _program(words) or command
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[: _LONGEST_NAME - 1]}…"


def _program(words: Sequence[str]) -> str:
    left = list(words)
    while left and (base := _base(left[0])) in _WRAPPERS:
        left = _unwrapped(left[1:], *_WRAPPERS[base])
    if not left or left[0] in _SHELL_WORDS:
        return ""
    if not _INTERPRETERS.fullmatch(_base(left[0])):
        return _base(left[0])
    return _script(left[1:]) or _base(left[0])


def _unwrapped(words: list[str], with_value: frozenset[str], own_words: int) -> list[str]:
    """Return the command that a wrapper runs."""
    while words and (words[0].startswith("-") or "=" in words[0]):
        words = words[2:] if words[0] in with_value else words[1:]
    return words[own_words:]


def _script(words: Sequence[str]) -> str:
    """Return what an interpreter runs: a script, a module or inline code."""
    for index, word in enumerate(words):
        if word in {"-m", "-jar"} and index + 1 < len(words):
            return _base(words[index + 1])
        if word in {"-c", "-e", "-lc", "-ic"} and index + 1 < len(words):
            return name_of_command(words[index + 1])
        if not word.startswith("-"):
            # For a framework script, the first argument says what it does.
            more = (
                words[index + 1] if _base(word) == word and "." not in word and index + 1 < len(words) else ""
            )
            return f"{word} {more}".strip() if more and not more.startswith("-") else _base(word)
    return ""


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


class Names:
    """Makes names unique by appending a number."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """Return the name, with a number appended if it is taken."""
        found = name
        while found in self._taken:
            self._numbers[name] = self._numbers.get(name, 1) + 1
            found = f"{name} {self._numbers[name]}"
        self._taken.add(found)
        return found
