"""Files of any kind that holds jobs: finding out which it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath

from halo_scheduler.transfer.crontab_reading import read_crontab
from halo_scheduler.transfer.document import drafts_of, read_document
from halo_scheduler.transfer.drafts import Drafts
from halo_scheduler.transfer.text_file import FileError, text_of
from halo_scheduler.transfer.timer_reading import Machine, read_timer

_YAML = re.compile(r"^(?:version|jobs|name|schedules|agents):(?:\s|$)", re.MULTILINE)
_TIMER = re.compile(r"^\[Timer\]\s*$", re.MULTILINE)
_YAML_ENDINGS = {".yaml", ".yml"}
_SYSTEM_CRONTAB = re.compile(r"/etc/(?:crontab|cron\.d/[^/]+)")


def _nothing(_name: str) -> bytes | None:
    return None


def read_jobs(
    content: bytes,
    name: str = "",
    *,
    find_beside: Callable[[str], bytes | None] = _nothing,
    machine: Machine | None = None,
) -> Drafts:
    """Read what a file holds; its name, where it has one, and its first words say how.

    `find_beside` gives the content of other files of its folder. FileError refuses it whole, the drafts' faults
    are single things in it.
    """
    ending = PurePath(name).suffix.lower()
    text = text_of(content)
    if not text.strip():
        raise FileError("the file is empty")
    if ending == ".json" or (ending not in _YAML_ENDINGS and text.lstrip().startswith("{")):
        return read_document(content, is_json=True)
    if ending == ".timer" or _TIMER.search(text):
        return read_timer(content, name, find_beside, machine)
    if ending == ".service":
        raise FileError("this is the service of a timer; take in its .timer file instead")
    if ending in _YAML_ENDINGS or _YAML.search(text):
        return _read_yaml(content, name)
    return read_crontab(content, is_system=_SYSTEM_CRONTAB.fullmatch(name) is not None)


def _read_yaml(content: bytes, name: str) -> Drafts:
    from halo_scheduler.transfer.agent_reading import looks_like_agent, read_agent  # noqa: PLC0415 - for YAML only
    from halo_scheduler.transfer.yaml_text import read_yaml  # noqa: PLC0415 - PyYAML

    file = read_yaml(content)
    if looks_like_agent(file.data):
        return read_agent(file, str(PurePath(name).parent) if name else "")
    if isinstance(file.data, dict) and "agents" in file.data and "jobs" not in file.data:
        raise FileError(
            "this is the file of a fleet; take in the files of its agents", line=file.line_of("agents")
        )
    return drafts_of(file)
