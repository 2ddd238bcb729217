"""What networks carry: a node's reads and checkpoints, the corpus on its way in, gradients."""

from tokenmill.sizing.formulas import capacity, network
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.units import format_count

TITLE = "Network"
INPUTS = "stored: inputs"  # how the rows of what comes in begin
BF16_BYTES = 2.0


def add(sheet: Sheet) -> None:
    _storage(sheet)
    _ingest(sheet)
    link = sheet.accelerator_if_known("scale_out_bits_per_s")
    if link is not None:
        _gradients(sheet, link)


def _storage(sheet: Sheet) -> None:
    both = sheet.add(
        "reads and checkpoints, one node",
        network.node_bytes_per_s,
        read_bytes_per_s=sheet["read bandwidth, one node"],
        write_bytes_per_s=sheet["checkpoint write bandwidth, one node"],
    )
    needed = sheet.add("network to storage, one node", network.sold_bits_per_s, bytes_per_s=both)
    if "network of a node" not in sheet:
        return
    share = sheet.add(
        "network to storage, share of a node's",
        network.network_frac,
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
        parts = {row.name.removeprefix("stored: "): row for row in rows}
        fetched = sheet.add("bytes to ingest", capacity.logical_bytes, **parts)
    sheet.add(
        "ingest time",
        network.transfer_hours,
        transfer_bytes=fetched,
        link_bits_per_s="network.ingest_bits_per_s",
    )


def _gradients(sheet: Sheet, link: Input) -> None:
    """What averaging gradients takes of a step; nothing where there is but one replica or node."""
    sheet.add("accelerators that share the gradients", network.gradient_sharers)
    source = "BF16, as ZeRO, arXiv:1910.02054; Megatron-LM sums up in FP32, twice as much"
    bf16 = sheet.assume(BF16_BYTES, unit="bytes/parameter", source=source)
    name = "gradients of one accelerator"
    sheet.add(name, network.gradient_bytes, gradient_bytes_per_param=bf16)
    ranks = sheet.add("ranks of the all-reduce", network.allreduce_ranks)
    sheet.add("gradient all-reduce", network.allreduce_s, ranks=ranks, link_bits_per_s=link)
    sheet.add("compute of one step", network.step_s)
    share = sheet.add("gradient all-reduce, share of compute", network.allreduce_frac)
    if share.value > 1:
        sheet.warnings.append(
            f"averaging gradients takes {format_count(share.value)} times as long as computing"
            " them: training.batch_tokens is small for this network"
        )
