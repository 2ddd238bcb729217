"""The corpora of the table of `tests.bench.predicted`, made of public repositories by commit.

    clones (OWNER+NAME/repo) ── files whose paths match ── documents ── FOLDER/CORPUS.jsonl

Repositories and commits are those of tests/truth/corpora.txt.
"""

import gzip
import html
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding

from tests.bench.truth import STORY, contents
from tests.truth.__main__ import commits, there


def plain(data: bytes) -> Iterator[str]:
    yield data.decode(errors="replace")


def page(data: bytes) -> Iterator[str]:
    """The text of a web page, menus and all."""
    made = gzip.decompress(data)
    yield extract_plain_text(bytes_to_str(made, detect_encoding(made)))


def stories(data: bytes) -> Iterator[str]:
    for story in STORY.findall(data.decode(errors="replace")):
        yield html.unescape(story).strip()


def chapters(data: bytes) -> Iterator[str]:
    """Of a translation of the Bible; of one that is no XML there are none."""
    try:
        root = ET.fromstring(data)
    except ET.ParseError:
        return
    for chapter in root.iterfind(".//div[@type='chapter']"):
        yield "\n".join(" ".join((verse.text or "").split()) for verse in chapter.iter("seg"))


class Files(NamedTuple):
    """Files of a repository, and the documents of each."""

    repository: str
    paths: str
    documents: Callable[[bytes], Iterator[str]] = plain


VERSIONS = Files("antrea-io/website", r"^content/docs/.*\.md$")
NEWS = Files("wuodar/reuters_text_classification", r"^data/.*\.sgm$", stories)
PAGES = Files("Murrough-Foley/web-content-extraction-benchmark", r"/html/.*\.html\.gz$", page)
JAPANESE = Files("MicrosoftDocs/visualstudio-docs.ja-jp", r"\.md$")
CHINESE = Files("PaddlePaddle/docs", r"\.(md|rst)$")
CORPORA = {
    "versions": [VERSIONS],
    "web": [PAGES],
    "news": [NEWS],
    "unequal": [  # of 100 bytes to 2.5 MB, half of the text in 40 of 3,709
        Files("k3d-io/k3d", r"\.(go|sum)$"),
        Files("antrea-io/website", r"\.html$"),
        Files("christos-c/bible-corpus", r"^bibles/[AS][^/]*-(NT|PART)\.xml$"),
        Files("wuodar/reuters_text_classification", r"^data/.*\.sgm$"),
        Files("PaddlePaddle/docs", r"(?<!/cyclegan)\.ipynb$"),
    ],
    "scripts": [JAPANESE, CHINESE],
    "languages": [Files("christos-c/bible-corpus", r"-(NT|PART)[^/]*\.xml$", chapters)],
}


class MissingError(Exception):
    """A clone is not there, or has not the commit."""


def written(name: str, repositories: Path, folder: Path) -> Path:
    """The file of a corpus, made if it is not there.

    Raises:
        MissingError: names the clone.
    """
    path = folder / f"{name}.jsonl"
    if not path.exists():
        made = path.with_suffix(".part")
        with made.open("w", encoding="utf-8") as file:
            for number, text in enumerate(documents(CORPORA[name], repositories)):
                row = {"id": f"{name}-{number}", "text": text}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        made.rename(path)
    return path


def documents(files: Iterable[Files], repositories: Path) -> Iterator[str]:
    known = commits()
    for of in files:
        commit = known[of.repository][0]
        clone = repositories / of.repository.replace("/", "+") / "repo"
        if not there(clone, known[of.repository]):
            raise MissingError(f"no {clone} with HEAD {commit[:12]}")
        place = clone / ".git" if (clone / ".git").exists() else clone
        for data in contents(place, commit, of.paths):
            yield from of.documents(data)
