"""What training and storage cost, and what it would be worth not to wait for storage."""

from tokenmill.sizing.formulas import checkpoint, compute, cost, failures, training
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sections.capacity import most_stored
from tokenmill.sizing.sections.checkpoints import WITH_FAILURES
from tokenmill.sizing.sections.restart import load_frac
from tokenmill.sizing.sheet import Given, Sheet

TITLE = "Time and money"
TWICE = 2.0
HOT = "cost of the hot pool"  # a row of another section


def add(sheet: Sheet) -> None:
    """Add the rows of the section; costs of failures, and in all, only where any time is left."""
    sheet.add("FLOP of the whole training", compute.train_flops)
    hours = sheet.add("accelerator hours", training.job_accelerator_hours)
    parts: dict[str, Given] = {
        "compute": sheet.add("compute cost", cost.compute_usd, accelerator_hours=hours)
    }
    days, ends = paid_days(sheet), WITH_FAILURES in sheet
    if ends:
        a_day = sheet.add("cost of waste, one day", cost.waste_usd_per_day)
        parts["waste"] = sheet.add(
            "cost of waste", cost.waste_usd, waste_usd_per_day=a_day, days=days
        )
    name = "storage, TB-months billed"
    held = sheet.add(name, cost.storage_tb_months, storage_bytes=billed(sheet), days=days)
    parts["storage"] = sheet.add("storage cost", cost.storage_usd, tb_months=held)
    if HOT in sheet:
        parts["hot_pool"] = sheet[HOT]
    parts |= _requests(sheet)
    if ends:  # what never ends has no cost in all
        sheet.add("cost in all", cost.total_usd, **parts)
    _worth(sheet)
    if sheet.plan.checkpoints.mode == "sync":
        _twice_as_fast(sheet)


def paid_days(sheet: Sheet) -> Requirement:
    """How long storage is held: as training takes, with its failures where it ends."""
    return sheet[WITH_FAILURES if WITH_FAILURES in sheet else "training time"]


def billed(sheet: Sheet) -> Requirement:
    """What storage is paid for."""
    of = sheet.plan.prices.storage_billed
    return most_stored(sheet) if of == "stored" else sheet[f"{of} capacity"]


def _requests(sheet: Sheet) -> dict[str, Given]:
    """Of reads, of checkpoints, and what leaves a cloud where storage is in another place."""
    read = sheet.once("read in training", training.read_bytes)
    made = sheet.add("requests, all of training", cost.requests, read_bytes=read)
    parts: dict[str, Given] = {
        "requests": sheet.add("cost of requests", cost.requests_usd, requests=made)
    }
    if "checkpoints" in sheet.plan.storage.holds:
        written = sheet.add("checkpoint bytes written", checkpoint.written_bytes)
        puts = sheet.add("requests of checkpoints", cost.requests, read_bytes=written)
        parts["requests of checkpoints"] = sheet.add(
            "cost of requests of checkpoints",
            cost.requests_usd,
            requests=puts,
            usd_per_1000="prices.put_per_1000",
        )
    if sheet.plan.prices.egress:
        name = "cost of egress, all of training"
        parts["egress"] = sheet.add(name, cost.egress_usd, egress_bytes=read)
    return parts


def _worth(sheet: Sheet) -> None:
    """What the best of all storage would save, and the storage that this would rent."""
    name = "waste of restarts, loading aside"
    rest = sheet.add(name, failures.restart_frac, load_frac=load_frac(sheet))
    saved = sheet.add(
        "waste that storage could save, at most", cost.saved_frac, faster_waste_frac=rest
    )
    waiting = "cost of waiting for storage, at most, one day"
    a_day = sheet.add(waiting, cost.waste_usd_per_day, waste_frac=saved)
    if sheet.plan.prices.storage_tb_month > 0:
        sheet.add("storage that such a saving would rent", cost.affordable_bytes, usd_per_day=a_day)


def _twice_as_fast(sheet: Sheet) -> None:
    """What twice the write bandwidth saves, both at the interval that is best for them."""
    twice = sheet.assume(TWICE, unit="ratio", source="twice the write bandwidth")
    stall = sheet.add("checkpoint stall, twice as fast", failures.faster_stall_s, speedup=twice)
    interval = sheet.add(
        "optimal checkpoint interval, twice as fast", failures.young_interval_s, stall_s=stall
    )
    waste = sheet.add(
        "waste at the optimal interval, twice as fast",
        failures.waste_frac,
        stall_s=stall,
        interval_s=interval,
        job_mttf_hours=sheet["mean time to failure"],
        restart_s="checkpoints.restart_s",
    )
    saved = sheet.add(
        "waste that twice the write bandwidth saves",
        cost.saved_frac,
        waste_frac=sheet["waste at the optimal interval"],
        faster_waste_frac=waste,
    )
    saving = "saving by twice the write bandwidth, one day"
    sheet.add(saving, cost.waste_usd_per_day, waste_frac=saved)
