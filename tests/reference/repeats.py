"""What a corpus has too often, slowly: plain dictionaries over all documents.

A document is {"doc_id", "url", "text", "images"}, an image {"number", "url", "md5"}.
"""

import unicodedata
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


def paragraphs(text, *, unit="paragraph", normalize="none", empty="stay"):
    """[(number, form)] of the paragraphs, or lines, that count."""
    found = []
    for number, part in enumerate(text.split("\n" if unit == "line" else "\n\n")):
        form = ccnet_form(part) if normalize == "ccnet" else part
        if "\ufffc" not in part and (form or empty == "count"):
            found.append((number, form))
    return found


# what CCNet drops besides control characters: it lists these marks, and none of ASCII
CCNET_MARKS = (
    "\uff0c\u3002\u3001\u201e\u201d\u201c\xab\xbb\uff11\u300d\u300c\u300a\u300b\xb4\u2236\uff1a\uff1f"
    "\uff01\uff08\uff09\uff1b\u2013\u2014\uff0e\uff5e\u2019\u2026\u2501\u3008\u3009\u3010\u3011\uff05"
    "\u25ba"
)


def ccnet_form(line):
    """CCNet's form of a line, a character at a time."""
    form = ""
    for char in line.strip().lower():
        if char.isdecimal():
            form += "0"
        elif char not in CCNET_MARKS and unicodedata.category(char) != "Cc":
            form += char
    return form


def domain(url):
    try:
        return urlsplit(url).netloc if url else ""
    except ValueError:
        return ""


def repeated_paragraphs(
    shards, *, within="domain", more_than=2, keep="none", count="copies", **how
):
    """Two of {(doc_id, number): (count, first)}: paragraphs too frequent, and later copies.

    shards: lists of documents.  how: as in `paragraphs`.
    """
    counts, first, copies = Counter(), {}, {}
    keyed = []  # (name, document and number)
    for doc, group in grouped(shards, within):
        here = Counter()
        of_doc, later = {}, {}
        for number, form in paragraphs(doc["text"], **how) if group is not None else []:
            here[form] += 1
            place = (doc["doc_id"], number)
            if count == "documents" and here[form] > 1:
                later[place] = form
                continue
            of_doc[form] = place
            counts[group, form] += 1
            first.setdefault((group, form), place)
            keyed.append(((group, form), place))
        copies |= {place: (here[form], of_doc[form]) for place, form in later.items()}
    out = {}
    for name, place in keyed:
        if counts[name] > more_than and not (keep == "first" and first[name] == place):
            out[place] = (counts[name], first[name])
    return out, copies


def grouped(shards, within):
    """Each document and what it is counted in; None for nothing."""
    n = 0
    for shard, docs in enumerate(shards):
        for doc in docs:
            if within == "domain":
                yield doc, domain(doc["url"]) or None
            elif within == "corpus":
                yield doc, 0
            else:
                yield doc, n // within["docs"] if "docs" in within else shard // within["shards"]
            n += 1


def without_paragraphs(text, numbers, separator="\n\n"):
    return separator.join(p for i, p in enumerate(text.split(separator)) if i not in numbers)


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
