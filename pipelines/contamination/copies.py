"""Copies of benchmark items in documents, edited or not: what n-grams in a row cannot see.

folded batch --contained--> the best stretch of each document and item --back to the source--> COPY
"""

from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.dedup.containment import SHORT_THRESHOLD, THRESHOLD, contained
from tokenmill.dedup.containment_index import ContainmentIndex
from tokenmill.dedup.fold import Folded, SourceSpans, fold
from tokenmill.pipelines.config import Config
from tokenmill.pipelines.contamination.found import CONTEXT_BYTES
from tokenmill.pipelines.contamination.ngrams import ItemTexts
from tokenmill.pipelines.schema import SCHEMA_VERSION

COPY = pa.schema(
    [
        pa.field("doc_id", pa.uint64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        # which item, and which of the item texts of the index
        pa.field("item", pa.int64(), nullable=False),
        pa.field("text", pa.int64(), nullable=False),
        # share of the text's word pairs that the stretch has
        pa.field("containment", pa.float64(), nullable=False),
        # bits of the foldings (`dedup.fold.FOLDINGS`) that it took to see all of the stretch
        pa.field("foldings", pa.uint8(), nullable=False),
        # UTF-8 bytes of the document's text
        pa.field("start_byte", pa.int64(), nullable=False),
        pa.field("end_byte", pa.int64(), nullable=False),
        pa.field("before", pa.string(), nullable=False),
        pa.field("match", pa.string(), nullable=False),
        pa.field("after", pa.string(), nullable=False),
    ],
    metadata={"tokenmill.schema": f"copy/{SCHEMA_VERSION}"},
)

Share = Annotated[float, Field(gt=0, le=1)]


class Copies(Config):
    """From which containment on a stretch of a document is a copy (`dedup.containment`).

    threshold, short_threshold: of texts of some 20 words and more, and of shorter ones.
    """

    threshold: Share = THRESHOLD
    short_threshold: Share = SHORT_THRESHOLD


def index_copies(texts: ItemTexts) -> ContainmentIndex:
    """Make items ready to be looked for as copies."""
    return ContainmentIndex.build(
        fold(texts.texts, texts.folding).text,
        texts.items,
        benchmark_starts=texts.starts,
        n_items=len(texts.lengths),
    )


def find_copies(
    batch: pa.RecordBatch, folded: Folded, index: ContainmentIndex, least: Copies, source: str
) -> pa.RecordBatch:
    """A row of schema COPY for each document and item of which it has a copy, the best one.

    batch: documents (schema DOCUMENT).
    folded: their texts, folded as the items were.
    source: that of the batch's shard.
    """
    found = contained(
        folded.text, index, threshold=least.threshold, short_threshold=least.short_threshold
    )
    best_first = np.lexsort((found.texts, -found.containment, found.items, found.docs))
    pairs = np.stack([found.docs, found.items])[:, best_first]
    best = best_first[np.unique(pairs, axis=1, return_index=True)[1]]
    docs = found.docs[best]
    spans = folded.source_spans(docs, found.starts[best], found.ends[best])
    rows = pa.array(docs)
    columns = [
        batch["doc_id"].take(rows),
        batch["id"].take(rows),
        pa.repeat(source, len(docs)),
        *(pa.array(column[best]) for column in (found.items, found.texts, found.containment)),
        pa.array(spans.foldings),
        pa.array(spans.starts),
        pa.array(spans.ends),
        *_excerpts(batch["text"], docs, spans),
    ]
    return pa.record_batch(columns, schema=COPY)


def _excerpts(text: pa.Array, docs: npt.NDArray[np.int64], spans: SourceSpans) -> list[pa.Array]:
    """The text before, in and after each span; copies are few, so this is a loop."""
    data, offsets = text_buffers(text)
    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for doc, start, end in zip(docs.tolist(), spans.starts, spans.ends, strict=True):
        first, behind = offsets[doc], offsets[doc + 1]
        a, b = first + start, first + end
        cuts = max(a - CONTEXT_BYTES, first), a, b, min(b + CONTEXT_BYTES, behind)
        for part, i, j in zip(parts, cuts, cuts[1:], strict=False):
            part.append(data[i:j].tobytes().decode(errors="ignore"))
    return [pa.array(part, pa.string()) for part in parts]
