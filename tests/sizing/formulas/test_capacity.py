"""From bytes in files to drives to buy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.errors import PlanError
from sizing.formulas.capacity import (
    dataset_bytes,
    logical_bytes,
    raw_bytes,
    redundancy_factor,
    stage_bytes,
    text_bytes,
    usable_bytes,
)


def test_100_tb_of_files_need_156_tb_of_drives():
    usable = usable_bytes(logical_bytes=100e12, fill_frac=0.8, growth_frac=0, growth_years=1)
    assert usable == pytest.approx(125e12)
    assert raw_bytes(usable_bytes=usable, redundancy=redundancy_factor("8+2")) == pytest.approx(
        156.25e12
    )


def test_growth_compounds():
    usable = usable_bytes(logical_bytes=1.0, fill_frac=1.0, growth_frac=0.5, growth_years=2)
    assert usable == 2.25


@pytest.mark.parametrize(
    ("redundancy", "factor"),
    [
        ("8+2", 1.25),
        ("16 + 2", 1.125),  # Aurora's DAOS
        ("150+4", 154 / 150),  # VAST
        ("3 replicas", 3.0),
        ("3x", 3.0),
        ("1 replica", 1.0),
        ("none", 1.0),
        ("4+0", 1.0),
    ],
)
def test_redundancy(redundancy, factor):
    assert redundancy_factor(redundancy) == factor


@given(st.integers(1, 1000), st.integers(0, 1000))
def test_erasure_coding_stores_all_parts_for_the_data_parts(data, parity):
    assert redundancy_factor(f"{data}+{parity}") * data == pytest.approx(data + parity)


@pytest.mark.parametrize("redundancy", ["", "0+2", "0 replicas", "8-2", "RAID", "8+", "-1x", "1.5"])
def test_what_is_no_redundancy_is_refused(redundancy):
    with pytest.raises(PlanError) as e:
        redundancy_factor(redundancy)
    assert str(e.value) == (
        f"unknown redundancy {redundancy!r}; write '8+2' (data + parity), '3 replicas' or 'none'"
    )


def test_a_corpus_measured_whole_is_exact():
    got = stage_bytes(measured_bytes=1_000_003, measured_tokens=700_001, corpus_tokens=700_001)
    assert got == 1_000_003


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
    ],
)
def test_text_of_published_corpora(tokens, bytes_per_token, published_bytes):
    got = text_bytes(corpus_tokens=tokens, text_bytes_per_token=bytes_per_token)
    assert got == pytest.approx(published_bytes, rel=0.002)
    assert got == dataset_bytes(corpus_tokens=tokens, stored_bytes_per_token=bytes_per_token)


def test_what_is_stored_adds_up():
    assert logical_bytes(inputs=1.0, dataset=2.0, checkpoints=4.0) == 7.0
