"""What is said of a tier, and what to buy of it."""

from dataclasses import replace

import pytest

from tests.sizing.sections.begun import begun
from tokenmill.sizing.formulas.bandwidth import read_bytes_per_s
from tokenmill.sizing.formulas.checkpoint import (
    checkpoint_bytes,
    node_write_bytes_per_s,
    write_bytes_per_s,
)
from tokenmill.sizing.formulas.supply import units_needed
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.sections import capacity
from tokenmill.sizing.tables import TIERS
from tokenmill.sizing.verdict import (
    NEEDS,
    Verdict,
    candidates,
    deciding,
    judge,
    times,
    to_buy,
    told_to_buy,
)


def row(unit, value):
    made = [
        Input(name=name, value=n, unit=unit, measured=False, source="s")
        for name, n in (("needed", value), ("of_one", 1))
    ]
    return replace(units_needed, unit=unit).requirement("r", made)


def verdict(outcome="enough", **more):
    return Verdict(tier="t", requirement="r", outcome=outcome, **more)


@pytest.mark.parametrize(
    ("ratio", "told"),
    [(2.4567, "2.46"), (1823.4, "1,820"), (1e9 / 3, "333,000,000"), (0.04, "0.04"), (10, "10")],
)
def test_a_ratio_has_three_digits_and_no_exponent(ratio, told):
    assert times(ratio) == told


def test_the_most_that_any_requirement_takes_is_bought():
    less, more = verdict(enough=row("bytes", 1e12)), verdict(enough=row("bytes", 2e12))
    prefixes = verdict(enough=row("prefixes", 1e15))
    assert deciding([less, more, prefixes]) is more
    assert to_buy([less, more]) is more.enough
    assert told_to_buy([less, more]) == "2 TB"
    assert told_to_buy([]) == ""


def test_nothing_is_bought_where_no_amount_is_enough():
    stuck = verdict("short", reason="limit of one client")
    assert to_buy([verdict(enough=row("bytes", 1e12)), stuck]) is None
    assert told_to_buy([verdict(), stuck]) == "no amount: limit of one client"


@pytest.mark.parametrize(
    ("drives", "told"),
    [
        (24, "24 drives a node, for the dataset only"),
        (25, "25 drives a node, more than fit, for the dataset only"),
    ],
)
def test_drives_that_a_server_does_not_hold(drives, told):
    got = verdict(enough=row("drives", drives), each_node=True)
    assert told_to_buy([got]) == told
    assert ("more than the 24 drives" in got.told) is (drives > 24)
    shared = verdict(enough=row("drives", drives))
    assert (shared.too_many_drives, shared.amount) == (False, f"{drives} drives")


OPEN_SPEED = "1 TB, speed not judged"


def test_what_was_not_judged_is_told():
    capacity = verdict(enough=row("bytes", 1e12))
    assert told_to_buy([capacity, replace(verdict("not judged"), requirement=READ)]) == OPEN_SPEED
    some = [replace(verdict("unknown"), requirement=WRITE), replace(verdict(), requirement=READ)]
    assert told_to_buy([capacity, *some]) == "1 TB; no figure for checkpoint writes"
    assert verdict("unknown").told == "not published"
    assert verdict("unknown", own=True).told == "not stated"
    assert verdict("not shared", own=True).told == "not shared"


def test_instances_are_counted():
    got = verdict(enough=row("bytes", 2e14), instances=row("instances", 2))
    assert got.told == "enough with 200 TB in 2 instances"
    assert told_to_buy([got, verdict()]) == "200 TB in 2 instances"
    assert got.to_json()["instances"]["value"] == 2


READ, WRITE = "read bandwidth, whole job", "checkpoint write bandwidth, whole job"
REQUESTS, CAPACITY = "read requests, whole job", "usable capacity"
TIB = 2**40


def sheet(text):
    """With a checkpoint written in 90 s of each 1,800 s, as a later section adds it."""
    made = begun(text, until=capacity)
    one = made.add(
        "one checkpoint",
        checkpoint_bytes,
        params="model.params",
        bytes_per_param=made.assume(14, unit="bytes/parameter", source="a test"),
    )
    made.add(
        WRITE,
        write_bytes_per_s,
        checkpoint_bytes=one,
        interval_s=made.assume(1800, unit="s", source="a test"),
        stall_frac="checkpoints.stall_frac",
    )
    made.add("checkpoint write bandwidth, one node", node_write_bytes_per_s)
    return made


