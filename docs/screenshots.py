"""Make the pictures of the README and the manual: windows as PNG, terminals and drawings as SVG."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import clock_pictures
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, MONOKAI
from rich.text import Text

from halo_scheduler.model.settings import PRESETS

_PICTURES = Path(__file__).parent / "screenshots"
_WINDOWS = Path(__file__).parent / "window_pictures.py"
_THEMES = {"light": DEFAULT_TERMINAL_THEME, "dark": MONOKAI}
_COMMANDS = {
    "preview": ["preview", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2027-03-26 12:00"],
}
_WIDTH = 108
# A picture that fetches nothing from anywhere: no web fonts.
_SVG = """\
<svg viewBox="0 0 {width} {height}" width="{width}" xmlns="http://www.w3.org/2000/svg">
  <style>
    .{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; }}
    {styles}
  </style>
  <defs><clipPath id="{unique_id}-clip-terminal">
    <rect width="{terminal_width}" height="{terminal_height}"/>
  </clipPath>{lines}</defs>
  {chrome}
  <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">{matrix}</g>
  </g>
</svg>
"""


def main() -> None:
    """Take every picture in both themes, and the first also for fine screens."""
    _PICTURES.mkdir(exist_ok=True)
    _take_terminals()
    clock_pictures.write_all(_PICTURES)
    with _display() as display, tempfile.TemporaryDirectory() as home:
        _install_agents(Path(home))
        for theme in _THEMES:
            _take_windows(display, home, 1, theme, theme)
            _take_windows(display, home, 2, theme, f"{theme}-2x", "window")


def _install_agents(home: Path) -> None:
    """Put programs where those of a user are, so that the settings find the agents they know."""
    folder = home / ".local" / "bin"
    folder.mkdir(parents=True)
    for agent in PRESETS:
        program = folder / agent.argv[0]
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o700)
    (home / ".profile").write_text('PATH="$HOME/.local/bin:$PATH"\n', encoding="utf-8")


def _take_windows(display: str, home: str, scale: int, *words: str) -> None:
    environment = {
        **os.environ,
        "DISPLAY": display,
        "HOME": home,
        "SHELL": "/bin/sh",
        "XDG_CONFIG_HOME": home,
        "HALO_HOME": home,
        "LC_ALL": "C.UTF-8",
        "TZ": "Europe/Berlin",
        "QT_QPA_PLATFORM": "xcb",
        "QT_SCALE_FACTOR": str(scale),
    }
    arguments = [sys.executable, str(_WINDOWS), str(_PICTURES), *words]
    subprocess.run(arguments, env=environment, check=True)  # noqa: S603 - our own words


@contextmanager
def _display() -> Iterator[str]:
    """Run an X server without a screen, large enough for windows of double size."""
    read_end, write_end = os.pipe()
    arguments = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "2600x1800x24", "-nolisten", "tcp"]
    server = subprocess.Popen(arguments, pass_fds=[write_end], stderr=subprocess.DEVNULL)  # noqa: S603
    os.close(write_end)
    try:
        with os.fdopen(read_end) as numbers:
            yield f":{numbers.readline().strip()}"
    finally:
        server.terminate()
        server.wait(10)


def _take_terminals() -> None:
    for name, arguments in _COMMANDS.items():
        shown = _on_a_terminal(arguments)
        for theme_name, theme in _THEMES.items():
            console = Console(record=True, width=_WIDTH, file=io.StringIO(), color_system="truecolor")
            console.print(Text.from_ansi(f"$ halo {' '.join(map(_quoted, arguments))}\n{shown}"))
            picture = console.export_svg(
                title="", theme=theme, code_format=_SVG, unique_id=f"halo-{theme_name}"
            )
            (_PICTURES / f"{name}-{theme_name}.svg").write_text(picture, encoding="utf-8")


def _on_a_terminal(arguments: list[str]) -> str:
    """Run `halo` on a pseudo-terminal and return what it writes there."""
    written = bytearray()

    def read(descriptor: int) -> bytes:
        chunk = os.read(descriptor, 65_536)
        written.extend(chunk)
        return b" " if chunk else b""

    output = os.dup(1)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        pty.spawn([str(Path(sys.executable).parent / "halo"), *arguments], read)
        os.dup2(output, 1)
    return written.decode().replace("\r\n", "\n").rstrip()


def _quoted(argument: str) -> str:
    return f'"{argument}"' if " " in argument else argument


if __name__ == "__main__":
    main()
