"""What a finished run has to say: its ledger, its measurement, and what each step found."""

import platform
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from tokenmill.pipelines.core.ledger import StageStats, check_chain
from tokenmill.pipelines.core.measured import ShardCounts, added, measure
from tokenmill.pipelines.core.shard import Plan as SourcePlan
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.corpus.step import facts_of
from tokenmill.pipelines.prepare.against import remarks
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.phases import Prepared
from tokenmill.pipelines.prepare.report import model
from tokenmill.pipelines.prepare.report.images import image_facts, image_summary, notes_of
from tokenmill.pipelines.read.plan import texts_from
from tokenmill.pipelines.runs.finished import (
    failed_sources,
    failures,
    inventory,
    listings,
    mostly_removed,
    written,
)
from tokenmill.pipelines.runs.manifest import TEXT
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.tokens.dataset import Layout, file_name, kept_schema, split_folder
from tokenmill.pipelines.tokens.mix.report import Mixture, mixed_stats, mixture, tokens_once
from tokenmill.pipelines.tokens.text import LEVEL, beside

REPORT_VERSION = "2"
LIBRARIES = (
    "tokenmill", "pyarrow", "numpy", "numba", "tokenizers", "gigatoken", "datasets", "xxhash"
)  # fmt: skip

WITH_URLS = ("warc", "webdataset")  # formats whose documents may have some without a column


def summarize(job: PrepareJob, plan: SourcePlan, finished: Prepared) -> model.Report:
    """The report of a run, from which all else is drawn; LedgerError where it does not add up."""
    images = job.recipe.images
    by_source = ledger_by_source(job, finished)
    rows = ledger(job, plan, finished, by_source.values())
    check_chain(rows, "ledger")
    files = {n: b for n, b in written(finished) if n.startswith(("dataset/", f"{TEXT}/"))}
    dataset_files = {n: b for n, b in files.items() if n.startswith("dataset/")}
    stored = sum(b for n, b in dataset_files.items() if n.endswith(".arrow"))
    text = _text(job, finished, files)
    last_pass, first = _last_pass(job, finished), finished.of("pass-0")
    mixed, facts = mixture(job, last_pass, finished), _shard_facts(last_pass)
    dataset = _dataset(job, finished, dataset_files, stored)
    damage = {r.key: r.facts.get("damage", ()) for r in first}
    # facts of one shard at a time: those of all would be most of the memory
    read = ((receipt.facts["source"], receipt.stats[0][1]) for receipt in first)
    lost = failed_sources(read, rows[-1][1].docs_out, job.recipe.limits.failed_frac)
    by_section = _told(job, finished)
    came = {name: stats.docs_in for name, stats in rows}
    for name, told in by_section["duplicates"].items():
        if name in came and "docs" in told:  # of those in the pass some have left since
            told["docs"] = came[name]
    repeated = by_section.pop("repeated")
    return model.Report(
        report=REPORT_VERSION,
        name=job.recipe.name,
        identity=job.identity,
        inputs=inventory(plan, texts_from(plan)),
        ledger=_rows(rows),
        ledger_by_source={
            source: _rows(stages.items()) for source, stages in sorted(by_source.items())
        },
        warnings=[
            *_without_documents(job, finished),
            *_without_urls(job, finished),
            *mostly_removed(by_source, job.recipe.steps),
        ],
        **dict(failures(plan, finished, damage, lost)),
        # what is measured are documents once: of what copies take as well, their part
        measurement=measure(facts, _stored_once(facts, mixed, dataset, text)),
        mixture=mixed,
        length_bins=added((r.facts["measured"]["length_bins"] for r in last_pass), []),
        duplicates=by_section.pop("duplicates"),
        contamination=by_section.pop("contamination"),
        dataset=dataset,
        text=text,
        tokenizer=_tokenizer(job, last_pass),
        stored_bytes={top: of.bytes for top, of in sorted(listings(written(finished)).items())},
        steps=_timing(finished),
        machine=model.Machine(
            system=platform.platform(),
            python=platform.python_version(),
            libraries={name: version(name) for name in LIBRARIES},
        ),
        first_failed=_first_failed(job, finished),
        notes=None if images else notes_of(_of_passes(job, finished)),
        images=images and _images(job, finished, images.store, repeated),
        against=_against(job, finished) if job.against else None,
        sections=by_section or None,  # of steps that are not our own
    )


def _without_documents(job: PrepareJob, finished: Prepared) -> list[str]:
    """A line that names the inputs which were read and hold no document."""
    read = {r.key: r.stats[0][1].docs_in for r in finished.of("pass-0")}
    docs = Counter[int]()
    for shard in finished.shards:
        if shard.key in read:
            docs[shard.input] += read[shard.key]
    empty = [job.recipe.inputs[i].path for i, n in docs.items() if not n]
    return [f"no document in {', '.join(empty)}"] if empty else []


