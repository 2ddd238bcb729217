"""What each corpus-wide step says of itself: of keys, memory, scratch and what it counts."""

from pathlib import Path

import pytest

from tests.golden.held import held
from tokenmill.pipelines.core.step import STEPS
from tokenmill.pipelines.measure.job import is_predicted

BENCHMARK = {"name": "b", "path": "b.jsonl"}
SETTINGS = {
    "decontaminate": [{"benchmarks": [BENCHMARK]}, {"benchmarks": [BENCHMARK], "most_pieces": 3}],
    "near": [
        {},
        {"similarity": "estimate", "cluster": "components", "bands": 3, "num_perm": 15},
        {"cluster": "components", "scope": "source"},
        {"samples": "captions"},
    ],
    "exact": [{}, {"digest": "xxh3", "samples": "captions"}],
    "same_url": [{}, {"keep": "first"}],
    "repeated_images": [{}, {"by": ["md5"], "more_than": 3, "keep": "first"}],
    "repeated_spans": [{}],
    "near_images": [{}, {"distance": 2, "flips": True}, {"crops": True}],
}
NAMES = (
    *("has_keys", "removes_whole", "cuts", "makes_ready", "compares_texts", "looks_at_images"),
    *("pieces_at_most", "only_own_run", "shuffled", "joined_columns", "decides_in_order"),
    *("keys_frac", "counts", "what_tells_instead", "image_rule", "side_tables"),
)


def told(step):
    yield f"# {step!r}"
    for name in NAMES:
        value = getattr(step, name)
        shown = [table.folder.name for table in value] if name == "side_tables" else value
        yield f"{name}: {shown}"
    yield f"keys: {step.key_parameters()} {[str(f) for f in step.key_fields()]}"
    units = step.unit_schema()
    yield f"units: {units and units.names}"
    yield f"verdicts: {step.verdict_folder().named(1)}"
    yield f"scratch: {step.scratch_bytes(1e9, 1e6):.9g} {step.scratch_bytes(0.0, 1.0):.9g}"
    yield f"limits: {step.limit(1 << 30)!r} {step.limit(1 << 20)!r}"
    yield f"predicted: {is_predicted(step)}; counted as {step.counting()!r}"
    yield f"against: {step.refusal_of_earlier_runs()!r}"
    if hasattr(step, "row_bytes"):
        yield f"an image: {step.row_bytes()}"
    for settings in ({}, {"samples": "images"}):
        of = [step.refusal_of_keys(settings, has_images=images) for images in (False, True)]
        yield f"keys of {settings}: {of}"


@pytest.mark.parametrize("name", [name for name, step in STEPS.items() if step.corpus_wide])
def test_what_a_step_says_of_itself_is_what_it_was(name):
    lines = []
    for settings in SETTINGS.get(name, [{}]):
        lines += [*told(STEPS[name].model_validate(settings)), ""]
    told_here = "\n".join(lines).replace(f"{Path.cwd()}/", "")
    held(f"step-{name}.txt", told_here)
