"""Templates are jobs that could be saved as they are."""

from __future__ import annotations

import pytest

from halo_scheduler.model import JobSpec
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


def test_templates_have_names_of_their_own() -> None:
    assert len({template.spec.name for template in TEMPLATES.values()}) == len(TEMPLATES)
