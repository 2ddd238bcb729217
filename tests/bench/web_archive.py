"""A web archive of real pages to text, beside a bare loop over the libraries that do the work.

    python -m tests.bench.web_archive FOLDER [--mb 50] [--rounds 5]

FOLDER holds pages, `.html` or `.html.gz`, anywhere below it. They are packed as a crawler does, a
gzip member a record, over and over until there are so many MB of HTML. Then each way of reading
runs in turns, in a process of its own, all limits of ours on: CPU seconds of all its processes, and
the most memory of any of them, which is to stay where it is however long the archive is.
"""

import argparse
import gzip
import json
import os
import resource
import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import NamedTuple

from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding

from tests.bench.crawl import record
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.options import Html, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard


def packed(folder: Path, out: Path, mb: float) -> int:
    """Write an archive of so many MB of HTML; returns how many pages it has."""
    found = sorted(p for p in folder.rglob("*") if p.name.endswith((".html", ".htm", ".html.gz")))
    pages = [
        gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes() for p in found
    ]
    size = number = 0
    with out.open("wb") as file:
        for page in cycle(pages):
            if size >= mb * 1e6:
                return number
            file.write(gzip.compress(record(number, page), 6, mtime=0))
            size, number = size + len(page), number + 1
    return number


def ours(path: Path) -> tuple[int, int]:
    """Documents, and bytes of text."""
    docs = size = 0
    for shard in plan_inputs([Input(path=str(path))], 1 << 40, html=True).shards:
        for batch in read_shard(shard, limits=Limits(), html=Html()):
            docs += batch.documents.num_rows
            size += batch.documents["text"].nbytes
    return docs, size


def bare(path: Path) -> tuple[int, int]:
    docs = size = 0
    with path.open("rb") as file:
        for one in ArchiveIterator(file, record_types=WarcRecordType.response):
            body = one.reader.read()
            text = extract_plain_text(bytes_to_str(body, detect_encoding(body)), main_content=True)
            docs += bool(text.strip())
            size += len(text.encode())
    return docs, size


class Cost(NamedTuple):
    """seconds: of CPU, of all processes.  memory: MB, the most of any of them."""

    seconds: float
    memory: float
    documents: int
    text_bytes: int


def measured(work: Callable[[Path], tuple[int, int]], path: Path) -> Cost:
    """What reading costs in a fork of this process."""
    there, here = os.pipe()
    child = os.fork()
    if not child:
        before = seconds(resource.RUSAGE_SELF)
        docs, size = work(path)
        both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        memory = max(resource.getrusage(who).ru_maxrss for who in both) / 1024
        told = (sum(map(seconds, both)) - before, memory, docs, size)
        os.write(here, json.dumps(told).encode())
        os._exit(0)
    os.close(here)
    with os.fdopen(there) as answer:
        told = json.load(answer)
    os.waitpid(child, 0)
    return Cost(*told)


def seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def main() -> None:
    ask = argparse.ArgumentParser(prog="python -m tests.bench.web_archive", description=__doc__)
    ask.add_argument("folder", type=Path)
    ask.add_argument("--mb", type=float, default=200)
    ask.add_argument("--rounds", type=int, default=5)
    args = ask.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        few, path = Path(scratch) / "few.warc.gz", Path(scratch) / "crawl.warc.gz"
        packed(args.folder, few, args.mb / 10)
        pages = packed(args.folder, path, args.mb)
        print(f"{pages} pages, {args.mb:g} MB of HTML, {path.stat().st_size / 1e6:.1f} MB packed")
        ours(few)  # kernels are loaded once
        told("ours, a tenth", measured(ours, few), args.mb / 10)
        for _ in range(args.rounds):
            plain, mine = measured(bare, path), measured(ours, path)
            ratios.append(plain.seconds / mine.seconds)
            told("bare loop", plain, args.mb)
            told("ours", mine, args.mb)
    print(f"ours / bare loop: {median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


def told(name: str, cost: Cost, mb: float) -> None:
    print(
        f"{name:14} {cost.seconds:6.2f} CPU s {mb / cost.seconds:6.1f} MB/s {cost.memory:5.0f} MB"
        f" of memory, {cost.documents} documents, {cost.text_bytes / 1e6:.1f} MB of text"
    )


if __name__ == "__main__":
    main()
