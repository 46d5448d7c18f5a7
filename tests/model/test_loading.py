"""The values are loaded when they are asked for, each by itself."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import halo_scheduler
from halo_scheduler import model


@pytest.mark.parametrize("module", [halo_scheduler, model], ids=lambda module: module.__name__)
def test_every_public_name_is_found_and_no_other(module: ModuleType) -> None:
    assert all(hasattr(module, name) for name in module.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        module.nonsense  # noqa: B018 - looking is what fails


def test_every_value_of_the_model_has_its_place() -> None:
    assert set(model._PLACES) == set(model.__all__)


def test_a_choice_of_words_loads_no_jobs() -> None:
    program = "from halo_scheduler.model import Outcome, Every; import sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert "halo_scheduler.model.words" in loaded
    assert {"halo_scheduler.model.jobs", "halo_scheduler.model.actions"}.isdisjoint(loaded)
