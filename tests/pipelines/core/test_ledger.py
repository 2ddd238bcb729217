import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.core.errors import LedgerError
from tokenmill.pipelines.core.ledger import StageStats, check_chain

counts = st.integers(0, 10**6)
reasons = st.dictionaries(st.sampled_from(["short", "long", "dup"]), counts)


@st.composite
def balanced(draw):
    removed, failed, out = draw(reasons), draw(reasons), draw(counts)
    sizes = [draw(counts) for _ in range(3)]
    return StageStats(
        docs_in=out + sum(removed.values()) + sum(failed.values()),
        docs_out=out,
        removed=removed,
        failed=failed,
        bytes_in=sum(sizes),
        bytes_out=sizes[0],
        bytes_removed=sizes[1],
        bytes_edited=sizes[2],
    )


@given(balanced(), balanced(), balanced())
def test_stats_add_up_in_any_grouping_and_stay_balanced(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert (a + b).check("sum") == a + b


@given(balanced(), st.sampled_from(["docs_out", "docs_in", "bytes_out", "bytes_in"]))
def test_one_document_or_byte_too_many_is_caught(stats, name):
    broken = StageStats.from_json({**stats.to_json(), name: getattr(stats, name) + 1})
    with pytest.raises(LedgerError, match="shard 3, c4"):
        broken.check("shard 3, c4")


@given(balanced())
def test_json_round_trip(stats):
    assert StageStats.from_json(stats.to_json()) == stats


def test_a_gap_between_two_stages_names_both():
    first = StageStats(docs_in=5, docs_out=5, bytes_in=50, bytes_out=50)
    second = StageStats(docs_in=4, docs_out=4, bytes_in=40, bytes_out=40)
    with pytest.raises(LedgerError) as e:
        check_chain([("read", first), ("c4", second)], "shard 00001")
    assert str(e.value) == ("shard 00001: read let out 5 documents of 50 bytes, c4 took in 4 of 40")
