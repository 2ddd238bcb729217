"""A check of a corpus for benchmark items: its settings, its phases, its folder.

    index     n-grams of the items, and what edited copies are found by
    search    documents that have some of them; a work for each shard
    count     in how many documents each n-gram stands
    analyse   what counts: items, overlaps, summary

OUT/manifest.json       what this run is, and at its end what it did
OUT/index/…             n-grams of the benchmarks
OUT/found/…             of each shard the documents that have n-grams of items, deleted at the end
OUT/copies/…            of each shard the documents that have copies of items, deleted at the end
OUT/paraphrases/…       of each shard the documents that may have items in other words, likewise
OUT/counts.arrow        in how many documents each n-gram stands
OUT/items.parquet       a row for every item: dirty, edited or clean, how much of it was found
OUT/overlaps.parquet    a row for every span of a document that repeats an item, edited copies too
OUT/summary.json        what the reports say of them
OUT/contamination.json  the report; also .md and .html
OUT/receipts/…          proof of each piece of work
"""

import contextlib
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field, ValidationError

from tokenmill.dedup.arrays import Bools
from tokenmill.dedup.overlap import containment_index, paraphrase
from tokenmill.dedup.overlap import index as ngram_index
from tokenmill.dedup.overlap.containment_index import ContainmentIndex
from tokenmill.dedup.overlap.counts import GramCounts, frequent
from tokenmill.dedup.overlap.paraphrase import ParaphraseIndex
from tokenmill.dedup.text.fold import FOLDINGS, fold
from tokenmill.dedup.text.fold_tables import FOLD_VERSION
from tokenmill.dedup.text.unicode import UNICODE_VERSION
from tokenmill.pipelines.contamination.analysis import Analysis
from tokenmill.pipelines.contamination.copies import (
    COPY,
    Copies,
    CopyAnalysis,
    Share,
    best_explained,
    find_copies,
    index_copies,
    passages,
)
from tokenmill.pipelines.contamination.found import (
    FOUND,
    count_corpus,
    ignored_grams,
    load_counts,
    save_counts,
    search,
)
from tokenmill.pipelines.contamination.index import BenchmarkIndex, IndexedBenchmark, Matching
from tokenmill.pipelines.contamination.items.rows import check_outside, data_files, files_of
from tokenmill.pipelines.contamination.model import Documents, Report, Summary
from tokenmill.pipelines.contamination.paraphrases import (
    PARAPHRASE,
    Paraphrasing,
    find_paraphrases,
    index_paraphrases,
)
from tokenmill.pipelines.contamination.report import write_report
from tokenmill.pipelines.contamination.rows import (
    ITEM,
    Pair,
    copy_rows,
    item_rows,
    overlap_file,
    overlap_rows,
    pairs_of,
    paraphrase_rows,
)
from tokenmill.pipelines.contamination.shares import MOST, Shares, Units
from tokenmill.pipelines.contamination.summary import Tiers, summarize
from tokenmill.pipelines.core.config import Bytes, Config, digest_of, explain
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.schema import SCHEMA_VERSION
from tokenmill.pipelines.core.shard import Input, Plan, SourceShard
from tokenmill.pipelines.read.batch import add_first, read_stats
from tokenmill.pipelines.read.kept import with_kept_texts
from tokenmill.pipelines.read.options import Html, Limits
from tokenmill.pipelines.read.plan import plan_inputs, texts_from
from tokenmill.pipelines.read.readers import read_shard, reader_named
from tokenmill.pipelines.read.stream import parking
from tokenmill.pipelines.runs.drive import drive
from tokenmill.pipelines.runs.finished import (
    failed_sources,
    failures,
    inventory,
    manifest,
    read_report,
)
from tokenmill.pipelines.runs.manifest import (
    check_apart,
    held,
    open_run,
    read_manifest,
    write_manifest,
)
from tokenmill.pipelines.runs.receipt import Receipt, WorkFacts
from tokenmill.pipelines.runs.work import (
    Done,
    Execute,
    Finished,
    Job,
    Phase,
    Phases,
    Work,
    do,
    do_one,
    do_phase,
)
from tokenmill.pipelines.storage.atomic import atomic_path, write_json
from tokenmill.pipelines.storage.files import arrow_file, open_arrow, parquet_file

