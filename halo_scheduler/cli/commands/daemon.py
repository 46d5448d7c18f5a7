"""`halo daemon`, the engine without a window; and `halo` without a command, the desktop program."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, MutableMapping
from typing import Self

import click

from halo_scheduler.clock import Clock, SystemClock
from halo_scheduler.errors import SchedulerShutdownError
from halo_scheduler.grammar.checks import require_interval
from halo_scheduler.host.crash_file import crash_file
from halo_scheduler.host.process import CORE_LIMIT
from halo_scheduler.host.signals import StopSignals
from halo_scheduler.service.scheduler import Scheduler

_PINGS_PER_LIMIT = 4
# More digits are a mistake, not a limit.
_MOST_DIGITS = 18
_FAILED = 1
# A shorter switch interval: due jobs wait less for threads with much to do, such as those of webhooks and chat.
_SWITCH_S = 0.001


def open_desktop(*, hidden: bool) -> int:
    """Replace this process with the desktop program; without a display, run the daemon and return its exit code."""
    if not _has_display():
        return run_without_window()
    # -P: a folder named "ui" in the current directory must not be imported.
    program = [sys.executable, "-P", "-m", "ui", *(["--hidden"] if hidden else [])]
    if os.name == "posix":
        os.execv(program[0], program)  # noqa: S606 - ourselves
    return subprocess.run(program, check=False).returncode  # noqa: S603 - ourselves


def _has_display() -> bool:
    """Tell whether a display is configured; the desktop program checks whether it works."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


class ServiceManager:
    """The service manager (systemd) at the other end of NOTIFY_SOCKET."""

    def __init__(self, address: str, watchdog_ms: int, clock: Clock) -> None:
        """Without a ping for `watchdog_ms`, the manager considers the process hung; 0 turns this off."""
        self._address = address
        self.ping_interval_ms = watchdog_ms // _PINGS_PER_LIMIT
        """How often the manager expects a ping; 0 for never."""
        self._clock = clock
        self._pinged_ms: int | None = None

    @classmethod
    def take(cls, environment: MutableMapping[str, str], clock: Clock) -> Self:
        """Read the manager's variables, and remove them from the environment: jobs must not notify it for us."""
        address = environment.pop("NOTIFY_SOCKET", "")
        limit_us = environment.pop("WATCHDOG_USEC", "")
        is_ours = environment.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        is_limit = limit_us.isdecimal() and len(limit_us) <= _MOST_DIGITS
        watchdog_ms = int(limit_us) // 1_000 if is_limit and is_ours else 0
        return cls(address, watchdog_ms, clock)

    def notify_ready(self, status: str) -> None:
        """Report that startup is complete."""
        self._notify(f"READY=1\nSTATUS={_line(status)}")

    def notify_stopping(self, status: str) -> None:
        """Report that shutdown has begun."""
        self._notify(f"STOPPING=1\nSTATUS={_line(status)}")

    def ping(self) -> None:
        """Report that the process works, but no more often than the manager expects."""
        now_ms = self._clock.monotonic_ms()
        is_soon = self._pinged_ms is not None and now_ms - self._pinged_ms < self.ping_interval_ms
        if self.ping_interval_ms and not is_soon:
            self._pinged_ms = now_ms
            self._notify("WATCHDOG=1")

    def _notify(self, message: str) -> None:
        if not self._address or not hasattr(socket, "AF_UNIX"):
            return
        # A leading @ means the abstract namespace.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
                connection.setblocking(False)
                connection.sendto(message.encode(), address)
        except OSError:
            return  # Jobs run without a manager too.


def _line(text: str) -> str:
    return " ".join(text.split())


@click.command()
@click.option(
    "--stop-timeout",
    metavar="30s",
    default="30s",
    show_default=True,
    help="How long to wait for current runs.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log every start, end and wait, not only problems.")
@click.option("--leave-running", is_flag=True, help="Let runs that don't finish in time keep running.")
def daemon(*, stop_timeout: str, verbose: bool, leave_running: bool) -> None:
    """Run jobs without a window, until SIGTERM or Ctrl-C.

    \b
    Examples:
      halo daemon
      halo daemon --verbose --stop-timeout 5m

    On the first signal, no new runs start and current ones may finish. Runs that don't finish in time are stopped
    and the exit code is 1; with --leave-running they keep running, and Halo picks them up at the next start. A
    second signal exits at once and leaves them running.
    """
    _log_to_stderr(logging.INFO if verbose else logging.WARNING)
    sys.exit(
        run_daemon(
            stop_timeout_ms=require_interval("--stop-timeout", stop_timeout), end_runs=not leave_running
        )
    )


def run_without_window() -> int:
    """Run jobs for a user who typed `halo` without a display, and print what to do next."""
    _log_to_stderr(logging.WARNING)
    click.echo("halo: no display found, running jobs without a window; press Ctrl-C to stop", err=True)
    click.echo(
        "halo: add jobs from another terminal, for example: halo add hello --every 1m -- echo hello", err=True
    )
    return run_daemon()


def _log_to_stderr(level: int) -> None:
    logging.basicConfig(
        stream=sys.stderr, level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )


def run_daemon(
    *,
    prepare: Callable[[Scheduler], None] = lambda _scheduler: None,
    clock: Clock | None = None,
    stop_timeout_ms: int = 30_000,
    end_runs: bool = True,
) -> int:
    """Run an engine on the default database until a signal, and return the exit code.

    `prepare` can register handlers before the engine starts.
    """
    from importlib.metadata import version  # noqa: PLC0415 - not for the help of this command

    from PySide6.QtCore import QCoreApplication, QSocketNotifier  # noqa: PLC0415 - loads Qt

    CORE_LIMIT.lower()
    sys.setswitchinterval(_SWITCH_S)
    manager = ServiceManager.take(os.environ, clock or SystemClock())
    application = QCoreApplication.instance() or QCoreApplication(["halo"])
    with (
        Scheduler.open(clock=clock, owner="the Halo daemon") as scheduler,
        crash_file(scheduler.path, "daemon", version("halo-scheduler")),
        StopSignals() as signals,
    ):
        prepare(scheduler)
        scheduler.start(
            adopt_orphans=True, heartbeat=manager.ping, heartbeat_ms=manager.ping_interval_ms or None
        )
        scheduler.subscribe(
            lambda _change: None if scheduler.engine.is_running else application.exit(_FAILED)
        )
        click.echo(f"halo: running jobs from {scheduler.path}", err=True)
        manager.notify_ready(f"running jobs from {scheduler.path}")
        notifier = QSocketNotifier(signals.fileno(), QSocketNotifier.Type.Read)
        notifier.activated.connect(lambda: signals.is_asked_to_stop() and application.quit())
        exit_code = application.exec()
        notifier.setEnabled(False)
        if exit_code:
            return exit_code
        click.echo("halo: stopping; a second signal exits at once", err=True)
        manager.notify_stopping("waiting for current runs")
        signals.leave_on_next()
        try:
            scheduler.stop(timeout_ms=stop_timeout_ms, end_runs=end_runs)
        except SchedulerShutdownError as error:
            click.echo(f"halo: {error}", err=True)
            return _FAILED
    return 0
