"""Images and documents judged by scores that stand in a file."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.read.images.strategies import batches
from tests.pipelines.read.images.verdicts import checked, document_verdicts, image_rows
from tests.strategies import document_batch
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.images.scores import DocumentScores, ImageScores

numbers = st.none() | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, float("nan")])
KEYS = {
    "md5": [None, *(bytes([n]) * 16 for n in range(1, 4))],
    "url": [None, "", "http://a.org/1", "http://a.org/2", "http://A.org/1"],
}
pairs = st.tuples(st.sampled_from(KEYS["md5"]), st.sampled_from(KEYS["url"]))
documents = st.lists(pairs, min_size=1, max_size=5).map(
    lambda keys: ("a", [image(n, md5=md5, url=url) for n, (md5, url) in enumerate(keys)])
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scores")


def written(folder, rows, key, kind):
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    columns = {key: pa.array([k for k, *_ in rows], kind)}
    columns["a"] = pa.array([a for _, a, _ in rows], pa.float32())
    columns["b"] = pa.array([b for _, _, b in rows], pa.float64())
    pq.write_table(pa.table(columns), path)
    return str(path)


def expected(key, rows, stage):
    """(reason or None, value or None) of what has this key, row by row."""
    mine = [(a, b) for k, a, b in rows if key and k == key]
    if not mine:
        return ("no_score", None) if stage.unknown == "remove" else (None, None)
    high = max([a for a, _ in mine if a is not None and a == a], default=-1)
    low = min([b for _, b in mine if b is not None and b == b], default=9)
    if high > stage.most["a"]:
        return "high_a", high
    return ("low_b", low) if low < stage.least["b"] else (None, None)


@given(
    data=st.data(),
    batch=batches(documents),
    by=st.sampled_from(["md5", "url"]),
    unknown=st.sampled_from(["keep", "remove"]),
    remove=st.sampled_from(["image", "document"]),
)
def test_images_are_judged_by_their_own_scores(folder, data, batch, by, unknown, remove):
    keys = st.sampled_from(KEYS[by])
    rows = data.draw(st.lists(st.tuples(keys, numbers, numbers), min_size=4, max_size=9))
    path = written(folder, rows, by, pa.binary(16) if by == "md5" else pa.string())
    stage = ImageScores(
        file=path, by=by, most={"a": 0.5}, least={"b": 0.5}, unknown=unknown, remove=remove
    )
    result = checked(stage, batch)
    verdicts = [[expected(i[by], rows, stage) for i in row["images"]] for row in batch.to_pylist()]
    if remove == "image":
        got = [
            [(r["reason"], r["value"]) if r else (None, None) for r in row]
            for row in image_rows(result, batch)
        ]
        assert got == verdicts
        assert result.removed.num_rows == 0
        return
    order = ["no_score", "high_a", "low_b"]
    worst = [
        min((v for v in row if v[0]), key=lambda v: order.index(v[0]), default=(None, None))
        for row in verdicts
    ]
    assert document_verdicts(result, batch) == worst


def test_a_document_says_the_score_of_the_first_image_beyond(folder):
    rows = [(n.to_bytes(16, "big"), score, None) for n, score in ((1, 0.25), (2, 1.0), (3, 0.75))]
    path = written(folder, rows, "md5", pa.binary(16))
    batch = illustrated([("a", [image(1), image(2), image(3)]), ("b", [image(1)])])
    result = checked(ImageScores(file=path, most={"a": 0.5}, remove="document"), batch)
    assert document_verdicts(result, batch) == [("high_a", 1.0), (None, None)]


def test_documents_are_judged_by_id_in_recipes_of_text_too(folder):
    path = written(folder, [("1", 0.9, 0.9), ("2", 0.1, 0.1)], "id", pa.string())
    stage = DocumentScores(file=path, most={"a": 0.5}, least={"b": 0.5})
    result = stage(document_batch(["zero", "one", "two", "three"]))
    assert result.kept["id"].to_pylist() == ["0", "3"]
    assert result.removed["reason"].to_pylist() == ["high_a", "low_b"]
    assert np.allclose(result.removed["value"], [0.9, 0.1])


def test_an_md5_may_be_written_in_digits(folder):
    rows = [((7).to_bytes(16, "big").hex().upper(), 0.9, None)]
    path = written(folder, rows, "md5", pa.string())
    result = ImageScores(file=path, most={"a": 0.5})(illustrated([("a", [image(7), image(8)])]))
    assert result.images["number"].to_pylist() == [7]


def test_other_scores_are_another_recipe_and_not_taken_half_way(folder):
    path = written(folder, [("1", 0.9, 0.9)], "id", pa.string())
    stage = DocumentScores(file=path, most={"a": 0.5})
    written_again = pq.read_table(path).slice(0, 0)
    pq.write_table(written_again, path)
    assert DocumentScores(file=path, most={"a": 0.5}) != stage
    assert DocumentScores.model_validate_json(stage.model_dump_json()) == stage
    with pytest.raises(ConfigError, match="has changed since the run began; put it back"):
        stage(document_batch(["one"]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "no limit; write most: {COLUMN: NUMBER}, or least"),
        ({"most": {"nsfw": 1}}, "has no column 'nsfw'; it has url, a, b"),
        ({"most": {"a": 1}, "by": "md5"}, "has no column 'md5'; it has url, a, b"),
        ({"most": {"a": 1}, "file": "no.parquet"}, "cannot be read (No such file or directory)"),
    ],
)
def test_what_a_mistake_reads_like(folder, settings, message):
    path = written(folder, [("u", 1.0, 1.0)], "url", pa.string())
    with pytest.raises(ValidationError) as e:
        ImageScores.model_validate({"file": path, "by": "url", **settings})
    assert message in e.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    ("key", "values", "message"),
    [
        ("md5", ["abc"], "an MD5 is 16 bytes or 32 hexadecimal digits"),
        ("md5", ["abcd"], "an MD5 is 16 bytes or 32 hexadecimal digits, got 'abcd'"),
        ("url", [["u"]], "'url' is to be text"),
    ],
)
def test_keys_of_another_kind(folder, key, values, message):
    path = folder / "kind.parquet"
    pq.write_table(pa.table({key: values, "a": [0.5]}), path)
    stage = ImageScores(file=str(path), by=key, most={"a": 0.5})
    with pytest.raises(ConfigError, match=message):
        stage(illustrated([("a", [image(0)])]))