INDEX, COPY_INDEX, OTHER_INDEX = "index", "index/copies.arrow", "index/paraphrases.arrow"
COUNTS, ITEMS, OVERLAPS = "counts.arrow", "items.parquet", "overlaps.parquet"
SUMMARY = "summary.json"
PAGE, DOCUMENT, DATA = (f"contamination.{form}" for form in ("html", "md", "json"))
# how the work is done, and what is told of it
UNDECIDING: Any = {"run": True, "limits": {"failed_frac"}}
SCRATCH = ("found", "copies", "paraphrases")  # they go when a run has finished
FOUND_FOLDER, COPIES_FOLDER, OTHERS_FOLDER = SCRATCH
# there is no recipe to do so in
WAY = "name the one that holds the text, as PATH:NAME, or --text-column NAME for all"
SEARCH = "search"
CHECK_VERSION = "15"  # raise it when the same settings and input make other output bytes

# what the command line calls settings, for a run that finds others in its folder
WORDS = {
    "check.inputs": "PATH",
    "check.inputs.*.path": "PATH",
    "check.inputs.*.text": "--text-column",
    "check.inputs.*.join": "--text-column",
    "check.inputs.*.exclude": "--exclude",
    "check.matching.benchmarks": "--benchmark",
    **{f"check.matching.benchmarks.*.{f}": "--benchmark" for f in ("name", "path", "fields")},
    "check.matching.ngram": "--ngram",
    "check.matching.most_docs": "--most-docs",
    **{f"check.matching.folding.{name}": f"--folding {name}" for name in FOLDINGS},
    "check.verdict": "--verdict",
    "check.copies.threshold": "--containment",
    "check.paraphrases": "--paraphrases",
}


class Check(Config):
    """Which corpus is searched, and for what.

    verdict: share of an item in a document from which on it is dirty
        (`pipelines.contamination.shares`); "gpt3": one n-gram of it in the corpus, as published.
    copies: what counts as an edited copy of an item; None looks for none.
    paraphrases: what may be an item in other words; None, the default, looks for none.
    run: how the work is done; it changes no byte of the output.
    """

    inputs: Annotated[tuple[Input, ...], Field(min_length=1)]
    matching: Matching
    verdict: Share | Literal["gpt3"] = MOST
    copies: Copies | None = Copies()
    paraphrases: Paraphrasing | None = None
    shard_bytes: Bytes = 256_000_000
    limits: Limits = Limits()
    run: RunOptions = RunOptions()

    def build_index(self) -> BenchmarkIndex:
        return BenchmarkIndex.build(self.matching, published=self.verdict == "gpt3")


@dataclass(frozen=True, kw_only=True)
class ContaminationJob(Job):
    """The job of a check.

    benchmark_files: names of the files that items are read from, of each benchmark; none of a
        saved dataset or a set on the hub.
    pages: how those in web archives are read; None where the corpus has no archives.
    """

    check: Check
    benchmark_files: tuple[tuple[str, ...], ...] = ()
    pages: Html | None = None

    def part(self, folder: str, key: str) -> Path:
        """What a folder of SCRATCH has of a shard."""
        return self.out / folder / f"part-{key}.arrow"

    def load_index(self) -> BenchmarkIndex:
        return BenchmarkIndex.load(self.out / INDEX, self.check.matching)


def open_job(out: Path, check: Check, plan: Plan) -> ContaminationJob:
    """Begin a run in `out`, or continue it; ConfigError: no such benchmark, or as `open_run`."""
    by_benchmark = [files_of(b) for b in check.matching.benchmarks]
    pages = pages_of(plan)
    identity = {
        "check": check.model_dump(mode="json", exclude=UNDECIDING),
        **plan.identity(),
        "benchmarks": {f.path: [f.bytes, str(f.version)] for files in by_benchmark for f in files},
        "versions": {
            "check": CHECK_VERSION,
            "fold": FOLD_VERSION,
            "schema": SCHEMA_VERSION,
            "index": f"{ngram_index.FORMAT}, {containment_index.FORMAT}, {paraphrase.FORMAT}",
            "unicode": UNICODE_VERSION,
            **({} if pages is None else pages.versions()),
        },
    }
    out = out.absolute()
    return ContaminationJob(
        out=out,
        options=check.run,
        check=check,
        pages=pages,
        benchmark_files=tuple(tuple(f.name for f in data_files(files)) for files in by_benchmark),
        identity=open_run(out, identity, WORDS),
    )


