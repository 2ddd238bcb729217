"""How often a job fails and should checkpoint, what that costs of its time, and how it restarts.

waste    the share of time that brings training no further: waiting for checkpoints, doing again
         what a failure undid, restarting
restart  storage delivers the job's state, and its software
"""

import math

from tokenmill.sizing.formula import formula, product, quotient
from tokenmill.sizing.formulas.training import HOURS_PER_DAY, SECONDS_PER_HOUR

_YOUNG = "Young 1974, A first order approximation to the optimum checkpoint interval"
_DALY = (
    "Daly 2006, A higher order estimate of the optimum checkpoint interval,"
    " doi 10.1016/j.future.2004.11.016"
)


# Mean time to failure of a job that any one of its accelerators can stop.
job_mttf_hours = quotient(
    "job_mttf_hours",
    "mttf_hours",
    "accelerators",
    unit="hours",
    source="independent failures at a constant rate, each of which stops the job",
)

# Mean time between failures that were counted.
observed_mttf_hours = quotient(
    "observed_mttf_hours", ("observed_days", HOURS_PER_DAY), "failures", unit="hours"
)

# Accelerator hours for each failure that was counted.
accelerator_mttf_hours = quotient(
    "accelerator_mttf_hours",
    ("observed_days", HOURS_PER_DAY, "accelerators"),
    "failures",
    unit="hours",
)

# Failures in so many days of training, on average.
expected_failures = quotient(
    "expected_failures", ("training_days", HOURS_PER_DAY), "job_mttf_hours", unit="failures"
)


@formula(unit="s", source=_YOUNG)
def young_interval_s(*, stall_s: float, job_mttf_hours: float) -> float:
    """Interval between checkpoints that wastes least, to first order.

    >>> young_interval_s(stall_s=50.0, job_mttf_hours=1.0)
    600.0
    """
    return math.sqrt(2 * stall_s * job_mttf_hours * SECONDS_PER_HOUR)


@formula(
    unit="s",
    equation="2 x lost_frac x job_mttf_hours x 3,600, but no longer than most_interval_s, or"
    " the run",
    source=f"{_YOUNG}: at the optimum as much is lost by waiting as by failures",
)
def interval_of_loss_s(
    *, lost_frac: float, job_mttf_hours: float, most_interval_s: float, training_days: float
) -> float:
    """Interval between checkpoints at which failures undo so large a share of the work.

    It is the optimum where the same share of the time is spent on writing them.

    >>> def interval_s(**given):
    ...     return interval_of_loss_s(lost_frac=0.05, most_interval_s=10_800, **given)
    >>> interval_s(job_mttf_hours=10.0, training_days=1.0)
    3600.0
    >>> interval_s(job_mttf_hours=1000.0, training_days=1.0)
    10800
    >>> interval_s(job_mttf_hours=1000.0, training_days=1 / 24)
    3600.0
    """
    best_s = 2 * lost_frac * job_mttf_hours * SECONDS_PER_HOUR
    return min(best_s, most_interval_s, training_days * HOURS_PER_DAY * SECONDS_PER_HOUR)


@formula(
    unit="s",
    equation="interval_s, but no longer than the run, or than the longer of most_interval_s and"
    " stall_s / stall_frac",
    source="definition",
)
def interval_within_s(
    *,
    interval_s: float,
    most_interval_s: float,
    training_days: float,
    stall_s: float = 0.0,
    stall_frac: float = 1.0,
) -> float:
    """An interval between checkpoints within its bounds.

    stall_s, stall_frac: the wait for one, and the share of the time that it may take.

    >>> interval_within_s(interval_s=90_000.0, most_interval_s=10_800.0, training_days=1.0)
    10800.0
    >>> interval_within_s(
    ...     interval_s=90_000.0, most_interval_s=10_800.0, training_days=1.0,
    ...     stall_s=1000.0, stall_frac=0.05,
    ... )
    20000.0
    """
    longest_s = max(most_interval_s, stall_s / stall_frac)
    return min(interval_s, longest_s, training_days * HOURS_PER_DAY * SECONDS_PER_HOUR)