def judged(text, tier):
    return {v.requirement: v for v in judge(sheet(text)) if v.tier == tier}


def reading(made):
    """3 GB/s, as a later section adds it."""
    one = made.assume(1, unit="ratio", source="a test")
    return {
        "tokens_per_s": made.assume(3e9, unit="tokens/s", source="a test"),
        "stored_bytes_per_token": one,
        "read_amplification": one,
    }


def own(**cells):
    row = ", ".join(f"{k}: {v}" for k, v in cells.items())
    return f"{{storage: {{candidates: [mine]}}, tiers: [{{name: mine, {row}}}]}}"


def test_every_tier_is_judged_against_every_requirement_the_sheet_has():
    made = sheet("")
    wanted = [(t.name, need) for t in TIERS.rows if t.candidate for need in (CAPACITY, *NEEDS)]
    assert [(v.tier, v.requirement) for v in judge(made)] == [
        pair for pair in wanted if pair[1] in made
    ]


def test_named_candidates_alone_are_judged_own_ones_first():
    text = own(client_read_bytes_per_s="1 GB/s").replace("[mine]", "[mine, s3]")
    assert [t.name for t in candidates(sheet(text))] == ["mine", "S3"]


def test_own_tiers_stand_before_the_tables():
    text = "tiers: [{name: S3, client_read_bytes_per_s: 1 GB/s}]"
    names = [t.name for t in candidates(sheet(text))]
    assert names[0] == "S3"
    assert names.count("S3") == 1
    assert "Aurora DAOS" not in names


def test_a_client_is_held_against_the_share_of_one_node():
    """43.9 MB/s for 128 nodes."""
    got = judged(own(client_read_bytes_per_s="1 MB/s"), "mine")[READ]
    share = got.shortfall.value
    assert (got.outcome, share) == ("not judged", pytest.approx(43.885e6 / 128 / 1e6, rel=1e-3))
    assert got.steps == ()


@pytest.mark.parametrize("speed", [125, 250, 500, 1000])
def test_requests_to_managed_lustre_are_held_against_what_its_maker_publishes(speed):
    """725 reads a second of each TiB at 125 MB/s, and in proportion; it was 'not published'."""
    name = f"GCP Managed Lustre {speed}"
    got = judged(f"storage: {{candidates: [{name}]}}", name)[REQUESTS]
    offered = next(i.value for i in got.shortfall.inputs if i.name == "offered")
    assert (got.outcome, got.limit) == ("enough", "each TiB")
    assert offered == pytest.approx(72000 * 1024**3 / TIB * 725, rel=1e-6)


def test_what_is_provisioned_by_capacity_is_bought_larger():
    made = sheet(own(tib_write_bytes_per_s="100 MB/s"))
    got = {v.requirement: v for v in judge(made)}[WRITE]
    bought, needed = made[CAPACITY].value, made[WRITE].value
    assert needed == pytest.approx(112e9 / 90)
    assert got.shortfall.value == pytest.approx(needed / (bought / TIB * 100e6))
    assert got.enough.value == pytest.approx(needed / 100e6 * TIB)
    assert got.outcome == "short"
    assert got.told == f"short {got.shortfall.value:.3g} x (each TiB); enough with 13.7 TB"


def test_the_least_that_is_sold_is_what_is_offered():
    row = {"tib_write_bytes_per_s": "100 MB/s", "least_bytes": "20 TiB"}
    got = judged(own(**row), "mine")
    assert got[WRITE].outcome == "enough"
    assert got[WRITE].shortfall.value == pytest.approx(112e9 / 90 / 2e9)
    assert got[CAPACITY].enough.value == 20 * TIB


def test_what_would_be_enough_is_told_in_what_is_sold():
    """13.7 TB of 100 MB/s a TiB, in steps of 5 TB."""
    got = judged(own(tib_write_bytes_per_s="100 MB/s", step_bytes="5 TB"), "mine")
    assert got[WRITE].told.endswith(" x (each TiB); enough with 15 TB")
    assert got[CAPACITY].enough.value % 5e12 == 0


def test_more_than_is_sold_is_no_way_out():
    row = {"tib_write_bytes_per_s": "100 MB/s", "most_bytes": "10 TB"}
    got = judged(own(**row), "mine")[WRITE]
    assert (got.outcome, got.enough) == ("short", None)
    assert (got.limit, got.reason) == ("each TiB", "sold up to 10 TB")
    assert got.told.endswith(" x (each TiB; sold up to 10 TB)")
    small = judged(own(**row | {"most_bytes": "0.1 TB"}), "mine")[CAPACITY]
    assert (small.outcome, small.limit) == ("short", "the most that is sold")
    assert small.shortfall.value > 1
    assert small.reason == "sold up to 100 GB"


