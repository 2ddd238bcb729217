import json

import numpy as np
import pytest

from tokenmill.pipelines.contamination.decontaminate import (
    of_short_items,
    read_ignored,
    write_ignored,
)
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.spec import Benchmark
from tokenmill.pipelines.core.errors import ShardError

LONG = "Natalia sold clips to 48 of her friends in April and then sold half as many"


def index_of(folder, *questions, **settings):
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps({"q": q}) + "\n" for q in questions))
    return BenchmarkIndex.build(
        Matching(benchmarks=(Benchmark(name="items", path=str(path)),), **settings)
    )


def n_short(index):
    return int(of_short_items(index).sum())


def test_items_under_8_words_are_cut_for_only_if_n_is_less(tmp_path):
    assert n_short(index_of(tmp_path, LONG, "who wrote it", "how are you today")) == 2
    assert n_short(index_of(tmp_path, LONG, "one two three four five six seven eight")) == 0
    assert n_short(index_of(tmp_path, LONG, "who wrote it", ngram=3)) == 0
    assert n_short(index_of(tmp_path, LONG, "who wrote it", ngram=4)) == 1


def test_what_is_ignored_comes_back_as_it_was(tmp_path):
    path = tmp_path / "ngrams.arrow"
    for mask in (np.zeros(0, bool), np.zeros(5, bool), np.array([0, 1, 1, 0, 1], bool)):
        write_ignored(path, mask)
        assert read_ignored(path, len(mask)).tolist() == mask.tolist()
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ShardError, match="not a complete Arrow IPC file"):
        read_ignored(path, 5)
