# ruff: noqa: RUF001
"""Disguises that a benchmark item may wear in a corpus.

text, random --> parts: what is planted of it, each at a place of its own

None of this knows how disguises are seen through: the tables of letters are written anew.
"""

import html
import re
import string
import textwrap
from collections.abc import Callable
from html.entities import html5
from itertools import pairwise
from random import Random
from typing import NamedTuple

# What a letter is replaced by: Cyrillic, Greek, one Armenian.
LOOKALIKES = {
    "a": "а", "b": "Ь", "c": "сϲ", "d": "ԁ", "e": "е", "h": "һ", "i": "і", "j": "јϳ", "l": "ӏ",
    "o": "оο", "p": "рρ", "q": "ԛ", "s": "ѕ", "u": "սυ", "v": "ѵν", "w": "ԝ", "x": "х", "y": "у",
    "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "F": "Ϝ", "G": "Ԍ", "H": "НΗ", "I": "ІΙ",
    "J": "ЈͿ", "K": "КΚ", "M": "МΜ", "N": "Ν", "O": "ОΟ", "P": "РΡ", "S": "Ѕ", "T": "ТΤ",
    "V": "Ѵ", "W": "Ԝ", "X": "ХΧ", "Y": "ҮΥ", "Z": "Ζ",
}  # fmt: skip
# The letters of TextAttack's WordSwapHomoglyphSwap, which are of any alphabet.
OTHER_LOOKALIKES = str.maketrans("abcdefghijklmnopqrstuvwyz", "ɑЬϲԁе𝚏ɡհіϳ𝒌ⅼｍոорԛⲅѕ𝚝սѵԝуᴢ")
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u180e\u2063\ufe0f\u200e\U000e0061"
SPACES = "\u00a0\u2002\u2009\u202f\u3000\u0085\x0b\x0c"
FULL_WIDTH = {cp: cp + 0xFEE0 for cp in range(0x21, 0x7F)} | {0x20: 0x3000}
# bold, italic, script, fraktur, double-struck, sans, monospace; those with a hole are left out
ALPHABETS = (0x1D400, 0x1D468, 0x1D4D0, 0x1D56C, 0x1D5A0, 0x1D5D4, 0x1D608, 0x1D63C, 0x1D670)
NAMES = {chars: name for name, chars in sorted(html5.items()) if name.endswith(";")}
OTHER_WORDS = (
    "river", "window", "yellow", "seven", "often", "quickly", "mountain", "because", "paper",
    "Thursday", "music", "between", "garden", "they", "carried", "green", "without", "market",
)  # fmt: skip


class Disguise(NamedTuple):
    """A way to hide an item, and how many of those planted must be found.

    parts: makes of a text, N and random numbers what is planted.
    least_frac: share that must be found; None is measured only.
    least_ngrams: words that the text must have, as a multiple of N.
    """

    parts: Callable[[str, int, Random], list[str]]
    least_frac: float | None
    least_ngrams: int = 1


# --------------------------------------------------------------------------------- letters


def random_case(text: str, random: Random) -> str:
    return "".join(random.choice((c.lower(), c.upper())) for c in text)


def full_width(text: str, random: Random) -> str:
    return text.translate(FULL_WIDTH)


def mathematical(text: str, random: Random) -> str:
    base = random.choice(ALPHABETS)
    small = {ord(c): base + 26 + i for i, c in enumerate(string.ascii_lowercase)}
    return text.translate(small | {ord(c): base + i for i, c in enumerate(string.ascii_uppercase)})


def homoglyphs(share: float) -> Callable[[str, Random], str]:
    def disguise(text: str, random: Random) -> str:
        return "".join(
            random.choice(LOOKALIKES[c]) if c in LOOKALIKES and random.random() < share else c
            for c in text
        )

    return disguise


# ----------------------------------------------------------------------- between the letters


def sown(chars: str, share: float, inside: str = "") -> Callable[[str, Random], str]:
    """Characters of `chars` strewn over a text, only within what matches `inside`."""

    def sow(text: str, random: Random) -> str:
        return (
            "".join(
                c + (random.choice(chars) if random.random() < share else "") for c in text[:-1]
            )
            + text[-1:]
        )

    def disguise(text: str, random: Random) -> str:
        return re.sub(inside, lambda m: sow(m[0], random), text) if inside else sow(text, random)

    return disguise


def other_spaces(chars: str) -> Callable[[str, Random], str]:
    return lambda text, random: re.sub(r"\s+", lambda _: random.choice(chars), text)


def other_punctuation(text: str, random: Random) -> str:
    marks = string.punctuation.replace("&", "")
    return "".join(random.choice(marks) if c in string.punctuation else c for c in text)


def without_punctuation(text: str, random: Random) -> str:
    return "".join(c for c in text if c not in string.punctuation)


