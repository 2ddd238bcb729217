"""What a run did, or would do, as tables and lines of a terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from tokenmill.flows.commands.size import UNVERIFIED, requirements_table, warning
from tokenmill.flows.show import of_page, printable, show, table
from tokenmill.flows.troubles import MOST_FAILURES, NOTHING, alike, bounded, failures
from tokenmill.pipelines.contamination.report_found import PAGE_ONLY, items_table, warnings
from tokenmill.pipelines.core.places import Place, below
from tokenmill.pipelines.prepare.report.images import WAY_TO_IMAGES, sources_without
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import (
    against_lines,
    further_tables,
    headline,
    sections,
    storage_way,
)
from tokenmill.pipelines.read.plan import unlike
from tokenmill.pipelines.read.readers import passed_over
from tokenmill.pipelines.tokens.mix.report import columns_of, mixture_rows
from tokenmill.sizing.document.section import count
from tokenmill.sizing.report.notes import chosen_wait
from tokenmill.sizing.report.outline import about, first_rows
from tokenmill.sizing.sheet import Sheet
from tokenmill.sizing.units import format_bytes

# tables of the report's page that are shown, by their sections
SHOWN = {"ledger": slice(3), "images": slice(2)}


def show_report(
    report: Report, out: Place, compared: Sequence[Any] = (), sheet: Sheet | None = None
) -> None:
    """Print what a run did, in the order a reader asks.

    compared: what was predicted beside it.  sheet: what storage it takes to train on it.
    """
    summary, mixture, page = report.found_items, report.mixture, sections(report)
    is_told = sheet is None and report.total.stored_bytes_per_token
    show(
        *of_page(page, SHOWN),
        mixture
        and table("mixture of the training split", columns_of(mixture), mixture_rows(mixture)),
        *further_tables(report).values(),
        [headline(report), *(against_lines(report.against) if report.against else ())],
        [f"warning: {printable(line)}" for line in bounded(report.warnings, "report.md")],
        summary
        and [
            items_table(summary, "benchmark items in the corpus, before cutting", PAGE_ONLY),
            *(f"warning: {line}" for line in warnings(summary)),
        ],
        [
            *troubles(report),
            *([NOTHING] if report.made_nothing else _made(report)),
            f"report   {below(out, 'report.html')}",
            *([f"storage  {storage_way(report)}"] if is_told else []),
        ],
        compared,
        *(() if sheet is None else _storage(sheet, out)),
    )


def _made(report: Report) -> Iterator[str]:
    if report.dataset:
        yield f"dataset  {report.dataset.path}"
    if report.text:
        yield f"text     {report.text.path}"


def _storage(sheet: Sheet, out: Place) -> Iterator[Any]:
    """What storage it takes to train on a run's dataset."""
    yield about(sheet)
    yield requirements_table("storage to train on it", first_rows(sheet), sheet)
    yield chosen_wait(sheet)
    yield from map(warning, sheet.warnings)
    yield [UNVERIFIED, f"storage  {below(out, 'requirements.html')}"]


def troubles(report: Report) -> list[str | Text]:
    """A line for each input or shard that failed, in red; and each that is not what it could be."""
    lines = failures(report)
    if report.failed_shards and any(found.clusters for found in report.clusters.values()):
        lines.append(
            "documents removed as duplicates of one in a failed shard are missing too:"
            " the same command tries the failed shards again"
        )
    for cause, n in report.failed_documents().items():
        if n == sum(d.message.startswith(f"{cause}: ") for d in report.damaged_shards):
            continue  # told by then
        first = f", the first: {told}" if (told := report.first_failed.get(cause)) else ""
        lines.append(f"{count(n, 'document')} failed as {cause}{first}")
    red = [Text(printable(line), style="bold red") for line in bounded(lines, "report.md")]
    without = sources_without(report)[:MOST_FAILURES]
    lines = [f"no image was read from {source}; {WAY_TO_IMAGES}" for source in without]
    of = report.inputs
    return [*red, *lines, *passed_over(of.skipped, MOST_FAILURES, of.other_format or ())]


