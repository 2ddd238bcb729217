"""From bytes in files to drives to buy."""

import struct

import pyarrow as pa
import pytest

from tokenmill.pipelines.core.schema import DOCUMENT
from tokenmill.pipelines.corpus.edges import SHINGLES
from tokenmill.pipelines.corpus.equal import ExactDedup
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.corpus.step import document_keys, key_schema
from tokenmill.sizing.formulas.capacity import (
    dataset_bytes,
    datatrove_signature_bytes,
    filtered_bytes,
    key_bytes,
    logical_bytes,
    logs_bytes,
    raw_bytes,
    raw_input_bytes,
    raw_sample_bytes,
    set_bytes,
    stage_bytes,
    text_bytes,
    usable_bytes,
    versions_bytes,
)
from tokenmill.sizing.redundancy import redundancy_factor
from tokenmill.sizing.sections.stages import SETS_ENDS

DOCS_IN = 1e12 / 700 * 3  # of 1 T tokens left, 700 a document, a third of the documents


def test_100_tb_of_files_need_156_tb_of_drives():
    usable = usable_bytes(logical_bytes=100e12, fill_frac=0.8, growth_frac=0, growth_years=1)
    assert usable == pytest.approx(125e12)
    assert raw_bytes(usable_bytes=usable, redundancy=redundancy_factor("8+2")) == pytest.approx(
        156.25e12
    )


def test_growth_compounds():
    usable = usable_bytes(logical_bytes=1.0, fill_frac=1.0, growth_frac=0.5, growth_years=2)
    assert usable == 2.25


def test_a_corpus_measured_whole_is_exact():
    got = stage_bytes(measured_bytes=1_000_003, measured_tokens=700_001, corpus_tokens=700_001)
    assert got == 1_000_003
    assert stage_bytes(measured_bytes=3.0, measured_tokens=2.0, corpus_tokens=8.0) == 12.0


@pytest.mark.parametrize(
    ("tokens", "bytes_per_token", "published_bytes"),
    [
        (2.0e12, 4.0, 8.000e12),  # Llama 2: 8 TB, 7.3 TiB
        (2.0e12, 4.0, 7.276 * 2**40),
        (180e9, 4.0, 720e9),  # OPT
        (300e9, 4.0, 1.2e12),  # GPT-3, tokens trained on
        (260e9, 3.41, 886.6e9),  # the Pile
        (1.5e12, 4.0, 6e12),  # OpenELM
        (15e12, 2.93, 44e12),  # FineWeb as Parquet
        (15e12, 6.2, 93.4e12),  # the same, not compressed
    ],
)
def test_text_of_published_corpora(tokens, bytes_per_token, published_bytes):
    got = text_bytes(corpus_tokens=tokens, text_bytes_per_token=bytes_per_token)
    assert got == pytest.approx(published_bytes, rel=0.005)
    assert got == dataset_bytes(corpus_tokens=tokens, stored_bytes_per_token=bytes_per_token)


@pytest.mark.parametrize(("hash_bytes", "a_doc", "total"), [(8, 952, 4.1e12), (4, 504, 2.2e12)])
def test_signatures_of_datatrove(hash_bytes, a_doc, total):
    record = struct.calcsize(f"<8{'Q' if hash_bytes == 8 else 'I'}I")
    assert 14 * record == a_doc
    one = datatrove_signature_bytes(docs_in=1, bands=14, rows=8, hash_bytes=hash_bytes)
    assert one == a_doc
    assert pytest.approx(4.29e9, rel=0.001) == DOCS_IN
    got = datatrove_signature_bytes(docs_in=DOCS_IN, bands=14, rows=8, hash_bytes=hash_bytes)
    assert got == pytest.approx(total, rel=0.02)


@pytest.mark.parametrize(("bands", "rows"), [(14, 5), (9, 13)])
def test_our_keys_take_what_their_columns_take(bands, rows):
    steps = [ExactDedup(), NearDedup(num_perm=128, bands=bands, rows=rows)]
    n = 50
    texts = [f"document {i} has these words and no others" for i in range(n)]
    documents = pa.record_batch(
        [
            pa.array(range(n), pa.uint64()),
            pa.array([str(i) for i in range(n)]),
            pa.nulls(n, pa.string()),
            pa.array(texts, pa.large_string()),
        ],
        schema=DOCUMENT,
    )
    made = document_keys(documents, steps, key_schema(steps), source="web")
    sets = made[SHINGLES].flatten().nbytes
    assert made.nbytes - sets == key_bytes(docs_in=n, bands=bands)


def test_sets_are_a_share_of_the_text_that_comes_in():
    given = {"corpus_tokens": 0.7e12, "text_bytes_per_token": 4.0, "kept_frac": 1 / 3}
    assert set_bytes(**given, sets_frac=0.5) == pytest.approx(4.2e12)


@pytest.mark.parametrize(
    "text", ["人人生而自由、在尊严和权利上一律平等。", "ყველა ადამიანი თავისუფალი და თანასწორი. "]
)
def test_the_share_of_sets_holds_scripts_of_short_words_and_of_long_ones(text):
    step, text = NearDedup(), 50 * text
    row = pa.table({"doc_id": [0], "id": ["a"], "url": [None], "text": [text]})
    document = row.cast(DOCUMENT).to_batches()[0]
    made = document_keys(document, [step], key_schema([step]), source="web")
    low, high = SETS_ENDS
    share = made[SHINGLES].flatten().nbytes / len(text.encode())
    assert low < share < high


def test_what_comes_in_is_the_text_of_all_documents_compressed():
    given = {"corpus_tokens": 0.7e12, "text_bytes_per_token": 4.0, "kept_frac": 1 / 3}
    assert raw_input_bytes(**given, compression_ratio=3.0) == pytest.approx(2.8e12)
    assert filtered_bytes(**given, lz4_ratio=1.6) == pytest.approx(8.4e12 / 1.6)
    assert raw_sample_bytes(dataset_bytes=240e12, kept_frac=0.8) == pytest.approx(300e12)


def test_versions_and_logs_multiply():
    assert versions_bytes(dataset_bytes=2.0, token_versions=3) == 6.0
    assert logs_bytes(accelerators=2, training_days=3, log_bytes_per_accelerator_day=5) == 30


def test_what_is_stored_adds_up():
    assert logical_bytes(inputs=1.0, dataset=2.0, checkpoints=4.0) == 7.0
