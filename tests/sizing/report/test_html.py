"""The page of a sheet: balanced, self-contained, with its plots, for any plan."""

import pytest

from tests.sizing.corpora import measured
from tests.sizing.document.pages import Page, check_self_contained, check_structure
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.html import sheet_html
from tokenmill.sizing.report.tornado import MOST, MOVED, most_of
from tokenmill.sizing.requirements import example_names, requirement_sheet, size
from tokenmill.sizing.units import format_quantity

HOSTILE = '</title><script>alert("1")</script>'
ALL_PLOTS = [
    *("raw-swings-title", "read-swings-title"),
    *("tiers-bandwidth-title", "interval-waste-title", "capacity-parts-title"),
]


def plots(html):
    return [attrs["aria-labelledby"] for tag, attrs in Page(html).tags if tag == "svg"]


def described(html, key):
    """What a plot says to a reader who does not see it."""
    return html.partition(f'<desc id="{key}-desc">')[2].partition("</desc>")[0]


@pytest.mark.long_but("None", "image-text-8b-1024-h100")  # the least and the longest sheet
@pytest.mark.parametrize("name", [None, *example_names()])
def test_a_page_is_whole_and_needs_nothing_else(name):
    sheet = size(name)
    html = sheet_html(sheet)
    check_structure(html)
    check_self_contained(html)
    assert plots(html) == ALL_PLOTS
    text = set(Page(html).text)
    assert {row.name for row in sheet} <= text
    assert {format_quantity(row.value, row.unit) for row in sheet} <= text


def test_text_from_outside_stays_text():
    corpus = measured(name=HOSTILE, stored_bytes={HOSTILE: 5, "dataset": 2})
    plan = parse_plan(f"tiers: [{{name: '{HOSTILE}', tib_read_bytes_per_s: 1 GB/s}}]", where="p")
    html = sheet_html(requirement_sheet(plan, {"corpus": corpus}))
    page = Page(html)
    assert "script" not in {tag for tag, _ in page.tags}
    assert sum(HOSTILE in shown for shown in page.text) > 3


def test_the_first_screen_answers_what_how_fast_why_and_what_would_change_it():
    """In this order, before any other section; how sure, as intervals of the large figures."""
    html = sheet_html(size(changes={"cluster.mfu": {"value": 0.4, "low": 0.3, "high": 0.5}}))
    first = html.partition('<section id="headline">')[0]
    said = (
        "What to buy: ",
        "The capacity is for ",
        "<dl>",
        "raw-swings-title",
        "read-swings-title",
    )
    at = [first.find(words) for words in said]
    assert -1 not in at
    assert at == sorted(at)
    assert "to" in first.partition("read bandwidth, whole job</dt>")[2].partition("</div>")[0]


def test_each_figure_is_beside_the_five_inputs_that_move_it_most():
    sheet = size(changes={"storage.growth_frac": 0.5})
    for name, key in zip(MOVED, ("raw-swings", "read-swings"), strict=True):
        told = described(sheet_html(sheet), key).split("; ")
        assert told[0] == f"this plan {sheet[name].shown}"
        found = most_of(sheet, name)
        assert 0 < len(found) <= MOST
        assert len(told) == 1 + len(found)
        spans = [max(abs(end - sheet[name].value) for end in ends) for _, ends in found]
        assert spans == sorted(spans, reverse=True)
    assert any(moved.name == "storage.fill_frac" for moved, _ in most_of(sheet, MOVED[0]))
    assert all(moved.name != "storage.fill_frac" for moved, _ in most_of(sheet, MOVED[1]))


def test_capacity_goes_from_what_is_stored_to_what_is_bought():
    sheet = size(changes={"storage.growth_frac": 0.5, "storage.growth_years": 1})
    told = dict(
        part.split(": ") for part in described(sheet_html(sheet), "capacity-parts").split("; ")
    )
    stored = sheet["stored in all"].value
    assert told["growth"] == f"+{format_quantity(0.5 * stored, 'bytes')}"
    assert told["kept free"] == f"+{format_quantity(1.5 * stored / 0.8 * 0.2, 'bytes')}"
    assert told["redundancy"] == f"+{format_quantity(1.5 * stored / 0.8 * 0.25, 'bytes')}"
    assert told["raw capacity"] == format_quantity(1.5 * stored / 0.8 * 1.25, "bytes")
    plain = described(sheet_html(size(changes={"storage.redundancy": "none"})), "capacity-parts")
    assert "growth" not in plain
    assert "redundancy" not in plain


def test_a_tier_is_drawn_with_what_the_whole_job_gets_of_it():
    tiers = {"storage.candidates": ["FSx Lustre 250", "NFS over RDMA"]}
    sheet = size(changes={**tiers, "training.days": 2})
    told = described(sheet_html(sheet), "tiers-bandwidth")
    step = 2400 * 2**30  # that it is sold in
    tib = -(-sheet["usable capacity"].value // step) * step / 2**40
    rate = format_quantity(tib * 250e6, "bytes/s")
    assert f"FSx Lustre 250: reads {rate}, writes {rate}" in told
    assert "NFS over RDMA" not in told  # of whose servers nothing is known
    assert "nothing is known of servers: NFS over RDMA" in sheet_html(sheet)
    assert told.startswith("training reads 43.9 MB/s; checkpoints write 207 MB/s; restart reads")


def test_the_interval_of_the_plan_and_the_best_one_are_marked():
    stated = size(changes={"checkpoints.interval_s": 1800})
    told = described(sheet_html(stated), "interval-waste")
    assert told.endswith("Young&#x27;s optimum 93.8 minutes; this plan 30 minutes")


def test_a_plot_of_tiers_places_only_what_is_known():
    """NFS stood there with the link of one client, beside 63 GB/s of checkpoint writes."""
    text = "storage: {candidates: ['NFS, one connection', S3]}"
    html = sheet_html(requirement_sheet(parse_plan(text, where="p"), {}))
    told = described(html, "tiers-bandwidth")
    assert "S3: reads " in told
    assert "NFS" not in told
    assert "not placed, as nothing is known of servers: NFS, one connection" in html


def test_no_tier_no_plot_of_tiers():
    text = "tiers: [{name: ours}]\nstorage: {candidates: [ours]}"
    html = sheet_html(requirement_sheet(parse_plan(text, where="p"), {}))
    assert plots(html) == [plot for plot in ALL_PLOTS if plot != "tiers-bandwidth-title"]


def test_warnings_are_counted_at_the_top():
    assert 'class="trouble"' not in sheet_html(size())
    html = sheet_html(size(changes={"cluster.mfu": 0.9}))
    assert '<a href="#warnings">warnings</a></dt><dd>1 ' in html


def test_a_run_of_all_waste_still_has_a_page():
    changes = {"cluster.count": 1_000_000, "cluster.mttf_hours": 1000}
    html = sheet_html(size(changes=changes))
    check_structure(html)
    assert plots(html) == ALL_PLOTS
