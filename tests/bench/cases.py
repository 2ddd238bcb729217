"""What is measured: each step, the tools that do it, and how much text each is given."""

from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).parent / "tools"
OURS = "tokenmill"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One tool at one step.

    label: in the table.  tool: its file in tools/.  step: its name there.
    environment: the list in peers/ it is installed from; None is our own.
    mb: how much of the corpus it is given.  unfair: where it does not do the same work.
    """

    label: str
    tool: str
    step: str
    mb: float
    environment: str | None = None
    unfair: str = ""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One step and the tools that do it; the first is ours.

    docs: the unit is the document, not the megabyte: µs each are shown.
    """

    name: str
    title: str
    entries: tuple[Entry, ...]
    docs: bool = False

    @property
    def unit(self) -> str:
        return "µs/document" if self.docs else "MB/s"


def ours(step: str, mb: float, label: str = OURS, unfair: str = "") -> Entry:
    return Entry(label=label, tool="ours", step=step, mb=mb, unfair=unfair)


def part(label: str, step: str, mb: float, unfair: str = "") -> Entry:
    """A library that is in our own environment."""
    return Entry(label=label, tool="parts", step=step, mb=mb, unfair=unfair)


def peer(environment: str, tool: str, label: str, step: str, mb: float, unfair: str = "") -> Entry:
    return Entry(label=label, tool=tool, step=step, mb=mb, environment=environment, unfair=unfair)


def datatrove(step: str, mb: float, label: str = "datatrove", unfair: str = "") -> Entry:
    return peer("datatrove", "datatrove_", label, step, mb, unfair)


def minhash(label: str, step: str, mb: float, unfair: str = "") -> Entry:
    return peer("minhash", "minhashes", label, step, mb, unfair)


def tokenizing(label: str, step: str, mb: float, unfair: str = "") -> Entry:
    return peer("tokenize", "tokenizers_", label, step, mb, unfair)


def by_both_words(step: str, mb: float) -> tuple[Entry, ...]:
    """datatrove as it comes, and with whitespace words."""
    return (
        datatrove(f"{step} (spacy)", mb / 2, "datatrove", "splits words with spaCy, its default"),
        datatrove(f"{step} (whitespace)", mb, "datatrove, whitespace words"),
    )


def with_spacy(step: str) -> Entry:
    """Ours with spaCy's words, the same as datatrove as it comes."""
    return ours(f"{step} (spacy)", 20, "tokenmill, spaCy's words")


def filter_case(name: str, title: str, mb: float = 50) -> Case:
    entries = (ours(name, mb), with_spacy(name), *by_both_words(name, 4))
    return Case(name=name, title=title, entries=entries)


def images(shards: str) -> tuple[Entry, ...]:
    """Readers of image shards: captions, facts of the headers, MD5."""
    step, less = f"images: {shards}", "no captions, no ids, no record batches"
    return (
        Entry(label=OURS, tool="images_ours", step=step, mb=2),
        Entry(label="tarfile + Pillow", tool="images_parts", step=step, mb=2, unfair=less),
        peer("images", "images_peers", "webdataset + Pillow", step, 2, less),
    )


def image_filters(shards: str, *more: Entry) -> tuple[Entry, ...]:
    """Rules for sides and aspect ratio over what was read."""
    step = f"images: filter {shards}"
    return (
        Entry(label=OURS, tool="images_ours", step=step, mb=2),
        peer("data_juicer", "data_juicer_", "Data-Juicer", step, 2, f"{DECODES}; from a folder"),
        *more,
    )


DECODES = "decodes every image, knows no other way"
JOIN = "splits at spaces only, and takes no set of the shingles"
LOWER_SPLIT = "words by `str.lower().split()`, not by Unicode's word characters as ours"

