"""`halo daemon`: the engine without a window."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable, MutableMapping
from typing import Self

import click

from halo_scheduler.clock import Clock, SystemClock
from halo_scheduler.errors import SchedulerShutdownError
from halo_scheduler.grammar.checks import require_interval
from halo_scheduler.host.core_dumps import CORE_LIMIT
from halo_scheduler.host.signals import StopSignals
from halo_scheduler.service.scheduler import Scheduler

_PINGS_PER_LIMIT = 4
# More microseconds than that are no limit, but a mistake.
_MOST_DIGITS = 18

_LOG = logging.getLogger("halo")
_FAILED = 1


class ServiceManager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address: str, watchdog_ms: int, clock: Clock) -> None:
        """`watchdog_ms` is after how long without a ping the manager takes the process for hung; 0 for never."""
        self._address = address
        self.ping_interval_ms = watchdog_ms // _PINGS_PER_LIMIT
        """How often the manager needs to hear that the process works; 0 for never."""
        self._clock = clock
        self._pinged_ms: int | None = None

    @classmethod
    def take(cls, environment: MutableMapping[str, str], clock: Clock) -> Self:
        """Find the manager, and remove every trace of it from the environment: jobs must not speak for us."""
        address = environment.pop("NOTIFY_SOCKET", "")
        limit_us = environment.pop("WATCHDOG_USEC", "")
        is_ours = environment.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        is_limit = limit_us.isdecimal() and len(limit_us) <= _MOST_DIGITS
        watchdog_ms = int(limit_us) // 1_000 if is_limit and is_ours else 0
        return cls(address, watchdog_ms, clock)

    def tell_ready(self, status: str) -> None:
        """Say that the start is done."""
        self._tell(f"READY=1\nSTATUS={_line(status)}")

    def tell_stopping(self, status: str) -> None:
        """Say that the end has begun."""
        self._tell(f"STOPPING=1\nSTATUS={_line(status)}")

    def tell_status(self, status: str) -> None:
        self._tell(f"STATUS={_line(status)}")

    def ping(self) -> None:
        """Say that the process works, but no more often than the manager needs to hear it."""
        now_ms = self._clock.monotonic_ms()
        is_soon = self._pinged_ms is not None and now_ms - self._pinged_ms < self.ping_interval_ms
        if self.ping_interval_ms and not is_soon:
            self._pinged_ms = now_ms
            self._tell("WATCHDOG=1")

    def _tell(self, message: str) -> None:
        if not self._address or not hasattr(socket, "AF_UNIX"):
            return
        # An @ stands for a name that is in no folder.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
                connection.setblocking(False)
                connection.sendto(message.encode(), address)
        except OSError:
            return  # Nobody hears it, and that is no reason not to run the jobs.


def _line(text: str) -> str:
    return " ".join(text.split())


@click.command()
@click.option(
    "--stop-timeout",
    metavar="30s",
    default="30s",
    show_default=True,
    help="How long to wait for runs to end.",
)
@click.option("-v", "--verbose", is_flag=True, help="Tell of every run, not only of what needs attention.")
@click.option("--leave-running", is_flag=True, help="Let runs that do not end in time live on.")
def daemon(*, stop_timeout: str, verbose: bool, leave_running: bool) -> None:
    """Run the jobs without a window until SIGTERM or Ctrl-C.

    \b
    Examples:
      halo daemon
      halo daemon --verbose --stop-timeout 5m

    On the first signal nothing new is started and runs may end. Those that do not in time are stopped,
    and the exit code is 1; with --leave-running they live on, and the next engine takes them up. A second
    signal leaves at once, and them running.
    """
    _log_to_stderr(logging.INFO if verbose else logging.WARNING)
    sys.exit(
        run_daemon(
            stop_timeout_ms=require_interval("--stop-timeout", stop_timeout), end_runs=not leave_running
        )
    )


def run_without_window() -> int:
    """Run the jobs for someone who only said `halo` where there is no display, and tell them how to go on."""
    _log_to_stderr(logging.WARNING)
    click.echo(
        "halo: there is no display here, so the jobs are run without a window; Ctrl-C ends it", err=True
    )
    click.echo(
        "halo: add jobs from another terminal, like: halo add hello --every 1m -- echo hello", err=True
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
    """Run an engine on the default database until a signal and return the exit code.

    `prepare` may register handlers first.
    """
    from PySide6.QtCore import QCoreApplication, QSocketNotifier  # noqa: PLC0415 - Qt, for those who need it

    CORE_LIMIT.lower()
    manager = ServiceManager.take(os.environ, clock or SystemClock())
    application = QCoreApplication.instance() or QCoreApplication(["halo"])
    with Scheduler.open(clock=clock, owner="the Halo daemon") as scheduler, StopSignals() as signals:
        prepare(scheduler)
        scheduler.subscribe(lambda change: _LOG.info("%s %s", change.kind, change.job_id or ""))
        scheduler.start(
            adopt_orphans=True, heartbeat=manager.ping, heartbeat_ms=manager.ping_interval_ms or None
        )
        scheduler.subscribe(
            lambda _change: None if scheduler.engine.is_running else application.exit(_FAILED)
        )
        click.echo(f"halo: running the jobs of {scheduler.path}", err=True)
        manager.tell_ready(f"running the jobs of {scheduler.path}")
        notifier = QSocketNotifier(signals.fileno(), QSocketNotifier.Type.Read)
        notifier.activated.connect(lambda: signals.is_asked_to_stop() and application.quit())
        exit_code = application.exec()
        notifier.setEnabled(False)
        if exit_code:
            return exit_code
        click.echo("halo: stopping; a second signal leaves at once", err=True)
        manager.tell_stopping("waiting for runs to end")
        signals.leave_on_next()
        try:
            scheduler.stop(timeout_ms=stop_timeout_ms, end_runs=end_runs)
        except SchedulerShutdownError as error:
            click.echo(f"halo: {error}", err=True)
            return _FAILED
    return 0
