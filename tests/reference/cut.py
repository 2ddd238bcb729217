"""Cutting spans out of a document, slowly: characters marked one by one."""

import re


def cut(text, spans, window=200, least=200, most=10):
    """(first byte, byte after the last) of each piece that is kept, and how many there were.

    spans: (first byte, byte after the last) of what to cut out of `text`.
    """
    if not spans:
        return [(0, len(text.encode()))], 1
    gone = [False] * len(text)
    for start, end in spans:
        first = len(text.encode()[:start].decode())
        after = len(text.encode()[:end].decode())
        for i in range(max(first - window, 0), min(after + window, len(text))):
            gone[i] = True
    pieces, begin = [], None
    for i, is_gone in enumerate([*gone, True]):
        if not is_gone and begin is None:
            begin = i
        elif is_gone and begin is not None:
            pieces.append((begin, i))
            begin = None
    kept = [p for p in pieces if p[1] - p[0] >= least] if len(pieces) <= most else []
    return [(len(text[:a].encode()), len(text[:b].encode())) for a, b in kept], len(pieces)


def drop_paragraphs(text, is_gone):
    """The text without the paragraphs for which `is_gone(paragraph)`, and these."""
    *parts, last = re.split(r"(\n\s*\n)", text)
    pairs = [*zip(parts[::2], parts[1::2], strict=True), (last, "")]
    left = [pair for pair in pairs if not is_gone(pair[0])]
    gone = [paragraph for paragraph, _ in pairs if is_gone(paragraph)]
    return "".join(p + blank for p, blank in left[:-1]) + "".join(p for p, _ in left[-1:]), gone