def test_several_instances_hold_more_than_one_does():
    """13.7 TB of 100 MB/s a TiB, of which an instance has 10 TB at most."""
    row = {"tib_write_bytes_per_s": "100 MB/s", "most_bytes": "10 TB", "several": "true"}
    got = judged(own(**row), "mine")[WRITE]
    assert got.told.endswith("; enough with 13.7 TB in 2 instances")
    least = judged(own(**row, least_bytes="9 TB"), "mine")[WRITE]
    assert least.enough.value == 18e12
    assert least.instances.value == 2


def test_the_least_is_bought_where_less_is_needed():
    got = judged("storage: {candidates: [GCP Managed Lustre 500]}", "GCP Managed Lustre 500")
    assert got[CAPACITY].enough.value == 18_000 * 2**30
    assert to_buy(got.values()).value == max(18_000 * 2**30, sheet("")[CAPACITY].value)


def test_the_limit_furthest_from_enough_decides():
    row = {"client_read_bytes_per_s": "1 GB/s", "total_read_bytes_per_s": "4.3885 MB/s"}
    got = judged(own(**row), "mine")[READ]
    assert got.limit == "all of it"
    assert got.shortfall.value == pytest.approx(10, rel=1e-3)


def test_groups_of_nodes_bring_their_share_each():
    """128 nodes are 4 groups of 32, 3 would be 96."""
    row = {"group_nodes": 32, "group_read_bytes_per_s": "1 MB/s"}
    got = judged(own(**row), "mine")[READ]
    assert got.shortfall.value == pytest.approx(43.885 / 4, rel=1e-3)
    assert got.limit == "32 nodes"


