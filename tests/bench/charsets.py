"""How many pages come out as they were written, whatever label they bear.

    python -m tests.bench.charsets FOLDER

FOLDER has a folder of texts for each language, by its code (`ru/chapter.txt`, `zh-TW/a/b.md`):
UTF-8, paragraphs with blank lines between. Pages are some `PAGE_CHARS` of them, in each charset of
`CHARSETS` that the language is written in, labelled by a rule: each with one of the other charsets
in turn, by HTTP, by a meta tag or by both; then with their own; then pages of English with a few
words of another language, labelled as they are. At last beginnings of the pages without any label.
"""

import html
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tokenmill.pipelines.read.web.charset import decode_page

PAGE_CHARS = 2500
SUFFIXES = (".md", ".markdown", ".txt")
SPRINKLED, TRIES = (1, 2, 4, 8), 40
SHORT = (60, 200)  # characters
CHARSETS = {
    "utf-8": "fr de es pl cs hu ru uk el tr he ar th ja zh zh-tw ko",
    "windows-1252": "fr de es it pt-br nl fi no-nb ca",
    "iso-8859-2": "pl cs hu",
    "windows-1250": "pl cs hu",
    "windows-1251": "ru uk bg be sr mk",
    "koi8-r": "ru",
    "iso-8859-5": "ru bg",
    "windows-1253": "el",
    "windows-1254": "tr",
    "windows-1255": "he",
    "windows-1256": "ar",
    "cp874": "th",
    "cp932": "ja",
    "euc-jp": "ja",
    "gb18030": "zh",
    "big5": "zh-tw",
    "cp949": "ko",
}
LABELS = {"cp874": "windows-874", "cp932": "shift_jis", "cp949": "euc-kr"}


class Case(NamedTuple):
    """data: a page of `text` in `charset`.  declared: by HTTP."""

    charset: str
    language: str
    text: str
    data: bytes
    declared: str | None


def texts_below(folder: Path) -> Iterator[str]:
    """The texts of a folder and those in it, by their names."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES:
            yield path.read_text("utf-8", "replace")


def pages(texts: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Charset, language and text of pages, by texts of languages."""
    for charset, languages in CHARSETS.items():
        for language in languages.split():
            held = ""
            for paragraph in re.split(r"\n\s*\n", texts.get(language, "")):
                held += f"<p>{html.escape(' '.join(paragraph.split()), quote=False)}</p>\n"
                if len(held) >= PAGE_CHARS:
                    # what a charset lacks stands as an entity in it
                    yield charset, language, held.encode(charset, "ignore").decode(charset)
                    held = ""


def labelled(made: Iterator[tuple[str, str, str]], *, right: bool) -> Iterator[Case]:
    """Those pages with their own label, or each with another's."""
    names = list(CHARSETS)
    for number, (charset, language, text) in enumerate(made):
        others = [charset] if right else [name for name in names if name != charset]
        label = others[number % len(others)]
        label = LABELS.get(label, label)
        by_meta, by_http = number % 3 != 0, number % 3 != 1
        head = f'<html><head><meta charset="{label}"></head>' if by_meta else "<html>"
        data = (head + text).encode(charset)
        yield Case(charset, language, head + text, data, label if by_http else None)


def sprinkled(texts: dict[str, str]) -> Iterator[Case]:
    """Pages of English with a few foreign words, in lines of English, by their own label."""
    rng, line = random.Random(1), "The house stands by the river and the mill turns slowly. " * 15
    for charset, languages in CHARSETS.items():
        for language in languages.split() if charset != "utf-8" else ():
            words = [w[:6] for w in re.findall(r"\w+", texts.get(language, "")) if not w.isascii()]
            for n in SPRINKLED * TRIES if words else ():
                some = " and the word ".join(rng.choices(words, k=n))
                data = f"<p>{line}{some} {line}</p>".encode(charset, "ignore")
                if not data.isascii():
                    label = LABELS.get(charset, charset)
                    yield Case(charset, language, data.decode(charset), data, label)


def unlabelled(texts: dict[str, str], chars: int) -> Iterator[Case]:
    """The first characters of pages; not of UTF-8, which tells itself."""
    for charset, language, text in pages(texts):
        data = f"<p>{re.sub('<[^>]*>', '', text)[:chars]}".encode(charset)
        if charset != "utf-8" and not data.isascii():
            yield Case(charset, language, data.decode(charset), data, None)


def told(name: str, cases: Iterator[Case]) -> None:
    """How many of the cases come out as they were written, if there are any."""
    true: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for case in cases:
        seen[case.charset] += 1
        true[case.charset] += decode_page(case.data, case.declared).text == case.text
    if not seen:
        print(f"{name}: no pages, for lack of texts")
        return
    print(f"{name}: {true.total()}/{seen.total()} ({true.total() / seen.total():.4f})")
    print("   ", {name: f"{true[name]}/{n}" for name, n in seen.items()})


def main(folder: Path) -> None:
    known = {language for languages in CHARSETS.values() for language in languages.split()}
    texts = {
        here.name.lower(): "\n\n".join(texts_below(here))
        for here in sorted(folder.iterdir())
        if here.is_dir() and here.name.lower() in known
    }
    if not texts:
        sys.exit(f"{folder}: no folder of a language; {' '.join(sorted(known))}")
    told("wrong labels", labelled(pages(texts), right=False))
    told("right labels", labelled(pages(texts), right=True))
    told("right labels of a few words", sprinkled(texts))
    for chars in SHORT:
        told(f"no labels, {chars} characters", unlabelled(texts, chars))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
