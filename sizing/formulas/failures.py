"""How often a job fails, how often it should checkpoint, and what that costs of its time.

waste    the share of time that brings training no further: waiting for checkpoints, doing again
         what a failure undid, restarting
"""

import math

from tokenmill.sizing.formula import formula
from tokenmill.sizing.formulas.training import HOURS_PER_DAY, SECONDS_PER_HOUR

_YOUNG = "Young 1974, A first order approximation to the optimum checkpoint interval"
_DALY = (
    "Daly 2006, A higher order estimate of the optimum checkpoint interval,"
    " doi 10.1016/j.future.2004.11.016"
)


@formula(
    unit="hours",
    equation="mttf_hours / accelerators",
    source="independent failures at a constant rate, each of which stops the job",
)
def job_mttf_hours(*, mttf_hours: float, accelerators: float) -> float:
    """Mean time to failure of a job that any one of its accelerators can stop.

    >>> job_mttf_hours(mttf_hours=50_000, accelerators=100_000)
    0.5
    """
    return mttf_hours / accelerators


@formula(unit="hours", equation="observed_days x 24 / failures")
def observed_mttf_hours(*, observed_days: float, failures: float) -> float:
    """Mean time between failures that were counted.

    >>> observed_mttf_hours(observed_days=10, failures=80)
    3.0
    """
    return observed_days * HOURS_PER_DAY / failures


@formula(unit="hours", equation="observed_days x 24 x accelerators / failures")
def accelerator_mttf_hours(*, observed_days: float, failures: float, accelerators: float) -> float:
    """Accelerator hours for each failure that was counted.

    >>> accelerator_mttf_hours(observed_days=10, failures=80, accelerators=1000)
    3000.0
    """
    return observed_days * HOURS_PER_DAY * accelerators / failures


@formula(unit="failures", equation="training_days x 24 / job_mttf_hours")
def expected_failures(*, training_days: float, job_mttf_hours: float) -> float:
    """Failures in so many days of training, on average.

    >>> expected_failures(training_days=54, job_mttf_hours=3.0)
    432.0
    """
    return training_days * HOURS_PER_DAY / job_mttf_hours


@formula(unit="s", equation="sqrt(2 x stall_s x job_mttf_hours x 3,600)", source=_YOUNG)
def young_interval_s(*, stall_s: float, job_mttf_hours: float) -> float:
    """Interval between checkpoints that wastes least, to first order.

    >>> young_interval_s(stall_s=50.0, job_mttf_hours=1.0)
    600.0
    """
    return math.sqrt(2 * stall_s * job_mttf_hours * SECONDS_PER_HOUR)


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
    stall_s: float,
    interval_s: float,
    job_mttf_hours: float,
    restart_s: float = 0.0,
    drain_s: float = 0.0,
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


@formula(unit="s", equation="stall_s / speedup")
def faster_stall_s(*, stall_s: float, speedup: float) -> float:
    """Seconds that a checkpoint stalls training where storage takes it faster.

    >>> faster_stall_s(stall_s=50.0, speedup=2.0)
    25.0
    """
    return stall_s / speedup


@formula(unit="fraction", equation="restart_s x (1 - load_frac) / (job_mttf_hours x 3,600)")
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
