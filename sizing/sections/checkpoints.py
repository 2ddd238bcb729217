"""How large checkpoints are, how often they are written, how fast, and what time is lost to them.

synchronous     storage's rate gives the stall, the stall the interval
asynchronous    the copy to host memory is the stall; storage's rate limits the interval

Where the rate is not known, the interval is stated or assumed, and the rate follows from it.
"""

import math

from tokenmill.sizing.formulas import checkpoint, failures
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.tables.shipped import RECIPES
from tokenmill.sizing.units import format_quantity

TITLE = "Checkpoints"
JOB_RATE = "checkpoint write bandwidth, whole job"
YOUNG = "optimal checkpoint interval, Young"
BEST = "optimal checkpoint interval that storage can follow"
OFFERED = "checkpoints.write_bytes_per_s"
WITH_FAILURES = "training time with failures"
HALF_AN_HOUR = 1800.0
MOST_TIME = 0.5  # from here on the waste is no small share, as its formula takes it to be


def add(sheet: Sheet) -> None:
    """Add the rows of the section."""
    one = sheet.add(
        "one checkpoint", checkpoint.checkpoint_bytes, bytes_per_param=bytes_per_param(sheet)
    )
    rank = sheet.add(
        "checkpoint of one rank", checkpoint.rank_checkpoint_bytes, checkpoint_bytes=one
    )
    sheet.add("checkpoint of one node", checkpoint.node_checkpoint_bytes, checkpoint_bytes=one)
    sheet.add("mean time to failure", failures.job_mttf_hours, mttf_hours="cluster.mttf_hours")
    if sheet.plan.checkpoints.mode == "sync":
        _synchronous(sheet, one)
    else:
        _asynchronous(sheet, one, rank)
    _written(sheet, one)
    _waste(sheet)
    _kept(sheet, one)


def bytes_per_param(sheet: Sheet) -> Given:
    """Of a checkpoint: stated, or the sum of what its recipe holds."""
    stated = "checkpoints.bytes_per_param"
    if sheet.plan.value(stated) is not None:
        return stated
    recipe = RECIPES.find(sheet.plan.checkpoints.recipe)
    if not recipe.on_disk:
        sheet.warnings.append(
            f"checkpoints.recipe {recipe.name!r} counts what memory holds, gradients too, which"
            " no checkpoint does: checkpoints are likely smaller; 'bf16+adam' is what most hold"
        )
    source = f"{sheet.plan.source('checkpoints.recipe')}; {recipe.summed}"
    return sheet.assume(
        "bytes_per_param",
        recipe.bytes_per_param,
        unit="bytes/parameter",
        source=f"{source}; {recipe.source_of('parts')}",
        key=stated,
    )


def _synchronous(sheet: Sheet, one: Requirement) -> None:
    """Training waits until storage has it."""
    if _is_offered(sheet):
        sheet.add(
            "checkpoint stall", checkpoint.write_s, checkpoint_bytes=one, write_bytes_per_s=OFFERED
        )
        _optimal(sheet)
    interval = sheet.add("checkpoint interval", checkpoint.longest_interval_s, **_interval(sheet))
    rate = sheet.add(
        JOB_RATE,
        checkpoint.write_bytes_per_s,
        checkpoint_bytes=one,
        interval_s=interval,
        stall_frac="checkpoints.stall_frac",
    )
    if not _is_offered(sheet):
        sheet.add(
            "checkpoint stall", checkpoint.write_s, checkpoint_bytes=one, write_bytes_per_s=rate
        )
        _optimal(sheet)


def _asynchronous(sheet: Sheet, one: Requirement, rank: Requirement) -> None:
    """Training waits until each host has a copy; storage takes it while training goes on."""
    sheet.add(
        "checkpoint stall",
        checkpoint.host_copy_s,
        rank_checkpoint_bytes=rank,
        host_copy_bytes_per_s="checkpoints.host_copy_bytes_per_s",
    )
    _optimal(sheet)
    chosen = _interval(sheet)
    whole = sheet.assume("drain_frac", 1, unit="fraction", source="until the next one begins")
    fraction: Given = "checkpoints.drain_frac"
    if "optimal_interval_s" in chosen:
        if not sheet.stated("checkpoints.drain_frac"):
            fraction = _all_of_it(sheet)
        chosen["drain_interval_s"] = sheet.add(
            "shortest interval that storage can follow",
            checkpoint.drain_interval_s,
            checkpoint_bytes=one,
            write_bytes_per_s=OFFERED,
            drain_frac=fraction,
        )
    interval = sheet.add("checkpoint interval", checkpoint.longest_interval_s, **chosen)
    for name, part in {JOB_RATE: fraction, f"{JOB_RATE}, bare minimum": whole}.items():
        sheet.add(
            name,
            checkpoint.drain_bytes_per_s,
            checkpoint_bytes=one,
            interval_s=interval,
            drain_frac=part,
        )
    taken: Given = OFFERED if _is_offered(sheet) else sheet[JOB_RATE]
    drain = sheet.add(
        "checkpoint drain", checkpoint.write_s, checkpoint_bytes=one, write_bytes_per_s=taken
    )
    sheet.add(
        BEST,
        checkpoint.longest_interval_s,
        optimal_interval_s=sheet[YOUNG],
        checkpoint_drain_s=drain,
    )


