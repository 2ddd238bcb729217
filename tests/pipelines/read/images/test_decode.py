"""What decoding costs: of which images, how it is weighted, and what a run's report says of it."""

import json
import os
from math import sqrt
from statistics import stdev

import pyarrow as pa
import pytest
from datasets import load_from_disk
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.read.images.shards import jpeg, png, tar_bytes
from tests.pipelines.read.images.test_illustrated_runs import SHARDS, corpus, recipe_of, run
from tokenmill.pipelines.core.measured import ratio_and_error
from tokenmill.pipelines.prepare.report.model import Report
from tokenmill.pipelines.prepare.report.sections import sections
from tokenmill.pipelines.read.images import facts as decode
from tokenmill.pipelines.read.images.facts import (
    NONE_DECODED,
    DecodedFormat,
    decode_cost,
    images_per_core_s,
)
from tokenmill.pipelines.read.images.stored import REFERENCE, STORED
from tokenmill.pipelines.storage.files import arrow_stream
from tokenmill.sizing.corpus import load_corpus
from tokenmill.sizing.requirements import size

__all__ = ["corpus"]  # a fixture


def dataset(path, *batches, kind=STORED):
    """A file of a dataset: each batch a list of documents, each a list of images."""
    schema = pa.schema([pa.field("images", pa.list_(kind))])
    with arrow_stream(path, schema) as writer:
        for documents in batches:
            writer.write_batch(pa.record_batch([pa.array(documents, pa.list_(kind))], schema))
    return path


def stored(*blobs):
    return [{"bytes": blob, "path": "x"} for blob in blobs]


def counts(found):
    return {name: (of["images"], of["pixels"]) for name, of in found["formats"].items()}


def test_each_format_is_told_apart_and_what_is_broken_is_passed_over(tmp_path):
    photo, drawing = jpeg(40, 30), png(9, 8)
    path = dataset(
        tmp_path / "a.arrow",
        [stored(photo, drawing), stored()],
        [stored(photo, b"no image", None), stored(photo[:-200])],
    )
    found = decode_cost([path], {"jpeg": 3, "png": 1}).to_json()
    assert counts(found) == {"jpeg": (2, 2400), "png": (1, 72)}
    assert found["formats"]["jpeg"]["bytes"] == 2 * len(photo)
    assert (found["skipped"], found["docs_per_batch"]) == (3, 2)
    assert found["images_per_core_s"]["value"] > 0
    assert found["machine"]["processor"]
    assert json.loads(json.dumps(found)) == found


def test_the_first_images_of_files_spread_evenly_are_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(decode, "MOST_FILES", 3)
    monkeypatch.setattr(decode, "MOST_IMAGES", 6)
    files = [
        dataset(tmp_path / f"{i}.arrow", [stored(png(i + 1, 1), png(10 * i + 10, 1), png(999, 1))])
        for i in range(7)
    ]
    assert counts(decode_cost(files, {}).to_json())["png"] == (6, 1 + 10 + 3 + 30 + 5 + 50)
    assert counts(decode_cost(files[:1], {}).to_json())["png"] == (3, 1 + 10 + 999)


def test_pixels_end_it_too_and_a_file_has_one_image_at_least(tmp_path, monkeypatch):
    monkeypatch.setattr(decode, "MOST_PIXELS", 20)
    monkeypatch.setattr(decode, "MOST_PIXELS_EACH", 60)
    of_one = [stored(png(5, 10), png(1, 1))]
    files = [dataset(tmp_path / f"{i}.arrow", of_one) for i in range(2)]
    assert counts(decode_cost(files, {}).to_json())["png"] == (2, 100)
    large = dataset(tmp_path / "large.arrow", [stored(png(61, 1), png(2, 2))])
    found = decode_cost([large], {}).to_json()
    assert (counts(found)["png"], found["skipped"]) == ((1, 4), 1)


def test_nothing_to_decode_is_told_as_nothing(tmp_path):
    assert decode_cost([], {"png": 3}).to_json()["images_per_core_s"] is None
    empty = decode_cost([dataset(tmp_path / "a.arrow")], {}).to_json()
    assert (empty["formats"], empty["docs_per_batch"]) == ({}, None)


def test_references_are_followed_where_they_lead_somewhere(tmp_path):
    (tmp_path / "tar").write_bytes(b"xyz" + png(4, 5))
    there = {"path": str(tmp_path / "tar"), "offset": 3, "bytes": len(png(4, 5))}
    gone = {"path": str(tmp_path / "gone"), "offset": 0, "bytes": 9}
    path = dataset(tmp_path / "a.arrow", [[there, gone, {"path": "https://x"}]], kind=REFERENCE)
    found = decode_cost([path], {}).to_json()
    assert (counts(found), found["skipped"]) == ({"png": (1, 20)}, 2)


