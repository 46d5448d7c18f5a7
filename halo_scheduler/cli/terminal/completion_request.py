"""Answering a shell that asks how a command line can go on."""

from __future__ import annotations

import os
from typing import NamedTuple

import click
from click.shell_completion import ShellComplete

ASKING = "_HALO_COMPLETION"
"""What a shell puts its name into to ask."""
LINE = "_HALO_LINE"
"""What was typed, as it was typed: the whole line for bash, the last word for the others."""
WORDS = "_HALO_WORDS"
"""The words before the last one, one in each line; bash leaves it to us to find them."""

_BREAKS = "=:@"
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+,./%")
_SPECIAL_IN_QUOTES = '"\\$`!'


class Typed(NamedTuple):
    """A word that is being typed: what it means, the quote that is open, and where bash begins to replace it."""

    value: str = ""
    quote: str = ""
    start: int = 0


def answer(program: click.Command) -> None:
    """Print what can stand in the place of the last word: its kind, itself, and a word on it in each line."""
    shell = os.environ[ASKING]
    words, typed = _asked(shell)
    completing = ShellComplete(program, {"obj": words}, "halo", ASKING)
    for item in completing.get_completions(words[1:], typed.value):
        word = f"{_option_of(typed)}{item.value}"
        text = _for_bash(word, typed) if shell == "bash" else word
        click.echo(f"{item.type}\t{text}\t{item.help or ''}")


def _asked(shell: str) -> tuple[list[str], Typed]:
    """Return the words before the last one, and the last one."""
    if shell == "bash":
        return split_line(os.environ.get(LINE, ""))
    _, typed = split_line(f"halo {os.environ.get(LINE, '')}")
    return os.environ.get(WORDS, "").split("\n"), typed


def split_line(line: str) -> tuple[list[str], Typed]:
    """Return the words of a line as a shell reads them, and the last one, which may be empty or end in a quote."""
    words: list[str] = []
    value, quote, start = "", "", 0
    is_begun = is_escaped = False
    for sign in line:
        if is_escaped:
            value += sign if quote != '"' or sign in _SPECIAL_IN_QUOTES else f"\\{sign}"
            is_escaped = False
        elif sign == "\\" and quote != "'":
            is_begun = is_escaped = True
        elif quote:
            value, quote = (value, "") if sign == quote else (value + sign, quote)
        elif sign in "\"'":
            is_begun, quote, start = True, sign, len(value)
        elif sign.isspace():
            words += [value] if is_begun or value else []
            value, start, is_begun = "", 0, False
        else:
            value += sign
            start = len(value) if sign in _BREAKS else start
    return words, Typed(value, quote, start)


def _option_of(typed: Typed) -> str:
    """Return the option that was typed in one word with its value, of which click knows only the value."""
    option, sign, _ = typed.value.partition("=")
    return f"{option}=" if sign and option.startswith("-") else ""


def _for_bash(word: str, typed: Typed) -> str:
    """Return what bash is to put in the place of what it takes for the word: that begins behind a break."""
    rest = word[typed.start :]
    if typed.quote == '"':
        return "".join(f"\\{sign}" if sign in '"\\$`' else sign for sign in rest)
    if typed.quote == "'":
        return rest.replace("'", "'\\''")
    return "".join(sign if sign in _PLAIN or not sign.isascii() else f"\\{sign}" for sign in rest)