def pages_of(plan: Plan) -> Html | None:
    """How web archives are read: all text, not the main part; ConfigError without the library."""
    archive = next(
        (s.paths[0] for s in plan.shards if reader_named(s.format).section == "html"), None
    )
    if archive is None:
        return None
    try:
        return Html(main_content=False)
    except ValidationError as e:
        raise explain(e, archive, Html) from e


@dataclass(frozen=True, kw_only=True)
class IndexFacts(WorkFacts):
    benchmarks: list[IndexedBenchmark]


@dataclass(frozen=True, kw_only=True)
class SearchFacts(WorkFacts):
    """Of a shard that was searched.

    damage: what was wrong with its file, where that could not be read to its end.
    first_failed: by cause, where the first document stands that could not be read.
    """

    source: str
    damage: list[str]
    first_failed: dict[str, str]


def phases(job: ContaminationJob, plan: Plan) -> Phases[Finished]:
    finished = Finished(shards=plan.shards)
    index = yield from do_one(index_work(job), finished)
    works = tuple(
        Work(
            step=SEARCH,
            key=shard.key,
            inputs=digest_of([job.identity, repr(shard.to_json()), index.digest]),
            facts=SearchFacts,
            call=search_shard,
            args=(shard,),
            chain=shard.chain,
        )
        for shard in plan.shards
    )
    receipts = yield from do_phase(Phase(name=SEARCH, works=works, cost=1.0), finished)
    keys = tuple(shard.key for shard in plan.shards if shard.key in receipts)
    inputs = digest_of([job.identity, index.digest, *(receipts[key].digest for key in keys)])
    count = Work(step="count", key="all", inputs=inputs, call=count_documents, args=(keys,))
    counted = yield from do_one(count, finished)
    inputs = digest_of([inputs, counted.digest])
    last = Work(step="analyse", key="all", inputs=inputs, call=analyse, args=(keys,))
    yield from do_one(last, finished)
    return finished


def index_work(job: ContaminationJob, built: BenchmarkIndex | None = None) -> Work[IndexFacts]:
    """The work of making benchmarks ready; built: their index if there is one, only saved then."""
    return Work(
        step="index",
        key="all",
        inputs=job.identity,
        facts=IndexFacts,
        call=write_index,
        args=(built,),
    )


def write_index(job: ContaminationJob, built: BenchmarkIndex | None) -> Done[IndexFacts]:
    index = built or job.check.build_index()
    files = index.save(job.out / INDEX)
    made: dict[str, ContainmentIndex | ParaphraseIndex] = {}
    copies, others = job.check.copies is not None, job.check.paraphrases is not None
    contexts = None
    if (copies or others) and job.check.verdict != "gpt3":
        contexts = Units.build(index.texts, index.ngrams).contexts
    if copies:
        made[COPY_INDEX] = index_copies(index.texts, contexts)
    if others:
        made[OTHER_INDEX] = index_paraphrases(index.texts, contexts)
    for name, of in made.items():
        files.append(job.out / name)
        with atomic_path(files[-1]) as partial:
            of.save(partial)
    return Done(files=files, facts=IndexFacts(benchmarks=list(index.benchmarks)))


def search_shard(job: ContaminationJob, shard: SourceShard) -> Done[SearchFacts]:
    """Write the documents of a shard that have n-grams or copies of items, a batch at a time."""
    index, check, source = job.load_index(), job.check, shard.source
    stats, damage, first = StageStats(), list[str](), dict[str, str]()
    edited, others = check.copies, check.paraphrases
    of_copies, of_others, words = None, None, check.matching.words
    if edited is not None:
        of_copies = ContainmentIndex.load(job.out / COPY_INDEX, gram_words=words)
    if others is not None:
        of_others = ParaphraseIndex.load(job.out / OTHER_INDEX, gram_words=words)
    files = [job.part(folder, shard.key) for folder in SCRATCH]
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(arrow_file(path, schema))
            for path, schema in zip(files, (FOUND, COPY, PARAPHRASE), strict=True)
        ]
        for batch in read_shard(shard, limits=check.limits, run=job.identity, html=job.pages):
            stats += read_stats(batch)
            damage += batch.damage
            add_first(first, batch.failed)
            docs = batch.documents
            folded = fold(docs["text"], index.folding)
            _write(writers[0], search(docs, index, source, folded))
            if edited is not None and of_copies is not None:
                _write(writers[1], find_copies(docs, folded, of_copies, edited, source))
            if others is not None and of_others is not None:
                _write(writers[2], find_paraphrases(docs, folded, of_others, others, source))
    facts = SearchFacts(source=source, damage=damage, first_failed=first)
    return Done(files=files, stats=[("read", stats)], facts=facts)


