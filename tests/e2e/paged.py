"""A folder with what the commands of the pages name: recipes and plans from the pages, inputs made.

Few documents each. The sixth of data/crawl's second file is one of its first file with a word
changed, which the first page looks at as document 4294967301; the last has a question of gsm8k.
"""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from tests.e2e.corpus import prose
from tests.e2e.crawled import good_pages, write_crawl
from tests.pages import FIRST, ROOT, blocks
from tests.pipelines.conftest import train
from tests.pipelines.read.images.shards import jpeg, sample_tar
from tests.pipelines.train.quality import models

IDEA = "All of the lamps along the quay were lit by a boy who had"
QUESTION = f"{IDEA} sixteen matches and dropped a quarter of them. How many did he have left?"
SIZING = ROOT / "sizing" / "README.md"


def lines_of(rows: list[dict[str, object]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def write_pages_folder(folder: Path, page: Path) -> None:
    """Put there what `page` may name; its own recipes and plans before those of other pages."""
    for text in (*blocks("yaml", (FIRST, SIZING)), *blocks("yaml", (page,))):
        head, name, *_ = text.split(None, 2)
        if head == "#" and name.rstrip(":").endswith(".yaml"):
            (folder / name.rstrip(":")).write_text(text)
    train(folder).rename(folder / "gpt2.json")
    write_documents(folder)
    write_benchmarks(folder)
    for name in ("warc", "crawl"):
        write_crawl(folder / name)
    models.saved(folder).rename(folder / "quality.npz")
    write_images(folder)


def write_documents(folder: Path) -> None:
    data = folder / "data"
    (data / "crawl").mkdir(parents=True)
    good = good_pages()
    near = [*good[9][:-1], good[9][-1].replace("the", "this", 1)]
    for name, pages in (
        ("a", [good[9], good[0], *([text] for text in prose()[:16])]),
        ("b", [*good[1:6], near, good[0], [*good[6], QUESTION]]),
    ):
        rows = [{"id": f"{name}-{i}", "text": "\n".join(p)} for i, p in enumerate(pages)]
        packed = zstandard.compress(lines_of(rows).encode())
        (data / "crawl" / f"{name}.jsonl.zst").write_bytes(packed)
    pq.write_table(pa.table({"body": prose()[16:56]}), data / "books.parquet")
    rows = [{"text": text} for text in prose()[56:96]]
    for name in ("wikipedia.jsonl", "my.jsonl"):
        (folder / name).write_text(lines_of(rows))


def write_benchmarks(folder: Path) -> None:
    """gsm8k and humaneval as `datasets` finds sets of the hub in folders, and files of items."""
    asked = {"question": QUESTION, "answer": "#### 12"}
    for name, row in (
        ("gsm8k/test.jsonl", asked),
        ("openai/gsm8k/main/test.jsonl", asked),
        (
            "openai/openai_humaneval/test.jsonl",
            {"task_id": "0", "prompt": "def f():", "canonical_solution": "return 1"},
        ),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(lines_of([row]))
    card = "configs:\n- {config_name: main, data_files: [{split: test, path: main/test.jsonl}]}\n"
    (folder / "openai" / "gsm8k" / "README.md").write_text(f"---\n{card}---\n")
    with (folder / "quiz.csv").open("w", newline="") as f:
        csv.writer(f).writerows([("question", "answer"), ("Who kept " + "goats " * 9, "he did")])


def write_images(folder: Path) -> None:
    for name in ("shards", "web", "manuals"):
        (folder / name).mkdir()
    sample_tar(folder / "shards" / "00000.tar", 12)
    rows = {"text": ["A harbour at dawn"], "image": [jpeg(160, 200, (1, 2, 3))]}
    pq.write_table(pa.table(rows), folder / "web" / "a.parquet")
    url = "https://example.com/of-the-web.png"
    row = {"texts": [None, "What the image shows."], "images": [url, None]}
    (folder / "obelics.jsonl").write_text(lines_of([row]))
    (folder / "manuals" / "a.jpg").write_bytes(jpeg(180, 190, (3, 2, 1)))
    (folder / "manuals" / "a.md").write_text("# The pump\n\n![The pump](a.jpg)\n\nIt pumps.\n")
