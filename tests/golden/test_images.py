"""Verdicts on illustrated documents chosen by hand, each for the edge that "why" names.

A line of <stage>.jsonl: the stage's settings, a text, the facts of its images (those of a photo
where nothing is said; an MD5 in hexadecimal), for each image that is removed the reason and what
its receipt says, the reason the document is removed for or null, the text that is kept where it is
edited, and the file of scores where there is one.
"""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines.read.images.batches import illustrated, image
from tests.pipelines.read.images.verdicts import checked
from tokenmill.pipelines.core.step import STEPS

SAYS = {
    "images": ("reason", "value", "detail"),
    "image_once": ("reason", "duplicate_number"),
    "captions": (),
    "image_scores": ("reason", "value"),
    "document_scores": (),
}
REASONS = {
    "images": {
        "url_part",
        "unknown",
        "format",
        "too_small",
        "too_large",
        "too_narrow",
        "too_wide",
        "too_few_bytes",
        "too_few_images",
        "too_many_images",
    },
    "image_once": {"same_url", "same_md5"},
    "image_scores": {"high_nsfw", "low_clip", "no_score"},
    "document_scores": {"high_perplexity", "low_english", "no_score"},
    "captions": {
        "empty",
        "url",
        "file_name",
        "boilerplate",
        "too_few_words",
        "too_many_words",
        "too_few_chars",
        "too_many_chars",
        "repeated_characters",
        "repeated_words",
    },
}


def cases(name):
    lines = Path(__file__).with_name(f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def batch_of(case):
    made = []
    for number, facts in enumerate(case["images"]):
        if isinstance(facts.get("md5"), str):
            facts = {**facts, "md5": bytes.fromhex(facts["md5"])}
        made.append(image(number, **facts))
    return illustrated([(case["text"], made)])


def scores(case, folder):
    if "scores" not in case:
        return {}
    path = folder / "scores.parquet"
    pq.write_table(pa.table(case["scores"]), path)
    return {"file": str(path)}


@pytest.mark.parametrize("name", SAYS)
def test_verdicts(name, tmp_path):
    for case in cases(name):
        stage = STEPS[name].model_validate({**case["settings"], **scores(case, tmp_path)})
        result = checked(stage, batch_of(case))
        removed = result.removed["reason"].to_pylist()
        assert removed == ([] if case["reason"] is None else [case["reason"]]), case
        rows = [] if result.images is None else result.images.to_pylist()
        said = {str(row["number"]): [row[column] for column in SAYS[name]] for row in rows}
        assert said == case["images_removed"], case
        if not removed:
            assert result.kept["text"][0].as_py() == case.get("kept", case["text"]), case


@pytest.mark.parametrize("name", SAYS)
def test_every_reason_has_a_case(name):
    seen = {case["reason"] for case in cases(name)} - {None}
    seen |= {said[0] for case in cases(name) for said in case["images_removed"].values()}
    assert seen == REASONS[name]
