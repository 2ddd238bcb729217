"""What report.json holds: every key with its type, its unit and what it says.

    python -m tokenmill.pipelines.prepare.report.model   writes its JSON schema beside this file

Counts are whole numbers; sizes are in bytes, times in seconds, and shares between 0 and 1.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import JsonValue, ValidationError

from tokenmill.pipelines.contamination.model import FoundItems
from tokenmill.pipelines.core.data import Data, Number
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.measured import TOTAL, Measurement, Ratio
from tokenmill.pipelines.read.options import Patches
from tokenmill.pipelines.runs.finished import (
    DamagedShard,
    FailedShard,
    Failures,
    Inventory,
    UnreadInput,
)
from tokenmill.pipelines.storage.files import write_json
from tokenmill.pipelines.tokens.mix.report import Mixture

SCHEMA = Path(__file__).with_name("schema.json")


class ImageRow(Data):
    """What a stage did to images: in = out + removed + failed + with_document."""

    images_in: int
    """Images that it took in."""
    images_out: int
    """Images that it passed on."""
    removed: dict[str, int]
    """Images by reason."""
    failed: dict[str, int]
    """Images by cause."""
    with_document: int
    """Images that left because their document did."""
    bytes_in: int
    """Of the images, as stored."""
    bytes_out: int
    """Of the images, as stored."""


class LedgerRow(Data):
    """What a stage did: documents in + created = out + removed + failed."""

    stage: str
    """Its name."""
    docs_in: int
    """Documents that it took in."""
    docs_created: int
    """Documents made by splitting or repeating others."""
    docs_out: int
    """Documents that it passed on."""
    removed: dict[str, int]
    """Documents by reason."""
    failed: dict[str, int]
    """Documents by cause."""
    bytes_in: int
    """UTF-8 bytes of the documents' text: in = out + removed + edited."""
    bytes_out: int
    """UTF-8 bytes of text that it passed on."""
    bytes_removed: int
    """UTF-8 bytes of text of documents that left."""
    bytes_edited: int
    """UTF-8 bytes taken from documents passed on; below 0 where text grew."""
    images: ImageRow | None = None
    """Only of a stage that saw images."""

    @classmethod
    def of(cls, stage: str, stats: StageStats) -> Self:
        return cls(stage=stage, **stats.to_json())


class Clusters(Data):
    """What a step that looks for duplicates found."""

    docs: int
    """Documents that were compared."""
    clusters: int
    """Groups of two or more that are alike."""
    largest: list[tuple[int, int]]
    """The doc_id of the document kept and how many documents, of the largest clusters."""
    edges: int | None = None
    """Pairs found alike."""


class Bands(Data):
    """Pairs that the bands of `near` brought together, each counted once in each band."""

    candidates: int
    """Pairs with a band in common."""
    edges: int
    """Of these, those that are alike."""


class Duplicates(Data):
    """What was compared, of the last pass in which each step found duplicates."""

    exact: Clusters | None = None
    """Only of a recipe with `exact`."""
    bands: Bands | None = None
    """Only of a recipe with `near`."""
    near: Clusters | None = None
    """Only of a recipe with `near`."""


class NoItems(Data):
    """A recipe without decontaminate."""


class Split(Data):
    """A split of the dataset."""

    folder: str
    """Where they lie."""
    docs: int
    """Documents, copies included."""
    tokens: int
    """Of a packed split, those in whole sequences."""
    files: int
    """Arrow files."""
    sequences: int | None = None
    """Only of a packed split."""
    tail_tokens: int | None = None
    """Only of a packed split: tokens at its end that fill no sequence."""


class Dataset(Data):
    """What the run made."""

    path: str
    """Of its folder."""
    files: dict[str, int]
    """Bytes by path below the run directory."""
    bytes: int
    """Of the Arrow files."""
    dtype: str
    """Of a token: uint16 or uint32."""
    seq_len: int | None
    """Tokens of a packed sequence; None where documents are rows."""
    splits: dict[str, Split]
    """By name, such as "train"."""


class Mismatch(Data):
    """A shard in which the fast engine was found to differ; it was encoded exactly."""

    key: str
    """Names the shard."""
    message: str
    """What was encoded otherwise."""


class ImageToken(Data):
    """What stands for an image in the ids."""

    token: str
    """As the vocabulary has it."""
    id: int
    """Its id."""
    tokens: int | Patches
    """For each image: so many, or by its size."""


