"""Bounds of what rests on steps that are not predicted, by what surely stays."""

import json

import pytest

from tests.golden.held import held
from tests.pipelines.measure.test_scratch import job_of
from tokenmill.pipelines.measure.run import at_most
from tokenmill.pipelines.measure.scanned import Stays
from tokenmill.sizing.corpus import CorpusMeasurement, Estimate
from tokenmill.sizing.figure import Figure

FOLDERS = ("inputs", "10-filtered", "15-found", "90-tokens", "dataset", "removed")
STAYS = [Stays(1.0, 1.0, 1.0), Stays(0.5, 0.6, 0.7), Stays(1.0, 0.6, 0.7), Stays(0.0, 0.0, 0.0)]


def some(value):
    return Figure(value=value, low=value * 0.9, high=value * 1.2)


def estimate():
    stored = {name: some(1e6 * n) for n, name in enumerate(FOLDERS, 1)}
    corpus = CorpusMeasurement(
        name="corpus", docs=some(1_000), tokens=some(500_000), text_bytes=some(2e6),
        stored_bytes=stored, text_bytes_per_token=some(4.0), stored_bytes_per_token=some(2.2),
        token_width_bytes=2, measured=True, sample="all",
        files={"inputs": Figure(value=3), "90-tokens": some(5), "dataset": some(2)},
    )  # fmt: skip
    disk = {name: some(1e7 * n) for n, name in enumerate(FOLDERS[1:], 1)}
    return Estimate(
        estimate="1", recipe="", corpus=corpus, docs_in=some(2_000), text_bytes_in=some(4e6),
        kept_frac={"exact": some(0.8), "decontaminate": some(1.0), "fineweb": some(0.7)},
        unique_frac=None, disk_bytes=disk, clustering_memory_bytes=None, cores=1, cpu_hours=None,
        wall_hours=None,
    )  # fmt: skip


@pytest.mark.parametrize("stays", STAYS, ids=str)
def test_no_figure_is_told_closer_than_what_surely_stays(stays):
    found = at_most(estimate(), job_of("cut by a step that is not predicted"), stays)
    lines = [f"{at}: {told}" for at, told in _figures(found.model_dump(mode="json"))]
    held(f"bounds-{STAYS.index(stays)}.txt", "\n".join(lines) + "\n")


def _figures(data, at=""):
    for name, value in data.items():
        if isinstance(value, dict) and "value" not in value:
            yield from _figures(value, f"{at}{name} ")
        elif isinstance(value, dict):
            told = {k: v for k, v in value.items() if v is not None and k != "draws"}
            rounded = json.loads(json.dumps(told), parse_float=lambda x: float(f"{float(x):.9g}"))
            yield f"{at}{name}", json.dumps(rounded)
