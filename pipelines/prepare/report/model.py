"""What report.json holds: every key with its type, its unit and what it says.

    python -m tokenmill.pipelines.prepare.report.model   writes its JSON schema beside this file

Counts are whole numbers; sizes are in bytes, times in seconds, and shares between 0 and 1.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeAlias

from pydantic import Field, JsonValue, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from tokenmill.pipelines.contamination.model import Summary
from tokenmill.pipelines.core.data import Data
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.measured import TOTAL, Measurement
from tokenmill.pipelines.read.images.facts import Decoding
from tokenmill.pipelines.read.options import Patches
from tokenmill.pipelines.runs.finished import Failures, Inventory
from tokenmill.pipelines.storage.atomic import write_json
from tokenmill.pipelines.tokens.mix.report import Mixture

Sections: TypeAlias = dict[str, dict[str, JsonValue]]
Most: TypeAlias = list[tuple[int, int, int]]

SCHEMA = Path(__file__).with_name("schema.json")


class ImageRow(Data):
    """What a stage did to images: in = out + removed + failed + with_document."""

    images_in: int = Field(description="Images that it took in")
    images_out: int = Field(description="Images that it passed on")
    removed: dict[str, int] = Field(description="Images by reason")
    failed: dict[str, int] = Field(description="Images by cause")
    with_document: int = Field(description="Images that left because their document did")
    bytes_in: int = Field(description="Bytes of the images, as stored")
    bytes_out: int = Field(description="Bytes of the images, as stored")

    @property
    def counts(self) -> tuple[int, ...]:
        """In, removed, failed, gone with their document, out."""
        gone = sum(self.removed.values()), sum(self.failed.values()), self.with_document
        return (self.images_in, *gone, self.images_out)


class LedgerRow(Data):
    """What a stage did: documents in + created = out + removed + failed."""

    stage: str = Field(description="Its name")
    docs_in: int = Field(description="Documents that it took in")
    docs_created: int = Field(description="Documents made by splitting or repeating others")
    docs_out: int = Field(description="Documents that it passed on")
    removed: dict[str, int] = Field(description="Documents by reason")
    failed: dict[str, int] = Field(description="Documents by cause")
    bytes_in: int = Field(description="UTF-8 bytes of text: in = out + removed + edited")
    bytes_out: int = Field(description="UTF-8 bytes of text that it passed on")
    bytes_removed: int = Field(description="UTF-8 bytes of text of documents that left")
    bytes_edited: int = Field(description="UTF-8 bytes taken from documents it passed on")
    images: ImageRow | None = Field(None, description="Only of a stage that saw images")

    @property
    def counts(self) -> tuple[int, ...]:
        """Documents in, created, removed, failed, out."""
        left = sum(self.removed.values()), sum(self.failed.values())
        return (self.docs_in, self.docs_created, *left, self.docs_out)


Likeness: TypeAlias = tuple[int, int, float]  # doc_id that left, that it names, similarity


class Shown(Data):
    """A document as it came to the step that compared it."""

    doc_id: int = Field(description="Of the document")
    id: str = Field(description="The input's own")
    text: str = Field(description="Its beginning, or all of it")
    chars: int = Field(description="Of the whole text")


class Clusters(Data):
    """What a step that looks for duplicates found."""

    docs: int = Field(description="Documents that were compared")
    clusters: int = Field(description="Groups of two or more that are alike")
    largest: list[tuple[int, int]] = Field(description="doc_id kept, and documents")
    edges: int | None = Field(None, description="Pairs found alike")
    percents: list[int] | None = Field(
        None, description="Documents that left, by hundredths of similarity to the one named, 0 on"
    )
    closest: list[Likeness] | None = Field(None, description="Of the least similarity")
    of_largest: list[Likeness] | None = Field(
        None, description="Of the largest clusters, the least similarity in each"
    )
    verify: float | None = Field(None, description="Least similarity that was asked for")
    documents: list[Shown] | None = Field(
        None, description="Some of those named here, of this run, in order of their ids"
    )


class Bands(Data):
    """Pairs that the bands of `near` brought together and compared.

    By `cluster: stars` each is counted once; by components of estimates, in each of its bands.
    """

    candidates: int = Field(description="Pairs with a band in common")
    edges: int = Field(description="Of these, those that are alike")
    given_up: int | None = Field(
        None,
        description="Kept documents not compared with all later ones of a crowded bucket, for each",
    )
    recall: dict[str, float] | None = Field(
        None, description="By Jaccard similarity, the share of pairs expected to share a band"
    )


class NoItems(Data):
    """A recipe without decontaminate."""


class Split(Data):
    """A split of the dataset."""

    folder: str = Field(description="Where its files lie")
    docs: int = Field(description="Documents, copies included")
    tokens: int = Field(description="Of a packed split, those in whole sequences")
    files: int = Field(description="Arrow files")
    sequences: int | None = Field(None, description="Only of a packed split")
    tail_tokens: int | None = Field(None, description="Tokens that fill no sequence")


class Dataset(Data):
    """What the run made."""

    path: str = Field(description="The dataset's folder")
    files: dict[str, int] = Field(description="Bytes by path below the run directory")
    bytes: int = Field(description="Of the Arrow files")
    dtype: str = Field(description="Of a token: uint16 or uint32")
    seq_len: int | None = Field(description="Tokens of a sequence; None: not packed")
    splits: dict[str, Split] = Field(description='By name, such as "train"')


class KeptText(Data):
    """The documents as they went to the tokenizer."""

    path: str = Field(description="The folder of their files")
    format: str = Field(description='As in the recipe: "parquet" or "jsonl.zst"')
    zstd_level: int = Field(description="At which they are compressed")
    docs: int = Field(description="Documents, copies included")
    columns: dict[str, str] = Field({}, description="Kinds of what stands beside ids and text")
    files: dict[str, int] = Field(description="Bytes by path below the run directory")
    bytes: int = Field(description="Of all files")


class Mismatch(Data):
    """A shard in which the fast engine was found to differ; it was encoded exactly."""

    key: str = Field(description="Names the shard")
    message: str = Field(description="What was encoded otherwise")


class ImageToken(Data):
    """What stands for an image in the ids."""

    token: str = Field(description="As the vocabulary has it")
    id: int = Field(description="Its id")
    tokens: int | Patches = Field(description="For each image: so many, or by its size")


class Tokenizer(Data):
    """What encoded the text."""

    path: str = Field(description="Its file or folder")
    engine: str = Field(description="Library and version")
    why: str = Field(description="Why no faster engine encoded; empty if this is the fastest")
    docs_by_engine: dict[str, int] = Field(description="Documents that each encoded")
    mismatches: list[Mismatch] = Field(description="Shards in which the fast engine differed")
    digest: str = Field(description="Digest of what decides the ids")
    largest_id: int = Field(description="The largest id that it can make")
    image_token: ImageToken | None = Field(None, description="Only of a run with images")


class StepTime(Data):
    """What the works of a step took, added up over them; they run side by side."""

    step: str = Field(description='Such as "pass-0"')
    works: int = Field(description="How many were done")
    wall_s: float = Field(description="Seconds of wall time")
    cpu_s: float = Field(description="Seconds of CPU time of the works' own threads")


class Machine(Data):
    """Where the report was made."""

    system: str = Field(description="Name and version of the operating system")
    python: str = Field(description="Its version")
    libraries: dict[str, str] = Field(description="Versions by name")


class Sizes(Data):
    """Bytes or pixels of images whose size is known; percentiles are told within 4.5 %."""

    known: int = Field(description="Images of which the size is known")
    total: int = Field(description="Bytes or pixels of these")
    mean: float | None = Field(description="Of one image; None without any")
    mean_half_width: float | None = Field(description="Of its 95 % interval over images")
    p5: float | None = Field(description="5th percentile")
    p50: float | None = Field(description="Median")
    p95: float | None = Field(description="95th percentile")


class ImageFormat(Data):
    """Images of a format, or of all ("total")."""

    images: int = Field(description="How many")
    bytes: Sizes = Field(description="As encoded")
    pixels: Sizes
    decoded_bytes: int = Field(description="Decoded to RGB, 8 bits a channel")


class Repeated(Data):
    """Keys of one kind that too many units have."""

    repeated: int | None = Field(None, description="Keys that are too frequent")
    units: int | None = Field(None, description="Units that have such a key")
    most: Most | None = Field(None, description="doc_id, number of the first; how many")


class Images(Data):
    """Images that reached the dataset."""

    formats: dict[str, ImageFormat] = Field(description='By name, and "total" of all')
    images: int = Field(description="How many")
    image_bytes: int = Field(description="As encoded, where they are known")
    image_tokens: int = Field(description="Tokens that stand for images")
    text_tokens: int = Field(description="Tokens of text")
    bytes_bins: list[int] = Field(description="Images by bytes: bin k is 2^(k-1) to 2^k")
    pixels_bins: list[int] = Field(description="Images by pixels, in the same bins")
    ratio_bins: list[int] = Field(description="Images by width : height, from 1:16 to 16:1")
    notes: dict[str, int] = Field(description="What else readers and steps met, how often")
    sources_without: list[str] = Field(description="Sources that were read and had no image")
    repeated: dict[str, dict[str, int | Repeated]] = Field(description="By step and key")
    store: str = Field(description='As in the recipe: "bytes" or "reference"')
    decoding: Decoding


class EarlierRun(Data):
    """A run that this one stands against."""

    path: str = Field(description="Its run directory")
    docs: int = Field(description="Documents that it holds")
    shards: int = Field(description="Shards that it was read in")


class Against(Data):
    """The earlier runs, oldest first."""

    runs: list[EarlierRun] = Field(description="As the recipe names them, oldest first")
    duplicates: dict[str, int] = Field(description="Documents that repeat one of theirs, by step")
    remarks: list[str] = Field(description="What to know of the comparison")


class Report(Failures):
    """What became of a run's inputs, and what the dataset is like."""

    report: str = Field(description="Version of this format")
    name: str = Field(description="The recipe's name")
    identity: str = Field(description="Digest: equal for runs that make the same")
    inputs: Inventory
    ledger: list[LedgerRow] = Field(description="By stage: one lets out what the next takes in")
    ledger_by_source: dict[str, list[LedgerRow]] = Field({}, description="The same of each source")
    warnings: list[str] = Field(
        [],
        description="Filters that removed over 90 % of at least 10 documents of a source, and"
        " inputs without documents",
    )
    measurement: dict[str, Measurement] = Field(description='By source, and "total" of all')
    mixture: Mixture | None = Field(None, description="Only of a run that mixes")
    length_bins: list[int] = Field(description="Documents by UTF-8 bytes: bin k is 2^(k-1) to 2^k")
    duplicates: dict[str, Clusters | Bands] = Field(description="By step what was compared")
    contamination: Summary | NoItems = Field(description="What decontaminate found")
    dataset: Dataset | None = Field(None, description="Not of a run without a tokenizer")
    text: KeptText | None = Field(None, description="Only of a run that keeps it")
    tokenizer: Tokenizer | None = Field(None, description="Not of a run without one")
    stored_bytes: dict[str, int] = Field(description="Bytes by folder, scratch included")
    steps: list[StepTime] = Field(description="What took how long, in the order of the works")
    machine: Machine
    first_failed: dict[str, str] = Field(
        {}, description="By cause, where the first document stands that failed, and why it did"
    )
    notes: dict[str, int] | None = Field(None, description="Of a run of text: what else was met")
    images: Images | None = Field(None, description="Only of a run with images")
    against: Against | None = Field(None, description="Only with earlier runs")
    sections: Sections | None = Field(None, description="By name what further steps tell")
    seconds: float | None = Field(None, description="Seconds of the whole run")

    @classmethod
    def read(cls, data: Mapping[str, Any], where: str) -> Self:
        """The report of a run that has finished; ConfigError where another version wrote it."""
        try:
            return cls.model_validate(data)
        except ValidationError as e:
            place = ".".join(map(str, e.errors()[0]["loc"]))
            raise ConfigError(
                f"{where}: its report is of another version of tokenmill ({place}: "
                f"{e.errors()[0]['msg'].lower()}); prepare it again in another folder"
            ) from e

    @property
    def total(self) -> Measurement:
        return self.measurement[TOTAL]

    @property
    def made_nothing(self) -> bool:
        """Whether no document came out, and something failed."""
        return not (self.total.docs or self.none)

    @property
    def clusters(self) -> dict[str, Clusters]:
        return {name: of for name, of in self.duplicates.items() if isinstance(of, Clusters)}

    @property
    def found_items(self) -> Summary | None:
        return self.contamination if isinstance(self.contamination, Summary) else None

    def documents_that_left(self) -> list[tuple[str, str, str, int]]:
        """(stage, outcome, reason, documents), in order of the stages."""
        return [(row.stage, *left) for row in self.ledger for left in _left(row)]

    def left_by_source(self) -> dict[str, list[tuple[str, str, str, int, int]]]:
        """(stage, outcome, reason, documents, those that came to the stage), the most first."""
        return {
            source: sorted(
                ((row.stage, *left, row.docs_in) for row in rows for left in _left(row)),
                key=lambda left: -left[3],
            )
            for source, rows in self.ledger_by_source.items()
        }

    @property
    def reached(self) -> str:
        """What is said of documents that came to the end."""
        return "reached the tokenizer" if self.tokenizer else "are kept as text"

    def failed_documents(self) -> Counter[str]:
        return sum((Counter(row.failed) for row in self.ledger), Counter[str]())

    def images_that_left(self) -> list[tuple[str, str, str, int]]:
        """(stage, outcome, reason, images), those of a stage and outcome by how many they are."""
        return [
            (row.stage, *left)
            for row in self.ledger
            if row.images is not None
            for left in sorted(_left(row.images), key=lambda of: (of[0] == "failed", -of[2]))
        ]


def _left(row: LedgerRow | ImageRow) -> Iterator[tuple[str, str, int]]:
    """(outcome, reason, how many)."""
    for outcome, counts in (("removed", row.removed), ("failed", row.failed)):
        yield from ((outcome, reason, n) for reason, n in counts.items())


class _Untitled(GenerateJsonSchema):
    """Without titles, which repeat the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema() -> dict[str, Any]:
    """The JSON schema of report.json."""
    return Report.model_json_schema(schema_generator=_Untitled)


if __name__ == "__main__":
    write_json(SCHEMA, schema())
