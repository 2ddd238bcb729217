"""The job of preparing a corpus: a recipe, and where everything lies in its run directory.

OUT/manifest.json      what this run is, and at its end what it did
OUT/05-index/…         the benchmarks and their n-grams
OUT/10-filtered/…      documents after pass 0 (20-… after pass 1), deleted at the end
OUT/11-keys/…          sidecars: digests, signatures, band keys
OUT/11-rows/…          the shards of the corpus in order, and where each begins
OUT/12-spill/…         keys again, by range: a file for each step and group of shards
OUT/12-edges/…         verified pairs of near duplicates, a file for each band and range
OUT/12-forest/…        equal documents of each range; pairs of near ones joined to trees, clusters
OUT/13-exact, 14-near  for each row of 10-filtered: kept, or the document it duplicates
OUT/13-same_url, 13-same_images  likewise
OUT/15-found/…         of the documents in 10-filtered that have n-grams of benchmarks: which, where
OUT/16-ignored/…       n-grams that count for nothing, what of the benchmarks is in the corpus
OUT/17-images/…        bytes of the images of 10-filtered, one behind the other
OUT/18-units/…         sidecars with a row for each image, or paragraph: its keys
OUT/18-unit-table/…    the shards of the corpus in order, and how many of these each has
OUT/18-unit-keys/…     the keys again, by range: a file for each group of shards
OUT/18-unit-counts/…   those that are too frequent, a file for each bucket and range of keys
OUT/19-repeated/…      of those the ones that the corpus has too often
OUT/18-spans/…         minimizers and n-grams of words by range, those that stand twice
OUT/19-spans/…         runs of these in each shard
OUT/90-tokens/…        ids by input shard
OUT/91-mix/…           the same, of groups of shards, each copy in the bucket of its place
OUT/dataset/           what training reads
OUT/removed/…          a row for every document that left
OUT/overlaps/…         a row for every span that repeats a benchmark item
OUT/pieces/…           a row for every piece of a document that was cut: what it was part of
OUT/index/…            keys of the documents in the dataset, for later runs to stand against
OUT/webdataset/…       what is left, as tars of samples
OUT/removed-images/…   a row for every image that left a document
OUT/removed-paragraphs/…  a row for every paragraph that the corpus has too often
OUT/removed-spans/…    a row for every stretch of words that was taken out of a document
OUT/thumbnails/…       some of the images kept and removed, small
OUT/receipts/…         proof of each piece of work
"""

from dataclasses import dataclass, replace
from pathlib import Path

from tokenmill.pipelines.core.shard import EarlierRun
from tokenmill.pipelines.corpus.passes import keyed_passes
from tokenmill.pipelines.prepare.recipe import Recipe
from tokenmill.pipelines.runs.work import Job

INDEX = "index"  # folder of the kept keys of a run


def index_file(out: Path, number: int, key: str) -> Path:
    """The kept keys of a shard, as its run's `number`-th keyed pass made them.

    out: the run.
    """
    return out / INDEX / f"part-{key}.{number}.arrow"


