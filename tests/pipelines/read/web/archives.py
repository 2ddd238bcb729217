"""Small web archives, made by hand, and what reading them gives."""

import gzip
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import lz4.frame
import zstandard

from tokenmill.pipelines.core.schema import CRAWLED
from tokenmill.pipelines.core.shard import Input, Plan
from tokenmill.pipelines.read.batch import read_stats
from tokenmill.pipelines.read.options import Html, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

DATE = "2024-02-29T12:30:00Z"
PACK = {
    None: lambda data: data,
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
}
SUFFIX = {None: "", "gzip": ".gz", "zstd": ".zst", "lz4": ".lz4"}


def record(kind: str, block: bytes, **headers: str) -> bytes:
    """A WARC record; headers by name, "_" for "-"."""
    named = {"WARC-Type": kind, "WARC-Date": DATE, "Content-Length": str(len(block))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"WARC/1.1\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"


def http(
    body: bytes, *, status: str = "200 OK", type: str | None = "text/html", **more: str
) -> bytes:
    """An HTTP response; more headers by name, "_" for "-"."""
    named = ({"Content-Type": type} if type else {}) | more
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body


def response(number: int, block: bytes, **headers: str) -> bytes:
    return record(
        "response",
        block,
        WARC_Record_ID=f"<urn:uuid:{number:04}>",
        WARC_Target_URI=f"http://example.org/{number}",
        Content_Type="application/http; msgtype=response",
        **headers,
    )


def html(text: str) -> bytes:
    return f"<html><body><p>{text}</p></body></html>".encode()


def page(number: int, text: str) -> bytes:
    """A record whose document is `text`, if it is long enough for the main content of a page."""
    return response(number, http(html(text), type="text/html; charset=utf-8"))


def words(number: int, n: int = 40) -> str:
    return " ".join(f"word{number}x{i} is here," for i in range(n))


def archive(records: Iterable[bytes], packing: str | None = "gzip") -> bytes:
    """Each record packed by itself."""
    return b"".join(PACK[packing](r) for r in records)


class Read(NamedTuple):
    plan: Plan
    documents: list[dict]
    failed: list[dict]
    notes: Counter
    damage: list[str]

    @property
    def texts(self):
        return {d["id"]: d["text"] for d in self.documents}

    @property
    def reasons(self):
        return {f["id"]: f["reason"] for f in self.failed}

    @property
    def kinds(self):
        """How many records there were by kind."""
        named = {
            k.removeprefix("records_"): n for k, n in self.notes.items() if k[:8] == "records_"
        }
        return {k: n for k, n in named.items() if k != "damaged"}


def read(path: Path, *, shard_bytes=1 << 28, limits=None, options=None, **fields) -> Read:
    """All that a file gives; every record of it is accounted for."""
    limits, options = limits or Limits(), options or Html()
    plan = plan_inputs([Input(path=str(path), **fields)], shard_bytes, limits=limits, html=True)
    got = Read(plan, [], [], Counter(), [])
    for shard in plan.shards:
        rows = []
        for batch in read_shard(shard, limits=limits, html=options):
            assert batch.documents.schema == CRAWLED or batch.documents.num_rows == 0
            read_stats(batch).check("read")
            got.documents.extend(batch.documents.to_pylist())
            got.failed.extend(batch.failed.to_pylist())
            got.notes.update(batch.notes or {})
            got.damage.extend(batch.damage)
            rows += batch.documents["doc_id"].to_pylist() + batch.failed["doc_id"].to_pylist()
        assert sorted(rows) == [shard.ordinal << 32 | i for i in range(len(rows))]
    records = sum(n for name, n in got.notes.items() if name.startswith("records_"))
    passed = sum(n for name, n in got.notes.items() if name.startswith("skipped_"))
    assert records == len(got.documents) + len(got.failed) + passed
    return got


def read_bytes(folder: Path, data: bytes, name: str = "crawl.warc.gz", **settings) -> Read:
    path = folder / name
    path.write_bytes(data)
    return read(path, **settings)
