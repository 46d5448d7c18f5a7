"""`halo import` of what others wrote, and `halo apply`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from halo_scheduler import Command, Cron, Every, Job, Manual, OnSession
from halo_scheduler.cli import halo
from halo_scheduler.model import Entry, JobStatus, SessionEvent, StatusReason
from halo_scheduler.model.settings import QuietTime
from halo_scheduler.service.scheduler import Scheduler

_TRUE = Command(argv=("true",))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("halo_scheduler.cli.terminal.terminal._open_terminal", lambda: None)
    return tmp_path


@pytest.fixture
def folder(home: Path) -> Path:
    """A folder of job files, one of them in a folder of its own."""
    place = home / "jobs"
    (place / "night").mkdir(parents=True)
    _write(
        place / "report.yaml",
        "version: 1\nname: report\nschedule: manual\naction: {kind: command, argv: [r]}\n",
    )
    _write(
        place / "night" / "backup.json",
        '{"version": 1, "jobs": [{"name": "backup", "schedule": {"cron": "@daily"},'
        ' "action": {"kind": "command", "argv": ["b"]}, "followers": ["report"]}]}',
    )
    return place


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _halo(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(halo, [str(argument) for argument in arguments], input=stdin)


def _jobs() -> dict[str, Job]:
    with Scheduler.open() as scheduler:
        return {job.name: job for job in scheduler.list_jobs()}


def test_a_preview_keeps_the_blanks_of_commands() -> None:
    line = "tidy --except 'a  b'"
    assert line in _halo("import", "-", "--yes", stdin=f"# tidy up\n0 3 * * * {line}\n").stdout
    changed = _halo("export").stdout.replace("a  b", "a   b")
    assert f"{line} → tidy --except 'a   b'" in _halo("import", "-", "--yes", stdin=changed).stdout


def test_a_crontab_is_imported_from_standard_input() -> None:
    crontab = "MAILTO=me\n# tidy up\n0 3 * * * /opt/tidy\n@reboot /opt/start\n17 * * * * \n"
    refused = _halo("import", "-", "--yes", stdin=crontab)
    assert refused.exit_code != 0
    told = [line.partition(": ")[0::2] for line in refused.stdout.splitlines()[-4:]]
    assert [place for place, _ in told] == [
        "Skipped:",
        "  ◌ line 1",
        "Errors:",
        "  ■ line 5",
    ]
    assert told[1][1].startswith("MAILTO=me: Halo sends no mail")
    assert told[3][1].startswith("there is no command after the time")
    assert _halo("import", "-", "--yes", "--skip-bad", stdin=crontab).exit_code == 0
    jobs = _jobs()
    assert (jobs["tidy up"].schedule, jobs["tidy up"].status_reason) == (
        Cron("0 3 * * *"),
        StatusReason.IMPORTED,
    )
    assert jobs["start"].schedule == OnSession(SessionEvent.BOOT)
    assert "No changes." in _halo("import", "-", "--skip-bad", stdin=crontab).stdout


def test_a_line_that_is_a_job_of_another_name_already_names_it() -> None:
    crontab = "0 3 * * * find /tmp -mtime +7 -delete\n"
    assert (
        "it is paused; resume it with: halo resume --imported"
        in _halo("import", "-", "--yes", stdin=crontab).stdout
    )
    assert _halo("edit", "find", "--rename", "tidy").exit_code == 0
    assert _halo("import", "-", stdin=crontab).stdout == (
        "Unchanged: 1 job (tidy)\n  find is your job tidy: same schedule and command\nNo changes.\n"
    )


def test_files_of_agents_are_applied_and_their_jitter_is_shown(home: Path) -> None:
    folder = home / "agents"
    folder.mkdir()
    source = "work_source: {type: github}"
    _write(
        folder / "reviewer.yaml",
        f"{source}\nschedules:\n  daily: {{type: cron, cron: '@daily', prompt: x}}\n",
    )
    refused = _halo("apply", folder, "--yes")
    assert "add --repo owner/name" in refused.output
    done = _halo("import", folder / "reviewer.yaml", "--repo", "me/shop", "--yes")
    assert done.exit_code == 0, done.output
    assert "random delay up to 5 %" in done.stdout
    _write(folder / "reviewer.yaml", "schedules:\n  daily: {type: cron, cron: '@hourly', prompt: y}\n")
    assert _halo("apply", folder, "--yes").exit_code == 0
    job = _jobs()["reviewer/daily"]
    assert (job.schedule, job.policy.jitter_percent, job.group) == (Cron("@hourly"), 5, "reviewer")


@pytest.mark.parametrize("file", ["-", "crontab"])
def test_of_a_system_crontab_your_own_lines_are_imported(home: Path, file: str) -> None:
    me = Path(home).owner()
    crontab = f"# tidy up\n0 3 * * * {me} /opt/tidy\n2 * * * * logcheck /usr/sbin/logcheck\n"
    _write(home / "crontab", crontab)
    place = file if file == "-" else str(home / file)
    result = _halo("import", "--system", place, "--yes", stdin=crontab)
    assert result.exit_code == 0, result.output
    assert "line 3: 2 * * * * logcheck /usr/sbin/logcheck: runs as logcheck" in result.stdout
    (job,) = _jobs().values()
    assert isinstance(job.action, Command)
    assert (job.name, job.action.line) == ("tidy up", "/opt/tidy")


def test_several_timers_are_imported_at_once(home: Path) -> None:
    for name in ("a", "b"):
        _write(home / f"{name}.timer", "[Timer]\nOnUnitActiveSec=1h\n")
        _write(home / f"{name}.service", f"[Service]\nExecStart=/bin/{name} %h\n")
    assert _halo("import", home / "a.timer", home / "b.timer", "--yes").exit_code == 0
    jobs = _jobs()
    assert {job.schedule for job in jobs.values()} == {Every("1h")}
    assert jobs["a"].action == Command(argv=("/bin/a", str(Path.home())))


def test_of_several_files_a_fault_says_in_which_it_is(home: Path) -> None:
    good, bad = home / "good.yaml", home / "bad.timer"
    _write(good, "version: 1\njobs: []\n")
    _write(bad, "[Timer]\nOnCalendar=sometimes\n")
    done = _halo("import", good, bad)
    assert f"■ {bad}, line 2: OnCalendar=sometimes: it is not understood" in done.stdout
    _write(bad, "nonsense")
    assert f"■ {bad}, line 1: this is not a unit file line" in _halo("import", good, bad).stdout


def test_of_several_files_one_that_is_none_can_be_skipped(home: Path) -> None:
    _write(home / "a@.timer", "[Timer]\nOnCalendar=daily\n")
    _write(home / "b.timer", "[Timer]\nOnCalendar=daily\n")
    _write(home / "b.service", "[Service]\nExecStart=/bin/b\n")
    both = (home / "a@.timer", home / "b.timer", "--yes")
    refused = _halo("import", *both)
    assert refused.exit_code != 0
    assert f"■ {home / 'a@.timer'}: this is a timer template" in refused.stdout
    assert _jobs() == {}
    assert _halo("import", *both, "--skip-bad").exit_code == 0
    assert set(_jobs()) == {"b"}


def test_drop_ins_of_a_unit_are_applied(home: Path) -> None:
    _write(home / "b.timer", "[Timer]\nOnCalendar=daily\n")
    _write(home / "b.service", "[Service]\nExecStart=/bin/b\nNice=5\n")
    for unit in ("b.timer.d", "b.service.d"):
        (home / unit).mkdir()
    _write(home / "b.timer.d" / "override.conf", "[Timer]\nOnCalendar=\nOnCalendar=hourly\n")
    _write(home / "b.service.d" / "20.conf", "[Service]\nExecStart=\nExecStart=/bin/other\n")
    _write(home / "b.service.d" / "10.conf", "[Service]\nExecStart=/bin/wrong\n")
    _write(home / "b.service.d" / ".30.conf", "nonsense")
    assert _halo("import", home / "b.timer", "--yes").exit_code == 0
    (job,) = _jobs().values()
    assert (job.schedule, job.action) == (Cron("0 * * * *"), Command(argv=("/bin/other",)))


def test_a_pipe_without_a_writer_is_not_awaited(home: Path) -> None:
    os.mkfifo(home / "pipe")
    os.mkfifo(home / "b.service")
    _write(home / "b.timer", "[Timer]\nOnCalendar=daily\n")
    assert "the file is empty" in str(_halo("import", home / "pipe").exception)
    assert "its service has no ExecStart" in _halo("import", home / "b.timer").stdout


def test_a_unit_is_searched_only_beside_its_timer(home: Path) -> None:
    (home / "units").mkdir()
    _write(home / "b.service", "[Service]\nExecStart=/bin/b\n")
    _write(home / "units" / "b.timer", "[Timer]\nOnCalendar=daily\nUnit=../b.service\n")
    assert "../b.service, which it starts, is missing" in _halo("import", home / "units" / "b.timer").stdout


def test_a_pipe_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"0 3 * * * /opt/tidy\n")
    os.close(writing)
    with os.fdopen(reading):
        assert _halo("import", f"/dev/fd/{reading}", "--yes").exit_code == 0
    assert set(_jobs()) == {"tidy"}


def test_nothing_is_stored_without_a_terminal_to_confirm(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("halo_scheduler.cli.commands.import_._print_preview", closed)
    done = _halo("import", "-", "--yes", stdin="@daily x\n")
    assert done.exit_code != 0
    assert "nothing was saved" in done.stderr
    assert _jobs() == {}


def test_an_agent_becomes_a_group_of_prompts(home: Path) -> None:
    _write(
        home / "coder.yaml",
        "name: coder\nschedules:\n  look: {type: interval, interval: 5m, prompt: Look.}\n",
    )
    done = _halo("import", home / "coder.yaml", "--yes")
    assert "  + coder/look" in done.stdout
    assert "  ~ coder: no limit → 1 at once" in done.stdout
    assert _jobs()["coder/look"].group == "coder"


def test_jobs_are_changed_to_match_the_files(folder: Path) -> None:
    done = _halo("apply", folder, "--yes")
    assert done.exit_code == 0
    jobs = _jobs()
    assert {job.status for job in jobs.values()} == {JobStatus.IDLE}
    assert jobs["backup"].followers[0].job_id == jobs["report"].id
    assert _halo("apply", folder).stdout == "Unchanged: 2 jobs (backup, report)\nNo changes.\n"


def test_the_difference_is_shown_and_nothing_stored_without_a_yes(folder: Path) -> None:
    refused = _halo("apply", folder)
    assert refused.exit_code == 1
    assert "New:\n" in refused.stdout
    assert _jobs() == {}


def test_other_jobs_are_left_alone_unless_they_are_pruned(folder: Path) -> None:
    with Scheduler.open() as scheduler:
        for name in ("other", "an old one"):
            scheduler.add_job(name, Manual(), _TRUE)
    done = _halo("apply", folder, "--yes")
    assert done.stdout.startswith("Not in the files, kept without --prune: an old one, other.\n")
    assert set(_jobs()) == {"report", "backup", "other", "an old one"}
    pruned = _halo("apply", folder, "--prune", "--yes")
    assert pruned.stdout.splitlines()[:3] == ["Removed (to the trash):", "  − an old one", "  − other"]
    assert set(_jobs()) == {"report", "backup"}


def test_a_job_that_has_an_error_in_its_file_is_not_missing_there(folder: Path) -> None:
    assert _halo("apply", folder, "--yes").exit_code == 0
    for file in folder.glob("*.yaml"):
        file.write_text(file.read_text().replace("schedule:", "schedul:"))
    refused = _halo("apply", folder, "--yes")
    assert refused.exit_code == 1
    assert "is not a known field" in refused.stdout
    assert "Not in the files" not in refused.stdout


def test_several_schedules_are_compared_line_by_line(folder: Path) -> None:
    job = "version: 2\nname: two\naction: {kind: command, argv: ['true']}\nschedules:\n- every: 1h\n"
    (folder / "two.yaml").write_text(f"{job}- cron: 0 9 * * *\n")
    assert _halo("apply", folder, "--yes").exit_code == 0
    (folder / "two.yaml").write_text(f"{job}- cron: 0 10 * * *\n")
    assert _halo("apply", folder, "--yes").stdout.splitlines()[:7] == [
        "Changed:",
        "  ~ two",
        "      schedules:",
        "        @@ -1,2 +1,2 @@",
        '         {"every": "1h"}',
        '        -{"cron": "0 9 * * *"}',
        '        +{"cron": "0 10 * * *"}',
    ]


def test_of_many_other_jobs_some_are_named(folder: Path) -> None:
    with Scheduler.open() as scheduler:
        scheduler.add_jobs([{"name": f"j{n:02}", "schedule": Manual(), "action": _TRUE} for n in range(30)])
    first = _halo("apply", folder).stdout.splitlines()[0]
    assert first.startswith("Not in the files, kept without --prune: j00, j01, ")
    assert first.endswith(", j09 and 20 more.")


def test_two_limits_for_a_group_are_a_fault(folder: Path) -> None:
    for name, most in {"a": 1, "b": 2, "c": 2}.items():
        _write(folder / f"{name}.yaml", f"version: 1\ngroups: {{night: {{max_concurrent: {most}}}}}\n")
    done = _halo("apply", folder, "--yes")
    assert done.exit_code != 0
    assert "■ groups: the files give the group night different limits" in done.stdout
    _write(folder / "a.yaml", (folder / "b.yaml").read_text())
    assert _halo("apply", folder, "--yes").exit_code == 0


def test_enabled_comes_from_the_file_and_pauses_are_kept(folder: Path) -> None:
    _halo("apply", folder, "--yes")
    with Scheduler.open() as scheduler:
        jobs = {job.name: job.id for job in scheduler.list_jobs()}
        scheduler.pause_job(jobs["backup"])
        scheduler.update_job(jobs["report"], enabled=False)
        runs = scheduler.get_job(jobs["backup"])
    assert runs is not None
    done = _halo("apply", folder, "--yes")
    assert "      enabled: false → (default)" in done.stdout
    jobs_now = _jobs()
    assert jobs_now["report"].status is JobStatus.IDLE
    assert jobs_now["backup"] == runs
    _write(folder / "report.yaml", (folder / "report.yaml").read_text() + "enabled: false\n")
    _halo("apply", folder, "--yes")
    assert _jobs()["report"].status is JobStatus.DISABLED


def test_a_fault_in_one_file_keeps_all_of_them_out(folder: Path) -> None:
    _write(folder / "broken.yaml", "version: 1\njobs: [\n")
    _write(folder / "wrong.yaml", "version: 1\nname: x\nschedule: never\naction: callback\n")
    (folder / "gone.yaml").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.json")
    done = _halo("apply", folder, "--prune", "--yes")
    assert done.exit_code != 0
    assert "■ broken.yaml, line 3: this is not YAML" in done.stdout
    assert "■ gone.yaml: cannot be read: No such file or directory" in done.stdout
    assert "■ pipe.json: is not a regular file" in done.stdout
    assert str(done.exception) == "nothing was saved; fix the 4 errors above"
    assert "■ wrong.yaml, line 3, schedule.kind: must be one of" in done.stdout
    assert _jobs() == {}


def test_the_same_job_in_two_files_is_a_fault(folder: Path) -> None:
    _write(folder / "again.yaml", (folder / "report.yaml").read_text())
    done = _halo("apply", folder, "--yes")
    assert "■ report.yaml, line 2, name: another imported job has this name, in again.yaml" in done.stdout


def test_hidden_and_other_files_are_not_read(folder: Path) -> None:
    (folder / ".git").mkdir()
    _write(folder / ".git" / "config.yaml", "nonsense: [")
    _write(folder / ".hidden.yaml", "nonsense: [")
    _write(folder / "README.md", "nonsense: [")
    assert _halo("apply", folder, "--yes").exit_code == 0


def test_a_link_to_a_folder_is_not_followed_and_that_is_reported(folder: Path, home: Path) -> None:
    (home / "elsewhere").mkdir()
    _write(home / "elsewhere" / "broken.yaml", "nonsense: [")
    (folder / "night" / "linked").symlink_to(home / "elsewhere")
    (folder / "night" / "round").symlink_to(folder)
    (folder / ".linked").symlink_to(home / "elsewhere")
    done = _halo("apply", folder, "--yes")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-4:-1] == [
        "Skipped:",
        "  ◌ night/linked: links to folders are not followed",
        "  ◌ night/round: links to folders are not followed",
    ]


def test_an_empty_folder_never_removes_everything(home: Path) -> None:
    (home / "empty").mkdir()
    with Scheduler.open() as scheduler:
        scheduler.add_job("mine", Manual(), _TRUE)
    done = _halo("apply", home / "empty", "--prune", "--yes")
    assert str(done.exception).startswith("no .yaml, .yml or .json files in ")
    assert set(_jobs()) == {"mine"}


def test_quiet_hours_are_pruned_only_if_the_files_have_some(folder: Path) -> None:
    with Scheduler.open() as scheduler:
        scheduler.settings.change(quiet_times=(QuietTime(name="Old"),))
    _halo("apply", folder, "--prune", "--yes")
    with Scheduler.open() as scheduler:
        assert scheduler.settings.read().quiet_times == (QuietTime(name="Old"),)
    _write(folder / "quiet.yaml", "version: 1\nquiet_times: [{name: New}]\n")
    done = _halo("apply", folder, "--prune", "--yes")
    assert "  − Old: every day, 22:00–06:00" in done.stdout
    with Scheduler.open() as scheduler:
        assert scheduler.settings.read().quiet_times == (QuietTime(name="New"),)


def test_a_folder_with_several_schedules_is_applied_and_their_keys_are_kept(home: Path) -> None:
    folder = home / "tea"
    folder.mkdir()
    text = """version: 2
jobs:
  - name: tea
    schedules:
      - {key: morning, kind: cron, cron: "0 9 * * *"}
      - {kind: every, every: 2h, anchor: "1970-01-01T00:00:05+00:00"}
    action: {kind: command, argv: ["true"]}
"""
    _write(folder / "tea.yaml", text)
    assert _halo("apply", folder, "--yes").exit_code == 0
    assert _halo("apply", folder).stdout == "Unchanged: 1 job (tea)\nNo changes.\n"
    _write(folder / "tea.yaml", text.replace("every: 2h", "every: 3h"))
    assert _halo("apply", folder, "--yes").exit_code == 0
    assert _jobs()["tea"].schedules == (Entry(Cron("0 9 * * *"), "morning"), Entry(Every("3h"), "1", 5_000))
