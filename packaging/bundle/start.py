"""The program of the bundle: `halo`, which also stands for the interpreter that `sys.executable` names elsewhere."""

import os
import sys
from pathlib import Path

_MODULE = (["-P", "-m"], ["-m"])
# Where systems keep the certificates that OpenSSL looks for; the bundled one knows only Debian's place.
_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
)


# What an AppImage tells the program inside; jobs that are AppImages themselves must not see it.
_APPIMAGE = ("APPIMAGE", "APPDIR", "ARGV0", "OWD")


def main() -> None:
    """Start the desktop program for `-P -m ui`, else the command."""
    _give_back_environment()
    arguments = sys.argv[1:]
    for option in _MODULE:
        if arguments[: len(option)] == option:
            module, *arguments = arguments[len(option) :]
            if module == "ui":
                from ui.app.start import main as open_desktop  # noqa: PLC0415 - Qt, for those who want a window

                open_desktop(arguments)
            break
    from halo_scheduler.cli import main as run_command  # noqa: PLC0415 - not with the window

    run_command(arguments)


def _give_back_environment() -> None:
    """Take back what the loader set for itself: jobs would load our libraries instead of their own."""
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    os.environ.pop("LD_LIBRARY_PATH", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before
    for name in [name for name in os.environ if name.startswith("_PYI_")]:
        del os.environ[name]
    _leave_appimage()
    if sys.platform.startswith("linux") and not os.environ.get("SSL_CERT_FILE"):
        found = next((place for place in _CERTIFICATES if Path(place).exists()), None)
        if found not in (None, _CERTIFICATES[0]):
            os.environ["SSL_CERT_FILE"] = str(found)


def _leave_appimage() -> None:
    """Start further processes from the AppImage: where it is mounted is gone when this process ends."""
    folder, image = os.environ.get("APPDIR", ""), os.environ.get("APPIMAGE", "")
    if folder and image and Path(sys.executable).is_relative_to(folder):
        sys.executable = image
        for name in _APPIMAGE:
            os.environ.pop(name, None)


if __name__ == "__main__":
    main()
