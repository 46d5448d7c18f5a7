"""Files of agents that have schedules."""

from __future__ import annotations

import re

import pytest
from timing import at_most_ms

from halo_scheduler.model import After, Cron, Every, JobSpec, Manual, Prompt
from halo_scheduler.model.actions import GithubSource
from halo_scheduler.model.schedules import combine
from halo_scheduler.transfer.drafts import Drafts
from halo_scheduler.transfer.job_files import read_jobs
from halo_scheduler.transfer.text_file import FileError

_AGENT = """\
name: coder
description: Works on issues
workspace: ~/code/shop
system_prompt: Be careful.
instances: {max_concurrent: 2}
work_source:
  type: github
  repo: me/shop
  labels: {ready: todo, in_progress: doing}
  auth: {token_env: SHOP_TOKEN}
  exclude_labels: [blocked]
schedules:
  issues:
    type: interval
    interval: 5m
    prompt: |
      Work on {{work.title}}.
  daily:
    type: cron
    cron: 0 9 * * 1-5
    timezone: Europe/Berlin
    description: A look at the day
    enabled: false
  old:
    type: cron
    expression: "@weekly"
  hook:
    type: webhook
    outputToFile: true
  talk:
    type: chat
"""


def _read(text: str, name: str = "/srv/agents/coder.yaml") -> Drafts:
    return read_jobs(text.encode(), name)


def _specs(text: str, name: str = "/srv/agents/coder.yaml") -> dict[str, JobSpec]:
    drafts = _read(text, name)
    assert drafts.faults == ()
    return {draft.spec.name: draft.spec for draft in drafts.jobs}


def _prompt(spec: JobSpec) -> Prompt:
    assert isinstance(spec.action, Prompt)
    return spec.action


def test_each_schedule_becomes_a_prompt_in_the_group_of_its_agent() -> None:
    specs = _specs(_AGENT)
    schedules = {name: spec.schedule for name, spec in specs.items()}
    assert schedules == {
        "coder/issues": After("5m"),
        "coder/daily": Cron("0 9 * * 1-5", "Europe/Berlin"),
        "coder/old": Cron("@weekly"),
        "coder/hook": Manual(),
        "coder/talk": Manual(),
    }
    assert {spec.group for spec in specs.values()} == {"coder"}
    assert _read(_AGENT).group_limits == {"coder": 2}
    assert [spec.enabled for spec in specs.values()] == [True, False, True, True, True]
    assert specs["coder/daily"].description == "A look at the day"
    assert specs["coder/issues"].description == "Works on issues"
    source = GithubSource(repository="me/shop", token="SHOP_TOKEN", ready="todo", in_progress="doing")  # noqa: S106
    assert specs["coder/issues"].action == Prompt(
        text="Work on {{work.title}}.\n", directory="~/code/shop", work_source=source
    )


def test_settings_that_are_not_kept_are_reported() -> None:
    notes = {draft.spec.name: draft.notes for draft in _read(_AGENT).jobs}
    assert notes["coder/issues"] == ("not kept: system_prompt, work_source.exclude_labels",)
    assert notes["coder/hook"] == (
        "a webhook started it; here it runs manually or after another job",
        "not kept: system_prompt, outputToFile, work_source.exclude_labels",
    )
    assert notes["coder/talk"][0].startswith("a chat started it")


def test_an_agent_without_a_limit_runs_once_at_a_time() -> None:
    assert _read("name: a\nschedules: {}\n").group_limits == {"a": 1}
    assert _read(
        "name: a\nschedules:\ninstances: {}\n".replace("schedules:", "schedules: {}")
    ).group_limits == {"a": 1}


@pytest.mark.parametrize(
    ("place", "directory"),
    [
        ("workspace: /srv/code", "/srv/code"),
        ("workspace: ./code/../shop", "/srv/agents/shop"),
        ("workspace: {path: code}", "/srv/agents/code"),
        ("working_directory: {root: ~/code}", "~/code"),
        ("model: x", None),
    ],
)
def test_a_workspace_is_found_from_the_folder_of_the_file(place: str, directory: str | None) -> None:
    (spec,) = _specs(f"name: a\n{place}\nschedules: {{s: {{type: chat, prompt: hi}}}}\n").values()
    assert _prompt(spec).directory == directory


