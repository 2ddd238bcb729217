import math
import random
import statistics

from hypothesis import given
from hypothesis import strategies as st

from pipelines.measure import measure, ratio_and_error


def shard(source="web", docs=1, tokens=10, text_bytes=40, token_file_bytes=24):
    return {
        "source": source,
        "docs": docs,
        "chars": text_bytes,
        "tokens": tokens,
        "text_bytes": text_bytes,
        "token_file_bytes": token_file_bytes,
    }


def test_the_total_is_the_sum_of_the_sources():
    made = measure([shard("a"), shard("b", tokens=30), shard("b", text_bytes=60)], 100)
    assert made["total"].tokens == made["a"].tokens + made["b"].tokens == 50
    assert made["total"].text_bytes == made["a"].text_bytes + made["b"].text_bytes == 140
    assert math.isclose(made["total"].stored_bytes, 100)
    assert math.isclose(made["a"].stored_bytes + made["b"].stored_bytes, 100)
    assert made["total"].text_bytes_per_token == 140 / 50


def test_no_documents_give_no_ratio_rather_than_zero():
    made = measure([shard(docs=0, tokens=0, text_bytes=0)], 0)
    assert made["total"].text_bytes_per_token is None
    assert made["total"].stored_bytes_per_token_se is None


def test_one_shard_gives_no_error():
    assert ratio_and_error([4.0], [1.0]) == (4.0, None)


@given(st.lists(st.integers(1, 100), min_size=2, max_size=20), st.floats(0.5, 8.0))
def test_shards_of_one_ratio_have_no_error(tokens, ratio):
    _, se = ratio_and_error([t * ratio for t in tokens], tokens)
    assert se is not None
    assert se < 1e-9 * ratio


def test_the_standard_error_is_that_of_repeated_sampling():
    """1,000 corpora of 40 shards: the mean stated error is the spread actually seen."""
    rng = random.Random(1)
    ratios, errors = [], []
    for _ in range(1000):
        tokens = [rng.randint(500, 1500) for _ in range(40)]
        text = [t * rng.gauss(4.0, 0.4) for t in tokens]
        ratio, se = ratio_and_error(text, tokens)
        ratios.append(ratio)
        errors.append(se)
    assert math.isclose(statistics.mean(errors), statistics.stdev(ratios), rel_tol=0.1)