@dataclass(frozen=True, kw_only=True)
class PrepareJob(Job):
    """The job of a recipe.

    against: the runs that stand before it, oldest first.
    """

    recipe: Recipe
    against: tuple[EarlierRun, ...] = ()

    @property
    def workers(self) -> int | None:
        return self.recipe.run.works_per_process

    @property
    def scratch_bytes(self) -> int:
        return self.recipe.run.scratch_bytes

    def exactly(self) -> "PrepareJob":
        """The same job, every document encoded by the tokenizer's own library."""
        tokenizer = self.recipe.tokenizer.model_copy(update={"engine": "reference"})
        return replace(self, recipe=self.recipe.model_copy(update={"tokenizer": tokenizer}))

    def earlier(self, pass_index: int) -> tuple[Path, ...]:
        """Keys that documents of earlier runs had in the same pass, shard by shard, in order."""
        number = [part.index for part in keyed_passes(self.recipe.steps)].index(pass_index)
        return tuple(index_file(run.out, number, key) for run in self.against for key in run.keys)

    def filtered(self, pass_index: int, key: str) -> Path:
        return self.out / f"{pass_index + 1}0-filtered" / f"part-{key}.arrow"

    def keys(self, pass_index: int, key: str) -> Path:
        return self.out / f"{pass_index + 1}1-keys" / f"part-{key}.arrow"

    def rows(self, pass_index: int) -> Path:
        return self.out / f"{pass_index + 1}1-rows" / "shards.arrow"

    def spill(self, pass_index: int, step: str, group: int) -> Path:
        return self.out / f"{pass_index + 1}2-spill" / f"{step}-{group:05d}.arrow"

    def edges(self, pass_index: int, band: int, number: int) -> Path:
        return self.out / f"{pass_index + 1}2-edges" / f"band-{band:03d}-{number:05d}.arrow"

    def forest(self, pass_index: int, step: str, level: int, number: int) -> Path:
        return self.out / f"{pass_index + 1}2-forest" / f"{step}-{level}-{number:05d}.arrow"

    def duplicates(self, pass_index: int, step: str, key: str) -> Path:
        number = 4 if step == "near" else 3
        return self.out / f"{pass_index + 1}{number}-{step}" / f"part-{key}.arrow"

    def tokens(self, split: str, key: str) -> Path:
        return self.out / "90-tokens" / split / f"part-{key}.arrow"

    def bucket_counts(self, split: str, group: int) -> Path:
        return self.out / "91-mix" / split / f"counts-{group:05d}.arrow"

    def buckets(self, split: str, group: int, block: int) -> Path:
        return self.out / "91-mix" / split / f"group-{group:05d}-{block:05d}.arrow"

    def sampled_out(self, key: str) -> Path:
        return self.out / "removed" / f"part-{key}.mix.parquet"

    @property
    def index(self) -> Path:
        return self.out / "05-index"

    def found(self, pass_index: int, key: str) -> Path:
        return self.out / f"{pass_index + 1}5-found" / f"part-{key}.arrow"

    def ignored(self, pass_index: int) -> Path:
        return self.out / f"{pass_index + 1}6-ignored" / "ngrams.arrow"

    def contamination(self, pass_index: int) -> Path:
        return self.out / f"{pass_index + 1}6-ignored" / "contamination.json"

    def units(self, pass_index: int, key: str) -> Path:
        return self.out / f"{pass_index + 1}8-units" / f"part-{key}.arrow"

    def repeated(self, pass_index: int, key: str) -> Path:
        return self.out / f"{pass_index + 1}9-repeated" / f"part-{key}.arrow"

    def unit_table(self, pass_index: int) -> Path:
        return self.out / f"{pass_index + 1}8-unit-table" / "shards.arrow"

    def unit_keys(self, pass_index: int, group: int) -> Path:
        return self.out / f"{pass_index + 1}8-unit-keys" / f"group-{group:05d}.arrow"

    def unit_counts(self, pass_index: int, bucket: int, number: int) -> Path:
        folder = self.out / f"{pass_index + 1}8-unit-counts"
        return folder / f"bucket-{bucket:05d}-{number:05d}.arrow"

    def runs(self, pass_index: int) -> Path:
        return self.out / f"{pass_index + 1}9-repeated" / "runs.arrow"

    def spans(self, pass_index: int, what: str, number: int) -> Path:
        return self.out / f"{pass_index + 1}8-spans" / f"{what}-{number:05d}.arrow"

    def span_runs(self, pass_index: int, key: str) -> Path:
        return self.out / f"{pass_index + 1}9-spans" / f"part-{key}.arrow"

    def removed(self, pass_index: int, key: str) -> Path:
        return self.out / "removed" / f"part-{key}.{pass_index}.parquet"

    def removed_images(self, pass_index: int, key: str) -> Path:
        return self.out / "removed-images" / f"part-{key}.{pass_index}.parquet"

    def removed_paragraphs(self, pass_index: int, key: str) -> Path:
        return self.out / "removed-paragraphs" / f"part-{key}.{pass_index}.parquet"

    def removed_spans(self, pass_index: int, key: str) -> Path:
        return self.out / "removed-spans" / f"part-{key}.{pass_index}.parquet"

    def thumbnails(self, pass_index: int, key: str) -> Path:
        return self.out / "thumbnails" / f"part-{key}.{pass_index}.parquet"

    def webdataset(self, split: str, key: str) -> Path:
        folder = self.out / "webdataset"
        parted = self.recipe.output.validation_frac > 0.0
        return (folder / split if parted else folder) / f"part-{key}.tar"

    def spool(self, key: str) -> Path:
        return self.out / "17-images" / f"part-{key}.bin"

    def overlaps(self, key: str) -> Path:
        return self.out / "overlaps" / f"part-{key}.parquet"

    def pieces(self, key: str) -> Path:
        return self.out / "pieces" / f"part-{key}.parquet"

    @property
    def dataset(self) -> Path:
        return self.out / "dataset"
