"""What a finished run has to say: its ledger, its measurement and what storage it asks for.

The report is plain JSON data, `report.json`; everything shown elsewhere is drawn from it.
"""

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from tokenmill.pipelines.core.ledger import StageStats, check_chain
from tokenmill.pipelines.core.measured import TOTAL, measure
from tokenmill.pipelines.core.shard import Plan as SourcePlan
from tokenmill.pipelines.corpus.passes import passes, stage_names
from tokenmill.pipelines.prepare.against import remarks
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.phases import Prepared
from tokenmill.pipelines.prepare.report.images import image_facts, image_summary, notes_of
from tokenmill.pipelines.read.images.facts import decode_cost
from tokenmill.pipelines.runs.finished import failures, inventory
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished
from tokenmill.pipelines.storage import mirror
from tokenmill.pipelines.tokens.dataset import Layout, file_name, split_folder
from tokenmill.pipelines.tokens.mix.summary import mixed_stats, mixture, tokens_once
from tokenmill.sizing.corpus import read_corpus
from tokenmill.sizing.plan.plan import Plan
from tokenmill.sizing.report import summary_json
from tokenmill.sizing.requirements import requirement_sheet

REPORT_VERSION = "1"
LIBRARIES = (
    "tokenmill",
    "pyarrow",
    "numpy",
    "numba",
    "tokenizers",
    "gigatoken",
    "datasets",
    "xxhash",
)


def summarize(job: PrepareJob, plan: SourcePlan, finished: Prepared) -> dict[str, Any]:
    """The report of a run.

    Raises:
        LedgerError: documents or bytes do not add up, in a shard or in total.
    """
    engine = job.recipe.engine()
    rows = ledger(job, plan, finished)
    check_chain(rows, "ledger")
    files = {name: size for r in finished.receipts for name, size, _ in r.files}
    dataset_files = {n: b for n, b in files.items() if n.startswith("dataset/")}
    stored = sum(b for n, b in dataset_files.items() if n.endswith(".arrow"))
    mixed, facts = mixture(job, _last_pass(job, finished), finished), _shard_facts(job, finished)
    # what is measured are documents once: of what copies take as well, their part
    measured = measure(facts, stored * tokens_once(mixed, sum(f["tokens"] for f in facts)))
    told, first = _told(job, finished), finished.of("pass-0")
    repeated = told.pop("repeated")
    report = {
        "report": REPORT_VERSION,
        "name": job.recipe.name,
        "identity": job.identity,
        "inputs": inventory(plan),
        "ledger": [{"stage": name, **stats.to_json()} for name, stats in rows],
        **failures(plan, finished, {r.key: r.facts.get("damage", ()) for r in first}),
        "measurement": {name: m.to_json() for name, m in measured.items()},
        **mixed,
        "length_bins": _length_bins(_last_pass(job, finished)),
        "duplicates": told.pop("duplicates"),
        "contamination": told.pop("contamination"),
        "dataset": {
            "path": mirror.address(job.dataset),
            "files": dataset_files,
            "bytes": stored,
            "dtype": engine.dtype.name,
            "seq_len": job.recipe.output.seq_len,
            "splits": {
                p.split: {
                    "folder": mirror.address(split_folder(job, p.split)),
                    "docs": sum(s.docs for s in p.shards),
                    "tokens": p.tokens,
                    "files": p.files,
                    **_sequences(job, p),
                }
                for p in finished.layouts
            },
        },
        "tokenizer": {
            "path": job.recipe.tokenizer.path,
            "engine": engine.name,
            "why": engine.why,
            **_encoded(_last_pass(job, finished)),
            "digest": engine.digest,
            "largest_id": engine.largest_id,
            **_image_token(job),
        },
        "stored_bytes": _stored(files),
        "steps": _timing(finished),
        "machine": {
            "system": platform.platform(),
            "python": platform.python_version(),
            "libraries": {name: version(name) for name in LIBRARIES},
        },
    }
    if job.recipe.images is None:
        report["notes"] = notes_of(_of_passes(job, finished))
    else:
        report["images"] = _images(job, finished, job.recipe.images.store, repeated)
    if told:  # of steps that are not our own
        report["sections"] = told
    if job.against:
        report["against"] = _against(job, finished)
    return {**report, **_requirements(report)}


def _images(
    job: PrepareJob, finished: Prepared, store: str, repeated: Mapping[str, Any]
) -> dict[str, Any]:
    """What is told of images; store: as in the recipe.  decoding: as of `decode_cost`."""
    found = image_summary(_last_pass(job, finished), _of_passes(job, finished))
    paths = [
        split_folder(job, p.split) / file_name(number, p.files)
        for p in finished.layouts
        for number in range(p.files)
    ]
    counts = {name: of["images"] for name, of in found["formats"].items() if name != TOTAL}
    there = [path for path in paths if mirror.exists(path)]
    return {**found, "repeated": repeated, "store": store, "decoding": decode_cost(there, counts)}


def _sequences(job: PrepareJob, layout: Layout) -> dict[str, int]:
    """Of a packed split: its sequences, and the tokens at its end that fill none."""
    seq_len = job.recipe.output.seq_len
    if seq_len is None:
        return {}
    sequences, left = divmod(layout.tokens, seq_len)
    return {"sequences": sequences, "tokens": sequences * seq_len, "tail_tokens": left}