CASES = (
    Case(
        name="read jsonl.gz",
        title="read JSONL.gz",
        entries=(
            ours("read jsonl.gz", 50),
            part("gzip + json", "gzip and json", 20, "no ids, no checks, no record batches"),
            part("isal + orjson", "igzip and orjson", 20, "no ids, no checks, no record batches"),
            part("isal + pyarrow.json", "igzip and pyarrow.json", 20, "one bad line ends it"),
            datatrove("read jsonl.gz", 10),
        ),
    ),
    Case(
        name="read jsonl.zst",
        title="read JSONL.zst",
        entries=(
            ours("read jsonl.zst", 50),
            part("zstandard + orjson", "zstd and orjson", 20, "no ids, no checks, no batches"),
        ),
    ),
    Case(
        name="read parquet",
        title="read Parquet",
        entries=(
            ours("read parquet", 50),
            part("pyarrow", "read parquet", 50, "the whole file at once"),
            datatrove("read parquet", 10),
        ),
    ),
    Case(
        name="crawl",
        title="read WARC.gz, text of its pages",
        entries=(
            Entry(label=OURS, tool="web_ours", step="crawl", mb=20),
            Entry(
                label="fastwarc + resiliparse",
                tool="web_ours",
                step="crawl: fastwarc + resiliparse",
                mb=20,
                unfair="no limits, no ids, no record batches",
            ),
        ),
    ),
    Case(
        name="crawl by trafilatura",
        title="read WARC.gz, text of its pages by trafilatura",
        entries=(
            Entry(label=OURS, tool="web_ours", step="crawl: trafilatura", mb=4),
            peer("web", "web_datatrove", "datatrove", "crawl", 4, "by the clock: a second a page"),
        ),
    ),
    Case(
        name="normalize",
        title="normalize",
        entries=(
            ours("normalize", 50),
            part("pyarrow NFC", "nfc", 50, "composes only: no newlines, no control characters"),
        ),
    ),
    filter_case("c4", "filter: c4"),
    filter_case("gopher_quality", "filter: gopher_quality"),
    filter_case("gopher_repetition", "filter: gopher_repetition"),
    filter_case("fineweb", "filter: fineweb"),
    Case(
        name="word filters",
        title="gopher_repetition + gopher_quality + fineweb",
        entries=(
            ours("word filters", 50), with_spacy("word filters"), *by_both_words("word filters", 4)
        ),
    ),
    Case(
        name="language",
        title="filter: language",
        entries=(
            Entry(label=OURS, tool="languages", step="language", mb=20),
            Entry(label="py3langid", tool="languages", step="language: py3langid", mb=4),
        ),
    ),
    Case(
        name="quality",
        title="filter: quality, a linear classifier over 2^20 hashed words",
        entries=(
            Entry(label=OURS, tool="quality", step="quality", mb=50),
            Entry(label="scikit-learn", tool="quality", step="quality: scikit-learn", mb=10),
        ),
    ),
    *(
        Case(
            name=f"fasttext {kind}",
            title=f"filter: {title}",
            entries=(
                Entry(label=OURS, tool="fasttext_", step=f"fasttext {kind}", mb=20),
                Entry(
                    label="fasttext-predict",
                    tool="fasttext_",
                    step=f"fasttext {kind}: fasttext-predict",
                    mb=mb,
                ),
            ),
        )
        for kind, title, mb in (
            ("language", "language, a model of fastText", 4),
            (
                "language unpruned",
                "language, a model of fastText with all n-grams of characters",
                4,
            ),
            ("quality", "quality, a model of fastText", 10),
        )
    ),
    Case(
        name="perplexity",
        title="filter: perplexity, by a 4-gram model of words",
        entries=(
            Entry(label=OURS, tool="perplexity", step="perplexity", mb=50),
            Entry(
                label="kenlm",
                tool="perplexity",
                step="perplexity: kenlm",
                mb=10,
                unfair="its words end at spaces, and so are fewer",
            ),
        ),
    ),
    Case(
        name="pii",
        title="mask e-mail and public IP addresses",
        entries=(ours("pii", 50), datatrove("pii", 10)),
    ),
    Case(
        name="digest md5",
        title="exact digest, MD5",
        entries=(ours("digest md5", 50), part("hashlib", "md5", 50)),
    ),
    Case(
        name="digest xxh3",
        title="exact digest, xxh3",
        entries=(ours("digest xxh3", 50), part("xxhash", "xxh3", 50)),
    ),
    Case(
        name="first",
        title="first occurrence of 5 M digests",
        docs=True,
        entries=(
            ours("first", 0.5),
            part("numpy", "first: numpy", 0.5),
            part("pyarrow", "first: pyarrow", 0.5),
            part("Python dict", "first: dict", 0.5),
        ),
    ),
    Case(
        name="sign",
        title="MinHash, 5-word shingles, 112 permutations",
        entries=(
            ours("sign", 50),
            minhash("datasketch", "sign: datasketch", 4, LOWER_SPLIT),
            minhash("rensa", "sign: rensa", 8, LOWER_SPLIT),
            minhash("daft", "sign: daft", 20, JOIN),
            *by_both_words("sign", 4),
            peer("text_dedup", "text_dedup_", "text-dedup", "sign", 4),
        ),
    ),
    Case(
        name="group",
        title="LSH and clusters, 14 x 8",
        docs=True,
        entries=(
            ours("group", 0.5),
            minhash("datasketch", "group: datasketch", 0.5, "no clusters"),
            minhash("rensa", "group: rensa", 0.5, "flags duplicates, no clusters"),
            datatrove("group", 0.5, unfair="through files, as it always works"),
        ),
    ),
    Case(
        name="overlap",
        title="13-gram overlap with 10,000 benchmark items",
        entries=(
            ours("overlap", 50),
            part("Python set", "overlap", 8, "says whether, not what and where"),
            peer(
                "lm_eval", "janitor", "lm-eval janitor", "overlap", 4,
                "in Python: its package does not ship its C++ module",
            ),
            *by_both_words("overlap", 4),
        ),
    ),
    Case(
        name="find",
        title="n-grams of benchmark items: 10,000 items, N = 13",
        entries=(
            ours("find 10k", 50),
            ours("find 10k mixed", 50, "10,000 items, N from 8 to 13"),
            ours("find 500k", 50, "500,000 items, N = 13"),
            ours("find 500k mixed", 50, "500,000 items, N from 8 to 13"),
            ours("find 500k sentences", 20, "500,000 items of sentences"),
            ours("find in C4, folded", 20, "10,000 items, C4 text folded first"),
            ours("find in disguises", 20, "10,000 items, every document folded first"),
        ),
    ),
    Case(
        name="encode",
        title="tokenize in memory",
        entries=(
            ours("encode", 20),
            tokenizing("tokenizers", "encode: tokenizers", 4, "counts ids, makes no array"),
            tokenizing("tiktoken", "encode: tiktoken", 8, "lists of Python integers"),
            tokenizing("gigatoken", "encode: gigatoken", 20, "no guard for exactness"),
        ),
    ),
    Case(
        name="encode to disk",
        title="tokenize to disk",
        entries=(
            ours("encode to disk", 20),
            tokenizing("`datasets.map` + tokenizers", "to disk: datasets.map", 4),
            datatrove("tokenize", 4),
            tokenizing("gigatoken + pyarrow", "to disk: gigatoken", 20, "no guard for exactness"),
        ),
    ),
    Case(
        name="images photos",
        title="read image shards, photos (MB of tar)",
        entries=images("photos"),
    ),
    Case(
        name="images clipart",
        title="read image shards, clip art of 6 KB",
        docs=True,
        entries=images("clipart"),
    ),
    Case(
        name="images filter photos",
        title="read and filter image shards, photos (MB of tar)",
        entries=image_filters(
            "photos",
            peer("images", "images_peers", "img2dataset", "images: filter photos", 2, DECODES),
        ),
    ),
    Case(
        name="images filter clipart",
        title="read and filter image shards, clip art of 6 KB",
        docs=True,
        entries=image_filters("clipart"),
    ),
    Case(
        name="run",
        title="JSONL.gz to tokens: three filters, MinHash 14 x 8",
        entries=(
            ours("run", 200),
            datatrove("run (spacy)", 20, "datatrove", "splits words with spaCy, its default"),
            datatrove("run (whitespace)", 20, "datatrove, whitespace words"),
        ),
    ),
    Case(
        name="command",
        title="the same by `tokenmill prepare`, start-up and Prefect included",
        entries=(ours("command", 200),),
    ),
    Case(
        name="run without filters",
        title="JSONL.gz to tokens: MinHash 14 x 8 only",
        entries=(
            ours("run without filters", 200),
            minhash(
                "orjson + daft + gigatoken", "run: daft", 100,
                "no ledger, no receipts, no check of candidate pairs, no clusters",
            ),
            minhash(
                "orjson + rensa + gigatoken", "run: rensa", 50,
                "no ledger, no receipts, no check of candidate pairs, no clusters",
            ),
            peer(
                "text_dedup", "text_dedup_", "text-dedup", "run", 10,
                "no tokens; start-up included",
            ),
        ),
    ),
)  # fmt: skip
