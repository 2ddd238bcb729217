"""How often a job fails, how often it should checkpoint, and what that costs of its time.

waste    the share of time that brings training no further: waiting for checkpoints, doing again
         what a failure undid, restarting
"""

import math

from tokenmill.sizing.formula import Formula
from tokenmill.sizing.formulas.training import HOURS_PER_DAY, SECONDS_PER_HOUR


def job_mttf_hours(*, mttf_hours: float, accelerators: float) -> float:
    """Mean time to failure of a job that any one of its accelerators can stop.

        mean time to failure of one accelerator / accelerators

    >>> job_mttf_hours(mttf_hours=50_000, accelerators=100_000)
    0.5
    """
    return mttf_hours / accelerators


def observed_mttf_hours(*, observed_days: float, failures: float) -> float:
    """Mean time between failures that were counted.

        days x 24 / failures

    >>> observed_mttf_hours(observed_days=10, failures=80)
    3.0
    """
    return observed_days * HOURS_PER_DAY / failures


def accelerator_mttf_hours(*, observed_days: float, failures: float, accelerators: float) -> float:
    """Accelerator hours for each failure that was counted.

        days x 24 x accelerators / failures

    >>> accelerator_mttf_hours(observed_days=10, failures=80, accelerators=1000)
    3000.0
    """
    return observed_days * HOURS_PER_DAY * accelerators / failures


def expected_failures(*, training_days: float, job_mttf_hours: float) -> float:
    """Failures in so many days of training, on average.

        days x 24 / mean time to failure of the job

    >>> expected_failures(training_days=54, job_mttf_hours=3.0)
    432.0
    """
    return training_days * HOURS_PER_DAY / job_mttf_hours


def young_interval_s(*, stall_s: float, job_mttf_hours: float) -> float:
    """Interval between checkpoints that wastes least, to first order.

        sqrt(2 x seconds a checkpoint stalls training x mean time to failure)

    >>> young_interval_s(stall_s=50.0, job_mttf_hours=1.0)
    600.0
    """
    return math.sqrt(2 * stall_s * job_mttf_hours * SECONDS_PER_HOUR)


def daly_interval_s(*, stall_s: float, job_mttf_hours: float) -> float:
    """Interval between checkpoints that wastes least, of a higher order.

        sqrt(2 d M) x (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d    if d < 2M, else M

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


def waste_frac(
    *,
    stall_s: float,
    interval_s: float,
    job_mttf_hours: float,
    restart_s: float = 0.0,
    drain_s: float = 0.0,
) -> float:
    """Share of time that brings training no further, to first order.

        stall / interval + (interval / 2 + drain + restart) / mean time to failure

    drain_s: from the end of the stall until a checkpoint can be restarted from, that is, until
    storage has all of an asynchronous one.

    A sum of small shares: near 1, where it may pass, it says no more than "most of the time".

    >>> waste_frac(stall_s=6.0, interval_s=600.0, job_mttf_hours=1.0, restart_s=60.0)
    0.11
    """
    lost_s = interval_s / 2 + drain_s + restart_s
    return stall_s / interval_s + lost_s / (job_mttf_hours * SECONDS_PER_HOUR)


def faster_stall_s(*, stall_s: float, speedup: float) -> float:
    """Seconds that a checkpoint stalls training where storage takes it faster.

        stall / how many times as fast

    >>> faster_stall_s(stall_s=50.0, speedup=2.0)
    25.0
    """
    return stall_s / speedup


def restart_frac(*, restart_s: float, job_mttf_hours: float, load_frac: float) -> float:
    """Share of time that goes into restarts, loading left out: no storage makes it smaller.

        restart x (1 - fraction of it that is loading) / mean time to failure

    >>> restart_frac(restart_s=360.0, job_mttf_hours=1.0, load_frac=0.25)
    0.075
    """
    return restart_s * (1 - load_frac) / (job_mttf_hours * SECONDS_PER_HOUR)


def days_with_waste(*, training_days: float, waste_frac: float) -> float:
    """Days that training takes with its failures; infinite where all time is wasted.

        days without failures / (1 - waste)

    >>> days_with_waste(training_days=54.0, waste_frac=0.1)
    60.0
    """
    return math.inf if waste_frac >= 1 else training_days / (1 - waste_frac)


_YOUNG = "Young 1974, A first order approximation to the optimum checkpoint interval"
_DALY = (
    "Daly 2006, A higher order estimate of the optimum checkpoint interval,"
    " doi 10.1016/j.future.2004.11.016"
)

JOB_MTTF_HOURS = Formula(
    function=job_mttf_hours,
    equation="mttf_hours / accelerators",
    unit="hours",
    source="independent failures at a constant rate, each of which stops the job",
)
OBSERVED_MTTF_HOURS = Formula(
    function=observed_mttf_hours,
    equation="observed_days x 24 / failures",
    unit="hours",
    source="definition",
)
ACCELERATOR_MTTF_HOURS = Formula(
    function=accelerator_mttf_hours,
    equation="observed_days x 24 x accelerators / failures",
    unit="hours",
    source="definition",
)
EXPECTED_FAILURES = Formula(
    function=expected_failures,
    equation="training_days x 24 / job_mttf_hours",
    unit="failures",
    source="definition",
)
YOUNG_INTERVAL_S = Formula(
    function=young_interval_s,
    equation="sqrt(2 x stall_s x job_mttf_hours x 3,600)",
    unit="s",
    source=_YOUNG,
)
DALY_INTERVAL_S = Formula(
    function=daly_interval_s,
    equation="sqrt(2 d M) x (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d, of d = stall_s and"
    " M = job_mttf_hours x 3,600; M where d is 2M or more",
    unit="s",
    source=_DALY,
)
WASTE_FRAC = Formula(
    function=waste_frac,
    equation="stall_s / interval_s"
    " + (interval_s / 2 + drain_s + restart_s) / (job_mttf_hours x 3,600)",
    unit="fraction",
    source=f"{_YOUNG}; restarts added",
)
FASTER_STALL_S = Formula(
    function=faster_stall_s, equation="stall_s / speedup", unit="s", source="definition"
)
RESTART_FRAC = Formula(
    function=restart_frac,
    equation="restart_s x (1 - load_frac) / (job_mttf_hours x 3,600)",
    unit="fraction",
    source="definition",
)
DAYS_WITH_WASTE = Formula(
    function=days_with_waste,
    equation="training_days / (1 - waste_frac)",
    unit="days",
    source="definition",
)
