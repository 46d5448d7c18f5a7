"""What the editor begins with."""

from __future__ import annotations

from halo_scheduler import Cron, Manual
from halo_scheduler.model import JobSpec, Notify
from halo_scheduler.model.settings import Settings
from ui.editor.draft import Draft


def test_a_new_job_runs_at_nine_and_follows_the_settings() -> None:
    spec = Draft(settings=Settings(default_time_limit="30m")).start_spec()
    assert (spec.schedule, spec.policy.time_limit) == (Cron("0 9 * * *"), "30m")
    assert spec.policy.notify is Notify.SETTINGS


def test_a_given_spec_is_taken_as_it_is() -> None:
    spec = JobSpec(name="job", schedule=Manual())
    assert Draft(spec=spec, settings=Settings(default_time_limit="30m")).start_spec() is spec


def test_a_stored_job_may_keep_its_own_name_and_a_copy_may_not() -> None:
    spec = JobSpec(name="job", schedule=Manual())
    names = frozenset({"job", "other"})
    stored = Draft(spec=spec, job_id="1", is_new=False, taken_names=names)
    copy = Draft(spec=spec, taken_names=names)
    assert (stored.is_taken("job"), stored.is_taken("other"), copy.is_taken("job")) == (False, True, True)
