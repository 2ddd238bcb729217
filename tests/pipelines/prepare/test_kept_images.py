"""Indexes of runs with images, kept by a former version whose keys meant something else."""

import pytest

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.against import check_kept
from tokenmill.pipelines.prepare.recipe import steps_of


def checked(recipe):
    check_kept("against.0: run", recipe, steps_of({"recipe": recipe}, where="run"))


@pytest.mark.parametrize("name", ["exact", "near"])
def test_samples_that_were_told_by_captions_alone_are_refused(name):
    before = {"images": {}, "steps": [{"normalize": {}}, {name: {}}]}
    with pytest.raises(ConfigError) as e:
        checked(before)
    assert str(e.value) == (
        f"against.0: run: its index was made by another version of tokenmill, whose {name} took"
        " samples for the same by their captions alone; run it again into a new --out with"
        " run.keep_index: true"
    )
    checked({**before, "images": None})
    checked({"steps": before["steps"]})
    checked({**before, "steps": [{"normalize": {}}, {name: {"samples": "images"}}]})
