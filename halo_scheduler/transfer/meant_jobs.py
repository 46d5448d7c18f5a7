"""Which of the jobs there are each draft of a file means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from halo_scheduler.model import JobSpec
from halo_scheduler.transfer.drafts import Draft


def find_meant(
    drafts: Sequence[Draft],
    jobs: Mapping[str, JobSpec],
    removed: Collection[str],
    new_id: Callable[[str], str],
) -> dict[str, Draft]:
    """Return the drafts by the ids of the jobs they mean: that of their id, else of their name, else a new one.

    Where the name was made up for it, a job that does the same at the same time comes before a new one: somebody
    gave it another name since. Ids from the trash, `removed`, are not used again.
    """
    by_id = {draft.job_id for draft in drafts if draft.job_id in jobs}
    by_name = {spec.name: job_id for job_id, spec in jobs.items() if job_id not in by_id}
    if any(draft.has_made_up_name and draft.spec.name not in by_name for draft in drafts):
        drafts = list(_renamed(drafts, jobs, by_name))

    def meant_id(draft: Draft) -> str:
        if draft.job_id is not None and draft.job_id in jobs:
            return draft.job_id
        if draft.spec.name in by_name:
            return by_name[draft.spec.name]
        if draft.job_id is not None and draft.job_id not in removed:
            return draft.job_id
        return new_id(draft.spec.name)

    return {meant_id(draft): draft for draft in drafts}


def _renamed(
    drafts: Sequence[Draft], jobs: Mapping[str, JobSpec], by_name: Mapping[str, str]
) -> Iterator[Draft]:
    """Yield the drafts with the names that their jobs have by now."""
    names = {draft.spec.name for draft in drafts}
    others: dict[object, list[str]] = defaultdict(list)
    for name in sorted(by_name.keys() - names, reverse=True):
        spec = jobs[by_name[name]]
        others[spec.schedule, spec.action].append(name)
    for draft in drafts:
        same = others.get((draft.spec.schedule, draft.spec.action))
        if draft.has_made_up_name and draft.spec.name not in by_name and same:
            yield replace(draft, spec=replace(draft.spec, name=same.pop()))
        else:
            yield draft
