"""How the desktop program is started: what is loaded for it, and what is not."""

import subprocess
import sys


def _printed(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_no_module_is_read_as_text_after_qt_is_loaded() -> None:
    program = "from ui.start import load_qt; load_qt(); import ui.icons, linecache; print(*linecache.cache)"
    assert _printed(program) == ""
