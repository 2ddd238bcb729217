"""What a report says of the images that reached the dataset, by format; and of those repeated."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from tokenmill.pipelines.images.image_measure import PER_DOUBLING, doublings
from tokenmill.pipelines.receipt import Receipt
from tokenmill.pipelines.repeats.count import merged_facts
from tokenmill.pipelines.repeats.steps import REPEATS
from tokenmill.sizing.spread import Z_95

PERCENTILES = (5, 50, 95)
DECODED_BYTES_PER_PIXEL = 3  # RGB, 8 bits, as trainers decode to
TOTAL = "total"
MOST_REPEATED = 10
REPEAT_STEPS = frozenset(step.name for step in REPEATS)


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
        "repeated": _repeated(made),
    }


def image_facts(measured: Mapping[str, Any]) -> dict[str, int]:
    """Of one shard what `pipelines.measure.measure` wants of its images."""
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


def _repeated(receipts: Iterable[Receipt]) -> dict[str, dict[str, Any]]:
    """By step what its works tell of units: how many there are, and those that are too frequent."""
    told: dict[str, list[Mapping[str, Any]]] = {}
    for receipt in receipts:
        name = receipt.step.removeprefix("keys-").rpartition("-")[0]
        if name in REPEAT_STEPS:
            told.setdefault(name, []).append(receipt.facts)
    return {name: merged_facts(facts) for name, facts in told.items()}
