"""Illustrated documents made by hand, for tests that need no file."""

from typing import Any

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.schema import ILLUSTRATED, IMAGE, doc_ids


def image(number: int = 0, **facts: Any) -> dict[str, Any]:
    """An image with all its facts; a photo of 640 x 480 unless told otherwise."""
    made = {
        "number": number,
        "url": f"https://example.org/{number}.jpg",
        "path": f"shard.tar/{number}.jpg",
        "source_offset": None,
        "md5": number.to_bytes(16, "big"),
        "format": "jpeg",
        "mode": "RGB",
        "width": 640,
        "height": 480,
        "bytes": 1000 + number,
        "offset": 1000 * number,
    }
    return {**made, **facts}


def illustrated(
    documents: list[tuple[str, list[dict[str, Any]]]], **columns: Any
) -> pa.RecordBatch:
    """A batch of (text, images); columns: in place of the made ids and URLs."""
    n = len(documents)
    made = {
        "doc_id": pa.array(doc_ids(0, 0, n)),
        "id": pa.array([f"doc-{i}" for i in range(n)], pa.string()),
        "url": pa.nulls(n, pa.string()),
        "text": pa.array([text for text, _ in documents], pa.large_string()),
        "images": pa.array([images for _, images in documents], pa.large_list(IMAGE)),
        **columns,
    }
    return pa.record_batch([made[f.name] for f in ILLUSTRATED], schema=ILLUSTRATED)


def numbers(documents: pa.RecordBatch) -> list[list[int]]:
    """The images of each document, by number."""
    return [[i["number"] for i in images] for images in documents["images"].to_pylist()]


def keeping(documents: pa.RecordBatch, *kept: tuple[int, int]) -> np.ndarray:
    """(n_images,) whether an image is among `kept`, as (row, number)."""
    rows = documents["images"].to_pylist()
    return np.array([(r, i["number"]) in kept for r, images in enumerate(rows) for i in images])