def test_from_standard_input_a_folder_is_not_changed() -> None:
    (spec,) = _specs("name: a\nworkspace: code\nschedules: {s: {type: chat}}\n", name="").values()
    assert _prompt(spec).directory == "code"


def test_the_prompt_of_the_agent_is_for_schedules_without_one() -> None:
    (spec,) = _specs("name: a\ndefault_prompt: Look.\nschedules: {s: {type: chat}}\n").values()
    assert _prompt(spec).text == "Look."


def test_an_older_form_of_work_is_known() -> None:
    source = "{type: github_issues, repo: me/shop, labels: {include: [go]}, claim_label: mine, complete_action: close}"
    (spec,) = _specs(f"name: a\nschedules: {{s: {{type: chat, work_source: {source}}}}}\n").values()
    assert _prompt(spec).work_source == GithubSource(
        repository="me/shop",
        token="GITHUB_TOKEN",  # noqa: S106 - a name
        ready="go",
        in_progress="mine",
        closes=True,
    )


@pytest.mark.parametrize(
    ("schedule", "fault"),
    [
        ("5", "line 3, schedules.s: must be an object with a type, not 5"),
        ("{type: sometimes}", "line 3, schedules.s.type: must be one of interval, cron, webhook, chat"),
        (
            "{interval: 5m}",
            "line 3, schedules.s.type: must be one of interval, cron, webhook, chat, not None",
        ),
        ("{type: interval}", "line 3, schedules.s.interval: is missing"),
        ("{type: interval, interval: [5]}", "line 3, schedules.s.interval: must be text"),
        ("{type: interval, interval: 5x}", "line 3, schedules.s.interval: cannot read the interval '5x'"),
        ("{type: cron, expression: nine}", "line 3, schedules.s.expression: cannot read the cron expression"),
        ("{type: cron, cron: '@daily', timezone: Mars}", "line 3, schedules.s.timezone: unknown time zone"),
        ("{type: chat, enabled: maybe}", "line 3, schedules.s.enabled: must be true or false"),
        ("{type: chat, prompt: [a]}", "line 3, schedules.s.prompt: must be text"),
        ("{type: chat, prompt: '{{nothing}}'}", "line 3, schedules.s.prompt: there is no variable"),
        ("{type: chat, work_source: github}", "line 3, schedules.s.work_source: must be an object"),
        (
            "{type: chat, work_source: {type: jira}}",
            "line 3, schedules.s.work_source.type: only github is known",
        ),
        ("{type: chat, work_source: {type: github}}", "line 3, schedules.s.work_source.repo: is missing"),
        (
            "{type: chat, work_source: {type: github, repo: x}}",
            "line 3, schedules.s.work_source.repo: must be like",
        ),
    ],
)
def test_a_schedule_that_is_none_is_a_fault_with_its_line(schedule: str, fault: str) -> None:
    drafts = _read(f"name: a\nschedules:\n  s: {schedule}\n  good: {{type: chat}}\n")
    assert [str(one)[: len(fault)] for one in drafts.faults] == [fault]
    assert [draft.spec.name for draft in drafts.jobs] == ["a/good"]


def test_a_file_of_one_job_with_several_schedules_is_not_an_agent() -> None:
    text = b"version: 2\nname: two\naction: {kind: command, argv: [x]}\nschedules: [{every: 1h}, {cron: '@daily'}]\n"
    (draft,) = read_jobs(text, "two.yaml").jobs
    assert draft.spec.schedule == combine([Every("1h"), Cron("@daily")])


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("name: 5\nschedules: {}\n", "name: must be text"),
        ("name: a\nschedules: [x]\n", "line 2, schedules: must map names to schedules"),
        (
            "name: a\nschedules: {}\ninstances: {max_concurrent: many}\n",
            "line 3, instances.max_concurrent: must be",
        ),
        ("version: 1\nagents: [{path: a.yaml}]\n", "line 2: this is a fleet file"),
    ],
)
def test_files_that_are_not_agents_are_refused(text: str, refusal: str) -> None:
    with pytest.raises(FileError, match=re.escape(refusal)):
        _read(text)


