"""Texts on which tokenizers tend to differ; an engine must make the reference's ids of them all."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

_PIECES = (
    "", " ", "  ", "\n", "\n\n", "\r\n", " \n ", "\t", "\t\t ", "\u00a0", "\u3000", "\u2028",
    "\u200b", "\u200d", "\ufeff", "\x00", "\x1c", "\x7f", "\x85", "\ufffd", "\U0010ffff", "\ue000",
    "a", "A", "hello", " hello", "  hello", "Hello World", "HELLO", "camelCase", "x_y", "don't",
    "DON'T", "it's'll", "'s", "’s", "we'Ve", "'ſ", "1", "12", "123", "1234", "12345678",
    "3.14", "1,000", "²", "½", "٣", "१२३", "Ⅷ", "①", ".", "...", "!?", "?!?!?!", "a.b", "--",
    "=====", "/*", "*/", "://", "http://a.b/c?d=e&f#g", "a@b.c", "#!/bin/sh", "{}[]()<>", "$5",
    "naïve", "nai\u0308ve", "e\u0301\u0323", "\u0301a", "ﬁ", "ß", "İ", "ı", "ΣΊΣΥΦΟΣ", "ǅ",
    "Привет мир", "العربية", "עברית", "हिन्दी", "ไทย", "한국어", "\u1112\u1161\u11ab", "日本語",
    "東京タワー", "ｶﾀｶﾅ", "中文，标点。", "𠀀", "🙂", "👩\u200d👩\u200d👧", "🇪🇺", "☃️", "𝒳", "“q”",
    "x" * 200, "ab" * 100, " " * 50, "\n" * 20, "a " * 50, "-" * 100, "0" * 50, "é" * 60,
    "def f(x):\n    return x\n", "\tif (a) {\n\t\tb();\n\t}\n", "SELECT * FROM t;", "<p>a</p>",
    "<s>", "</s>", "[CLS]", "<|", "|>", "<|x|>", "<unk>", "▁", "▁▁a", "Ġ", "Ċ", "ĠĊ", "##ing",
)  # fmt: skip


def adversarial(tokens: Iterable[str]) -> Iterator[str]:
    """Every piece alone, between letters, digits and spaces, and before each other; and so each
    of `tokens`, the texts of added tokens.
    """
    tokens = list(tokens)
    for piece in (*_PIECES, *tokens):
        yield piece
        yield f"a{piece}b {piece} 1{piece}2\n{piece}{piece}."
    yield "".join(_PIECES)
    yield " ".join(_PIECES)
    yield from (first + second for first, second in pairwise(_PIECES))
    for token in tokens:
        half = len(token) // 2
        yield f"{token[:half]}{token}{token[half:]} {token[:-1]} {token[1:]}"
