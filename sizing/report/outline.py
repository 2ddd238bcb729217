"""A sheet as a document: what matters first, what storage would do, each row, what it rests on."""

from collections.abc import Sequence
from dataclasses import replace

from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.section import (
    NONE,
    Derivation,
    Derivations,
    Given,
    Section,
    Table,
    table,
)
from tokenmill.sizing.report.data import assumptions, kind, rests_on
from tokenmill.sizing.report.notes import by_image_tokens, notes
from tokenmill.sizing.report.tiers import tier_blocks
from tokenmill.sizing.report.tornado import tornado_table
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.requirements import headline
from tokenmill.sizing.sections.capacity import PREPARED, TO_ADD, not_held, switch
from tokenmill.sizing.sections.checkpoints import JOB_RATE, WITH_FAILURES
from tokenmill.sizing.sections.jobs import FIRST as FIRST_JOB
from tokenmill.sizing.sheet import Sheet, SourceFacts
from tokenmill.sizing.units import format_quantity, times
from tokenmill.sizing.verdict import is_asked

NOTES = (
    "Storage is in SI units: 1 TB is 10^12 bytes. A 95 % interval covers what the plan or the"
    " measured corpus says is uncertain, and nothing else; a figure without one rests on inputs"
    " without one.",
    "What a figure rests on: measured on a corpus, extrapolated to"
    " more than twice what was measured, stated in the plan, assumed by default from a"
    " named source, chosen by us where only you can know, or unverified, which is from memory:"
    " state or check these two before anything is bought on them.",
)

FIRST = "What matters first"


def sections(sheet: Sheet) -> list[Section]:
    """What a buyer wants to know, in the order in which it is asked."""
    warnings = tuple(f"Warning: {sentence}." for sentence in sheet.warnings)
    parts = [
        Section("summary", "In short", (about(sheet), answer(sheet), f"{notes(sheet)[0]}.")),
        Section("headline", FIRST, _headline(sheet)),
        Section("warnings", "Warnings", warnings),
        Section("tiers", "Which storage would do", tier_blocks(sheet)),
    ]
    for section in sheet.sections:
        made = (_rows(section.title, section.rows, sheet),) if section.rows else ()
        key = "".join(c if c.isalnum() else "-" for c in section.title.lower())
        parts.append(Section(key, section.title, made))
    return [
        *parts,
        Section("assumptions", "Assumed and stated", _assumed(sheet)),
        Section("derivations", "How each was computed", _derived(sheet)),
    ]


def _headline(sheet: Sheet) -> tuple[str | Table, ...]:
    sentences = (f"{sentence}." for sentence in notes(sheet)[1:])  # the first is the summary's
    made = (prepared(sheet), by_image_tokens(sheet), tornado_table(sheet))
    beside = [block for block in made if block is not None]
    tables = (_rows(FIRST, first_rows(sheet), sheet), *beside)
    return (*tables, *sentences, *NOTES)


def about(sheet: Sheet) -> str:
    """What the sheet is for, in two sentences."""
    plan = sheet.plan
    model = format_quantity(plan.model.params, "parameters")
    time = sheet["training time"].shown
    beside = f", with {', '.join(job.name for job in plan.jobs)} beside it" if plan.jobs else ""
    return (
        f"For a model of {model}, trained on {sheet['tokens trained on'].shown} by"
        f" {plan.cluster.count:,} {plan.cluster.accelerator} in {time}{beside}."
        f" {_measured(sheet)}"
    )


def answer(sheet: Sheet) -> str:
    """What to buy, and how fast it must be, in one sentence; before it, why not to."""
    told = [
        f"{sheet[name].shown} {what}"
        for name, what in (
            (READS, "of reads"),
            (JOB_RATE, "of checkpoint writes"),
            ("restart read bandwidth", "of reads to restart"),
        )
        if is_asked(sheet, name)
    ]
    whom = "all jobs together" if sheet.plan.jobs else "the whole job"
    fast = f" that give {whom} {', '.join(told)}" if told else ""
    why = "; ".join(sheet.why_not())
    before = f"Do not buy by this, see the warning: {why}. " if why else ""
    return (
        f"{before}What to buy: {sheet['raw capacity'].shown} of drives,"
        f" {sheet['usable capacity'].shown} usable,{fast}."
    )


READS = "read bandwidth, whole job"


