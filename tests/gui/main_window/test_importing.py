"""Importing jobs in the window: the same review as `halo import`, then all or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from job_values import NOW
from machine import Bench
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QFileDialog,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from halo_scheduler import Command, Cron
from halo_scheduler.model import JobStatus
from halo_scheduler.transfer.job_files import read_file
from ui.backend.backend import Backend
from ui.main_window.importing import ImportDialog, JobExport
from ui.style.theme import Appearance

_CRONTAB = "0 3 * * * /opt/tidy --all\n*/5 * * * * /opt/look\n"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "halo.db", now_ms=NOW)
    yield made
    made.close()


@pytest.fixture
def dialog(bench: Bench, qapp: QApplication, qtbot: QtBot) -> ImportDialog:
    made = ImportDialog(Backend.inline(bench.scheduler, bench.clock, qapp), Appearance())
    qtbot.addWidget(made)
    made.show()
    return made


def _button(dialog: ImportDialog, name: str) -> QPushButton:
    found = dialog.findChild(QPushButton, name)
    assert found is not None
    return found


def _check(dialog: ImportDialog, name: str) -> QCheckBox:
    found = dialog.findChild(QCheckBox, name)
    assert found is not None
    return found


def _review(dialog: ImportDialog) -> str:
    found = dialog.findChild(QPlainTextEdit, "importReview")
    assert found is not None
    return found.toPlainText()


def _refusal(dialog: ImportDialog) -> str:
    found = dialog.findChild(QLabel, "importError")
    assert found is not None
    return found.text()


def _file(folder: Path, text: str, name: str = "jobs.cron") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def _read(dialog: ImportDialog, qtbot: QtBot, *files: str) -> None:
    dialog.read(files)
    qtbot.waitUntil(lambda: bool(_review(dialog) or _refusal(dialog)))


def test_nothing_is_imported_before_a_file_was_reviewed(dialog: ImportDialog) -> None:
    assert not _button(dialog, "importButton").isEnabled()


def test_a_file_is_reviewed_then_imported_paused(
    bench: Bench, dialog: ImportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    _read(dialog, qtbot, _file(tmp_path, _CRONTAB))
    assert "New, paused until you resume them:" in _review(dialog)
    assert "+ tidy" in _review(dialog)
    assert "/opt/tidy --all" in _review(dialog)
    assert bench.scheduler.list_jobs() == []
    assert _refusal(dialog) == ""
    assert _button(dialog, "importButton").text() == "Import 2 jobs"
    _button(dialog, "importButton").click()
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert {(job.name, job.status) for job in bench.scheduler.list_jobs()} == {
        ("tidy", JobStatus.PAUSED),
        ("look", JobStatus.PAUSED),
    }


def test_new_jobs_run_at_once_if_that_is_chosen(
    bench: Bench, dialog: ImportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    _read(dialog, qtbot, _file(tmp_path, _CRONTAB))
    _check(dialog, "importEnable").click()
    assert "paused" not in _review(dialog)
    _button(dialog, "importButton").click()
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert {job.status for job in bench.scheduler.list_jobs()} == {JobStatus.IDLE}


def test_errors_keep_everything_out_until_they_are_skipped(
    bench: Bench, dialog: ImportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    _read(dialog, qtbot, _file(tmp_path, _CRONTAB), _file(tmp_path, "0 25 * * * /opt/never\n", "bad.cron"))
    assert "■" in _review(dialog)
    assert _refusal(dialog) == "1 error, listed at the end."
    assert not _button(dialog, "importButton").isEnabled()
    _check(dialog, "importSkip").click()
    _button(dialog, "importButton").click()
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert {job.name for job in bench.scheduler.list_jobs()} == {"tidy", "look"}


@pytest.mark.parametrize(("name", "text"), [("empty.yaml", ""), ("broken.json", "{"), ("gone.cron", None)])
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(
    dialog: ImportDialog, qtbot: QtBot, tmp_path: Path, name: str, text: str | None
) -> None:
    _read(dialog, qtbot, str(tmp_path / name) if text is None else _file(tmp_path, text, name))
    assert _refusal(dialog)
    assert not _button(dialog, "importButton").isEnabled()


def test_unchanged_jobs_need_no_import(
    bench: Bench, dialog: ImportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    file = _file(tmp_path, _CRONTAB)
    _read(dialog, qtbot, file)
    _button(dialog, "importButton").click()
    qtbot.waitUntil(lambda: not dialog.isVisible())
    _read(dialog, qtbot, file)
    assert "Unchanged: 2 jobs" in _review(dialog)
    assert not _button(dialog, "importButton").isEnabled()
    assert len(bench.scheduler.list_jobs()) == 2


def test_an_archive_brings_its_settings_and_runs(
    bench: Bench, dialog: ImportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    other = Bench(tmp_path / "other" / "halo.db", now_ms=NOW)
    other.scheduler.settings.change(max_concurrent=9)
    other.scheduler.imports.apply(other.scheduler.imports.plan(read_file(_file(tmp_path, _CRONTAB))))
    path = tmp_path / "halo-archive.gz"
    with path.open("wb") as file:
        other.scheduler.backups.write_archive(file, with_output=False, progress=lambda _count: None)
    other.close()
    _read(dialog, qtbot, str(path))
    assert "max_concurrent: 5 → 9" in _review(dialog)
    _button(dialog, "importButton").click()
    qtbot.waitUntil(lambda: not dialog.isVisible())
    assert bench.scheduler.settings.read().max_concurrent == 9


def test_the_own_crontab_is_a_click_away(
    bench: Bench, dialog: ImportDialog, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "crontab"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{_CRONTAB}END\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    _button(dialog, "importCrontabButton").click()
    qtbot.waitUntil(lambda: "tidy" in _review(dialog))
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    _button(dialog, "importCrontabButton").click()
    qtbot.waitUntil(lambda: _refusal(dialog) == "You have no crontab.")
    assert not _review(dialog)
    assert not _button(dialog, "importButton").isEnabled()
    assert bench.scheduler.list_jobs() == []


def test_a_missing_secret_is_reported_after_the_import(
    dialog: ImportDialog, qtbot: QtBot, tmp_path: Path
) -> None:
    action = "{kind: command, argv: [curl], environment: {K: '${secret:K}'}}"
    text = f"jobs: [{{name: call, schedule: {{every: 1h}}, action: {action}}}]\n"
    told: list[str] = []
    dialog.done_with.connect(told.append)
    _read(dialog, qtbot, _file(tmp_path, f"version: 1\n{text}", "jobs.yaml"))
    _button(dialog, "importButton").click()
    qtbot.waitUntil(lambda: bool(told))
    assert told == ["The secret K isn't set. Add it in Settings."]


@pytest.mark.parametrize(
    ("name", "begins"), [("jobs.yaml", "# Jobs of Halo"), ("jobs.json", "{"), ("j.crontab", "# ")]
)
def test_all_jobs_are_exported_in_the_format_of_the_file_name(
    bench: Bench, qtbot: QtBot, tmp_path: Path, name: str, begins: str
) -> None:
    window, exporting = _exporting(bench, qtbot)
    bench.scheduler.add_job("tidy", Cron("0 3 * * *"), action=Command(argv=("/opt/tidy",)))
    exporting.start()
    dialog = window.findChild(QFileDialog, "exportJobsDialog")
    assert dialog is not None
    dialog.filterSelected.emit("JSON (*.json)")
    assert dialog.defaultSuffix() == "json"
    with qtbot.waitSignal(exporting.done_with) as done:
        dialog.fileSelected.emit(str(tmp_path / name))
    assert done.args[0].startswith(f"Exported 1 job to {tmp_path / name}.")
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.startswith(begins)
    assert "/opt/tidy" in text
    dialog.close()


def test_an_export_that_cannot_be_written_says_why(bench: Bench, qtbot: QtBot, tmp_path: Path) -> None:
    _window, exporting = _exporting(bench, qtbot)
    with qtbot.waitSignal(exporting.done_with) as done:
        exporting.write(str(tmp_path / "gone" / "jobs.yaml"))
    assert done.args[0].startswith(f"Could not write {tmp_path / 'gone' / 'jobs.yaml'}: ")


def _exporting(bench: Bench, qtbot: QtBot) -> tuple[QWidget, JobExport]:
    window = QWidget()
    qtbot.addWidget(window)
    return window, JobExport(Backend.inline(bench.scheduler, bench.clock), window)
