"""What is known of a corpus: documents, tokens, bytes of each stage, bytes per token.

It is read from a run's report.json, where all was counted, or from an estimate.json, where it
was estimated from a sample before the run and has intervals.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, Field, PrivateAttr, ValidationError, model_validator

from tokenmill.sizing.errors import PlanError, explain
from tokenmill.sizing.figure import AnyFigure, Figure, from_error
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.roots import held
from tokenmill.sizing.strict import Strict, parse_json
from tokenmill.sizing.units import format_bytes, format_quantity, times

DATASET = "dataset"  # the stage that training reads
MOST_CARRIED = 2.0  # times what was measured, that a law of growth tells of
MOST_BYTES = 256 * 10**6  # of a report; a larger file is the corpus itself, or something else
INPUTS = "inputs"  # the files a run started from
TOKEN_WIDTH_BYTES = {"uint16": 2, "int32": 4, "uint32": 4}
LEFT_OUT = {  # of an estimate, besides steps: what it does not tell, and what that does to capacity
    "mix": "the mixture: documents count once, without what weights and epochs leave out or repeat,"
    " and without its folder",
    "output.text": "kept text: folder text, and what token shards have of it, of {per_token} of"
    " text a token before compression",
    "run.keep_index": "the index for later runs: 140 bytes a document, and some of its text",
}
ACCEPTED = "a corpus is a finished run directory, its report.json, or an estimate.json"
_RATIOS = ("text_bytes_per_token", "stored_bytes_per_token")
# what a unique fraction rests on: all documents read, a model of growth, or bounds alone
UniqueBy: TypeAlias = Literal["scan", "model", "bounds"]
_Read = TypeVar("_Read", bound=BaseModel)


class CorpusImages(Strict):
    """Facts of the images of documents that reach the tokenizer; a document is a sample.

    images_per_sample: mean over documents, those without any included.
    image_bytes: of one, as encoded; None where nobody knows.  pixels_per_image: likewise.
    tokens_per_image: that stand for one.  text_tokens, text_bytes: of one document.
    in_dataset: whether the dataset holds the images' bytes, rather than where they stand.
    samples_per_batch: documents of a record batch of the dataset.
    images_per_core_s: that a core decodes wholly each second; None where it was not measured.
    decoded_on: the processor and the library that it was measured with.
    """

    images: AnyFigure
    images_per_sample: AnyFigure
    tokens_per_image: AnyFigure
    text_tokens: AnyFigure
    text_bytes: AnyFigure
    image_bytes: AnyFigure | None = None
    pixels_per_image: AnyFigure | None = None
    in_dataset: bool = True
    samples_per_batch: AnyFigure | None = None
    images_per_core_s: AnyFigure | None = None
    decoded_on: str | None = None

    def figures(self) -> list[Figure]:
        own = [getattr(self, key) for key in type(self).model_fields]
        return [f for f in own if isinstance(f, Figure)]


def images_of_report(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """A run's images as data of `CorpusImages`, None if none; KeyError, TypeError: no report."""
    measured = report["measurement"]["total"].get("images")
    if measured is None or not measured["images"]:
        return None
    told = report["images"]
    decoding, on = told["decoding"], told["decoding"]["machine"]
    ratios = {
        "images_per_sample": measured["images_per_doc"],
        "tokens_per_image": measured["tokens_per_image"],
        "text_tokens": measured["text_tokens_per_doc"],
        "text_bytes": measured["text_bytes_per_doc"],
        "image_bytes": measured["bytes_per_image"],
        "pixels_per_image": measured["pixels_per_image"],
        "images_per_core_s": decoding["images_per_core_s"],
    }
    return {
        "images": measured["images"],
        **{
            key: from_error(ratio["value"], ratio["se"])
            for key, ratio in ratios.items()
            if ratio is not None and ratio["value"] is not None
        },
        "in_dataset": told["store"] == "bytes",
        "samples_per_batch": decoding["docs_per_batch"],
        "decoded_on": f"{on['processor']}, Pillow {on['pillow']}",
    }


