"""Check a list of components against CycloneDX's own schema."""

import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

for name in sys.argv[1:]:
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(Path(name).read_text(encoding="utf-8"))
    if fault is not None:
        sys.exit(f"{name}: {fault}")
    print(f"{name}: valid CycloneDX 1.6")
