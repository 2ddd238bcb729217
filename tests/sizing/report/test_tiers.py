"""Tiers in a document: verdicts in few words, what the words mean, what each tier delivers."""

import pytest

from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.html import sheet_html
from tokenmill.sizing.report.outline import sheet_markdown
from tokenmill.sizing.report.tiers import (
    DELIVERS,
    NOTES,
    TO_BUY,
    delivered,
    legend,
    outcome,
    remarks,
    tier_blocks,
    tier_table,
)
from tokenmill.sizing.requirements import requirement_sheet, size
from tokenmill.sizing.tables import TIERS, TierRow
from tokenmill.sizing.verdict import judge

PLAN = """
model: {params: 405B}
cluster: {count: 1024}
checkpoints: {interval_s: 600, stall_frac: 0.01}
storage: {candidates: [NFS, FSx Lustre 250, SuperPOD good, NFS over RDMA]}
"""
LOCAL = "storage: {candidates: [local NVMe Gen4]}"


def sheet(text):
    return requirement_sheet(parse_plan(text, where="p"), {})


def cells(text):
    return {c[0]: c[1:] for c in tier_table(judge(sheet(text)), "tiers").rows}


def test_a_verdict_in_few_words():
    table = tier_table(judge(sheet(PLAN)), "tiers")
    assert [c.name for c in table.columns] == [
        *("tier", "training reads", "requests", "checkpoint writes", "restart reads", "to buy")
    ]
    found = cells(PLAN)
    assert found["NFS, one connection"][0] == "not judged"
    assert found["NFS, one connection"][2] == "short 2.46x *"
    assert found["NFS, one connection"][4] == "no amount: limit of one client"
    assert found["FSx Lustre 250"][2:] == (
        "needs 4.16 PB",
        "needs 250 TB",
        "4.16 PB; no figure for requests",
    )
    assert found["NFS over RDMA"][2] == "not published"
    assert found["NFS over RDMA"][4].endswith(" TB, speed not judged")
    assert found["SuperPOD good"][0] == "enough"  # 32 nodes together are told


def test_a_tier_that_is_far_too_slow_is_told_without_an_exponent():
    row = "tiers: [{name: mine, total_read_iops: 0.5641}]\nstorage: {candidates: [mine]}"
    assert cells(row)["mine"][1] == "short 1,830x"


def test_of_an_own_tier_it_is_told_what_was_not_stated():
    (found,) = cells("tiers: [{name: mine}]\nstorage: {candidates: [mine]}").values()
    assert found[:4] == ("not stated",) * 4
    assert found[4].endswith(" TB, speed not judged")


def test_why_no_amount_is_enough_stands_in_the_cell():
    row = "{name: mine, total_read_bytes_per_s: 20 GB/s, most_bytes: 50 TB}"
    (found,) = cells(
        f"corpus: {{tokens: 100T}}\ntiers: [{row}]\nstorage: {{candidates: [mine]}}"
    ).values()
    assert found[4] == "no amount: sold up to 50 TB"


def test_local_drives_are_counted_by_node_and_hold_no_checkpoints():
    """1 T tokens of 4 bytes at 80 % are 5 TB, 100 T 500 TB; a drive holds 3.84 TB."""
    (found,) = cells(LOCAL + "\ncorpus: {tokens: 1T}").values()
    assert found == (
        "enough *",
        "enough",
        *["not shared"] * 2,
        "2 drives a node, for the dataset only",
    )
    many = LOCAL + "\ncorpus: {tokens: 100T}"
    (found,) = cells(many).values()
    assert found[-1] == "131 drives a node, more than fit, for the dataset only"
    assert remarks(judge(sheet(LOCAL))) == ()
    assert remarks(judge(sheet(many))) == (
        "local NVMe Gen4: 131 drives a node are more than the 24 or so that a server holds; keep"
        " the dataset on shared storage, or a share of it in each node:"
        " storage.node_share",
    )


