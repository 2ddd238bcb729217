"""Corpora with images and paragraphs that repeat 9, 10, 11 and 12 times, over shards and within
documents, and whatever else a draw makes of them."""

import hashlib

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.schema import ILLUSTRATED, PLACEHOLDER, doc_ids

PLANTED = (9, 10, 11, 12)
HOSTS = ("https://a.org", "https://b.org:80", "http://a.org", "HTTP://A.org", "//c.net", "mailto:x")


def planted_images(rng, n_docs):
    """Of each document its images, as pairs (URL, MD5): few that repeat, planted ones, singles."""
    images = [[] for _ in range(n_docs)]

    def put(url, name, times):
        digest = None if name is None else hashlib.md5(name.encode()).digest()
        for doc in rng.integers(0, n_docs, times).tolist():
            images[doc].insert(int(rng.integers(0, len(images[doc]) + 1)), (url, digest))

    for times in PLANTED:
        put(f"https://x.org/{times}.png", None, times)  # by URL alone
        put(None, f"{times}", times)  # by MD5 alone
        put(f"https://x.org/both{times}.png", f"both{times}", times)
        for i in range(times):  # one image under many URLs
            put(f"https://y.org/{times}/{i}.png", f"many{times}", 1)
            put(f"https://z.org/{times}.png", f"changing{times}-{i}", 1)
    put("", None, 30)
    put(None, None, 30)
    for i in range(n_docs):
        put(f"https://s.org/{i}", f"s{i}", int(rng.integers(1, 3)))
    return images


def planted_paragraphs(rng, n_docs):
    """Of each document its paragraphs: some that its host, or all hosts, have often."""
    texts = [[f"own {i}"] * int(rng.integers(0, 3)) for i in range(n_docs)]
    for times in (1, 2, 3, 4):
        for k in range(8):
            for doc in rng.integers(0, n_docs, times).tolist():
                texts[doc].append(f"planted {times} {k}")
    for doc in rng.integers(0, n_docs, n_docs).tolist():
        often = ["Cookies", "Share this", "", "a.org", " ", "\nline", "東京"]
        texts[doc].append(often[int(rng.integers(0, len(often)))])
    return texts


def corpus(seed, shards=(40, 0, 1, 70), *, samples=False):
    """Shards of documents; with `samples` images do not stand in the text."""
    rng = np.random.default_rng(seed)
    n_docs = sum(shards)
    images, texts = planted_images(rng, n_docs), planted_paragraphs(rng, n_docs)
    made, at = [], 0
    for shard, n in enumerate(shards):
        docs = []
        for row, doc_id in enumerate(doc_ids(shard, 0, n).tolist()):
            found, nodes = images[at + row], texts[at + row]
            for _ in found if not samples else ():
                nodes.insert(int(rng.integers(0, len(nodes) + 1)), PLACEHOLDER)
            url = [None, "", "https://[::1", "https://a.org/x"][int(rng.integers(0, 40)) % 4]
            if rng.random() < 0.9:
                host = HOSTS[int(rng.integers(0, len(HOSTS)))]
                url = f"{host}/{int(rng.integers(0, n_docs))}"
            docs.append(
                {
                    "doc_id": doc_id,
                    "url": url,
                    "text": "\n\n".join(nodes),
                    # numbers with gaps, as where a step before took images out
                    "images": [
                        {"number": 2 * i + 1, "url": u, "md5": m} for i, (u, m) in enumerate(found)
                    ],
                }
            )
        made.append(docs)
        at += n
    return made


def batch_of(docs):
    """The documents as a batch of schema ILLUSTRATED."""
    images = [
        [
            {
                **image,
                "path": f"shard.tar/{image['number']}.png",
                "bytes": None if image["md5"] is None else 100 + image["number"],
            }
            for image in doc["images"]
        ]
        for doc in docs
    ]
    columns = {
        "doc_id": [doc["doc_id"] for doc in docs],
        "id": [f"doc-{doc['doc_id']}" for doc in docs],
        "url": [doc["url"] for doc in docs],
        "text": [doc["text"] for doc in docs],
        "images": images,
    }
    arrays = [pa.array(columns[f.name], f.type) for f in ILLUSTRATED]
    return pa.record_batch(arrays, schema=ILLUSTRATED)
