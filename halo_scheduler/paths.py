"""Where Halo keeps its files."""

from __future__ import annotations

import os
from pathlib import Path


def database_path() -> Path:
    """Return the place of the default database: below $HALO_HOME, or where the system keeps such data."""
    home = os.environ.get("HALO_HOME")
    if home:
        return Path(home) / "halo.db"
    import platformdirs  # noqa: PLC0415 - not needed with HALO_HOME or a path of one's own

    return Path(platformdirs.user_data_dir("halo-scheduler", appauthor=False)) / "halo.db"
