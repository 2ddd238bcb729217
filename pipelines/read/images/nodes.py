r"""Images of documents, and their places in nodes: the parts of a text between "\n\n"."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.pipelines.core.schema import PLACEHOLDER

BREAK = "\n\n"  # between the nodes of a document


def own_text(text: str) -> str:
    """Text of the input: U+FFFC in it, which would stand for an image, becomes U+FFFD."""
    return text.replace(PLACEHOLDER, "\ufffd")


def counts_of(documents: pa.RecordBatch) -> I64:
    """(n_docs,) how many images each document has; 0 where a run takes none."""
    if "images" not in documents.schema.names:
        return np.zeros(documents.num_rows, np.int64)
    return np.asarray(documents["images"].value_lengths()).astype(np.int64)


def owners_of(documents: pa.RecordBatch) -> I64:
    """(n_images,) the row of the document that each image is in."""
    return np.repeat(np.arange(documents.num_rows), counts_of(documents))


def n_images(documents: pa.RecordBatch) -> int:
    return int(counts_of(documents).sum())


def image_bytes(documents: pa.RecordBatch) -> int:
    """As stored; of images without bytes, none."""
    return pc.sum(documents["images"].flatten().field("bytes")).as_py() or 0


def without_places(text: str, keep: Sequence[bool]) -> str:
    """Text less the placeholders of images that are not kept; a node of nothing else goes whole.

    >>> without_places("one\\n\\n\\ufffc\\n\\ntwo \\ufffc", [False, True])
    'one\\n\\ntwo \\ufffc'
    """
    kept = iter(keep)
    nodes = []
    for node in text.split(BREAK):
        pieces = node.split(PLACEHOLDER)
        made = pieces[0]
        for piece in pieces[1:]:
            made += (PLACEHOLDER if next(kept) else "") + piece
        if made.strip() or not (len(pieces) > 1):
            nodes.append(made)
    return BREAK.join(nodes)


def are_samples(documents: pa.RecordBatch) -> Bools:
    """(n_docs,) which are images with a caption: no place in the text is an image's."""
    samples: Bools = counts_of(documents) > 0
    if samples.any():
        samples &= ~np.asarray(pc.match_substring(documents["text"], PLACEHOLDER))
    return samples
