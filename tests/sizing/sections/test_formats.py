"""The same corpus in every format."""

import math

import pytest

from tests.sizing.corpora import measured
from tests.sizing.sections.begun import begun, names
from tokenmill.sizing.sections import formats

GPT_2 = "corpus: {tokens: 700B, vocab_size: 50257}"


def sheet(text, **measurements):
    return begun(text, until=formats, **measurements)


def test_bytes_of_each_format():
    made = sheet(GPT_2)
    docs = 1e9
    sizes = {name.removeprefix("as "): made[name].value for name in names(made, "as ")}
    assert sizes == {
        "Arrow, 2-byte ids": 1400e9 + 50 * docs,
        "Arrow, 4-byte ids": 2800e9 + 50 * docs,
        "Arrow, packed": pytest.approx(1400e9 + 16 * 700e9 / 8192),
        "Megatron .bin and .idx": pytest.approx(1400e9 + 20 * docs + 42),
        "MDS": pytest.approx(1400e9 + 4 * 700e9 / 8192, rel=1e-4),
        "Parquet": 1.9 * 700e9,
        "JSONL.gz": pytest.approx((2800e9 + 80 * docs) / 2.6),
    }


def test_a_large_vocabulary_has_no_ids_of_2_bytes():
    made = sheet("corpus: {tokens: 700B}")
    assert "as Arrow, 2-byte ids" not in made
    assert made["as Arrow, packed"].value > 2800e9
    assert made["as Megatron .bin and .idx"].value > 2800e9


def test_files_are_of_the_size_the_plan_wants_and_those_of_mds_of_its_own():
    made = sheet(GPT_2 + "\nstorage: {shard_bytes: 1GB}")
    assert {name.replace("files as ", "as ") for name in names(made, "files as ")} == names(
        made, "as "
    )
    for name in names(made, "files as "):
        if "MDS" not in name:
            pairs = 2 if "Megatron" in name else 1
            n_bytes = made[name.removeprefix("files ")].value
            assert made[name].value == pairs * math.ceil(n_bytes / 1e9)
    samples = (2**26 - 196) // (8192 * 2 + 4)
    assert made["files as MDS"].value == math.ceil(math.ceil(700e9 / 8192) / samples)


def test_text_sources_are_priced_together_and_images_left_out():
    made = sheet(
        "{sources: [{name: web, tokens: 400B, token_width_bytes: 2},"
        " {name: code, tokens: 300B, token_width_bytes: 4, text_bytes_per_token: 3.0},"
        " {name: photos, tokens: 1T, image_text: {}}]}"
    )
    assert made["text tokens"].value == 700e9
    assert "as Arrow, 2-byte ids" not in made  # the wider ids of the sources hold those of all
    assert made["text documents"].value == pytest.approx(1e9)
    assert made["text, not compressed"].value == 400e9 * 4 + 300e9 * 3
    assert made["as Parquet"].value == pytest.approx(1.9 * 700e9)


def test_each_source_is_compressed_as_its_own_text_is():
    made = sheet(
        "{sources: [{name: web, tokens: 1T, compression_ratio: 2.0},"
        " {name: code, tokens: 9T, compression_ratio: 8.0},"
        " {name: photos, tokens: 1T, image_text: {}}]}"
    )
    record_bytes = 80 / 700  # of a token
    web, code = 1e12 * (4 + record_bytes) / 2, 9e12 * (4 + record_bytes) / 8
    assert made["as JSONL.gz, web"].value == pytest.approx(web)
    assert made["as JSONL.gz, code"].value == pytest.approx(code)
    assert made["as JSONL.gz"].value == pytest.approx(web + code)
    assert made["files as JSONL.gz"].value == math.ceil(made["as JSONL.gz"].value / 512e6)
    assert names(made, "files as JSONL") == {"files as JSONL.gz"}


def test_one_text_source_beside_images_is_the_text():
    made = sheet(
        "{sources: [{name: web, tokens: 1T, compression_ratio: 2.0},"
        " {name: photos, tokens: 1T, image_text: {}}]}"
    )
    assert names(made, "as JSONL") == {"as JSONL.gz"}
    assert made["as JSONL.gz"].value == pytest.approx(1e12 * (4 + 80 / 700) / 2)


def test_a_measured_corpus_is_text_whatever_the_plan_says():
    made = sheet("corpus: {image_text: {}}", corpus=measured())
    assert made["text, not compressed"].value == pytest.approx(8.1e6)


def test_a_corpus_of_images_has_no_rows_here():
    made = sheet("corpus: {tokens: 1T, image_text: {}}")
    assert made.sections[-1].title == formats.TITLE
    assert not made.sections[-1].rows


def test_a_measured_corpus_has_its_own_documents_and_width():
    made = sheet("", corpus=measured())
    assert made["as Arrow, 2-byte ids"].value == 2e6 * 2 + 9000 * 50
    assert made["text, not compressed"].value == pytest.approx(8.1e6)
