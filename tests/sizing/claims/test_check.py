"""Every published claim is reproduced or explained; what breaks a formula turns its claim red."""

import re
from collections import Counter

import pytest
import yaml
from pydantic import ValidationError

from tokenmill.sizing.claims import check, check_all
from tokenmill.sizing.claims.claim import Claim, claims, read_claims
from tokenmill.sizing.units import UnitError

OPT = {
    "id": "opt",
    "document": "a document",
    "claim": "180 billion tokens are 720 GB",
    "figures": [
        {
            "published": "720 GB",
            "call": "capacity.text_bytes",
            "inputs": {"corpus_tokens": "180e9", "text_bytes_per_token": 4},
        }
    ],
}
IN_GIB = {**OPT["figures"][0], "published": "720 GiB"}
FIVE = {**IN_GIB, "inputs": {"corpus_tokens": "180e9", "text_bytes_per_token": 4.2949673}}


def verdict(**changed):
    return check(Claim.model_validate(OPT | changed))


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_a_published_claim_is_reproduced_or_explained(claim):
    verdict = check(claim)
    found = "worked out" if claim.worked_out else "agrees"
    assert verdict.verdict == (found if claim.contradiction is None else "explained"), verdict


def test_what_a_document_does_not_print_is_told_apart():
    for claim in claims():
        says = any(word in (claim.note or "") for word in ("worked out", "fitted"))
        assert claim.worked_out == says, claim.id


def test_the_documents_and_how_many_claims_each_has():
    """57 of the five documents and 16 rows of tables, and what others ran, built or measured."""
    count = Counter(v.document.partition(",")[0] for v in check_all())
    assert count["Bekman"] == 18 + 4  # four of his book
    assert count["Skvortsov"] == 3
    assert count["SemiAnalysis"] == 5
    assert count["Cockcroft"] == 11 + 7 + 9
    assert sum(v.document == "Lockwood, AI workloads" for v in check_all()) == 23
    assert len({v.id for v in check_all()}) == len(check_all())


def test_a_dozen_submissions_are_recomputed_in_what_they_wrote_and_what_they_fed():
    """Checkpoint bandwidths, and accelerators of a node, by the files that submitters sent in."""
    sent = [c for c in claims() if c.id.startswith("submission-")]
    called = [{f.call for f in c.figures} for c in sent]
    assert sum("checkpoint.written_bytes_per_s" in one for one in called) >= 10
    assert sum("claims.fed_accelerators" in one for one in called) >= 5
    assert len({c.id.split("-")[1] for c in sent}) >= 10  # submitters


def test_what_is_within_its_tolerance_agrees():
    got = verdict()
    assert (got.verdict, got.why) == ("agrees", "")
    assert got.figures[0].computed == "720 GB"
    assert verdict(note="as told").why == "as told"


@pytest.mark.parametrize(
    ("tolerance", "published", "agrees"),
    [
        ("exact", "720.7 GB", True),
        ("exact", "721 GB", False),
        ("rounded", "734 GB", True),
        ("rounded", "735 GB", False),
        ("loose", "757 GB", True),
        ("loose", "758 GB", False),
        ("printed", "0.72 TB", True),
        ("printed", "0.7 TB", True),
        ("printed", "0.71 TB", False),
    ],
)
def test_tolerances(tolerance, published, agrees):
    figure = {**OPT["figures"][0], "published": published}
    got = verdict(figures=[figure], tolerance=tolerance)
    assert (got.verdict == "agrees") is agrees


@pytest.mark.parametrize(("beyond", "agrees"), [(0.4, True), (0.6, False)])
def test_half_a_printed_digit_is_its_billionth_wider(beyond, agrees):
    """For what floats lose: half a GB, and half a byte."""
    inputs = {"corpus_tokens": str((700.5e9 + beyond) / 4), "text_bytes_per_token": 4}
    figure = {**OPT["figures"][0], "published": "700 GB", "inputs": inputs}
    got = verdict(figures=[figure], tolerance="printed")
    assert (got.verdict == "agrees") is agrees


@pytest.mark.parametrize(
    "wrong",
    [
        "capacity.dataset_bytes",  # takes other arguments
        "capacity.no_such_function",
        "no_such_module.text_bytes",
    ],
)
def test_a_function_that_does_not_take_it_is_an_error(wrong):
    figure = {**OPT["figures"][0], "call": wrong}
    with pytest.raises((TypeError, AttributeError, ModuleNotFoundError)):
        verdict(figures=[figure])