def ledger(job: PrepareJob, plan: SourcePlan, finished: Finished) -> list[tuple[str, StageStats]]:
    """What each stage did over the whole corpus, in order.

    A shard that failed in a later pass has its documents counted there as failed.

    Raises:
        LedgerError: a shard's stages do not follow from one another.
    """
    parts = passes(job.recipe.steps)
    by_pass = [{r.key: r for r in finished.of(f"pass-{p.index}")} for p in parts]
    totals = {name: StageStats() for part in parts for name in stage_names(part)}
    for shard in finished.shards:
        chain: list[tuple[str, StageStats]] = []
        for part, receipts in zip(parts, by_pass, strict=True):
            if shard.key in receipts:
                chain += receipts[shard.key].stats
            elif chain:
                chain.append((stage_names(part)[0], _lost(chain[-1][1])))
                break
        check_chain(chain, f"shard {shard.key}")
        for name, stats in chain:
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


def _requirements(report: dict[str, Any]) -> dict[str, Any]:
    """A first sheet of storage requirements: this corpus as measured, the plan all defaults."""
    total, splits = report["measurement"]["total"], report["dataset"]["splits"].values()
    has_content = total["text_bytes"] or "images" in total  # not end-of-text tokens alone
    if not has_content or not sum(split["tokens"] for split in splits):
        return {"requirements": [], "sizing_assumptions": []}
    corpus = read_corpus(report, where="report")
    return summary_json(requirement_sheet(Plan(), {"corpus": corpus}))


def _shard_facts(job: PrepareJob, finished: Finished) -> list[dict[str, Any]]:
    """Of each shard what `measure` wants."""
    made = []
    for receipt in _last_pass(job, finished):
        counts = receipt.facts["measured"]
        facts: dict[str, Any] = {
            "source": receipt.facts["source"],
            "docs": sum(counts["docs"].values()),
            "chars": counts["chars"],
            "text_bytes": sum(counts["text_bytes"].values()),
            "tokens": sum(counts["tokens"].values()),
            "token_file_bytes": sum(b for n, b, _ in receipt.files if "-tokens/" in n),
        }
        if "images" in counts:  # whose bytes are not in the files of tokens
            facts["token_file_bytes"] = sum(counts["sizes"].values())
            facts["images"] = image_facts(counts)
        made.append(facts)
    return made


def _length_bins(last_pass: Sequence[Receipt]) -> list[int]:
    bins = [receipt.facts["measured"]["length_bins"] for receipt in last_pass]
    return np.sum(bins, axis=0).tolist() if bins else []


def _encoded(last_pass: Sequence[Receipt]) -> dict[str, Any]:
    """Which engine encoded how many documents, and where the fast one was found to differ."""
    by: Counter[str] = Counter()
    for receipt in last_pass:
        by.update(receipt.facts["measured"].get("docs_by_engine", {}))
    mismatches = [
        {"key": r.key, "message": r.facts["mismatch"]} for r in last_pass if "mismatch" in r.facts
    ]
    return {"docs_by_engine": dict(by), "mismatches": mismatches}


def _image_token(job: PrepareJob) -> dict[str, Any]:
    """What stands for an image in the ids, and how often; nothing in a run of text."""
    images = job.recipe.images
    if images is None:
        return {}
    rule = images.model_dump(mode="json", include={"tokens"})
    return {"image_token": {"token": images.token, "id": job.recipe.engine().image_id, **rule}}


def _told(job: PrepareJob, finished: Finished) -> dict[str, dict[str, Any]]:
    """What corpus-wide steps say of themselves, by section."""
    sections: dict[str, dict[str, Any]] = {"duplicates": {}, "contamination": {}, "repeated": {}}
    for part in passes(job.recipe.steps):
        for step in part.after:
            for section, facts in step.told(job, part.index, finished.receipts).items():
                sections[section] = sections.get(section, {}) | dict(facts)
    return sections


def _against(job: PrepareJob, finished: Finished) -> dict[str, Any]:
    """The earlier runs, how many documents repeat one of theirs by step, and what to know of it."""
    repeated: Counter[str] = Counter()
    for receipt in _of_passes(job, finished):
        repeated.update(receipt.facts.get("of_earlier", {}))
    runs = [{"path": str(run.out), "docs": run.docs, "shards": run.shards} for run in job.against]
    return {
        "runs": runs,
        "duplicates": dict(repeated),
        "remarks": remarks(job.recipe, job.against),
    }


def _stored(files: dict[str, int]) -> dict[str, int]:
    """Bytes written by folder of the run directory, scratch included."""
    made: dict[str, int] = {}
    for name, size in files.items():
        folder = name.partition("/")[0]
        made[folder] = made.get(folder, 0) + size
    return dict(sorted(made.items()))


def _timing(finished: Finished) -> list[dict[str, Any]]:
    """Per step: works done, seconds of wall and CPU time added up over them."""
    made: dict[str, dict[str, Any]] = {}
    for receipt in finished.receipts:
        step = made.setdefault(
            receipt.step, {"step": receipt.step, "works": 0, "wall_s": 0.0, "cpu_s": 0.0}
        )
        step["works"] += 1
        step["wall_s"] += receipt.seconds[0]
        step["cpu_s"] += receipt.seconds[1]
    return list(made.values())


def removed_by_reason(rows: Iterable[dict[str, Any]]) -> list[tuple[str, str, str, int]]:
    """(stage, outcome, reason, documents) of a report's ledger rows, in order of the stages."""
    made = []
    for row in rows:
        for outcome in ("removed", "failed"):
            made += [(row["stage"], outcome, reason, n) for reason, n in row[outcome].items()]
    return made
