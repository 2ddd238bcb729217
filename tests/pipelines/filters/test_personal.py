"""What is masked is somebody's: precision and recall on lines that were marked by hand."""

import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from tests.strategies import document_batch
from tokenmill.dedup.arrays import text_buffers
from tokenmill.pipelines.filters.pii import Pii

MARKED = re.compile(r"⟦(\w+) (.*?)⟧")
LINES = (Path(__file__).parent / "personal.txt").read_text("utf-8").splitlines()[1:]
BOUNDS = {  # precision and recall, with context, at least; precision by shape alone, at most
    "email": (0.90, 0.90, 0.35),
    "ipv4": (0.95, 1.0, 0.40),
    "ipv6": (1.0, 1.0, 1.0),
    "international": (1.0, 1.0, 0.90),
    "north_american": (1.0, 1.0, 0.60),
}


def found(line, rules):
    """Kind and text of all that a step with all kinds finds in the line as it was written."""
    pii = Pii(rules=rules, ipv6=True, phones=("international", "north_american"))
    text = pa.array([line])
    data = text_buffers(text).data
    return Counter(
        (finder.kind.removesuffix("s"), data[start:end].tobytes().decode())
        for finder in pii.finders()
        for start, end in zip(*pii.spans(finder, text), strict=True)
    )


@pytest.fixture(scope="module", params=["context", "datatrove"])
def scores(request):
    """By kind: precision and recall; which rules they are of."""
    counts = {kind: Counter() for kind in BOUNDS}
    for line in LINES:
        ours, wanted = found(MARKED.sub(r"\2", line), request.param), Counter(MARKED.findall(line))
        for name, finds in (("found", ours), ("marked", wanted), ("both", ours & wanted)):
            for (kind, _), n in finds.items():
                counts[kind][name] += n
    of = {k: (n["both"] / n["found"], n["both"] / n["marked"]) for k, n in counts.items()}
    return request.param, of


@pytest.mark.parametrize("kind", BOUNDS)
def test_what_is_masked_is_somebodys(scores, kind):
    rules, of = scores
    precision, recall = of[kind]
    least_precision, least_recall, most_by_shape = BOUNDS[kind]
    if rules == "context":
        assert precision >= least_precision
        assert recall >= least_recall
    else:
        assert precision <= most_by_shape


@pytest.mark.parametrize("first", [0, 1])
def test_what_stands_beside_is_looked_for_in_the_same_document_alone(first):
    texts = ["version ", "81.20.30.40", "-1_amd64.deb", "git", "jane@firm.de", ":/var/log"]
    batch = document_batch(texts)
    masked = Pii(email_replacements=("M",), ipv4_replacements=("N",))(batch.slice(first))
    assert masked.kept["text"].to_pylist()[-5:] == ["N", *texts[2:4], "M", texts[5]]


def test_a_text_of_nothing_but_addresses_takes_linear_time():
    masked = Pii()(document_batch(["a@b.co " * 50_000]))
    assert masked.notes == {"pii_emails": 50_000}