@formula(
    unit="s",
    equation="sqrt(2 d M) x (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d, of d = stall_s and"
    " M = job_mttf_hours x 3,600; M where d is 2M or more",
    source=_DALY,
)
def daly_interval_s(*, stall_s: float, job_mttf_hours: float) -> float:
    """Interval between checkpoints that wastes least, of a higher order.

    with d the seconds that a checkpoint stalls training, M the mean time to failure in seconds.

    >>> round(daly_interval_s(stall_s=50.0, job_mttf_hours=1.0), 1)
    567.1
    >>> daly_interval_s(stall_s=7200.0, job_mttf_hours=1.0)
    3600.0
    """
    mttf_s = job_mttf_hours * SECONDS_PER_HOUR
    if stall_s >= 2 * mttf_s:
        return mttf_s
    x = stall_s / (2 * mttf_s)
    return math.sqrt(2 * stall_s * mttf_s) * (1 + math.sqrt(x) / 3 + x / 9) - stall_s


@formula(
    unit="fraction",
    equation="stall_s / interval_s"
    " + (interval_s / 2 + drain_s + restart_s) / (job_mttf_hours x 3,600)",
    source=f"{_YOUNG}; restarts added",
)
def waste_frac(
    *,
    interval_s: float,
    stall_s: float,
    job_mttf_hours: float,
    drain_s: float = 0.0,
    restart_s: float = 0.0,
) -> float:
    """Share of time that brings training no further, to first order.

    drain_s: from the end of the stall until a checkpoint can be restarted from, that is, until
    storage has all of an asynchronous one.

    A sum of small shares: near 1, where it may pass, it says no more than "most of the time".

    >>> waste_frac(stall_s=6.0, interval_s=600.0, job_mttf_hours=1.0, restart_s=60.0)
    0.11
    """
    lost_s = interval_s / 2 + drain_s + restart_s
    return stall_s / interval_s + lost_s / (job_mttf_hours * SECONDS_PER_HOUR)


# Seconds that a checkpoint stalls training where storage takes it faster.
faster_stall_s = quotient("faster_stall_s", "stall_s", "speedup", unit="s")


@formula(unit="fraction")
def restart_frac(*, restart_s: float, load_frac: float, job_mttf_hours: float) -> float:
    """Share of time that goes into restarts, loading left out: no storage makes it smaller.

    >>> restart_frac(restart_s=360.0, job_mttf_hours=1.0, load_frac=0.25)
    0.075
    """
    return restart_s * (1 - load_frac) / (job_mttf_hours * SECONDS_PER_HOUR)


@formula(unit="days", equation="training_days / (1 - waste_frac)")
def days_with_waste(*, training_days: float, waste_frac: float) -> float:
    """Days that training takes with its failures; infinite where all time is wasted.

    >>> days_with_waste(training_days=54.0, waste_frac=0.1)
    60.0
    """
    return math.inf if waste_frac >= 1 else training_days / (1 - waste_frac)


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


# Seconds until all of it is read.
restart_read_s = quotient("restart_read_s", "restart_read_bytes", "read_bytes_per_s", unit="s")

# Rate at which storage must give it so that a restart takes no longer than planned.
restart_read_bytes_per_s = quotient(
    "restart_read_bytes_per_s",
    "restart_read_bytes",
    ("restart_s", "load_frac"),
    unit="bytes/s",
    source="definition; all ranks at once",
)


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


@formula(unit="s", source="definition, were nothing else lost")
def observed_restart_s(*, mttf_hours: float, uptime_frac: float) -> float:
    """Seconds that a job is down after each failure, from the share of time that it is up.

    >>> round(observed_restart_s(mttf_hours=2.5, uptime_frac=0.9))
    1000
    """
    return mttf_hours * SECONDS_PER_HOUR * (1 - uptime_frac) / uptime_frac


# Files that all processes open to import the same software.
import_files = product(
    "import_files",
    "processes",
    "files_per_process",
    unit="files",
    source="upper bound: no process finds a file that another one of its node has opened",
)

# Seconds that a file system takes to open them, if no node has any in its cache.
# Each file takes one metadata operation.
import_s = quotient(
    "import_s",
    "import_files",
    "metadata_ops_per_s",
    unit="s",
    source="definition; Bekman, Machine Learning Engineering, waited 20 s for one import on NFS",
)