def test_a_wrong_function_turns_a_claim_red():
    """The interval that Young proposed, and the one that Daly did: same arguments."""
    figure = {
        "published": "1200 s",
        "call": "failures.young_interval_s",
        "inputs": {"stall_s": 100, "job_mttf_hours": 2},
    }
    assert verdict(figures=[figure]).verdict == "agrees"
    red = verdict(figures=[figure | {"call": "failures.daly_interval_s"}])
    assert (red.verdict, red.why) == ("differs", "off by -5.5%")


def doubled(figure):
    number = re.search(r"\d[\d,]*(\.\d+)?", figure["published"])
    value = float(number[0].replace(",", ""))
    return {**figure, "published": figure["published"].replace(number[0], f"{2 * value:.9g}", 1)}


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_no_claim_agrees_whatever_is_computed(claim):
    """Twice the published figures: what agreed differs, what was explained no longer is."""
    data = claim.model_dump(exclude_none=True)
    against = data.get("contradiction", {})
    told = against if against.get("figures") else data
    told["figures"] = [doubled(figure) for figure in told["figures"]]
    assert check(Claim.model_validate(data)).verdict == "differs"


def test_a_contradiction_that_agrees_is_red():
    got = verdict(contradiction={"why": "they meant GiB", "figures": [OPT["figures"][0]]})
    assert got.verdict == "differs"
    assert got.why == "agrees, but was told apart: they meant GiB"


def test_a_contradiction_is_explained_by_figures_that_reconcile_it():
    got = verdict(figures=[IN_GIB], contradiction={"why": "binary", "figures": [FIVE]})
    assert (got.verdict, got.why) == ("explained", "binary")
    assert got.reconciled[0].computed == "720 GiB"


def test_an_explanation_that_no_longer_holds_is_red():
    got = verdict(figures=[IN_GIB], contradiction={"why": "binary", "figures": [IN_GIB]})
    assert got.verdict == "differs"
    assert got.why == "no longer explained, off by -6.9%: binary"


def test_of_an_unknown_cause_the_size_must_hold():
    known = verdict(figures=[IN_GIB], contradiction={"why": "unknown", "ratio": 0.93132})
    assert known.verdict == "explained"
    moved = verdict(figures=[IN_GIB], contradiction={"why": "unknown", "ratio": 0.95})
    assert moved.why == "off by 0.9313, not 0.95: unknown"
    assert moved.verdict == "differs"


def test_unverified_cells_are_told_wherever_they_go_in():
    told = {v.id: v.unverified for v in check_all() if v.unverified}
    assert told["a100-prices"] == ("A100 SXM 80GB: scale_out_bits_per_s",)
    assert "resnet-node" not in told


def test_bits_are_not_compared_with_bytes():
    with pytest.raises(UnitError, match="'720 Gb/s' is in bits/s, computed in bytes"):
        verdict(figures=[{**OPT["figures"][0], "published": "720 Gb/s"}])
    ports = {"published": "1 GB/s", "call": "claims.ports_bytes_per_s"}
    with pytest.raises(UnitError, match="port_bits_per_s is in bits/s, got '1 GB/s' in bytes/s"):
        verdict(figures=[{**ports, "inputs": {"ports": 8, "port_bits_per_s": "1 GB/s"}}])


def test_days_and_hours_are_converted_between_calls():
    """An argument in hours takes a call that gives days."""
    figure = {
        "published": "3600 TFLOP/s",
        "call": "compute.achieved_flops_per_s",
        "inputs": {
            "trained_tokens": 86.4e9 * 3.6,
            "train_flops_per_token": "1 GFLOP",
            "accelerator_hours": {
                "call": "training.training_days",
                "inputs": {"trained_tokens": 86.4e9, "tokens_per_s": 1e6},
            },
        },
    }
    assert verdict(figures=[figure], tolerance="loose").figures[0].computed == "3,600 TFLOP/s"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"figures": [{"published": "1 GB"}]}, "'1 GB': give either call or cell"),
        ({"contradiction": {"why": "?"}}, "give figures that reconcile it, or the ratio"),
        ({"figures": []}, "at least 1 item"),
    ],
)
def test_a_claim_that_is_not_whole_is_refused(changed, message):
    with pytest.raises(ValidationError, match=message):
        Claim.model_validate(OPT | changed)


def test_claims_take_the_document_of_their_file():
    text = yaml.safe_dump({"document": "all", "claims": [{**OPT, "document": "one"}]})
    assert read_claims(yaml.safe_load(text))[0].document == "one"
    bare = {k: v for k, v in OPT.items() if k != "document"}
    assert read_claims({"document": "all", "claims": [bare]})[0].document == "all"
