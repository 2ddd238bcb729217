"""What a reader of the headline must know beside it: what a figure consists of, and hangs on.

`by_image_tokens` shows figures at several numbers of tokens an image (IMAGE_…).
"""

from collections import defaultdict

from tokenmill.sizing.document.section import Table, table
from tokenmill.sizing.formulas import checkpoint, failures
from tokenmill.sizing.formulas.training import SECONDS_PER_DAY, SECONDS_PER_HOUR
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.sections.capacity import most_stored
from tokenmill.sizing.sections.checkpoints import BEST, JOB_RATE, OFFERED, WITHIN, YOUNG
from tokenmill.sizing.sections.corpus import IMAGE_TRIED, patch_tokens
from tokenmill.sizing.sections.jobs import FIRST
from tokenmill.sizing.sections.stages import SCRATCH, STORED, held, part_of
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.units import format_quantity, percent, times
from tokenmill.sizing.verdict import is_asked

MOST_PARTS, LEAST_PART = 4, 0.005
SHORT = 0.01  # a wait that is told beside the one that we chose
PUBLISHED_WASTE, FAR = 0.1, 1.5  # of Llama 3 405B, at most; times that, to be explained
IMAGE_CAPTION = "By the tokens of an image, which are not known"
IMAGE_KEY = "tokens_per_image"
IMAGE_FIGURES = (
    "tokens trained on",
    "read bandwidth, whole job",
    "images, whole job",
    "cores to decode images, whole job",
    "training time",
)


def notes(sheet: Sheet) -> list[str]:
    """Sentences, in the order of the headline's figures."""
    first, own = [], sheet
    if sheet.jobs:
        first, own = [_jobs(sheet)], sheet.jobs[FIRST][1]
    asked = [_checkpoints(own), *_lost(own)] if is_asked(own, JOB_RATE) else []
    if sheet.jobs:
        asked = [f"Of {FIRST} alone: {said[0].lower()}{said[1:]}" for said in asked]
    return [_capacity(sheet), *first, *asked, *_money(sheet)]


def _jobs(sheet: Sheet) -> str:
    """Of several jobs, what is mean, and what the worst moment."""
    names = ", ".join(f"{n} x {name}" if n > 1 else name for name, (n, _) in sheet.jobs.items())
    mean, worst = (sheet[f"reads and writes, {of}"].shown for of in ("mean", "worst moment"))
    return (
        f"The figures are of jobs that run at the same time: {names}; the training time is that of"
        f" {FIRST}, with failures that of the longest. They read and write {mean} in the mean, and"
        f" {worst} in the worst moment, when all write checkpoints and the largest restarts"
    )


def _lost(sheet: Sheet) -> list[str]:
    """Of a waste that is far from what a published run reports, its parts, and why."""
    waste = sheet["waste"]
    if waste.value <= FAR * PUBLISHED_WASTE:
        return []
    given = {i.name: i.value for i in waste.inputs}
    mttf_s = given["job_mttf_hours"] * SECONDS_PER_HOUR
    parts = {
        "waiting for checkpoints": given["stall_s"] / given["interval_s"],
        "work done again": (given["interval_s"] / 2 + given.get("drain_s", 0.0)) / mttf_s,
        "restarts": given["restart_s"] / mttf_s,
    }
    told = ", ".join(f"{name} {percent(share)}" for name, share in parts.items())
    return [
        f"The waste is {told}. Llama 3 405B reports less than 10 % on 16,384 H100 that failed each"
        " 3 hours (arXiv:2407.21783): it does not say how often it wrote, at which rate, and how"
        f" fast it restarted; here a restart takes {format_quantity(given['restart_s'], 's')}"
        f" ({'as stated' if sheet.stated('checkpoints.restart_s') else 'assumed'}:"
        " checkpoints.restart_s)"
    ]


def _capacity(sheet: Sheet) -> str:
    """What the capacity is for, the largest first."""
    amounts: defaultdict[str, float] = defaultdict(float)
    for row in held(sheet):
        part, stage = part_of(row), row.name.removeprefix(STORED).partition(", ")[0]
        amounts["scratch of preparing" if part == SCRATCH else stage] += row.value
    total = sum(amounts.values())
    largest = sorted(amounts.items(), key=lambda part: -part[1])[:MOST_PARTS]
    parts = ", ".join(
        f"{name} {format_quantity(amount, 'bytes')} ({100 * amount / total:.0f} %)"
        for name, amount in largest
        if amount >= LEAST_PART * total
    )
    storage = sheet.plan.storage
    grows = ""
    if storage.growth_frac:
        years = format_quantity(storage.growth_years, "years")
        grows = (
            f"; it grows by {percent(storage.growth_frac)} a year for {years} to"
            f" {most_stored(sheet).shown}"
        )
    return (
        f"The capacity is for {format_quantity(total, 'bytes')} at once: {parts}{grows}; usable"
        f" capacity is filled to {percent(storage.fill_frac)}, raw capacity adds redundancy"
        f" ({storage.redundancy})"
    )


