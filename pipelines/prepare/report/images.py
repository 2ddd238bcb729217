"""What a report says of images: where they went, and what those that are left are like.

What a report says of the images that reached the dataset, by format; and of those repeated.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt
from typing import Any, TypeAlias

import numpy as np

from tokenmill.pipelines.core.schema import shard_and_row
from tokenmill.pipelines.filters.images.image_measure import PER_DOUBLING, RATIOS, doublings
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.report import with_error
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar
from tokenmill.sizing.document.page import figure
from tokenmill.sizing.document.section import NONE, Table, count, table
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.spread import Z_95
from tokenmill.sizing.units import format_bytes

PERCENTILES = (5, 50, 95)
DECODED_BYTES_PER_PIXEL = 3  # RGB, 8 bits, as trainers decode to
TOTAL = "total"
MOST_REPEATED = 10


def image_summary(last_pass: Iterable[Receipt], receipts: Iterable[Receipt]) -> dict[str, Any]:
    """Images by format and in total, tokens, what the corpus repeats, and what else was met.

    Of each format: how many; bytes and pixels, their means with 95 % intervals over images, and
    percentiles, which are told within 4.5 %.
    """
    shards = [r.facts["measured"] for r in last_pass]
    counts = [m["images"] for m in shards]
    names = sorted({name for c in counts for name in c["formats"]})
    formats = {
        name: _of_format([c["formats"][name] for c in counts if name in c["formats"]])
        for name in names
    }
    everything = [f for c in counts for f in c["formats"].values()]
    total = _of_format(everything) if everything else None
    image_tokens = sum(n for c in counts for n in c["image_tokens"].values())
    tokens = sum(n for m in shards for n in m["tokens"].values())
    made = list(receipts)
    return {
        "formats": {**formats, **({TOTAL: total} if total else {})},
        "images": sum(n for c in counts for n in c["images"].values()),
        "image_bytes": sum(n for c in counts for n in c["image_bytes"].values()),
        "image_tokens": image_tokens,
        "text_tokens": tokens - image_tokens,
        "bytes_bins": _doublings([f["bytes_bins"] for f in everything]),
        "pixels_bins": _doublings([f["pixels_bins"] for f in everything]),
        "ratio_bins": _summed([c["ratio_bins"] for c in counts]),
        "notes": notes_of(made),
        "sources_without": _sources_without(made),
    }


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


def _of_format(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {"images": sum(f["count"] for f in found)}
    for what, n_of in (("bytes", "with_bytes"), ("pixels", "with_size")):
        n = sum(f[n_of] for f in found)
        whole = sum(f[what] for f in found)
        squared = sum(f[f"{what}_squared"] for f in found)
        bins = _summed([f[f"{what}_bins"] for f in found])
        mean = whole / n if n else None
        made[what] = {
            "known": n,
            "total": whole,
            "mean": mean,
            "mean_half_width": _half_width(n, whole, squared),
            **{f"p{p}": percentile(bins, p / 100) if n else None for p in PERCENTILES},
        }
    made["decoded_bytes"] = made["pixels"]["total"] * DECODED_BYTES_PER_PIXEL
    return made


def _half_width(n: int, total: float, squared: float) -> float | None:
    """Of the 95 % interval of a mean over images drawn alike; None for fewer than two."""
    if n < 2:
        return None
    variance = max(squared - total**2 / n, 0.0) / (n - 1)
    return Z_95 * sqrt(variance / n)


def _summed(bins: Sequence[Sequence[int]]) -> list[int]:
    """Bins of parts added up; none of no parts."""
    return np.sum(bins, axis=0).tolist() if bins else []


def _sources_without(receipts: Iterable[Receipt]) -> list[str]:
    """Sources that were read and had no image, perhaps for want of a word in the recipe."""
    found: Counter[str] = Counter()
    for receipt in receipts:
        read = dict(receipt.stats).get("read")
        if read is not None and read.images is not None:
            found[receipt.facts["source"]] += read.images.images_in
    return sorted(source for source, n in found.items() if n == 0)


def _doublings(bins: Sequence[Sequence[int]]) -> list[int]:
    return doublings(_summed(bins)) if bins else []


def notes_of(receipts: Iterable[Receipt]) -> dict[str, int]:
    """How often readers and steps met what is neither failed nor removed, the most first."""
    found: Counter[str] = Counter()
    for receipt in receipts:
        found.update(receipt.facts.get("notes", {}))
    return dict(sorted(found.items(), key=lambda note: (-note[1], note[0])))


Report: TypeAlias = Mapping[str, Any]

LARGE = 1000  # from here on a ratio is told in whole numbers
WAY_TO_IMAGES = "for images name {path: …, images: COLUMN}, or {path: …, format: markdown}"
IMAGES = Axis("images", lambda n: f"{n:,.0f}")


def image_blocks(report: Report) -> list[str | Table]:
    """The account of images by stage and by reason; nothing for a run of text alone."""
    rows = list(_rows(report))
    if not rows:
        return []
    whole = {name: sum(r[name] for _, r in rows) for name in ("removed", "failed", "with")}
    first, last = rows[0][1]["in"], rows[-1][1]["out"]
    gone = sum(whole.values())
    sign = "=" if first == last + gone else "≠"
    counts = [
        (stage, *(f"{r[n]:,}" for n in ("in", "removed", "failed", "with", "out", "bytes")))
        for stage, r in rows
    ]
    columns = (
        "stage",
        ">in",
        ">removed",
        ">failed",
        ">gone with their document",
        ">out",
        ">bytes out",
    )
    reasons = [
        (stage, reason, outcome, f"{n:,}")
        for stage, outcome, reason, n in removed_images_by_reason(report)
    ]
    return [
        f"Images: {first:,} in {sign} {whole['removed']:,} removed + {whole['failed']:,} failed +"
        f" {whole['with']:,} gone with their document + {last:,} out."
        " Every one that left has a row in removed-images/*.parquet, or its document has one in"
        " removed/*.parquet.",
        *_without(report.get("images")),
        table("Images by stage", columns, counts),
        table("Images that left, by reason", ("stage", "reason", "outcome", ">images"), reasons),
        *notes_table(report.get("images")),
        *_measured(report),
        *_repeated_rows(report.get("images")),
    ]


def _without(found: Mapping[str, Any] | None) -> Iterator[str]:
    for source in (found or {}).get("sources_without", ()):
        yield f"No image was read from {source}: {WAY_TO_IMAGES}."


def _measured(report: Report) -> Iterator[str | Table]:
    """What an image adds to a document; bytes and pixels by format; what decoding them takes."""
    found = report.get("images")
    if not found or not found["images"]:
        return
    yield _in_short(found, report["measurement"][TOTAL]["images"])
    columns = ("format", ">images", ">bytes", ">mean", ">± 95 %", ">5 %", ">median", ">95 %")
    rows: dict[str, list[tuple[str, ...]]] = {"bytes": [], "pixels": []}
    for name, of in found["formats"].items():
        for what, shown in (("bytes", format_bytes), ("pixels", _pixels)):
            values = [of[what][k] for k in ("mean", "mean_half_width", "p5", "p50", "p95")]
            told = [NONE if v is None else shown(v) for v in values]
            total = shown(of[what]["total"]) if of[what]["known"] else NONE
            rows[what].append((name, f"{of[what]['known']:,}", total, *told))
    yield table("Bytes of an image, by format", columns, rows["bytes"], sums=True)
    columns = ("format", ">images", ">pixels", *columns[3:])
    yield table("Pixels of an image, by format", columns, rows["pixels"], sums=True)
    yield (
        "Percentiles are told within 4.5 %. Means have intervals over images drawn"
        f" alike. Decoded to RGB all take {format_bytes(found['formats'][TOTAL]['decoded_bytes'])}."
    )
    yield from _decoding(found["decoding"])


def _in_short(found: Mapping[str, Any], of: Mapping[str, Any]) -> str:
    """of: images as measured (`pipelines.core.measured.Illustrations`)."""
    return (
        f"A document that came out has {_ratio(of, 'images_per_doc')} images of"
        f" {_ratio(of, 'image_bytes_per_doc')} bytes in all, and with its text it takes"
        f" {_ratio(of, 'bytes_per_doc')} bytes. Of its {_ratio(of, 'tokens_per_doc')} tokens"
        f" {_ratio(of, 'text_tokens_per_doc')} are text; of all tokens"
        f" {found['image_tokens']:,} stand for images and {found['text_tokens']:,} for text:"
        f" {_ratio(of, 'bytes_per_token')} bytes of images and text a token"
        " (± one standard error over shards; one shard has none)."
    )


def _ratio(of: Mapping[str, Any], name: str) -> str:
    if not of[name]["se"] and of[name]["value"] >= LARGE:
        return f"{of[name]['value']:,.0f}"
    return with_error({"r": of[name]["value"], "r_se": of[name]["se"]}, "r")


def _decoding(found: Mapping[str, Any]) -> Iterator[str | Table]:
    """What it takes to decode the images that were tried."""
    whole, on = found["images_per_core_s"], found["machine"]
    if whole is None:
        yield "What decoding takes was not measured: no image of the dataset is at hand."
        return
    rows = [
        (
            name,
            f"{of['images']:,}",
            f"{1e3 * of['cpu_s'] / of['images']:,.2f}",
            f"{of['images'] / of['cpu_s']:,.0f}",
            f"{of['pixels'] / of['cpu_s'] / 1e6:,.1f}",
            f"{of['bytes'] / of['cpu_s'] / 1e6:,.1f}",
        )
        for name, of in found["formats"].items()
    ]
    per_s = with_error({"r": whole["value"], "r_se": whole["se"]}, "r")
    skipped = (
        f" {count(found['skipped'], 'image')} had no bytes here, or would not decode."
        if found["skipped"]
        else ""
    )
    yield (
        f"A core decodes {per_s} images a second, formats weighted as in the dataset (± one"
        f" standard error over images). Decoded wholly, without resizing, by Pillow"
        f" {on['pillow']} on {on['processor']}.{skipped}"
    )
    columns = (">images", ">CPU, ms", ">images/s", ">Mpixel/s", ">MB/s")
    yield table("Decoding, one core, by format", ("format", *columns), rows)


def notes_table(found: Mapping[str, Any] | None) -> Iterator[Table]:
    """What readers and steps met beside what they removed."""
    rows = [(name, f"{n:,}") for name, n in (found or {}).get("notes", {}).items()]
    if rows:
        yield table("Also met, by readers and steps", ("what", ">times"), rows)


def _repeated_rows(found: Mapping[str, Any] | None) -> Iterator[Table]:
    """What stands in the corpus most often, by step and key."""
    rows = [
        (step, key, f"{count:,}", _unit(doc_id, number))
        for step, facts in (found or {}).get("repeated", {}).items()
        for key, of in facts.items()
        if isinstance(of, Mapping)
        for doc_id, number, count in of.get("most", [])[:MOST_REPEATED]
    ]
    if rows:
        columns = ("step", "by", ">times", "`first of them")
        yield table("What the corpus repeats most", columns, rows)


def _unit(doc_id: int, number: int) -> str:
    """Of an image or paragraph: where its document stands, and its place in it."""
    shard, row = shard_and_row(doc_id)
    return f"shard {shard}, document {row}, number {number}"


def _pixels(n: float) -> str:
    return f"{n / 1e6:,.3g} M" if n >= 1e6 else f"{n:,.0f}"


def image_plots(report: Report) -> list[str]:
    """Images that left, by reason; how large those are that are left, and of what shape."""
    bars = [
        Bar(f"{reason} · {stage}", n, "failed" if outcome == "failed" else "main")
        for stage, outcome, reason, n in removed_images_by_reason(report)
    ]
    made = []
    if bars:
        drawn = charts.bars("image-reasons", "Images that left, by reason", IMAGES, bars)
        note = "outlined: failed" if any(bar.kind == "failed" for bar in bars) else ""
        made.append(figure("Why images left", note, drawn))
    return [*made, *_histograms(report.get("images") or {})]


def _histograms(found: Mapping[str, Any]) -> Iterator[str]:
    """Sizes and aspect ratios of images that came out."""
    drawn = {
        "Pixels of an image": ("pixels", "pixels, log scale", _pixels_edge, "empty"),
        "Bytes of an image": ("bytes", "bytes, log scale", charts.memory_edge, "empty"),
        "Aspect ratios": ("ratio", "width : height, log scale", _ratio_edge, f"under {NARROWEST}"),
    }
    for title, (name, axis, edge, first) in drawn.items():
        bins = found.get(f"{name}_bins", [])
        if any(bins):
            key = f"image-{name}"
            chart = charts.histogram(key, title, IMAGES, bins, axis, edge=edge, first=first)
            yield figure(title, "of those that came out", chart)


def _pixels_edge(k: int) -> str:
    return _pixels(2 ** (k - 1) if k else 0)


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


def _rows(report: Report) -> Iterator[tuple[str, dict[str, int]]]:
    for row in report["ledger"]:
        images = row.get("images")
        if images:
            yield (
                row["stage"],
                {
                    "in": images["images_in"],
                    "removed": sum(images["removed"].values()),
                    "failed": sum(images["failed"].values()),
                    "with": images["with_document"],
                    "out": images["images_out"],
                    "bytes": images["bytes_out"],
                },
            )


def removed_images_by_reason(report: Report) -> list[tuple[str, str, str, int]]:
    """(stage, outcome, reason, images), those of a stage by how many they are."""
    return [
        (row["stage"], outcome, reason, n)
        for row in report["ledger"]
        for outcome in ("removed", "failed")
        for reason, n in sorted(
            (row.get("images") or {}).get(outcome, {}).items(), key=lambda item: -item[1]
        )
    ]
