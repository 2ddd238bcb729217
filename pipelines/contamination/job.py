"""The job of looking for benchmark items in a corpus, and where everything lies in its folder.

OUT/manifest.json       what this run is, and at its end what it did
OUT/index/…             n-grams of the benchmarks
OUT/found/…             of each shard the documents that have n-grams of items, deleted at the end
OUT/copies/…            of each shard the documents that have copies of items, deleted at the end
OUT/counts.arrow        in how many documents each n-gram stands
OUT/items.parquet       a row for every item: dirty or clean, and how much of it was found
OUT/overlaps.parquet    a row for every span of a document that repeats an item, edited copies too
OUT/summary.json        what the reports say of them
OUT/contamination.json  the report; also .md and .html
OUT/receipts/…          proof of each piece of work
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from tokenmill.dedup import containment_index, ngram_index
from tokenmill.dedup.fold import FOLDINGS
from tokenmill.dedup.fold_tables import FOLD_VERSION
from tokenmill.dedup.unicode import UNICODE_VERSION
from tokenmill.pipelines.benchmark.files import files_of
from tokenmill.pipelines.benchmark.rows import data_files
from tokenmill.pipelines.config import Bytes, Config, explain
from tokenmill.pipelines.contamination.copies import Copies
from tokenmill.pipelines.contamination.matching import Matching
from tokenmill.pipelines.job import Job
from tokenmill.pipelines.manifest import open_run
from tokenmill.pipelines.read.limits import Limits
from tokenmill.pipelines.run_options import RunOptions
from tokenmill.pipelines.schema import SCHEMA_VERSION
from tokenmill.pipelines.shard import Input, Plan
from tokenmill.pipelines.web.options import Html

CHECK_VERSION = "2"  # raise it when the same settings and input make other output bytes

# what the command line calls settings, for a run that finds others in its folder
WORDS = {
    "check.inputs": "PATH",
    "check.inputs.*.path": "PATH",
    "check.inputs.*.text": "--text-column",
    "check.matching.benchmarks": "--benchmark",
    **{f"check.matching.benchmarks.*.{f}": "--benchmark" for f in ("name", "path", "fields")},
    "check.matching.ngram": "--ngram",
    "check.matching.most_docs": "--most-docs",
    **{f"check.matching.folding.{name}": f"--folding {name}" for name in FOLDINGS},
    "check.copies.threshold": "--containment",
}


class Check(Config):
    """Which corpus is searched, and for what.

    copies: what counts as an edited copy of an item; None looks for n-grams alone.
    run: how the work is done; it changes no byte of the output.
    """

    inputs: Annotated[tuple[Input, ...], Field(min_length=1)]
    matching: Matching
    copies: Copies | None = Copies()
    shard_bytes: Bytes = 256_000_000
    limits: Limits = Limits()
    run: RunOptions = RunOptions()

    def identity(self) -> dict[str, Any]:
        """What decides the output, as JSON; `run` does not."""
        return self.model_dump(mode="json", exclude={"run"})


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

    @property
    def workers(self) -> int | None:
        return self.check.run.works_per_process

    @property
    def index(self) -> Path:
        return self.out / "index"

    def found(self, key: str) -> Path:
        return self.out / "found" / f"part-{key}.arrow"

    @property
    def copy_index(self) -> Path:
        return self.index / "copies.arrow"

    def copies(self, key: str) -> Path:
        return self.out / "copies" / f"part-{key}.arrow"

    @property
    def counts(self) -> Path:
        return self.out / "counts.arrow"

    @property
    def items(self) -> Path:
        return self.out / "items.parquet"

    @property
    def overlaps(self) -> Path:
        return self.out / "overlaps.parquet"

    @property
    def summary(self) -> Path:
        return self.out / "summary.json"


def open_job(out: Path, check: Check, plan: Plan) -> ContaminationJob:
    """Begin a run in `out`, or continue the one that is there.

    Raises:
        ConfigError: a benchmark is not there; or see `open_run`.
    """
    files = [files_of(b) for b in check.matching.benchmarks]
    pages = pages_of(plan)
    identity = {
        "check": check.identity(),
        **plan.identity(),
        "benchmarks": {f.path: [f.bytes, str(f.version)] for of_one in files for f in of_one},
        "versions": {
            "check": CHECK_VERSION,
            "fold": FOLD_VERSION,
            "schema": SCHEMA_VERSION,
            "index": f"{ngram_index.FORMAT}, {containment_index.FORMAT}",
            "unicode": UNICODE_VERSION,
            **({} if pages is None else pages.versions()),
        },
    }
    out = out.absolute()
    return ContaminationJob(
        out=out,
        check=check,
        pages=pages,
        benchmark_files=tuple(tuple(f.name for f in data_files(of_one)) for of_one in files),
        identity=open_run(out, identity, WORDS),
    )


def pages_of(plan: Plan) -> Html | None:
    """How pages are read where there are web archives: all of their text, not the main part alone.

    Raises:
        ConfigError: a library that they need is not installed.
    """
    archive = next((s.paths[0] for s in plan.shards if s.format == "warc"), None)
    if archive is None:
        return None
    try:
        return Html(main_content=False)
    except ValidationError as e:
        raise explain(e, archive, {}) from e