def punctuation_to_spaces(text: str, random: Random) -> str:
    return "".join(" " if c in string.punctuation else c for c in text)


def typographic(text: str, random: Random) -> str:
    """Curly quotes of some language, dashes, an ellipsis, the minus sign."""
    opening, closing = random.choice(("“”", "„“", "«»", "‟”"))
    text = re.sub(r'(?:^|(?<=[\s([{]))"', opening, text).replace('"', closing)
    text = re.sub(r"(?:^|(?<=[\s([{]))'", "‘", text).replace("'", random.choice("’ʼ′´"))
    text = text.replace("...", "…").replace("--", "—")
    return re.sub("-", lambda _: random.choice("–‑‒−—﹣"), text)


# --------------------------------------------------------------------------------- layout


def wrapped(text: str, random: Random) -> str:
    width, indent = random.randint(40, 72), random.choice(("", "  ", "> ", "// ", " * ", "\t"))
    return textwrap.fill(
        " ".join(text.split()), width, subsequent_indent=indent, break_long_words=False
    )


def hyphenated(text: str, random: Random) -> str:
    """Lines of at most 40 to 72 characters, words of letters broken where a line is full."""
    width, hyphen = random.randint(40, 72), random.choice("--‐\u00ad")
    end, indent = random.choice(("\n", "\r\n")), random.choice(("", "   ", "\t"))
    lines, line = [], ""
    for word in text.split():
        room = width - len(line) - 2
        cut = random.randint(2, max(2, min(room, len(word) - 2)))
        if len(line) + 1 + len(word) > width:
            if 2 <= cut <= room and re.fullmatch("[A-Za-z]{5,}[.,;:?!]?", word) and line:
                line += f" {word[:cut]}{hyphen}"
                word = word[cut:]
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return (end + indent).join([*lines, line])


# ----------------------------------------------------------------------------------- HTML


def entity(char: str, random: Random) -> str:
    named = NAMES.get(char)
    kinds = [f"&#{ord(char)};", f"&#x{ord(char):x};", f"&#X{ord(char):05X};"]
    return random.choice([*kinds, *([f"&{named}"] * 3 if named else [])])


def entities(wanted: str, share: float = 1.0) -> Callable[[str, Random], str]:
    """Character references for `share` of the characters that match `wanted`."""

    def reference(found: re.Match[str], random: Random) -> str:
        return entity(found[0], random) if random.random() < share else html.escape(found[0])

    return lambda text, random: re.sub(f"&|{wanted}", lambda m: reference(m, random), text)


def escaped(text: str, random: Random) -> str:
    return html.escape(text)


def escaped_twice(text: str, random: Random) -> str:
    return html.escape(html.escape(text))


def hard_spaces(text: str, random: Random) -> str:
    return re.sub(" ", lambda _: random.choice(("&nbsp;", "&#160;", "&ensp;")), text)


# --------------------------------------------------------------------------- parts of a text


def gram_starts(text: str) -> list[int]:
    """Where the words begin that hold a letter or digit."""
    return [m.start() for m in re.finditer(r"\S+", text) if any(map(str.isalnum, m[0]))]


def cut_at(text: str, places: list[int]) -> list[str]:
    """A text cut in front of the words of these numbers, punctuation alone not counted."""
    starts = gram_starts(text)
    return [text[a:b].strip() for a, b in pairwise([0, *(starts[p] for p in places), len(text)])]