def test_more_drives_in_each_node_are_told_as_such():
    row = "{name: mine, drive_bytes: 10 TB, drive_read_iops: 1, local: true}"
    found = judge(sheet(f"tiers: [{row}]\nstorage: {{candidates: [mine]}}"))[2]
    assert outcome(found) == "needs 9 drives a node"  # 1,030 reads/s of 128 nodes


def test_the_words_of_the_cells_are_explained_and_no_others():
    def words(text):
        return [said.partition(":")[0] for said in legend(tier_table(judge(sheet(text)), "t"))]

    assert words(PLAN) == ["enough", "not judged", "needs", "short", "to buy"]
    assert words(LOCAL) == ["enough", "not shared", "to buy"]
    assert words("storage: {candidates: [NFS]}") == ["not judged", "to buy"]
    nothing_told = "tiers: [{name: ours}]\nstorage: {candidates: [ours]}"  # speed not judged
    assert words(nothing_told) == ["to buy"]
    much = "corpus: {tokens: 100T}\nstorage: {candidates: [Filestore, local NVMe Gen4]}"
    assert words(much) == ["enough", "not shared", "more than fit", "instances", "to buy"]
    assert "usable" in TO_BUY


def test_what_a_tier_delivers_is_told_limit_by_limit():
    found = delivered([TIERS.find(n) for n in ("Filestore", "HDD", "SuperPOD good", "S3")]).rows
    filestore = "Google Cloud Filestore documentation, zonal service tier, provisioned"
    assert found[0] == (
        *("Filestore zonal", "each TiB", "273 MB/s", "92.3 MB/s"),
        *("9,200 read", "1.1 TB to 110 TB", filestore),
    )
    memory = "a data sheet, from memory"
    assert found[1] == (
        *("HDD", "a drive of 20 TB", "250 MB/s *", "250 MB/s *", "150 * read"),
        *("—", memory),
    )
    assert [row[1] for row in found[2:]] == ["one client", "32 nodes", "one client", "one prefix"]


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ({}, "—"),
        ({"least_bytes": 10**12}, "from 1 TB"),
        ({"most_bytes": 10**13}, "up to 10 TB"),
        ({"least_bytes": 10**12, "most_bytes": 10**13}, "1 TB to 10 TB"),
        ({"step_bytes": 2 * 10**12}, "in steps of 2 TB"),
        (
            {"least_bytes": 10**12, "step_bytes": 2 * 10**12},
            "from 1 TB in steps of 2 TB",
        ),
    ],
)
def test_what_is_sold_is_told_of_a_tier_without_figures_too(sizes, told):
    row = TierRow(name="mine", **sizes)
    assert delivered([row]).rows == (("mine", *["—"] * 4, told, "stated in the plan"),)


def test_every_figure_of_the_table_is_told():
    told = delivered(TIERS.rows).rows
    for tier in TIERS.rows:
        given = [c for c in tier.columns() if c.endswith(("_per_s", "_iops")) and getattr(tier, c)]
        rows = [row for row in told if row[0] == tier.name]
        figures = [cell for row in rows for cell in (*row[2:4], *row[4].split(", ")) if cell != "—"]
        assert len(figures) == len(given), tier.name
        assert sum(c.count("*") for c in figures) == len(set(tier.unverified) & set(given))


def test_what_tiers_deliver_stands_in_both_documents():
    made = size(changes={"storage.candidates": ["Filestore"]})
    delivers, told = tier_blocks(made)[-2:]
    assert (delivers.caption, told.caption) == (DELIVERS, NOTES)
    assert told.rows == (("Filestore zonal", TIERS.find("Filestore zonal").note),)
    without = size(changes={"storage.candidates": ["GCP Managed Lustre 125"]})
    assert tier_blocks(without)[-1].caption == DELIVERS  # it has no note
    assert "| Filestore zonal | each TiB | 273 MB/s | 92.3 MB/s |" in sheet_markdown(made)
    html = sheet_html(made)
    assert DELIVERS in html
    assert "1.1 TB to 110 TB" in html
