"""Runs in a file: a table that runs nothing, data that can be read back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from halo_scheduler import Outcome, Run, Source, Trigger
from ui.history.choice import JobName
from ui.history.export import COLUMNS, ExportError, Format, Page, export, write_csv, write_json


def _run(**rest: Any) -> Run:
    given: dict[str, Any] = {
        "id": "r1",
        "job_id": "j1",
        "trigger": Trigger.SCHEDULE,
        "source": Source.EVERY,
        "started_at": 1_000,
    }
    return Run(**(given | {"outcome": Outcome.FAILURE, "finished_at": 3_500} | rest))


def _page(*runs: Run, name: str = "backup") -> list[Page]:
    return [(list(runs), {"j1": JobName(name)})]


def _table(pages: list[Page]) -> list[dict[str, str]]:
    file = io.StringIO(newline="")
    list(write_csv(file, pages))
    file.seek(0)
    return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "hostile",
    [
        '=HYPERLINK("http://evil","click")',
        "+1+1",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "  =1",
        "\ufeff=1",
        "＝1",
        "|calc",
        "%0A=1",
    ],
)
def test_no_cell_is_a_formula(hostile: str) -> None:
    (row,) = _table(_page(_run(error=hostile, note=hostile), name=hostile))
    for column in ("error", "note", "job"):
        assert row[column] == f"'{hostile}"


def test_no_item_is_a_formula() -> None:
    hostile = '=HYPERLINK("http://evil","click")'
    (row,) = _table(_page(_run(work_id=hostile, work_title=hostile, work_url=hostile)))
    assert [row["work_id"], row["work_title"], row["work_url"]] == [f"'{hostile}"] * 3


def test_costs_and_items_are_in_both_kinds_of_file() -> None:
    run = _run(cost=0.12, work_id="42", work_title="Fix the login", work_url="https://tracker.example/42")
    wanted = {"work_id": "42", "work_title": "Fix the login", "work_url": "https://tracker.example/42"}
    (row,) = _table(_page(run))
    assert wanted.items() <= row.items()
    assert row["cost"] == "0.12"
    file = io.StringIO()
    list(write_json(file, _page(run)))
    (found,) = json.loads(file.getvalue())
    assert wanted.items() <= found.items()
    assert found["cost"] == 0.12
    assert _table(_page(_run()))[0]["cost"] == ""


def test_harmless_cells_stay_as_they_are() -> None:
    text = 'a "quoted", <b>bold</b> line\nand another; 🎉 שלום'
    (row,) = _table(_page(_run(error=text, exit_code=-9), name="a-b"))
    assert [row["error"], row["job"], row["exit_code"]] == [text, "a-b", "-9"]


def test_a_row_has_everything(machine_in_berlin: None) -> None:  # noqa: ARG001 - a place
    (row,) = _table(_page(_run(slot_at=0, exit_code=3, late_ms=5, attempt=2)))
    assert tuple(row) == COLUMNS
    assert row["outcome"] == "failure"
    assert (row["started"], row["utc_offset"]) == ("1970-01-01 01:00:01", "UTC+01:00")
    assert [row["duration_ms"], row["late_ms"], row["attempt"], row["http_status"]] == ["2500", "5", "2", ""]


def test_data_can_be_read_back() -> None:
    file = io.StringIO()
    counts = list(write_json(file, [*_page(_run(), _run(id="r2", error="=1")), ([_run(id="r3")], {})]))
    runs = json.loads(file.getvalue())
    assert counts == [2, 3]
    assert [run["id"] for run in runs] == ["r1", "r2", "r3"]
    assert [run["job"] for run in runs] == ["backup", "backup", ""]
    assert [runs[1]["error"], runs[0]["started_at"], runs[0]["duration_ms"]] == ["=1", 1_000, 2_500]


def test_no_runs_are_an_empty_list() -> None:
    file = io.StringIO()
    assert list(write_json(file, [])) == []
    assert json.loads(file.getvalue()) == []


def test_a_table_says_that_it_is_unicode(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    assert list(export(path, Format.CSV, _page(_run(error="größer")))) == [1]
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert "größer" in path.read_text("utf-8-sig")


def test_a_lone_surrogate_does_not_end_the_export(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    assert list(export(path, Format.JSON, _page(_run(error="\udcff")))) == [1]
    assert json.loads(path.read_text("utf-8"))[0]["id"] == "r1"


def test_an_incomplete_export_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("from before")
    exporting = export(path, Format.CSV, [*_page(_run()), *_page(_run(id="r2"))])
    assert isinstance(exporting, Iterator)
    assert next(exporting) == 1
    exporting.close()  # type: ignore[attr-defined]  # it is a generator
    assert path.read_text() == "from before"
    assert list(tmp_path.iterdir()) == [path]


def test_an_unwritable_destination_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"could not write runs\.csv: .*; choose another location"):
        list(export(tmp_path / "none" / "runs.csv", Format.CSV, _page(_run())))