def _without_urls(job: PrepareJob, finished: Prepared) -> list[str]:
    """Lines that name the steps which had nothing to go by."""
    if not finished.shards or any(s.url or s.format in WITH_URLS for s in finished.shards):
        return []
    return [
        f"step {step.stage_name!r} goes by URLs, and no input has them: it did nothing; name their"
        " column, as {path: …, url: NAME}"
        + (", or set within: corpus" if step.name == "repeated_paragraphs" else "")
        for step in job.recipe.steps
        if step.asks_urls
    ]


def _rows(stages: Iterable[tuple[str, StageStats]]) -> list[model.LedgerRow]:
    return [model.LedgerRow(stage=name, **stats.to_json()) for name, stats in stages]


def _first_failed(job: PrepareJob, finished: Prepared) -> dict[str, str]:
    """By cause the first document that failed, of the first shard with one."""
    first: dict[str, str] = {}
    for receipt in _of_passes(job, finished):
        first = {**receipt.facts.get("first_failed", {}), **first}
    return first


def _images(job: PrepareJob, finished: Prepared, store: str, repeated: Any) -> model.Images:
    paths = (
        split_folder(job, p.split) / file_name(number, p.files)
        for p in finished.layouts
        for number in range(p.files)
    )
    there = [path for path in paths if mirror.exists(path)]
    last_pass, made = _last_pass(job, finished), _of_passes(job, finished)
    return image_summary(last_pass, made, store=store, files=there, repeated=repeated)


def _stored_once(
    facts: Sequence[ShardCounts],
    mixed: Mixture | None,
    dataset: model.Dataset | None,
    text: model.KeptText | None,
) -> float:
    """Bytes of the dataset, but for copies, 0 if no sequence was filled; else those of the text."""
    if dataset is None:
        return 0.0 if text is None else text.bytes
    if not any(split.tokens for split in dataset.splits.values()):
        return 0.0
    return dataset.bytes * tokens_once(mixed, sum(f["tokens"] or 0 for f in facts))


def _dataset(
    job: PrepareJob, finished: Prepared, files: dict[str, int], stored: int
) -> model.Dataset | None:
    """The dataset; None without a tokenizer."""
    dtype = job.tokenizing.dtype
    if dtype is None:
        return None
    return model.Dataset(
        path=mirror.address(job.dataset),
        files=files,
        bytes=stored,
        dtype=dtype.name,
        seq_len=job.recipe.output.seq_len,
        splits={layout.split: _split(job, layout) for layout in finished.layouts},
    )


def _tokenizer(job: PrepareJob, last_pass: Sequence[Receipt]) -> model.Tokenizer | None:
    """What encoded the documents; None where nothing did."""
    images, settings = job.recipe.images, job.recipe.tokenizer
    if settings is None:
        return None
    engine = job.tokenizing.engine()
    return model.Tokenizer(
        path=settings.path,
        engine=engine.name,
        why=engine.why,
        docs_by_engine=added(
            (r.facts["measured"].get("docs_by_engine", {}) for r in last_pass), {}
        ),
        mismatches=[
            model.Mismatch(key=r.key, message=r.facts["mismatch"])
            for r in last_pass
            if "mismatch" in r.facts
        ],
        digest=engine.digest,
        largest_id=engine.largest_id,
        image_token=images
        and model.ImageToken(token=images.token, id=engine.image_id, tokens=images.tokens),
    )


def _text(job: PrepareJob, finished: Prepared, files: dict[str, int]) -> model.KeptText | None:
    """What is kept of the documents; None where nothing is asked for."""
    form = job.recipe.output.text
    if form is None:
        return None
    kept = {name: size for name, size in files.items() if name.startswith(f"{TEXT}/")}
    return model.KeptText(
        path=mirror.address(job.out / TEXT),
        format=form,
        zstd_level=LEVEL,
        docs=sum(receipt.facts.texts for receipt in finished.of(job.tokenizing.made)),
        columns=beside(kept_schema(job)),
        files=kept,
        bytes=sum(kept.values()),
    )


def _split(job: PrepareJob, layout: Layout) -> model.Split:
    """Of a packed split whole sequences are counted; what is left fills none."""
    seq_len, packed = job.recipe.output.seq_len, {}
    if seq_len is not None:
        packed["sequences"], packed["tail_tokens"] = divmod(layout.tokens, seq_len)
    return model.Split(
        folder=mirror.address(split_folder(job, layout.split)),
        docs=sum(shard.docs for shard in layout.shards),
        tokens=layout.tokens - packed.get("tail_tokens", 0),
        files=layout.files,
        **packed,
    )


