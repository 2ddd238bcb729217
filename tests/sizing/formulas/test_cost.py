"""Dollars of training, of storage, and of accelerators that wait for it."""

import pytest

from tokenmill.sizing.formulas.cost import (
    affordable_bytes,
    compute_usd,
    saved_frac,
    storage_tb_months,
    storage_usd,
    total_usd,
    waste_usd,
    waste_usd_per_day,
)
from tokenmill.sizing.formulas.training import accelerator_hours

A100 = 312e12


@pytest.mark.parametrize(("mfu", "usd"), [(0.6, 244_391), (0.45, 326_000)])
def test_a_30b_on_610_billion_tokens_costs_326_000_dollars_at_45_percent(mfu, usd):
    hours = accelerator_hours(
        trained_tokens=610e9, train_flops_per_token=6 * 30e9, dense_flops_per_s=A100, mfu=mfu
    )
    assert compute_usd(accelerator_hours=hours, usd_per_hour=1.5) == pytest.approx(usd, rel=0.001)


def test_a_tenth_of_16_384_accelerators_costs_3_300_dollars_an_hour():
    waste = {"waste_frac": 0.1, "accelerators": 16_384, "usd_per_hour": 2.0}
    assert waste_usd_per_day(**waste) == pytest.approx(24 * 3276.8)
    assert waste_usd(waste_usd_per_day=24 * 3276.8, days=10) == pytest.approx(786_432)


def test_a_year_is_twelve_months():
    months = storage_tb_months(storage_bytes=156.25e12, days=365.25)
    assert months == pytest.approx(156.25 * 12)
    assert storage_usd(tb_months=months, usd_per_tb_month=20) == pytest.approx(37_500)


def test_idle_dollars_in_storage():
    stored = affordable_bytes(usd_per_day=78_643.2, usd_per_tb_month=23.0)
    assert stored / 1e15 == pytest.approx(104.08, abs=0.01)
    months = storage_tb_months(storage_bytes=stored, days=1)
    assert storage_usd(tb_months=months, usd_per_tb_month=23.0) == pytest.approx(78_643.2)


def test_sums_and_differences():
    assert saved_frac(waste_frac=0.25, faster_waste_frac=0.1) == pytest.approx(0.15)
    assert total_usd(compute=3.0, storage=4.0) == 7.0
