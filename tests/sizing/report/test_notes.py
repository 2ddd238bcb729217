"""What stands beside the headline: of what the capacity consists, on what the rates hang."""

import pytest

from tests.sizing.corpora import estimate, measured
from tests.sizing.sections.sheets import sheet
from tokenmill.sizing.corpus import read_corpus
from tokenmill.sizing.plan.plan import parse_plan
from tokenmill.sizing.report.notes import notes
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.sections.checkpoints import JOB_RATE

ALL = "holds: [dataset, checkpoints, inputs, scratch]"


def told(text, **measurements):
    return notes(requirement_sheet(parse_plan(text, where="p"), measurements))


def test_the_capacity_is_told_by_its_largest_stages_with_scratch_as_one():
    storage = "redundancy: 3 replicas, fill_frac: 0.7"
    first = told(f"corpus: {{tokens: 1T}}\nstorage: {{{storage}, {ALL}}}")[0]
    assert "inputs 4.62 TB" in first
    assert "scratch of preparing " in first
    assert "dataset 4 TB" in first
    assert "is filled to 70 %, raw capacity adds redundancy (3 replicas)" in first
    assert "scratch" not in told("corpus: {tokens: 1T}")[0]


def test_growth_is_told_with_what_it_comes_to():
    growth = "storage: {growth_frac: 30%, growth_years: 3}"
    first = told(f"corpus: {{tokens: 3T}}\n{growth}")[0]
    assert first.startswith("The capacity is for 12.5 TB at once: dataset 12 TB (")
    assert "; it grows by 30 % a year for 3 years to 27.4 TB; usable capacity is filled" in first
    one = told("storage: {growth_frac: 0.5}")[0]
    assert "; it grows by 50 % a year for 1 year to " in one
    assert "grows" not in told("storage: {growth_years: 3}")[0]


def test_stages_of_a_run_are_scratch_and_sources_are_added_up():
    assert (
        "scratch of preparing 3 MB"
        in told(f"model: {{params: 1M}}\nstorage: {{{ALL}}}", corpus=measured())[0]
    )
    mixed = "sources: [{name: a, tokens: 1T}, {name: b, tokens: 2T}]"
    assert "dataset 12 TB (" in told(mixed)[0]


def test_the_shares_of_all_stages_add_up_to_one():
    first = told(f"corpus: {{tokens: 1T}}\nstorage: {{{ALL}}}")[0]
    shares = [int(part.partition(" %")[0]) for part in first.split("(")[1:5]]
    assert 97 <= sum(shares) <= 101


def test_the_write_bandwidth_names_its_interval_its_wait_and_the_best():
    best = told("model: {params: 8B}\ncluster: {count: 2048}")[1]
    assert "one each 2.44 hours (the best, at a failure each 24.4 hours)" in best
    most = told("model: {params: 8B}")[1]
    assert (
        "one each 3 hours (the longest, our choice: checkpoints.most_interval_s; a failure each"
        " 48.8 hours would do with fewer)" in most
    )
    assert most.endswith("Waste of time is 8.64 % at that interval")
    short = told("model: {params: 8B}\ntraining: {tokens: 10B}")[1]
    assert "one each 19.7 minutes (the whole run, at a failure each 48.8 hours)" in short
    second = told("checkpoints: {interval_s: 1800}")[1]
    assert "training waits 5 % of the time (our choice: checkpoints.stall_frac; at 1 %" in second
    assert "Waste of time is 6.08 % at that interval and 3.77 % at the best, 93.8 minutes" in second
    stated = told("checkpoints: {interval_s: 3600, stall_frac: 0.01}")[1]
    assert "one each 60 minutes (as stated)" in stated
    assert "training waits 1 % of the time. " in stated


@pytest.mark.parametrize("stated", ["", "interval_s: 1800", "write_bytes_per_s: 1 GB/s"])
def test_what_a_wait_of_our_choice_hides_is_told(stated):
    """A wait of 1 % takes 25 times the rate where the interval follows from it, else 5 times."""
    job = "cluster: {count: 2048}\ncheckpoints: "
    made = sheet(f"{job}{{{stated}}}")
    short = sheet(f"{job}{{{f'{stated}, ' if stated else ''}stall_frac: 1%}}")
    rate, most = made[JOB_RATE], short[JOB_RATE]
    ratio = 5 if stated else 25
    assert most.value == pytest.approx(ratio * rate.value)
    told_of = f"at 1 % storage must take {most.shown}, {ratio} times as much)"
    assert told_of in notes(made)[1]
    assert "our choice" not in notes(short)[1]
    day = told("checkpoints: {interval_s: 1 day}")[1]
    assert "waits 0.694 % of the time (our choice, ten minutes at most: checkpoints.stall_" in day


def test_beside_other_jobs_the_write_bandwidth_and_waste_are_told_of_the_plan_s_own():
    plan = "model: {params: 405B}\ncluster: {count: 16384}\ncheckpoints: {interval_s: 1800}"
    alone = told(plan)
    beside = told(f"{plan}\njobs: [{{name: small, cluster: {{count: 512}}}}]")
    assert beside[1].startswith("The figures are of jobs that run at the same time: ")
    assert "the training time is that of this plan, with failures that of the longest" in beside[1]
    assert beside[2:4] == [f"Of this plan alone: t{said[1:]}" for said in alone[1:3]]
    assert len(beside) == len(alone) + 1
    elsewhere = told("storage: {holds: dataset}\njobs: [{name: small, model: {params: 8B}}]")
    assert not any("alone" in said for said in elsewhere)


def test_an_interval_that_follows_from_the_rate_on_offer_says_so():
    second = told("checkpoints: {write_bytes_per_s: 1 GB/s}")[1]
    assert "(the best at the 1 GB/s that the plan says storage takes)" in second


def test_an_asynchronous_one_has_part_of_the_interval_and_less_would_do():
    second = told("checkpoints: {mode: async, interval_s: 1800}\nmodel: {params: 405B}")[1]
    assert "storage has 10 % of the interval (our choice: checkpoints.drain_frac)" in second
    assert "with all of it 3.15 GB/s would do" in second
    offered = "checkpoints: {mode: async, write_bytes_per_s: 10 GB/s}\ncluster: {count: 16384}"
    whole = told(f"{offered}\nmodel: {{params: 405B}}")[1]
    assert "for which storage has all of the interval. " in whole
    assert "at the best, 9.45 minutes" in whole


def test_a_guessed_price_is_named_until_it_is_stated():
    assert told("")[-1].endswith("a guess for a rented H100: state prices.accelerator_hour")
    assert not any("guess" in sentence for sentence in told("prices: {accelerator_hour: 3}"))


def test_a_waste_far_from_the_published_one_is_explained():
    big = "model: {params: 405B}\ncluster: {count: 16384}\ncheckpoints: {interval_s: 1800}"
    third = told(big)[2]
    assert third.startswith("The waste is waiting for checkpoints 5 %, work done again 8.19 %,")
    assert "less than 10 % on 16,384 H100" in third
    assert "a restart takes 16.7 minutes (assumed: checkpoints.restart_s)" in third
    assert not any("The waste is" in said for said in told("cluster: {count: 8}"))


def test_it_is_told_of_an_estimate_too():
    assert "dataset 8 TB" in told("", corpus=read_corpus(estimate(), where="e"))[0]