def test_an_agent_of_too_much_is_refused() -> None:
    schedules = "".join(f"  s{number}: {{}}\n" for number in range(10_001))
    with pytest.raises(FileError, match="schedules: there are more than 10000 entries"):
        read_jobs(f"name: a\nschedules:\n{schedules}".encode(), "a.yaml")


def test_shared_values_of_many_schedules_are_not_copied_endlessly() -> None:
    schedules = "".join(f"  s{number}: {{type: chat}}\n" for number in range(1_000))
    with pytest.raises(FileError, match="line 3: the parts that its 1000 jobs share are too long"):
        read_jobs(f"name: a\nprompt: {'x' * 30_000}\nschedules:\n{schedules}".encode(), "a.yaml")


def test_of_much_that_is_not_kept_some_is_named() -> None:
    fields = "".join(f"k{number}: 1\n" for number in range(9_000))
    schedules = "".join(f"  s{number}: {{type: chat, prompt: x}}\n" for number in range(900))
    with at_most_ms(5_000):
        drafts = read_jobs(f"name: a\n{fields}schedules:\n{schedules}".encode(), "a.yaml")
    note = drafts.jobs[-1].notes[-1]
    assert note.startswith("not kept: k0, k1, k2,")
    assert note.endswith(", k19 and 8980 more")


_NAMELESS = "schedules:\n  daily: {type: cron, cron: '@daily', prompt: x, work_source: {type: github}}\n"


def test_an_agent_without_a_name_is_called_like_its_file() -> None:
    drafts = read_jobs(_NAMELESS.encode(), "/srv/agents/reviewer.yaml", repository="me/shop")
    assert [draft.spec.name for draft in drafts.jobs] == ["reviewer/daily"]
    assert dict(drafts.group_limits) == {"reviewer": 1}
    with pytest.raises(FileError, match="name: is missing; add the agent's name"):
        read_jobs(_NAMELESS.encode())


def test_a_repository_that_a_source_lacks_can_be_given() -> None:
    (fault,) = _read(_NAMELESS).faults
    assert fault.message == "is missing; write the repository like owner/name, or add --repo owner/name"
    (draft,) = read_jobs(_NAMELESS.encode(), "a.yaml", repository="me/shop").jobs
    source = _prompt(draft.spec).work_source
    assert isinstance(source, GithubSource)
    assert source.repository == "me/shop"
    named = _NAMELESS.replace("type: github}", "type: github, repo: me/own}")
    source = _prompt(read_jobs(named.encode(), "a.yaml", repository="me/shop").jobs[0].spec).work_source
    assert isinstance(source, GithubSource)
    assert source.repository == "me/own"


def test_runs_of_an_agent_are_spread_by_five_percent() -> None:
    specs = _specs(_AGENT)
    assert {name: spec.policy.jitter_percent for name, spec in specs.items()} == {
        "coder/issues": 5,
        "coder/daily": 5,
        "coder/old": 5,
        "coder/hook": 0,
        "coder/talk": 0,
    }


def test_schedules_of_one_prompt_are_one_job_with_their_names_as_keys() -> None:
    text = """
name: reviewer
default_prompt: Look at the open changes.
schedules:
  morning: {type: cron, cron: 0 9 * * 1-5}
  Late one: {type: cron, cron: 30 16 * * 1-5}
  own: {type: interval, interval: 2h, prompt: Tidy up.}
  off: {type: cron, cron: "@weekly", enabled: false}
  hook: {type: webhook}
"""
    specs = _specs(text, "/srv/agents/reviewer.yaml")
    assert list(specs) == ["reviewer/morning", "reviewer/own", "reviewer/off", "reviewer/hook"]
    assert [(entry.key, entry.schedule) for entry in specs["reviewer/morning"].schedules] == [
        ("morning", Cron("0 9 * * 1-5")),
        ("1", Cron("30 16 * * 1-5")),
    ]
