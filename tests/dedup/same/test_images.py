from itertools import pairwise

import imagehash
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.reference import images as reference
from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.kernels.images import alike
from tokenmill.dedup.same.images import (
    LOOK_BYTES,
    MOST_DISTANCE,
    bands,
    has_structure,
    hash_of,
    look_of,
    pictures,
    same_pictures,
    stars,
)

BITS = st.integers(0, 63)


def looks_of(rng, n):
    """Few kinds of looks, and others that differ from them by some of any of their parts."""
    base = rng.integers(0, 256, (3, LOOK_BYTES))
    base[0, 256:384], base[1, 384:] = 128, 255  # grey; opaque
    looks = base[rng.integers(0, 3, n)].astype(np.float64)
    for look in looks:
        how = rng.integers(0, 6)
        if how == 1:
            look[:256] = look[:256] * rng.uniform(0.5, 2)
        elif how == 2:
            look[256:384] += rng.normal(0, 14, 128)
        elif how == 3:
            look[384:] -= rng.uniform(0, 60)
        elif how == 4:
            look[:256] += rng.normal(0, 20, 256)
        elif how == 5:
            look[256:384] = 128
    return np.clip(looks.round(), 0, 255).astype(np.uint8)


@st.composite
def corpora(draw):
    """Hashes of some families that differ in some bits, of one or three views, and looks."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_views = draw(st.integers(0, 30)), draw(st.sampled_from([1, 3]))
    hashes = rng.integers(0, 2**64, 3, np.uint64)[rng.integers(0, 3, (n, n_views))]
    for _ in range(draw(st.integers(0, 6))):
        bits = np.uint64(1) << rng.integers(0, 64, (n, n_views)).astype(np.uint64)
        hashes = np.where(rng.random((n, n_views)) < 0.5, hashes ^ bits, hashes)
    kinds = rng.integers(1, 3, n).astype(np.uint8) if draw(st.booleans()) else np.ones(n, np.uint8)
    looks = looks_of(rng, n * n_views).reshape(n, n_views, LOOK_BYTES)
    return hashes.astype(np.uint64), looks, kinds


@given(corpora(), st.integers(0, MOST_DISTANCE))
def test_who_leaves_for_whom_is_that_of_all_pairs_in_order(corpus, distance):
    hashes, looks, kinds = corpus
    found = stars(hashes, looks, kinds, distance)
    expected = reference.stars(hashes.tolist(), looks.tolist(), kinds.tolist(), distance)
    got = [
        None if of == i else (of, bits)
        for i, (of, bits) in enumerate(zip(found.of.tolist(), found.bits.tolist(), strict=True))
    ]
    assert got == expected
    assert found.given_up == 0


@given(st.integers(0, 2**32 - 1))
def test_looks_are_alike_as_told_cell_by_cell(seed):
    looks = read_only(looks_of(np.random.default_rng(seed), 8))  # as kernels have them
    for one in looks:
        assert [alike(one, other) for other in looks] == [
            reference.alike(one, other) for other in looks
        ]


@given(corpora(), st.integers(0, MOST_DISTANCE), st.data())
def test_sets_of_pictures_are_the_same_as_told_picture_by_picture(corpus, distance, data):
    hashes, looks, kinds = corpus
    n = len(kinds)
    who = np.array([[0, w] for w in data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))])
    who = who.reshape(n, 2).astype(np.uint64)
    kinds = np.where(who[:, 1] == 3, np.uint8(0), kinds)
    counts = data.draw(st.lists(st.integers(0, 3), max_size=12))
    starts = np.minimum(np.concatenate(([0], np.cumsum(counts))), n).astype(np.int64)
    left, right = (x.ravel() for x in np.mgrid[: len(counts), : len(counts)])
    rows = pictures(who, kinds, hashes[:, 0], looks[:, 0])
    found = same_pictures(rows, starts, left, right, distance)
    whole = list(zip(who.tolist(), kinds.tolist(), hashes[:, 0].tolist(), looks[:, 0], strict=True))
    of = [whole[a:b] for a, b in pairwise(starts)]
    expected = [
        reference.same_pictures(of[x], of[y], distance) for x, y in zip(left, right, strict=True)
    ]
    assert found.tolist() == expected


def test_an_image_names_one_that_stays_not_a_chain_of_which_each_is_like_the_next():
    hashes = np.array([[0], [0b11], [0b1111], [0b111111]], np.uint64)
    looks = np.repeat(looks_of(np.random.default_rng(0), 1)[None], 4, axis=0)
    found = stars(hashes, looks, np.ones(4, np.uint8), 2)
    assert found.of.tolist() == [0, 0, 2, 2]


def test_one_that_comes_to_too_many_looks_stays_and_is_counted():
    rng = np.random.default_rng(3)
    looks = rng.integers(0, 256, (50, 1, LOOK_BYTES)).astype(np.uint8)
    looks[-1] = looks[0]
    hashes, kinds = np.zeros((50, 1), np.uint64), np.ones(50, np.uint8)
    assert stars(hashes, looks, kinds, 4).of[-1] == 0
    found = stars(hashes, looks, kinds, 4, most_compared=10)
    assert found.of.tolist() == list(range(50))
    assert found.given_up == 39


def test_without_margin_the_bits_are_those_of_phash():
    rng = np.random.default_rng(1)
    for _ in range(50):
        cells = rng.integers(0, 256, (32, 32)).astype(np.uint8)
        expected = int(str(imagehash.phash(Image.fromarray(cells))), 16)
        assert hash_of(cells.astype(np.float64), margin=0) == expected


def test_bits_of_a_drawing_are_not_its_encoders():
    half = np.zeros((32, 32))
    half[:, 16:] = 200  # of which most coefficients are nought
    rng = np.random.default_rng(2)
    for _ in range(50):
        noisy = half + rng.normal(0, 1, (32, 32))
        assert hash_of(noisy) == hash_of(half)
    assert has_structure(half)
    assert not has_structure(half / 200)


def test_a_look_has_brightness_colours_and_outline_in_that_order():
    side = np.arange(32)
    brightness = np.repeat(side[:, None], 32, axis=1) * 8.0
    colours = np.stack([np.full((32, 32), 100.0), np.full((32, 32), 150.0)], axis=-1)
    alpha = np.repeat((side < 16)[None] * 255.0, 32, axis=0)
    bright, blue, red, opaque = reference.parts(look_of(brightness, colours, alpha))
    assert bright[:, 0].tolist() == [4 + 16 * row for row in range(16)]
    assert (blue == 100).all()
    assert (red == 150).all()
    assert opaque[0].tolist() == [255] * 4 + [0] * 4


@given(st.integers(0, MOST_DISTANCE))
def test_bands_have_every_bit_once(distance):
    cut = bands(distance)
    bits = sorted(band.shift + k for band in cut for k in range(band.width))
    assert bits == list(range(64))
    assert len(cut) == distance + 1
    assert max(b.width for b in cut) - min(b.width for b in cut) <= 1


@pytest.mark.parametrize("distance", [-1, MOST_DISTANCE + 1])
def test_a_distance_that_is_none_is_refused(distance):
    none = np.zeros((0, 1), np.uint64), np.zeros((0, 1, LOOK_BYTES), np.uint8)
    with pytest.raises(ValueError, match=f"distance must be 0 to 15 bits, got {distance}"):
        stars(*none, np.zeros(0, np.uint8), distance)