def test_references_lead_to_no_pipe_out_of_no_root_and_to_no_more_than_there_is(
    tmp_path, monkeypatch
):
    (tmp_path / "in").mkdir()
    for folder in (tmp_path, tmp_path / "in"):
        (folder / "tar").write_bytes(png(4, 5))
    os.mkfifo(tmp_path / "in" / "pipe")
    n = len(png(4, 5))
    named = [
        (tmp_path / "in" / "tar", 0, n),
        (tmp_path / "tar", 0, n),
        (tmp_path / "in" / ".." / "tar", 0, n),
        (tmp_path / "in" / "pipe", 0, n),
        (tmp_path / "in" / "tar", 0, 1 << 60),
        (tmp_path / "in" / "tar", -1, n),
        ("\0", 0, n),
    ]
    images = [{"path": str(path), "offset": at, "bytes": size} for path, at, size in named]
    path = dataset(tmp_path / "in" / "a.arrow", [images], kind=REFERENCE)
    monkeypatch.setenv("TOKENMILL_ROOTS", str(tmp_path / "in"))
    found = decode_cost([path], {}).to_json()
    assert (counts(found), found["skipped"]) == ({"png": (1, 20)}, 6)


seconds = st.lists(st.floats(1e-5, 1.0), min_size=2, max_size=9)


@given(st.dictionaries(st.sampled_from("abc"), st.tuples(seconds, st.integers(1, 99)), min_size=1))
def test_the_rate_is_that_of_formats_as_the_corpus_has_them(found):
    formats = {
        name: DecodedFormat(
            images=len(s), cpu_s=sum(s), cpu_s_squared=sum(x * x for x in s), bytes=0, pixels=0
        )
        for name, (s, _) in found.items()
    }
    numbers = {name: n for name, (_, n) in found.items()}
    whole = sum(numbers.values())
    mean = sum(n * sum(found[k][0]) / len(found[k][0]) for k, n in numbers.items()) / whole
    variance = sum(
        (n / whole * stdev(found[k][0])) ** 2 / len(found[k][0]) for k, n in numbers.items()
    )
    got = images_per_core_s(formats, {**numbers, "never decoded": 5})
    assert got.value == pytest.approx(1 / mean)
    assert got.se == pytest.approx(sqrt(variance) / mean**2, rel=1e-4, abs=1e-5 / mean)


def test_one_image_of_a_format_gives_no_error():
    single = NONE_DECODED.model_copy(update={"images": 1, "cpu_s": 0.5})
    got = images_per_core_s({"png": single}, {"png": 3})
    assert (got.value, got.se) == (2.0, None)
    assert NONE_DECODED.cpu_s == 0


@pytest.mark.parametrize("store", ["bytes", "reference"])
def test_a_run_measures_images_and_is_sized_by_them(corpus, tokenizer_path, tmp_path, store):
    images = {"tokens": 5, "store": store}
    report = run(recipe_of(corpus, tokenizer_path, images=images), tmp_path)
    total = report["measurement"]["total"]
    assert (total["docs"], total["images"]["images"]) == (24, 24)
    assert total["images"]["image_tokens"] == 5 * 24
    text_tokens = total["tokens"] - 5 * 24
    assert total["text_bytes_per_token"] == total["text_bytes"] / text_tokens
    both = total["text_bytes"] + total["images"]["image_bytes"]
    assert total["images"]["bytes_per_doc"]["value"] == both / 24
    assert total["images"]["bytes_per_doc"]["se"] > 0
    assert counts(report["images"]["decoding"])["jpeg"][0] == 21
    read = load_corpus(tmp_path / "run")
    assert read.images.in_dataset == (store == "bytes")
    assert read.images.tokens_per_image.value == 5
    assert read.images.samples_per_batch.value > 1
    shown = sections(Report.model_validate(report))
    words = " ".join(b for s in shown for b in s.blocks if isinstance(b, str))
    assert "A token of text stands for" in words
    assert "A core decodes" in words


def test_the_error_of_stored_bytes_is_that_of_images_and_ids(corpus, tokenizer_path, tmp_path):
    report = run(recipe_of(corpus, tokenizer_path), tmp_path)
    rows = load_from_disk(str(tmp_path / "run" / "dataset")).with_format("arrow")[:].to_pylist()
    sizes, tokens, at = [], [], 0
    for n in SHARDS:
        of_shard, at = rows[at : at + n], at + n
        tokens.append(sum(len(row["input_ids"]) for row in of_shard))
        blobs = sum(len(i["bytes"]) for row in of_shard for i in row["images"])
        sizes.append(blobs + 2 * tokens[-1])
    total = report["measurement"]["total"]
    stored = [total["stored_bytes"] * size / sum(sizes) for size in sizes]
    told = total["stored_bytes_per_token"], total["stored_bytes_per_token_se"]
    assert told == pytest.approx(ratio_and_error(stored, tokens))


def test_samples_without_a_word_are_sized_all_the_same(tmp_path, tokenizer_path):
    (tmp_path / "a.tar").write_bytes(tar_bytes({"1.jpg": jpeg(), "2.jpg": jpeg(9, 9)}))
    report = run(recipe_of(tmp_path, tokenizer_path), tmp_path / "out")
    assert report["measurement"]["total"]["text_bytes"] == 0
    assert size(corpus=tmp_path / "out" / "run")["read requests, whole job"].value > 0
