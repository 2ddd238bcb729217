"""Duplicates on the report's page: clusters by their documents, similarities, pairs side by side.

All text in it is untrusted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tokenmill.pipelines.prepare.inspect import Stretch, difference
from tokenmill.pipelines.prepare.report.model import Clusters, Report, Shown
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar
from tokenmill.sizing.document.page import figure
from tokenmill.sizing.document.passages import named
from tokenmill.sizing.document.section import (
    NONE,
    Comparison,
    Comparisons,
    Passage,
    Piece,
    Table,
    table,
)
from tokenmill.sizing.document.svg import Axis

MOST_CLUSTERS = 15
FIRST_WORDS = 60  # characters of a document that tell which it is
CONTEXT = 300  # characters of what two texts have in common that are shown before and behind
N_OPEN = 1  # pairs that stand unfolded

DOCUMENTS = Axis("documents", lambda n: f"{n:,.0f}")


# plots


def cluster_plot(report: Report) -> list[str]:
    """The largest clusters of near duplicates, or of exact ones where there was no near step."""
    by_step = report.clusters
    step = "near" if "near" in by_step else "exact"
    found = by_step.get(step)
    if found is None or not found.largest:
        return []
    title = f"Largest {step}-duplicate clusters"
    documents = _by_id(found)
    clusters = [
        Bar(_label(doc_id, documents), size) for doc_id, size in found.largest[:MOST_CLUSTERS]
    ]
    drawn = charts.bars("clusters", title, DOCUMENTS, clusters)
    return [figure(title, "by the document that stays", drawn)]


def _label(doc_id: int, documents: Mapping[int, Shown]) -> str:
    document = documents.get(doc_id)
    return str(doc_id) if document is None else named(document.id)


def similarity_plot(report: Report) -> list[str]:
    """How similar those that left are to the one they name, and how similar they had to be."""
    found = report.clusters.get("near")
    if found is None or not any(found.percents or ()):
        return []
    title, verify = "Similarity of near duplicates to the document they name", found.verify or 0
    drawn = charts.histogram(
        "similarity",
        title,
        DOCUMENTS,
        found.percents or (),
        "Jaccard similarity",
        edge=lambda k: f"{min(k, 100) / 100:g}",
        first="under 0.01",
        limit=(verify * 100, f"verify {verify:g}") if verify else None,
    )
    return [figure(title, "documents that left, by hundredths", drawn)]


# tables and pairs


def duplicate_blocks(report: Report) -> list[str | Table | Comparisons]:
    """What was compared and found; then clusters, and pairs side by side."""
    by_step = {step: of.to_json() for step, of in report.duplicates.items()}
    names = ("docs", "candidates", "edges", "clusters")
    rows = [(step, *(or_none(of.get(name)) for name in names)) for step, of in by_step.items()]
    compared = ("step", ">documents compared", ">candidate pairs", ">verified pairs", ">clusters")
    return [
        *(_bands_notes(by_step["bands"]) if "bands" in by_step else []),
        *([table("Corpus-wide deduplication", compared, rows)] if rows else []),
        *(t for step, found in report.clusters.items() for t in _clusters(step, found)),
        *_pairs(report),
    ]


def _bands_notes(bands: Mapping[str, Any]) -> list[str | Table]:
    if bands.get("recall") is None:
        return ["Pairs under bands count once in each band that found them; under near, once."]
    recall = ", ".join(f"{share:.3f} of {of}" for of, share in bands["recall"].items())
    told = f"Expected to share a band, of pairs by their Jaccard similarity: {recall}."
    notes: list[str | Table] = [told]
    if bands["given_up"]:
        notes.append(
            f"{bands['given_up']:,} times a document that stays was not compared with all that"
            " share one of its bands: too many do."
        )
    return notes


def or_none(n: int | None) -> str:
    return NONE if n is None else f"{n:,}"


def _clusters(step: str, found: Clusters) -> Iterator[Table]:
    """The largest clusters of a step, by the document that stays."""
    documents = _by_id(found)
    rows = [
        (named(d.id), str(doc_id), f"{size:,}", _first_words(d.text))
        for doc_id, size in found.largest
        if (d := documents.get(doc_id))
    ]
    if rows:
        columns = ("stays", "`doc_id", ">documents", "begins with")
        yield table(f"Largest clusters of {step}", columns, rows, folded=True)


def _first_words(text: str) -> str:
    words = " ".join(named(text).split())
    return words if len(words) <= FIRST_WORDS else words[:FIRST_WORDS].rpartition(" ")[0] + " …"


def _by_id(found: Clusters) -> dict[int, Shown]:
    return {document.doc_id: document for document in found.documents or ()}


def _pairs(report: Report) -> Iterator[Comparisons]:
    """Pairs nearest the least similarity that was asked for, and some of the largest clusters."""
    found = report.clusters.get("near")
    if found is None or not found.documents:
        return
    documents, n_gone = _by_id(found), sum(found.percents or ())
    for caption, pairs in (
        ("Near duplicates that are least similar to the one they name", found.closest),
        ("In the largest clusters, the least similar to the one that stays", found.of_largest),
    ):
        rows = [
            _comparison(documents[leaves], documents[stays], similarity)
            for leaves, stays, similarity in sorted(pairs or (), key=lambda p: (p[2], p[0]))
            if {leaves, stays} <= documents.keys()
        ]
        if rows:
            yield Comparisons(
                caption=caption, rows=tuple(rows), n_open=N_OPEN, n_all=n_gone, noun="document"
            )


def _comparison(leaves: Shown, stays: Shown, similarity: float) -> Comparison:
    """Two documents as they came to the step, what differs marked."""
    stretches = difference(leaves.text, stays.text)
    sides = [
        Passage(
            f"{what}: {document.id}{_cut(document)}",
            tuple(_pieces([s for s in stretches if s.kind in ("equal", kind)])),
        )
        for what, kind, document in (("left", "removed", leaves), ("stays", "kept", stays))
    ]
    facts = f"similarity {similarity:.4f}", f"doc_id {leaves.doc_id}", f"of {stays.doc_id}"
    return Comparison(title=leaves.id, facts=facts, sides=(sides[0], sides[1]))


def _cut(document: Shown) -> str:
    n = len(document.text)
    return "" if n == document.chars else f", first {n:,} of {document.chars:,} characters"


def _pieces(stretches: Sequence[Stretch]) -> Iterator[Piece]:
    """Of what is equal no more than stands near to what differs."""
    last = len(stretches) - 1
    for i, (kind, text) in enumerate(stretches):
        if kind != "equal":
            yield Piece(text, marked=True)
            continue
        before, behind = CONTEXT * (i > 0), CONTEXT * (i < last)
        left_out = len(text) - before - behind
        if left_out <= CONTEXT:
            yield Piece(text)
        else:
            tail = text[len(text) - behind :]
            yield Piece(f"{text[:before]}\n[{left_out:,} equal characters]\n{tail}")
