"""datatrove: web archives by warcio, text by trafilatura in a process of its own, as it comes."""

import sys

from datatrove.pipeline.extractors import Trafilatura
from datatrove.pipeline.readers import WarcReader
from datatrove.utils.logging import logger

from tests.bench.crawl import write_crawl

logger.remove()
logger.add(sys.stderr, level="ERROR")


def crawl(part, scratch):
    folder = scratch / "warc"
    folder.mkdir()
    write_crawl(part, folder)

    def work():
        extractor = Trafilatura(favour_precision=True)
        kept = sum(1 for _ in extractor.run(WarcReader(str(folder)).run()))
        return {"docs": extractor.stats["total"].total, "kept": kept}

    return work


STEPS = {"crawl": crawl}
