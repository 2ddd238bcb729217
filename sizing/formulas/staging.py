"""How long it takes to copy a dataset to the drives that nodes have of their own."""

from tokenmill.sizing.formula import Formula

SECONDS_PER_HOUR = 3600


def node_link_bits_per_s(*, scale_out_bits_per_s: float, per_node: float) -> float:
    """Network of a node: the shares of its accelerators.

        bits/s of one accelerator x accelerators in a node

    >>> node_link_bits_per_s(scale_out_bits_per_s=400e9, per_node=8)
    3200000000000.0
    """
    return scale_out_bits_per_s * per_node


def shared_staging_hours(*, staged_bytes: float, nodes: float, storage_bytes_per_s: float) -> float:
    """Hours until every node has copied its data, the storage they share being the limit.

        bytes for one node x nodes / (bytes/s of the storage x 3,600)

    >>> shared_staging_hours(staged_bytes=3.6e12, nodes=10, storage_bytes_per_s=10e9)
    1.0
    """
    return staged_bytes * nodes / (storage_bytes_per_s * SECONDS_PER_HOUR)


NODE_LINK_BITS_PER_S = Formula(
    function=node_link_bits_per_s,
    equation="scale_out_bits_per_s x per_node",
    unit="bits/s",
    source="definition",
)
SHARED_STAGING_HOURS = Formula(
    function=shared_staging_hours,
    equation="staged_bytes x nodes / (storage_bytes_per_s x 3,600)",
    unit="hours",
    source="definition; every node copies the whole dataset",
)
