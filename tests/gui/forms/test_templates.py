"""Templates are jobs that could be saved as they are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from halo_scheduler.model import Backoff, Command, JobSpec, Notify, Reminder
from ui.forms.templates import TEMPLATES
from ui.style.icons import draw


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("key", list(TEMPLATES))
def test_a_template_is_a_whole_job_with_words_and_an_icon(key: str) -> None:
    template = TEMPLATES[key]
    assert JobSpec.from_dict(template.spec.to_dict()) == template.spec
    assert template.title
    assert template.sentence.endswith(".")
    assert not draw(template.icon, 16, "black").isNull()


def test_the_reminder_reminds() -> None:
    assert TEMPLATES["reminder"].spec.action == Reminder(title="Time to stand up and stretch")


def test_the_website_check_keeps_running_while_the_site_is_down() -> None:
    policy = TEMPLATES["website"].spec.policy
    assert (policy.max_errors, policy.time_limit, policy.notify) == (0, "30s", Notify.FAILURES)
    assert policy.backoff == Backoff.none()


def test_the_backup_keeps_the_last_seven(tmp_path: Path) -> None:
    action = TEMPLATES["backup"].spec.action
    assert isinstance(action, Command)
    folder, backups = tmp_path / "My documents", tmp_path / "Backups"
    folder.mkdir()
    backups.mkdir()
    (folder / "note.txt").write_text("hello")
    for day in range(1, 10):
        (backups / f"My documents-2020-01-0{day}.tar.gz").touch()
    (backups / "other.tar.gz").touch()
    subprocess.run(
        [action.shell, "-c", action.line], cwd=folder, env={**os.environ, "HOME": str(tmp_path)}, check=True
    )
    kept = sorted(path.name for path in backups.iterdir())
    assert len(kept) == 8  # With the file of somebody else.
    assert kept[0] == "My documents-2020-01-04.tar.gz"
    newest = backups / kept[-2]
    listed = subprocess.run(["tar", "-tzf", newest], capture_output=True, check=True, text=True).stdout
    assert "My documents/note.txt" in listed.splitlines()


def test_templates_have_names_of_their_own() -> None:
    assert len({template.spec.name for template in TEMPLATES.values()}) == len(TEMPLATES)
