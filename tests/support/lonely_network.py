"""Programs in a network of their own, in which there is at first nothing but a loopback that is down."""

from __future__ import annotations

import subprocess
from functools import cache

import pytest


@cache
def lonely_command() -> list[str]:
    """Return the words to put before a command; in it `ip` may change the network as it likes."""
    for command in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        if subprocess.run([*command, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return command
    pytest.skip("this system does not let us have a network of our own")
