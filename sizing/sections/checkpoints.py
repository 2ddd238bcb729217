"""How large checkpoints are, how often they are written, how fast, and what time is lost to them.

synchronous     storage's rate gives the stall, the stall the interval
asynchronous    the copy to host memory is the stall; storage's rate limits the interval

Where the rate is not known, it follows from the interval: that is stated, or the optimum at which
waiting and failures each take the share of time that the plan allows, within the run and
checkpoints.most_interval_s, which binds where failures are rare.
"""

import math

from tokenmill.sizing.formulas import checkpoint, failures
from tokenmill.sizing.formulas.training import SECONDS_PER_DAY
from tokenmill.sizing.plan.fields import OUR_CHOICE
from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.sheet import Given, Sheet
from tokenmill.sizing.tables import RECIPES
from tokenmill.sizing.units import format_quantity

TITLE = "Checkpoints"
JOB_RATE = "checkpoint write bandwidth, whole job"
NODE_WRITE = "checkpoint write bandwidth, one node"
YOUNG = "optimal checkpoint interval, Young"
BEST = "optimal checkpoint interval that storage can follow"
OFFERED = "checkpoints.write_bytes_per_s"
WITH_FAILURES = "training time with failures"
WITHIN = "optimal checkpoint interval, within bounds"
MOST_STALL_S = 600.0  # our choice, of a stated interval; BLOOM waited 40 s for 2.3 TB
MOST_DAYS = 3650.0  # our choice: longer than accelerators last
REDONE_FRAC = 0.05  # our choice: of the work, that failures may undo where nothing waits
MOST_TIME = 0.5  # from here on the waste is no small share, as its formula takes it to be


def add(sheet: Sheet) -> None:
    _warn_of_the_time(sheet)
    per_param = bytes_per_param(sheet)
    sheet.add("one checkpoint", checkpoint.checkpoint_bytes, bytes_per_param=per_param)
    sheet.add("checkpoint of one rank", checkpoint.rank_checkpoint_bytes)
    sheet.add("checkpoint of one node", checkpoint.node_checkpoint_bytes)
    sheet.add("mean time to failure", failures.job_mttf_hours)
    if sheet.plan.checkpoints.mode == "sync":
        _synchronous(sheet)
    else:
        _asynchronous(sheet)
    _written(sheet)
    _waste(sheet)
    _kept(sheet)


def _warn_of_the_time(sheet: Sheet) -> None:
    """Warn of a training that takes less than a restart, most often of a sample; or for ever."""
    takes, stated = sheet["training time"], sheet.plan.training
    share = f"checkpoints.{'stall' if sheet.plan.checkpoints.mode == 'sync' else 'drain'}_frac"
    if takes.value * SECONDS_PER_DAY < sheet.plan.checkpoints.restart_s:
        told = f"training takes {takes.shown}, less than one restart"
        if stated.tokens is None and stated.days is None:
            sheet.obstacles.append(told)
            sheet.warnings.append(
                f"{told}, so checkpoints would have to be written in no time: if the corpus is a"
                " sample, state the tokens of the whole as corpus.tokens, or what is trained on as"
                " training.tokens"
            )
        elif not sheet.stated(share):
            sheet.warnings.append(f"{told}: if checkpoints may take longer to write, state {share}")
    if takes.value > MOST_DAYS:
        sheet.obstacles.append(f"training takes {takes.shown}, longer than accelerators last")
        sheet.warnings.append(
            f"training takes {takes.shown}, longer than accelerators last: state more accelerators"
            " as cluster.count, or fewer tokens as training.tokens"
        )


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
        recipe.bytes_per_param,
        unit="bytes/parameter",
        source=f"{source}; {recipe.source_of('parts')}",
        key=stated,
    )


def _synchronous(sheet: Sheet) -> None:
    """Training waits until storage has it."""
    if _is_offered(sheet):
        sheet.add("checkpoint stall", checkpoint.write_s, write_bytes_per_s=OFFERED)
        _optimal(sheet)
    interval = sheet.add("checkpoint interval", checkpoint.longest_interval_s, **_interval(sheet))
    sheet.add(JOB_RATE, checkpoint.write_bytes_per_s, stall_frac=_share(sheet, interval))
    if not _is_offered(sheet):
        sheet.add("checkpoint stall", checkpoint.write_s)
        _optimal(sheet)


def _share(sheet: Sheet, interval: Requirement) -> Given:
    """Of the time, that training waits: as stated, else no more than minutes at once."""
    key = "checkpoints.stall_frac"
    frac = sheet.plan.checkpoints.stall_frac
    if sheet.stated(key) or _is_offered(sheet) or frac * interval.value <= MOST_STALL_S:
        return key
    source = f"{OUR_CHOICE}: ten minutes for one checkpoint"
    return sheet.assume(MOST_STALL_S / interval.value, unit="fraction", source=source, key=key)


