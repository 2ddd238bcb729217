"""Counts of images against plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image
from tokenmill.pipelines.tokens.image_measure import (
    BINS,
    RATIOS,
    UNKNOWN,
    ImageMeasure,
    bins_of,
    doublings,
    ratio_bins,
)

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
    """Twin without floats: of v in [2**((k - 1) / 8), 2**(k / 8)) it is k."""
    return min((value**8).bit_length(), BINS - 1)


def ratio_bin(width, height):
    """Twin without floats: in how many of the 33 edges 2**(k / 4) the ratio is at least."""
    up = [width**4 >= 2**k * height**4 for k in range(17)]
    down = [2**k * width**4 >= height**4 for k in range(1, 17)]
    return sum(up) + sum(down)


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
    shaped = [i for of in formats.values() for i in of if i["width"] and i["height"]]
    bins = [0] * 34
    for one in shaped:
        bins[ratio_bin(one["width"], one["height"])] += 1
    assert made["ratio_bins"] == bins
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


def test_powers_of_two_begin_a_bin_and_the_last_bin_has_no_end():
    assert np.flatnonzero(bins_of(np.array([0]))).tolist() == [0]
    for k in range(1, 31):
        edges = np.array([2 ** (k - 1), 2**k - 1])
        assert doublings(bins_of(edges).tolist())[k] == 2
    assert bins_of(np.array([2**60]))[BINS - 1] == 1


sides = st.one_of(st.integers(1, 2**20), st.sampled_from([2**k for k in range(21)]))


@given(st.lists(st.tuples(sides, sides), max_size=30))
def test_each_ratio_is_in_its_bin(sizes):
    width, height = np.array(sizes, np.int64).reshape(-1, 2).T
    expected = [0] * 34
    for w, h in sizes:
        expected[ratio_bin(w, h)] += 1
    assert ratio_bins(width, height).tolist() == expected


def test_ratios_begin_at_a_sixteenth_and_go_in_quarter_doublings():
    assert (RATIOS[0], RATIOS[16], RATIOS[-1]) == (1 / 16, 1, 16)
    assert np.allclose(RATIOS[4:] / RATIOS[:-4], 2)
    at = [(1, 17), (1, 16), (639, 640), (640, 640), (2, 1), (15, 1), (16, 1), (999, 1)]
    width, height = np.array(at).T
    assert np.flatnonzero(ratio_bins(width, height)).tolist() == [0, 1, 16, 17, 21, 32, 33]
    assert not ratio_bins(np.array([0, 5, -1]), np.array([5, 0, -1])).any()
