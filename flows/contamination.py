"""Look for benchmark items in a corpus, as a Prefect flow."""

from typing import Literal

from tokenmill.dedup.overlap.counts import MOST_DOCS
from tokenmill.flows.asked import ask_check, check_of
from tokenmill.flows.doing.contamination import check_corpus
from tokenmill.flows.ended import Ended
from tokenmill.flows.prefect.flow_run import Named, our_flow
from tokenmill.pipelines.contamination.copies import Copies
from tokenmill.pipelines.contamination.index import Folds
from tokenmill.pipelines.contamination.paraphrases import Paraphrasing
from tokenmill.pipelines.contamination.shares import MOST
from tokenmill.pipelines.core.options import RunOptions

DEFAULT_COPIES, DEFAULT_FOLDS = Copies(), Folds()


@our_flow("check-contamination", "check {out}")
def contamination_flow(
    corpus: list[Named],
    benchmarks: list[str],
    out: Named,
    ngram: int | Literal["auto"] = "auto",
    most_docs: int | None = MOST_DOCS,
    folding: Folds = DEFAULT_FOLDS,
    verdict: float | Literal["gpt3"] = MOST,
    copies: Copies | None = DEFAULT_COPIES,
    paraphrases: Paraphrasing | None = None,
    text_column: str | None = None,
    exclude: list[str] | None = None,
    run: RunOptions | None = None,
) -> Ended:
    """Find which benchmark items a corpus holds, and where.

    Args:
        corpus: files, folders or patterns, as PATH or PATH:COLUMN, of its text; each is a source
        benchmarks: as `gsm8k=/data/gsm8k/test.jsonl`, with fields as `quiz=/quiz.csv:question`,
            or a well-known one by its name alone, from the hub
        out: folder of the reports, by its whole path
        ngram: words that must stand in a row; `auto` is 8 to 13 by the items' lengths
        most_docs: n-grams in more documents count for nothing; None is no limit
        folding: disguises that are seen through
        verdict: share of an item's own n-grams from which on in one document it is dirty; `gpt3`:
            any n-gram of it that counts
        copies: from which share of an item's word pairs on a stretch is an edited copy; None
            looks for none
        paraphrases: from which score on a place may have an item in other words; None looks for
            none
        text_column: column of the text, where neither its name nor the path tells
        exclude: patterns of files and folders of the corpus that are left out, as `*.bak`
        run: who does the work
    """
    matching = {"ngram": ngram, "most_docs": most_docs, "folding": folding}
    check = check_of(
        corpus,
        benchmarks,
        matching,
        copies=copies,
        paraphrases=paraphrases,
        verdict=verdict,
        text_column=text_column,
        exclude=exclude or (),
        run=run or RunOptions(),
    )
    return check_corpus(ask_check(check, out))
