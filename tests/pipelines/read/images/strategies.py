"""Hypothesis strategies for illustrated documents near the limits of the rules."""

import pyarrow as pa
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image
from tokenmill.pipelines.core.schema import PLACEHOLDER

URLS = [
    None, "", "https://example.org/a.jpg", "http://logos.org/a.png", "http://a.org/Logo.png",
    "http://a.org/p?icon=1", "logo.png", "//button.org", "http://a.org/x#sex", "mailto:xxx",
    "http://a.org/LOGO/\n?widget", "http://a.org/icon/logo.jpg", "data:image/png,plugin",
    "http://a.org:80/ICON", "\u212aicon",
]  # fmt: skip
SIDES = [None, 1, 149, 150, 299, 300, 301, 601, 20_000, 20_001]
FORMATS = [None, "jpeg", "png", "webp", "gif", "mpo", "bmp"]
MD5S = [None, b"\0" * 16, b"\1" * 16, b"\2" * 16]
NODES = ["a red door", "by the sea, at noon", "", " ", "x"]

# those of a photo but for some, so that it is not always the same rule that fails
facts = st.fixed_dictionaries(
    {},
    optional={
        "url": st.sampled_from(URLS),
        "width": st.sampled_from(SIDES),
        "height": st.sampled_from(SIDES),
        "format": st.sampled_from(FORMATS),
        "bytes": st.sampled_from([None, 0, 99, 100, 5000]),
        "md5": st.sampled_from(MD5S),
    },
)


nodes = st.sampled_from(NODES)


@st.composite
def images(draw, most=6):
    """The images of one document; some were taken out before, so numbers have gaps."""
    made = draw(st.lists(facts, max_size=most))
    numbers = draw(
        st.lists(st.integers(0, 30), min_size=len(made), max_size=len(made), unique=True)
    )
    return [image(n, **f) for n, f in zip(sorted(numbers), made, strict=True)]


@st.composite
def document(draw, nodes=nodes):
    """(text, images): a sample, text alone, or text with the places of its images."""
    made = draw(images())
    if draw(st.booleans()):
        return draw(nodes), made
    parts = [PLACEHOLDER] * len(made)
    for node in draw(st.lists(nodes, max_size=4)):
        parts.insert(draw(st.integers(0, len(parts))), node)
    return "\n\n".join(parts), made


@st.composite
def batches(draw, documents=None, max_docs=6) -> pa.RecordBatch:
    """A batch of schema ILLUSTRATED, sometimes a slice of a longer one."""
    each = documents if documents is not None else document()
    docs = draw(st.lists(each, min_size=1, max_size=max_docs))
    batch = illustrated(docs)
    if not draw(st.booleans()):
        return batch
    first = draw(st.integers(0, len(docs)))
    return batch.slice(first, draw(st.integers(0, len(docs) - first)))