class Tokenizer(Data):
    """What encoded the text."""

    path: str
    """Of its file or folder."""
    engine: str
    """Library and version."""
    why: str
    """There is no faster engine; empty where there is none faster."""
    docs_by_engine: dict[str, int]
    """Documents that each encoded."""
    mismatches: list[Mismatch]
    """Shards in which the fast engine differed."""
    digest: str
    """Of what decides which ids it makes."""
    largest_id: int
    """That it can make."""
    image_token: ImageToken | None = None
    """Only of a run with images."""


class StepTime(Data):
    """What the works of a step took, added up over them; they run side by side."""

    step: str
    """Such as "pass-0"."""
    works: int
    """How many were done."""
    wall_s: float
    """Seconds of wall time."""
    cpu_s: float
    """Seconds of CPU time of the works' own threads."""


class Machine(Data):
    """Where the report was made."""

    system: str
    """Name and version of the operating system."""
    python: str
    """Its version."""
    libraries: dict[str, str]
    """Versions."""


class Sizes(Data):
    """Bytes or pixels of images."""

    known: int
    """Images of which the size is known."""
    total: int
    """Of these."""
    mean: float | None
    """Of one image; None without any."""
    mean_half_width: float | None
    """Of the mean's 95 % interval, over images drawn alike; None for fewer than two."""
    p5: float | None
    """5th percentile, told within 4.5 %, as the others."""
    p50: float | None
    """Median."""
    p95: float | None
    """95th percentile."""


class ImageFormat(Data):
    """Images of a format, or of all ("total")."""

    images: int
    """How many."""
    bytes: Sizes
    """As encoded."""
    pixels: Sizes
    decoded_bytes: int
    """Decoded to RGB, 8 bits a channel."""


class DecodedFormat(Data):
    """Images that were decoded wholly, each alone on one core."""

    images: int
    """How many."""
    bytes: int
    """As encoded."""
    pixels: int
    """Of all."""
    cpu_s: float
    """Seconds of CPU time for all."""
    cpu_s_squared: float
    """Sum over images of their seconds squared."""


class DecodingMachine(Data):
    """What decoding was measured on."""

    processor: str
    """Its model."""
    cores: int | None
    """How many the machine has."""
    pillow: str
    """Its version."""


class Decoding(Data):
    """What it takes to decode some of the dataset's images."""

    formats: dict[str, DecodedFormat]
    """By name."""
    skipped: int
    """Images that are too large or broken, or whose bytes are not here."""
    images_per_core_s: Ratio | None
    """Images a second of one core, formats weighted as in the dataset; error over images."""
    docs_per_batch: float | None
    """Documents of a record batch of the dataset."""
    machine: DecodingMachine


class Repeated(Data):
    """Keys of one kind that too many units have."""

    repeated: int | None = None
    """Keys that are too frequent."""
    units: int | None = None
    """Units that have such a key."""
    most: list[tuple[int, int, int]] | None = None
    """doc_id and number of the first unit, and how many there are, of the most frequent."""


class Images(Data):
    """Images that reached the dataset."""

    formats: dict[str, ImageFormat]
    """By name, and "total" of all."""
    images: int
    """How many."""
    image_bytes: int
    """As encoded, where they are known."""
    image_tokens: int
    """Tokens that stand for images."""
    text_tokens: int
    """Tokens of text."""
    bytes_bins: list[int]
    """Images by their bytes: the first bin is of 0, bin k of 2^(k-1) to under 2^k."""
    pixels_bins: list[int]
    """Images by their pixels, in the same bins."""
    ratio_bins: list[int]
    """Images by width : height, from narrow to wide, four bins a doubling from 1:16 to 16:1."""
    notes: dict[str, int]
    """How often readers and steps met what is neither failed nor removed."""
    sources_without: list[str]
    """Sources that were read and had no image."""
    repeated: dict[str, dict[str, int | Repeated]]
    """By step: how many units there are, and by kind of key those that are too frequent."""
    store: str
    """As in the recipe: "bytes" or "reference"."""
    decoding: Decoding


class EarlierRun(Data):
    """A run that this one stands against."""

    path: str
    """Of its run directory."""
    docs: int
    """Documents that it holds."""
    shards: int
    """Shards that it was read in."""


