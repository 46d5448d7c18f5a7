"""What an assistant's configuration needs to know to start `halo mcp`."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_REQUIREMENT = "mcp>=2.3,<3"
# What decides where the data is; assistants hand on little of their own environment.
_PLACES = ("HALO_HOME", "XDG_DATA_HOME")


def is_installed() -> bool:
    """Tell whether the part that speaks with assistants is there, without loading it."""
    return find_spec("mcp") is not None


def install_command(executable: str = sys.executable) -> str:
    """Return the line that installs it for this very Python."""
    return shlex.join([executable, "-m", "pip", "install", _REQUIREMENT])


def snippet(executable: str = sys.executable, environment: Mapping[str, str] = os.environ) -> str:
    """Return the JSON to paste; the data's place is in it only when it is not the usual one."""
    server: dict[str, Any] = _program(executable)
    chosen = {name: environment[name] for name in _PLACES if environment.get(name)}
    if chosen:
        # Absolute, but as given, with its links.
        server["env"] = {name: os.path.abspath(place) for name, place in chosen.items()}  # noqa: PTH100
    fields = ",\n".join(f"      {_json(name)}: {_json(value)}" for name, value in server.items())
    return f'{{\n  "mcpServers": {{\n    "halo": {{\n{fields}\n    }}\n  }}\n}}'


def _program(executable: str) -> dict[str, Any]:
    """Return what starts this very installation; resolved, a link would leave its virtual environment."""
    halo = Path(executable).with_name("halo.exe" if sys.platform == "win32" else "halo")
    if halo.is_file() and os.access(halo, os.X_OK):
        return {"command": str(halo), "args": ["mcp"]}
    # -P: a folder "halo_scheduler" where the assistant starts us is not taken for the program.
    return {"command": executable, "args": ["-P", "-m", "halo_scheduler", "mcp"]}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
