"""What networks carry: a node's reads and checkpoints, the corpus on its way in, gradients."""

from tokenmill.sizing.formulas.capacity import LOGICAL_BYTES
from tokenmill.sizing.formulas.network import (
    ALLREDUCE_FRAC,
    ALLREDUCE_RANKS,
    ALLREDUCE_S,
    GRADIENT_BYTES,
    GRADIENT_SHARERS,
    NETWORK_FRAC,
    NODE_BYTES_PER_S,
    SOLD_BITS_PER_S,
    STEP_S,
    TRANSFER_HOURS,
)
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.sections.layout import replicas
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.units import format_count

TITLE = "Network"
INPUTS = "stored: inputs"  # how the rows of what comes in begin
BF16_BYTES = 2.0


def add(sheet: Sheet) -> None:
    """Add the rows of the section."""
    _storage(sheet)
    _ingest(sheet)
    link = sheet.accelerator_if_known("scale_out_bits_per_s")
    if link is not None:
        _gradients(sheet, link)


def _storage(sheet: Sheet) -> None:
    both = sheet.add(
        "reads and checkpoints, one node",
        NODE_BYTES_PER_S,
        read_bytes_per_s=sheet["read bandwidth, one node"],
        write_bytes_per_s=sheet["checkpoint write bandwidth, one node"],
    )
    needed = sheet.add(
        "network to storage, one node",
        SOLD_BITS_PER_S,
        bytes_per_s=both,
        efficiency="network.efficiency",
    )
    if "network of a node" not in sheet:
        return
    share = sheet.add(
        "network to storage, share of a node's",
        NETWORK_FRAC,
        needed_bits_per_s=needed,
        link_bits_per_s=sheet["network of a node"],
    )
    if share.value > 1:
        sheet.warnings.append(
            f"reads and checkpoints need {format_count(share.value)} times the network that"
            " a node's accelerators have"
        )


def _ingest(sheet: Sheet) -> None:
    """How long the files that come in, or what the plan states, take over its link."""
    fetched: Given
    if sheet.plan.value("network.ingest_bytes") is not None:
        fetched = "network.ingest_bytes"
    else:
        rows = [row for row in sheet if row.name.startswith(INPUTS)]
        if not rows:
            return
        parts = [row.as_input(row.name.removeprefix("stored: ")) for row in rows]
        fetched = sheet.add_parts("bytes to ingest", LOGICAL_BYTES, parts)
    sheet.add(
        "ingest time",
        TRANSFER_HOURS,
        transfer_bytes=fetched,
        link_bits_per_s="network.ingest_bits_per_s",
        efficiency="network.efficiency",
    )


def _gradients(sheet: Sheet, link: Input) -> None:
    """What averaging gradients takes of a step; nothing where there is but one replica or node."""
    per_node = sheet.accelerator("per_node")
    sharers = sheet.add(
        "accelerators that share the gradients",
        GRADIENT_SHARERS,
        accelerators="cluster.count",
        per_node=per_node,
        replicas=replicas(sheet),
    )
    shared = sheet.add(
        "gradients of one accelerator",
        GRADIENT_BYTES,
        params="model.params",
        gradient_bytes_per_param=sheet.assume(
            "gradient_bytes_per_param",
            BF16_BYTES,
            unit="bytes/parameter",
            source="BF16, as ZeRO, arXiv:1910.02054; Megatron-LM sums up in FP32, twice as much",
        ),
        gradient_sharers=sharers,
    )
    ranks = sheet.add(
        "ranks of the all-reduce",
        ALLREDUCE_RANKS,
        accelerators="cluster.count",
        gradient_sharers=sharers,
    )
    reduce = sheet.add(
        "gradient all-reduce",
        ALLREDUCE_S,
        gradient_bytes=shared,
        ranks=ranks,
        link_bits_per_s=link,
        efficiency="network.efficiency",
    )
    step = sheet.add(
        "compute of one step",
        STEP_S,
        batch_tokens="training.batch_tokens",
        tokens_per_s=sheet["training rate"],
    )
    share = sheet.add(
        "gradient all-reduce, share of compute", ALLREDUCE_FRAC, allreduce_s=reduce, step_s=step
    )
    if share.value > 1:
        sheet.warnings.append(
            f"averaging gradients takes {format_count(share.value)} times as long as computing"
            " them: training.batch_tokens is small for this network"
        )