def test_shared_drives_hold_everything_and_local_ones_a_dataset():
    row = {"drive_bytes": "100 GB", "drive_read_bytes_per_s": "1 MB/s"}
    made = sheet("")
    shared = judged(own(**row), "mine")
    assert shared[CAPACITY].enough.value == -(-made["raw capacity"].value // 100e9)
    local = judged(own(**row, local="true"), "mine")
    assert local[CAPACITY].told == "enough with 8 drives in each node"  # 640 GB / 80 %
    assert local[READ].outcome == "enough"
    assert local[READ].shortfall.value == pytest.approx(43.885e6 / 128 / 8e6, rel=1e-3)


def test_checkpoints_in_drives_of_a_node_are_not_shared():
    row = {"drive_bytes": "4 TB", "drive_read_bytes_per_s": "7 GB/s", "local": "true"}
    row["drive_write_bytes_per_s"] = "5 GB/s"
    made = sheet(own(**row))
    made.add("restart read bandwidth", read_bytes_per_s, **reading(made))
    got = {v.requirement: v for v in judge(made)}
    for need in (WRITE, "restart read bandwidth"):
        assert (got[need].outcome, got[need].told) == ("not shared", "not shared")
        assert got[need].shortfall is None
    assert got[READ].outcome == "enough"
    made = sheet(own(**row | {"local": "false"}))
    assert {v.requirement: v for v in judge(made)}[WRITE].outcome == "enough"


def test_drives_are_added_for_requests():
    row = {"drive_bytes": "1 PB", "drive_read_iops": 150}
    plan = own(**row).replace("[mine]", "[mine], redundancy: none")
    got = judged(plan, "mine")[REQUESTS]
    assert got.told == "short 6.87 x (the drives for its capacity); enough with 7 drives"


def test_a_restart_reads_like_training():
    made = sheet(own(total_read_bytes_per_s="1 GB/s"))
    made.add("restart read bandwidth", read_bytes_per_s, **reading(made))
    got = {v.requirement: v for v in judge(made)}["restart read bandwidth"]
    assert (got.told, got.enough) == ("short 3 x (all of it)", None)


@pytest.mark.parametrize(
    ("offered", "outcome"),
    [("3 GB/s", "enough"), ("2_999_999_999 B/s", "short"), ("3_000_000_001 B/s", "enough")],
)
def test_what_is_needed_to_the_byte_is_enough(offered, outcome):
    made = sheet(own(total_read_bytes_per_s=offered))
    made.add("restart read bandwidth", read_bytes_per_s, **reading(made))
    got = {v.requirement: v for v in judge(made)}["restart read bandwidth"]
    assert got.outcome == outcome


@pytest.mark.parametrize(
    ("redundancy", "drives"), [("8+2", 234), ("3 replicas", 560), ("none", 187)]
)
def test_drives_write_parity_and_copies_too(redundancy, drives):
    """46.66 GB/s of checkpoints at 0.25 GB/s a drive; reads touch one copy."""
    row = "{name: mine, drive_bytes: 1 PB, drive_write_bytes_per_s: 0.25 GB/s,"
    row += " drive_read_bytes_per_s: 1 MB/s}"
    made = sheet(
        f"{{tiers: [{row}], model: {{params: 299.96B}},"
        f" storage: {{candidates: [mine], redundancy: {redundancy}}}}}"
    )
    assert made[WRITE].value == pytest.approx(46.66e9, rel=1e-3)
    got = {v.requirement: v for v in judge(made)}
    assert got[WRITE].enough.value == drives
    read = made[READ].value
    assert got[READ].shortfall.value == pytest.approx(read / got[CAPACITY].enough.value / 1e6)


def test_requests_of_an_own_appliance():
    got = judged(own(total_read_iops=103), "mine")[REQUESTS]
    assert got.told == "short 10 x (all of it)"
    assert got.reason == "limit of all of it"


def test_whether_more_than_a_clients_connection_is_known():
    client = {"client_read_bytes_per_s": "1 GB/s"}
    assert judged(own(**client), "mine")[READ].outcome == "not judged"
    both = judged(own(**client, total_read_bytes_per_s="1 TB/s"), "mine")[READ]
    assert both.outcome == "enough"


def test_an_object_store_takes_more_prefixes():
    got = judged(own(prefix_get_per_s=100), "mine")[REQUESTS]
    assert got.told == "short 10.3 x (one prefix); enough with 11 prefixes"


def test_what_nobody_published_is_not_judged():
    got = judged("storage: {candidates: [NFS over RDMA]}", "NFS over RDMA")
    assert (got[WRITE].outcome, got[WRITE].told) == ("unknown", "not published")
    assert got[READ].outcome == "not judged"
    assert got[READ].told.startswith("not judged: one client is fast enough")


def test_a_checkpoint_goes_to_an_object_store_by_its_puts():
    """1.24 GB/s in parts of 64 MiB are 18.5 a second, of 3,500."""
    got = judged("storage: {candidates: [S3]}", "S3")[WRITE]
    assert (got.outcome, got.limit) == ("enough", "one prefix")
    assert got.shortfall.value == pytest.approx(8e9 * 14 / 90 / 2**26 / 3500, rel=1e-3)
    express = judged("storage: {candidates: [S3 Express]}", "S3 Express One Zone")
    assert {v.outcome for v in express.values()} == {"enough"}


def test_unverified_cells_are_flagged_where_they_decide():
    got = judged("storage: {candidates: [local NVMe Gen4]}", "local NVMe Gen4")
    assert got[READ].unverified == ("drive_read_bytes_per_s",)
    assert got[READ].told == "enough (unverified)"
    assert got[REQUESTS].unverified == ()
    assert got[CAPACITY].told == "enough with 1 drive in each node"
    assert judged("", "HDD")[CAPACITY].unverified == ("drive_bytes",)


def test_a_verdict_can_be_traced():
    """Each input that was computed was computed by a row of the sheet or a step."""
    row = "tiers: [{name: mine, tib_write_bytes_per_s: 50 MB/s, most_bytes: 9 TB, several: true}]"
    made = sheet(row)
    rows = {row.name for row in made}
    for verdict in judge(made):
        steps = {step.name for step in verdict.steps}
        for row in (*verdict.steps, verdict.shortfall, verdict.enough, verdict.instances):
            for given in () if row is None else row.inputs:
                assert given.computed_by is None or given.computed_by in rows | steps
        assert verdict.to_json()["told"] == verdict.told


def test_what_to_buy_is_the_most_that_any_requirement_takes():
    got = judged(own(tib_write_bytes_per_s="100 MB/s"), "mine")
    assert to_buy(got.values()) is got[WRITE].enough
    stuck = Verdict(tier="mine", requirement=READ, outcome="short", limit="one client")
    assert to_buy([*got.values(), stuck]) is None
    assert to_buy([]) is None
    prefixes = judged(own(prefix_get_per_s=100), "mine")
    assert to_buy([prefixes[REQUESTS]]) is None