class Against(Data):
    """The earlier runs, oldest first."""

    runs: list[EarlierRun]
    """As the recipe names them, oldest first."""
    duplicates: dict[str, int]
    """Documents that repeat one of theirs, by step."""
    remarks: list[str]
    """What to know of the comparison."""


class Given(Data):
    """A figure that goes into a requirement."""

    name: str
    """Of the formula's argument."""
    value: Number
    """In `unit`."""
    unit: str
    """Such as "bytes" or "bytes/s"."""
    source: str
    """Who says so."""
    measured: bool
    """On this corpus."""
    verified: bool
    """Found in a document, or measured."""
    computed_by: str | None
    """The requirement that it is."""
    key: str | None
    """Of the plan, that sets it."""
    low: float | None
    """Of its 95 % interval."""
    high: float | None
    """Of its 95 % interval."""


class Requirement(Data):
    """What storage has to hold or deliver, as the sizing sheet has it."""

    name: str
    """What it is, unique in the sheet."""
    value: Number
    """In `unit`."""
    unit: str
    """Such as "bytes" or "bytes/s"."""
    shown: str
    """Value and unit as a person reads them."""
    formula: str
    """In the names of its inputs."""
    inputs: list[Given]
    """What goes into the formula."""
    source: str
    """Of the formula."""
    measured: bool
    """Nothing but measurements went in."""
    verified: bool
    """Every figure that went in was found in a document or measured."""
    low: float | None
    """Of its 95 % interval."""
    high: float | None
    """Of its 95 % interval."""
    rests_on: str
    """Whether what went in was measured, stated, assumed, or some of each."""


class Report(Data):
    """What became of a run's inputs, and what the dataset is like."""

    report: str
    """Version of this format."""
    name: str
    """Of the recipe."""
    identity: str
    """Digest of recipe and inputs: equal for runs that make the same."""
    inputs: Inventory
    ledger: list[LedgerRow]
    """The stages in order; what one lets out, the next takes in."""
    failed_inputs: list[UnreadInput]
    """Input files that cannot be read."""
    failed_shards: list[FailedShard]
    """Shards whose work failed: the same command tries them again."""
    damaged_shards: list[DamagedShard]
    """Shards whose file is damaged: what lies behind is missing."""
    measurement: dict[str, Measurement]
    """By source, and "total" of all."""
    mixture: Mixture | None = None
    """Only of a run that mixes."""
    length_bins: list[int]
    """Documents that reached the tokenizer by UTF-8 bytes: bin k is 2^(k-1) to under 2^k."""
    duplicates: Duplicates
    contamination: FoundItems | NoItems
    """What decontaminate found."""
    dataset: Dataset
    tokenizer: Tokenizer
    stored_bytes: dict[str, int]
    """Bytes written by folder of the run directory, scratch included."""
    steps: list[StepTime]
    """What took how long, in the order of the works."""
    machine: Machine
    notes: dict[str, int] | None = None
    """Only of a run of text: how often readers met what is neither failed nor removed."""
    images: Images | None = None
    """Only of a run with images."""
    against: Against | None = None
    """Only of a run that stands against earlier ones."""
    requirements: list[Requirement]
    """Storage to train on the dataset, of a plan that is all defaults."""
    sizing_assumptions: list[Given]
    """What nobody measured beneath them."""
    sections: dict[str, dict[str, JsonValue]] | None = None
    """By name what further steps tell; only of a run that has such steps."""
    seconds: float | None = None
    """Of the whole run, if it was made in one go."""

    @classmethod
    def of(cls, data: Mapping[str, Any], where: str) -> Self:
        """The report of a run that has finished.

        Raises:
            ConfigError: another version wrote it.
        """
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
    def failures(self) -> Failures:
        return Failures(
            failed_inputs=self.failed_inputs,
            failed_shards=self.failed_shards,
            damaged_shards=self.damaged_shards,
        )

    @property
    def found_items(self) -> FoundItems | None:
        return self.contamination if isinstance(self.contamination, FoundItems) else None

    def documents_that_left(self) -> list[tuple[str, str, str, int]]:
        """(stage, outcome, reason, documents), in order of the stages."""
        return [(row.stage, *left) for row in self.ledger for left in _left(row)]

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


def schema() -> dict[str, Any]:
    """The JSON schema of report.json."""
    return Report.model_json_schema()


if __name__ == "__main__":
    write_json(SCHEMA, schema())
