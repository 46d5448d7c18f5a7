"""The list of components of a package (SBOM) in CycloneDX's JSON: `components.py ARCHIVE` writes that of a bundle."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pins import BROWSER, Pin, licences, read_pins

_SPDX = "1.6"
_PROGRAM = "halo-scheduler"


def write_components(package: Path, epoch: int, *, pinned: str = "run.txt", python: str = "") -> Path:
    """Write the list beside a package, whose name ends in its version and platform.

    `pinned` names what it contains or installs, `python` the version of the Python that it brings.
    """
    (version,) = re.findall(r"-(\d[\w.]*)-", package.name)
    content = package.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    known, pins = licences(), [pin for pin in read_pins(pinned) if BROWSER not in pin.marker]
    components = [_component(pin, known[pin.name]) for pin in pins]
    if python:
        components.append(_component(Pin("cpython", python, "", ()), "PSF-2.0"))
    program = {
        "type": "application",
        "bom-ref": f"{_PROGRAM}@{version}",
        "name": _PROGRAM,
        "version": version,
        "purl": f"pkg:pypi/{_PROGRAM}@{version}",
        "licenses": [{"license": {"id": "MIT"}}],
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }
    listed = {
        "$schema": f"http://cyclonedx.org/schema/bom-{_SPDX}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": _SPDX,
        "serialNumber": uuid.UUID(digest[:32], version=4).urn,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat(),
            "component": program,
        },
        "components": components,
        "dependencies": [
            {"ref": program["bom-ref"], "dependsOn": [component["bom-ref"] for component in components]}
        ],
    }
    target = package.with_name(f"{re.sub(r'[.](whl|tar[.]gz)$', '', package.name)}.cdx.json")
    target.write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    return target


def _component(pin: Pin, licence: str) -> dict[str, Any]:
    marker = {"properties": [{"name": "python:marker", "value": pin.marker}]} if pin.marker else {}
    return {
        "type": "library",
        "bom-ref": f"{pin.name}@{pin.version}",
        "name": pin.name,
        "version": pin.version,
        "purl": f"pkg:{'pypi' if pin.hashes else 'generic'}/{pin.name}@{pin.version}",
        "licenses": [{"expression": licence}],
        **marker,
    }


if __name__ == "__main__":
    given_epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    write_components(Path(sys.argv[1]), given_epoch, pinned="bundle.txt", python=platform.python_version())