def _measured(sheet: Sheet) -> str:
    found = [
        f"{m.name}{'' if m.measured else ' (not measured)'}" for m in sheet.measurements.values()
    ]
    if not found:
        return "No corpus was measured: every figure rests on what is stated or assumed."
    carried = [_carried(source) for source in sheet.sources if source.docs_ratio is not None]
    return " ".join(carried) or f"The corpus is as measured: {', '.join(found)}."


def _carried(source: SourceFacts) -> str:
    """Of a corpus that is not the measured one, how far it can be told of from that."""
    ratio, measured = source.docs_ratio, source.measurement
    if ratio is None or measured is None:
        return ""
    inputs = {i.name: i for i in ratio.inputs}
    ratio_of_tokens = inputs["corpus_tokens"].value / inputs["measured_tokens"].value
    told = f"The corpus is {times(ratio_of_tokens)} times what was measured ({measured.name}): "
    if measured.sample is not None:
        beside = f"intervals are the error of sampling {measured.name}, another part may differ;"
        told = f"{told}{beside} "
    has_law = "growth_exponent" in inputs
    if measured.carried is None:
        law = "the measured growth of duplicates is carried on"
        return f"{told}{law if has_law else 'how duplicates grow was not measured'}."
    bounds = (
        "inputs and scratch are told between no further duplicates and the measured growth"
        " carried on"
        if has_law
        else "inputs and scratch are told as if there were no further ones, the least that it takes"
    )
    return f"{told}duplicates at that size are not known; {bounds}."


def prepared(sheet: Sheet) -> Table | None:
    """What preparing takes besides, and what to state so that it is bought for as well."""
    rows: list[tuple[str, ...]] = []
    for part in not_held(sheet):
        stored, raw = sheet[f"stored for {part}"], sheet[f"{TO_ADD}{part}"]
        rows.append((part, stored.shown, raw.shown, raw.between or NONE, switch(sheet, part)))
    names = ("part", ">stored", ">raw capacity to add", "95 % interval", "in the plan")
    return table(PREPARED, names, rows, unless_empty=[3]) if rows else None


def titled(row: Requirement, sheet: Sheet) -> str:
    """The name of a row of the headline; of several jobs, with whose time it is."""
    whose = {"training time": FIRST_JOB, WITH_FAILURES: "the longest job"}
    return f"{row.name}, {whose[row.name]}" if sheet.jobs and row.name in whose else row.name


def first_rows(sheet: Sheet) -> list[Requirement]:
    return [replace(row, name=titled(row, sheet)) for row in headline(sheet)]


def _rows(caption: str, of: Sequence[Requirement], sheet: Sheet) -> Table:
    """Rows of the sheet as a table; without a column of intervals where there are none."""
    names = ("requirement", ">value", "95 % interval", "rests on")
    cells = [(row.name, row.shown, row.between or NONE, rests_on(row, sheet.rows)) for row in of]
    return table(caption, names, cells, unless_empty=[2])


def _assumed(sheet: Sheet) -> tuple[str | Table, ...]:
    cells = [
        # a setting by its own name, else as the formula calls it
        (
            (given.key or given.name).rpartition(".")[2].replace("_", " "),
            *(given.shown, kind(given), given.key or NONE, given.source),
        )
        for given in assumptions(sheet)
    ]
    return (
        "Put your own figures in the plan, under the key named beside each; those without a key"
        " are constants of a formula.",
        table("Inputs", ("input", ">value", "*what it is", "key in the plan", "source"), cells),
    )


def _derived(sheet: Sheet) -> tuple[Derivations, ...]:
    return tuple(
        Derivations(
            caption=section.title,
            rows=tuple(
                Derivation(
                    name=row.name,
                    shown=row.shown,
                    equation=row.formula,
                    given=tuple(map(_given, row.inputs)),
                    source=row.source,
                )
                for row in section.rows
            ),
        )
        for section in sheet.sections
        if section.rows
    )


def _given(given: Input) -> Given:
    if given.computed_by is not None:
        return Given(given.name, given.told, "computed", given.computed_by)
    return Given(given.name, given.told, kind(given), given.source)


TITLE = "Storage requirements"


def sheet_markdown(sheet: Sheet) -> str:
    """The sheet as a document: the figures, what they rest on, how each was computed."""
    return markdown(TITLE, sections(sheet))
