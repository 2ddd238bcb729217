r"""Images of documents, and nodes: the parts of a text between "\n\n", with images as U+FFFC."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.pipelines.core.schema import PLACEHOLDER

BREAK = "\n\n"  # between the nodes of a document


def counts_of(documents: pa.RecordBatch) -> I64:
    """(n_docs,) how many images each document has."""
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


class Nodes(NamedTuple):
    """text: (n_nodes,) large_string, as they stand.  measured: the same, images as spaces.

    owners: (n_nodes,) the row of each node's document.  n_docs: documents.
    n_images: (n_nodes,) placeholders in each.  is_image: whether it holds nothing else.
    """

    text: pa.Array
    measured: pa.Array
    owners: I64
    n_docs: int
    n_images: I64
    is_image: Bools


def are_samples(documents: pa.RecordBatch) -> Bools:
    """(n_docs,) which are images with a caption: no place in the text is an image's."""
    if "images" not in documents.schema.names:
        return np.zeros(documents.num_rows, np.bool_)
    placed = np.asarray(pc.match_substring(documents["text"], PLACEHOLDER))
    samples: Bools = (counts_of(documents) > 0) & ~placed
    return samples


def split_nodes(text: pa.Array) -> Nodes:
    """Take documents, (n_docs,) large_string, apart."""
    lists = pc.split_pattern(text, BREAK)
    counts = np.asarray(lists.value_lengths()).astype(np.int64)
    nodes = lists.flatten()
    n_images = np.asarray(pc.count_substring(nodes, PLACEHOLDER)).astype(np.int64)
    measured = pc.replace_substring(nodes, PLACEHOLDER, " ") if n_images.any() else nodes
    blank = np.asarray(pc.equal(pc.utf8_trim_whitespace(measured), ""))
    owners = np.repeat(np.arange(len(text)), counts)
    return Nodes(nodes, measured, owners, len(text), n_images, (n_images > 0) & blank)


def without(nodes: Nodes, failing: Bools) -> pa.Array:
    """(n_docs,) large_string, the documents without some nodes, of which only the images stay."""
    alone = pa.array(
        [BREAK.join([PLACEHOLDER] * n) for n in range(int(nodes.n_images.max(initial=0)) + 1)],
        pa.large_string(),
    )
    made = pc.if_else(pa.array(failing), alone.take(pa.array(nodes.n_images)), nodes.text)
    return _joined(nodes, made, ~failing | (nodes.n_images > 0))


def measured_text(nodes: Nodes, keep: Bools) -> pa.Array:
    """(n_docs,) large_string, what is to be measured of documents with some of their nodes."""
    return _joined(nodes, nodes.measured, keep & ~nodes.is_image)


def _joined(nodes: Nodes, texts: pa.Array, keep: Bools) -> pa.Array:
    counts = np.bincount(nodes.owners[keep], minlength=nodes.n_docs)
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends), texts.filter(pa.array(keep)))
    return pc.binary_join(lists, pa.scalar(BREAK, pa.large_string()))