def ledger_by_source(job: PrepareJob, finished: Finished) -> dict[str, dict[str, StageStats]]:
    """What each stage did to each source, in order.

    A shard that failed in a later pass has its documents counted there as failed.
    LedgerError: a shard's stages do not follow from one another.
    """
    parts = passes(job.recipe.steps)
    by_pass = [{r.key: r for r in finished.of(f"pass-{p.index}")} for p in parts]
    by_source: dict[str, dict[str, StageStats]] = {}
    for shard in finished.shards:
        chain: list[tuple[str, StageStats]] = []
        for part, receipts in zip(parts, by_pass, strict=True):
            if shard.key in receipts:
                chain += receipts[shard.key].stats
            elif chain:
                chain.append((job.stage_names(part)[0], _lost(chain[-1][1])))
                break
        check_chain(chain, f"shard {shard.key}")
        totals = by_source.setdefault(shard.source, {})
        for name, stats in chain:
            totals[name] = totals.get(name, StageStats()) + stats
    return by_source


def ledger(
    job: PrepareJob,
    plan: SourcePlan,
    finished: Finished,
    of_sources: Iterable[Mapping[str, StageStats]],
) -> list[tuple[str, StageStats]]:
    """What each stage did over the whole corpus, in order."""
    parts = passes(job.recipe.steps)
    totals = {name: StageStats() for part in parts for name in job.stage_names(part)}
    for stages in of_sources:
        for name, stats in stages.items():
            totals[name] += stats
    for failed in plan.failed:  # documents of files that could not even be cut into shards
        if failed.docs:
            totals["read"] += StageStats(docs_in=failed.docs, failed={failed.cause: failed.docs})
    packed = [stats for r in finished.of("state") for stats in r.stats]
    return [*totals.items(), *mixed_stats(finished), *packed]


def _lost(before: StageStats) -> StageStats:
    return StageStats(
        docs_in=before.docs_out,
        failed={"shard_failed": before.docs_out},
        bytes_in=before.bytes_out,
        bytes_removed=before.bytes_out,
    )


def _last_pass(job: PrepareJob, finished: Finished) -> Sequence[Receipt]:
    return finished.of(f"pass-{len(passes(job.recipe.steps)) - 1}")


def _of_passes(job: PrepareJob, finished: Finished) -> Sequence[Receipt]:
    return [r for part in passes(job.recipe.steps) for r in finished.of(f"pass-{part.index}")]


def _shard_facts(last_pass: Sequence[Receipt]) -> list[ShardCounts]:
    shards = []
    for receipt in last_pass:
        counts = receipt.facts["measured"]
        facts: ShardCounts = {
            "source": receipt.facts["source"],
            "docs": sum(counts["docs"].values()),
            "chars": counts["chars"],
            "text_bytes": sum(counts["text_bytes"].values()),
            "tokens": sum(counts["tokens"].values()) if "tokens" in counts else None,
            "token_file_bytes": sum(b for n, b, _ in receipt.files if "-tokens/" in n),
        }
        if "images" in counts:  # whose bytes are not in the files of tokens
            facts["token_file_bytes"] = sum(counts["sizes"].values())
            facts["images"] = image_facts(counts)
        shards.append(facts)
    return shards


def _told(job: PrepareJob, finished: Finished) -> dict[str, Any]:
    """What corpus-wide steps say of themselves, by section."""
    sections: dict[str, Any] = {"duplicates": {}, "contamination": {}, "repeated": {}}
    for part in passes(job.recipe.steps):
        for step in part.after:
            for section, facts in step.told(job, part.index, finished.receipts).items():
                sections[section] = sections.get(section, {}) | dict(facts)
            for facts in facts_of(finished.receipts, f"shown-{step.name}"):
                sections["duplicates"][step.name] |= facts
    return sections


def _against(job: PrepareJob, finished: Finished) -> model.Against:
    runs = [
        model.EarlierRun(path=mirror.address(r.out), docs=r.docs, shards=r.shards)
        for r in job.against
    ]
    return model.Against(
        runs=runs,
        duplicates=added([r.facts.get("of_earlier", {}) for r in _of_passes(job, finished)], {}),
        remarks=remarks(job.recipe, job.against),
    )


def _timing(finished: Finished) -> list[model.StepTime]:
    """Per step: works done, seconds of wall and CPU time added up over them."""
    seconds: dict[str, tuple[int, float, float]] = defaultdict(lambda: (0, 0.0, 0.0))
    for receipt in finished.receipts:
        (n, wall, cpu), (more_wall, more_cpu) = seconds[receipt.step], receipt.seconds
        seconds[receipt.step] = (n + 1, wall + more_wall, cpu + more_cpu)
    return [
        model.StepTime(step=step, works=n, wall_s=wall, cpu_s=cpu)
        for step, (n, wall, cpu) in seconds.items()
    ]
