"""What a corpus has too often, slowly: plain dictionaries over all documents.

A document is {"doc_id", "url", "text", "images"}, an image {"number", "url", "md5"}.
"""

from collections import Counter
from urllib.parse import urlsplit


def repeated_images(docs, *, by=("url", "md5"), more_than=10, keep="none"):
    """{(doc_id, number): (reason, count, first)} of images to take out; first: (doc_id, number)."""
    counts, first = Counter(), {}
    for doc in docs:
        for image in doc["images"]:
            for key in by:
                if image[key]:
                    name = (key, image[key])
                    counts[name] += 1
                    first.setdefault(name, (doc["doc_id"], image["number"]))
    out = {}
    for doc in docs:
        for image in doc["images"]:
            here = (doc["doc_id"], image["number"])
            for key in by:
                name = (key, image[key])
                stays = keep == "first" and first.get(name) == here
                if counts[name] > more_than and not stays:
                    out[here] = (f"repeated_{key}", counts[name], first[name])
                    break
    return out


def paragraphs(text):
    """[(number, paragraph)] that count."""
    return [(i, p) for i, p in enumerate(text.split("\n\n")) if p and "\ufffc" not in p]


def domain(url):
    try:
        return urlsplit(url).netloc if url else ""
    except ValueError:
        return ""


def repeated_paragraphs(docs, *, within="domain", more_than=2, keep="none"):
    """{(doc_id, number): (count, first)} of paragraphs to take out."""
    counts, first = Counter(), {}
    groups = {d["doc_id"]: domain(d["url"]) if within == "domain" else "all" for d in docs}
    for doc in docs:
        group = groups[doc["doc_id"]]
        for number, paragraph in paragraphs(doc["text"]) if group else []:
            counts[group, paragraph] += 1
            first.setdefault((group, paragraph), (doc["doc_id"], number))
    out = {}
    for doc in docs:
        for number, paragraph in paragraphs(doc["text"]):
            name = (groups[doc["doc_id"]], paragraph)
            here = (doc["doc_id"], number)
            if counts[name] > more_than and not (keep == "first" and first[name] == here):
                out[here] = (counts[name], first[name])
    return out


def without_paragraphs(text, numbers):
    return "\n\n".join(p for i, p in enumerate(text.split("\n\n")) if i not in numbers)


def same_url(docs, *, keep="last"):
    """{doc_id: doc_id of the one kept} of documents to remove."""
    return _same([(doc["doc_id"], doc["url"]) for doc in docs], keep)


def same_images(docs, *, by="url", keep="last"):
    """{doc_id: doc_id of the one kept} of documents to remove."""
    keyed = []
    for doc in docs:
        found = [image[by] for image in doc["images"]]
        keyed.append((doc["doc_id"], tuple(sorted(set(found))) if found and all(found) else None))
    return _same(keyed, keep)


def _same(keyed, keep):
    kept = {}
    for doc_id, key in keyed if keep == "last" else reversed(keyed):
        kept[key] = doc_id
    return {d: kept[key] for d, key in keyed if key and kept[key] != d}