def _asynchronous(sheet: Sheet) -> None:
    """Training waits until each host has a copy; storage takes it while training goes on."""
    sheet.add("checkpoint stall", checkpoint.host_copy_s)
    _optimal(sheet)
    chosen = _interval(sheet)
    whole = sheet.assume(1, unit="fraction", source="until the next one begins")
    fraction: Given = "checkpoints.drain_frac"
    if "optimal_interval_s" in chosen and _is_offered(sheet):
        if not sheet.stated("checkpoints.drain_frac"):
            fraction = sheet.assume(
                1,
                unit="fraction",
                source=f"as {OFFERED} is given and checkpoints.drain_frac is not: storage writes"
                " one until the next begins",
                key="checkpoints.drain_frac",
            )
        chosen["drain_interval_s"] = sheet.add(
            "shortest interval that storage can follow",
            checkpoint.drain_interval_s,
            write_bytes_per_s=OFFERED,
            drain_frac=fraction,
        )
    sheet.add("checkpoint interval", checkpoint.longest_interval_s, **chosen)
    sheet.add(JOB_RATE, checkpoint.drain_bytes_per_s, drain_frac=fraction)
    sheet.add(f"{JOB_RATE}, bare minimum", checkpoint.drain_bytes_per_s, drain_frac=whole)
    taken: Given = OFFERED if _is_offered(sheet) else sheet[JOB_RATE]
    drain = sheet.add("checkpoint drain", checkpoint.write_s, write_bytes_per_s=taken)
    sheet.add(
        BEST,
        checkpoint.longest_interval_s,
        optimal_interval_s=sheet[YOUNG],
        checkpoint_drain_s=drain,
    )


def _is_offered(sheet: Sheet) -> bool:
    """Whether the plan says what storage takes."""
    return sheet.plan.value(OFFERED) is not None


def _interval(sheet: Sheet) -> dict[str, Given]:
    """Stated; or the best at the rate on offer, or at which no more is lost than may be."""
    key, days = "checkpoints.interval_s", sheet["training time"]
    if sheet.plan.value(key) is not None:
        return {"interval_s": key}
    if _is_offered(sheet):
        given: dict[str, Given] = {"interval_s": sheet[YOUNG], "training_days": days}
        if sheet.plan.checkpoints.mode == "sync":
            given |= {"stall_s": sheet["checkpoint stall"], "stall_frac": "checkpoints.stall_frac"}
        best = sheet.add(WITHIN, failures.interval_within_s, **given)
        return {"optimal_interval_s": best}
    lost: Given = "checkpoints.stall_frac"
    if sheet.plan.checkpoints.mode == "async":
        source = f"{OUR_CHOICE}: of the work, that failures may undo"
        lost = sheet.assume(REDONE_FRAC, unit="fraction", source=source, key=key)
    best = sheet.add(WITHIN, failures.interval_of_loss_s, lost_frac=lost, training_days=days)
    return {"optimal_interval_s": best}


def _optimal(sheet: Sheet) -> None:
    sheet.add(YOUNG, failures.young_interval_s)
    sheet.add("optimal checkpoint interval, Daly", failures.daly_interval_s)


def _written(sheet: Sheet) -> None:
    """The rate of a node, bytes a day, and whether what storage takes is enough."""
    rate, interval = sheet[JOB_RATE], sheet["checkpoint interval"]
    sheet.add(NODE_WRITE, checkpoint.node_write_bytes_per_s)
    sheet.add("checkpoint bytes a day", checkpoint.bytes_per_day)
    offered = sheet.plan.checkpoints.write_bytes_per_s
    if offered is not None and offered < rate.value * (1 - 1e-9):  # equal but for rounding
        sheet.warnings.append(
            f"storage takes {format_quantity(offered, 'bytes/s')} of checkpoints,"
            f" {rate.shown} are needed to write one each {interval.shown} within the plan's limits"
        )


def _waste(sheet: Sheet) -> None:
    """Time that is lost at the interval that was chosen, and at the best one."""
    losing: dict[str, Given] = {}
    if "checkpoint drain" in sheet:
        losing["drain_s"] = sheet["checkpoint drain"]
    sheet.add("waste without restarts", failures.waste_frac, **losing)
    losing["restart_s"] = "checkpoints.restart_s"
    waste = sheet.add("waste", failures.waste_frac, **losing)
    best = sheet[BEST] if BEST in sheet else sheet[YOUNG]
    sheet.add("waste at the optimal interval", failures.waste_frac, interval_s=best, **losing)
    if waste.value < 1:
        sheet.add(WITH_FAILURES, failures.days_with_waste)
    sheet.add("failures to expect", failures.expected_failures)
    if waste.value >= MOST_TIME:
        hours = sheet["mean time to failure"].shown
        sheet.warnings.append(
            f"most of the time is lost, as the job fails each {hours}: write checkpoints faster"
            " or more often, or restart faster"
        )


def _kept(sheet: Sheet) -> None:
    given: dict[str, Given] = {
        "written_checkpoints": sheet.add(
            "checkpoints written",
            checkpoint.written_checkpoints,
            training_days=sheet["training time"],
        )
    }
    if sheet.plan.checkpoints.keep_every_s is not None:
        given["periodic_checkpoints"] = sheet.add(
            "checkpoints kept in turn", checkpoint.periodic_checkpoints, training_days=_days(sheet)
        )
    sheet.add("stored: checkpoints", checkpoint.kept_checkpoint_bytes, **given)


def _days(sheet: Sheet) -> Requirement:
    """Of training with its failures; without them where these might never let it end."""
    if WITH_FAILURES in sheet:
        days = sheet[WITH_FAILURES]
        if all(math.isfinite(d) for ends in days.spread.values() for d in ends):
            return days
    return sheet["training time"]
