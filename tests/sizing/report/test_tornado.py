"""Which inputs move the capacity and the reads most."""

import pytest

from tests.sizing.corpora import measured
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.tornado import MOST, MOVED, moved_by, tornado, tornado_table
from tokenmill.sizing.requirements import requirement_sheet


def sheet(text, **measurements):
    return requirement_sheet(parse_plan(text, where="p"), measurements)


def by_name(made):
    return {moved.name: moved for moved in tornado(made)}


def test_five_inputs_are_told_the_greatest_first_each_as_if_varied_alone():
    made = sheet("corpus: {tokens: 1T}")
    found = tornado(made)
    assert len(found) == MOST
    assert [m.most for m in found] == sorted((m.most for m in found), reverse=True)
    fill = by_name(made)["storage.fill_frac"]
    raw = made["raw capacity"].value
    assert fill.figures[0] == pytest.approx((raw / 0.8, raw / 1.2))
    count = sheet("corpus: {tokens: 1T}\ncluster: {count: 819}")["read bandwidth, whole job"].value
    assert by_name(made)["cluster.count"].figures[1][0] == pytest.approx(count)


def test_an_input_with_an_interval_is_varied_within_it():
    made = sheet("cluster: {mfu: {value: 0.4, low: 0.1, high: 0.5}}")
    mfu = by_name(made)["cluster.mfu"]
    assert mfu.ends == "10 to 50 %"
    read = made["read bandwidth, whole job"].value
    assert mfu.figures[1] == pytest.approx((read / 4, read * 1.25))


def test_what_was_measured_moves_figures_by_its_interval():
    wide = {"value": 2.2, "low": 0.5, "high": 9.0}
    made = sheet("corpus: {tokens: 1T}", corpus=measured(stored_bytes_per_token=wide))
    found = tornado(made)[0]
    assert (found.name, found.ends) == ("docs: stored_bytes_per_token", "95 % interval")
    shown = tornado_table(made)
    assert [c.name for c in shown.columns][2:] == list(MOVED)


def test_of_several_jobs_the_plan_s_own_settings_are_varied():
    """About what the plan states, not about what a job does."""
    made = sheet("jobs: [{name: b, training: {read_amplification: 2}}]")
    moved = {moved.name: moved for moved in moved_by(made)}
    assert moved["training.read_amplification"].ends == "1.04 to 1.56"
    photos = "{name: b, corpus: {image_text: {image_bytes: 1 MB}}, training: {tokens: 1B}}"
    made = sheet(f"checkpoints: {{keep_every_s: 1h}}\njobs: [{photos}]")
    assert {key for key in (moved.name for moved in moved_by(made)) if "image" in key} == set()
    assert "training.tokens" not in {moved.name for moved in moved_by(made)}
    assert tornado_table(made).caption.endswith("of the plan's own settings")


def test_a_whole_number_is_varied_to_whole_ones_and_ranked_as_if_by_a_fifth():
    made = sheet("checkpoints: {keep_last: 3}\ncluster: {mfu: 0.4}")
    moved = {m.name: m for m in moved_by(made)}
    kept, fill = moved["checkpoints.keep_last"], moved["storage.fill_frac"]
    assert kept.ends == "2 to 4 checkpoints"
    assert (kept.fair, fill.fair) == (pytest.approx(0.6), 1.0)  # a fifth, of a third


@pytest.mark.parametrize(("n", "ends"), [(1, "1 accelerator to 2"), (2, "1 accelerator to 3")])
def test_one_and_two_are_varied_too(n, ends):
    (moved,) = (m for m in moved_by(sheet(f"cluster: {{count: {n}}}")) if m.name == "cluster.count")
    assert (moved.ends, moved.fair) == (f"{ends} accelerators", pytest.approx(0.2 * n))


def test_inputs_are_varied_without_intervals_for_values_do_not_hang_on_them():
    wide = {"value": 2.2, "low": 0.5, "high": 9.0}
    corpus = measured(stored_bytes_per_token=wide)
    one, other = sheet("{}", corpus=corpus), sheet("{}", corpus=corpus.without_intervals())
    assert [row.value for row in one] == [row.value for row in other]
    assert "docs: stored_bytes_per_token" in one["read bandwidth, whole job"].spread
    assert not any("docs: stored_bytes_per_token" in row.spread for row in other)
