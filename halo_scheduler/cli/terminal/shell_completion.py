"""Click's shell completion, with what it lacks: quoting in bash, `--option=value`, commas in fish."""

from __future__ import annotations

import os
from typing import NamedTuple

from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

COMPLETE_VAR = "_HALO_COMPLETE"
"""The environment variable by which a shell asks for completions: `bash_complete`."""

# Readline starts a new word after these characters, and replaces only that word.
_WORD_BREAKS = "=:@"
_UNQUOTED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+,./%")
_ESCAPED_IN_QUOTES = '"\\$`!'
_BASH_SCRIPT = r"""# Completes the halo command in bash. Add this line to ~/.bashrc:
#   eval "$(halo completion bash)"
%(complete_func)s() {
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
        esac
    done < <(%(complete_var)s=bash_complete COMP_LINE="${COMP_LINE:0:COMP_POINT}" %(prog_name)s 2>/dev/null)
}
complete -F %(complete_func)s %(prog_name)s
"""


class Typed(NamedTuple):
    """The word at the cursor: its value, the open quote, and where bash starts to replace it."""

    value: str = ""
    quote: str = ""
    start: int = 0


class _Completion(ShellComplete):
    """Completes values in `--option=value` and gives callbacks the words before the cursor."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        self.ctx_args = {**self.ctx_args, "obj": list(args)}
        items = super().get_completions(args, incomplete)
        option, sign, _ = incomplete.partition("=")
        if sign and option.startswith("-"):
            # Click completes the value alone, but a shell replaces the whole word.
            return [CompletionItem(f"{option}={item.value}", item.type, item.help) for item in items]
        return items


class _Bash(_Completion, BashComplete):
    """Quotes each completion for bash: click's own bash script lets it split and expand names."""

    source_template = _BASH_SCRIPT
    _typed = Typed()

    def source(self) -> str:
        return ShellComplete.source(self)  # without a check: the script works in every bash since 3.2

    def get_completion_args(self) -> tuple[list[str], str]:
        words, self._typed = split_line(os.environ.get("COMP_LINE", ""))
        return words[1:], self._typed.value

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.type},{_quoted_for_bash(item.value, self._typed)}"


class _Zsh(_Completion, ZshComplete):
    pass


class _Fish(_Completion, FishComplete):
    # Click's script drops everything after a second comma.
    source_template = FishComplete.source_template.replace("string split", "string split -m 1")


COMPLETIONS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def split_line(line: str) -> tuple[list[str], Typed]:
    """Split a line as a shell does; return the complete words, and the last one, which may be empty or unclosed."""
    words: list[str] = []
    value, quote, start = "", "", 0
    is_begun = is_escaped = False
    for char in line:
        if is_escaped:
            value += char if quote != '"' or char in _ESCAPED_IN_QUOTES else f"\\{char}"
            is_escaped = False
        elif char == "\\" and quote != "'":
            is_begun = is_escaped = True
        elif quote:
            value, quote = (value, "") if char == quote else (value + char, quote)
        elif char in "\"'":
            is_begun, quote, start = True, char, len(value)
        elif char.isspace():
            words += [value] if is_begun or value else []
            value, start, is_begun = "", 0, False
        else:
            value += char
            start = len(value) if char in _WORD_BREAKS else start
    return words, Typed(value, quote, start)


def _quoted_for_bash(word: str, typed: Typed) -> str:
    """Return the part of a word that bash inserts, quoted for the quote that is open."""
    rest = word[typed.start :]
    if typed.quote == '"':
        return "".join(f"\\{char}" if char in '"\\$`' else char for char in rest)
    if typed.quote == "'":
        return rest.replace("'", "'\\''")
    return "".join(char if char in _UNQUOTED or not char.isascii() else f"\\{char}" for char in rest)
