"""Starting the program when the user logs in, on each system in its own way."""

from halo_scheduler.host.autostart.choose import Autostart, login_command, system_autostart

__all__ = ["Autostart", "login_command", "system_autostart"]
