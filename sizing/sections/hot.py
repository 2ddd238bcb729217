"""A fast pool before a slower store: what must be hot, how it is filled, what is read behind it."""

from tokenmill.sizing.formulas import capacity, cost, supply
from tokenmill.sizing.sections.cost import billed, paid_days
from tokenmill.sizing.sections.stages import STORED, all_datasets, parts
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.units import format_quantity

TITLE = "Hot and cold"
COLD = "read bandwidth of the cold store, training"
POOL, SHARE = "hot pool", "share of the dataset that is hot"
CHECKPOINTS = "checkpoints that are hot"


def add(sheet: Sheet) -> None:
    """Add the rows of the section; none without `storage.hot`."""
    hot = sheet.plan.storage.hot
    if hot is None:
        return
    dataset = all_datasets(sheet)
    rows = {row.name.removeprefix(STORED): row for row in parts(sheet)["checkpoints"]}
    kept = sheet.add(CHECKPOINTS, capacity.logical_bytes, **rows)
    name = "window of training that must be hot"
    window = sheet.add(name, supply.window_bytes, window_s="storage.hot.window_s")
    needed = sheet.add(
        "least that must be hot", capacity.logical_bytes, checkpoints=kept, window=window
    )
    size: Given = needed if hot.bytes is None else "storage.hot.bytes"
    pool = sheet.add(POOL, capacity.logical_bytes, pool=size)
    sheet.add(
        "prefetch window of the pool", supply.window_s, pool_bytes=pool, checkpoint_bytes=kept
    )
    share = sheet.add(
        SHARE, supply.hot_share, pool_bytes=pool, checkpoint_bytes=kept, dataset_bytes=dataset
    )
    stays: Given = share
    if hot.streams and share.value < 1:
        source = "storage.hot.streams: what was read makes room, and comes again each epoch"
        stays = sheet.assume(0.0, unit="fraction", source=source, key="storage.hot.streams")
    sheet.add(COLD, supply.cold_read_bytes_per_s, hot_share=stays)
    if pool.value < needed.value:
        sheet.warnings.append(
            f"the hot pool of {pool.shown} is smaller than the {needed.shown} of its checkpoints"
            f" and {format_quantity(hot.window_s, 's')} of training: training waits for the cold"
            " store"
        )
    _staging(sheet)
    _cost(sheet)


def _staging(sheet: Sheet) -> None:
    """How long the pool takes to fill, at the rate of the store behind it."""
    hot = sheet.plan.storage.hot
    if hot is None or hot.cold_bytes_per_s is None:
        return
    dataset, share = all_datasets(sheet), sheet[SHARE]
    name = "filled before training"
    sheet.add(name, supply.staged_bytes, dataset_bytes=dataset, share=share)
    rate = "storage.hot.cold_bytes_per_s"
    sheet.add("time to fill the hot pool", supply.staging_hours, cold_bytes_per_s=rate)
    if sheet[COLD].value > hot.cold_bytes_per_s:
        sheet.warnings.append(
            f"training reads {sheet[COLD].shown} of the cold store, which gives"
            f" {format_quantity(hot.cold_bytes_per_s, 'bytes/s')}: a larger pool, or a faster store"
        )


def _cost(sheet: Sheet) -> None:
    days = paid_days(sheet)
    pools: dict[str, tuple[Given, str]] = {
        "hot pool": (sheet[POOL], "storage.hot.usd_per_tb_month"),
        "cold store": (billed(sheet), "prices.storage_tb_month"),
    }
    for name, (much, price) in pools.items():
        if sheet.plan.value(price) is not None:
            months = sheet.add(
                f"TB-months of the {name}", cost.storage_tb_months, storage_bytes=much, days=days
            )
            sheet.add(
                f"cost of the {name}", cost.storage_usd, tb_months=months, usd_per_tb_month=price
            )
