"""How long it takes to copy a dataset to the drives that nodes have of their own."""

from tokenmill.sizing.formula import formula

SECONDS_PER_HOUR = 3600


@formula(unit="bits/s", equation="scale_out_bits_per_s x per_node")
def node_link_bits_per_s(*, scale_out_bits_per_s: float, per_node: float) -> float:
    """Network of a node: the shares of its accelerators.

    >>> node_link_bits_per_s(scale_out_bits_per_s=400e9, per_node=8)
    3200000000000.0
    """
    return scale_out_bits_per_s * per_node


@formula(
    unit="hours",
    equation="staged_bytes x nodes / (storage_bytes_per_s x 3,600)",
    source="definition; every node copies the whole dataset",
)
def shared_staging_hours(*, staged_bytes: float, nodes: float, storage_bytes_per_s: float) -> float:
    """Hours until every node has copied its data, the storage they share being the limit.

    >>> shared_staging_hours(staged_bytes=3.6e12, nodes=10, storage_bytes_per_s=10e9)
    1.0
    """
    return staged_bytes * nodes / (storage_bytes_per_s * SECONDS_PER_HOUR)
