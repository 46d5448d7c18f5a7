"""A real shell in which somebody types, with the Tab key."""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from collections.abc import Mapping

_LONG_S = 60.0
_SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        'PS1="$ "; bind "set bell-style none"; eval "$(halo completion bash)"',
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        'PS1="$ "; autoload -U compinit && compinit -u -D; bindkey -e; eval "$(halo completion zsh)"',
    ),
    "fish": (["fish", "--no-config", "-i"], "halo completion fish | source"),
}
_TO_START, _TO_END, _TAB = b"\x01", b"\x05", b"\t"
# In two parts, so that what the terminal shows of the typing is not taken for the answer.
_READY, _TYPED_READY = b"<ready>", "'<re''ady>'"


class TypingShell:
    """Types into a shell that completes the halo command."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        argv, setup = _SHELLS[name]
        self._terminal, other_end = os.openpty()
        # Whoever begins a session and opens a terminal has it for its own, which an interactive shell insists on.
        self._shell = subprocess.Popen(
            ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(other_end), *argv],
            env={**environment, "TERM": "xterm"},
            start_new_session=True,
        )
        os.write(self._terminal, f"{setup}; echo {_TYPED_READY}\n".encode())
        self._read_until(_READY)
        os.close(other_end)

    def complete(self, typed: str) -> list[str]:
        """Type something and then the Tab key, and return the words of the line as the shell then reads it."""
        begin = f"printf '[%s]' {_TYPED_READY}; printf '[%s]' ".encode()
        end = f"; echo {_TYPED_READY}\n".encode()
        os.write(self._terminal, typed.encode() + _TAB + _TO_START + begin + _TO_END + end)
        self._read_until(b"[" + _READY + b"]")
        answer = self._read_until(_READY).decode(errors="replace")
        return re.findall(r"\[(.*?)\]", answer)

    def _read_until(self, sign: bytes) -> bytes:
        read = b""
        deadline = time.monotonic() + _LONG_S
        while sign not in read:
            left_s = deadline - time.monotonic()
            assert left_s > 0, read
            if select.select([self._terminal], [], [], left_s)[0]:
                # Byte by byte: what comes after the sign belongs to the next one.
                read += os.read(self._terminal, 1)
        return read.partition(sign)[0]

    def close(self) -> None:
        """Hang up, and wait until the shell has noticed."""
        os.close(self._terminal)
        self._shell.kill()
        self._shell.wait()
