"""Keys are equal where what they stand for is, and zeros where there is nothing."""

from collections import defaultdict
from urllib.parse import urlparse

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.corpus.repeats_corpora import batch_of
from tokenmill.pipelines.corpus.counted.paragraphs import host_of
from tokenmill.pipelines.filters.images.keys import has_key, image_keys, image_set_keys, text_keys

urls = st.sampled_from([None, "", "https://a.org/1", "https://b.org:8/1", "//a.org", "x", "a.org"])
md5s = st.one_of(st.none(), st.sampled_from([b"a" * 16, b"b" * 16, b"ab" * 8]))
nodes = st.sampled_from(["", "a.org", "one", "one ", "\n", "\ufffc", "x \ufffc", "東京"])


@st.composite
def documents(draw):
    docs = []
    for doc_id in range(draw(st.integers(0, 6))):
        images = draw(st.lists(st.tuples(urls, md5s), max_size=4))
        docs.append(
            {
                "doc_id": doc_id,
                "url": draw(urls),
                "text": "\n\n".join(draw(st.lists(nodes, max_size=5))),
                "images": [{"number": i, "url": u, "md5": m} for i, (u, m) in enumerate(images)],
            }
        )
    return docs


def sliced(docs):
    """The documents as a slice of a longer batch: offsets do not begin at 0."""
    front = {
        "doc_id": 99,
        "url": "u",
        "text": "t",
        "images": [{"number": 0, "url": "u", "md5": None}],
    }
    return batch_of([front, *docs, front]).slice(1, len(docs))


def same(keys, names):
    """Whether keys are equal exactly where names are; None is no key."""
    by_key = defaultdict(set)
    for key, name in zip(map(tuple, keys.tolist()), names, strict=True):
        by_key[key].add(name)
    assert has_key(keys).tolist() == [name is not None for name in names]
    assert all(len(found) == 1 for found in by_key.values())
    assert len(by_key) == len(set(names))


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=20))
def test_equal_texts_have_equal_keys(texts):
    same(text_keys(pa.array(texts, pa.string())), [t or None for t in texts])


@given(documents(), st.sampled_from(["url", "md5"]))
def test_images_are_the_same_by_what_they_are_counted_by(docs, by):
    names = [image[by] or None for doc in docs for image in doc["images"]]
    same(image_keys(sliced(docs), by), names)


@given(documents(), st.sampled_from(["url", "md5"]))
def test_sets_of_images_are_the_same_whatever_their_order(docs, by):
    found = [[image[by] for image in doc["images"]] for doc in docs]
    sets = [frozenset(images) if images and all(images) else None for images in found]
    same(image_set_keys(sliced(docs), by), sets)


@given(st.text(st.sampled_from("ahtps:/?#@[]. \n\u2100é")))
@example("https://[::1")
@example("https://\uff21.org")
def test_hosts_are_those_of_urllib(url):
    try:
        expected = urlparse(url).netloc
    except ValueError:
        expected = ""
    assert host_of(url) == expected


def test_no_keys_of_nothing():
    assert image_set_keys(batch_of([]), "url").shape == (0, 2)
    assert not has_key(np.zeros((3, 2), np.uint64)).any()
    assert has_key(np.eye(2, dtype=np.uint64)).all()
