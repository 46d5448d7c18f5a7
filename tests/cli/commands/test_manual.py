"""`halo manual`: where the manual is, or how it is built."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from halo_scheduler import paths
from halo_scheduler.cli import halo, main


def _put_resources(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.resources.files", lambda _package: folder)


def test_the_page_of_a_built_manual_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "manual" / "index.html"
    page.parent.mkdir()
    page.touch()
    _put_resources(tmp_path, monkeypatch)
    assert paths.manual_page() == page
    assert CliRunner().invoke(halo, ["manual"]).output == f"{page}\n"


def test_a_manual_that_is_not_built_is_one_sentence_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _put_resources(tmp_path, monkeypatch)
    with pytest.raises(SystemExit) as left:
        main(["manual"])
    assert left.value.code == 1
    assert (
        capsys.readouterr().err
        == 'halo: the manual isn\'t built here; in the source folder, run "make docs"\n'
    )
