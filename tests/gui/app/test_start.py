"""How the desktop program is started: what is loaded for it, and what is not."""

import subprocess
import sys


def _printed(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_no_module_is_read_as_text_after_qt_is_loaded() -> None:
    program = "from ui.app.start import load_qt; load_qt(); import ui.style.icons, linecache; print(*linecache.cache)"
    assert _printed(program) == ""


def test_modules_that_the_first_window_does_not_need_are_loaded_after_it() -> None:
    loaded = _printed("import ui.app.program, sys; print(*sys.modules)").split()
    later = (
        *(
            "ui.app.session",
            "ui.main_window.details.job",
            "ui.main_window.details.actions",
            "ui.main_window.trash",
            "ui.forms.templates",
        ),
        *("ui.editor", "ui.history", "ui.settings", "ui.app.recovery_window", "ui.tray.icon"),
        *("halo_scheduler.engine", "halo_scheduler.actions.output_reader", "halo_scheduler.actions.spool"),
        *("PySide6.QtNetwork", "PySide6.QtDBus", "jeepney", "keyring", "psutil"),
    )
    assert set(later).isdisjoint(loaded)
    assert "ui.main_window.window" in loaded
