"""Files of any kind that holds jobs: finding out which it is."""

from __future__ import annotations

import re
from pathlib import PurePath

from halo_scheduler.transfer.crontab_reading import read_crontab
from halo_scheduler.transfer.document import read_document
from halo_scheduler.transfer.drafts import Drafts
from halo_scheduler.transfer.text_file import FileError, text_of

_OURS = re.compile(r"^(?:version|jobs|name):(?:\s|$)", re.MULTILINE)


def read_jobs(content: bytes, name: str = "") -> Drafts:
    """Read what a file holds; its name, where it has one, and its first words say how.

    FileError refuses it whole, the drafts' faults are single things in it.
    """
    ending = PurePath(name).suffix.lower()
    text = text_of(content)
    if not text.strip():
        raise FileError("the file is empty")
    if ending == ".json" or (ending not in {".yaml", ".yml"} and text.lstrip().startswith("{")):
        return read_document(content, is_json=True)
    if ending in {".yaml", ".yml"} or _OURS.search(text):
        return read_document(content)
    return read_crontab(content)