def _all_of_it(sheet: Sheet) -> Input:
    """The whole interval to write one, where storage is as it is and nothing else is asked."""
    return sheet.assume(
        "drain_frac",
        1,
        unit="fraction",
        source=f"as {OFFERED} is given and checkpoints.drain_frac is not: storage writes one until"
        " the next begins",
        key="checkpoints.drain_frac",
    )


def _is_offered(sheet: Sheet) -> bool:
    """Whether the plan says what storage takes."""
    return sheet.plan.value(OFFERED) is not None


def _interval(sheet: Sheet) -> dict[str, Given]:
    """Stated; or the best, if that can be told before the rate is; or half an hour."""
    key = "checkpoints.interval_s"
    if sheet.plan.value(key) is not None:
        return {"interval_s": key}
    if _is_offered(sheet):
        return {"optimal_interval_s": sheet[YOUNG]}
    return {"interval_s": sheet.plan.input(key, value=HALF_AN_HOUR)}


def _optimal(sheet: Sheet) -> None:
    failing: dict[str, Given] = {
        "stall_s": sheet["checkpoint stall"],
        "job_mttf_hours": sheet["mean time to failure"],
    }
    sheet.add(YOUNG, failures.young_interval_s, **failing)
    sheet.add("optimal checkpoint interval, Daly", failures.daly_interval_s, **failing)


def _written(sheet: Sheet, one: Requirement) -> None:
    """The rate of a node, bytes a day, and whether what storage takes is enough."""
    rate, interval = sheet[JOB_RATE], sheet["checkpoint interval"]
    sheet.add(
        "checkpoint write bandwidth, one node",
        checkpoint.node_write_bytes_per_s,
        write_bytes_per_s=rate,
    )
    sheet.add(
        "checkpoint bytes a day",
        checkpoint.bytes_per_day,
        checkpoint_bytes=one,
        interval_s=interval,
    )
    offered = sheet.plan.checkpoints.write_bytes_per_s
    if offered is not None and offered < rate.value * (1 - 1e-9):  # equal but for rounding
        sheet.warnings.append(
            f"storage takes {format_quantity(offered, 'bytes/s')} of checkpoints,"
            f" {format_quantity(rate.value, 'bytes/s')} are needed to write one each"
            f" {format_quantity(interval.value, 's')} within the plan's limits"
        )


def _waste(sheet: Sheet) -> None:
    """Time that is lost at the interval that was chosen, and at the best one."""
    losing: dict[str, Given] = {
        "stall_s": sheet["checkpoint stall"],
        "job_mttf_hours": sheet["mean time to failure"],
    }
    if "checkpoint drain" in sheet:
        losing["drain_s"] = sheet["checkpoint drain"]
    interval = sheet["checkpoint interval"]
    sheet.add("waste without restarts", failures.waste_frac, interval_s=interval, **losing)
    losing["restart_s"] = "checkpoints.restart_s"
    waste = sheet.add("waste", failures.waste_frac, interval_s=interval, **losing)
    best = sheet[BEST] if BEST in sheet else sheet[YOUNG]
    sheet.add("waste at the optimal interval", failures.waste_frac, interval_s=best, **losing)
    if waste.value < 1:
        sheet.add(WITH_FAILURES, failures.days_with_waste, waste_frac=waste)
    sheet.add("failures to expect", failures.expected_failures)
    if waste.value >= MOST_TIME:
        hours = format_quantity(sheet["mean time to failure"].value, "hours")
        sheet.warnings.append(
            f"most of the time is lost, as the job fails each {hours}: write checkpoints faster"
            " or more often, or restart faster"
        )


def _kept(sheet: Sheet, one: Requirement) -> None:
    given: dict[str, Given] = {
        "checkpoint_bytes": one,
        "keep_last": "checkpoints.keep_last",
        "keep_forever": "checkpoints.keep_forever",
    }
    if sheet.plan.checkpoints.keep_every_s is not None:
        given["periodic_checkpoints"] = sheet.add(
            "checkpoints kept in turn",
            checkpoint.periodic_checkpoints,
            training_days=_days(sheet),
            keep_every_s="checkpoints.keep_every_s",
        )
    sheet.add("stored: checkpoints", checkpoint.kept_checkpoint_bytes, **given)


def _days(sheet: Sheet) -> Requirement:
    """Of training with its failures; without them where these might never let it end."""
    if WITH_FAILURES in sheet:
        days = sheet[WITH_FAILURES]
        if all(math.isfinite(d) for ends in days.spread.values() for d in ends):
            return days
    return sheet["training time"]
