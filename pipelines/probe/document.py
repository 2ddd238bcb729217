"""A probe as a document: the verdict, what was measured, what limits, on what conditions."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tokenmill.pipelines.probe.cache import RAM_TIMES
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.page import KeyFigure, figure, page
from tokenmill.sizing.document.section import NONE, Section, Table, count, table
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.units import format_bytes, format_count, format_memory, format_rate, percent

Data: TypeAlias = Mapping[str, Any]

TITLE = "Storage probe"
TOLD = {"raw": "raw bytes", "arrow": "Arrow, decoded", "full": "whole batches"}
LIMITS = {
    "storage": "Whole batches come about as fast as raw bytes: the storage is what limits reading.",
    "undecided": "Raw bytes and whole batches came now about as fast, now not: what limits reading"
    " changes from one turn to the next; give more --seconds on a storage that is left alone.",
    "processor": "Raw bytes come much faster than whole batches, and the cores were busy: this"
    " host's processors limit reading, not the storage.",
    "memory map": "Raw bytes come much faster than the same ids through a memory map, fault by"
    " fault: the way of reading limits, not the storage.",
    "collation": "Record batches are decoded about as fast as raw bytes are read; putting batches"
    " together is what takes long.",
}
NOTES = (
    "Accelerators are emulated: each step sleeps for the time that the plan's model takes, and all"
    " wait for the slowest. Utilisation is compute / total time, the first step excluded.",
    "This host's page cache was emptied before each run; caches behind the storage cannot be seen"
    " from here, and are overcome by a dataset that is larger than they are.",
)


def probe_files(data: Data) -> dict[str, str | Data]:
    """Text or data of each file of a probe, by its name."""
    return {"probe.md": probe_markdown(data), "probe.html": probe_html(data), "probe.json": data}


def probe_markdown(data: Data) -> str:
    return markdown(TITLE, sections(data))


def probe_html(data: Data) -> str:
    """The probe as a page, with plots."""
    reads = data["reads"]
    figures = [
        KeyFigure("verdict", data["verdict"]["outcome"]),
        KeyFigure(
            "accelerators fed", so_many(data), f"{data['settings']['accelerators']:,} needed"
        ),
    ]
    if data["runs"]:
        figures.append(KeyFigure("utilisation", f"{reads['kept']:.3f}", "0.90 needed"))
        required = f"{format_rate(reads['required_bytes_per_s'])} needed"
        figures.append(KeyFigure("read", format_rate(reads["bytes_per_s"]), required))
    rates = [Bar(TOLD[k], run["bytes_per_s"] / 1e6) for k, run in data["depths"].items()]
    axis = Axis("MB/s of token ids", lambda v: f"{v:,.4g}")
    drawn = charts.bars("depths", "Reading to three depths", axis, rates)
    return page(
        TITLE,
        sections(data),
        key_figures=figures,
        plots={"limits": [figure("Reading to three depths", "without compute", drawn)]},
        footer="The same figures as data: probe.json; as text: probe.md.",
    )


def sections(data: Data) -> list[Section]:
    """What whoever bought the storage wants to know, in the order in which it is asked."""
    return [
        Section("summary", "In short", (f"{summary(data)}.",)),
        Section("verdicts", "Verdicts", (verdicts(data), *filter(None, [caution(data)]), *NOTES)),
        Section("reads", "Training reads", (reads_table(data), whole_job(data), searched(data))),
        Section("limits", "What limits reading", (LIMITS[data["limit"]], depths_table(data))),
        Section("checkpoints", "Checkpoints", checkpoint_blocks(data)),
        Section("conditions", "MLPerf Storage's rules", (conditions(data),)),
    ]


def summary(data: Data) -> str:
    """The verdict, what it is of, and why, without a full stop."""
    of, asked, verdict = data["dataset"], data["settings"], data["verdict"]
    return (
        f"{verdict['outcome']}: {verdict['reason']}. Read: {format_bytes(of['bytes'])} in"
        f" {count(of['files'], 'file')} on {of['fstype']}, order {asked['order']}, for plan"
        f" {data['plan']['name']}: {count(data['plan']['accelerators'], 'accelerator')},"
        f" {data['plan']['per_node']} a node, {format_count(data['plan']['tokens_per_s'])} tokens/s"
        " each"
    )


def so_many(data: Data) -> str:
    """How many accelerators are fed, and whether it may be more."""
    search = data["search"]
    return f"{'' if search['ended'] == 'found' else 'at least '}{search['supported']:,}"


def verdicts(data: Data) -> Table:
    return table("Verdicts", ["what", "*verdict", "why"], verdict_rows(data))


def verdict_rows(data: Data) -> list[tuple[str, str, str]]:
    """What, verdict, why; in brackets what does not count for the verdict of all."""
    return [
        (v["what"], v["outcome"] if v["judged"] else f"({v['outcome']})", v["reason"])
        for v in data["verdicts"]
    ]


def reads_table(data: Data) -> Table:
    """What training would get, against what the plan needs of this host."""
    of, reads = data["search"], data["reads"]
    rows = [("accelerators fed", so_many(data), f"{data['settings']['accelerators']:,}", NONE)]
    if data["runs"]:
        rate, needed = format_rate(reads["bytes_per_s"]), format_rate(reads["required_bytes_per_s"])
        apart = (reads["au_spread"], reads["rate_spread"])
        au_apart, rate_apart = (NONE if a is None else percent(a) for a in apart)
        rows += [
            ("utilisation", f"{reads['kept']:.3f}", "0.900", au_apart),
            (f"read by {of['supported']:,}", rate, needed, rate_apart),
            ("read requests", f"{format_count(reads['reads_per_s'])}/s", NONE, NONE),
            ("from the device, of bytes asked for", share(reads["device_frac"]), "95 %", NONE),
            ("read amplification, by the device", times(reads["amplification"]), NONE, NONE),
            ("read amplification, by the loader", times(reads["asked_frac"]), NONE, NONE),
            ("cores busy", f"{reads['cores']:.2f}", NONE, NONE),
            *_requests(data),
        ]
    if (ahead := data["dataset"]["read_ahead_bytes"]) is not None:
        rows.append(("kernel's read-ahead there", format_memory(ahead), NONE, NONE))
    name = f"Training reads: means of {count(len(data['runs']), 'run')}"
    return table(name, ["what", ">measured", ">needed", ">spread of runs"], rows)


def _requests(data: Data) -> list[tuple[str, str, str, str]]:
    """What a bucket was asked, and how often again."""
    each, runs = data["settings"]["connections"], data["runs"]
    if each is None:
        return []
    asked, again = (sum(run[key] for run in runs) for key in ("requests", "again"))
    return [
        ("connections, all processes", f"{each * data['settings']['processes']}", NONE, NONE),
        ("requests repeated", f"{again:,} of {asked:,}", NONE, NONE),
    ]


def caution(data: Data) -> str:
    """What a PASS leaves open; empty where it leaves nothing."""
    of = data["dataset"]
    if data["verdict"]["outcome"] != "PASS" or of["memory_times"] >= RAM_TIMES:
        return ""
    enough = format_bytes(RAM_TIMES * of["memory_bytes"]).replace(" ", "")
    return (
        f"The dataset is small, {of['memory_times']:.2g} times this host's memory: caches of the"
        f" storage itself may have held it. To be sure, --fill {enough} --remove in a new folder"
        " there."
    )


def whole_job(data: Data) -> str:
    """What this one host says of all of them."""
    supported, job = data["search"]["supported"], data["plan"]["accelerators"]
    if supported >= job:
        return (
            f"One host was probed. It alone reads as much as the whole job,"
            f" {count(job, 'accelerator')}."
        )
    hosts = math.ceil(job / data["plan"]["per_node"])
    return (
        f"One host was probed; the whole job has {count(job, 'accelerator')} on"
        f" {count(hosts, 'host')}. For what the storage gives to all of them, start this command on"
        " several at the same time, on a dataset of each its own (--fill, once before):"
        " accelerators fed, bytes and requests a second add up, and where twice the hosts no"
        " longer give twice the sum, the storage is what limits."
    )


def searched(data: Data) -> Table:
    rows = [(f"{t['accelerators']:,}", f"{t['au']:.3f}") for t in data["search"]["tried"]]
    return table("The search, in its order", [">accelerators", ">utilisation"], rows, folded=True)


def depths_table(data: Data) -> Table:
    rows = [
        (
            TOLD[depth],
            format_rate(run["bytes_per_s"]),
            f"{format_rate(run['low'])} to {format_rate(run['high'])}",
            format_count(run["reads_per_s"]),
            times(run["amplification"]),
            f"{run['cores']:.2f}",
        )
        for depth, run in data["depths"].items()
    ]
    columns = ["depth", ">token ids", ">slowest to fastest turn", ">requests/s", ">amplification"]
    columns += [">cores busy"]
    return table("As fast as it goes, without compute", columns, rows)


def checkpoint_blocks(data: Data) -> tuple[str | Table, ...]:
    """Written alone and while training reads; how to ask for it where it was not."""
    written = data["checkpoints"]
    if written is None:
        return ("Not probed: --checkpoint FOLDER writes some there, and reads them back.",)
    rows = [_checkpoint_row("alone", written["alone"], NONE)]
    if (both := written["both"]) is not None:
        name = f"while {both['accelerators']:,} accelerators train"
        rows.append(_checkpoint_row(name, both, f"{both['au']:.3f}"))
    plan = data["plan"]
    needed = (
        f"One node must write {format_rate(plan['write_bytes_per_s'])}, and read"
        f" {format_rate(plan['restart_bytes_per_s'])} at a restart; its checkpoint is"
        f" {format_bytes(plan['checkpoint_bytes'])}."
    )
    columns = ["when", ">bytes", ">written", ">read back", ">from the device", "intact"]
    columns += [">utilisation"]
    return (needed, table("Checkpoints", columns, rows))


def _checkpoint_row(name: str, of: Data, au: str) -> tuple[str, ...]:
    return (
        name,
        format_bytes(of["n_bytes"]),
        format_rate(of["write_bytes_per_s"]),
        format_rate(of["read_bytes_per_s"]),
        share(of["device_frac"]),
        "yes" if of["verified"] else "no",
        au,
    )


def conditions(data: Data) -> Table:
    of = data["dataset"]
    rows: Sequence[tuple[str, ...]] = [
        (c["name"], "met" if c["met"] else "not met", c["told"]) for c in data["conditions"]
    ]
    name = f"Conditions; the host has {format_memory(of['memory_bytes'])} of memory"
    return table(name, ["rule", "*met", "measured"], rows)


def share(value: float | None) -> str:
    """A share, or that nobody can count it."""
    if value is None:
        return "unknown"
    return "over 100 %" if value > 1.005 else percent(value)


def times(value: float | None) -> str:
    """How many times, or that nobody can count it."""
    return "unknown" if value is None else f"{value:.2f}"
