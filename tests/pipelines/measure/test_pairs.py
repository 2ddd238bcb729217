import math

import numpy as np
import pytest

from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.measure.copies import Copies, Probed
from tokenmill.pipelines.measure.drawn import exact
from tokenmill.pipelines.measure.scratch import EDGE_BYTES, edge_bytes

BANDS = NearDedup().lsh().bands


def probed(alike, copies=None):
    n = len(alike)
    ones = np.ones(n, np.int64)

    def step(copies, alike):
        return Copies(copies, {}, np.array(alike), ones > 0, copies, ones)

    exactly = {} if copies is None else {"exact": step(np.array(copies), copies)}
    ids = np.arange(n).astype(np.uint64)
    return Probed(
        n, ids, ones > 0, ids, {}, {**exactly, "near": step(np.array(alike), alike)}, None
    )


def edges(drawn):
    head = edge_bytes(BANDS, probed([1]), exact(0)).value
    return tuple((end - head) / EDGE_BYTES for end in drawn.limits())


@pytest.mark.parametrize(("alike", "pairs"), [([2, 2], 1), ([5] * 5, 10), ([1, 1, 2, 2], 1)])
def test_a_pair_is_written_in_one_band_or_in_all(alike, pairs):
    low, high = edges(edge_bytes(BANDS, probed(alike), exact(len(alike))))
    assert low <= pairs * 1.001
    assert high >= pairs * BANDS


def test_equal_documents_are_compared_once():
    many = probed([40] * 40, copies=[20] * 40)
    one = probed([40] * 40)
    assert edges(edge_bytes(BANDS, many, exact(40)))[1] < 0.2 * 14 * 40 * 31
    assert edges(edge_bytes(BANDS, one, exact(40)))[1] > 14 * 40 * 31 / 2


def test_none_among_the_probes_may_be_a_few_among_all():
    low, high = edges(edge_bytes(BANDS, probed([1] * 1_000), exact(1e6)))
    assert low < 1
    few = -math.log(0.025) / 1_000  # of each: seen of none in a thousand with that chance
    assert high == pytest.approx(few * 1e6 * BANDS, rel=0.02)
