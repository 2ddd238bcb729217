"""Files for Megatron hold every document, and say where it is, as the format is published."""

import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.pipelines.tokens.export.datasets_made import DATASETS, documents, sequences
from tests.reference.exports import read_megatron
from tests.strategies import examples
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.tokens.export import megatron
from tokenmill.pipelines.tokens.export.megatron import slug, write_megatron


@settings(max_examples=examples(30))  # each writes and syncs files
@given(DATASETS)
def test_every_document_is_read_back(dataset):
    rows, tokens, batches = dataset
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        part = write_megatron(out, "train", tokens, iter(batches), by_source=False)
        wanted = [ids for ids, _ in rows]
        assert (part.rows, part.tokens) == (len(rows), sum(map(len, wanted)))
        assert part.is_there(out)
        if part.tokens:
            assert [f.name for f in part.files] == ["train.bin", "train.idx"]
            assert read_megatron(out / "train") == wanted
        assert {f.name for f in out.iterdir()} == {f.name for f in part.files}


@settings(max_examples=examples(30))  # each writes and syncs files
@given(DATASETS)
def test_each_source_has_its_pair(dataset):
    rows, tokens, batches = dataset
    wanted = defaultdict(list)
    for ids, source in rows:
        wanted[source].append(ids)
    wanted = {source: ids for source, ids in wanted.items() if any(ids)}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        part = write_megatron(out, "train", tokens, iter(batches), by_source=True)
        found = {s: read_megatron(out / f"train-{slug(s)}") for s in wanted}
        assert found == wanted
        assert len(part.files) == 2 * len(wanted) == len(list(out.iterdir()))


def test_boundaries_are_computed_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(megatron, "BLOCK", 3)
    rows = [([i] * (i % 4), "") for i in range(10)]
    tokens, batches = documents(rows, "uint32")
    write_megatron(tmp_path, "train", tokens, iter(batches), by_source=False)
    assert read_megatron(tmp_path / "train") == [ids for ids, _ in rows]


def test_a_packed_sequence_is_a_document(tmp_path):
    tokens, batches = sequences([[1, 2, 3], [4, 5, 65535]], 3)
    write_megatron(tmp_path, "train", tokens, iter(batches), by_source=False)
    assert read_megatron(tmp_path / "train") == [[1, 2, 3], [4, 5, 65535]]


def test_an_id_beyond_int32_is_refused(tmp_path):
    tokens, batches = documents([([2**31], "")], "uint32")
    with pytest.raises(ConfigError, match=r"token id 2,147,483,648 is beyond int32, the widest"):
        write_megatron(tmp_path, "train", tokens, iter(batches), by_source=False)
    assert list(tmp_path.iterdir()) == []


def test_more_documents_than_the_loader_numbers_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(megatron, "MOST_DOCS", 2)
    tokens, batches = documents([([1], "")] * 3)
    with pytest.raises(ConfigError, match="train: more than 2 documents, which Megatron's loader"):
        write_megatron(tmp_path, "train", tokens, iter(batches), by_source=False)


def test_names_of_sources_are_safe_and_apart():
    assert slug("crawl-2026.v1") == "crawl-2026.v1"
    odd = ["a/b", "a_b", "a b", "", "x" * 200, "x" * 201, "../up"]
    assert len({slug(s) for s in odd}) == len(odd)
    assert not any("/" in slug(s) or len(slug(s)) > 100 for s in odd)
