"""Make the pictures of the README: what the program shows on a real terminal, as SVG."""

from __future__ import annotations

import io
import os
import pty
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, MONOKAI
from rich.text import Text

_PICTURES = Path(__file__).parent / "screenshots"
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
    """Take every picture in both themes."""
    _PICTURES.mkdir(exist_ok=True)
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
