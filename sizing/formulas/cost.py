"""What training and storage cost, and what waiting for storage costs, in US dollars."""

from tokenmill.sizing.formula import formula, total
from tokenmill.sizing.formulas.training import HOURS_PER_DAY

DAYS_PER_MONTH = 365.25 / 12
TB = 1e12


@formula(unit="USD")
def compute_usd(*, accelerator_hours: float, usd_per_hour: float) -> float:
    """What the accelerators cost.

    >>> compute_usd(accelerator_hours=1000.0, usd_per_hour=2.0)
    2000.0
    """
    return accelerator_hours * usd_per_hour


def waste_usd_per_hour(*, waste_frac: float, accelerators: float, usd_per_hour: float) -> float:
    """What wasted time costs for each hour of training.

        share of time wasted x accelerators x price of an hour of one

    >>> waste_usd_per_hour(waste_frac=0.25, accelerators=1000, usd_per_hour=2.0)
    500.0
    """
    return waste_frac * accelerators * usd_per_hour


@formula(unit="USD/day", equation="waste_frac x accelerators x usd_per_hour x 24")
def waste_usd_per_day(*, waste_frac: float, accelerators: float, usd_per_hour: float) -> float:
    """What wasted time costs for each day of training.

    >>> waste_usd_per_day(waste_frac=0.25, accelerators=1000, usd_per_hour=2.0)
    12000.0
    """
    hour = waste_usd_per_hour(
        waste_frac=waste_frac, accelerators=accelerators, usd_per_hour=usd_per_hour
    )
    return hour * HOURS_PER_DAY


@formula(unit="USD")
def waste_usd(*, waste_usd_per_day: float, days: float) -> float:
    """What wasted time costs over all of training.

    days: those that are wasted among them.

    >>> waste_usd(waste_usd_per_day=1000.0, days=60.0)
    60000.0
    """
    return waste_usd_per_day * days


@formula(unit="TB-months", equation="storage_bytes / 10^12 x days / (365.25 / 12)")
def storage_tb_months(*, storage_bytes: float, days: float) -> float:
    """Storage and how long it is held.

    >>> storage_tb_months(storage_bytes=100e12, days=60.875)
    200.0
    """
    return storage_bytes / TB * days / DAYS_PER_MONTH


@formula(unit="USD")
def storage_usd(*, tb_months: float, usd_per_tb_month: float) -> float:
    """What storage costs for as long as it is held.

    >>> storage_usd(tb_months=200.0, usd_per_tb_month=20.0)
    4000.0
    """
    return tb_months * usd_per_tb_month


@formula(unit="USD/month", equation="storage_bytes / 10^12 x usd_per_tb_month")
def storage_usd_per_month(*, storage_bytes: float, usd_per_tb_month: float) -> float:
    """What storage costs each month that it is held.

    >>> storage_usd_per_month(storage_bytes=100e12, usd_per_tb_month=20.0)
    2000.0
    """
    return storage_bytes / TB * usd_per_tb_month


@formula(unit="fraction")
def saved_frac(*, waste_frac: float, faster_waste_frac: float) -> float:
    """Share of time that faster storage saves.

    >>> saved_frac(waste_frac=0.25, faster_waste_frac=0.125)
    0.125
    """
    return waste_frac - faster_waste_frac


@formula(unit="bytes", equation="usd_per_day x (365.25 / 12) / usd_per_tb_month x 10^12")
def affordable_bytes(*, usd_per_day: float, usd_per_tb_month: float) -> float:
    """Storage that so many dollars a day would rent.

    >>> affordable_bytes(usd_per_day=100.0, usd_per_tb_month=30.4375) / 1e12  # TB
    100.0
    """
    return usd_per_day * DAYS_PER_MONTH / usd_per_tb_month * TB


# what all of it costs
total_usd = total(unit="USD")