def _write(writer: pa.ipc.RecordBatchFileWriter, rows: pa.RecordBatch) -> None:
    if rows.num_rows:
        writer.write_batch(rows)


def count_documents(job: ContaminationJob, keys: Sequence[str]) -> Done:
    """Count the documents of the whole corpus that have each n-gram."""
    n_grams = len(job.load_index().ngrams.hashes)
    founds = (found for key in keys for found in open_arrow(job.part(FOUND_FOLDER, key))[0])
    save_counts(job.out / COUNTS, count_corpus(founds, n_grams))
    return Done(files=[job.out / COUNTS])


def analyse(job: ContaminationJob, keys: Sequence[str]) -> Done:
    """Work out which items the corpus has and which n-grams count, holding one shard at a time."""
    index = job.load_index()
    counts = load_counts(job.out / COUNTS)
    analysis, ignored = analysis_by(index, counts, job.check.verdict)
    for key in keys:
        for found in open_arrow(job.part(FOUND_FOLDER, key))[0]:
            analysis.add(found)
    about = passages(index.texts, analysis.shares.units.contexts if analysis.shares else None)
    dirty = analysis.item_docs > 0
    explained = partial(best_explained, texts=index.texts, dirty=dirty, about=about)
    copies = CopyAnalysis(index.texts, analysis.unseen())
    for key in keys:
        for found in open_arrow(job.part(COPIES_FOLDER, key))[0]:
            copies.add(explained(analysis.own_copies(found)))
    others = CopyAnalysis(index.texts, analysis.unseen() & ~copies.edited(), PARAPHRASE)
    with overlap_file(job.out / OVERLAPS) as write:
        for key in keys:
            told: set[Pair] = set()
            for found in open_arrow(job.part(FOUND_FOLDER, key))[0]:
                for rows in overlap_rows(found, index, ignored, analysis.shares):
                    told |= set(pairs_of(rows))
                    write(rows)
            for found in open_arrow(job.part(COPIES_FOLDER, key))[0]:
                own = explained(analysis.own_copies(found))
                write(rows := copy_rows(own, index, told))
                told |= set(pairs_of(rows))
            for found in open_arrow(job.part(OTHERS_FOLDER, key))[0]:
                others.add(alone := explained(found))
                write(paraphrase_rows(alone, index, told))
    with parquet_file(job.out / ITEMS, ITEM) as writer:
        writer.write_batch(item_rows(index, analysis, copies, others))
    tiers = Tiers(copies, job.check.copies, others, job.check.paraphrases)
    summary = summarize(index, analysis, counts, tiers)
    write_json(job.out / SUMMARY, summary.to_json())
    return Done(files=[job.out / name for name in (ITEMS, OVERLAPS, SUMMARY)])


def analysis_by(
    index: BenchmarkIndex, counts: GramCounts, verdict: float | Literal["gpt3"]
) -> tuple[Analysis, Bools]:
    """What is to count items by the verdict, and (n_grams,) bool, the n-grams that do not count."""
    if verdict == "gpt3":
        ignored, shares, never = ignored_grams(index, counts), None, index.ignored
    else:
        units = Units.build(index.texts, index.ngrams)
        often = frequent(counts, index.ngrams, most_docs=index.matching.most_docs)
        shares = Shares(index.texts, units, often, verdict)
        ignored, never = units.ignored | often, units.ignored
    of_many = ignored & ~never
    return Analysis(index.texts, index.ngrams, ignored, frequent=of_many, shares=shares), ignored