def plan_blocks(planned: dict[str, Any]) -> Iterator[Any]:
    """What a run would do."""
    files = [(f["path"], format_bytes(f["bytes"])) for f in planned["files"][:MOST_FAILURES]]
    more, whole = len(planned["files"]) - len(files), planned["text_bytes"]
    whole += planned.get("illustrated_bytes", 0)
    against, assumed = planned.get("against", {}), planned["assumptions"]
    encoded, pages = planned["tokenizer"], planned["page_bytes"]
    without = planned.get("without_images", ())[:MOST_FAILURES]
    unread = alike((f["path"], f["message"]) for f in planned["failed_inputs"])
    yield [
        table(count(len(planned["files"]), "input file"), ("path", ">bytes"), files),
        *([f"and {more:,} more"] if more else ()),
        *bounded([f"cannot be read: {told}" for told in unread], "--json"),
        *passed_over(planned["skipped"], MOST_FAILURES, planned["other_format"]),
        *planned["idle"][:MOST_FAILURES],
        *unlike(planned["texts"]),
        *(line for name, of in planned.get("captions", {}).items() for line in _captions(name, of)),
        *(f"read as text, without images: {path}; {WAY_TO_IMAGES}" for path in without),
    ]
    yield [
        f"shards   {planned['shards']:,} of about {format_bytes(whole)} in all",
        f"steps    {' → '.join(['read', *planned['steps'], *(['tokenize'] if encoded else [])])}",
        f"tokens   {encoded['path']}, {encoded['dtype']}"
        if encoded
        else "tokens   none: text alone",
        *(f"mixture  {line}" for line in planned.get("mixture", ())),
        *(
            f"against  {earlier['path']}, {count(earlier['docs'], 'document')},"
            f" index {format_bytes(earlier['index_bytes'])}"
            for earlier in against.get("runs", ())
        ),
        *(f"         {remark}" for remark in against.get("remarks", ())),
        *_disk_lines(planned),
        *_slurm_lines(planned.get("slurm"), planned["shards"]),
        *(f"limit    {limit}" for limit in planned["limits"]),
        f"assumed  {assumed['text_bytes_per_token']} bytes of text a token,"
        f" {assumed['bytes_per_doc']} bytes a document",
        *([f"         web archives are text, markup too: {format_bytes(pages)}"] if pages else ()),
    ]


def _slurm_lines(jobs: dict[str, Any] | None, shards: int) -> Iterator[str]:
    """What SLURM would be asked for."""
    if jobs is None:
        return
    most, at_once = jobs["maximum"], jobs["maximum"] * jobs["workers"]
    yield (
        f"slurm    {count(most, 'job')} at a time (run.slurm.maximum), each"
        f" {count(jobs['cores'], 'core')}, {format_bytes(jobs['memory'])}, {jobs['walltime']};"
        f" {count(min(at_once, shards), 'shard')} of {shards:,} at a time"
    )
    names = {"partition": jobs["queue"], "account": jobs["account"]}
    told = [f"{k} {v or 'by default'}" for k, v in names.items()]
    yield f"         {', '.join([*told, *jobs['directives']])}; logs in {jobs['logs']}"
    yield f"         jobs run {jobs['python']} in the environment that sbatch hands on, no prologue"


def _captions(source: str, found: dict[str, list[str]]) -> Iterator[str]:
    """Where the text of samples stands, and what they leave behind, by the first of them."""
    yield f"text of {source} is taken from {', '.join(found['taken']) or 'nothing'}, each once"
    if left := found["left"]:
        way = f"columns: {{{left[0]}: string}} of the input keeps it"
        yield f"left behind in {source}: {', '.join(left[:MOST_FAILURES])}; {way}"
    if absent := found["absent"]:
        yield f"columns that no first sample of {source} has: {', '.join(absent)}"


def _disk_lines(planned: dict[str, Any]) -> Iterator[str]:
    """What disk a run would take: as predicted, or else as is supposed, on the safe side."""
    predicted = planned.get("predicted")
    if predicted is None:
        for what, size in planned["disk_needed_bytes"].items():
            yield f"disk     {format_bytes(size)} for {what}"
    else:
        yield f"disk     {format_bytes(predicted['bytes'])}, as {predicted['estimate']} predicts"
    total, free = format_bytes(_needed(planned)), planned["disk_free_bytes"]
    if free is None:
        yield f"         {total} in all, in the object store"
    else:
        verdict = "enough" if is_enough(planned) else "NOT ENOUGH"
        yield f"         {total} in all, {format_bytes(free)} free: {verdict}"
    if predicted is None:
        yield "         supposed; tokenmill measure predicts it"
    elif predicted["not_predicted"]:
        yield f"         without what {', '.join(predicted['not_predicted'])} writes"


def _needed(planned: dict[str, Any]) -> int:
    """Bytes at most: the upper end of what is predicted of all steps, or what is supposed."""
    predicted, supposed = planned.get("predicted"), int(planned["disk_needed_total_bytes"])
    if predicted is None:
        return supposed
    most = int(predicted["most"])
    return max(most, supposed) if predicted["not_predicted"] else most


def is_enough(planned: dict[str, Any]) -> bool:
    """Whether there is as much disk as a run would take; an object store does not say."""
    free = planned["disk_free_bytes"]
    return free is None or bool(free >= _needed(planned))
