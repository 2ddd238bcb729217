"""Web archives: tokenmill, and the libraries it stands on in a plain loop."""

from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding

from tests.bench.crawl import write_crawl
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.read.options import Html, Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard


def ours(extractor):
    def make(part, scratch):
        path = write_crawl(part, scratch)
        html = Html(extractor=extractor)

        def work():
            docs = kept = 0
            for shard in plan_inputs([Input(path=str(path))], 1 << 40, html=True).shards:
                for batch in read_shard(shard, limits=Limits(), html=html):
                    docs += batch.documents.num_rows + batch.failed.num_rows
                    kept += batch.documents.num_rows
            return {"docs": docs, "kept": kept}

        return work

    return make


def loop(part, scratch):
    path = write_crawl(part, scratch)

    def work():
        docs = kept = 0
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response):
                body = record.reader.read()
                text = bytes_to_str(body, detect_encoding(body))
                docs += 1
                kept += bool(extract_plain_text(text, main_content=True).strip())
        return {"docs": docs, "kept": kept}

    return work


STEPS = {
    "crawl": ours("resiliparse"),
    "crawl: trafilatura": ours("trafilatura"),
    "crawl: fastwarc + resiliparse": loop,
}
