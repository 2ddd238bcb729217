"""What training and storage cost, and what waiting for storage costs, in US dollars."""

from tokenmill.sizing.formula import Formula
from tokenmill.sizing.formulas.training import HOURS_PER_DAY

DAYS_PER_MONTH = 365.25 / 12
TB = 1e12


def compute_usd(*, accelerator_hours: float, usd_per_hour: float) -> float:
    """What the accelerators cost.

        accelerator hours x price of one

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


def waste_usd_per_day(*, waste_frac: float, accelerators: float, usd_per_hour: float) -> float:
    """What wasted time costs for each day of training.

        share of time wasted x accelerators x price of an hour of one x 24

    >>> waste_usd_per_day(waste_frac=0.25, accelerators=1000, usd_per_hour=2.0)
    12000.0
    """
    hour = waste_usd_per_hour(
        waste_frac=waste_frac, accelerators=accelerators, usd_per_hour=usd_per_hour
    )
    return hour * HOURS_PER_DAY


def waste_usd(*, waste_usd_per_day: float, days: float) -> float:
    """What wasted time costs over all of training.

        dollars a day x days, those that are wasted among them

    >>> waste_usd(waste_usd_per_day=1000.0, days=60.0)
    60000.0
    """
    return waste_usd_per_day * days


def storage_tb_months(*, storage_bytes: float, days: float) -> float:
    """Storage and how long it is held.

        bytes / 10^12 x days / days of a month

    >>> storage_tb_months(storage_bytes=100e12, days=60.875)
    200.0
    """
    return storage_bytes / TB * days / DAYS_PER_MONTH


def storage_usd(*, tb_months: float, usd_per_tb_month: float) -> float:
    """What storage costs for as long as it is held.

        TB-months x price of one

    >>> storage_usd(tb_months=200.0, usd_per_tb_month=20.0)
    4000.0
    """
    return tb_months * usd_per_tb_month


def saved_frac(*, waste_frac: float, faster_waste_frac: float) -> float:
    """Share of time that faster storage saves.

        waste - waste with faster storage

    >>> saved_frac(waste_frac=0.25, faster_waste_frac=0.125)
    0.125
    """
    return waste_frac - faster_waste_frac


def affordable_bytes(*, usd_per_day: float, usd_per_tb_month: float) -> float:
    """Storage that so many dollars a day would rent.

        dollars a day x days of a month / price of a TB-month x 10^12

    >>> affordable_bytes(usd_per_day=100.0, usd_per_tb_month=30.4375) / 1e12  # TB
    100.0
    """
    return usd_per_day * DAYS_PER_MONTH / usd_per_tb_month * TB


def total_usd(**parts_usd: float) -> float:
    """What all of it costs.

        the sum of the parts

    >>> total_usd(compute=2000.0, storage=4000.0)
    6000.0
    """
    return sum(parts_usd.values())


COMPUTE_USD = Formula(
    function=compute_usd,
    equation="accelerator_hours x usd_per_hour",
    unit="USD",
    source="definition",
)
WASTE_USD_PER_DAY = Formula(
    function=waste_usd_per_day,
    equation="waste_frac x accelerators x usd_per_hour x 24",
    unit="USD/day",
    source="definition",
)
WASTE_USD = Formula(
    function=waste_usd,
    equation="waste_usd_per_day x days",
    unit="USD",
    source="definition",
)
STORAGE_TB_MONTHS = Formula(
    function=storage_tb_months,
    equation="storage_bytes / 10^12 x days / (365.25 / 12)",
    unit="TB-months",
    source="definition",
)
STORAGE_USD = Formula(
    function=storage_usd,
    equation="tb_months x usd_per_tb_month",
    unit="USD",
    source="definition",
)
SAVED_FRAC = Formula(
    function=saved_frac,
    equation="waste_frac - faster_waste_frac",
    unit="fraction",
    source="definition",
)
AFFORDABLE_BYTES = Formula(
    function=affordable_bytes,
    equation="usd_per_day x (365.25 / 12) / usd_per_tb_month x 10^12",
    unit="bytes",
    source="definition",
)
TOTAL_USD = Formula(
    function=total_usd, equation="the sum of its inputs", unit="USD", source="definition"
)
