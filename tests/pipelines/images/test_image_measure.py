"""Counts of images against plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipelines.images.image_measure import BINS, UNKNOWN, ImageMeasure, bins_of
from tests.pipelines.images.batches import illustrated, image

numbers = st.one_of(st.none(), st.integers(0, 2**31 - 1), st.integers(0, 9))
images = st.lists(
    st.builds(
        lambda kind, n, w, h: image(format=kind, bytes=n, width=w, height=h),
        st.sampled_from(["jpeg", "png", None]),
        numbers,
        numbers,
        numbers,
    ),
    max_size=4,
)


def order(value):
    return min(value.bit_length(), BINS - 1)


@given(st.lists(st.lists(st.tuples(images, st.booleans()), max_size=4), max_size=3))
def test_images_are_counted_by_split_and_format(batches):
    measure = ImageMeasure(("train", "validation"))
    expected = {"train": [0, 0, 0], "validation": [0, 0, 0]}
    formats = {}
    for batch in batches:
        documents = illustrated([("text", held) for held, _ in batch])
        per_image = np.arange(sum(len(held) for held, _ in batch))
        for split in expected:
            here = np.array([side == (split == "train") for _, side in batch], np.bool_)
            measure.add(split, documents, here, per_image)
        at = 0
        for held, side in batch:
            for one in held:
                total = expected["train" if side else "validation"]
                of = formats.setdefault(one["format"] or UNKNOWN, [])
                of.append(one)
                total[0] += 1
                total[1] += one["bytes"] or 0
                total[2] += at
                at += 1
    made = measure.to_json()
    for i, name in enumerate(("images", "image_bytes", "image_tokens")):
        assert made[name] == {split: total[i] for split, total in expected.items()}
    assert list(made["formats"]) == sorted(formats)
    for name, held in formats.items():
        sizes = [i["bytes"] for i in held if i["bytes"] is not None]
        pixels = [i["width"] * i["height"] for i in held if None not in (i["width"], i["height"])]
        found = made["formats"][name]
        assert (found["count"], found["with_bytes"], found["with_size"]) == (
            len(held),
            len(sizes),
            len(pixels),
        )
        for key, values in (("bytes", sizes), ("pixels", pixels)):
            assert found[key] == sum(values)
            squared = float(sum(v * v for v in values))
            assert abs(found[f"{key}_squared"] - squared) <= 1e-9 * squared
            bins = [0] * BINS
            for value in values:
                bins[order(value)] += 1
            assert found[f"{key}_bins"] == bins


def test_orders():
    assert np.flatnonzero(bins_of(np.array([0]))).tolist() == [0]
    for k in range(1, 31):
        edges = np.array([2 ** (k - 1), 2**k - 1])
        assert bins_of(edges)[k] == 2
    assert bins_of(np.array([2**60]))[BINS - 1] == 1
