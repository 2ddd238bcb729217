"""`same_url`: normalized URLs, and the newest of equal ones, whatever the order of inputs."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.pipelines.keyed import find, found, job_of, write_shards
from tests.strategies import examples
from tokenmill.dedup.same.digest import newest_occurrence
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import CRAWLED
from tokenmill.pipelines.corpus import rows as corpus_rows
from tokenmill.pipelines.corpus.equal import DATE, SameUrl
from tokenmill.pipelines.corpus.step import document_keys, key_schema
from tokenmill.pipelines.filters.images.keys import has_key
from tokenmill.pipelines.prepare.recipe import make_recipe

NEWEST = SameUrl(keep="newest")


def pages(urls, dates):
    n = len(urls)
    columns = [
        pa.array(range(n), pa.uint64()),
        pa.array([str(i) for i in range(n)]),
        pa.array(urls, pa.string()),
        pa.array(["text"] * n, pa.large_string()),
        pa.array(dates, pa.timestamp("ms", tz="UTC")),
        pa.nulls(n, pa.string()),
    ]
    return pa.record_batch(columns, schema=CRAWLED)


def keys_of(step, urls, dates=None):
    schema = key_schema([step])
    return document_keys(pages(urls, dates or [0] * len(urls)), [step], schema, source="")


def test_normalized_urls_have_one_key_and_exact_ones_each_their_own():
    urls = ["http://A.org", "http://a.org:80/#x", "http://a.org/b", None, "", " "]
    for step, n in ((SameUrl(), 4), (SameUrl(url="normalized"), 2)):
        keys = np.array(keys_of(step, urls)["same_url"].to_pylist(), np.uint64)
        known = keys[has_key(keys)]
        assert len(np.unique(known, axis=0)) == n
        assert keys_of(step, urls).schema.names == ["doc_id", "same_url"]


def test_dates_are_set_down_in_their_order_and_none_is_older_than_all():
    dates = [None, -(2**62), -1, 0, 1, 2**62]
    keys = keys_of(NEWEST, ["u"] * 6, dates)[DATE].to_pylist()
    assert keys[0] == 0
    assert keys == sorted(set(keys))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30))
def test_the_newest_of_each_is_the_greatest_date_and_of_those_the_last(rows):
    digests = np.array([[key, key] for key, _ in rows], np.uint64).reshape(-1, 2)
    dates = np.array([date for _, date in rows], np.uint64)
    expected = [max((d, i) for i, (k, d) in enumerate(rows) if k == key)[1] for key, _ in rows]
    assert newest_occurrence(digests, dates).tolist() == expected


@settings(max_examples=examples(20), deadline=None)
@given(
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=6),
    group_rows=st.integers(1, 40),
    range_rows=st.integers(1, 60),
    seed=st.integers(0, 1_000),
)
@example(sizes=[0, 1, 0, 0, 2, 0], group_rows=1, range_rows=1, seed=0)
def test_the_newest_of_any_corpus_in_any_parts_is_that_of_a_dictionary(
    tmp_path_factory, sizes, group_rows, range_rows, seed
):
    n, rng = sum(sizes), np.random.default_rng(seed)
    keys = rng.integers(0, 4, (n, 2), dtype=np.uint64) << np.uint64(61)
    dates = rng.integers(0, 4, n, dtype=np.uint64)
    job = job_of(tmp_path_factory.mktemp("run"), [NEWEST])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_rows, "GROUP_ROWS", group_rows)
        patch.setattr(corpus_rows, "RANGE_ROWS", range_rows)
        none = np.zeros((n, 0), np.uint32)
        ids = write_shards(job, [NEWEST], sizes, none, keys, batch=5, dates=dates)
        find(job, [NEWEST], sizes)
        assert found(job, NEWEST, sizes) == newest_of(keys, dates, ids)


def newest_of(keys, dates, ids):
    """{row: (id of the one kept, no similarity)}."""
    kept = {}
    for row, key in enumerate(map(tuple, keys.tolist())):
        if key not in kept or dates[row] >= dates[kept[key]]:
            kept[key] = row
    of = {row: kept[tuple(key)] for row, key in enumerate(keys.tolist()) if any(key)}
    return {row: (int(ids[k]), None) for row, k in of.items() if k != row}


@pytest.mark.parametrize("at_once", [7, 1 << 20])
@pytest.mark.parametrize("n_keys", [1, 3])
def test_more_equal_documents_than_fit_keep_the_newest(tmp_path, monkeypatch, n_keys, at_once):
    monkeypatch.setattr("tokenmill.pipelines.corpus.equal.ROWS_AT_ONCE", at_once)
    n = 30_000 if at_once > 100 else 12_000
    monkeypatch.setattr("tokenmill.pipelines.corpus.rows.LEAST_BYTES", 1 << 10)
    monkeypatch.setattr(corpus_rows, "GROUP_ROWS", n // 3)
    rng = np.random.default_rng(4)
    keys = np.repeat(rng.integers(1, n_keys + 1, n, dtype=np.uint64)[:, None], 2, axis=1)
    dates = rng.integers(0, 1_000, n, dtype=np.uint64)
    sizes = (n // 3, n // 3, n - 2 * (n // 3))
    job = job_of(tmp_path, [NEWEST], budget=f"{n * 50 + (1 << 18)}B")
    ids = write_shards(job, [NEWEST], sizes, np.zeros((n, 0), np.uint32), keys, dates=dates)
    find(job, [NEWEST], sizes)
    assert found(job, NEWEST, sizes) == newest_of(keys, dates, ids)


@pytest.mark.parametrize(
    "settings", [{}, {"keep": "newest"}, {"url": "normalized"}], ids=["exact", "newest", "normal"]
)
def test_a_step_comes_back_from_the_identity_of_its_run(settings):
    step = SameUrl(**settings)
    assert SameUrl.model_validate(step.model_dump(mode="json")) == step
    assert step.key_parameters().get("w3lib") == step.versions().get("w3lib")
    assert bool(step.key_parameters()) == ("url" in settings)


def recipe(step, **more):
    data = {
        "inputs": [{"path": "a"}],
        "tokenizer": {"path": "a/b"},
        "steps": [{"same_url": step}],
    }
    return make_recipe({**data, **more}, where="r.yaml")


def test_what_cannot_be_is_refused():
    with pytest.raises(ConfigError) as e:
        recipe({"keep": "newest"})
    assert str(e.value) == (
        "r.yaml: step 'same_url' keeps the newest, and only documents of web archives have a date;"
        " add 'html: {}' where the inputs are such, or keep: last"
    )
    assert recipe({"keep": "newest"}, html={}).steps
    with pytest.raises(ConfigError, match="drop_parameters are those of url: normalized; add it"):
        recipe({"drop_parameters": ["a"]})


def test_without_the_library_normalized_urls_are_refused(monkeypatch):
    monkeypatch.setattr("tokenmill.pipelines.corpus.equal.find_spec", lambda name: None)
    assert recipe({}).steps
    with pytest.raises(
        ConfigError, match=r"needs the w3lib library; pip install 'tokenmill\[web\]'"
    ):
        recipe({"url": "normalized"})


def test_dates_of_no_rows_are_none(tmp_path):
    job = job_of(tmp_path, [NEWEST])
    write_shards(job, [NEWEST], [0], np.zeros((0, 0)), np.zeros((0, 2), np.uint64), dates=[])
    find(job, [NEWEST], [0])
    assert found(job, NEWEST, [0]) == {}