def check_contamination(
    check: Check, out: Path, execute: Execute, plan: Plan | None = None
) -> Report:
    """Run `check` into `out`, or continue the run that is there; return its report.

    plan: of `plan_check`, where the caller has made it already.
    ConfigError: the benchmarks, the inputs or `out` cannot be used.
    LedgerError: documents or bytes do not add up.
    """
    started = time.perf_counter()
    plan = plan or plan_check(check)
    with opened(check, out, plan) as job:
        earlier = finished_report(job)
        if earlier is not None:
            return earlier
        finished = drive(job, phases(job, plan), execute)
        report = _report(job, plan, finished, started)
        write_report(job.out, report)
        write_manifest(job.out, manifest(job, report.to_json(), finished))
        if not finished.failures:
            clean(job)
    return report


def plan_check(check: Check) -> Plan:
    """Cut the corpus into shards; of runs and collections of `prepare` the text that they kept.

    ConfigError: nothing of it can be read, it is what a run made, or a benchmark is not there
        or lies in it.
    """
    inputs = with_kept_texts(check.inputs)
    cut = plan_inputs(inputs, check.shard_bytes, limits=check.limits, in_recipe=False, html=True)
    plan = replace(cut, failed=tuple(lost.with_way(WAY) for lost in cut.failed))
    pages_of(plan)  # a missing library is named before anything is written
    check_outside(check.matching.benchmarks, check.inputs)
    if not plan.shards:
        raise ConfigError(f"no document can be read: {_cause(check, plan)}")
    return plan


def _cause(check: Check, plan: Plan) -> str:
    """Why there are no shards."""
    if plan.failed:
        return plan.failed[0].message
    what = "no documents there" if plan.files else "no files there"
    paths = ", ".join(given.path for given in check.inputs)
    return f"{paths}: {what}; name files, or folders with files, of text, JSONL, Parquet or Arrow"


@contextlib.contextmanager
def opened(check: Check, out: Path, plan: Plan) -> Iterator[ContaminationJob]:
    """Hold `out` for this check, benchmarks read first; ConfigError as `check_contamination`."""
    check_apart(check.inputs, out)
    with held(out):
        built = check.build_index() if read_manifest(out) is None else None
        job = open_job(out, check, plan)
        if built is not None:
            do(job, index_work(job, built))
        with parking(job.identity):
            yield job


def finished_report(job: ContaminationJob) -> Report | None:
    """The report of the run if it has finished and its files are all still there.

    Intermediates that its end left behind are deleted, lost files of the report written again.
    """
    data = read_report(job.out, lambda top: top not in SCRATCH)
    if data is None:
        return None
    report = Report.model_validate(data)
    if not all((job.out / name).is_file() for name in (PAGE, DOCUMENT, DATA)):
        write_report(job.out, report)
    clean(job)
    return report


def clean(job: ContaminationJob) -> None:
    """Delete the folders that a finished run no longer needs."""
    for folder in SCRATCH:
        shutil.rmtree(job.out / folder, ignore_errors=True)


def _report(job: ContaminationJob, plan: Plan, finished: Finished, started: float) -> Report:
    """What was read, what of it failed, and what was found."""
    searched: list[Receipt[SearchFacts]] = finished.of(SEARCH)
    stats = sum((s for receipt in searched for _, s in receipt.stats), StageStats())
    stats.check("read")
    failed = Counter(stats.failed)
    first: dict[str, str] = {}
    for receipt in searched:
        first = {**receipt.facts.first_failed, **first}
    for uncut in plan.failed:
        failed[uncut.cause] += uncut.docs or 0
    read = [(r.facts.source, s) for r in searched for _, s in r.stats]
    lost = failed_sources(read, stats.docs_out, job.check.limits.failed_frac)
    summary = Summary.model_validate_json((job.out / SUMMARY).read_text(encoding="utf-8"))
    benchmarks = zip(summary.benchmarks, job.benchmark_files, strict=True)
    return Report(
        **dict(summary)
        | {
            "benchmarks": tuple(
                benchmark.model_copy(update={"files": files}) for benchmark, files in benchmarks
            )
        },
        **dict(failures(plan, finished, {r.key: r.facts.damage for r in searched}, lost)),
        identity=job.identity,
        inputs=inventory(plan, texts_from(plan)),
        documents=Documents(
            read=stats.docs_out,
            text_bytes=stats.bytes_out,
            failed={cause: n for cause, n in sorted(failed.items()) if n},
            first_failed=first or None,
        ),
        files={"report": PAGE, "items": ITEMS, "overlaps": OVERLAPS},
        seconds=time.perf_counter() - started,
    )
