"""What a report says of images: where they went, and what those that are left are like."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from tokenmill.pipelines.core.measured import TOTAL, Illustrations, Ratio, added
from tokenmill.pipelines.core.schema import shard_and_row
from tokenmill.pipelines.prepare.report import model
from tokenmill.pipelines.read.beside import NOT_THERE
from tokenmill.pipelines.read.images.facts import Decoding, decode_cost
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.report import with_error
from tokenmill.pipelines.tokens.image_measure import PER_DOUBLING, RATIOS, doublings
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar
from tokenmill.sizing.document.page import figure
from tokenmill.sizing.document.section import NONE, Table, count, table
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.figure import Z_95
from tokenmill.sizing.units import format_bytes

PERCENTILES = (5, 50, 95)
DECODED_BYTES_PER_PIXEL = 3  # RGB, 8 bits, as trainers decode to
MOST_REPEATED = 10


def image_summary(
    last_pass: Iterable[Receipt],
    receipts: Iterable[Receipt],
    *,
    store: str,
    files: Sequence[Path],
    repeated: dict[str, dict[str, int | model.Repeated]],
) -> model.Images:
    """Images by format and in total, tokens, what the corpus repeats, and what else was met.

    store: as in the recipe.  files: of the dataset, in order; some of their images are decoded.
    repeated: what steps that count tell, by step.
    """
    shards = [r.facts["measured"] for r in last_pass]
    counts = [m["images"] for m in shards]
    by_name = added([c["formats"] for c in counts], {})
    formats = {name: _of_format(by_name[name]) for name in sorted(by_name)}
    decoding = decode_cost(files, {name: of.images for name, of in formats.items()})
    everything = added([f for c in counts for f in c["formats"].values()])
    if everything:
        formats[TOTAL] = _of_format(everything)
    total = added([image_facts(m) for m in shards], Counter())
    tokens = sum(n for m in shards for n in m["tokens"].values())
    made = list(receipts)
    return model.Images(
        formats=formats,
        images=total["images"],
        image_bytes=total["image_bytes"],
        image_tokens=total["image_tokens"],
        text_tokens=tokens - total["image_tokens"],
        bytes_bins=doublings(everything["bytes_bins"]) if everything else [],
        pixels_bins=doublings(everything["pixels_bins"]) if everything else [],
        ratio_bins=added([c["ratio_bins"] for c in counts], []),
        notes=notes_of(made),
        sources_without=_sources_without(made),
        repeated=repeated,
        store=store,
        decoding=decoding,
    )


def image_facts(measured: Mapping[str, Any]) -> dict[str, int]:
    """Of one shard what `pipelines.core.measured.measure` wants of its images."""
    counts = measured["images"]
    of_split = {n: sum(counts[n].values()) for n in ("images", "image_bytes", "image_tokens")}
    of_format = {
        name: sum(f[name] for f in counts["formats"].values())
        for name in ("pixels", "with_bytes", "with_size")
    }
    return of_split | of_format


def percentile(bins: Sequence[int], share: float) -> float:
    """Of values counted by `bins_of`: in the middle of its bin, at most 4.5 % from the true one.

    >>> round(percentile([0] * 80 + [9], 0.5))  # nine of 939 to 1,023
    981
    """
    counts = np.asarray(bins, np.float64)
    ends = np.cumsum(counts)
    if not ends.size or ends[-1] == 0:
        return 0.0
    k = int(np.searchsorted(ends, share * float(ends[-1]), side="left"))
    return float(2.0 ** ((k - 0.5) / PER_DOUBLING)) if k else 0.0


def _of_format(counts: Mapping[str, Any]) -> model.ImageFormat:
    pixels = _sizes(counts, "pixels", "with_size")
    return model.ImageFormat(
        images=counts["count"],
        bytes=_sizes(counts, "bytes", "with_bytes"),
        pixels=pixels,
        decoded_bytes=pixels.total * DECODED_BYTES_PER_PIXEL,
    )


def _sizes(counts: Mapping[str, Any], what: str, known: str) -> model.Sizes:
    n, total, bins = counts[known], counts[what], counts[f"{what}_bins"]
    p5, p50, p95 = (percentile(bins, p / 100) if n else None for p in PERCENTILES)
    return model.Sizes(
        known=n,
        total=total,
        mean=total / n if n else None,
        mean_half_width=_half_width(n, total, counts[f"{what}_squared"]),
        p5=p5,
        p50=p50,
        p95=p95,
    )


def _half_width(n: int, total: float, squared: float) -> float | None:
    """Of the 95 % interval of a mean over images drawn alike; None for fewer than two."""
    if n < 2:
        return None
    variance = max(squared - total**2 / n, 0.0) / (n - 1)
    return Z_95 * sqrt(variance / n)


def _sources_without(receipts: Iterable[Receipt]) -> list[str]:
    """Sources that were read and had no image, perhaps for want of a word in the recipe."""
    n_images: Counter[str] = Counter()
    for receipt in receipts:
        read = dict(receipt.stats).get("read")
        if read is not None and read.images is not None:
            n_images[receipt.facts["source"]] += read.images.images_in
    return sorted(source for source, n in n_images.items() if n == 0)


def notes_of(receipts: Iterable[Receipt]) -> dict[str, int]:
    """How often readers and steps met what is neither failed nor removed, the most first."""
    times = added((receipt.facts.get("notes", {}) for receipt in receipts), {})
    return dict(sorted(times.items(), key=lambda note: (-note[1], note[0])))


LARGE = 1000  # from here on a ratio is told in whole numbers
WAY_TO_IMAGES = "for images name {path: …, images: COLUMN}, or {path: …, format: markdown}"
IMAGES = Axis("images", lambda n: f"{n:,.0f}")


def image_blocks(report: model.Report) -> list[str | Table]:
    """The account of images by stage and by reason; nothing for a run of text alone."""
    rows = [(row.stage, row.images) for row in report.ledger if row.images is not None]
    if not rows:
        return []
    counts = [images.counts for _, images in rows]
    first, removed, failed, gone, last = whole(counts)
    sign = "=" if first == last + removed + failed + gone else "≠"
    cells = [(stage, *(f"{n:,}" for n in (*of.counts, of.bytes_out))) for stage, of in rows]
    columns = (
        *("stage", ">in", ">removed", ">failed", ">gone with their document", ">out"),
        ">bytes out",
    )
    reasons = [(stage, why, how, f"{n:,}") for stage, how, why, n in report.images_that_left()]
    blocks: list[str | Table] = [
        f"Images: {first:,} in {sign} {removed:,} removed + {failed:,} failed +"
        f" {gone:,} gone with their document + {last:,} out."
        " Every one that left has a row in removed-images/*.parquet, or its document has one in"
        " removed/*.parquet.",
        *(f"No image was read from {s}: {WAY_TO_IMAGES}." for s in sources_without(report)),
        table("Images by stage", columns, cells),
        table("Images that left, by reason", ("stage", "reason", "outcome", ">images"), reasons),
    ]
    if report.images is None:
        return blocks
    token = report.tokenizer and report.tokenizer.image_token
    if token and token.tokens == 1:
        blocks.insert(
            1,
            "Tokens of an image are unknown: one placeholder stands for each, as images.tokens is 1"
            ". `size` tells what 64, 256, 576 or patches of 14 pixels ask for.",
        )
    measured = _measured(report.images, report.total.images)
    return [*blocks, *notes_table(report.images.notes), *measured, *_repeated_rows(report.images)]


def whole(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """What went into the first stage, what came out of the last, and the sums between."""
    first, *between, last = zip(*rows, strict=True)
    return (first[0], *map(sum, between), last[-1])


def absent_columns(report: model.Report) -> list[str]:
    """A sentence for each column that an input was to bring along, and no document had."""
    notes = (report.images.notes if report.images else report.notes) or {}
    read = report.ledger[0].docs_out
    return [
        f"No document has a column {name.removeprefix(NOT_THERE)!r} of those that inputs.columns"
        " names: it is null everywhere."
        for name, n in notes.items()
        if name.startswith(NOT_THERE) and n == read
    ]


def sources_without(report: model.Report) -> list[str]:
    """Sources of a run with images that have none."""
    return report.images.sources_without if report.images else []


def _measured(images: model.Images, ratios: Illustrations | None) -> Iterator[str | Table]:
    """What an image adds to a document; bytes and pixels by format; what decoding them takes."""
    if not images.images or ratios is None:
        return
    yield _in_short(images, ratios)
    columns = ("format", ">images", ">bytes", ">mean", ">± 95 %", ">5 %", ">median", ">95 %")
    rows = [_size_row(name, of.bytes, format_bytes) for name, of in images.formats.items()]
    yield table("Bytes of an image, by format", columns, rows, sums=True)
    columns = ("format", ">images", ">pixels", *columns[3:])
    rows = [_size_row(name, of.pixels, _pixels) for name, of in images.formats.items()]
    yield table("Pixels of an image, by format", columns, rows, sums=True)
    yield (
        "Percentiles are told within 4.5 %. Means have intervals over images drawn"
        f" alike. Decoded to RGB all take {format_bytes(images.formats[TOTAL].decoded_bytes)}."
    )
    yield from _decoding(images.decoding)


def _size_row(name: str, sizes: model.Sizes, shown: Callable[[float], str]) -> tuple[str, ...]:
    values = (sizes.mean, sizes.mean_half_width, sizes.p5, sizes.p50, sizes.p95)
    total = shown(sizes.total) if sizes.known else NONE
    return (name, f"{sizes.known:,}", total, *(NONE if v is None else shown(v) for v in values))


def _in_short(images: model.Images, of: Illustrations) -> str:
    return (
        f"A document that came out has {_ratio(of.images_per_doc)} images of"
        f" {_ratio(of.image_bytes_per_doc)} bytes in all, and with its text it takes"
        f" {_ratio(of.bytes_per_doc)} bytes. Of its {_ratio(of.tokens_per_doc)} tokens"
        f" {_ratio(of.text_tokens_per_doc)} are text; of all tokens"
        f" {images.image_tokens:,} stand for images and {images.text_tokens:,} for text:"
        f" {_ratio(of.bytes_per_token)} bytes of images and text a token"
        " (± one standard error over shards; one shard has none)."
    )


def _ratio(of: Ratio) -> str:
    if of.value is not None and not of.se and of.value >= LARGE:
        return f"{of.value:,.0f}"
    return with_error(of.value, of.se)


def _decoding(decoding: Decoding) -> Iterator[str | Table]:
    """What it takes to decode the images that were tried."""
    whole, on = decoding.images_per_core_s, decoding.machine
    if whole is None:
        yield "What decoding takes was not measured: no image of the dataset is at hand."
        return
    rows = [
        (
            name,
            f"{of.images:,}",
            f"{1e3 * of.cpu_s / of.images:,.2f}",
            f"{of.images / of.cpu_s:,.0f}",
            f"{of.pixels / of.cpu_s / 1e6:,.1f}",
            f"{of.bytes / of.cpu_s / 1e6:,.1f}",
        )
        for name, of in decoding.formats.items()
    ]
    skipped = (
        f" {count(decoding.skipped, 'image')} had no bytes here, or would not decode."
        if decoding.skipped
        else ""
    )
    yield (
        f"A core decodes {with_error(whole.value, whole.se)} images a second, formats weighted"
        " as in the dataset (± one standard error over images). Decoded wholly, without resizing,"
        f" by Pillow {on.pillow} on {on.processor}.{skipped}"
    )
    columns = (">images", ">CPU, ms", ">images/s", ">Mpixel/s", ">MB/s")
    yield table("Decoding, one core, by format", ("format", *columns), rows)


def notes_table(notes: Mapping[str, int] | None) -> Iterator[Table]:
    """What readers and steps met beside what they removed."""
    if notes:
        rows = [(name, f"{n:,}") for name, n in notes.items()]
        yield table("Also met, by readers and steps", ("what", ">times"), rows)


def _repeated_rows(images: model.Images) -> Iterator[Table]:
    """What stands in the corpus most often, by step and key."""
    rows = [
        (step, key, f"{n:,}", f"shard {shard}, document {row}, number {number}")
        for step, facts in images.repeated.items()
        for key, of in facts.items()
        if isinstance(of, model.Repeated)
        for doc_id, number, n in (of.most or [])[:MOST_REPEATED]
        for shard, row in [shard_and_row(doc_id)]
    ]
    if rows:
        columns = ("step", "by", ">times", "`first of them")
        yield table("What the corpus repeats most", columns, rows)


def _pixels(n: float) -> str:
    return f"{n / 1e6:,.3g} M" if n >= 1e6 else f"{n:,.0f}"


def image_plots(report: model.Report) -> list[str]:
    """Images that left, by reason; how large those are that are left, and of what shape."""
    rows = [
        (f"{reason} · {stage}", outcome, n)
        for stage, outcome, reason, n in report.images_that_left()
    ]
    plots = [reasons_plot("image-reasons", IMAGES, rows)] if rows else []
    return [*plots, *(_histograms(report.images) if report.images else ())]


def reasons_plot(key: str, axis: Axis, rows: Iterable[tuple[str, str, int]]) -> str:
    """Bars of what left, which the axis names.  rows: label, outcome, how many."""
    bars = [Bar(label, n, "failed" if how == "failed" else "main") for label, how, n in rows]
    drawn = charts.bars(key, f"{axis.title.capitalize()} that left, by reason", axis, bars)
    note = "outlined: failed" if any(bar.kind == "failed" for bar in bars) else ""
    return figure(f"Why {axis.title} left", note, drawn)


def _histograms(images: model.Images) -> Iterator[str]:
    """Sizes and aspect ratios of images that came out."""
    narrowest = f"under {NARROWEST}"

    def pixels_edge(k: int) -> str:
        return _pixels(2 ** (k - 1) if k else 0)

    for key, title, bins, axis, edge, first in (
        ("pixels", "Pixels of an image", images.pixels_bins, "pixels", pixels_edge, "empty"),
        ("bytes", "Bytes of an image", images.bytes_bins, "bytes", charts.memory_edge, "empty"),
        ("ratio", "Aspect ratios", images.ratio_bins, "width : height", _ratio_edge, narrowest),
    ):
        if any(bins):
            name, scale = f"image-{key}", f"{axis}, log scale"
            chart = charts.histogram(name, title, IMAGES, bins, scale, edge=edge, first=first)
            yield figure(title, "of those that came out", chart)


def _ratio_edge(k: int) -> str:
    """Where bin k of aspect ratios begins.

    >>> _ratio_edge(1), _ratio_edge(17), _ratio_edge(33)
    ('1:16', '1:1', '16:1')
    """
    if not 0 < k <= len(RATIOS):
        return "" if k == 0 else "any"
    ratio = RATIOS[k - 1]
    return f"{ratio:.3g}:1" if ratio >= 1 else f"1:{1 / ratio:.3g}"


NARROWEST = _ratio_edge(1)
