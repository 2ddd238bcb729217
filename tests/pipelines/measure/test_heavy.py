"""Keys of very many documents are found, whatever the order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import estimate as reference
from tokenmill.pipelines.measure.clusters import heavy

keys_of = st.lists(st.lists(st.integers(0, 12), max_size=60), min_size=1, max_size=5)


def counted(keys):
    unique, counts = np.unique(keys, return_counts=True)
    return dict(zip(unique.tolist(), counts.tolist(), strict=True))


def check(found, keys, room):
    """The promise of Misra and Gries."""
    true, error = counted(keys), len(keys) // (room + 1)
    kept = dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True))
    assert len(kept) <= room
    for key, n in true.items():
        assert n - error <= kept.get(key, 0) <= n
    assert {k for k, n in true.items() if n > error} <= kept.keys()


@given(keys_of, st.integers(1, 6))
def test_counters_are_no_further_off_than_promised(files, room):
    found, keys = heavy(room), []
    for more in files:
        keys += more
        found = found.add(np.array(more, np.uint64))
        check(found, keys, room)


@given(st.lists(st.integers(0, 12), max_size=80), st.integers(1, 6))
def test_a_document_at_a_time_it_is_the_reference_s(keys, room):
    found = heavy(room)
    for key in keys:
        found = found.add(np.array([key], np.uint64))
    expected = reference.misra_gries(keys, room)
    assert dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)) == expected