def _checkpoints(sheet: Sheet) -> str:
    """Which interval and which wait the write bandwidth is for, and how far that is from best."""
    plan, interval = sheet.plan.checkpoints, sheet["checkpoint interval"]
    optimum, failing = sheet[BEST if BEST in sheet else YOUNG], sheet["mean time to failure"].shown
    best = (
        f" and {percent(sheet['waste at the optimal interval'].value)} at the best, {optimum.shown}"
    )
    if sheet.stated("checkpoints.interval_s"):
        origin = "as stated"
    elif interval.value == plan.most_interval_s:
        key = "checkpoints.most_interval_s"
        chosen = "" if sheet.stated(key) else ", our choice"
        origin = f"the longest{chosen}: {key}; a failure each {failing} would do with fewer"
        best = ""
    elif sheet.stated(OFFERED):
        offered = format_quantity(sheet.plan.value(OFFERED), "bytes/s")
        origin = f"the best at the {offered} that the plan says storage takes"
    else:
        in_run = interval.value >= sheet["training time"].value * SECONDS_PER_DAY * (1 - 1e-9)
        origin = f"{'the whole run' if in_run else 'the best'}, at a failure each {failing}"
    wait = waits(sheet) if plan.mode == "sync" else _drain(sheet)
    return (
        f"The checkpoint write bandwidth is for one each {interval.shown} ({origin}), for which"
        f" {wait}. Waste of time is {percent(sheet['waste'].value)} at that interval{best}"
    )


def chosen_wait(sheet: Sheet, when: str = "") -> str | None:
    """Of the checkpoints' rate where it stands alone: the wait it is for, if nobody stated that."""
    of, own = (f" of {FIRST}", sheet.jobs[FIRST][1]) if sheet.jobs else ("", sheet)
    is_stated = own.plan.checkpoints.mode != "sync" or own.stated("checkpoints.stall_frac")
    if is_stated or not is_asked(own, JOB_RATE):
        return None
    return f"checkpoint write bandwidth{of}{when}: {waits(own)}"


def waits(sheet: Sheet) -> str:
    """For which wait the write bandwidth is; of one that nobody stated, what a short one takes."""
    given = {i.name: i.value for i in sheet[JOB_RATE].inputs}
    told = f"training waits {percent(given['stall_frac'])} of the time"
    if sheet.stated("checkpoints.stall_frac"):
        return told
    if given["stall_frac"] <= SHORT:
        return f"{told} (our choice, ten minutes at most: checkpoints.stall_frac)"
    given["stall_frac"] = SHORT
    if WITHIN in sheet and not sheet.stated(OFFERED):
        of_best = {i.name: i.value for i in sheet[WITHIN].inputs} | {"lost_frac": SHORT}
        given["interval_s"] = failures.interval_of_loss_s(**of_best)
    rate = checkpoint.write_bytes_per_s(**given)
    return (
        f"{told} (our choice: checkpoints.stall_frac; at {percent(SHORT)} storage must take"
        f" {format_quantity(rate, 'bytes/s')}, {times(rate / sheet[JOB_RATE].value)} times as much)"
    )


def _drain(sheet: Sheet) -> str:
    """Which part of the interval storage has to take an asynchronous checkpoint."""
    part = next(i for i in sheet[JOB_RATE].inputs if i.name == "drain_frac")
    if part.value == 1:
        return "storage has all of the interval"
    least = sheet[f"{JOB_RATE}, bare minimum"].shown
    key = "checkpoints.drain_frac"
    chosen = "" if sheet.stated(key) else f" (our choice: {key})"
    told = f"storage has {percent(part.value)} of the interval{chosen}"
    return f"{told}; with all of it {least} would do"


def _money(sheet: Sheet) -> list[str]:
    if sheet.stated("prices.accelerator_hour"):
        return []
    price = sheet.plan.prices.accelerator_hour
    return [
        f"The compute cost is at {price:g} USD an accelerator hour, a guess for a rented H100:"
        " state prices.accelerator_hour"
    ]


def by_image_tokens(sheet: Sheet) -> Table | None:
    """The figures that they move, for each; None where they are known, or of several sources."""
    found = sheet.measurements.get("corpus")
    if found is None or not found.image_tokens_unknown or sheet.stated(f"corpus.{IMAGE_KEY}"):
        return None
    tried = {f"{n:g}": n for n in IMAGE_TRIED} | {"patch 14": patch_tokens(found)}
    rows = []
    for name, tokens in tried.items():
        corpus = sheet.plan.corpus.model_copy(update={IMAGE_KEY: tokens})
        plan = sheet.plan.model_copy(update={"corpus": corpus})
        of = requirement_sheet(plan, sheet.measurements)
        rows.append((name, *(of[f].shown if f in of else "not measured" for f in IMAGE_FIGURES)))
    return table(IMAGE_CAPTION, ("tokens", *(f">{name}" for name in IMAGE_FIGURES)), rows)
