"""Lines leave where CCNet's own code takes them out, given its rules as settings.

CCNet is the package cc-net 1.0.0, installed without what it depends on, which is of 2020.
"""

import gzip
import json

import pyarrow as pa
import pytest

from tests.pipelines.corpus.counted.test_count import BATCH, find_repeats, job_of, write_sidecars
from tests.pipelines.corpus.repeats_corpora import batch_of
from tokenmill.dedup.same.digest import sha1_prefixes
from tokenmill.dedup.text.simplified import ccnet_form
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.corpus.units import REPEATED
from tokenmill.pipelines.storage.files import open_arrow

cc_net = pytest.importorskip("cc_net.dedup")
pytestmark = pytest.mark.peers

from cc_net.flat_hash_set import NaiveHashSet  # noqa: E402
from cc_net.text_normalizer import normalize_for_dedup  # noqa: E402

RULE = {
    "unit": "line",
    "normalize": "ccnet",
    "digest": "sha1",
    "count": "documents",
    "more_than": 1,
    "empty": "count",
}
N_SHARDS = 8


def test_forms_and_keys_are_theirs_for_every_character():
    chars = [chr(cp) for cp in range(0x110000) if not 0xD800 <= cp < 0xE000]
    normalized = [normalize_for_dedup(f"{char}a{char}B") for char in chars]
    forms = ccnet_form(pa.array([f"{char}a{char}B" for char in chars], pa.large_string()))
    assert forms.to_pylist() == normalized
    assert sha1_prefixes(forms).tolist() == [cc_net.str_hash(line) for line in normalized]


@pytest.mark.filterwarnings("ignore:Module 'getpy' not found")
@pytest.mark.parametrize("group", [N_SHARDS, 3])
@pytest.mark.parametrize("name", ["docs_etcd", "docs_django_5.1_5.2"])
def test_what_is_left_of_real_documents_is_what_they_leave(shared_data, tmp_path, name, group):
    with gzip.open(shared_data / "text" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as f:
        texts = [json.loads(line)["text"] for line in f]
    shards = [texts[shard::N_SHARDS] for shard in range(N_SHARDS)]
    assert ours(shards, group, tmp_path) == theirs(shards, group)


def ours(shards, group, folder):
    """{(shard, document): text that is left}."""
    step = RepeatedParagraphs(within={"shards": group}, **RULE)
    made = [
        [
            {"doc_id": shard << 32 | row, "url": None, "text": text, "images": []}
            for row, text in enumerate(texts)
        ]
        for shard, texts in enumerate(shards)
    ]
    job = job_of(folder, [step])
    write_sidecars(job, made)
    find_repeats(job, (step,))
    left = {}
    for shard, docs in enumerate(made):
        for at, found in enumerate(open_arrow(job.path(REPEATED, key=str(shard)))[0]):
            batch = batch_of(docs[at * BATCH : (at + 1) * BATCH])
            kept = step.without(batch, found).result.kept
            columns = (kept[name].to_pylist() for name in ("doc_id", "text"))
            left |= {divmod(doc_id, 1 << 32): text for doc_id, text in zip(*columns, strict=True)}
    return left


def theirs(shards, group):
    """As `ours`."""
    left = {}
    for first in range(0, len(shards), group):
        seen = NaiveHashSet()
        collector = cc_net.HashesCollector("text", hashes=seen)
        remover = cc_net.DuplicatesRemover("text", [])
        remover.duplicates = seen
        here = [
            ((shard, row), text)
            for shard in range(first, min(first + group, len(shards)))
            for row, text in enumerate(shards[shard])
        ]
        for _, text in here:
            collector.do({"text": text})
        docs = {place: remover.do({"text": text}) for place, text in here}
        left |= {place: doc["text"] for place, doc in docs.items() if doc is not None}
    return left
