"""Time on the wire: fetching a corpus, feeding a node or its own drives, averaging gradients."""

from tokenmill.sizing.formula import formula, product, quotient
from tokenmill.sizing.formulas.training import SECONDS_PER_HOUR
from tokenmill.sizing.units import BITS_PER_BYTE

_BEKMAN = "Bekman, Machine Learning Engineering: at most 80 % of what is advertised"


# What can be had of a link as sold.
usable_bits_per_s = product(
    "usable_bits_per_s", "link_bits_per_s", "efficiency", unit="bits/s", source=_BEKMAN
)

# Link to buy so that so many bytes/s can be had of it.
sold_bits_per_s = quotient(
    "sold_bits_per_s", (BITS_PER_BYTE, "bytes_per_s"), "efficiency", unit="bits/s", source=_BEKMAN
)

# Hours until so much has come over a link.
transfer_hours = quotient(
    "transfer_hours",
    (BITS_PER_BYTE, "transfer_bytes"),
    ("link_bits_per_s", "efficiency", SECONDS_PER_HOUR),
    unit="hours",
    source=_BEKMAN,
)


@formula(unit="bytes/s", source="definition; reading goes on while a checkpoint is written")
def node_bytes_per_s(*, read_bytes_per_s: float, write_bytes_per_s: float) -> float:
    """What a node exchanges with storage while it writes a checkpoint and goes on reading.

    >>> node_bytes_per_s(read_bytes_per_s=1e9, write_bytes_per_s=2e9) / 1e9  # GB/s
    3.0
    """
    return read_bytes_per_s + write_bytes_per_s


# Share of a network that something takes; above 1 it does not fit.
network_frac = quotient("network_frac", "needed_bits_per_s", "link_bits_per_s", unit="fraction")


@formula(
    unit="accelerators",
    equation="the larger of accelerators / replicas, and per_node",
    source="gradients of replicas in one node are added up inside it: hierarchical all-reduce",
)
def gradient_sharers(*, accelerators: float, per_node: float, replicas: float) -> float:
    """Accelerators among which the gradients that leave a node are divided.

    Replicas of one node add their gradients up inside it first.

    >>> gradient_sharers(accelerators=1024, per_node=8, replicas=1024)
    8
    >>> gradient_sharers(accelerators=1024, per_node=8, replicas=64)
    16.0
    """
    return max(accelerators / replicas, min(per_node, accelerators))


# Gradients that one accelerator has to average with its peers in other nodes.
gradient_bytes = quotient(
    "gradient_bytes", ("params", "gradient_bytes_per_param"), "gradient_sharers", unit="bytes"
)

# Accelerators that average the same gradients over the network, itself included.
allreduce_ranks = quotient("allreduce_ranks", "accelerators", "gradient_sharers", unit="ranks")


@formula(
    unit="s",
    equation="2 x (ranks - 1) / ranks x 8 x gradient_bytes / (link_bits_per_s x efficiency)",
    source="ring all-reduce: Patarasuk and Yuan 2009, doi 10.1016/j.jpdc.2008.09.002",
)
def allreduce_s(
    *, gradient_bytes: float, ranks: float, link_bits_per_s: float, efficiency: float
) -> float:
    """Seconds of a ring all-reduce.

    Each rank sends its bytes round the ring twice, less its own part: once summed up, once
    handed out.

    >>> allreduce_s(gradient_bytes=2e9, ranks=4, link_bits_per_s=100e9, efficiency=0.8)
    0.3
    """
    sent_bytes = 2 * (ranks - 1) / ranks * gradient_bytes
    return BITS_PER_BYTE * sent_bytes / (link_bits_per_s * efficiency)


# Seconds of compute of one step.
step_s = quotient("step_s", "batch_tokens", "tokens_per_s", unit="s")

# All-reduce as a share of the compute it could be hidden behind.
allreduce_frac = quotient(
    "allreduce_frac",
    "allreduce_s",
    "step_s",
    unit="fraction",
    source="definition; most of it can be hidden behind the backward pass",
)

# Network of a node: the shares of its accelerators.
node_link_bits_per_s = product(
    "node_link_bits_per_s", "scale_out_bits_per_s", "per_node", unit="bits/s"
)

# Hours until every node has copied its data, the storage they share being the limit.
shared_staging_hours = quotient(
    "shared_staging_hours",
    ("staged_bytes", "nodes"),
    ("storage_bytes_per_s", SECONDS_PER_HOUR),
    unit="hours",
    source="definition; every node copies the whole dataset",
)
