"""The cluster that trains: accelerators, their nodes and their network."""

from typing import Annotated, Literal

from pydantic import model_validator

from tokenmill.sizing.plan.fields import OUR_CHOICE, Assumed, Section, Size
from tokenmill.sizing.tables.row import BitRate, ByteRate, FlopRate, Positive, Share, Whole

_TABLE = "the accelerator's"


class Cluster(Section):
    """accelerator: a row of the table.  count: in the whole job.  mfu: model FLOPs utilization.

    dense_flops_per_s, per_node, hbm, scale_*: in place of the table's.
    hfu: hardware FLOPs utilization, recomputation counted, in place of mfu.
    scale_up_bytes_per_s: of one accelerator to others in its node, one direction.
    scale_out_bits_per_s: of one accelerator's share of its node's network.
    mttf_hours: mean time to failure of one accelerator and what belongs to it.
    """

    accelerator: Annotated[str, Assumed("name", OUR_CHOICE)] = "H100 SXM"
    dense_flops_per_s: Annotated[FlopRate | None, Assumed("FLOP/s", _TABLE)] = None
    precision: Annotated[Literal["bf16", "fp8"], Assumed("name", OUR_CHOICE)] = "bf16"
    count: Annotated[Whole, Assumed("accelerators", OUR_CHOICE)] = 1024
    per_node: Annotated[Whole | None, Assumed("accelerators", _TABLE)] = None
    mfu: Annotated[
        Share, Assumed("fraction", "Llama 3 405B on 16,384 H100 SXM: 400 of 989 TFLOP/s each")
    ] = 0.4
    hfu: Annotated[Share | None, Assumed("fraction", "mfu is used")] = None
    hbm: Annotated[Size | None, Assumed("bytes", _TABLE)] = None
    scale_up_bytes_per_s: Annotated[ByteRate | None, Assumed("bytes/s", _TABLE)] = None
    scale_out_bits_per_s: Annotated[BitRate | None, Assumed("bits/s", _TABLE)] = None
    mttf_hours: Annotated[
        Positive,
        Assumed("hours", "MLCommons Storage; Llama 3: 419 failures of 16,384 in 54 days, 50,677 h"),
    ] = 50_000.0
    host_memory: Annotated[Size, Assumed("bytes", "AWS p5.48xlarge")] = 2048.0 * 1024**3
    host_cores: Annotated[Whole, Assumed("cores", "AWS p5.48xlarge: 192 vCPU")] = 192

    @model_validator(mode="after")
    def _one_utilization(self) -> "Cluster":
        if self.hfu is not None and "mfu" in self.model_fields_set:
            raise ValueError("mfu and hfu are both given; give one, the other follows")
        return self
