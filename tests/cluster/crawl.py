"""Two small crawls as WARC, of real prose, with all that the steps for web pages look for."""

from html import escape
from pathlib import Path

import yaml

from tests.e2e.corpus import prose
from tests.pipelines.conftest import train
from tests.pipelines.read.web.archives import archive, http, record

PAGES = 160  # of the first crawl; the second has half as many again
FOOTER = "All rights reserved by those who wrote the pages of this site, whoever they are."
FOREIGN = (
    "Dieser Absatz ist auf Deutsch geschrieben, damit die Erkennung der Sprache etwas zu tun hat,"
    " und er ist lang genug dafür."
)
QUOTED = " ".join(f"word{i} that everybody quotes" for i in range(20))
STEPS = [
    {"url_filter": {"domains": ["bad.example"]}},
    "pii",
    {"language": {"unit": "paragraph"}},
    {"same_url": {"keep": "newest", "url": "normalized"}},
    {"repeated_paragraphs": {"unit": "line", "within": {"docs": 50}, "more_than": 6}},
    "near",
    {"repeated_spans": {"ngram": 20}},
]


def page(number: int, url: str, day: int, paragraphs: list[str]) -> bytes:
    body = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    return record(
        "response",
        http(f"<html><body>{body}</body></html>".encode(), type="text/html; charset=utf-8"),
        WARC_Record_ID=f"<urn:uuid:{number:04}>",
        WARC_Target_URI=url,
        WARC_Date=f"2024-01-{day:02}T00:00:00Z",
        Content_Type="application/http; msgtype=response",
    )


def paragraphs_of(number: int) -> list[str]:
    """Of a page: prose, and now and then something that a step takes out or changes."""
    made = [" ".join(part.split()) for part in prose()[number].split("\n\n")]
    if number % 3 == 0:
        made.append(FOOTER)
    if number % 4 == 0:
        made.insert(1, FOREIGN)
    if number % 9 == 0:
        made.append(f"Page {number} says: {QUOTED} and so on, as page {number} had it.")
    if number % 5 == 0:
        made.append(f"Write to author{number}@site{number % 7}.org, or look at 8.8.8.{number}.")
    return made


def crawls() -> tuple[bytes, bytes]:
    """The older one; and the newer one, which has a third of its pages again, by other URLs."""
    older = []
    for n in range(PAGES):
        host = "bad.example" if n % 20 == 7 else f"site{n % 7}.org"
        older.append(page(n, f"http://{host}/page?b={n}&a=1", 1 + n % 28, paragraphs_of(n)))
    newer = []
    for n in range(PAGES // 2, PAGES * 3 // 2):
        url = f"http://SITE{n % 7}.org:80/page?a=1&b={n}&utm_source=mail#top"
        text = paragraphs_of(n)
        if n % 6 == 0:  # the same text elsewhere, but for a word
            url, text = f"http://mirror.org/{n}", [text[0].replace("the", "that", 1), *text[1:]]
        newer.append(page(1000 + n, url, 1 + (n * 5) % 28, text))
    return archive(older), archive(newer)


def write_crawl(folder: Path) -> Path:
    """Write both, a tokenizer and a recipe; return the recipe's path."""
    for name, made in zip(("older", "newer"), crawls(), strict=True):
        (folder / name).mkdir()
        (folder / name / "part.warc.gz").write_bytes(made)
    recipe = {
        "name": "crawl",
        "inputs": [
            {"path": str(folder / "older"), "source": "older", "weight": 0.5},
            {"path": str(folder / "newer"), "source": "newer", "weight": 1.5},
        ],
        "html": {},
        "shard_bytes": "40kB",
        "steps": STEPS,
        "tokenizer": {"path": str(train(folder)), "eos": True},
        "output": {
            "shard_bytes": "64kB",
            "seq_len": 128,
            "shuffle": True,
            "validation_frac": 0.1,
        },
        "run": {"task_seconds": 0.5, "keep_intermediates": False},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe))
    return path
