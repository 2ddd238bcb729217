"""The table of storage tiers, and rows of users."""

import pytest
from pydantic import ValidationError

from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.tables import TIERS, TierRow

TIB = 2**40


def test_every_row_says_what_it_delivers_and_where_that_was_read():
    for row in TIERS.rows:
        cells = [c for c in row.columns() if c.endswith(("_per_s", "_iops")) and getattr(row, c)]
        assert cells, row.name
        for column in cells:
            assert row.verified(column) is ("from memory" not in row.source_of(column))


@pytest.mark.parametrize(
    ("name", "column", "tib"),
    [
        ("FSx Lustre 125", "tib_read_bytes_per_s", 160),
        ("FSx Lustre 250", "tib_read_bytes_per_s", 80),
        ("FSx Lustre 500", "tib_read_bytes_per_s", 40),
        ("FSx Lustre 1000", "tib_write_bytes_per_s", 20),
        ("Filestore", "tib_read_bytes_per_s", 73.36),
    ],
)
def test_capacity_that_20_gb_per_s_takes(name, column, tib):
    assert 20e9 / getattr(TIERS.find(name), column) == pytest.approx(tib, rel=1e-4)


def test_superpod_gives_one_node_more_than_its_share_of_all():
    """Good, better, best: 0.5, 1 and 5 GB/s a GPU of one node, 0.059, 0.156 and 0.49 of 32."""
    rows = [TIERS.find(f"SuperPOD {grade}") for grade in ("good", "better", "best")]
    assert [r.client_read_bytes_per_s / 8 / 1e9 for r in rows] == [0.5, 1, 5]
    shares = [r.group_read_bytes_per_s / r.group_nodes / 8 / 1e9 for r in rows]
    assert shares == pytest.approx([0.059, 0.156, 0.49], rel=0.01)


def test_what_others_have_built_is_no_candidate():
    assert [row.name for row in TIERS.rows if not row.candidate] == ["Meta Tectonic", "Aurora DAOS"]


def test_a_users_tier_comes_first():
    row = TierRow.model_validate({"name": "S3", "client_read_bytes_per_s": "12 GB/s"})
    assert TIERS.find("s3", [row]) is row
    assert TIERS.find("S3").prefix_get_per_s == 5500


def test_an_unknown_tier_is_refused():
    with pytest.raises(PlanError) as e:
        TIERS.find("Filestor")
    assert str(e.value) == (
        "unknown storage tier 'Filestor'; did you mean 'Filestore zonal'?"
        " (or give a row of your own under tiers)"
    )


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"drive_read_iops": 1e6}, "N: give drive_bytes, the capacity of one drive, as well"),
        (
            {"group_write_bytes_per_s": "1 GB/s"},
            "N: give group_nodes, the nodes of one group, as well",
        ),
    ],
)
def test_limits_that_say_nothing_alone_are_refused(cells, message):
    with pytest.raises(ValidationError, match=message):
        TierRow.model_validate({"name": "N"} | cells)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("GCP Managed Lustre dynamic", 472_000, 84_016_000),
        ("GCP Managed Lustre 125", 72_000, 12_240_000),
        ("GCP Managed Lustre 250", 36_000, 40_032_000),
        ("GCP Managed Lustre 500", 18_000, 20_016_000),
        ("GCP Managed Lustre 1000", 9_000, 10_008_000),
        ("Filestore zonal", 1024, 102_400),
    ],
)
def test_an_instance_is_sold_from_a_least_to_a_most(name, least, most):
    """In GiB, as Google Cloud documents them."""
    row = TIERS.find(name)
    assert (row.least_bytes, row.most_bytes) == (least * 2**30, most * 2**30)
    assert row.several


@pytest.mark.parametrize("rate", [125, 250, 500, 1000])
def test_fsx_is_sold_from_1200_gib_in_steps_of_2400(rate):
    row = TIERS.find(f"FSx Lustre {rate}")
    assert (row.least_bytes, row.step_bytes, row.most_bytes) == (1200 * 2**30, 2400 * 2**30, None)
    assert "StorageCapacity" in row.source_of("step_bytes")


def test_a_most_between_two_steps_is_refused():
    message = (
        "N: most_bytes 11,000,000,000 is no whole number of step_bytes 2,000,000,000;"
        " give a multiple of it"
    )
    with pytest.raises(ValidationError, match=message):
        TierRow.model_validate({"name": "N", "most_bytes": "11 GB", "step_bytes": "2 GB"})
    assert TierRow.model_validate({"name": "N", "most_bytes": "12 GB", "step_bytes": "2 GB"})


def test_a_least_above_the_most_is_refused():
    sizes = {"least_bytes": "20 TB", "most_bytes": "10 TB"}
    message = "N: least_bytes 20,000,000,000,000 is more than most_bytes 10,000,000,000,000"
    with pytest.raises(ValidationError, match=message):
        TierRow.model_validate({"name": "N", **sizes})
    same = TierRow.model_validate({"name": "N", **sizes, "most_bytes": "20 TB"})
    assert same.least_bytes == same.most_bytes
