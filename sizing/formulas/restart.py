"""What storage has to deliver when a job starts again: its state, and its software."""

from tokenmill.sizing.formula import formula
from tokenmill.sizing.formulas.training import SECONDS_PER_HOUR


@formula(
    unit="bytes",
    equation="params x (weight_bytes_per_param x weight_readers"
    " + bytes_per_param - weight_bytes_per_param)",
    source="MegaScale, Jiang et al. 2024, arXiv:2402.15627: one reads what its data-parallel"
    " group shares, and broadcasts it",
)
def restart_read_bytes(
    *, params: float, bytes_per_param: float, weight_bytes_per_param: float, weight_readers: float
) -> float:
    """What a job reads from storage to start from a checkpoint.

    Each replica needs the weights, and reads them itself or is sent them by the one that did.
    Optimizer state is held once, and so read once.

    >>> def read(weight_readers):
    ...     return restart_read_bytes(
    ...         params=1e12, bytes_per_param=14, weight_bytes_per_param=2,
    ...         weight_readers=weight_readers,
    ...     ) / 1e12  # TB
    >>> read(weight_readers=100), read(weight_readers=1)
    (212.0, 14.0)
    """
    rest = bytes_per_param - weight_bytes_per_param
    return params * (weight_bytes_per_param * weight_readers + rest)


@formula(unit="s", equation="restart_read_bytes / read_bytes_per_s")
def restart_read_s(*, restart_read_bytes: float, read_bytes_per_s: float) -> float:
    """Seconds until all of it is read.

    >>> restart_read_s(restart_read_bytes=5.6e12, read_bytes_per_s=500e9)
    11.2
    """
    return restart_read_bytes / read_bytes_per_s


@formula(
    unit="bytes/s",
    equation="restart_read_bytes / (restart_s x load_frac)",
    source="definition; all ranks at once",
)
def restart_read_bytes_per_s(
    *, restart_read_bytes: float, restart_s: float, load_frac: float
) -> float:
    """Rate at which storage must give it so that a restart takes no longer than planned.

    >>> restart_read_bytes_per_s(restart_read_bytes=5e12, restart_s=1000, load_frac=0.1) / 1e9
    50.0
    """
    return restart_read_bytes / (restart_s * load_frac)


@formula(
    unit="bytes/s",
    equation="params x (weight_bytes_per_param / replica_nodes"
    " + (bytes_per_param - weight_bytes_per_param) / nodes) / (restart_s x load_frac)",
    source="definition; of the nodes that read the weights, the others need less",
)
def node_restart_bytes_per_s(
    *,
    params: float,
    bytes_per_param: float,
    weight_bytes_per_param: float,
    replica_nodes: float,
    nodes: float,
    restart_s: float,
    load_frac: float,
) -> float:
    """Rate at which a node that reads weights must be given its part.

    The nodes of one replica share the reading of the weights, whether the other replicas read
    them as well or are sent them; all nodes share the optimizer state.

    >>> node_restart_bytes_per_s(
    ...     params=1e12, bytes_per_param=14, weight_bytes_per_param=2, replica_nodes=10,
    ...     nodes=100, restart_s=1000, load_frac=0.1,
    ... ) / 1e9  # GB/s
    3.2
    """
    rest = bytes_per_param - weight_bytes_per_param
    of_node = params * (weight_bytes_per_param / replica_nodes + rest / nodes)
    return of_node / (restart_s * load_frac)


@formula(
    unit="s",
    equation="mttf_hours x 3,600 x (1 - uptime_frac) / uptime_frac",
    source="definition, were nothing else lost",
)
def observed_restart_s(*, mttf_hours: float, uptime_frac: float) -> float:
    """Seconds that a job is down after each failure, from the share of time that it is up.

    >>> round(observed_restart_s(mttf_hours=2.5, uptime_frac=0.9))
    1000
    """
    return mttf_hours * SECONDS_PER_HOUR * (1 - uptime_frac) / uptime_frac


@formula(
    unit="files",
    equation="processes x files_per_process",
    source="upper bound: no process finds a file that another one of its node has opened",
)
def import_files(*, processes: float, files_per_process: float) -> float:
    """Files that all processes open to import the same software.

    >>> import_files(processes=1024, files_per_process=20_000)
    20480000
    """
    return processes * files_per_process


@formula(
    unit="s",
    equation="import_files / metadata_ops_per_s",
    source="definition; Bekman, Machine Learning Engineering, waited 20 s for one import on NFS",
)
def import_s(*, import_files: float, metadata_ops_per_s: float) -> float:
    """Seconds that a file system takes to open them, if no node has any in its cache.

    Each file takes one metadata operation.

    >>> import_s(import_files=20e6, metadata_ops_per_s=50_000)
    400.0
    """
    return import_files / metadata_ops_per_s