def half(text: str, n: int, random: Random) -> list[str]:
    return [random.choice(cut_at(text, [len(gram_starts(text)) // 2]))]


def split(text: str, n: int, random: Random) -> list[str]:
    """Parts of N words or more."""
    places, end = [0], len(gram_starts(text))
    while end - places[-1] >= 2 * n:
        at = places[-1]
        places.append(random.randint(at + n, min(at + 2 * n, end - n)))
    return cut_at(text, places[1:])


def replaced(one_in: int) -> Callable[[str, Random], str]:
    """One of so many words, at least one, is another."""

    def disguise(text: str, random: Random) -> str:
        words = re.split(r"(\s+)", text.strip())
        places = range(0, len(words), 2)
        for place in random.sample(places, max(round(len(places) / one_in), 1)):
            words[place] = random.choice(OTHER_WORDS)
        return "".join(words)

    return disguise


# -------------------------------------------------------------------------------- the table


def whole(*disguises: Callable[[str, Random], str]) -> Callable[[str, int, Random], list[str]]:
    """All of a text in one place, in these disguises, one over the other."""

    def parts(text: str, n: int, random: Random) -> list[str]:
        for disguise in disguises:
            text = disguise(text, random)
        return [text]

    return parts


# by what they change, in an order in which one may be put over the other
LETTERS = {
    "upper case": lambda text, random: text.upper(),
    "title case": lambda text, random: text.title(),
    "random case": random_case,
    "full width": full_width,
    "mathematical letters": mathematical,
    "homoglyphs, 3 in 10": homoglyphs(0.3),
    "homoglyphs, all": homoglyphs(1.0),
    "homoglyphs, another table": lambda text, random: text.translate(OTHER_LOOKALIKES),
}
BETWEEN = {
    "zero width, 3 in 10": sown(ZERO_WIDTH, 0.3),
    "zero width, all": sown(ZERO_WIDTH, 1.0),
    "soft hyphens": sown("\u00ad", 0.3, "[A-Za-z]+"),
    "punctuation removed": without_punctuation,
    "punctuation changed": other_punctuation,
    "typographic": typographic,
}
LAYOUT = {
    "spaces doubled": lambda text, random: re.sub(r"(\s)", r"\1\1", text),
    "tabs": other_spaces("\t"),
    "other spaces": other_spaces(SPACES),
    "a word a line": other_spaces("\n"),
    "wrapped": wrapped,
    "hyphenated": hyphenated,
}
HTML = {
    "html.escape": escaped,
    "html.escape twice": escaped_twice,
    "entities of punctuation": entities(r"[^\w\s]"),
    "entities of letters": entities(r"\w", 0.5),
    "entities of all": entities(r"\S"),
    "hard spaces": hard_spaces,
}
KINDS = (LETTERS, BETWEEN, LAYOUT, HTML)


def two(text: str, n: int, random: Random) -> list[str]:
    """Two disguises of different kinds."""
    kinds = sorted(random.sample(range(len(KINDS)), 2))
    return whole(*(random.choice([*KINDS[kind].values()]) for kind in kinds))(text, n, random)


def every(n: int) -> Callable[[str, Random], str]:
    """Every n-th word replaced, from a place drawn on."""

    def regular(text: str, random: Random) -> str:
        parts = re.split(r"(\S+)", text)
        for k in range(1 + 2 * random.randrange(n), len(parts), 2 * n):
            parts[k] = random.choice(OTHER_WORDS)
        return "".join(parts)

    return regular


def mistyped(text: str, random: Random) -> str:
    return "".join(_typo(c, random) if random.random() < 0.05 else c for c in text)


def every_twentieth_mistyped(text: str, random: Random) -> str:
    first = random.randrange(20)
    return "".join(_typo(c, random) if k % 20 == first else c for k, c in enumerate(text))


def _typo(char: str, random: Random) -> str:
    """Another letter, none, or two."""
    other = random.choice(string.ascii_lowercase)
    return char if char.isspace() else random.choice((other, "", char + other))


def with_tags(text: str, random: Random) -> str:
    """One word of four in a tag."""
    words = re.split(r"(\S+)", text)
    tags = ("span", "b", "em", "code", "a")
    for k in range(1, len(words), 2):
        if random.random() < 0.25:
            tag = random.choice(tags)
            words[k] = f"<{tag}>{words[k]}</{tag}>"
    return "".join(words)


def with_latex(text: str, random: Random) -> str:
    """Numbers and one word of five between delimiters, some in a command."""
    words = re.split(r"(\S+)", text)
    for k in range(1, len(words), 2):
        if random.random() < 0.2 or any(c.isdigit() for c in words[k]):
            words[k] = random.choice(("$%s$", "\\(%s\\)", "\\textbf{%s}", "\\text{%s}")) % words[k]
    return "".join(words)


def joined(text: str, random: Random) -> str:
    """No space behind punctuation."""
    return re.sub(r"(?<=[,;:.!?]) +", "", text)


DISGUISES = {
    "verbatim": Disguise(whole(), 0.99),
    **{name: Disguise(whole(disguise), 0.99) for kind in KINDS for name, disguise in kind.items()},
    "two of these": Disguise(two, 0.99),
    "half": Disguise(half, 0.95, least_ngrams=2),
    "split": Disguise(split, 0.90, least_ngrams=2),
    "one word in ten": Disguise(whole(replaced(10)), None),
    "one word in six": Disguise(whole(replaced(6)), None),
    "every tenth word": Disguise(whole(every(10)), None),
    "every sixth word": Disguise(whole(every(6)), None),
    "every fifth word": Disguise(whole(every(5)), None),
    "one word in five": Disguise(whole(replaced(5)), None),
    "typos in 5 % of characters": Disguise(whole(mistyped), None),
    "every twentieth character": Disguise(whole(every_twentieth_mistyped), None),
    "markup inside": Disguise(whole(with_tags), None),
    "LaTeX inside": Disguise(whole(with_latex), None),
    "punctuation that joins": Disguise(whole(joined), None),
    "punctuation to spaces": Disguise(whole(punctuation_to_spaces), None),
}
