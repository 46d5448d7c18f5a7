"""A screen of its own with a window manager, a session bus and a tray, and the program on it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

from notification_server import private_bus
from process_probe import LONG_S, end, is_idle, until
from PySide6.QtGui import QImage
from x_server import x_server

T = TypeVar("T")

_TRIES = 5
_A_MOMENT_S = 4
_SIZE = (1280, 900)
_PROGRAMS = ("Xvfb", "openbox", "trayer", "xdotool", "xprop", "dbus-daemon")
_TRAY = "trayer --edge top --align right --width 200 --widthtype pixel --height 32"
# Before a tray takes it in, the icon's window has no place.
_SMALLEST_ICON = 16
# So often in a row nothing is found at work; what never rests is waited for so long.
_QUIET_LOOKS, _LOOK_S, _LONGEST_REST_S = 5, 0.012, 5


class Desktop:
    """An X display: what is on it, and the hands of whoever sits before it."""

    def __init__(self, folder: Path, pictures: Path) -> None:
        self.folder = folder
        self._pictures = pictures
        self._steps = 0
        self._left = ExitStack()
        self._watched: Program | None = None
        self._inhabitants: list[int] = []
        self.environment: dict[str, str] = {}

    def __enter__(self) -> Self:
        missing = [program for program in _PROGRAMS if shutil.which(program) is None]
        assert not missing, f"{', '.join(missing)} missing; `make test` installs it or prints how"
        shutil.rmtree(self._pictures, ignore_errors=True)
        for name in ("screen", "home", "run", "config", "log"):
            (self.folder / name).mkdir(mode=0o700, parents=True)
        with ExitStack() as stack:
            width, height = _SIZE
            # Its picture is kept in a file that can be read at any time.
            display, pid = stack.enter_context(
                x_server("-noreset", "-screen", "0", f"{width}x{height}x24", "-fbdir", self.folder / "screen")
            )
            self.expect(pid)
            bus = stack.enter_context(private_bus())
            self.environment = self._environment_on(display, bus)
            self._start(stack, "openbox", "--sm-disable")
            until(lambda: self._ask("get_num_desktops"))
            self._left = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.close()

    def _environment_on(self, display: str, bus: str) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C.UTF-8",
            "TZ": "Europe/Berlin",
            "SHELL": "/bin/sh",
            "DISPLAY": display,
            "DBUS_SESSION_BUS_ADDRESS": bus,
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
            "QT_QPA_PLATFORM": "xcb",
            "HOME": f"{self.folder}/home",
            "XDG_RUNTIME_DIR": f"{self.folder}/run",
            "XDG_CONFIG_HOME": f"{self.folder}/config",
            "HALO_HOME": f"{self.folder}/halo",
        }

    def _start(self, stack: ExitStack, *argv: str) -> None:
        log = stack.enter_context((self.folder / "log" / argv[0]).open("ab"))
        process = subprocess.Popen(argv, env=self.environment, stdout=log, stderr=log)
        stack.callback(end, process)
        self.expect(process.pid)

    @contextmanager
    def tray(self) -> Iterator[None]:
        """Have a place for icons in the upper right corner."""
        with ExitStack() as stack:
            self._start(stack, *_TRAY.split())
            yield

    def watch(self, program: Program | None) -> None:
        """Let all waiting fail at once when this program ends."""
        self._watched = program

    def expect(self, pid: int) -> None:
        """Wait for this process too before something is done: it has to do with what is on the screen."""
        self._inhabitants.append(pid)

    def settle(self) -> None:
        """Wait until nothing is at work any more, as somebody does who looks before they type."""
        quiet = 0
        deadline = time.monotonic() + _LONGEST_REST_S
        while quiet < _QUIET_LOOKS and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
            quiet = quiet + 1 if all(map(is_idle, self._inhabitants)) else 0

    def wait_for(self, condition: Callable[[], T | None], seconds: float = LONG_S) -> T:
        """Wait for something on the screen or in the database and return it, or fail."""

        def found() -> T | None:
            if there := condition():
                return there
            assert self._watched is None or not self._watched.is_over, "the program has ended"
            assert self._watched is None or "Traceback" not in self._watched.printed(), "it has a fault"
            return None

        return until(found, seconds)

    # --- What is seen ------------------------------------------------------------------------------------

    def windows(self, title: str, pid: int | None = None) -> list[str]:
        """Return the windows on the screen whose title matches a regular expression."""
        of_process = () if pid is None else ("--all", "--pid", str(pid))
        return self._search("--onlyvisible", *of_process, "--name", title)

    def wait_for_window(self, title: str) -> str:
        """Wait until a window is there and has the keyboard; return it."""
        return self.wait_for(lambda: self._focused(title))

    def _focused(self, title: str) -> str | None:
        """Return the window of that title if it has the keyboard."""
        active = self.active_window()
        # The window manager says so a moment before keys go there.
        is_there = active in self.windows(title) and self._ask("getwindowfocus").strip() == active
        return active if is_there else None

    def wait_until_gone(self, title: str) -> None:
        """Wait until no window of that title is on the screen."""
        self.wait_for(lambda: not self.windows(title))

    def is_minimised(self, title: str) -> bool:
        """Tell whether a window of that title is there, but put away."""
        return any("Iconic" in self._property(window, "WM_STATE") for window in self._search("--name", title))

    def active_window(self) -> str:
        """Return the window that has the keyboard."""
        return self._ask("getactivewindow").strip()

    def tray_icon(self, pid: int) -> tuple[int, int] | None:
        """Return the middle of a program's icon in the tray, once it is there."""
        for window in self._search("--onlyvisible", "--pid", str(pid)):
            x, y, width, height = self._place(window)
            is_small = _SMALLEST_ICON <= max(width, height) < 3 * _SMALLEST_ICON
            if is_small and x > _SIZE[0] - 200 and y < 3 * _SMALLEST_ICON:
                return x + width // 2, y + height // 2
        return None

    def wait_for_icon(self, pid: int) -> tuple[int, int]:
        """Wait until a program's icon stays where it is in the tray; return its middle."""
        self.wait_for(lambda: self.tray_icon(pid))
        # The tray makes room for it.
        self.settle()
        return self.wait_for(lambda: self.tray_icon(pid))

    def _place(self, window: str) -> tuple[int, int, int, int]:
        told = dict(re.findall(r"(\w+)=(-?\d+)", self._ask("getwindowgeometry", "--shell", window)))
        x, y, width, height = (int(told.get(name, 0)) for name in ("X", "Y", "WIDTH", "HEIGHT"))
        return x, y, width, height

    def menus(self, pid: int) -> list[str]:
        """Return a program's open menus, submenus too."""
        shown = self._search("--onlyvisible", "--pid", str(pid))
        return [window for window in shown if "POPUP_MENU" in self._property(window, "_NET_WM_WINDOW_TYPE")]

    def _property(self, window: str, name: str) -> str:
        asked = subprocess.run(
            ["xprop", "-id", window, name],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG_S,
        )
        return asked.stdout

    def picture(self, step: str) -> Path:
        """Keep a picture of the whole screen, once it has come to rest; return its file."""
        self.settle()
        self._steps += 1
        self._pictures.mkdir(parents=True, exist_ok=True)
        path = self._pictures / f"{self._steps:02}-{step}.png"
        assert self.image().save(str(path))
        return path

    def image(self) -> QImage:
        """Return what the screen shows now."""
        content = (self.folder / "screen" / "Xvfb_screen0").read_bytes()
        # The format of xwd: the header with its size first, then the colours, then the rows.
        header = struct.unpack(">25I", content[:100])
        size, width, height, bytes_per_line, colours = header[0], header[4], header[5], header[12], header[19]
        rows = content[size + 12 * colours :]
        return QImage(rows, width, height, bytes_per_line, QImage.Format.Format_RGB32).copy()

    def clipboard(self) -> str:
        """Return the text that was copied last."""
        ask = "from PySide6.QtGui import QGuiApplication as A; a = A([]); print(a.clipboard().text())"
        asked = subprocess.run(
            [sys.executable, "-c", ask],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=LONG_S,
        )
        return asked.stdout

    # --- What is done ------------------------------------------------------------------------------------

    def key(self, *keys: str) -> None:
        """Press keys, one after the other: "ctrl+n", "Tab"."""
        self._do("key", "--clearmodifiers", "--delay", "25", *keys)

    def type(self, text: str) -> None:
        """Type a text."""
        self._do("type", "--clearmodifiers", "--delay", "12", "--", text)

    def click(self, x: int, y: int, button: int = 1) -> None:
        """Click at a place of the screen."""
        # What lies under the pointer has to notice it first.
        self._do("mousemove", str(x), str(y), "sleep", "0.2", "click", str(button))

    def open_tray_menu(self, pid: int) -> None:
        """Click with the right button on a program's icon, and wait for its menu."""
        self.click(*self.wait_for_icon(pid), button=3)
        self.wait_for(lambda: self.menus(pid))

    def close_window(self, title: str) -> None:
        """Do what a click on a window's cross does; a key that the window manager missed is pressed again."""
        self.wait_for_window(title)
        for _ in range(_TRIES):
            self.key("alt+F4")
            self.settle()
            with suppress(AssertionError):
                self.wait_for(lambda: not self.windows(title), _A_MOMENT_S)
                return
        raise AssertionError(f"the window {title!r} does not close")

    def _search(self, *words: str) -> list[str]:
        """Return the windows that are as described; a window that goes away meanwhile ends a search with nothing."""
        return until(lambda: self._searched(*words))[0]

    def _searched(self, *words: str) -> tuple[list[str]] | None:
        asked = self._asked("search", *words)
        return None if asked.stderr else (asked.stdout.split(),)

    def _ask(self, *words: str) -> str:
        return self._asked(*words).stdout

    def _asked(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["xdotool", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONG_S,
        )

    def _do(self, *words: str) -> None:
        self.settle()
        subprocess.run(["xdotool", *words], env=self.environment, check=True, timeout=60)


class Program:
    """The installed program as a process."""

    def __init__(
        self, desktop: Desktop, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._log = desktop.folder / "log" / "program"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ui", *arguments],
                env={**desktop.environment, **(environment or {})},
                stdout=log,
                stderr=log,
            )
        desktop.expect(self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def wait(self) -> int:
        """Wait for its end; return its exit code."""
        return self._process.wait(LONG_S)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def printed(self) -> str:
        """Return what it and those before it wrote."""
        return self._log.read_text(errors="replace")

    def end(self) -> None:
        """End it, however it is."""
        end(self._process)


@contextmanager
def running(
    desktop: Desktop, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[Program]:
    """Run the program; it is ended when the test leaves it, and what it wrote is shown when the test fails."""
    program = Program(desktop, *arguments, environment=environment)
    desktop.watch(program)
    try:
        yield program
        assert "Traceback" not in program.printed()
    except BaseException:
        desktop.picture("failed")
        sys.stderr.write(program.printed())
        raise
    finally:
        desktop.watch(None)
        program.end()


@contextmanager
def daemon(desktop: Desktop) -> Iterator[int]:
    """Run the daemon on the same database; give its process."""
    argv = [sys.executable, "-m", "halo_scheduler", "daemon"]
    with (desktop.folder / "log" / "daemon").open("ab") as log:
        process = subprocess.Popen(argv, env=desktop.environment, stderr=log)
    try:
        desktop.expect(process.pid)
        yield process.pid
    finally:
        end(process)
