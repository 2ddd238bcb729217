"""Training workloads whose demand on storage was measured, or can be had from FLOP per sample."""

from collections.abc import Mapping
from functools import cache

from pydantic import model_validator

from tokenmill.sizing.tables.row import Positive, Row, Share, Whole, find_row, read_rows


class WorkloadRow(Row):
    """One model and its dataset.

    sample_bytes: on disk.  decoded_bytes: of the array it is decoded to.
    flop_per_sample: to train on one, forward and backward.
    batch, computation_s: by accelerator, samples of a step and the seconds it computes.
    least_au: accelerator utilization that a run must reach to count (MLPerf Storage).
    """

    sample_bytes: Positive | None = None
    decoded_bytes: Positive | None = None
    flop_per_sample: Positive | None = None
    batch: Mapping[str, Whole] = {}
    computation_s: Mapping[str, Positive] = {}
    least_au: Share | None = None

    @model_validator(mode="after")
    def _steps_are_whole(self) -> "WorkloadRow":
        if set(self.batch) != set(self.computation_s):
            raise ValueError(f"{self.name}: batch and computation_s are of different accelerators")
        return self


@cache
def workloads() -> tuple[WorkloadRow, ...]:
    """Every row of the table, in its order."""
    return read_rows("workloads.yaml", WorkloadRow)


def find_workload(name: str) -> WorkloadRow:
    """The row of this name.

    Raises:
        PlanError: there is none; the nearest names are offered.

    >>> find_workload("unet3d").computation_s["H100"]
    0.323
    """
    return find_row(name, workloads(), what="workload")
