"""The list of components of a package (SBOM) in CycloneDX's JSON."""

from __future__ import annotations

import hashlib
import json
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pins import Pin, licences, read_pins

_SPDX = "1.6"
_PROGRAM = "halo-scheduler"


def write_components(package: Path, epoch: int) -> Path:
    """Write the list beside a package, whose name ends in its version and platform."""
    version = package.name.split("-")[1]
    content = package.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    known, pins = licences(), read_pins("run.txt")
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
        "components": [_component(pin, known[pin.name]) for pin in pins],
        "dependencies": [
            {"ref": program["bom-ref"], "dependsOn": [f"{pin.name}@{pin.version}" for pin in pins]}
        ],
    }
    target = package.with_name(f"{package.name.removesuffix('.whl')}.cdx.json")
    target.write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    return target


def _component(pin: Pin, licence: str) -> dict[str, Any]:
    marker = {"properties": [{"name": "python:marker", "value": pin.marker}]} if pin.marker else {}
    return {
        "type": "library",
        "bom-ref": f"{pin.name}@{pin.version}",
        "name": pin.name,
        "version": pin.version,
        "purl": f"pkg:pypi/{pin.name}@{pin.version}",
        "licenses": [{"expression": licence}],
        **marker,
    }
