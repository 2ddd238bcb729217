"""How fast storage must be read to keep a training run fed."""

from sizing.formula import Formula


def read_bytes_per_s(
    *, tokens_per_s: float, stored_bytes_per_token: float, read_amplification: float
) -> float:
    """Sustained rate at which the whole job reads from storage.

        tokens/s x stored bytes/token x read amplification

    >>> read_bytes_per_s(tokens_per_s=4e6, stored_bytes_per_token=2.0, read_amplification=1.5)
    12000000.0
    """
    return tokens_per_s * stored_bytes_per_token * read_amplification


def node_read_bytes_per_s(
    *, read_bytes_per_s: float, accelerators: float, per_node: float
) -> float:
    """The share of one node; all of it where the job is smaller than a node.

        read bytes/s of the job x accelerators in a node / accelerators of the job

    >>> node_read_bytes_per_s(read_bytes_per_s=12e6, accelerators=32, per_node=8)
    3000000.0
    >>> node_read_bytes_per_s(read_bytes_per_s=12e6, accelerators=4, per_node=8)
    12000000.0
    """
    return read_bytes_per_s * min(per_node, accelerators) / accelerators


def sequence_reads_per_s(*, tokens_per_s: float, seq_len: float) -> float:
    """Reads each second where every sequence is fetched by a read of its own, as shuffling does.

        tokens/s / tokens in a sequence

    >>> sequence_reads_per_s(tokens_per_s=8.192e6, seq_len=8192)
    1000.0
    """
    return tokens_per_s / seq_len


READ_BYTES_PER_S = Formula(
    function=read_bytes_per_s,
    equation="tokens_per_s x stored_bytes_per_token x read_amplification",
    unit="bytes/s",
    source="definition; nothing is counted as cached in the nodes' memory",
)
NODE_READ_BYTES_PER_S = Formula(
    function=node_read_bytes_per_s,
    equation="read_bytes_per_s x min(per_node, accelerators) / accelerators",
    unit="bytes/s",
    source="definition; every accelerator reads a share of its own",
)
SEQUENCE_READS_PER_S = Formula(
    function=sequence_reads_per_s,
    equation="tokens_per_s / seq_len",
    unit="reads/s",
    source="definition; fewer if a read fetches several sequences in a row",
)
