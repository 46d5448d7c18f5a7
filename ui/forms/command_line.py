"""Command lines of jobs and agents: as typed, as framed arguments, and whether their programs exist."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from halo_scheduler.errors import ScheduleError
from halo_scheduler.model import Prompt
from halo_scheduler.model.settings import PROMPT, PROMPT_FILE, Agent, Delivery
from halo_scheduler.service.scheduler import Scheduler
from ui.style.theme import GRID, HALF, Appearance, mono_font, small_font
from ui.style.wording import one_line

_SHELL_WORDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>"})
_PATTERN_SIGNS = frozenset("*?$`~")
_SIGNS = {Delivery.ARGUMENT: PROMPT, Delivery.FILE: PROMPT_FILE}
_MOST_LINES = 3
_LONGEST = 60
_MOST = 200


def split_line(line: str) -> tuple[str, ...]:
    """Return the arguments of a line, or raise ScheduleError for an unclosed quote."""
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        fault = (
            "the line ends with a backslash" if "escaped" in str(error) else "a quotation mark isn't closed"
        )
        raise ScheduleError(f"can't read the arguments: {fault}", path="argv") from None


def shell_signs(line: str) -> list[str]:
    """Return the unquoted pipes, wildcards and variables of a line, which only a shell would interpret."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    found = [
        word
        for word in words
        if word in _SHELL_WORDS
        or (not word.startswith(("'", '"')) and not word.startswith("~/") and _PATTERN_SIGNS & set(word))
    ]
    return list(dict.fromkeys(found))


def agent_line(argv: tuple[str, ...]) -> str:
    """Return the line that splits into these arguments; the placeholder is not quoted."""
    return " ".join(word if word in _SIGNS.values() else shlex.quote(word) for word in argv)


def delivery_of(argv: tuple[str, ...]) -> Delivery:
    """Return how these arguments pass the prompt, valid or not."""
    rest = " ".join(argv[1:])
    return next((way for way, sign in _SIGNS.items() if sign in rest), Delivery.STDIN)


def with_delivery(argv: tuple[str, ...], delivery: Delivery) -> tuple[str, ...]:
    """Return arguments that pass the prompt in another way; the placeholder keeps its position or comes last."""
    if not argv or delivery is delivery_of(argv):
        return argv
    if delivery is Delivery.STDIN:
        return argv[:1] + tuple(
            word for word in argv[1:] if not any(sign in word for sign in _SIGNS.values())
        )
    wanted = _SIGNS[delivery]
    others = [sign for sign in _SIGNS.values() if sign != wanted]
    rest = argv[1:]
    for sign in others:
        rest = tuple(word.replace(sign, wanted) for word in rest)
    return (argv[0], *rest) if any(wanted in word for word in rest) else (*argv, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUsers:
    """The names of the jobs that name an agent, and of those that use the default."""

    by_agent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    of_default: tuple[str, ...] = ()

    def naming(self, agent: str) -> tuple[str, ...]:
        """Return the jobs that name an agent."""
        return self.by_agent.get(agent, ())

    def of(self, agent: str, default: str) -> tuple[str, ...]:
        """Return the jobs that use an agent, by name or as the default."""
        return self.naming(agent) + (self.of_default if agent == default else ())


def read_users(scheduler: Scheduler) -> AgentUsers:
    """Return which jobs use which agents."""
    found: dict[str, list[str]] = {}
    for page in scheduler.jobs.in_pages():
        for job in page:
            if isinstance(job.action, Prompt):
                found.setdefault(job.action.agent, []).append(job.name)
    of_default = tuple(found.pop("", []))
    return AgentUsers(by_agent={name: tuple(jobs) for name, jobs in found.items()}, of_default=of_default)


def missing_programs(agents: Iterable[Agent], search_path: str) -> frozenset[str]:
    """Return the programs of agents that are not on the search path of jobs."""
    programs = {agent.argv[0] for agent in agents}
    return frozenset(program for program in programs if not _is_there(program, search_path))


def _is_there(program: str, search_path: str) -> bool:
    full = os.path.expanduser(program)  # noqa: PTH111 - a name without a folder stays one
    if os.path.dirname(full) and not os.path.isabs(full):  # noqa: PTH117, PTH120
        # Relative to the directory of the job, so it cannot be checked here.
        return True
    return shutil.which(full, path=search_path) is not None


class ArgumentChips(QWidget):
    """Shows how a command line is split, in a few lines at most."""

    def __init__(self, appearance: Appearance, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._appearance = appearance
        self._texts: list[str] = []
        self.setFont(mono_font(small_font(self.font())))
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        appearance.changed.connect(self.update)
        self.hide()

    def show_arguments(self, arguments: tuple[str, ...]) -> None:
        """Show the arguments; hidden for a single one."""
        self._texts = [one_line(text, _LONGEST) or "''" for text in arguments[:_MOST]]
        self.setVisible(len(self._texts) > 1)
        self.setAccessibleName(self.tr("Runs: {arguments}").format(arguments=" · ".join(self._texts)))
        self.updateGeometry()
        self.update()

    def _placed(self, width: int) -> tuple[list[tuple[QRectF, str]], int]:
        """Return the position of each chip, and how many do not fit."""
        metrics = QFontMetrics(self.font())
        height = metrics.height() + HALF
        x, y = 0, 0
        placed: list[tuple[QRectF, str]] = []
        room_for_rest = metrics.horizontalAdvance("+ 999") + GRID
        for index, text in enumerate(self._texts):
            needed = min(metrics.horizontalAdvance(text) + GRID * 2, width)
            is_last_line = y >= (_MOST_LINES - 1) * (height + HALF)
            if is_last_line and x + needed > width - room_for_rest and x:
                return placed, len(self._texts) - index
            if x and x + needed > width:
                x, y = 0, y + height + HALF
            placed.append((QRectF(x, y, needed, height), text))
            x += needed + HALF
        return placed, 0

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        placed, _ = self._placed(width)
        return int(placed[-1][0].bottom()) + 1 if placed else 0

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(320, self.heightForWidth(self.width() or 320))

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        placed, left_out = self._placed(self.width())
        colours = self._appearance.colours
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetrics(self.font())
        for index, (box, text) in enumerate(placed):
            painter.setPen(QPen(QColor(colours.line)))
            painter.setBrush(QColor(colours.selected if index == 0 else colours.sunken))
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), HALF, HALF)
            painter.setPen(QColor(colours.text))
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, int(box.width()) - GRID)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, shown)
        if left_out and placed:
            last = placed[-1][0]
            painter.setPen(QColor(colours.muted))
            rest = QRectF(last.right() + GRID, last.top(), self.width() - last.right() - GRID, last.height())
            painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter, f"+ {left_out}")
        painter.end()
