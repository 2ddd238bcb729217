"""Remove documents by their URLs: hosts, URLs and words that lists forbid."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, model_validator

from tokenmill.dedup.arrays import read_only
from tokenmill.dedup.arrow_text import text_buffers
from tokenmill.pipelines.config import Config
from tokenmill.pipelines.filters import url_lists
from tokenmill.pipelines.filters.kernels import urls as kernels
from tokenmill.pipelines.filters.url_lists import Domains, Listed
from tokenmill.pipelines.stage import StageResult, keep_where

REASONS = (  # in the kernel's order
    "blocked_domain",
    "blocked_url",
    "blocked_word",
    "blocked_soft_words",
    "blocked_subword",
    "no_url",
)


class UrlFilter(Config):
    """Remove documents whose URLs are listed. Each list holds entries, or files: [{file: PATH}].

    domains: hosts, whatever their case; their subdomains are removed too. A host in another script
        is also known by its ASCII form.
    urls: whole URLs, letter by letter, with "scheme://" or without it.
    words: what stands between characters that are no letters or digits of ASCII.
    soft_words, least_soft_words: a document leaves if its URL has so many different ones.
    subwords: what stands anywhere in the URL once all but letters and digits is taken out of it,
        in lower case.
    ignore_case: words are found in capitals too. datatrove misses those.
    without_url: what becomes of a document without a URL.

    Entries of the three lists of words count in lower case, less all but letters and digits. The
    value of a receipt is the number of soft words, its detail the part of the URL that was listed
    (from the first soft word to the last).

    Source: datatrove 0.10's URLFilter, which RefinedWeb's and FineWeb's lists are for
    (arXiv:2306.01116, section G.1; arXiv:2406.17557); no list comes with this step. datatrove knows
    a host and its registered domain, this step all parents between and above too; datatrove's URLs
    need their scheme; IP addresses and hosts in capitals pass it.
    """

    name: ClassVar[str] = "url_filter"

    domains: Domains = ()
    urls: Listed = ()
    words: Listed = ()
    soft_words: Listed = ()
    least_soft_words: Annotated[int, Field(ge=1)] = 2
    subwords: Listed = ()
    ignore_case: bool = False
    without_url: Literal["keep", "remove"] = "keep"

    @model_validator(mode="after")
    def _blocks_something(self) -> "UrlFilter":
        lists = (self.domains, self.urls, self.words, self.soft_words, self.subwords)
        if not any(lists) and self.without_url == "keep":
            raise ValueError("no list; give domains, urls, words, soft_words or subwords")
        url_lists.host_table(tuple(e for e in self.domains if isinstance(e, str)))
        return self

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        n = batch.num_rows
        urls = batch["url"].fill_null("")
        verdicts, spans = np.empty(n, np.uint8), np.empty((n, 2), np.int64)
        soft_words = url_lists.word_table(self.soft_words)
        counts = np.empty(n, np.int64)
        buffers = text_buffers(urls)
        kernels.judge(
            read_only(buffers.data),
            read_only(buffers.offsets),
            url_lists.host_table(self.domains),
            url_lists.url_table(self.urls),
            url_lists.word_table(self.words),
            soft_words,
            np.full(len(soft_words), -1, np.int64),
            self.least_soft_words,
            self.ignore_case,
            *url_lists.automaton(self.subwords),
            verdicts,
            spans,
            counts,
        )
        if self.without_url == "keep":
            verdicts[verdicts == kernels.NO_URL] = kernels.KEEP
        return keep_where(
            self.name,
            batch,
            verdicts,
            REASONS,
            values=np.where(verdicts == kernels.SOFT_WORDS, counts, np.nan),
            details=_details(buffers.data, spans, verdicts),
        )


def _details(
    data: npt.NDArray[np.uint8], spans: npt.NDArray[np.int64], verdicts: npt.NDArray[np.uint8]
) -> pa.Array:
    """(n,) string, what was listed of each URL that is removed; null of the others."""
    gone = np.flatnonzero((verdicts != kernels.KEEP) & (verdicts != kernels.NO_URL))
    found: list[Any] = [None] * len(verdicts)
    for doc, (start, end) in zip(gone.tolist(), spans[gone].tolist(), strict=True):
        found[doc] = data[start:end].tobytes().decode(errors="replace")
    return pa.array(found, pa.string())
