"""Masking and URL lists give datatrove's texts and verdicts."""

import gzip
import json
import random

import pytest

from tests.strategies import document_batch
from tokenmill.pipelines.filters.pii import Pii
from tokenmill.pipelines.filters.url_filter import UrlFilter

datatrove = pytest.importorskip("datatrove")
tldextract = pytest.importorskip("tldextract")
pytestmark = pytest.mark.peers

from datatrove.data import Document  # noqa: E402
from datatrove.pipeline.filters import URLFilter  # noqa: E402
from datatrove.pipeline.formatters.pii import PIIFormatter  # noqa: E402

FILES = ("c4_sample*/**/*.json.gz", "docs_*.jsonl.gz")
PIECES = {
    "addresses": [
        "a",
        "@",
        "b.c",
        "[1.2.3.4]",
        "[1.2.3.",
        "x:]",
        "]",
        "é",
        "_",
        ".",
        " ",
        "-",
        "字",
    ],
    "numbers": ["8.8.8.8", "25", "256", "0", ".", "1", " ", "10.0.0.1", "a", "192.168."],
    "both": [*"a.@-1250!#/ ", "8.8.8.8", "a@b.cd"],
}
REASONS = {
    "domain": "blocked_domain",
    "subdomain": "blocked_domain",
    "url": "blocked_url",
    "hard_blacklisted": "blocked_word",
    "soft_blacklisted": "blocked_soft_words",
    "blacklisted_subword": "blocked_subword",
}


def masked(texts):
    """Each by a formatter of its own: where its replacements begin depends on its past."""
    return [PIIFormatter().format(text) for text in texts]


def ours(texts):
    return Pii(rules="datatrove")(document_batch(texts)).kept["text"].to_pylist()


@pytest.mark.parametrize("kind", PIECES)
def test_masked_texts_of_random_pieces(kind):
    rng = random.Random(9)
    texts = ["".join(rng.choices(PIECES[kind], k=rng.randrange(16))) for _ in range(20_000)]
    theirs = masked(texts)
    assert ours(texts) == theirs
    assert sum(a != b for a, b in zip(texts, theirs, strict=True)) > 50


@pytest.mark.parametrize("pattern", FILES)
def test_masked_texts_of_real_documents(shared_data, pattern):
    texts = [
        json.loads(line)["text"]
        for path in sorted((shared_data / "text").glob(pattern))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    theirs = masked(texts)
    assert [a for a, b in zip(ours(texts), theirs, strict=True) if a != b] == []
    assert texts != theirs


DEPRECATED = pytest.mark.filterwarnings(
    "ignore:The 'registered_domain' property:DeprecationWarning"
)


@pytest.fixture
def lists(tmp_path, monkeypatch):
    """datatrove's own lists where it has them, a few entries more, and none from the network."""
    offline = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    monkeypatch.setattr(tldextract, "TLDExtract", lambda: offline)
    settings = {
        "domains": ("bad.com", "x.good.org", "worse.co.uk"),
        "urls": ("http://good.org/bad", "https://a.b/?c=d"),
        "words": ("xxx", "Free-Cams"),
        "soft_words": ("hot", "sex", "girls", "teen"),
        "subwords": ("p0rn", "bad word"),
    }
    theirs = URLFilter(
        extra_domains=settings["domains"],
        extra_urls=settings["urls"],
        banned_words=settings["words"],
        soft_banned_words=settings["soft_words"],
        banned_subwords=settings["subwords"],
        use_integrated_lists=False,
    )
    return UrlFilter(**settings), theirs


@DEPRECATED
def test_verdicts_on_urls(lists):
    step, theirs = lists
    rng = random.Random(9)
    hosts = ["bad.com", "good.org", "x.good.org", "www.bad.com", "a.b.worse.co.uk", "co.uk", "a.b"]
    parts = ["/", "-", "xxx", "hot", "sex", "girls", "p0", "rn", "bad", "word", "?c=d", "freecams"]
    urls = [
        rng.choice(["http://", "https://", ""])
        + rng.choice(hosts)
        + rng.choice(["", ":80", "/", "."])
        + "".join(rng.choices(parts, k=rng.randrange(6)))
        for _ in range(20_000)
    ] + ["http://good.org/bad", "https://a.b/?c=d", "http://1.2.3.4/xxx", "http://u:p@bad.com/"]
    expected = [theirs.filter(Document(text="", id="", metadata={"url": url})) for url in urls]
    wanted = [None if found is True else REASONS[found[1]] for found in expected]
    rows = step(document_batch([""] * len(urls), urls=urls)).removed.to_pylist()
    found = {int(row["id"]): row["reason"] for row in rows}
    differ = [(u, w, found.get(n)) for n, (u, w) in enumerate(zip(urls, wanted, strict=True))
              if w != found.get(n)]  # fmt: skip
    assert differ == []
    assert set(found.values()) == set(REASONS.values())


@DEPRECATED
def test_what_only_our_step_removes(lists):
    step, theirs = lists
    for url in ("http://y.x.good.org/", "http://BAD.com/", "//good.org/bad"):
        assert theirs.filter(Document(text="", id="", metadata={"url": url})) is True
    step = UrlFilter(domains=(*step.domains, "1.2.3.4"), urls=("good.org/bad",))
    urls = ["http://y.x.good.org/", "http://BAD.com/", "//good.org/bad", "http://1.2.3.4/"]
    assert step(document_batch([""] * 4, urls=urls)).kept.num_rows == 0
