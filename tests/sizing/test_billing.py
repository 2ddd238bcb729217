"""What a tier costs: by what its seller bills, worked out by hand beside it."""

import json

import pytest

from tokenmill.sizing.billing import bills
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.data import sheet_json
from tokenmill.sizing.report.outline import sheet_markdown
from tokenmill.sizing.report.tiers import COSTS, bill_table
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.sections.checkpoints import WITH_FAILURES
from tokenmill.sizing.verdict import judge, to_buy

PLAN = """
corpus: {tokens: 1T}
model: {params: 8B}
cluster: {count: 64}
training: {epochs: 2}
prices: {egress: %s}
storage: {candidates: [%s], redundancy: %s, growth_frac: 50%%}
tiers:
  - {name: filer, total_read_bytes_per_s: 10 GB/s, total_write_bytes_per_s: 10 GB/s,
     total_read_iops: 1000000, billed: %s, usd_per_tb_month: 40}
  - {name: disks, drive_bytes: 20 TB, drive_read_bytes_per_s: 250 MB/s,
     drive_write_bytes_per_s: 250 MB/s, billed: raw, usd_per_tb_month: 5}
"""
MONTH = 365.25 / 12


def of(tier, *, egress="false", redundancy="8+2", billed="usable"):
    text = PLAN % (egress, tier, redundancy, billed)
    sheet = requirement_sheet(parse_plan(text, where="p"), {})
    return sheet, bills(sheet, judge(sheet))


@pytest.mark.parametrize("redundancy", ["none", "3 replicas"])
def test_an_object_store_bills_what_is_stored_whatever_room_is_bought_beside_it(redundancy):
    """Priced on usable capacity it was 1.56 times too dear; on raw, three times that."""
    sheet, (bill,) = of("S3", redundancy=redundancy)
    stored, months = sheet["stored in all"].value / 1e12, sheet[WITH_FAILURES].value / MONTH
    stored *= 1.5  # by its growth, as the capacity that others bill has room for
    assert bill.much.value == pytest.approx(sheet["usable capacity"].value * 0.8)
    assert bill.month.value == pytest.approx(stored * 23)
    assert bill.storage.value == pytest.approx(stored * 23 * months)


def test_a_file_system_in_a_cloud_bills_what_is_bought_for_its_speed_too():
    sheet, (bill,) = of("FSx Lustre 125")
    bought = to_buy(judge(sheet))
    assert bill.much == bought
    assert bill.month.value == pytest.approx(bought.value / 1e12 * 145)
    assert (bill.requests, bill.moved) == (None, None)
    assert bill.total.value == pytest.approx(bill.storage.value)


def test_raw_bytes_are_those_of_drives_or_of_redundancy():
    sheet, (disks,) = of("disks")
    n = to_buy(judge(sheet)).value
    assert disks.month.value == pytest.approx(n * 20 * 5)
    sheet, (filer,) = of("filer", billed="raw")
    assert filer.much.value == pytest.approx(sheet["usable capacity"].value * 1.25)
    assert filer.much.value == pytest.approx(sheet["raw capacity"].value)
    _, (same,) = of("filer", billed="usable")
    assert filer.month.value == pytest.approx(1.25 * same.month.value)


def test_requests_are_paid_and_what_leaves_only_where_the_plan_says_so():
    sheet, (bill,) = of("S3")
    gets = sheet["requests, all of training"].value
    puts = sheet["requests of checkpoints"].value
    assert bill.requests.value == pytest.approx((gets * 0.0004 + puts * 0.005) / 1000)
    assert bill.moved is None
    sheet, (bill,) = of("S3", egress="true")
    assert bill.moved.value == pytest.approx(sheet["read in training"].value / 1e9 * 0.09)
    parts = (bill.storage, bill.requests, bill.moved)
    assert bill.total.value == pytest.approx(sum(part.value for part in parts))


def test_requests_of_several_jobs_are_all_paid():
    jobs = "jobs: [{name: b, copies: 3, training: {tokens: 100B}}]\nstorage: {candidates: [S3]}"
    sheet = requirement_sheet(parse_plan(f"corpus: {{tokens: 1T}}\n{jobs}", where="p"), {})
    (bill,) = bills(sheet, judge(sheet))
    names = ("requests, all of training", "requests of checkpoints")
    gets, puts = (sum(n * own[name].value for n, own in sheet.jobs.values()) for name in names)
    assert bill.requests.value == pytest.approx((gets * 0.0004 + puts * 0.005) / 1000)


def test_bills_of_several_jobs_last_as_long_as_the_longest_and_have_intervals():
    jobs = "jobs: [{name: b, copies: 3, training: {tokens: 9T}}]\nstorage: {candidates: [S3]}"
    mfu = "cluster: {mfu: {value: 0.4, low: 0.3, high: 0.5}}"
    text = f"corpus: {{tokens: 1T}}\n{mfu}\n{jobs}"
    sheet = requirement_sheet(parse_plan(text, where="p"), {})
    (bill,) = bills(sheet, judge(sheet))
    days = sheet.jobs["b"][1][WITH_FAILURES]
    assert sheet[WITH_FAILURES].value == days.value
    assert bill.storage.value == pytest.approx(bill.month.value * days.value / MONTH)
    assert bill.requests.spread.keys() == {"cluster.mfu"}
    puts = next(step for step in bill.steps if step.name == "S3: put").inputs[0]
    assert puts.computed_by == "requests of checkpoints, all jobs"


def test_s3_express_bills_each_byte_that_is_read_and_written():
    sheet, (bill,) = of("S3 Express")
    read, written = (sheet[n].value for n in ("read in training", "checkpoint bytes written"))
    assert bill.moved.value == pytest.approx((read * 0.0006 + written * 0.0032) / 1e9)


def test_no_price_no_bill_nor_where_no_amount_is_enough():
    assert of("NFS nconnect")[1] == ()
    sheet, made = of("NFS nconnect")
    assert bill_table(made) is None
    assert COSTS not in sheet_markdown(sheet)
    assert of("local NVMe Gen4")[1] == ()


@pytest.mark.parametrize(
    ("cells", "lacking"),
    [("usd_per_tb_month: 3", "billed"), ("billed: raw, usd_per_1000_get: 1", "usd_per_tb_month")],
)
def test_a_price_tells_what_it_is_of(cells, lacking):
    with pytest.raises(PlanError, match=f"it has a price; give {lacking}"):
        parse_plan(f"tiers: [{{name: ours, {cells}}}]", where="p")


def test_the_document_shows_what_each_costs_and_who_says_so():
    sheet, made = of("S3, FSx Lustre 250, filer")
    rows = {row[0]: row for row in bill_table(made).rows}
    assert list(rows) == ["S3", "FSx Lustre 250", "filer"]
    assert rows["S3"][1].endswith(" stored")
    assert rows["FSx Lustre 250"][-1].endswith("*")  # from memory
    assert not rows["S3"][-1].endswith("*")
    text = sheet_markdown(sheet)
    assert COSTS in text
    assert "as quoted" in text
    data = json.loads(json.dumps(sheet_json(sheet)))["bills"]
    assert [bill["tier"] for bill in data] == list(rows)
    assert data[1]["unverified"] == ["usd_per_tb_month"]
