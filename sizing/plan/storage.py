"""Storage policy: what is kept, how safely, and on what it might be."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tokenmill.sizing.plan.fields import OUR_CHOICE, Assumed, Redundancy, Section, Size
from tokenmill.sizing.tables.row import ByteRate, Growth, MaybeShare, Positive, Share, Whole


def _names(value: Any) -> Any:
    """One name is a list of one."""
    return [value] if isinstance(value, str) else value


class Storage(Section):
    """fill_frac: of usable capacity that may be used.  growth_frac: a year, for growth_years.

    redundancy: "8+2" for data + parity, "3 replicas", "none".
    token_versions: tokenized copies kept, as of several tokenizers or mixes.
    scratch: room for what a run writes between input and dataset, deleted at its end or kept.
    shard_bytes: of one output file.
    candidates: tiers to judge; all of the table where none is named.
    request_bytes: fetched by one request from an object store.
    page_cache_frac: of the hosts' memory that holds pages of the dataset.
    read_bytes_per_s: that storage gives the whole job, where known.
    """

    fill_frac: Annotated[
        Share,
        Assumed(
            "fraction", "Bekman: expect 80 % of what is sold; stores fail before they are full"
        ),
    ] = 0.8
    redundancy: Annotated[
        Redundancy, Assumed("ratio", f"{OUR_CHOICE}: two drives may fail; Aurora has 16+2")
    ] = "8+2"
    growth_frac: Annotated[Growth, Assumed("fraction", f"{OUR_CHOICE}: no growth")] = 0.0
    growth_years: Annotated[Positive, Assumed("years", OUR_CHOICE)] = 1.0
    token_versions: Annotated[Whole, Assumed("versions", OUR_CHOICE)] = 1
    scratch: Annotated[bool, Assumed("yes or no", OUR_CHOICE)] = True
    logs: Annotated[
        Size | None, Assumed("bytes", "1 MB for each accelerator and day", verified=False)
    ] = None
    shard_bytes: Annotated[Size, Assumed("bytes", "tokenmill's output.shard_bytes")] = 512e6
    candidates: Annotated[
        tuple[str, ...],
        Assumed("names", "every tier of the table"),
        BeforeValidator(_names),
        Field(strict=False),
    ] = ()
    request_bytes: Annotated[Size, Assumed("bytes", f"{OUR_CHOICE}: 64 MiB")] = 64.0 * 1024**2
    page_cache_frac: Annotated[MaybeShare, Assumed("fraction", OUR_CHOICE)] = 0.25
    read_bytes_per_s: Annotated[ByteRate | None, Assumed("bytes/s", "not known")] = None
