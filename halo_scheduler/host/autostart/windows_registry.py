"""The user's part of the Windows registry."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import winreg

    class WindowsRegistry:
        """Values under HKEY_CURRENT_USER."""

        def read(self, key: str, name: str) -> object:
            """Return a value; None when there is none."""
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key) as opened:
                    return winreg.QueryValueEx(opened, name)[0]
            except FileNotFoundError:
                return None

        def write(self, key: str, name: str, text: str) -> None:
            """Store a text, and make the key if need be."""
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, key) as opened:
                winreg.SetValueEx(opened, name, 0, winreg.REG_SZ, text)

        def delete(self, key: str, name: str) -> None:
            """Remove a value, if it is there."""
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key, 0, winreg.KEY_SET_VALUE) as opened:
                    winreg.DeleteValue(opened, name)
            except FileNotFoundError:
                return
