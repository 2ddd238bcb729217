"""What training and storage cost, and what it would be worth not to wait for storage."""

from tokenmill.sizing.formulas.compute import TRAIN_FLOPS
from tokenmill.sizing.formulas.cost import (
    AFFORDABLE_BYTES,
    COMPUTE_USD,
    SAVED_FRAC,
    STORAGE_TB_MONTHS,
    STORAGE_USD,
    TOTAL_USD,
    WASTE_USD,
    WASTE_USD_PER_DAY,
)
from tokenmill.sizing.formulas.failures import (
    FASTER_STALL_S,
    RESTART_FRAC,
    WASTE_FRAC,
    YOUNG_INTERVAL_S,
)
from tokenmill.sizing.formulas.mixture import READ_BYTES
from tokenmill.sizing.formulas.object_store import REQUESTS, REQUESTS_USD
from tokenmill.sizing.formulas.training import JOB_ACCELERATOR_HOURS
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sections.checkpoints import WITH_FAILURES
from tokenmill.sizing.sheet import Given, Sheet

TITLE = "Time and money"
TWICE = 2.0


def add(sheet: Sheet) -> None:
    """Add the rows of the section; costs of failures, and in all, only where any time is left."""
    sheet.add(
        "FLOP of the whole training",
        TRAIN_FLOPS,
        trained_tokens=sheet["tokens trained on"],
        train_flops_per_token=sheet["train FLOP a token"],
    )
    hours = sheet.add(
        "accelerator hours",
        JOB_ACCELERATOR_HOURS,
        training_days=sheet["training time"],
        accelerators="cluster.count",
    )
    parts: dict[str, Given] = {
        "compute": sheet.add(
            "compute cost",
            COMPUTE_USD,
            accelerator_hours=hours,
            usd_per_hour="prices.accelerator_hour",
        )
    }
    days, ends = sheet["training time"], WITH_FAILURES in sheet
    if ends:
        days = sheet[WITH_FAILURES]
        parts["waste"] = _waste(sheet, days)
    parts["storage"] = _storage(sheet, days)
    parts["requests"] = _requests(sheet)
    if ends:  # what never ends has no cost in all
        sheet.add("cost in all", TOTAL_USD, **parts)
    _worth(sheet)
    if sheet.plan.checkpoints.mode == "sync":
        _twice_as_fast(sheet)


def _waste(sheet: Sheet, days: Requirement) -> Requirement:
    a_day = _usd_per_day(sheet, "cost of waste, one day", sheet["waste"])
    return sheet.add("cost of waste", WASTE_USD, waste_usd_per_day=a_day, days=days)


def _usd_per_day(sheet: Sheet, name: str, share: Requirement) -> Requirement:
    return sheet.add(
        name,
        WASTE_USD_PER_DAY,
        waste_frac=share,
        accelerators="cluster.count",
        usd_per_hour="prices.accelerator_hour",
    )


def _storage(sheet: Sheet, days: Requirement) -> Requirement:
    """Raw capacity, for as long as training takes."""
    held = sheet.add(
        "storage, raw TB-months", STORAGE_TB_MONTHS, storage_bytes=sheet["raw capacity"], days=days
    )
    return sheet.add(
        "storage cost", STORAGE_USD, tb_months=held, usd_per_tb_month="prices.storage_tb_month"
    )


def _requests(sheet: Sheet) -> Requirement:
    made = sheet.add(
        "requests, all of training",
        REQUESTS,
        read_bytes=_read_in_training(sheet),
        request_bytes="storage.request_bytes",
    )
    return sheet.add(
        "cost of requests",
        REQUESTS_USD,
        requests=made,
        usd_per_1000="prices.get_per_1000",
    )


def _read_in_training(sheet: Sheet) -> Requirement:
    name = "read in training"
    if name in sheet:
        return sheet[name]
    return sheet.add(
        name,
        READ_BYTES,
        trained_tokens=sheet["tokens trained on"],
        stored_bytes_per_token=sheet["stored bytes a token"],
    )


def _worth(sheet: Sheet) -> None:
    """What the best of all storage would save, and the storage that this would rent."""
    rest = sheet.add(
        "waste of restarts, loading aside",
        RESTART_FRAC,
        restart_s="checkpoints.restart_s",
        load_frac="checkpoints.restart_load_frac",
        job_mttf_hours=sheet["mean time to failure"],
    )
    saved = sheet.add(
        "waste that storage could save, at most",
        SAVED_FRAC,
        waste_frac=sheet["waste"],
        faster_waste_frac=rest,
    )
    a_day = _usd_per_day(sheet, "cost of waiting for storage, at most, one day", saved)
    if sheet.plan.prices.storage_tb_month > 0:
        sheet.add(
            "raw storage that such a saving would rent",
            AFFORDABLE_BYTES,
            usd_per_day=a_day,
            usd_per_tb_month="prices.storage_tb_month",
        )


def _twice_as_fast(sheet: Sheet) -> None:
    """What twice the write bandwidth saves, both at the interval that is best for them."""
    twice = sheet.assume("speedup", TWICE, unit="ratio", source="twice the write bandwidth")
    stall = sheet.add(
        "checkpoint stall, twice as fast",
        FASTER_STALL_S,
        stall_s=sheet["checkpoint stall"],
        speedup=twice,
    )
    mttf = sheet["mean time to failure"]
    interval = sheet.add(
        "optimal checkpoint interval, twice as fast",
        YOUNG_INTERVAL_S,
        stall_s=stall,
        job_mttf_hours=mttf,
    )
    waste = sheet.add(
        "waste at the optimal interval, twice as fast",
        WASTE_FRAC,
        stall_s=stall,
        interval_s=interval,
        job_mttf_hours=mttf,
        restart_s="checkpoints.restart_s",
    )
    saved = sheet.add(
        "waste that twice the write bandwidth saves",
        SAVED_FRAC,
        waste_frac=sheet["waste at the optimal interval"],
        faster_waste_frac=waste,
    )
    _usd_per_day(sheet, "saving by twice the write bandwidth, one day", saved)