class FormatEstimate(Strict):
    """Images of one format that reach the dataset. bytes, pixels: of all whose are known."""

    images: AnyFigure
    bytes: AnyFigure
    pixels: AnyFigure


class ImageEstimate(Strict):
    """Images of a run: those of the inputs, and those that reach the dataset.

    images_in, image_bytes_in: of the inputs, those that cannot be read included.
    images, image_bytes, image_tokens: of the dataset.  formats: the same by format.
    kept_frac: of images, by step: those that every document went through, and repeated_images.
    unique_frac: of images that duplicates are looked for among, by "url" and "md5": were each kept
        once. Of images without the one nothing is told.
    repeated_frac: of the same images, those that the corpus has more than `more_than` times.
    """

    images_in: AnyFigure
    image_bytes_in: AnyFigure
    images: AnyFigure
    image_bytes: AnyFigure
    image_tokens: AnyFigure
    formats: dict[str, FormatEstimate] = Field(default_factory=dict)
    kept_frac: dict[str, AnyFigure] = Field(default_factory=dict)
    unique_frac: dict[str, AnyFigure] = Field(default_factory=dict)
    repeated_frac: dict[str, AnyFigure] = Field(default_factory=dict)
    more_than: Annotated[int, Field(ge=1)]


class CorpusMeasurement(Strict):
    """Facts of the documents that reach the tokenizer, and of what each stage takes to store.

    name: what it was measured on, for the reader of a sheet.
    docs: None where nobody counted.  text_bytes: UTF-8.
    stored_bytes: by stage, in the order of the run; "dataset" is what training reads.
    files: written by stage, where known.
    stored_bytes_per_token: of the dataset, format overhead included.
    token_width_bytes: of one token id as stored.
    measured: counted on files or estimated from a sample, rather than stated or assumed.
    sample: what it was estimated from, in words; None where everything was counted.
    growth_exponent: of unique documents with those that come in (Heaps), where it was measured.
    not_predicted, unique_by: as of the `Estimate` that it was read from.
    images: None of a corpus of text alone; of another text_bytes_per_token is that of tokens
        which stand for text, and may be 0.
    """

    name: str
    docs: AnyFigure | None
    tokens: AnyFigure
    text_bytes: AnyFigure
    stored_bytes: dict[str, AnyFigure]
    text_bytes_per_token: AnyFigure
    stored_bytes_per_token: AnyFigure
    token_width_bytes: Literal[2, 4]
    measured: bool
    files: dict[str, AnyFigure] = Field(default_factory=dict)
    sample: str | None = None
    growth_exponent: AnyFigure | None = None
    images: CorpusImages | None = None
    not_predicted: list[str] = Field(default_factory=list)
    unique_by: UniqueBy | None = None

    _carried: float | None = PrivateAttr(default=None)
    _is_exact: bool = PrivateAttr(default=False)

    @model_validator(mode="after")
    def _can_be_sized(self) -> "CorpusMeasurement":
        if not self.tokens.value > 0:
            raise ValueError(f"{self.name!r} has no tokens; nothing to size")
        for key in ("tokens", "docs", "text_bytes_per_token", "stored_bytes_per_token"):
            figure = getattr(self, key)
            if key == "text_bytes_per_token" and self.images is not None:
                continue
            if figure is not None and not figure.least > 0:
                raise ValueError(f"{self.name!r}: {key} must be over 0, with its low and its draws")
        if DATASET not in self.stored_bytes:
            raise ValueError(f"{self.name!r}: stored_bytes has no stage {DATASET!r}")
        drawn = {len(f.draws) for f in self._figures() if f.draws}
        if len(drawn) > 1:
            raise ValueError(
                f"{self.name!r}: figures have {sorted(drawn)} draws; joint ones are as many of each"
            )
        return self

    def carried_on(self, tokens: float) -> "CorpusMeasurement":
        """For a corpus of so many tokens: told as extrapolated far beyond what was measured."""
        ratio = tokens / self.tokens.value
        made = self.model_copy()
        made._carried = ratio if ratio > MOST_CARRIED else None
        return made

    def without_intervals(self) -> "CorpusMeasurement":
        """Of which a sheet has the same values, sooner: no draw is carried."""
        made = self.model_copy()
        made._is_exact = True
        return made

    def left_out(self) -> Iterator[str]:
        """What an estimate leaves out or does not know, each in a sentence."""
        if self.unique_by == "bounds":
            yield (
                f"{self.name}: how many documents are unique is not known, as a part of the inputs"
                " was read: what the estimate tells of tokens, and all that follows from it, lies"
                " anywhere in its interval, which is no 95 % interval; `measure` says how much to"
                " read"
            )
        per_token = format_quantity(self.text_bytes_per_token.value, "bytes/token").split("/")[0]
        for name in self.not_predicted:
            if name in LEFT_OUT:
                told = LEFT_OUT[name].format(per_token=per_token)
                yield f"{self.name}: the estimate, and all capacity here, leaves out {told}"
                continue
            value = self.tokens.value
            least = value if self.tokens.bounds is None else self.tokens.bounds[0]
            if least >= value:
                yield f"{self.name}: the folders of {name} are left out"
                continue
            yield (
                f"{self.name}: {name} is not predicted, and its folders are left out: documents are"
                f" taken to leave it as they came; of {format_quantity(value, 'tokens')} it may"
                f" leave as few as {format_quantity(least, 'tokens')}, so that how much more inputs"
                " and scratch the tokens of this sheet take is not known, and no interval spans it"
            )

    @property
    def image_tokens_unknown(self) -> bool:
        """Whether a placeholder stands for each image, and nobody said what a model sees of it."""
        return self.images is not None and self.images.tokens_per_image.value <= 1

    def with_image_tokens(self, tokens: float) -> "CorpusMeasurement":
        """The same corpus, were each image so many tokens; more ids are more bytes."""
        if self.images is None:
            return self
        added = self.images.images.value * (tokens - self.images.tokens_per_image.value)
        made, stored = self.tokens.value + added, self.stored_bytes[DATASET].value
        grown = stored + added * self.token_width_bytes
        images = self.images.model_copy(update={"tokens_per_image": Figure(value=tokens)})
        changes = {
            "images": images,
            "tokens": Figure(value=made),
            "stored_bytes_per_token": Figure(value=grown / made),
            "stored_bytes": {**self.stored_bytes, DATASET: Figure(value=grown)},
        }
        return self.model_copy(update=changes)

    @property
    def carried(self) -> float | None:
        """How many times what was measured it stands for, where that is too many to tell."""
        return self._carried

    @property
    def source(self) -> str:
        """How an input taken from here says where it comes from."""
        if self.carried is not None:
            return (
                f"carried on to {times(self.carried)} times what was measured: corpus {self.name}"
            )
        if self.sample is not None:
            return f"estimated: corpus {self.name}, from {self.sample}"
        return f"{'measured' if self.measured else 'assumed'}: corpus {self.name}"

    def input(self, name: str, key: str, unit: str, *, stage: str | None = None) -> Input:
        """One figure as argument `name`; key: a field, or "stored_bytes", "files" of a `stage`."""
        figure: Figure = getattr(self, key) if stage is None else getattr(self, key)[stage]
        own = f"{key} {stage}" if stage is not None else key
        return self._input(name, figure, unit, own)

    def image_input(self, name: str, unit: str, *, key: str | None = None) -> Input | None:
        """A figure of the images as argument `name`, or None; key: in `CorpusImages`, if other."""
        figure = getattr(self.images, key or name, None)
        return None if figure is None else self._input(name, figure, unit, f"images {key or name}")

    def exact(self, name: str, value: float, unit: str) -> Input:
        """A value of this corpus without an interval, as the argument `name`."""
        is_measured = self.measured and self.carried is None
        return Input(name=name, value=value, unit=unit, measured=is_measured, source=self.source)

    def _input(self, name: str, figure: Figure, unit: str, own: str) -> Input:
        exact = self.exact(name, figure.value, unit)
        if self._is_exact:
            return exact
        spread = figure.spread(f"{self.name}: {own}", f"{self.name}: its sample")
        return replace(exact, spread=spread)

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back; an exact figure is a number."""
        rare = ("images", "growth_exponent", "not_predicted", "unique_by")
        return self.model_dump(exclude={key for key in rare if not getattr(self, key)})

    @staticmethod
    def from_json(data: Mapping[str, Any], *, where: str) -> "CorpusMeasurement":
        """Undo `to_json`; PlanError, naming `where`: a key or value that cannot be."""
        return _validated(CorpusMeasurement, data, where, "corpus")

    def _figures(self) -> list[Figure]:
        own = [getattr(self, key) for key in type(self).model_fields]
        listed = [*self.stored_bytes.values(), *self.files.values()]
        listed += [] if self.images is None else self.images.figures()
        return [f for f in (*own, *listed) if isinstance(f, Figure)]


class UniqueGrowth(Strict):
    """How unique documents grew with those read: unique = scale * docs ** exponent (Heaps).

    docs, unique: of nested random subsets of what was read, means over all orders; documents that
    duplicates are looked for among.
    grown_docs, grown_unique: of the corpus that was asked for; a model's figure.
    """

    scale: float
    exponent: AnyFigure
    docs: tuple[float, ...] = Field(strict=False)
    unique: tuple[float, ...] = Field(strict=False)
    grown_docs: AnyFigure | None = None
    grown_unique: AnyFigure | None = None


class Estimate(Strict):
    """estimate.json: what a run of a recipe will give, estimated from a sample before it is made.

    Every figure is a number, or {value, low, high} with a 95 % interval, or with `draws`.

    estimate: version of this schema.  recipe: digest of the recipe it was made for.
    versions: of the steps of that recipe, and of libraries, that tell some.
    corpus: what `size --corpus` reads, of the run's end, tokens scaled to all inputs: documents,
        tokens, bytes of a token, bytes and files of each stage, those that are deleted at the end
        too.
    docs_in, text_bytes_in: of all inputs.  kept_frac: of documents, by filter or step.
    unique_frac: of documents that filters leave, near duplicates counted once.
    unique_by: what it rests on: "scan" of all inputs, "model" where a part of the inputs was read
        and growth was carried on to all of them, "bounds" where it lies anywhere between low and
        high.
    growth: of unique documents against those read; where there are parts enough for a curve.
    images: of a recipe that has them: in and out, bytes, tokens, by format; how many are unique,
        and too frequent.
    disk_bytes: of the run directory once a folder is full, all before it included: scratch is
        deleted at the end only, so the last is the peak. Inputs are not counted.
    clustering_memory_bytes: peak RAM.
    not_predicted: steps of which nothing is told: documents are taken to leave them as they came,
        so that `bounds` of figures behind them reach down to what they surely leave unchanged,
        which may be next to nothing; their folders are left out.
        "mix" is a mixture, or an order by chance: figures are of each document once. "output.text"
        is kept text: its folder is left out, and what 90-tokens has of it. "run.keep_index" is the
        index that later runs stand against: its folder is left out.
    cores, cpu_hours, wall_hours: of the run, each core as those of this machine; no hours of less
        than a minute of CPU, which are not known.
    """

    estimate: Literal["1"]
    recipe: str
    versions: dict[str, str] = Field(default_factory=dict)
    corpus: CorpusMeasurement
    docs_in: AnyFigure | None = None
    text_bytes_in: AnyFigure | None = None
    kept_frac: dict[str, AnyFigure] = Field(default_factory=dict)
    unique_frac: AnyFigure | None = None
    unique_by: UniqueBy | None = None
    growth: UniqueGrowth | None = None
    images: ImageEstimate | None = None
    disk_bytes: dict[str, AnyFigure] = Field(default_factory=dict)
    clustering_memory_bytes: AnyFigure | None = None
    cores: Annotated[int, Field(ge=1)] | None = None
    cpu_hours: AnyFigure | None = None
    wall_hours: AnyFigure | None = None
    not_predicted: list[str] = Field(default_factory=list)


def load_corpus(path: Path) -> CorpusMeasurement:
    """The measurement in a run directory, report.json, estimate.json; PlanError: there is none."""
    file = path / "report.json" if path.is_dir() else path
    try:
        with held(file) as name, open(name, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            if size > MOST_BYTES:
                raise PlanError(f"{file}: {format_bytes(size)} is no measurement; {ACCEPTED}")
            data = parse_json(f.read())
    except OSError as e:
        is_of_run = path.is_dir() and (path.parent / file.name).is_file()
        way = f"name the run itself, {path.parent}" if is_of_run else ACCEPTED
        raise PlanError(f"{file}: cannot read the corpus ({e.strerror}); {way}") from e
    except ValueError as e:  # not UTF-8, or not JSON
        raise PlanError(f"{file}: not JSON ({e}); {ACCEPTED}") from e
    return read_corpus(data, where=str(file))


def read_corpus(data: Any, *, where: str) -> CorpusMeasurement:
    """The measurement in a report, an estimate, or data of its own; PlanError names `where`."""
    if not isinstance(data, Mapping):
        raise PlanError(f"{where}: not a report: expected a JSON object")
    if "estimate" in data:
        estimate = _validated(Estimate, data, where, "estimate")
        growth = None if estimate.growth is None else estimate.growth.exponent
        told = {"growth_exponent": growth, "not_predicted": estimate.not_predicted}
        return estimate.corpus.model_copy(update=told | {"unique_by": estimate.unique_by})
    if not {"measurement", "stored_bytes"} & data.keys():
        raise PlanError(f"{where}: holds no measurement; {ACCEPTED}")
    measurement = data.get("measurement", data)
    if not isinstance(measurement, Mapping):
        raise PlanError(f"{where}: 'measurement' is not a JSON object")
    if "total" in measurement:
        return _of_report(data, where)
    return CorpusMeasurement.from_json(measurement, where=where)


def _of_report(report: Mapping[str, Any], where: str) -> CorpusMeasurement:
    """The measurement of a run, put together from the parts of its report."""
    try:
        # where documents were mixed, what they are with their copies: that is what is trained on
        total = report["measurement"]["total"] | report.get("mixture", {}).get("total", {})
        # without tokens there is no ratio either, which is no mistake of the report
        if not (total["tokens"] and total["stored_bytes_per_token"]):
            raise PlanError(f"{where}: the run produced no tokens; nothing to size")
        data = {
            "name": report["name"],
            **{key: total[key] for key in ("docs", "tokens", "text_bytes")},
            **{key: from_error(total[key] or 0.0, total[f"{key}_se"]) for key in _RATIOS},
            "stored_bytes": {INPUTS: report["inputs"]["bytes"], **report["stored_bytes"]},
            "token_width_bytes": TOKEN_WIDTH_BYTES[report["dataset"]["dtype"]],
            "measured": True,
            "images": images_of_report(report),
        }
    except KeyError as e:
        raise PlanError(f"{where}: not the report of a run: no {e.args[0]!r}") from e
    except TypeError as e:
        raise PlanError(f"{where}: not the report of a run: {e}") from e
    return CorpusMeasurement.from_json(data, where=where)


def _validated(model: type[_Read], data: Any, where: str, what: str) -> _Read:
    try:
        return model.model_validate(data)
    except ValidationError as e:
        raise PlanError(f"{where}: {what}: {explain(e, model)}") from e
