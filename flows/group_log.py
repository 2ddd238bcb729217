"""What the log of a flow run says of a group of works."""

from collections.abc import Sequence

from prefect import get_run_logger

from tokenmill.pipelines.runs.work import Outcome


def log_group(name: str, outcomes: Sequence[Outcome]) -> None:
    """A line for the group, with documents and seconds, and one for each shard that failed."""
    log = get_run_logger()
    for outcome in outcomes:
        if outcome.error is not None:
            work = outcome.work
            log.error("shard %s failed in %s: %s", work.key, work.step, outcome.error)
    log.info("%s: %s", name, _in_words(outcomes))


def _in_words(outcomes: Sequence[Outcome]) -> str:
    receipts = [o.receipt for o in outcomes if o.receipt is not None]
    docs = sum(r.stats[0][1].docs_in for r in receipts if r.stats)
    seconds = sum(o.receipt.seconds[0] for o in outcomes if o.receipt is not None and o.fresh)
    what = f"{docs:,} documents" if docs else f"{len(receipts):,} of {len(outcomes):,} done"
    return f"{what} in {seconds:.1f} s"
