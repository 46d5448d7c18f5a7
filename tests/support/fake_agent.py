"""An agent for tests: takes a prompt in whichever way it is given one, and does what its environment says.

`FAKE_AGENT` is a JSON list of steps, each a list of a word and what it needs:

    ["note", PATH]     write down, as JSON, the prompt it got, how, and what else it was given
    ["say", LINE]      print a line
    ["tell", NAME]     print a variable of its environment
    ["repeat"]         print its prompt
    ["wait", PATH]     go on when there is such a file
    ["sleep"]          go on never
    ["exit", CODE]     end with a code
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import Any


def take_prompt(arguments: list[str]) -> dict[str, Any]:
    """Return the prompt and the way it came."""
    if "--file" in arguments:
        path = Path(arguments[arguments.index("--file") + 1])
        mode = stat.S_IMODE(path.stat().st_mode)
        return {"how": "file", "prompt": path.read_text(encoding="utf-8"), "path": str(path), "mode": mode}
    if "--prompt" in arguments:
        return {"how": "argument", "prompt": arguments[arguments.index("--prompt") + 1]}
    return {"how": "stdin", "prompt": sys.stdin.buffer.read().decode()}


def note(path: str, taken: dict[str, Any]) -> None:
    """Write down what it was given; whole at once, as somebody waits for it."""
    own = {name: value for name, value in os.environ.items() if name.startswith("HALO_")}
    found = {**taken, "arguments": sys.argv[1:], "environment": own, "directory": str(Path.cwd())}
    partial = Path(f"{path}.part")
    partial.write_text(json.dumps(found), encoding="utf-8")
    partial.rename(path)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def take_step(word: str, rest: list[Any], taken: dict[str, Any]) -> None:
    """Do one thing."""
    match word:
        case "note":
            note(rest[0], taken)
        case "say":
            say(rest[0])
        case "tell":
            say(os.environ[rest[0]])
        case "repeat":
            say(taken["prompt"])
        case "wait":
            while not Path(rest[0]).exists():
                time.sleep(0.02)
        case "sleep":
            while True:
                time.sleep(60)
        case "exit":
            sys.exit(rest[0])
        case _:
            sys.exit(f"there is no step {word}")


def main() -> None:
    """Take the prompt and go through the steps."""
    taken = take_prompt(sys.argv[1:])
    for word, *rest in json.loads(os.environ.get("FAKE_AGENT", "[]")):
        take_step(word, rest, taken)


if __name__ == "__main__":
    main()
